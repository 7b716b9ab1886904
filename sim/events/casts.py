"""What several cores ask for alike: one command brings it, and all take the data as they come.

Parts of a nest often need the same boxes of an operand in the same order, as those that share its rows need
its weights. Such loads are one: it waits until all cores have room for it, the off-chip memory gives the data
once, and the network carries them once on each of its links. So is what several cores take from another.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field

from sim.events.model import Moved, Order, SectionModel, Slot
from sim.events.sections import First, order_of
from tiling.nest import Affine


@dataclass(slots=True)
class Cast:
    """What several cores load or take together, box after box."""

    cores: tuple[int, ...] = ()
    starts: dict[int, int] = field(default_factory=dict)
    """When each core that asks for the next one may start."""
    done: int = 0
    """How many have been issued."""
    start: int = 0
    end: int = 0
    """When the last of them was issued, and had come."""


@dataclass(slots=True)
class Part:
    """What a core does of a nest, and what it may load before that."""

    model: SectionModel
    held: frozenset[int]
    """First loads that have to wait for other cores."""
    front: SectionModel | None
    """The section in front of it on its core, and of which phase that is."""
    after: tuple[int, int]
    now: tuple[int, int]
    """Of which phase it is itself."""
    taken: Sequence[tuple[int, int, int, int]]
    """What others may still take from its core when it begins: first address, end, by whom, and when."""
    order: Order = ([], [], [])
    casts: dict[int, Cast] = field(default_factory=dict)
    """By load."""
    first: First = field(default_factory=lambda: First([], {}, {}, 0))
    """What it has loaded before its first tile."""
    ahead: list[tuple[Part, int, Moved]] = field(default_factory=list)
    """What comes of later parts behind its own early loads."""
    hosts: dict[int, list[tuple[int, list[Part]]]] = field(default_factory=dict)
    """By load, what comes ahead of the first one: bytes, and earlier parts that they may come with."""
    left: dict[int, Moved] = field(default_factory=dict)
    """By load, what is left of the first one."""

    def __post_init__(self) -> None:
        early, beside, behind = order_of(self.front, self.model)
        self.order = (
            [number for number in early if number not in self.held],
            [number for number in beside if number not in self.held],
            sorted({*behind, *self.held}),
        )

    @property
    def members(self) -> tuple[str, ...]:
        """The operators that it is of."""
        return tuple(dict.fromkeys(self.model.nest.members))

    def rank(self, number: int) -> int:
        """When the first of some loads is due."""
        return next(rank for rank, numbers in enumerate(self.order) if number in numbers)

    def put_off(self, number: int, rank: int) -> None:
        """Let the first of some loads come later."""
        self.order[self.rank(number)].remove(number)
        self.order[rank].append(number)
        self.order[rank].sort()

    def firsts(self, number: int) -> Moved:
        """The first of some loads, without what comes ahead."""
        return self.left.get(number, self.model.loads[number].first)

    def put_ahead(self, number: int, host: Part, size: int) -> None:
        """Let so many bytes of the first of some loads come with an earlier part."""
        move, whole = self.firsts(number), self.model.loads[number].image.bytes
        piece, left = self.model.rates.parted(move, size * self.model.loads[number].first.bytes // whole)
        host.ahead.append((self, number, piece))
        self.left[number] = left
        if not left.bytes:
            self.order[self.rank(number)].remove(number)


def join(parts: Mapping[int, Part], multicast: bool) -> None:
    """Let cores load together what they load alike for their parts of a nest, and ahead what shall be.

    First loads come as early as all cores can, and where other sections lie between for some of them, when
    these are over: else cores could wait for each other.
    """
    alike: dict[Hashable, list[tuple[int, int]]] = {}
    for core, part in parts.items():
        for number, slot in enumerate(part.model.loads):
            if part.model.operands[slot.number].place == "offchip":
                boxes = _boxes(part.model, slot) if multicast else (core, number)
                alike.setdefault(boxes, []).append((core, number))
    for found in alike.values():
        if len(found) > 1:
            _join(parts, found)
        for several in zip(*(parts[core].hosts.get(number, []) for core, number in found), strict=False):
            if len({size for size, _ in several}) > 1:
                continue
            hosts = _hosts([parts for _, parts in several])
            for (core, number), host, (size, _) in zip(found, hosts, several, strict=False):
                parts[core].put_ahead(number, host, size)


def _join(parts: Mapping[int, Part], found: Sequence[tuple[int, int]]) -> None:
    """Let cores load something together."""
    cast = Cast(tuple(core for core, _ in found))
    together = len({parts[core].after for core in cast.cores}) == 1
    rank = max(parts[core].rank(number) for core, number in found) if together else 2
    for core, number in found:
        parts[core].casts[number] = cast
        parts[core].put_off(number, rank)
        if core != cast.cores[0]:
            model = parts[core].model
            model.followed |= {model.loads[number].number}


def _hosts(some: Sequence[Sequence[Part]]) -> Sequence[Part]:
    """The first parts of one phase, of each core one, behind parts of one phase; none if there are none."""
    known = [{(part.now, part.after): part for part in parts} for parts in some]
    for at in known[0]:
        if all(at in parts for parts in known):
            return [parts[at] for parts in known]
    return []


def _boxes(model: SectionModel, slot: Slot) -> Hashable:
    """What a slot loads, box after box."""
    access, image, axes = slot.access, slot.image, model.nest.axes
    loops = [loop for loop in model.section.loops[: image.level] if loop.count > 1]
    tile = list(model.nest.extents)
    for loop in loops:
        tile[loop.axis] = loop.step
    indices = [index for index in access.index if isinstance(index, Affine)]
    first = tuple(index.span((0,) * len(tile), tile) for index in indices)
    moves = []
    for loop in loops:
        steps = tuple(index.coefficients[loop.axis] * loop.step for index in indices)
        moves.append((loop.count, steps, axes[loop.axis].extent if any(steps) else 0))
    return slot.number, access.operand, image.shape, image.steps, image.copies > 1, first, tuple(moves)
