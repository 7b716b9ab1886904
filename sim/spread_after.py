"""Programs of several cores after a schedule: what it says is done, what it leaves open is planned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sim.machine.machine import Machine
from sim.spreading import Lesser, core_for, core_machine, spread
from tiling.cores import Division, Divisions, Way, on_one_core
from tiling.nest import Nest
from tiling.planner import Infeasible
from tiling.program import Operand
from tiling.schedule import Schedule, Sharing, group_names
from tiling.scheduled import Outcome, Wanted
from tiling.spread import SpreadProgram, core_target, spread_over
from tiling.spread_schedule import core_after, sharing_faults, sharing_of, stranger_faults
from tiling.wishes import PlanFault


def spread_after(
    schedule: Schedule,
    nests: Sequence[Nest],
    operands: Mapping[str, Operand],
    machine: Machine,
    wanted: Wanted | None = None,
) -> Outcome:
    """The program of all cores after a schedule, why it has no room, or all that is wrong with it."""
    sharing, target = schedule.sharing or Sharing(), machine.target
    faults = tuple(sharing_faults(sharing, nests, operands, machine.cores))
    faults += tuple(stranger_faults(schedule, machine.cores - sharing.idle))
    if faults:
        return faults
    names = group_names(nests)
    if not sharing.ways.keys() >= set(names):
        made = spread(nests, operands, machine)
        if isinstance(made, Infeasible):
            return made
        best = sharing_of(made, nests, target)
        sharing = replace(sharing, ways={**best.ways, **sharing.ways}) if schedule.sharing else best
    busy = machine.cores - sharing.idle
    ways: list[Way] = [
        way if isinstance(way, str) else way % busy for way in map(sharing.ways.__getitem__, names)
    ]
    alone = on_one_core(ways)
    if schedule.cascades and not alone:
        text = "groups that cores share do not run in stripes; let one core do all of them"
        return tuple(PlanFault(f"{one.first} to {one.last}", "cascades", text) for one in schedule.cascades)
    lesser = Lesser(sharing.channels, sharing.level2, None, sharing.idle)
    core = core_for(core_machine(machine, lesser, alone), target, lesser)
    seen = core_target(core.target, ways)

    def planned(division: Division, number: int) -> Outcome:
        return core_after(schedule, division, number, seen, core.estimate, wanted)

    divisions = Divisions(nests, operands)
    found: Outcome = spread_over(divisions, machine.cores, ways, planned, sharing.idle, sharing.common)
    return replace(found, channels=sharing.channels) if isinstance(found, SpreadProgram) else found
