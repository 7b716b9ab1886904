"""Recognising what follows sums of float32 that the array kernels do in registers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tiling.expr import Expr
from tiling.nest import Nest
from tiling.records import dataclass
from tosajit.arrays import Array
from tosajit.host.epilogue import follows, output_steps
from tosajit.host.match import Match
from tosajit.kernels.contract.slots import BIASED, BOUNDED, ENDED, JOINED


@dataclass(frozen=True, slots=True)
class Ending:
    """A sum, perhaps with a bias, plus another operand, within bounds: what is there, and its reads."""

    kind: int
    bias: int | None = None
    other: int | None = None
    low: int = 0
    """The bits of the bounds."""
    high: int = 0


def ending_of(nest: Nest, match: Match, constants: Mapping[str, Array]) -> Ending | None:
    """What follows the sums of a nest; None if it is something else."""
    if len(nest.writes) != 1 or nest.writes[0].access.type != "f32":
        return None
    if match.column is not None and output_steps(nest)[match.column] != 1:
        return None
    return _Reader(nest, match, constants).ending(nest.writes[0].value)


@dataclass(frozen=True, slots=True)
class _Reader:
    nest: Nest
    match: Match
    constants: Mapping[str, Array]

    def ending(self, value: Expr) -> Ending | None:
        """What an expression of the sum is."""
        kind, low, high = ENDED, 0, 0
        if value.scalar.base == "clip":
            value, *ends = value.operands
            bounds = [self._bits(end) for end in ends]
            if None in bounds:
                return None
            kind, (low, high) = kind | BOUNDED, bounds  # type: ignore[assignment]
        bias, other = self._bias(value), None
        if (
            bias is None
            and not self.match.depthwise
            and (found := self._added(value, output_steps(self.nest)))
        ):
            kind, (value, other) = kind | JOINED, found
            bias = self._bias(value)
        if bias is None and value.op != "acc":
            return None
        return Ending(kind if bias is None else kind | BIASED, bias, other, low, high)

    def _bias(self, value: Expr) -> int | None:
        """The read that is added to the sum alone, by columns."""
        found = self._added(value, self._columns) if self.match.column is not None else None
        return found[1] if found and found[0].op == "acc" else None

    def _added(self, value: Expr, steps: tuple[int, ...]) -> tuple[Expr, int] | None:
        """The sum and the read, of float32 that moves by these steps, that an expression adds up."""
        if value.scalar.base != "add":
            return None
        for one, other in (value.operands, value.operands[::-1]):
            if other.op == "read" and other.type == "f32" and self._follows(other.number, steps):
                return one, other.number
        return None

    def _follows(self, number: int, steps: tuple[int, ...]) -> bool:
        return follows(self.nest, self.match, self.nest.reads[number], steps)

    @property
    def _columns(self) -> tuple[int, ...]:
        return tuple(int(axis == self.match.column) for axis in range(len(self.nest.axes)))

    def _bits(self, value: Expr) -> int | None:
        """The bits of a constant."""
        if value.op == "const":
            (number,) = value.args
            return int(np.float32(number).view(np.int32)) if isinstance(number, float) else None
        array = self.constants.get(self.nest.reads[value.number].operand) if value.op == "read" else None
        if array is None or array.size != 1 or array.dtype != np.float32:
            return None
        return int(array.ravel().view(np.int32)[0])
