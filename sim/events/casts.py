"""What several cores ask for alike: one command brings it, and all take the data as they come.

Parts of a nest often need the same boxes of an operand in the same order, as those that share its rows need
its weights. Such loads are one: it waits until all cores have room for it, the off-chip memory gives the data
once, and the network carries them once on each of its links. So is what several cores take from another.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field

from sim.events.model import Order, SectionModel, Slot
from sim.events.sections import order_of
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
    order: Order = ([], [], [])
    casts: dict[int, Cast] = field(default_factory=dict)
    """By load."""

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


def join(parts: Mapping[int, Part]) -> None:
    """Let cores load together what they load alike for their parts of a nest.

    First loads come as early as all cores can, and where other sections lie between for some of them, when
    these are over: else cores could wait for each other.
    """
    alike: dict[Hashable, list[tuple[int, int]]] = {}
    for core, part in parts.items():
        for number, slot in enumerate(part.model.loads):
            if part.model.operands[slot.number].place == "offchip":
                alike.setdefault(_boxes(part.model, slot), []).append((core, number))
    for found in alike.values():
        if len(found) == 1:
            continue
        cast = Cast(tuple(core for core, _ in found))
        together = len({parts[core].after for core in cast.cores}) == 1
        rank = max(parts[core].rank(number) for core, number in found) if together else 2
        for core, number in found:
            parts[core].casts[number] = cast
            parts[core].put_off(number, rank)
            if core != cast.cores[0]:
                model = parts[core].model
                model.followed |= {model.loads[number].number}


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
