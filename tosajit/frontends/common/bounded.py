"""Tensors whose extents depend on data: as large as they can be, with the extents that they have."""

from __future__ import annotations

from tiling.records import dataclass
from tosajit.frontends.common.custom import cut
from tosajit.frontends.frame.ends import Inside
from tosajit.frontends.frame.refusal import Refused
from tosajit.tracing.tensor import Tensor


@dataclass(frozen=True, slots=True, eq=False)
class Bounded:
    """A result that a CUSTOM operator fills up: it is cut where it leaves the graph."""

    whole: Tensor
    extents: Tensor
    """One for each dimension, of INT32."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Nothing that follows from it is known."""
        raise self.refused()

    @property
    def inside(self) -> Inside:
        """How it leaves a graph."""
        return Inside("whole", lambda whole: whole, lambda whole: cut(whole, self.extents))

    def refused(self) -> Refused:
        """Why other operators do not compute with it."""
        return Refused(
            "how long an operand is depends on data, and TOSA's shapes are known before a run",
            "make it an output, and do what follows outside of the model",
        )
