"""Schedules: what a planner has chosen, as values with names, so that people can read, change and give them.

A schedule need not say everything: what is None in it, or left out, the planner chooses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tiling.cores import Way
from tiling.nest import Nest
from tiling.program import Image, Operand, Parcels, Program, Section

IN_PLACE = 0
"""Copies of a box that is none: the operand is used where it is."""


@dataclass(frozen=True, slots=True)
class Box:
    """How a group finds a tensor: in so many boxes that take turns, or where it is."""

    copies: int | None = None
    """None: as the planner likes; 0: no box, the tensor is used where it is, if units reach that."""
    address: int | None = None
    ahead: Parcels = ()
    """On several cores: what comes ahead of the first box, as long as all addresses are as they are here."""


@dataclass(frozen=True, slots=True)
class Cascade:
    """Groups, from the first to the last, that run stripe by stripe of the last one's rows."""

    first: str
    last: str
    stripes: int


@dataclass(frozen=True, slots=True)
class Choice:
    """How one group runs."""

    operators: tuple[str, ...] = ()
    """What the group is made of; not compared if there are none."""
    extents: Mapping[str, int] = field(default_factory=dict)
    """Points of its axes; not compared if there are none."""
    tile: Mapping[str, int] = field(default_factory=dict)
    """Points of a tile along axes; the planner chooses those of others."""
    order: tuple[str, ...] | None = None
    """Axes of the loops over tiles, the outermost first; loops of others are further in."""
    boxes: Mapping[str, tuple[Box, ...]] | None = None
    """By tensor, for each of the accesses to it; other tensors have none."""
    copies: int | None = None
    """Copies of all boxes that move and of which `boxes` says nothing."""
    accumulator: int | None = None
    """Address of the sums of a reduction in parts."""


@dataclass(frozen=True, slots=True)
class Sharing:
    """How several cores share the groups."""

    ways: Mapping[str, Way] = field(default_factory=dict)
    """By group: `rows`, `channels`, or the number of the core that does it alone."""
    common: tuple[str, ...] | None = None
    """Tensors in the memory behind all scratchpads; None: those whose parts find no room in these."""
    idle: int = 0
    """The last cores, so many, have nothing to do."""
    channels: int | None = None
    """Of each core's DMA that are used."""
    level2: bool = True
    """Whether tensors may live there."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """How the groups of a part of a graph run.

    On several cores names of groups and tensors begin with that of the core: `core 0: conv`.
    """

    groups: Mapping[str, Choice] = field(default_factory=dict)
    cascades: tuple[Cascade, ...] | None = None
    scratchpad: Mapping[str, int | None] | None = None
    """The tensors that live in the scratchpad, with their addresses."""
    sharing: Sharing | None = None
    """None where there is one core."""


def schedule_of(program: Program, nests: Sequence[Nest], operands: Collection[str]) -> Schedule:
    """What was chosen for nests over such operands to become a program."""
    sections, names = program.sections, section_names([s.nest for s in program.sections], nests, operands)
    choices = {name: _choice(section) for name, section in zip(names, sections, strict=True)}
    inside = {o.name: o.offset for o in program.operands.values() if o.place == "scratchpad"}
    return Schedule(choices, tuple(_cascades(sections, nests, program.operands, operands)), inside)


def _choice(section: Section) -> Choice:
    nest, names = section.nest, axis_names(section.nest)
    boxes: dict[str, list[Box]] = {}
    for access, image in zip(nest.accesses, section.images, strict=True):
        boxes.setdefault(access.operand, []).append(_box(image))
    return Choice(
        tuple(dict.fromkeys(nest.members)),
        dict(zip(names, nest.extents, strict=True)),
        dict(zip(names, section.tile, strict=True)),
        tuple(names[loop.axis] for loop in section.loops),
        {name: tuple(found) for name, found in boxes.items() if any(box.copies for box in found)},
        None,
        None if section.accumulator is None else section.accumulator.address,
    )


def _box(image: Image | None) -> Box:
    return Box(IN_PLACE) if image is None else Box(image.copies, image.address, image.ahead)


def axis_names(nest: Nest) -> list[str]:
    """The names of the axes, each its own."""
    return _distinct([axis.name for axis in nest.axes])


def group_names(nests: Sequence[Nest]) -> list[str]:
    """What groups are called: after the operator that says best what they do."""
    return _distinct([nest.members[0] if nest.members else nest.verb for nest in nests])


def section_names(sections: Sequence[Nest], nests: Sequence[Nest], operands: Collection[str]) -> list[str]:
    """The names of sections: those of groups; stripes, and moves for them, are counted."""
    whole = {id(nest): name for nest, name in zip(nests, group_names(nests), strict=True)}
    counts: Counter[str] = Counter()
    found = []
    for nest in sections:
        name = whole.get(id(nest))
        if name is None:
            kind = "move" if helps(nest, operands) else "stripe"
            word = f"{nest.members[0] if nest.members else nest.verb} {kind}"
            counts[word] += 1
            name = f"{word} {counts[word]}"
        found.append(name)
    return _distinct(found)


def helps(nest: Nest, operands: Collection[str]) -> bool:
    """Whether a section moves what stripes need, which is no operator's work."""
    if nest.verb != "move" or len(nest.reads) != 1 or nest.writes[0].access.operand in operands:
        return False
    source, target = nest.reads[0], nest.writes[0].access
    return len(nest.axes) == 1 and (source.operand == target.operand or source.shape == nest.extents)


def _distinct(names: Sequence[str]) -> list[str]:
    """The names; those that were there before get a number."""
    taken: set[str] = set()
    found = []
    for name in names:
        number, one = 1, name
        while one in taken:
            number += 1
            one = f"{name}#{number}"
        taken.add(one)
        found.append(one)
    return found


def _cascades(
    sections: Sequence[Section],
    nests: Sequence[Nest],
    known: Mapping[str, Operand],
    operands: Collection[str],
) -> Iterator[Cascade]:
    """The chains of groups that run in stripes, as their sections show."""
    names, writers = (
        group_names(nests),
        {w.access.operand: n for n, nest in enumerate(nests) for w in nest.writes},
    )
    step = group = 0
    while step < len(sections):
        if sections[step].nest is nests[group]:
            step, group = step + 1, group + 1
            continue
        results = [_result(section) for section in sections]
        result = next(name for name in results[step:] if name in operands)
        parts = [number for number in range(step, len(sections)) if results[number] == result]
        yield Cascade(names[group], names[writers[result]], len(parts))
        step, group = parts[-1] + 1, writers[result] + 1


def _result(section: Section) -> str:
    return section.nest.writes[0].access.operand
