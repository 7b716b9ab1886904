"""The program of a segment: for the host, for a target of given capacities, or for a modelled machine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING

from tiling.choose import least_room
from tiling.fuse import fuse
from tiling.held import copies_of, held
from tiling.nest import Access, Nest, map_accesses
from tiling.plan import fits, plan, preferred
from tiling.planner import Infeasible, Known
from tiling.program import Operand, Program
from tiling.records import replace
from tiling.schedule import Schedule, group_names, schedule_of
from tiling.scheduled import Outcome, Wanted, program_after
from tiling.spread import SpreadProgram
from tiling.spread_schedule import spread_schedule
from tiling.target import Target
from tosajit.compiler.multiples import with_bits
from tosajit.compiler.pruning import with_pruned
from tosajit.compiler.segment import Groups, Planned, Segment
from tosajit.errors import PlanError
from tosajit.garbage import keeps_garbage
from tosajit.log import LOG

if TYPE_CHECKING:
    from sim import Machine
    from tosajit.plans.plan import Plan

ROOMY = Target("any NPU", scratch_bytes=1 << 62)
"""Groups for it are the same for all machines; where they do not fit one, it gets groups of its own."""
PARTS = 1, 2, 4
"""Where groups leave less than such a part of the scratchpad, smaller ones are looked at."""
LARGE = 64
"""Bytes from which on equal constants are one."""
SEVERAL_CORES = "the plan is for several cores: take a machine with a topology, or plan again for this one"
RANKS = ("contract", "reduce", "map", "move")


def groups_for(segment: Segment, target: Target) -> Groups:
    """The groups for a target with a scratchpad."""
    nests, kept = with_constants_once(segment), set(segment.outputs)
    groups = fuse(nests, kept, lambda group: fits(group, target), frugal=True)
    named = _named(nests, groups)
    known = segment.constants
    return Groups(segment, tuple(with_bits(with_pruned(nest, known), known) for nest in named))


def with_constants_once(segment: Segment) -> list[Nest]:
    """The nests, which read equal constants where the first of these is; small ones are not compared."""
    large = {name: array for name, array in segment.constants.items() if array.nbytes >= LARGE}
    forms = {name: (segment.tensors[name].dtype, array.shape) for name, array in large.items()}
    several, first = Counter(forms.values()), dict[object, str]()
    same = {
        name: first.setdefault((forms[name], sha256(array.tobytes()).digest()), name)
        for name, array in large.items()
        if several[forms[name]] > 1
    }

    def found(access: Access) -> Access:
        name = same.get(access.operand, access.operand)
        return access if name == access.operand else replace(access, operand=name)

    return [map_accesses(nest, found) for nest in segment.nests]


def _named(nests: Sequence[Nest], groups: Sequence[Nest]) -> list[Nest]:
    """The groups with their members in the order of what they do, so that the first one says it best."""
    rank = {name: RANKS.index(nest.verb) for nest in reversed(nests) for name in nest.members}
    return [replace(group, members=tuple(sorted(group.members, key=rank.__getitem__))) for group in groups]


def planned(groups: Groups, target: Target) -> Planned:
    """The program for a target, or a PlanError that says what does not fit."""
    return Planned(groups, _feasible(plan(groups.nests, groups.operands, target)))


@keeps_garbage
def planned_for(
    groups: Groups, machine: Machine, given: Plan | None = None, wanted: Wanted | None = None
) -> Planned:
    """The program for a machine, in the order and tiles that it finishes soonest, or as they are given.

    Of groups that are larger or smaller, those whose program is best.
    """
    schedule = given.parts.get(groups.name) if given is not None else None
    if schedule is not None or wanted is not None:
        if machine.topology is None and schedule is not None and schedule.sharing is not None:
            raise PlanError(SEVERAL_CORES)
        return _given(groups, machine, schedule or Schedule(), wanted)
    plans = _plans(machine)
    found = [(made, plans(made)) for made in groupings(groups, machine)]
    fitting = [Planned(made, program) for made, program in found if not isinstance(program, Infeasible)]
    if len(fitting) > 1:
        from sim.planning import judge

        cost = judge(machine)
        return fitting[preferred([cost(planned.program) for planned in fitting])]
    return fitting[0] if fitting else Planned(groups, _feasible(found[:2][-1][1]))


def groupings(groups: Groups, machine: Machine) -> list[Groups]:
    """The groups and, where some of them leave little of the scratchpad, those for a smaller one.

    Where groups share weights, there are those that read copies of these, too.
    """
    target, found = machine.target, {_members(groups): groups}
    least = max((least_room(nest, target) for nest in groups.nests), default=0)
    for part in PARTS if machine.topology is None else PARTS[:1]:
        room = (target.scratch_bytes or 0) // part
        if least > room:
            text = "%s: groups are made again for %s: one needs %d bytes of scratchpad, more than %d"
            LOG.info(text, groups.name, machine.name, least, room)
            made = groups_for(groups.segment, replace(target, scratch_bytes=room))
            found.setdefault(_members(made), made)
    if machine.topology is None and least <= (target.scratch_bytes or 0):
        for first in (False, True):
            nests, copies = held(groups.nests, groups.operands, target, first)
            if copies:
                made = Groups(groups.segment, nests, temporaries=copies)
                found.setdefault(_members(made), made)
    return list(found.values())


def _members(groups: Groups) -> tuple[tuple[str, ...], ...]:
    return tuple(nest.members for nest in groups.nests)


def planned_to_stay(groups: Groups, machine: Machine) -> Planned:
    """The program for inferences that follow each other: constants stay in the scratchpad if that pays."""
    target = replace(machine.target, weights="scratchpad", constants="scratchpad")
    found = _plans(machine, target)(groups)
    return planned_for(groups, machine) if isinstance(found, Infeasible) else Planned(groups, found)


def _plans(machine: Machine, target: Target | None = None) -> Callable[[Groups], Program | Infeasible]:
    """What plans groups for a machine, and knows of all what it has found out for some."""
    from sim.planning import estimator, judge

    if machine.topology is not None:
        from sim.spreading import spread

        return lambda groups: spread(groups.nests, stored_operands(groups, machine), machine, target=target)
    room, estimate, cost, known = target or machine.target, estimator(machine), judge(machine), Known()
    return lambda groups: plan(groups.nests, stored_operands(groups, machine), room, estimate, cost, known)


def _given(groups: Groups, machine: Machine, schedule: Schedule, wanted: Wanted | None) -> Planned:
    """The program after a schedule, of the groups that it was made for."""
    from sim.planning import estimator
    from sim.spread_after import spread_after

    found: list[Outcome] = []
    for made in sorted(groupings(groups, machine), key=lambda made: not _in_order(schedule, made)):
        operands = stored_operands(made, machine)
        if machine.topology is not None:
            outcome = spread_after(schedule, made.nests, operands, machine, wanted)
        else:
            outcome = program_after(
                schedule, made.nests, operands, machine.target, estimator(machine), wanted
            )
        if isinstance(outcome, Program):
            return Planned(made, outcome)
        found.append(outcome)
    fault = min(found, key=lambda outcome: len(outcome) if isinstance(outcome, tuple) else 0)
    raise PlanError(fault if isinstance(fault, tuple) else str(fault))


def _in_order(schedule: Schedule, groups: Groups) -> bool:
    """Whether groups come in the order in which a schedule has those that it names."""
    order = {name: step for step, name in enumerate(group_names(groups.nests))}
    steps = [order[name] for name in schedule.groups if name in order]
    return steps == sorted(steps)


def schedule_for(planned: Planned, machine: Machine) -> Schedule:
    """What was chosen for a part of a graph."""
    groups, program = planned.groups, planned.program
    if isinstance(program, SpreadProgram):
        return spread_schedule(program, groups.nests, machine.target)
    return schedule_of(program, groups.nests, groups.operands)


def stored_operands(groups: Groups, machine: Machine) -> dict[str, Operand]:
    """The operands, with weights as large as the machine stores them."""
    from sim.cost.weights import stored_sizes

    copies = copies_of(groups.nests, groups.temporaries)
    constants = {**groups.constants, **{copy: groups.constants[name] for copy, name in copies.items()}}
    sizes = stored_sizes(groups.nests, constants, machine, copies)
    sizes |= {name: sizes[copy] for copy, name in copies.items() if copy in sizes}
    stored = {name: replace(groups.operands[name], stored_bytes=size) for name, size in sizes.items()}
    return {**groups.operands, **stored}


def _feasible(program: Program | Infeasible) -> Program:
    if isinstance(program, Infeasible):
        raise PlanError(str(program))
    return program
