"""What lowerings see of results of other nodes: tensors of the graph, or constants known beforehand."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from tiling.records import dataclass
from tosajit.arrays import Array
from tosajit.dtypes import DType
from tosajit.frontends.common.broadcast import expanded
from tosajit.frontends.common.layout import small
from tosajit.frontends.frame.refusal import Refused
from tosajit.tracing.recorder import Trace
from tosajit.tracing.tensor import Tensor

KNOWN_BY_SHAPES = "give shapes for all inputs, so that what follows from them is known"

_INT32 = np.iinfo(np.int32)


class Kind(Protocol):
    """The type of a source."""

    @property
    def label(self) -> str:
        """What users call it."""


@dataclass(frozen=True, slots=True, eq=False)
class Operand:
    """A result of another node, with its value: traced, or a constant of the file or folded from such."""

    trace: Trace
    value: Any
    type: Kind
    """Its type in the source."""
    name: str
    uses: int = 1
    """How many nodes use it, and whether it is a result of the graph."""

    @property
    def dtype(self) -> DType:
        """The type of TOSA that stands for it."""
        raise NotImplementedError

    @property
    def shape(self) -> tuple[int, ...]:
        """Its extents."""
        return self._dense.shape

    @property
    def rank(self) -> int:
        """How many dimensions it has."""
        return len(self.shape)

    @property
    def is_constant(self) -> bool:
        """Whether its elements are known."""
        return self._known is not None

    @property
    def is_foldable(self) -> bool:
        """Whether it is a constant that has its elements in memory, or few."""
        value = self._known
        return value is not None and (any(value.strides) or small(value.shape))

    @property
    def raw(self) -> Array:
        """The elements of a constant as the file has them."""
        found = self._known
        if found is None:
            raise Refused(
                f"{self.name} is computed when the model runs, but must be a constant", self.known_by
            )
        return found

    @property
    def _known(self) -> Array | None:
        """The elements of a constant."""
        return self.value if isinstance(self.value, np.ndarray) else None

    @property
    def known_by(self) -> str:
        """How it can become known when the model is read."""
        return KNOWN_BY_SHAPES

    @property
    def tensor(self) -> Tensor:
        """The tensor in the graph."""
        value = self._dense
        if isinstance(value, Tensor):
            return self.trace.own(value)
        if 0 in value.shape:
            raise Refused(f"{self.name} is {list(value.shape)}, but TOSA's tensors have elements")
        if value.size and not any(value.strides) and not small(value.shape):  # one number, often
            single = value[(slice(0, 1),) * value.ndim]
            return expanded(self.trace.constant(self._stored(single), self.dtype), value.shape)
        return self.trace.constant(self._stored(value), self.dtype, self.name)

    @property
    def ints(self) -> tuple[int, ...]:
        """The elements of a constant as Python integers, such as a shape or axes."""
        if self.raw.dtype.kind not in "iu" or not small(self.raw.shape):
            raise Refused(f"{self.name} is {self.type.label}{list(self.shape)}, but must have few integers")
        return tuple(int(one) for one in self.raw.reshape(-1))

    @property
    def number(self) -> Any:
        """The only element of a constant."""
        if self.raw.size != 1:
            raise Refused(f"{self.name} has {self.raw.size} elements, but must have one")
        return self.raw.reshape(-1)[0]

    @property
    def _dense(self) -> Tensor | Array:
        """The tensor or constant that it is."""
        value: Tensor | Array = self.value
        return value

    def _stored(self, raw: Array) -> Array:
        """Elements as the file has them in the storage of its type of TOSA."""
        storage = self.dtype.storage
        if storage == np.int32 and raw.dtype != np.int32:
            if raw.size and not (_INT32.min <= raw.min() and raw.max() <= _INT32.max):
                raise Refused(f"{self.name} has numbers beyond 32 bits: TOSA has no int64")
            return raw.astype(np.int32)
        return np.ascontiguousarray(raw, storage).reshape(raw.shape)
