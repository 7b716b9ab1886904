"""How groups are cut for several cores."""

from __future__ import annotations

from math import prod

from hypothesis import given
from hypothesis import strategies as st

from tiling.expr import acc, read
from tiling.nest import Access, Affine, Axis, Indirect, Nest, Reduction, Write, along
from tiling.share import shared_loops
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


def test_little_work_is_left_to_one_core() -> None:
    assert shared_loops(copy(8, 64), TWO) == ((), False)
    assert shared_loops(copy(512, 512), TWO)[1]
    assert not shared_loops(copy(512, 512), Target("one"))[1]


def test_results_that_data_place_are_left_to_one_core() -> None:
    assert not shared_loops(copy(512, 512, Indirect(read(0, "i32"))), TWO)[1]
