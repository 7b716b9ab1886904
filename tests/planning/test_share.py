"""How groups are cut for several cores."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiling.expr import acc, read
from tiling.nest import Access, Affine, Axis, Indirect, Nest, Reduction, Write, along, fixed
from tiling.plan import plan
from tiling.program import Loop, Operand, OperandKind, Program
from tiling.share import _cuts as cuts
from tiling.share import _finish as finish
from tiling.share import shared_loops, work
from tiling.target import Target

TWO = Target("two", cores=2)


def product(rows: int, columns: int, depth: int, grain: tuple[int, ...] = (1, 32)) -> Nest:
    """A matrix product for an array unit."""
    axes = (Axis("m", rows), Axis("n", columns), Axis("k", depth, reduced=True))
    at = [along(number, 3) for number in range(3)]
    a = Access("a", "i8", (rows, depth), (at[0], at[2]))
    b = Access("b", "i8", (columns, depth), (at[1], at[2]))
    total = Reduction("add", 0, "i32", read(0, "i8"))
    write = Write(Access("c", "i32", (rows, columns), (at[0], at[1])), acc("i32"))
    packed = (Access("packed", "i32", (), ()),)
    return Nest("contract", axes, (a, b), (write,), total, ("c",), packed, grain)


def copy(rows: int, columns: int, row: Affine | Indirect | None = None) -> Nest:
    """A nest that copies a matrix, to rows that `row` gives."""
    at = along(0, 2), along(1, 2)
    target = Access("b", "i32", (rows, columns), (at[0] if row is None else row, at[1]))
    axes = (Axis("y", rows), Axis("x", columns))
    return Nest("move", axes, (Access("a", "i32", (rows, columns), at),), (Write(target, read(0, "i32")),))


def first_row(source: str, rows: int, target: str, count: int) -> Nest:
    """A nest that writes the first row of a matrix so many times."""
    read_at, write_at = (fixed(0, 2), along(1, 2)), (along(0, 2), along(1, 2))
    write = Write(Access(target, "i32", (count, 512), write_at), read(0, "i32"))
    axes = (Axis("y", count), Axis("x", 512))
    return Nest("move", axes, (Access(source, "i32", (rows, 512), read_at),), (write,))


@given(
    st.integers(1, 300),
    st.integers(1, 300),
    st.integers(1, 64),
    st.integers(2, 5),
    st.sampled_from([0, 1, 12]),
)
def test_tiles_cover_the_domain_once(rows: int, columns: int, depth: int, cores: int, grain: int) -> None:
    nest = product(rows, columns, depth, (grain, 32))
    loops, shared = shared_loops(nest, Target("some", cores=cores, tile_points=64))
    assert len({loop.axis for loop in loops}) == len(loops)
    for loop in loops:
        extent = nest.axes[loop.axis].extent
        assert (loop.count - 1) * loop.step < extent <= loop.count * loop.step
        assert loop.step % (nest.grain[loop.axis] or 1) == 0
    assert not shared or prod(loop.count for loop in loops) > 1


def test_rows_are_cut_where_there_are_many() -> None:
    loops, shared = shared_loops(product(3136, 64, 64), TWO)
    assert shared
    assert {loop.axis for loop in loops} == {0}


def test_columns_are_cut_where_weights_are_most_of_what_is_read() -> None:
    loops, shared = shared_loops(product(49, 1280, 320), TWO)
    assert shared
    assert {loop.axis for loop in loops} == {1}


def test_rows_are_cut_where_columns_would_leave_many_gaps() -> None:
    at = along(0, 3), along(1, 3), along(2, 3)
    axes = Axis("y", 14), Axis("x", 14), Axis("c", 576)
    image = Access("a", "f32", (14, 14, 576), at)
    nest = Nest(
        "map", axes, (image,), (Write(replace(image, operand="b"), read(0, "f32")),), grain=(1, 14, 32)
    )
    loops, shared = shared_loops(nest, TWO)
    assert shared
    assert {loop.axis for loop in loops} == {0}


def test_cores_find_their_halves_of_all_that_shares_addresses() -> None:
    rows = {"a": 1, "b": 64, "c": 512, "d": 256, "e": 64}
    kinds: tuple[OperandKind, ...] = ("input", "temporary", "temporary", "temporary", "output")
    operands = {n: Operand(n, "i32", 512 * rows[n], kind) for n, kind in zip(rows, kinds, strict=True)}
    nests = [first_row(old, rows[old], new, rows[new]) for old, new in pairwise(rows)]
    for cores, same in ((2, True), (1, False)):
        program = plan(nests, operands, Target("some", cores=cores, alignment=64))
        assert isinstance(program, Program)
        b, d = (program.operands[name] for name in "bd")
        assert (b.offset + b.bytes // 2 == d.offset + d.bytes // 2) == same


def test_little_work_is_left_to_one_core() -> None:
    assert shared_loops(copy(8, 64), TWO) == ((), False)
    assert shared_loops(copy(512, 512), TWO)[1]
    assert not shared_loops(copy(512, 512), Target("one"))[1]


def test_results_that_data_place_are_left_to_one_core() -> None:
    assert not shared_loops(copy(512, 512, Indirect(read(0, "i32"))), TWO)[1]


def test_products_of_array_units_take_less_time_than_points_of_others() -> None:
    assert work(product(96, 32, 64)) == 96 * 32 * 64 // 48 + 96 * 32 // 2
    assert work(replace(product(96, 32, 64), prepared=())) == 96 * 32 * 64
    assert work(copy(96, 32)) == 96 * 32


def test_weights_of_a_single_row_are_work_by_their_bytes() -> None:
    nest = product(1, 576, 144)
    assert work(nest) == (576 * 144 + 144) // 32 > 576 * 144 // 48 + 576 // 2
    assert shared_loops(product(1, 1024, 144), TWO)[1]


def test_the_last_core_is_done_when_its_tiles_are_and_what_it_reads_has_come() -> None:
    nest = copy(100, 512)
    four = [Loop(0, 30, 4)]
    # Rows 30, 30, 30 and 10: the core that is free first takes the next; each tile begins with 600 points.
    last = max(30 * 512 + 600 + 10 * 512 + 600, 30 * 512 + 600, 30 * 512 + 600)
    assert finish(nest, four, 3) == pytest.approx(last + 2 * 30 * 512 * 4 / 6)
    two = max(2 * (30 * 512 + 600), 30 * 512 + 600 + 10 * 512 + 600)
    assert finish(nest, four, 2) == pytest.approx(two + 2 * 30 * 512 * 4 / 6)
    assert finish(nest, [], 2) == pytest.approx(100 * 512 + 600 + 100 * 512 * 4 / 6)
    both = finish(nest, [Loop(0, 100, 1), Loop(1, 128, 4)], 4)
    gaps = 99 * 100  # What is written consists of 100 parts of rows.
    assert both == pytest.approx(100 * 128 + 600 + 100 * 128 * 4 / 6 + gaps)


def test_axes_are_cut_into_whole_cache_lines_of_results() -> None:
    every = list(cuts(copy(6, 200), TWO, 100))
    assert [loop for loop in every if loop.axis == 0] == [
        Loop(0, -(-6 // n), -(-6 // -(-6 // n))) for n in range(2, 7)
    ]
    assert [loop for loop in every if loop.axis == 1] == [
        Loop(1, -(-200 // 16 // n) * 16, -(-200 // (-(-200 // 16 // n) * 16))) for n in range(2, 9)
    ]
    assert list(cuts(copy(6, 16), TWO, 100)) == [loop for loop in every if loop.axis == 0]
    nest = copy(6, 200)
    (write,) = nest.writes
    narrow = replace(nest, writes=(write, replace(write, access=replace(write.access, type="i8"))))
    assert {loop.step for loop in cuts(narrow, TWO, 100) if loop.axis == 1} == {128, 64}


def test_there_are_no_more_cuts_than_parts_and_four_for_each_core() -> None:
    assert [loop.count for loop in cuts(copy(100, 1), TWO, 3)] == [2, 3]
    assert max(loop.count for loop in cuts(copy(1000, 1), TWO, 100)) == 8
    assert max(loop.count for loop in cuts(copy(1000, 1), Target("three", cores=3), 100)) == 12


def test_array_units_say_which_axes_are_cut_and_how() -> None:
    nest = product(100, 100, 8, (12, 0))
    assert {loop.axis for loop in cuts(nest, TWO, 100)} == {0}
    assert {loop.step % 12 for loop in cuts(nest, TWO, 100)} == {0}
    point_by_point, shared = shared_loops(product(4, 100, 8, (0, 0)), Target("two", cores=2, tile_points=1))
    assert (point_by_point, shared) == ((Loop(0, 1, 4), Loop(1, 1, 100)), True)
    assert shared_loops(product(1, 3, 8, (0, 0)), TWO) == ((Loop(1, 1, 3),), False)


def test_a_group_is_shared_from_two_tiles_of_work_on() -> None:
    for points, expected in ((2 * 2048 - 1, False), (2 * 2048, True)):
        assert shared_loops(copy(points, 1), Target("two", cores=2))[1] == expected


def test_tiles_are_shared_unless_data_say_where_results_go() -> None:
    operands = {name: Operand(name, "i32", 300 * 200, "input") for name in "ab"}
    chosen = Indirect(read(0, "i32"))
    for target, row, expected in (
        (Target("tiles", 8 << 10, cores=2, tile_points=64), None, True),
        (Target("tiles", 8 << 10, cores=2, tile_points=64), chosen, False),
        (Target("tiles", 8 << 10, tile_points=64), None, False),
        (Target("whole", 1 << 20, cores=2, tile_points=64), None, False),
    ):
        program = plan([copy(300, 200, row)], operands, target)
        assert isinstance(program, Program)
        (section,) = program.sections
        assert section.shared == expected
        assert bool(section.loops) == (target.name == "tiles")
