"""Choosing: of the ways to run a nest, the one that an estimate likes best, within the room there is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import inf, prod
from operator import lt
from typing import NamedTuple

import numpy as np

from tiling.expr import BYTES
from tiling.making import Flags, Maker, aligned
from tiling.menu import Menu, menu_of, most_tiles
from tiling.nest import Access, Affine, Nest
from tiling.offer import COARSE, LONG, STEP, Case, Offers, measured, offered
from tiling.program import Image, Operand, Parcels, Section, box_bytes, box_steps, dense_box
from tiling.target import Target


class Price(NamedTuple):
    """What a section costs, in whatever an estimate counts."""

    cost: float
    """If nothing of it comes early."""
    early: float = 0.0
    """What is spared at most if the first boxes of constants come while the section before is at work."""
    idle: float = 0.0
    """What the section after may spare so, as far as transfers of this one leave time for that."""
    moved: float = 0.0
    """What its bytes would cost beside that if they counted for themselves."""
    later: float = 0.0
    """What its bytes cost as nothing else comes meanwhile, of which a section by itself knows nothing."""

    def views(self, room: float) -> tuple[float, ...]:
        """The cost alone, of itself, with bytes that count, behind one that has time, and before others.

        Of the idle time at its end, in which others' constants may come, parts of `room` count.
        """
        cost, early, idle, moved, later = self
        late = cost - early
        return (
            cost,
            cost - later,
            cost + moved,
            late,
            *[late - (idle if idle < room * part else room * part) for part in NEXT],
        )


NEXT = 0.06, 0.25, 1.0
"""Constants of the section after are taken to need such parts of a section's time."""
VIEWS = 4 + len(NEXT)


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

    def beaten(self, least: Price, margin: float) -> bool:
        """Whether something that costs so much at least is worse than another one beside whatever others.

        That is if it is when all is spared for it that can be, and nothing for the other, which may cost more
        by a `margin` for its room, and however bytes and idle time count (`planner.Aim`). To be slightly
        faster is not worth it to move more.
        """
        cost, early, idle, moved, later = least
        busy = cost - idle
        late = busy - early
        for one in self.known:
            dear = one.cost * (1 + margin)
            if (
                late > dear
                and late - later > dear - one.later - SLIGHT * (later > one.later) * dear
                and late + moved > dear + one.moved
                and late + busy > 2 * dear - one.idle
            ):
                return True
        return False


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


class Choices(NamedTuple):
    """What a nest may run as."""

    best: tuple[Candidate, ...] = ()
    """Alone, and beside others if all of these have room."""
    priced: tuple[Candidate, ...] = ()
    """All that may be best; what needs more room than is free costs more."""


LARGE = 64
"""Bytes that a constant must have to be worth a box where units reach out for it."""
PARTS = 1024
"""Of a byte, in which the scales of compressed constants are counted."""
SLIGHT = 1e-4
"""A part of a section's time."""
BEYOND = 0.003
"""So much faster must a candidate be that takes more room than is free anyway."""


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
    steps: int
    """So many make an offer that needs more room twice as good."""


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
        tuple(map(_scale, found)),
        STEP if nests <= LONG else COARSE,
    )


def _scale(operand: Operand) -> float:
    """Bytes on the way for a byte: of few bits, so that sums are exact in whatever order they are added."""
    if operand.stored_bytes is None:
        return 1.0
    return round(PARTS * operand.stored_bytes / max(operand.bytes, 1)) / PARTS


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
        need, cost = measured(at.menu, boxed, at.inside, at.scale)
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
    maker: Maker | None = None,
) -> Choices:
    """The best sections that fit the room, alone and beside others; none if nothing fits.

    What needs more than is `free` must pay for that, as it makes the program need more. A `maker` is one that
    has made sections of an equal nest in this setting, perhaps for other rooms.
    """
    if estimate is None:
        return Choices(_moving_least(at, target, room))
    offers = offers_of(at, target, room, maker)
    names = zip(offers.maker.nest.accesses, at.nest.accesses, strict=True)
    prices = estimate(offers, {theirs.operand: operands[own.operand] for theirs, own in names})
    idle = min((price.cost for price in prices), default=0.0)
    best: list[Candidate | None] = [None] * VIEWS
    least = [(inf, 0.0, inf)] * VIEWS
    priced = []
    for number, (need, price) in enumerate(zip(offers.needs, prices, strict=True)):
        if price.cost == inf:
            continue
        more = 1 + BEYOND if need > free else 1
        dearer = price if more == 1 else price._replace(cost=price.cost * more)
        priced.append(candidate_of(at, offers[number], dearer, target))
        tiles = float(at.menu.counts[offers.rows[number]])
        for way, cost in enumerate(price.views(idle)):
            if (cost * more, need, tiles) < least[way]:
                least[way] = cost * more, need, tiles
                best[way] = candidate_of(at, offers[number], price, target)
    return Choices(tuple(dict.fromkeys(choice for choice in best if choice is not None)), tuple(priced))


def offers_of(at: Setting, target: Target, room: int, maker: Maker | None = None) -> Offers:
    """What may be best of all that fits the room."""
    cases = [
        Case(tuple(boxed.tolist()), at.inside, at.constant, at.scale, target.double_buffering, at.steps)
        for boxed in ways(at, target)
    ]
    maker = maker or Maker(at.nest, at.menu, target)
    return Offers(maker, [offered(at.menu, case) for case in cases], room)


def candidate_of(at: Setting, section: Section, price: Price, target: Target) -> Candidate:
    """A section of a price as a choice, with the room that it needs and that its constants need early."""
    images = (*section.images, section.accumulator)
    need = sum(aligned(image.end, target) for image in images if image is not None)
    pairs = zip(at.constant, section.images, strict=True)
    early = sum(image.bytes for constant, image in pairs if constant and image is not None)
    return Candidate(section, price, need, early)


def _moving_least(at: Setting, target: Target, room: int) -> tuple[Candidate, ...]:
    """The section that moves the fewest bytes."""
    found = []
    for boxed in ways(at, target):
        need, cost = measured(at.menu, boxed, at.inside, at.scale)
        cost[need > room] = inf
        if (least := float(cost[row := int(cost.argmin())])) < inf:
            found.append((least, int(boxed.sum()), row, int(need[row]), boxed))
    if not found:
        return ()
    moved, _, row, need_of, boxed = min(found, key=lambda f: f[:2])
    return (Candidate(Maker(at.nest, at.menu, target).section(row, boxed, 1), Price(moved), need_of),)


def ways(at: Setting, target: Target) -> Sequence[Flags]:
    """Which accesses have boxes: all that are not inside, or if units reach out, some or none.

    Tables that data choose from may stay where they are, as they do where a scratchpad is too small for them.
    Weights, other large constants, values that are read and results are in boxes, or not; small constants
    only if everything is. Where weights alone are copied, they are in boxes or not, and nothing else is.
    """
    outside = ~np.array(at.inside, bool)
    if not target.direct:
        chosen = [access.indirect for access in at.nest.reads]
        if not any(chosen):
            return [outside]
        tables = outside & at.menu.rooms.any(0) & np.pad(chosen, (0, len(outside) - len(chosen)))
        return [outside, outside & ~tables] if tables.any() else [outside]
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


def placed(
    section: Section, addresses: Mapping[int, int], ahead: Mapping[int, Parcels] | None = None
) -> Section:
    """The section with its images (by access; -1: the accumulator) at addresses, parts of some `ahead`."""
    ahead = ahead or {}
    images = tuple(
        image if image is None else _at(image, addresses[number], ahead.get(number, ()))
        for number, image in enumerate(section.images)
    )
    own = section.accumulator
    accumulator = None if own is None else _at(own, addresses[-1])
    return Section(section.nest, section.loops, images, accumulator, section.shared)


def _at(image: Image, address: int, ahead: Parcels = ()) -> Image:
    return Image(
        address, image.shape, image.bytes, image.level, image.copies, image.pitch, image.steps, ahead
    )
