"""How much silicon a machine takes, in proportion to what is in it: a model to compare machines by.

Adders and multipliers: W. Dally, High-Performance Hardware for Machine Learning, NIPS tutorial 2015, areas
next to the energies of Horowitz, ISSCC 2014 (TSMC 45 nm, µm²): sums of 8, 16, 32 bits 36, 67, 137, of fp16
and fp32 1360, 4184; products of 8 and 32 bits 282, 3495, of fp16 and fp32 1640, 7700. Memory: a cell of
0.346 µm² (Mistry et al., IEDM 2007, 45 nm). Assumed: products of 16 bits take four of 8, of 64 bits four of
32, of fp8 a quarter of fp16, bf16 as fp16; all products are summed in 32 bits; 0.6 of a memory are cells;
control, wires, the DMA and whatever else a chip has are not counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from sim.machine.arrays import ARRAYS
from sim.machine.figures import Figure, Table, table
from sim.machine.machine import Machine
from sim.machine.parts import LANES, RATES, Part

Numbers = NDArray[np.float64]
Lookup = Callable[[str], NDArray[Any]]
"""The figures of a field by its path, nan where there is none; the text of `array.kind`, or an empty one."""

ADD = {"i8": 36.0, "i16": 67.0, "i32": 137.0, "f16": 1360.0, "f32": 4184.0}
MULTIPLY = {"i8": 282.0, "i32": 3495.0, "f16": 1640.0, "f32": 7700.0}
CELL, CELLS = 0.346, 0.6

_PRODUCTS = {
    "8x8": MULTIPLY["i8"] + ADD["i32"],
    "8x4": MULTIPLY["i8"] / 2 + ADD["i32"],
    "16x8": MULTIPLY["i8"] * 2 + ADD["i32"],
    "16x16": MULTIPLY["i8"] * 4 + ADD["i32"],
    "fp8": MULTIPLY["f16"] / 4 + ADD["f32"],
    "fp16": MULTIPLY["f16"] + ADD["f32"],
    "bf16": MULTIPLY["f16"] + ADD["f32"],
    "fp32": MULTIPLY["f32"] + ADD["f32"],
}
_SUMS = {
    "bool": ADD["i8"] / 8,
    "i8": ADD["i8"],
    "i16": ADD["i16"],
    "i32": ADD["i32"],
    "i64": ADD["i32"] * 2,
    "f8e4m3": ADD["f16"] / 4,
    "f8e5m2": ADD["f16"] / 4,
    "f16": ADD["f16"],
    "bf16": ADD["f16"],
    "f32": ADD["f32"],
}
_LANES = {
    "bool": ADD["i8"] / 8,
    "i8": MULTIPLY["i8"] + ADD["i8"],
    "i16": MULTIPLY["i8"] * 4 + ADD["i16"],
    "i32": MULTIPLY["i32"] + ADD["i32"],
    "i64": MULTIPLY["i32"] * 4 + ADD["i32"] * 2,
    "f8e4m3": (MULTIPLY["f16"] + ADD["f16"]) / 4,
    "f8e5m2": (MULTIPLY["f16"] + ADD["f16"]) / 4,
    "f16": MULTIPLY["f16"] + ADD["f16"],
    "bf16": MULTIPLY["f16"] + ADD["f16"],
    "f32": MULTIPLY["f32"] + ADD["f32"],
}
Square = Annotated[float, Figure("an area", "it takes", 0, 1e12, 400, "µm²", False)]


class Area(Part):
    """The coefficients, in µm²; what a table does not say takes nothing."""

    per_mac: Annotated[dict[str, Square], table(RATES, "a pair of operand types")] = Table(_PRODUCTS)
    """Of an element that does one product a cycle of these operands; the widest counts, times its rate."""
    per_lane: Annotated[dict[str, Square], table(LANES, "a type of elements")] = Table(_LANES)
    """Of the vector unit, which multiplies and adds; the type that takes most counts."""
    per_sum: Annotated[dict[str, Square], table(LANES, "a type of elements")] = Table(_SUMS)
    """Of a lane of the reduction unit, which adds."""
    per_scratchpad_kib: Square = round(CELL / CELLS * 8 * 1024, 1)
    per_level2_kib: Square = round(CELL / CELLS * 8 * 1024, 1)
    """Of the level 2, if there is one, whatever its kind."""
    fixed: Square = 0.0

    def of(self, machines: Sequence[Machine]) -> Numbers:
        """mm² of machines."""

        def look(path: str) -> Numbers:
            steps = path.split(".")
            return column(path, [_inside(one, steps) for one in machines])

        return self.figures(look) + np.zeros(len(machines))

    def figures(self, look: Lookup) -> Numbers:
        """mm² from the figures of fields."""
        products = _most(self.per_mac, "array.rates", look) * macs(look)
        lanes = _most(self.per_lane, "vector.lanes", look) + _most(self.per_sum, "reduction.lanes", look)
        memory = look("scratchpad.bytes") / 1024 * self.per_scratchpad_kib
        memory = memory + np.nan_to_num(look("level2.bytes")) / 1024 * self.per_level2_kib
        return (products + lanes * look("cores") + memory + self.fixed) * 1e-6


AREA = Area()


def column(path: str, values: Iterable[Any]) -> NDArray[Any]:
    """What a `Lookup` gives for the values of a field, None where there is none."""
    if path == "array.kind":
        return np.array(["" if one is None else one for one in values])
    return np.array([np.nan if one is None else one for one in values], np.float64)


def macs(look: Lookup) -> Numbers:
    """Products a cycle of all cores at the full rate; 0 without an array."""
    kinds = look("array.kind")
    of_core = np.zeros(kinds.shape)
    for kind in np.unique(kinds[kinds != ""]):
        figures = (look(f"array.{name}") for name in ARRAYS[kind].factors)
        of_core = np.where(kinds == kind, reduce(np.multiply, figures), of_core)
    return of_core * look("cores")


def _most(areas: dict[str, float], path: str, look: Lookup) -> Numbers:
    found = np.zeros(())
    for name, area in areas.items():
        found = np.fmax(found, look(f"{path}.{name}") * area)
    return found


def _inside(machine: Machine, steps: Sequence[str]) -> Any:
    found: Any = machine
    for step in steps:
        found = found.get(step) if isinstance(found, dict) else getattr(found, step, None)
    return found
