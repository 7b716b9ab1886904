"""What a menu says of a tile is what walking the tiles finds; and menus have the sizes that they promise."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise, product
from math import ceil, prod

import numpy as np
import pytest

from tests.planning.tiles import at, points, tiles
from tiling.expr import BYTES, acc, read
from tiling.menu import GRANULE, LEAST, MOST, ORDERS, Menu, menu_of, most_tiles
from tiling.nest import Access, Affine, Axis, Indirect, Nest, Reduction, Write, along, identity
from tiling.program import Loop, Section, box_shape, box_steps, dense_box
from tiling.target import Target

SMALL = Target("small", 1 << 10, 16)


def nest_of(extents: Sequence[int], reduced: int, reads: Sequence[Access], target: Access) -> Nest:
    """A nest whose last axes are summed over."""
    kept = len(extents) - reduced
    axes = tuple(Axis(f"i{n}", extent, n >= kept) for n, extent in enumerate(extents))
    total = Reduction("add", 0, "i32", read(0, reads[0].type)) if reduced else None
    value = acc("i32") if reduced else read(0, reads[0].type)
    return Nest("reduce" if reduced else "move", axes, tuple(reads), (Write(target, value),), total)


def product_of(rows: int, columns: int, depth: int) -> Nest:
    """A matrix product."""
    m, n, k = (along(number, 3) for number in range(3))
    reads = Access("a", "i8", (rows, depth), (m, k)), Access("b", "i8", (columns, depth), (n, k))
    return nest_of((rows, columns, depth), 1, reads, Access("c", "i32", (rows, columns), (m, n)))


def window(rows: int, columns: int, stride: int, taps: int) -> Nest:
    """Sums of some rows, a stride apart."""
    source = Access("a", "i16", (stride * (rows - 1) + taps, columns), (Affine((stride, 0, 1)), along(1, 3)))
    return nest_of((rows, columns, taps), 1, [source], Access("b", "i32", (rows, columns), identity(2, 0, 3)))


def transposed(rows: int, columns: int) -> Nest:
    """A matrix with rows and columns exchanged."""
    source = Access("a", "i32", (columns, rows), (along(1, 2), along(0, 2)))
    return nest_of((rows, columns), 0, [source], Access("b", "i32", (rows, columns), identity(2)))


def every_third(rows: int, columns: int) -> Nest:
    """Every third column of a matrix, put into every second place of another."""
    source = Access("a", "i8", (rows, 3 * columns), (along(0, 2), along(1, 2, 3)))
    return nest_of(
        (rows, columns), 0, [source], Access("b", "i8", (rows, 2 * columns), (along(0, 2), along(1, 2, 2)))
    )


def gathered(rows: int, columns: int, table: int) -> Nest:
    """Rows of a table that data choose."""
    chosen = Access("a", "i8", (table, columns), (Indirect(read(1, "i32")), along(1, 2)))
    places = Access("i", "i32", (rows,), (along(0, 2),))
    return nest_of((rows, columns), 0, [chosen, places], Access("b", "i8", (rows, columns), identity(2)))


NESTS = {
    "product": product_of(12, 32, 24),
    "window": window(8, 12, 2, 3),
    "window without overlap": window(6, 40, 3, 2),
    "transposed": transposed(18, 32),
    "every third": every_third(6, 20),
    "small table": gathered(9, 16, 4),
    "large table": gathered(9, 16, 600),
}


def sections(nest: Nest, menu: Menu) -> list[tuple[int, Section]]:
    """Rows of a menu as loops, not more than some of them."""
    found = []
    for row in range(0, len(menu.tiles), -(-len(menu.tiles) // 60)):
        tile = [int(size) for size in menu.tiles[row]]
        loops = tuple(
            Loop(axis, tile[axis], -(-nest.extents[axis] // tile[axis]))
            for axis in menu.orders[menu.order[row]]
            if tile[axis] < nest.extents[axis]
        )
        found.append((row, Section(nest, loops, (None,) * len(nest.accesses))))
    return found


def moving(access: Access, section: Section) -> list[Loop]:
    """The loops out to the last that moves what a tile needs of an operand."""
    moves = [
        number
        for number, loop in enumerate(section.loops)
        if any(isinstance(i, Affine) and i.coefficients[loop.axis] for i in access.index)
    ]
    return list(section.loops[: moves[-1] + 1]) if moves else []


def stretches(access: Access, shape: Sequence[int], steps: Sequence[int]) -> int:
    """Runs of contiguous elements in a box at the origin of an operand."""
    strides = access.strides
    reach = [
        range(0, extent * step, step) for extent, step in zip(shape, steps or (1,) * len(shape), strict=True)
    ]
    elements = sorted(sum(i * s for i, s in zip(point, strides, strict=True)) for point in product(*reach))
    return 1 + sum(after != before + 1 for before, after in pairwise(elements))


@pytest.mark.parametrize("strided", [False, True], ids=["dense", "strided"])
@pytest.mark.parametrize("name", NESTS)
def test_boxes_take_the_bytes_that_tiles_touch(name: str, strided: bool) -> None:
    nest, target = NESTS[name], Target("small", 1 << 10, 16, strided=strided)
    menu = menu_of(nest, target)
    for row, section in sections(nest, menu):
        assert menu.counts[row] == section.tiles
        for number, access in enumerate(nest.accesses):
            steps = box_steps(access, nest.extents) if strided else ()
            size = prod(box_shape(access, section.tile, steps)) * BYTES[access.type]
            table = access.indirect and 2 * access.shape[0] * BYTES[access.type] > 1 << 10
            gaps = number >= len(nest.reads) and not dense_box(access, section.tile, steps)
            assert menu.rooms[row, number] == (0 if table or gaps else -(-size // 16) * 16)
            times = prod(loop.count for loop in moving(access, section))
            assert menu.moves[row, number] == (times > 1)
            assert menu.seconds[row, number] == (menu.rooms[row, number] if times > 1 else 0)
        split = any(nest.axes[loop.axis].reduced for loop in section.loops)
        results = prod(section.tile[: nest.outer])
        assert menu.accumulators[row] == (-(-results * 4 // 16) * 16 if split else 0)


@pytest.mark.parametrize("strided", [False, True], ids=["dense", "strided"])
@pytest.mark.parametrize("name", NESTS)
def test_bytes_moved_are_those_of_all_boxes_that_come(name: str, strided: bool) -> None:
    nest = NESTS[name]
    menu = menu_of(nest, Target("small", 1 << 10, 16, strided=strided))
    for row, section in sections(nest, menu):
        for number, access in enumerate(nest.accesses):
            written = number >= len(nest.reads)
            if not menu.rooms[row, number] or (written and access.indirect):
                continue
            steps = box_steps(access, nest.extents) if strided else (1,) * len(access.shape)
            loops = moving(access, section)
            come: dict[tuple[int, ...], int] = {}
            for counts, box in tiles(section):
                extent = tuple(end - first for first, end in box)
                come[counts[: len(loops)]] = prod(box_shape(access, extent, steps)) * BYTES[access.type]
            assert menu.moved[row, number] == pytest.approx(sum(come.values()))
            full = stretches(access, box_shape(access, section.tile, steps), steps)
            assert menu.runs[row, number] == full * prod(loop.count for loop in loops)


@pytest.mark.parametrize("strided", [False, True], ids=["dense", "strided"])
@pytest.mark.parametrize("name", NESTS)
def test_units_that_reach_out_touch_what_their_points_need(name: str, strided: bool) -> None:
    nest = NESTS[name]
    menu = menu_of(nest, Target("small", 1 << 10, 16, strided=strided))
    for row, section in sections(nest, menu):
        for number, access in enumerate(nest.accesses):
            if access.indirect:
                expected = prod(nest.extents)
            elif number >= len(nest.reads):
                expected = prod(nest.extents[: nest.outer])
            else:
                expected = sum(
                    len({tuple(at(index, point) for index in access.index) for point in points(box)})
                    for _, box in tiles(section)
                )
            found = menu.touched[row, number]
            if name.startswith("window") and number == 0:
                # A window of several rows: what overlaps is counted once a tile, rows between not at all.
                assert found <= sum(
                    prod(box_shape(access, tuple(end - first for first, end in box))) * 2
                    for _, box in tiles(section)
                )
            else:
                assert found == pytest.approx(expected * BYTES[access.type])
            if not menu.rooms[row, number]:
                assert menu.moved[row, number] == found
                assert menu.runs[row, number] == 0


@pytest.mark.parametrize("name", NESTS)
def test_the_least_room_is_that_of_some_tile(name: str) -> None:
    menu = menu_of(NESTS[name], SMALL)
    assert menu.least == (menu.rooms.sum(1) + menu.accumulators).min()
    nobody, everybody = [False] * menu.rooms.shape[1], [True] * menu.rooms.shape[1]
    assert menu.smallest(nobody) == menu.least
    assert menu.smallest(everybody) == menu.accumulators.min()
    assert menu.smallest([True, *nobody[1:]]) == (menu.rooms[:, 1:].sum(1) + menu.accumulators).min()


def sizes(menu: Menu, axis: int) -> list[int]:
    """The sizes along an axis, largest first."""
    return sorted({int(size) for size in menu.tiles[:, axis]}, reverse=True)


def test_sizes_are_parts_of_an_axis_from_the_whole_to_one() -> None:
    menu = menu_of(product_of(100, 64, 100), SMALL)
    assert sizes(menu, 0) == [ceil(100 / parts) for parts in (1, 2, 4, 8, 16, 32, 64, 128)]


def test_sizes_along_innermost_axes_are_multiples_that_arrays_like() -> None:
    menu = menu_of(product_of(100, 100, 100), SMALL)
    for axis in (1, 2):
        assert sizes(menu, axis) == [100, 64, 32, 13, 7, 4, 2, 1]
    assert GRANULE == 16


def test_the_whole_comes_first_and_no_row_twice() -> None:
    for nest in NESTS.values():
        menu = menu_of(nest, SMALL)
        assert tuple(menu.tiles[0]) == nest.extents
        rows = np.column_stack([menu.tiles, menu.order])
        assert len(np.unique(rows, axis=0)) == len(rows)


def test_axes_that_move_the_same_are_cut_from_the_outside_inwards_or_evenly() -> None:
    source = Access("a", "i8", (64, 64), identity(2))
    menu = menu_of(nest_of((64, 64), 0, [source], replace_name(source, "b")), SMALL)
    found = {(int(y), int(x)) for y, x in menu.tiles}
    outside = {(rows, 64) for rows in (64, 32, 16, 8, 4, 2, 1)} | {(1, size) for size in (32, 16, 8, 4, 2, 1)}
    evenly = {(size, size) for size in (32, 16, 8, 4, 2)}
    assert found == outside | evenly
    assert menu.orders == ((0, 1),)


def replace_name(access: Access, name: str) -> Access:
    """The access to another operand."""
    return Access(name, access.type, access.shape, access.index)


def test_reduced_axes_are_never_cut_evenly() -> None:
    source = Access("a", "i8", (16, 64, 64), identity(3))
    menu = menu_of(nest_of((16, 64, 64), 2, [source], Access("b", "i32", (16,), (along(0, 3),))), SMALL)
    assert all(y == 1 or x == 64 for _, y, x in menu.tiles)


def test_kept_axes_stand_in_all_orders_and_reduced_ones_behind_them() -> None:
    menu = menu_of(product_of(12, 32, 24), SMALL)
    assert set(menu.orders) == {(0, 1, 2), (1, 0, 2)}
    for number, order in enumerate(menu.orders):
        assert number in menu.order, order
    # Where one loop alone is left, its place among the others changes nothing.
    only = menu.order[(menu.tiles[:, 1] == 32) | (menu.tiles[:, 0] == 12)]
    assert not only.any()


def test_there_are_not_too_many_orders() -> None:
    index = identity(4)
    reads = [Access(f"a{n}", "i8", (8,), (index[n],)) for n in range(4)]
    menu = menu_of(nest_of((8, 8, 8, 8), 0, reads, Access("b", "i8", (8, 8, 8, 8), index)), SMALL)
    assert len(menu.orders) == len(set(menu.orders)) == ORDERS == 6
    assert menu.orders[0] == (0, 1, 2, 3)


@pytest.mark.parametrize(
    ("most", "factor", "rungs"),
    [(1000, 2, 10), (999, 3, 7), (343, 3, 7), (342, 4, 6), (215, 8, 4), (63, 64, 3), (26, 1 << 62, 2)],
)
def test_sizes_are_further_apart_where_fewer_tiles_are_looked_at(most: int, factor: int, rungs: int) -> None:
    menu = menu_of(product_of(500, 500, 500), SMALL, most)
    assert len({tuple(tile) for tile in menu.tiles}) == rungs**3 <= max(most, 8)
    assert sizes(menu, 0) == list(dict.fromkeys(ceil(500 / factor**rung) for rung in range(rungs)))


def test_many_nests_have_few_tiles_each() -> None:
    assert [most_tiles(count) for count in (0, 1, 400, 401, 1000, 4000, 10**6)] == [
        MOST, MOST, 1500, 1496, 600, 150, LEAST,
    ]  # fmt: skip
