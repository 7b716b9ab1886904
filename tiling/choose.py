"""Choosing: of the ways to run a nest, the one that an estimate likes best, within the room there is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from math import inf, prod
from operator import lt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiling.expr import BYTES
from tiling.making import Flags, Maker, aligned
from tiling.menu import Menu, Numbers, menu_of, most_tiles
from tiling.nest import Access, Affine, Nest
from tiling.program import Image, Operand, Section, box_bytes, box_steps, dense_box
from tiling.target import Target


class Price(NamedTuple):
    """What a section costs, in whatever an estimate counts."""

    cost: float
    """If nothing of it comes early."""
    early: float = 0.0
    """What is spared at most if the first boxes of constants come while the section before is at work."""
    idle: float = 0.0
    """What the section after may spare so, as far as transfers of this one leave time for that."""

    def views(self, room: float) -> tuple[float, ...]:
        """The cost alone, behind a section that has time for its constants, and if others' may come, too.

        Of the idle time at its end, parts of `room` count.
        """
        cost, early, idle = self
        late = cost - early
        return cost, late, *[late - (idle if idle < room * part else room * part) for part in NEXT]


NEXT = 0.06, 0.25, 1.0
"""Constants of the section after are taken to need such parts of a section's time."""
VIEWS = 2 + len(NEXT)


class Bar:
    """What a price must be below of in one of the views, to be better than all that are known."""

    def __init__(self) -> None:
        self.known: list[Price] = []
        self.room = inf
        self.least: list[float] = []

    def add(self, price: Price) -> None:
        """One more price is known."""
        self.known.append(price)
        if price.cost < self.room:
            self.room = price.cost
            views = [one.views(self.room) for one in self.known]
            self.least = [min(costs) for costs in zip(*views, strict=True)]
        else:
            self.least = list(map(min, price.views(self.room), self.least))

    def passed(self, least: Price) -> bool:
        """Whether something that costs so much at least may be the best."""
        return (
            not self.least or least.cost < self.least[0] or any(map(lt, least.views(self.room), self.least))
        )


Estimate = Callable[[Sequence[Section], Mapping[str, Operand]], Sequence[Price]]
"""Prices of sections of one nest of which the cheapest are wanted; a dear one's may be infinite.

Addresses of sections are not yet known.
"""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A way to run a nest: a section with its images at address 0, its price, and what room it needs."""

    section: Section
    price: Price
    need: int = 0
    early: int = 0
    """Bytes of the boxes that may come early."""


LEAST_TILES = (2, 4, 8, 16, 64)
"""Candidates with at least so many tiles are looked for: more tiles let transfers hide behind work."""
MANY_TILES = 4096.0
"""Candidates are looked for that move least if every tile costs as much as so many bytes."""
RUN_BYTES = 64
"""… and those that move least if every stretch of contiguous bytes costs as much as so many more."""
MUCH = 1.5
"""Candidates that need less room are looked for as long as they move no more than so much more."""
LARGE = 64
"""Bytes that a constant must have to be worth a box where units reach out for it."""
SPLIT, FEWER = 1e-3, 1e-6
"""Of candidates that move the same, those without accumulators, and with fewer tiles, are preferred."""
BEYOND = 0.03
"""So much faster must a candidate be that takes more room than is free anyway."""
MOST, FEW, ALL = 40, 5, 10_000
"""Candidates that are estimated of each choice of boxes: at most, at least, and in a whole program."""


@dataclass(frozen=True)
class Setting:
    """Where a nest finds its operands: which accesses are used in place, and what the others cost."""

    nest: Nest
    menu: Menu
    inside: tuple[bool, ...]
    """Accesses whose operand is in the scratchpad, so that it is used in place."""
    weights: tuple[bool, ...]
    """Accesses that read constant factors of a contraction."""
    constant: tuple[bool, ...]
    scale: tuple[float, ...]
    """Bytes on the way for a byte in the scratchpad: less than one where constants are compressed."""
    most: int
    """Candidates that are estimated of each choice of boxes."""


def setting(nest: Nest, operands: Mapping[str, Operand], target: Target, nests: int = 1) -> Setting:
    """What a choice for a nest depends on; with many `nests`, fewer tiles are looked at for each."""
    found = [operands[access.operand] for access in nest.accesses]
    factors = weights_of(nest, operands)
    return Setting(
        nest,
        menu_of(nest, target, most_tiles(nests)),
        tuple(operand.place == "scratchpad" for operand in found),
        tuple(number in factors for number in range(len(found))),
        tuple(operand.kind == "constant" for operand in found),
        tuple(1.0 if o.stored_bytes is None else o.stored_bytes / max(o.bytes, 1) for o in found),
        max(FEW, min(MOST, ALL // nests)),
    )


def weights_of(nest: Nest, operands: Mapping[str, Operand]) -> frozenset[int]:
    """The accesses of a contraction that read constant factors, zero points left out."""
    if nest.verb != "contract" or nest.reduction is None:
        return frozenset()
    leaves = {leaf.number for leaf in nest.reduction.value.leaves if leaf.op == "read"}
    return frozenset(
        number
        for number in leaves
        if operands[nest.reads[number].operand].kind == "constant" and prod(nest.reads[number].shape) > 1
    )


def cheapest(at: Setting, target: Target, room: int) -> tuple[float, int]:
    """The least bytes moved by a choice that fits, and what room it takes; infinite if none fits."""
    best = (inf, 0)
    for boxed in ways(at, target):
        need, cost = _measured(at, boxed)
        cost[need > room] = inf
        row = int(cost.argmin())
        if cost[row] < inf:
            best = min(best, (float(cost[row]), int(need[row])))
    return best


def choose(
    at: Setting,
    operands: Mapping[str, Operand],
    target: Target,
    room: int,
    free: int,
    estimate: Estimate | None,
) -> tuple[Candidate, ...]:
    """The best sections that fit the room, alone and beside others; none if nothing fits.

    What needs more than is `free` must pay for that, as it makes the program need more.
    """
    if estimate is None:
        return _moving_least(at, target, room)
    maker = Maker(at.nest, at.menu, target)
    rows = list(_candidates(at, target, room, free))
    sections = [maker.section(row, boxed, copies) for row, boxed, copies, _ in rows]
    prices = estimate(sections, operands)
    idle = min((price.cost for price in prices), default=0.0)
    best: list[Candidate | None] = [None] * VIEWS
    least = [(inf, 0.0)] * VIEWS
    for (_, _, _, need), section, price in zip(rows, sections, prices, strict=True):
        more = 1 + BEYOND if need > free else 1
        for way, cost in enumerate(price.views(idle)):
            if (cost * more, need) < least[way]:
                least[way] = cost * more, need
                best[way] = candidate_of(at, section, price, target)
    return tuple(dict.fromkeys(choice for choice in best if choice is not None))


def candidate_of(at: Setting, section: Section, price: Price, target: Target) -> Candidate:
    """A section of a price as a choice, with the room that it needs and that its constants need early."""
    images = (*section.images, section.accumulator)
    need = sum(aligned(image.end, target) for image in images if image is not None)
    pairs = zip(at.constant, section.images, strict=True)
    early = sum(image.bytes for constant, image in pairs if constant and image is not None)
    return Candidate(section, price, need, early)


def _moving_least(at: Setting, target: Target, room: int) -> tuple[Candidate, ...]:
    """The section that moves the fewest bytes."""
    found = [
        (float(rows.cost[row]), int(boxed.sum()), int(rows.numbers[row]), int(rows.need[row]), boxed)
        for boxed in ways(at, target)
        for rows in [_fitting(at, boxed, room)[0]]
        if len(rows.numbers)
        for row in [int(rows.cost.argmin())]
    ]
    if not found:
        return ()
    cost, _, row, need, boxed = min(found, key=lambda f: f[:2])
    return (Candidate(Maker(at.nest, at.menu, target).section(row, boxed, 1), Price(cost), need),)


def ways(at: Setting, target: Target) -> Sequence[Flags]:
    """Which accesses have boxes: all that are not inside, or if units reach out, some or none.

    Weights, other large constants, values that are read and results are in boxes, or not; small constants
    only if everything is. Where weights alone are copied, they are in boxes or not, and nothing else is.
    """
    outside = ~np.array(at.inside, bool)
    if not target.direct:
        return [outside]
    if target.copied == "weights":
        boxed = outside & np.array(at.weights, bool)
        return [boxed, boxed & False] if boxed.any() else [boxed]
    nest = at.nest
    large = tuple([access.bytes >= LARGE for access in nest.accesses])
    return _ways(at.inside, at.weights, at.constant, large, len(nest.reads))


@lru_cache(maxsize=1 << 10)
def _ways(
    inside: tuple[bool, ...],
    weights: tuple[bool, ...],
    constant: tuple[bool, ...],
    large: tuple[bool, ...],
    reads: int,
) -> tuple[Flags, ...]:
    outside, factors, fixed = ~np.array(inside, bool), np.array(weights, bool), np.array(constant, bool)
    written = np.arange(len(inside)) >= reads
    few = fixed & ~factors & np.array(large, bool) & outside
    kinds = [kind & outside for kind in (factors, ~fixed & ~written, ~fixed & written)]
    found = {outside.tobytes(): outside}
    for some in product((True, False), repeat=len(kinds)):
        boxed = few.copy()
        for kind, wanted in zip(kinds, some, strict=True):
            boxed |= kind & wanted
        found.setdefault(boxed.tobytes(), boxed)
    nothing = [outside & False] if few.any() else []
    return (*found.values(), *nothing)


@dataclass(frozen=True)
class _Rows:
    """Rows of the menu that fit the room."""

    numbers: NDArray[np.intp]
    need: Numbers
    """Bytes of the scratchpad."""
    cost: Numbers
    """Bytes moved."""
    runs: Numbers
    """Stretches of contiguous bytes that these are."""
    tiles: Numbers

    def where(self, chosen: Flags) -> _Rows:
        """Some of the rows."""
        columns = (self.numbers, self.need, self.cost, self.runs, self.tiles)
        return _Rows(*(column[chosen] for column in columns))  # type: ignore[arg-type]


def _measured(at: Setting, boxed: Flags) -> tuple[Numbers, Numbers]:
    """Bytes of the scratchpad that each row of the menu needs, and bytes that it moves."""
    menu, own, scale = at.menu, boxed.astype(float), np.array(at.scale)
    direct = scale * ~(boxed | np.array(at.inside, bool))
    cost = menu.moved @ (scale * own) + menu.touched @ direct
    cost += SPLIT * menu.accumulators + FEWER * menu.counts
    return menu.rooms @ own + menu.accumulators, cost


def _fitting(at: Setting, boxed: Flags, room: int) -> tuple[_Rows, Numbers]:
    """The rows that fit, with the bytes that they need and move; and bytes for second copies of boxes."""
    menu, own = at.menu, boxed.astype(float)
    need, cost = _measured(at, boxed)
    (rows,) = np.nonzero(need <= room)
    found = _Rows(rows, need[rows], cost[rows], (menu.runs @ own)[rows], menu.counts[rows])
    return found, (menu.seconds @ own)[rows]


def _candidates(at: Setting, target: Target, room: int, free: int) -> Iterator[tuple[int, Flags, int, float]]:
    """Rows of the menu, which accesses have boxes, copies and need: a few that differ in kind."""
    seen: set[tuple[int, bytes, int]] = set()
    for boxed in ways(at, target):
        rows, second = _fitting(at, boxed, room)
        if not len(rows.numbers):
            continue
        picked = [(row, 1) for row in _picked(rows, free, bool(boxed.any()))]
        if target.double_buffering and second.any():
            double = replace(rows, need=rows.need + second)
            double = double.where(double.need <= room)
            picked += [(row, 2) for row in _picked(double, free, True)] if len(double.numbers) else []
        fresh = 0
        for (row, need), copies in picked:
            moving = at.menu.moves[row, boxed].any()
            key = row, boxed.tobytes(), copies if moving else 1
            if key not in seen and fresh < at.most:
                seen.add(key)
                fresh += 1
                yield row, boxed, key[2], need


def _picked(rows: _Rows, free: int, boxes: bool) -> Iterator[tuple[int, float]]:
    """Rows that are best in one way or another, and what they need; without boxes, few tiles are best.

    They are looked for in all of the room, in what is free, and in halves: what a smaller scratchpad offers,
    a larger one offers too, as long as it does not move much more.
    """
    found: dict[int, None] = {}
    found.update(_chain(rows, rows.cost + MANY_TILES * rows.tiles, free))
    for cost in (rows.cost, rows.cost + RUN_BYTES * rows.runs) if boxes else ():
        found.update(_chain(rows, cost, free))
        for least in LEAST_TILES:
            row = int(np.where(rows.tiles >= least, cost, np.inf).argmin())
            if rows.tiles[row] < least:
                break
            found[row] = None
    yield from ((int(rows.numbers[row]), float(rows.need[row])) for row in found)


def _chain(rows: _Rows, measure: Numbers, free: int) -> Iterator[tuple[int, None]]:
    """The row with the least measure, and those in less and less room, while they are not much worse."""
    row = int(measure.argmin())
    most = MUCH * measure[row]
    while measure[row] <= most:
        yield row, None
        if most == np.inf or (bound := _less(float(rows.need[row]), free)) <= 0:
            return
        measure = np.where(rows.need <= bound, measure, np.inf)
        row = int(measure.argmin())


def _less(need: float, free: int) -> int:
    """The next smaller room to look at: what is free, or a power of two."""
    half = 1 << max(int(need) - 1, 0).bit_length() - 1 if need > 1 else 0
    return max(half, free) if free < need else half


def least_room(nest: Nest, target: Target) -> int:
    """Bytes with which some tile fits, wherever its operands are: with its reduction whole, or in parts."""
    return 0 if target.direct else sum(size for _, size in least_boxes(nest, target))


def least_boxes(nest: Nest, target: Target) -> list[tuple[str, int]]:
    """The operands in the scratchpad, with bytes, of the tile that needs least.

    Tables that data choose from are among them where they are small and leave room for a tile.
    """
    size, tables = target.scratch_bytes or 0, sum(map(_table_bytes, nest.reads))
    least = _least_boxes(nest, target, 2 * tables <= size)
    too_large = tables and sum(box for _, box in least) > size
    return _least_boxes(nest, target, False) if too_large else least


def _least_boxes(nest: Nest, target: Target, tables: bool) -> list[tuple[str, int]]:
    """The same, with or without boxes for tables."""
    whole = tuple(axis.extent if axis.reduced else 1 for axis in nest.axes)
    least = _tile_boxes(nest, target, whole, tables)
    if nest.reduction is None:
        return least
    parts = _tile_boxes(nest, target, (1,) * len(nest.axes), tables)
    parts.append(("sums", aligned(BYTES[nest.reduction.type], target)))
    return min(least, parts, key=lambda boxes: sum(size for _, size in boxes))


def _tile_boxes(nest: Nest, target: Target, tile: tuple[int, ...], tables: bool) -> list[tuple[str, int]]:
    """The boxes of a tile."""
    found = []
    for number, access in enumerate(nest.accesses):
        steps = box_steps(access, nest.extents) if target.strided else ()
        size = box_bytes(access, tile, steps)
        if tables or not access.indirect if number < len(nest.reads) else dense_box(access, tile, steps):
            found.append((access.operand, aligned(size, target)))
    return found


def _table_bytes(access: Access) -> int:
    """Bytes of all that data may choose from, at one point; 0 if nothing is left to data."""
    if not access.indirect:
        return 0
    chosen = (e for e, i in zip(access.shape, access.index, strict=True) if not isinstance(i, Affine))
    return prod(chosen) * BYTES[access.type]


def placed(section: Section, addresses: Mapping[int, int]) -> Section:
    """The section with its images (by access; -1: the accumulator) at addresses."""
    images = tuple(
        image if image is None else _at(image, addresses[number])
        for number, image in enumerate(section.images)
    )
    own = section.accumulator
    accumulator = None if own is None else _at(own, addresses[-1])
    return Section(section.nest, section.loops, images, accumulator, section.shared)


def _at(image: Image, address: int) -> Image:
    return Image(address, image.shape, image.bytes, image.level, image.copies, image.pitch, image.steps)
