"""Recognising what follows sums of float32 that the array kernels do in registers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

import numpy as np

from tiling.expr import Expr
from tiling.nest import Nest
from tiling.records import dataclass
from tosajit.arrays import Array
from tosajit.host.epilogue import follows, output_steps
from tosajit.host.match import Match
from tosajit.kernels.contract.slots import BIASED, BOUNDED, ENDED, FAR, GATED, JOINED, SCALED

FAR_BYTES = 2 << 20
"""Results that lines are fetched ahead for, as the second-level cache has none of them any more."""


@dataclass(frozen=True, slots=True)
class Ending:
    """A sum, perhaps with a bias, plus another operand, within bounds or times a gate, times a factor.

    It says what is there, and its reads.
    """

    kind: int
    bias: int | None = None
    other: int | None = None
    numbers: Mapping[str, int] = field(default_factory=dict)
    """The bits of bounds and the like, by slot."""


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
        is_far = not self.match.depthwise and self.nest.writes[0].access.bytes > FAR_BYTES
        kind, numbers = ENDED | FAR * is_far, dict[str, int]()
        if scaled := self._by_number(value, "mul"):
            kind, (value, numbers["SCALE"]) = kind | SCALED, scaled
        if gate := self._gate(value):
            kind, (value, given) = kind | GATED, gate
            numbers |= given
        elif bounds := self._bounds(value):
            kind, (value, given) = kind | BOUNDED, bounds
            numbers |= given
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
        return Ending(kind if bias is None else kind | BIASED, bias, other, numbers)

    def _bounds(self, value: Expr) -> tuple[Expr, dict[str, int]] | None:
        """What is within bounds, and these, if they are numbers."""
        if value.scalar.base != "clip":
            return None
        value, *ends = value.operands
        low, high = map(self._bits, ends)
        return None if low is None or high is None else (value, {"LOW": low, "HIGH": high})

    def _gate(self, value: Expr) -> tuple[Expr, dict[str, int]] | None:
        """What is multiplied by itself plus a number, within bounds."""
        for one, other in _sides(value, "mul"):
            found = self._bounds(other)
            shifted = self._by_number(found[0], "add") if found else None
            if found and shifted and shifted[0] == one:
                return one, {**found[1], "SHIFT": shifted[1]}
        return None

    def _by_number(self, value: Expr, base: str) -> tuple[Expr, int] | None:
        """What a number is added to or multiplied by, and its bits."""
        for one, other in _sides(value, base):
            bits = self._bits(other)
            if bits is not None:
                return one, bits
        return None

    def _bias(self, value: Expr) -> int | None:
        """The read that is added to the sum alone, by columns."""
        found = self._added(value, self._columns) if self.match.column is not None else None
        return found[1] if found and found[0].op == "acc" else None

    def _added(self, value: Expr, steps: tuple[int, ...]) -> tuple[Expr, int] | None:
        """The sum and the read, of float32 that moves by these steps, that an expression adds up."""
        for one, other in _sides(value, "add"):
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


def _sides(value: Expr, base: str) -> tuple[tuple[Expr, Expr], ...]:
    """Both operands of an addition or the like, in both orders; nothing if it is something else."""
    if value.scalar.base != base:
        return ()
    first, second = value.operands
    return (first, second), (second, first)
