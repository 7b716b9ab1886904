"""Integers without sign of 8 and 16 bits, which TOSA's operators do not know: signed ones, less an offset."""

from __future__ import annotations

from tiling.records import dataclass
from tosajit import ops
from tosajit.dtypes import INT8, INT32
from tosajit.frontends.common.numbers import number
from tosajit.frontends.common.scale import wide
from tosajit.frontends.scaled.value import Once
from tosajit.tracing.recorder import current_trace
from tosajit.tracing.tensor import Tensor


@dataclass(frozen=True, slots=True, eq=False)
class Unsigned:
    """A tensor of such integers."""

    held: Tensor
    offset: int
    widened: Once

    @classmethod
    def of(cls, held: Tensor) -> Unsigned:
        """Integers that are those of an INT8 or INT16 tensor, more by half of what its bits hold."""
        offset = 1 << held.dtype.bits - 1
        return cls(held, offset, Once(lambda: _wide(held, offset)))

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents."""
        return self.held.shape

    @property
    def tensor(self) -> Tensor:
        """The signed integers, in the region that is being written."""
        trace = current_trace()
        assert trace is not None
        return trace.own(self.held)

    def numbers(self) -> Tensor:
        """The integers themselves, as INT32."""
        return self.widened()


def _wide(held: Tensor, offset: int) -> Tensor:
    trace = current_trace()
    assert trace is not None
    value = trace.own(held)
    if value.dtype is INT8:
        return wide(value, -offset)
    found = ops.cast(value, dtype=INT32)
    return ops.add(found, number(found, offset))
