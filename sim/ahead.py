"""Which constants come ahead of their groups on several cores, beside the work of which others.

The memory of several cores has much to bring for late groups and little for early ones. What does not come
while the group before is at work comes earlier, beside whatever leaves the memory time and the scratchpads
room: as late as can be, so that it takes room for the shortest time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from sim.machine.machine import Machine
from sim.report.report import Report
from sim.report.values import moved
from tiling.nest import Nest
from tiling.program import Operand, Program, Section
from tiling.spread import SpreadProgram, is_pull

Shares = dict[int, dict[int, float]]
"""By group: what shares of its constants come with its first loads, and with those of groups before."""
WORTH = 4
"""So many times as long as it takes to begin must a transfer be that comes ahead."""


class Span(NamedTuple):
    """A group, as far as memories are concerned."""

    brings: float
    """Cycles that its constants take."""
    holds: int
    """Bytes that these take in a scratchpad."""
    idle: float
    """Cycles that are left for others at its end."""
    room: int
    """Bytes that are left for others."""


def comes_ahead(spans: Sequence[Span], least: float, part: float = 1.0, fitting: bool = True) -> Shares:
    """What comes ahead in a part of the time that is left beside each group, if that is so long at `least`.

    Where there is no room for all, what is needed last comes later, or whatever a planner then leaves out.
    """
    left: dict[int, float] = {}
    found: Shares = {}
    for group in reversed(range(len(spans))):
        time, room = part * spans[group].idle, spans[group].room
        for later in sorted(left):
            room -= spans[later].holds
            if fitting and room < 0:
                del left[later]
        for later in sorted(left, reverse=True):
            taken = min(time, left[later])
            if not taken or taken < min(least, left[later]):
                break
            time, left[later] = time - taken, left[later] - taken
            # What comes beside a group comes with the first loads of the next one.
            found.setdefault(later, {})[group + 1] = taken / spans[later].brings
            if left[later] <= 0:
                del left[later]
        if spans[group].brings:
            left[group] = spans[group].brings
    return {later: hosts for later, hosts in sorted(found.items()) if hosts.keys() != {later}}


def spans_of(
    nests: Sequence[Nest],
    operands: Mapping[str, Operand],
    program: SpreadProgram,
    reports: Sequence[Report],
    machine: Machine,
    slower: float = 1.0,
) -> list[Span]:
    """What each group asks of the core that ends last, and of the memory, as it was followed.

    The memory may be taken to be so many times `slower`.
    """
    last = max(range(len(reports)), key=lambda core: reports[core].cycles)
    core, rate = program.cores[last], machine.offchip_bytes_per_cycle
    rate = rate and rate / slower
    known = {one.members: one.cycles for one in reports[last].operators}
    sections = {members_of(one.nest): (one.tiles, free) for one, free in _rooms(core)}
    sizes: dict[tuple[str, ...], int] = {}
    for report in reports:
        for one in report.operators:
            sizes[one.members] = sizes.get(one.members, 0) + moved(one.traffic, "offchip")
    found = []
    for nest, way in zip(nests, program.ways, strict=True):
        members = members_of(nest)
        names = {access.operand for access in nest.reads if operands[access.operand].kind == "constant"}
        size = sum(operands[name].bytes for name in names)
        cycles, (tiles, room) = known.get(members, {}), sections.get(members, (1, 0))
        others = max(sizes.get(members, 0) - size, 0) / rate if rate else 0.0
        work = cycles.get("compute", 0) + cycles.get("fill", 0)
        idle = max(work - max(others - cycles.get("input", 0), 0), 0) / tiles
        holds = size // len(reports) if way == "channels" else size
        found.append(Span(size / rate if rate else 0.0, holds, idle, room))
    return found


def _rooms(program: Program) -> Iterator[tuple[Section, int]]:
    """The sections of a core that compute, and the bytes that each leaves in the scratchpad."""
    lives: dict[str, tuple[int, int]] = {}
    for step, section in enumerate(program.sections):
        for name in section.nest.operands:
            if program.operands[name].place == "scratchpad":
                lives[name] = lives.get(name, (step, step))[0], step
    for step, section in enumerate(program.sections):
        if not is_pull(section, program):
            images = sum(
                image.end - image.address for image in (*section.images, section.accumulator) if image
            )
            taken = sum(
                program.operands[n].bytes for n, (first, end) in lives.items() if first <= step <= end
            )
            yield section, (program.target.scratch_bytes or 0) - images - taken


def members_of(nest: Nest) -> tuple[str, ...]:
    """What a group is known by in reports."""
    return tuple(dict.fromkeys(nest.members))
