"""Schedules of several cores: how these share the groups, and how each runs its parts of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

from tiling.choose import Estimate
from tiling.cores import Division
from tiling.nest import Nest
from tiling.program import Operand, takes_from_others
from tiling.records import replace
from tiling.schedule import Cascade, Choice, Schedule, Sharing, axis_names, group_names, schedule_of
from tiling.scheduled import Outcome, Wanted, near, program_after
from tiling.spread import SpreadProgram, is_pull
from tiling.target import Target
from tiling.wishes import PlanFault
from tiling.words import plain

Value = TypeVar("Value")


def sharing_of(program: SpreadProgram, nests: Sequence[Nest], target: Target) -> Sharing:
    """How the cores of a program share the nests; `target` is what a core may be."""
    division = program.division
    assert division is not None
    return Sharing(
        dict(zip(group_names(nests), program.ways, strict=True)),
        tuple(sorted(division.common)),
        len(program.cores) - len(division.operands),
        program.channels,
        program.cores[0].target.level2_bytes == target.level2_bytes,
    )


def spread_schedule(program: SpreadProgram, nests: Sequence[Nest], target: Target) -> Schedule:
    """What was chosen for nests on several cores; what they take from each other leaves no choice."""
    division = program.division
    assert division is not None
    groups: dict[str, Choice] = {}
    inside: dict[str, int | None] = {}
    cascades: list[Cascade] = []
    for core, operands in enumerate(division.operands):
        one = program.cores[core]
        found = schedule_of(one, division.nests(core), operands)
        for (name, choice), section in zip(found.groups.items(), one.sections, strict=True):
            if not is_pull(section, one):
                groups[_on(core, name)] = choice
        inside |= {_on(core, name): address for name, address in (found.scratchpad or {}).items()}
        cascades += [
            replace(chain, first=_on(core, chain.first), last=_on(core, chain.last))
            for chain in found.cascades or ()
        ]
    return Schedule(groups, tuple(cascades), inside, sharing_of(program, nests, target))


def sharing_faults(
    sharing: Sharing, nests: Sequence[Nest], operands: Mapping[str, Operand], cores: int
) -> Iterator[PlanFault]:
    """What a schedule says of sharing that the nests or the machine do not allow."""
    names = group_names(nests)
    if not 0 <= sharing.idle < cores:
        yield PlanFault("cores", "idle", f"{sharing.idle} of {cores} cores; one at least has work")
    busy = max(cores - sharing.idle, 1)
    for name, way in sharing.ways.items():
        if name not in names:
            text = f"the graph has no group of this name on this machine; {near(name, names)}"
            yield PlanFault("cores", f"ways.{name}", text)
        elif isinstance(way, int) and not 0 <= way < busy:
            yield PlanFault("cores", f"ways.{name}", f"core {way}, but those at work are 0 to {busy - 1}")
    for name in sharing.common or ():
        if name not in operands:
            text = f"the graph has no tensor of this name; {near(name, operands)}"
            yield PlanFault("cores", f"common.{name}", text)


def stranger_faults(schedule: Schedule, busy: int) -> Iterator[PlanFault]:
    """What a schedule says of cores that are not there, or of none."""
    chains = [name for one in schedule.cascades or () for name in (one.first, one.last)]
    for name in (*schedule.groups, *(schedule.scratchpad or ()), *chains):
        if not any(name.startswith(_on(core, "")) for core in range(busy)):
            text = f"names begin with that of a core, {plain(_on(0, ''))!r} to {plain(_on(busy - 1, ''))!r}"
            yield PlanFault(name, "", text)


def core_after(
    schedule: Schedule,
    division: Division,
    core: int,
    target: Target,
    estimate: Estimate | None,
    wanted: Wanted | None,
) -> Outcome:
    """The program of a core after what a schedule says of it."""
    nests, operands = division.nests(core), division.operands[core]
    own = _of_core(schedule, core)
    if own.groups:
        pulls = zip(group_names(nests), nests, strict=True)
        own = replace(own, groups={**own.groups, **dict(_whole_pulls(pulls, operands))})
    found = program_after(own, nests, operands, target, estimate, wanted)
    if isinstance(found, tuple):
        return tuple(replace(fault, group=_on(core, fault.group)) for fault in found)
    return found


def _whole_pulls(
    named: Iterator[tuple[str, Nest]], operands: Mapping[str, Operand]
) -> Iterator[tuple[str, Choice]]:
    """What a core takes from others: all at once, in place."""
    for name, nest in named:
        if takes_from_others(nest, operands):
            yield (
                name,
                Choice(tile=dict(zip(axis_names(nest), nest.extents, strict=True)), order=(), boxes={}),
            )


def _of_core(schedule: Schedule, core: int) -> Schedule:
    """What a schedule says of a core, with the names that the core has for it."""
    start = _on(core, "")

    def own(some: Mapping[str, Value]) -> dict[str, Value]:
        return {name.removeprefix(start): one for name, one in some.items() if name.startswith(start)}

    chains, inside = schedule.cascades, schedule.scratchpad
    if chains is not None:
        chains = tuple(
            replace(one, first=one.first.removeprefix(start), last=one.last.removeprefix(start))
            for one in chains
            if one.first.startswith(start)
        )
    return Schedule(own(schedule.groups), chains, None if inside is None else own(inside))


def _on(core: int, name: str) -> str:
    return f"core {core}: {name}"
