"""Menus: the ways to cut a nest into tiles, with what each needs of the scratchpad and moves, as arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations
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


@dataclass(frozen=True, eq=False)
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


@dataclass(frozen=True, slots=True)
class _Form:
    """What the boxes of an access depend on."""

    shape: tuple[int, ...]
    type: str
    index: tuple[tuple[int, ...] | None, ...]
    """Coefficients of each dimension's index; none where data choose it."""
    written: bool

    @property
    def chosen_bytes(self) -> int:
        """Bytes of all that data may choose from, at one point; 0 if nothing is left to data."""
        if None not in self.index:
            return 0
        pairs = zip(self.shape, self.index, strict=True)
        return BYTES[self.type] * prod(extent for extent, index in pairs if index is None)


@dataclass(frozen=True, slots=True)
class _Case:
    """What a menu depends on."""

    extents: tuple[int, ...]
    outer: int
    forms: tuple[_Form, ...]
    sum_type: str | None
    alignment: int
    strided: bool
    capacity: int
    """Bytes of scratchpad, where they decide whether a table may come into it."""
    sizes: tuple[int | None, ...] = ()
    """Points of a tile along the axes where these are given."""
    order: tuple[int, ...] | None = None
    """The order of loops, if it is given."""


@dataclass(frozen=True, slots=True)
class _Boxes:
    """The boxes of an access, one for each tile."""

    room: Numbers
    """Bytes."""
    mean: Numbers
    """Bytes on the average, as tiles at the edge are smaller."""
    dense: NDArray[np.bool_]
    """Whether the tile fills its box."""
    touched: Numbers
    """Bytes on the average without gaps."""
    runs: Numbers
    """Stretches of contiguous bytes."""


def menu_of(
    nest: Nest,
    target: Target,
    most: int = MOST,
    sizes: tuple[int | None, ...] = (),
    order: tuple[int, ...] | None = None,
) -> Menu:
    """The menu of a nest, of about so many tiles at most; equal shapes share it.

    With `sizes` along some axes, or an `order` of loops, only what has these.
    """
    forms = tuple(
        _Form(access.shape, access.type, tuple(map(_coefficients, access.index)), number >= len(nest.reads))
        for number, access in enumerate(nest.accesses)
    )
    sum_type = nest.reduction.type if nest.reduction is not None else None
    gathers = any(access.indirect for access in nest.reads)
    capacity = (target.scratch_bytes or 0) if gathers else 0
    case = _Case(
        nest.extents, nest.outer, forms, sum_type, target.alignment, target.strided, capacity, sizes, order
    )
    return _menu(case, most)


def most_tiles(nests: int) -> int:
    """How many tiles to look at for each of so many nests."""
    return min(MOST, max(LEAST, ALL // max(nests, 1)))


def _coefficients(index: object) -> tuple[int, ...] | None:
    return index.coefficients if isinstance(index, Affine) else None


@lru_cache(maxsize=512)
def _menu(case: _Case, most: int) -> Menu:
    moving = _moving(case.extents, case.forms)
    classes = _classes(case.extents, case.outer, moving)
    tiles = _tiles(case.extents, case.outer, classes, most)
    if any(size is not None for size in case.sizes):
        tiles = _sized(tiles, case.sizes)
    counts = np.ceil(np.array(case.extents, float) / tiles)
    known = {form: _boxes(form, case.extents, tiles, case.strided) for form in dict.fromkeys(case.forms)}
    boxes = [known[form] for form in case.forms]
    accumulators, touched = _accumulators(case, tiles, counts), _touched(case, boxes, counts)
    rooms = _rooms(case, boxes, tiles, accumulators)
    orders = _orders(case.extents, case.outer, classes) if case.order is None else (case.order,)
    rows, order = _rows(counts, len(orders), [axes for axes in classes if axes[0] < case.outer])
    loads = np.empty((len(rows), len(boxes)))
    for number, axes in enumerate(orders):
        loads[order == number] = _loads(axes, counts[rows[order == number]], moving)
    means = _columns([one.mean for one in boxes], tiles)
    runs = _columns([one.runs for one in boxes], tiles)
    return Menu(
        tiles=tiles[rows],
        orders=orders,
        order=order,
        counts=counts.prod(1)[rows],
        rooms=rooms[rows],
        moves=loads > 1,
        seconds=rooms[rows] * (loads > 1),
        moved=np.where(rooms[rows] > 0, loads * means[rows], touched[rows]),
        runs=loads * runs[rows] * (rooms[rows] > 0),
        touched=touched[rows],
        accumulators=accumulators[rows],
        least=int((rooms.sum(1) + accumulators).min()),
    )


def _columns(columns: Sequence[Numbers], tiles: Numbers) -> Numbers:
    return np.stack(columns, 1) if columns else np.zeros((len(tiles), 0))


def _rooms(case: _Case, boxes: Sequence[_Boxes], tiles: Numbers, accumulators: Numbers) -> Numbers:
    """Bytes of the boxes, aligned; 0 for results with gaps, and for tables that leave too little room."""
    found = [one.room * (one.dense | (not form.written)) for form, one in zip(case.forms, boxes, strict=True)]
    rooms: Numbers = np.ceil(_columns(found, tiles) / case.alignment) * case.alignment
    chosen = [0 if form.written else form.chosen_bytes for form in case.forms]
    if any(chosen) and (
        2 * sum(chosen) > case.capacity or (rooms.sum(1) + accumulators).min() > case.capacity
    ):
        rooms[:, np.array(chosen) > 0] = 0
    return rooms


def _touched(case: _Case, boxes: Sequence[_Boxes], counts: Numbers) -> Numbers:
    """Bytes if every tile goes to memory for itself, results and what data choose at each point."""
    total = counts.prod(1)
    found = []
    for form, one in zip(case.forms, boxes, strict=True):
        points = prod(case.extents[: case.outer] if form.written else case.extents)
        apart = form.written or None in form.index
        found.append(np.full(len(counts), float(points * BYTES[form.type])) if apart else total * one.touched)
    return _columns(found, counts)


def _accumulators(case: _Case, tiles: Numbers, counts: Numbers) -> Numbers:
    """Bytes of accumulators, where a reduction is split."""
    if case.sum_type is None:
        return np.zeros(len(tiles))
    split = counts[:, case.outer :].prod(1) > 1
    size: Numbers = tiles[:, : case.outer].prod(1) * BYTES[case.sum_type] * split
    return np.ceil(size / case.alignment) * case.alignment


def _rows(
    counts: Numbers, orders: int, kept: Sequence[list[int]]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The tile and the order of each row: loops of one class alone are the same in all orders."""
    cut = sum(((counts[:, axes] > 1).any(1) for axes in kept), np.zeros(len(counts), int))
    several = np.flatnonzero(cut > 1)
    rows = [several if number else np.arange(len(counts)) for number in range(orders)]
    return np.concatenate(rows), np.repeat(np.arange(orders), [len(some) for some in rows])


def _moving(extents: Sequence[int], forms: Sequence[_Form]) -> NDArray[np.bool_]:
    """Which axes (rows) move which accesses (columns)."""
    return np.array(
        [
            [extent > 1 and any(i is not None and i[axis] for i in form.index) for form in forms]
            for axis, extent in enumerate(extents)
        ],
        bool,
    ).reshape(len(extents), len(forms))


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
    lengths = tuple(map(len, ladders))
    tiles = np.ones((prod(lengths), len(extents)))
    for axes, ladder, rungs in zip(classes, ladders, np.indices(lengths), strict=True):
        tiles[:, axes] = np.array(ladder, float)[rungs.ravel()]
    return tiles


def _sized(tiles: Numbers, sizes: Sequence[int | None]) -> Numbers:
    """The tiles with the sizes that are given, each once."""
    rows = [tuple(own if one is None else one for own, one in zip(row, sizes, strict=True)) for row in tiles]
    return np.array(list(dict.fromkeys(rows)), float).reshape(-1, len(sizes))


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
    last = range(outer, len(extents))
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


def _boxes(form: _Form, extents: tuple[int, ...], tiles: Numbers, strided: bool) -> _Boxes:
    room = np.full(len(tiles), float(BYTES[form.type]))
    mean, touched, dense = room.copy(), room.copy(), np.ones(len(tiles), bool)
    average = np.array(extents, float) / np.ceil(np.array(extents, float) / tiles)
    runs = np.ones(len(tiles))
    for extent, coefficients in zip(form.shape, form.index, strict=True):
        if coefficients is None:
            room, mean, touched, dense = room * extent, mean * extent, touched * extent, dense & False
            continue
        stride = _step(coefficients, extents)
        step = stride if strided else 1
        most = -(-extent // step)
        used = [a for a, c in enumerate(coefficients) if c and extents[a] > 1]
        if not used:
            runs = room / BYTES[form.type] if extent > 1 else runs
            continue
        factors = np.abs(np.array([coefficients[a] for a in used], float)) / step
        reach = 1 + np.floor((tiles[:, used] - 1) @ factors)
        box = np.minimum(most, reach)
        dense &= tiles[:, used].prod(1) == box
        runs = np.where(box < extent, room / BYTES[form.type], runs) * (box if step > 1 else 1)
        room *= box
        average_reach = (average[:, used] - 1) @ factors
        mean *= np.minimum(most, 1 + average_reach)
        touched *= np.minimum(-(-extent // stride), 1 + average_reach * step / stride)
    return _Boxes(room, mean, dense, touched, runs)


def _step(coefficients: tuple[int, ...], extents: tuple[int, ...]) -> int:
    axes = len(extents)
    return box_steps(Access("", "i8", (1,), (Affine(coefficients),)), extents)[0] if axes else 1
