"""What a machine does with types of operands: at a rate of its own, by a stated emulation, or not at all.

Emulation on an array: factors of more bits than it multiplies are cut into pieces of 8 (or of what it
multiplies), so that 16×8 takes two passes and 16×16 four; a float is multiplied by an array for wider
floats. Everything else goes to the vector unit, where a type without lanes is done by lanes of another type
in several steps: wider integers in 32-bit words, floats by integer instructions.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import ceil
from typing import TYPE_CHECKING

from tiling.expr import BYTES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sim.cost.datapath import Datapath

FLOATS = {"f8e4m3": "fp8", "f8e5m2": "fp8", "f16": "fp16", "bf16": "bf16", "f32": "fp32", "f64": "fp64"}
WIDER = {"fp8": ("fp16", "bf16", "fp32"), "fp16": ("fp32",), "bf16": ("fp32",)}
"""Float types whose products are exact in an array for another one."""

LANES_OF: Mapping[str, tuple[tuple[str, int], ...]] = {
    "bool": (("i8", 1), ("i16", 1), ("i32", 1)),
    "i8": (("i16", 1), ("i32", 1)),
    "i16": (("i32", 1),),
    "i32": (("i64", 1), ("i16", 3)),
    "i64": (("i32", 3), ("i16", 9)),
    "f8e4m3": (("f16", 1), ("bf16", 1), ("f32", 1), ("i32", 12)),
    "f8e5m2": (("f16", 1), ("bf16", 1), ("f32", 1), ("i32", 12)),
    "f16": (("f32", 1), ("i32", 16)),
    "bf16": (("f32", 1), ("i32", 16)),
    "f32": (("i32", 24),),
    "f64": (("f32", 20), ("i32", 60)),
}
"""Lanes that can stand in for those of a type, and how many steps an operation takes there.

An operation on 64 bits takes three on 32 bits (both halves and the carry). Of floats the sign, exponent and
fraction are taken apart, aligned, combined, normalised and rounded: some 24 integer steps for single
precision, fewer for less.
"""


class UnsupportedError(ValueError):
    """A machine lacks a type that an operator needs, and is not to emulate it."""

    def __init__(self, members: tuple[str, ...], type: str, unit: str, machine: str, known: str) -> None:
        self.members, self.type, self.unit, self.machine = members, type, unit, machine
        who = " + ".join(members) or "an operator"
        super().__init__(
            f"{who}: the {unit} of {machine} has no {type}, only {known}; give the machine a rate for it, "
            "or emulate it with missing_types='emulate'"
        )


@dataclass(frozen=True, slots=True)
class ArrayRate:
    """How an array multiplies two types: in so many passes, each at a factor of its full rate."""

    rate: float
    passes: int = 1

    def stretch(self, cycles: int) -> int:
        """Cycles at this rate, of those at the full rate."""
        return self.passes * (cycles if self.rate == 1 else ceil(cycles / self.rate))


@lru_cache(maxsize=256)
def operand_types(data: str, weights: str) -> str:
    """The name of a pair of types among the rates of an array, such as `16x8` or `fp16`."""
    if data in FLOATS or weights in FLOATS:
        return FLOATS[max(data, weights, key=lambda kind: (kind in FLOATS, BYTES[kind]))]
    bits = sorted((8 * BYTES[data], 8 * BYTES[weights]), reverse=True)
    return f"{bits[0]}x{bits[1]}"


def array_rate(rates: Mapping[str, float], data: str, weights: str) -> ArrayRate | None:
    """The rate of a pair of types, emulated where there is none; None for what an array cannot do."""
    name = operand_types(data, weights)
    if name in rates:
        return ArrayRate(rates[name])
    if name.startswith(("fp", "bf")):
        stand_in = next((wider for wider in WIDER.get(name, ()) if wider in rates), None)
        return None if stand_in is None else ArrayRate(rates[stand_in])
    widths = {key: tuple(map(int, key.split("x"))) for key in rates if key[0].isdigit()}
    bits = tuple(map(int, name.split("x")))
    found = [
        ArrayRate(rates[key], ceil(bits[0] / width[0]) * ceil(bits[1] / width[1]))
        for key, width in widths.items()
        if width[1] >= 8
    ]
    return min(found, key=lambda rate: rate.passes / rate.rate, default=None)


def lane_steps(lanes: Mapping[str, int], type: str) -> tuple[int, int] | None:
    """Lanes for a type and steps of an operation in them; None if nothing can stand in."""
    known = {"u8": "i8", "u16": "i16"}.get(type, type)
    if known in lanes:
        return lanes[known], 1
    found = [(lanes[other], steps) for other, steps in LANES_OF[known] if other in lanes]
    return max(found, key=lambda pair: pair[0] / pair[1], default=None)


def lanes_for(path: Datapath, unit: str, type: str, members: tuple[str, ...]) -> tuple[int, int]:
    """The same for a unit, or an error that says what is missing."""
    lanes = path.vector.lanes if unit == "vector" else path.reduction.lanes
    found = lane_steps(lanes, type)
    if found is None or (found[1] > 1 and path.missing_types == "refuse"):
        raise UnsupportedError(members, type, f"{unit} unit", path.name, ", ".join(lanes) or "nothing")
    return found
