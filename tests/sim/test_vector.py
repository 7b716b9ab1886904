"""Work of the vector and reduction units and of moves, counted by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import sim
from sim.cost.costs import Costs
from sim.cost.forms import form_of
from sim.cost.support import UnsupportedError
from sim.cost.work import Work
from sim.machine.parts import Dma, OffChip, ReductionUnit, Scratchpad, VectorUnit
from tiling.expr import Expr, acc, apply, axis, call, const, read
from tiling.nest import Access, Affine, Axis, Indirect, Nest, Reduction, Write, identity

LANES = {"i8": 8, "i16": 4, "i32": 2}


def machine(**more: Any) -> sim.Machine:
    parts: dict[str, Any] = {
        "vector": VectorUnit(lanes=LANES, fill_cycles=3, table_lookups_per_cycle=2),
        "reduction": ReductionUnit(lanes=LANES, fill_cycles=1),
        "dma": Dma(setup_cycles=5, strided=True),
    }
    return sim.Machine(
        name="vectors", clock_hz=1e9, offchip=OffChip(), scratchpad=Scratchpad(bytes=4096), **(parts | more)
    )


def elementwise(value: Expr, *types: str, shape: tuple[int, ...] = (6, 40), result: str = "i32") -> Nest:
    axes = tuple(Axis(f"i{number}", extent) for number, extent in enumerate(shape))
    reads = tuple(
        Access(f"x{number}", kind, shape, identity(len(shape))) for number, kind in enumerate(types)
    )
    write = Write(Access("y", result, shape, identity(len(shape))), value)
    return Nest("map", axes, reads, (write,))


def work(nest: Nest, **more: Any) -> Work:
    return Costs.of(machine(**more)).work(nest, nest.extents)


def test_an_operation_takes_a_cycle_for_as_many_elements_as_there_are_lanes() -> None:
    nest = elementwise(call("add_i32", read(0, "i32"), read(1, "i32"), type="i32"), "i32", "i32")
    found = work(nest)
    assert (found.unit, found.cycles, found.fill, found.operations) == ("vector", 240 // 2 + 3, 3, 240)
    assert found.traffic == (960, 960, 960)


def test_machines_say_what_kinds_of_operations_and_single_ones_take() -> None:
    nest = elementwise(call("mul_i32", read(0, "i32"), read(1, "i32"), type="i32"), "i32", "i32")
    assert work(nest, vector=VectorUnit(lanes=LANES, cycles={"multiply": 3})).cycles == 360
    assert work(nest, vector=VectorUnit(lanes=LANES, cycles={"multiply": 3, "mul": 4})).cycles == 480


def test_operations_that_are_alike_have_a_stage_each() -> None:
    twice = call(
        "add_i32", call("add_i32", read(0, "i32"), read(1, "i32"), type="i32"), read(1, "i32"), type="i32"
    )
    nest = elementwise(twice, "i32", "i32")
    assert work(nest, vector=VectorUnit(lanes=LANES)).cycles == 2 * 120
    assert work(nest, vector=VectorUnit(lanes=LANES, stages=2)).cycles == 120


def test_what_does_not_change_along_an_axis_is_done_once() -> None:
    row = Access("m", "i32", (6,), (Affine((1, 0)),))
    doubled = call("add_i32", read(0, "i32"), read(0, "i32"), type="i32")
    value = call("sub_i32", read(1, "i32"), doubled, type="i32")
    nest = elementwise(value, "i32", "i32")
    nest = replace(nest, reads=(row, nest.reads[1]))
    assert work(nest).operations == 240 + 6


def test_a_unit_is_not_faster_than_its_operands_come() -> None:
    nest = elementwise(read(0, "i8"), "i8", result="i8")
    nest = replace(nest, writes=(Write(nest.writes[0].access, call("to_i8", read(0, "i8"), type="i8")),))
    assert work(nest, vector=VectorUnit(lanes=LANES)).cycles == 240 // 8


def test_tables_are_looked_up_at_their_rate() -> None:
    table = Access("t", "i8", (256,), (Indirect(call("table_index_i8", read(0, "i8"), type="i64")),))
    nest = elementwise(read(1, "i8"), "i8", result="i8")
    nest = replace(nest, reads=(nest.reads[0], table))
    assert work(nest, vector=VectorUnit(lanes=LANES, table_lookups_per_cycle=2)).cycles == 120
    assert work(nest, vector=VectorUnit(lanes=LANES, table_lookups_per_cycle=0.5)).cycles == 480


def summed(kept_last: bool) -> Nest:
    """A sum of 6 × 40 along its last or its first dimension."""
    index = (Affine((1, 0)), Affine((0, 1))) if not kept_last else (Affine((0, 1)), Affine((1, 0)))
    extents = (6, 40) if not kept_last else (40, 6)
    axes = (Axis("k", extents[0]), Axis("r", extents[1], True))
    source = Access("x", "i32", (6, 40), index)
    write = Write(Access("y", "i32", (extents[0],), (Affine((1, 0)),)), acc("i32"))
    return Nest("reduce", axes, (source,), (write,), Reduction("add", 0, "i32", read(0, "i32")))


def test_neighbours_are_combined_by_a_tree_and_others_lane_by_lane() -> None:
    vector = VectorUnit(lanes={**LANES, "i32": 1024})
    along = work(summed(False), vector=vector, reduction=ReductionUnit(lanes={"i32": 16}))
    assert along.cycles == 6 * 3 + 4  # 40 elements in three steps of 16; a tree of four levels
    across = work(summed(True), vector=vector, reduction=ReductionUnit(lanes={"i32": 16}))
    assert across.cycles == 3 * 6  # 40 results in three steps of 16


def test_the_place_of_a_maximum_is_found_by_comparing_values() -> None:
    key = call(
        "add_i64",
        call("mul_i64", call("to_i64", read(0, "i8"), type="i64"), const(1 << 32, "i64"), type="i64"),
        call("sub_i64", const(2147483647, "i64"), axis(1), type="i64"),
        type="i64",
    )
    axes = (Axis("k", 4), Axis("r", 64, True))
    write = Write(Access("y", "i32", (4,), (Affine((1, 0)),)), call("to_i32", acc("i64"), type="i32"))
    source = Access("x", "i8", (4, 64), identity(2))
    nest = Nest("reduce", axes, (source,), (write,), Reduction("max", -(1 << 62), "i64", key))
    found = work(nest)
    assert found.cycles == 2 * 4 * 8 + 1 + 3  # a comparison and a choice on eight lanes


def moved(*steps: tuple[int, ...]) -> Nest:
    """A transposition, or a plain copy, of 32 × 32 bytes."""
    index = tuple(Affine(step) for step in steps)
    axes = (Axis("i", 32), Axis("j", 32))
    write = Write(Access("y", "i8", (32, 32), identity(2)), read(0, "i8"))
    return Nest("move", axes, (Access("x", "i8", (32, 32), index),), (write,))


def test_moves_take_longer_the_shorter_their_runs() -> None:
    plain, turned = work(moved((1, 0), (0, 1))), work(moved((0, 1), (1, 0)))
    assert (plain.unit, plain.cycles) == ("dma", 1024 // 16 + 5)
    assert (turned.unit, turned.cycles) == ("dma", 1024 + 5)


def test_moves_that_the_dma_cannot_do_go_through_the_vector_unit() -> None:
    assert work(moved((0, 1), (1, 0)), dma=Dma(strided=False)).unit == "vector"
    rows = Access("i", "i32", (32,), (Affine((1, 0)),))
    nest = moved((1, 0), (0, 1))
    chosen = Access("x", "i8", (99, 32), (Indirect(read(0, "i32")), Affine((0, 1))))
    nest = replace(nest, reads=(rows, chosen), writes=(Write(nest.writes[0].access, read(1, "i8")),))
    assert work(nest).unit == "vector"
    assert work(nest, dma=Dma(gathered=True)).unit == "dma"


def test_types_without_lanes_are_emulated_in_more_steps_or_refused() -> None:
    nest = elementwise(
        call("add_f32", read(0, "f32"), read(1, "f32"), type="f32"), "f32", "f32", result="f32"
    )
    found = work(nest)
    assert found.cycles == 240 * 24 // 2 + 3
    assert ("emulated_operations", 240 * 24) in found.detail
    with pytest.raises(UnsupportedError, match=r"vector unit of vectors has no f32, only .*emulate"):
        work(nest, missing_types="refuse")


def test_a_blend_of_floating_point_numbers_takes_as_long_as_one_of_integers() -> None:
    lanes = VectorUnit(lanes={"i32": 2, "f32": 2})
    whole = elementwise(call("resize_blend_i32", *(read(n, "i32") for n in range(8))), *["i32"] * 8)
    real = elementwise(
        call("interpolate_f32", *(read(n, "f32") for n in range(6))), *["f32"] * 6, result="f32"
    )
    assert work(real, vector=lanes).cycles == work(whole, vector=lanes).cycles == 240 // 2 * 7


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("to_i8", "i32"),
        ("to_f32", "i8"),
        ("float_to_i8", "f32"),
        ("i32_to_f16", "i32"),
        ("saturate_i8", "i32"),
    ],
)
def test_numbers_in_another_type_are_conversions(name: str, source: str) -> None:
    value = call(name, apply("add", read(0, source), read(0, source)))
    nest = elementwise(apply("add", value, value), source, result=value.type)
    steps = {step.name: step.kind for step in form_of(nest).steps}
    assert steps[value.scalar.base] == "convert"
