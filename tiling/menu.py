"""Menus: the ways to cut a nest into tiles, with what each needs of the scratchpad and moves, as arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations, product
from math import prod

import numpy as np
from numpy.typing import NDArray

from tiling.expr import BYTES
from tiling.nest import Access, Affine, Nest
from tiling.program import box_steps
from tiling.target import Target

Numbers = NDArray[np.float64]
"""Exact up to 2⁵³, and without overflow beyond."""

MOST = 1500
"""Tiles that are looked at; if there are more, sizes are further apart."""
LEAST, ALL = 150, 600_000
"""So many tiles are looked at in any case, and so many for all nests of a program."""
ORDERS = 6
GRANULE = 16
"""Sizes along innermost axes are multiples of this, which arrays like."""


@dataclass(frozen=True)
class Menu:
    """The tiles of a nest: rows are choices of a tile and an order of loops, columns its accesses.

    Accumulators take room only where a reduction is split: else the unit has its own for a tile.
    """

    tiles: Numbers
    """Points along each axis."""
    orders: tuple[tuple[int, ...], ...]
    """Axes from the outermost loop to the innermost."""
    order: NDArray[np.intp]
    """Which order a row has."""
    counts: Numbers
    """How many tiles there are."""
    rooms: Numbers
    """Bytes of each access's box, aligned; 0 where the operand cannot come into the scratchpad."""
    moves: NDArray[np.bool_]
    """Whether the box moves, so that a second copy could be loaded while one is used."""
    seconds: Numbers
    """Bytes of such a copy."""
    moved: Numbers
    """Bytes between memory and box in the whole section, if the box stays as long as it can; without box, the
    bytes that go straight to the memory."""
    runs: Numbers
    """Stretches of contiguous bytes that these are."""
    touched: Numbers
    """Bytes if every tile goes to memory for itself."""
    accumulators: Numbers
    """Bytes of accumulators."""
    least: int
    """The least bytes that some tile needs, if all accesses have boxes."""

    def smallest(self, inside: Sequence[bool]) -> float:
        """The least bytes that some tile needs, with boxes for the accesses that are not `inside` already."""
        boxed = ~np.asarray(inside, bool)
        return float((self.rooms[:, boxed].sum(1) + self.accumulators).min())


def menu_of(nest: Nest, target: Target, most: int = MOST) -> Menu:
    """The menu of a nest, of about so many tiles at most; equal shapes share it."""
    shape = tuple((a.shape, a.type, tuple(map(_coefficients, a.index))) for a in nest.accesses)
    kind = nest.reduction.type if nest.reduction is not None else None
    gathers = any(access.indirect for access in nest.reads)
    capacity = (target.scratch_bytes or 0) if gathers else 0
    alignment, strided = target.alignment, target.strided
    outer, reads = nest.outer, len(nest.reads)
    return _menu(nest.extents, outer, reads, shape, kind, alignment, strided, capacity, most)


def most_tiles(nests: int) -> int:
    """How many tiles to look at for each of so many nests."""
    return min(MOST, max(LEAST, ALL // max(nests, 1)))


def _coefficients(index: object) -> tuple[int, ...] | None:
    return index.coefficients if isinstance(index, Affine) else None


Shape = tuple[tuple[int, ...], str, tuple[tuple[int, ...] | None, ...]]


@lru_cache(maxsize=512)
def _menu(
    extents: tuple[int, ...],
    outer: int,
    reads: int,
    shapes: tuple[Shape, ...],
    reduction: str | None,
    alignment: int,
    strided: bool,
    capacity: int,
    most: int,
) -> Menu:
    moving = _moving(extents, shapes)
    classes = _classes(extents, outer, moving)
    tiles = _tiles(extents, outer, classes, most)
    counts = np.ceil(np.array(extents, float) / tiles)
    orders = _orders(extents, outer, classes)
    columns = [_boxes(shape, extents, tiles, strided) for shape in shapes]
    rooms = np.stack([c[0] for c in columns], 1) if columns else np.zeros((len(tiles), 0))
    means = np.stack([c[1] for c in columns], 1) if columns else np.zeros((len(tiles), 0))
    runs = np.stack([c[4] for c in columns], 1) if columns else means
    for number, (shape, _, index) in enumerate(shapes):
        if number < reads and None in index:
            small = (
                2 * BYTES[shapes[number][1]] * prod(e for e, i in zip(shape, index, strict=True) if i is None)
            )
            rooms[:, number] *= small <= capacity
        elif number >= reads:
            rooms[:, number] *= columns[number][2]
    rooms = np.ceil(rooms / alignment) * alignment
    total = counts.prod(1)
    touched = np.stack([total * c[3] for c in columns], 1) if columns else means
    for number, (_, type, index) in enumerate(shapes):
        if None in index or number >= reads:
            touched[:, number] = prod(extents if number < reads else extents[:outer]) * BYTES[type]
    accumulators = np.zeros(len(tiles))
    if reduction is not None:
        split = counts[:, outer:].prod(1) > 1
        accumulators = np.ceil(tiles[:, :outer].prod(1) * BYTES[reduction] * split / alignment) * alignment
    # Where loops of only one class are there, all orders are the same.
    cut = sum(
        ((counts[:, axes] > 1).any(1) for axes in classes if axes[0] < outer), np.zeros(len(tiles), int)
    )
    every, several = np.arange(len(tiles)), np.flatnonzero(cut > 1)
    rows = np.concatenate([several if number else every for number in range(len(orders))])
    order = np.repeat(np.arange(len(orders)), [len(several) if n else len(every) for n in range(len(orders))])
    loads = [_loads(axes, counts[several if n else every], moving) for n, axes in enumerate(orders)]
    often = np.concatenate(loads)
    least = int((rooms.sum(1) + accumulators).min())
    return Menu(
        tiles[rows],
        orders,
        order,
        total[rows],
        rooms[rows],
        often > 1,
        rooms[rows] * (often > 1),
        np.where(rooms[rows] > 0, often * means[rows], touched[rows]),
        often * runs[rows] * (rooms[rows] > 0),
        touched[rows],
        accumulators[rows],
        least,
    )


def _moving(extents: Sequence[int], shapes: Sequence[Shape]) -> NDArray[np.bool_]:
    """Which axes (rows) move which accesses (columns)."""
    return np.array(
        [
            [extent > 1 and any(i is not None and i[axis] for i in index) for _, _, index in shapes]
            for axis, extent in enumerate(extents)
        ],
        bool,
    ).reshape(len(extents), len(shapes))


def _classes(extents: Sequence[int], outer: int, moving: NDArray[np.bool_]) -> list[list[int]]:
    """Axes that move the same accesses, kept ones and reduced ones apart."""
    found: dict[tuple[bool, bytes], list[int]] = {}
    for axis, extent in enumerate(extents):
        if extent > 1:
            found.setdefault((axis >= outer, moving[axis].tobytes()), []).append(axis)
    return list(found.values())


def _tiles(extents: Sequence[int], outer: int, classes: Sequence[Sequence[int]], most: int) -> Numbers:
    """Sizes along the axes: all combinations of the classes' ladders, the whole first."""
    innermost = outer - 1, len(extents) - 1
    for factor in (2.0, 3.0, 4.0, 8.0, 64.0, float(1 << 62)):
        ladders = [
            _ladder(tuple(extents[a] for a in axes), axes[-1] in innermost, axes[0] < outer, factor)
            for axes in classes
        ]
        if prod(map(len, ladders)) <= most:
            break
    combined = list(product(*ladders))
    tiles = np.ones((len(combined), len(extents)))
    for number, axes in enumerate(classes):
        tiles[:, axes] = np.array([row[number] for row in combined], float)
    return tiles


@lru_cache(maxsize=4096)
def _ladder(
    extents: tuple[int, ...], inner: bool, evenly: bool, factor: float
) -> tuple[tuple[int, ...], ...]:
    return tuple(dict.fromkeys(_rungs(extents, inner, evenly, factor)))


def _rungs(extents: tuple[int, ...], inner: bool, evenly: bool, factor: float) -> Iterator[tuple[int, ...]]:
    """Sizes of a class: outer axes cut to the end before inner ones, or all cut `evenly` too."""
    yield extents
    for axis, extent in enumerate(extents):
        for size in _sizes(extent, inner and axis == len(extents) - 1, factor):
            yield (*(1 for _ in extents[:axis]), size, *extents[axis + 1 :])
    if evenly and len(extents) > 1:
        limit = max(extents) / factor
        while limit >= 2:
            yield tuple(min(extent, -(-extent // -(-extent // int(limit)))) for extent in extents)
            limit /= factor


def _sizes(extent: int, inner: bool, factor: float) -> Iterator[int]:
    """Sizes below an extent, about `factor` apart, down to 1."""
    parts: float = 1
    while True:
        parts = max(parts * factor, int(parts) + 1)
        size = -(-extent // int(parts))
        if inner and size >= GRANULE:
            size = -(-size // GRANULE) * GRANULE
        if size < extent:
            yield size
        if size <= 1:
            return


def _orders(
    extents: Sequence[int], outer: int, classes: Sequence[Sequence[int]]
) -> tuple[tuple[int, ...], ...]:
    """Orders of loops that differ in what moves: kept classes in all orders, the reduced axes behind them."""
    kept = [axes for axes in classes if axes[0] < outer]
    last = tuple(axis for axis in range(outer, len(extents)) if extents[axis] > 1)
    orders = []
    for number, order in enumerate(permutations(kept)):
        if number == ORDERS:
            break
        orders.append((*(axis for axes in order for axis in axes), *last))
    return tuple(orders)


def _loads(order: Sequence[int], counts: Numbers, moving: NDArray[np.bool_]) -> Numbers:
    """How often each access's box is loaded: once a step of the loops out to the last that moves it."""
    loads = np.ones((len(counts), moving.shape[1]))
    steps = np.ones(len(counts))
    for axis in order:
        steps = steps * counts[:, axis]
        moved = (counts[:, axis] > 1)[:, None] & moving[axis][None]
        loads = np.where(moved, steps[:, None], loads)
    return loads


def _boxes(
    shape: Shape, extents: tuple[int, ...], tiles: Numbers, strided: bool
) -> tuple[Numbers, Numbers, NDArray[np.bool_], Numbers, Numbers]:
    """Of each tile: bytes of the box, their average, whether it fills it, bytes without gaps, and runs."""
    sizes, kind, index = shape
    room = np.full(len(tiles), float(BYTES[kind]))
    mean, least, dense = room.copy(), room.copy(), np.ones(len(tiles), bool)
    average = np.array(extents, float) / np.ceil(np.array(extents, float) / tiles)
    runs = np.ones(len(tiles))
    for extent, coefficients in zip(sizes, index, strict=True):
        if coefficients is None:
            room, mean, least, dense = room * extent, mean * extent, least * extent, dense & False
            continue
        stride = _step(coefficients, extents)
        step = stride if strided else 1
        most = -(-extent // step)
        used = [a for a, c in enumerate(coefficients) if c and extents[a] > 1]
        if not used:
            runs = room / BYTES[kind] if extent > 1 else runs
            continue
        factors = np.abs(np.array([coefficients[a] for a in used], float)) / step
        reach = 1 + np.floor((tiles[:, used] - 1) @ factors)
        box = np.minimum(most, reach)
        dense &= tiles[:, used].prod(1) == box
        runs = np.where(box < extent, room / BYTES[kind], runs) * (box if step > 1 else 1)
        room *= box
        average_reach = (average[:, used] - 1) @ factors
        mean *= np.minimum(most, 1 + average_reach)
        least *= np.minimum(-(-extent // stride), 1 + average_reach * step / stride)
    return room, mean, dense, least, runs


def _step(coefficients: tuple[int, ...], extents: tuple[int, ...]) -> int:
    axes = len(extents)
    return box_steps(Access("", "i8", (1,), (Affine(coefficients),)), extents)[0] if axes else 1
