"""The program of a stretch: for the host, for a target of given capacities, or for a modelled machine."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tiling.plan import Infeasible, plan
from tiling.program import Operand, Program
from tiling.target import Target
from tosajit.errors import PlanError
from tosajit.runtime.groups import Groups, Stretch

if TYPE_CHECKING:
    from sim.machine.machine import Machine
    from tosajit.runtime.options import Options

ROOMY = Target("any NPU", scratch_bytes=1 << 62)
"""Groups for it are the same for all machines; where they do not fit one, it gets groups of its own."""


def planned(stretch: Stretch, options: Options) -> tuple[Groups, Program]:
    """Groups and their program, or a PlanError that says what does not fit."""
    if options.machine is not None:
        return planned_for(stretch, options.machine)
    groups = stretch.groups(options.target)
    return groups, _feasible(plan(groups.nests, groups.operands, options.target))


def planned_for(stretch: Stretch, machine: Machine) -> tuple[Groups, Program]:
    """Groups and their program for a machine, in the order and tiles that it finishes soonest."""
    from sim.planning import estimator

    estimate = estimator(machine)
    for target in (ROOMY, machine.target):
        groups = stretch.groups(target)
        program = plan(groups.nests, stored_operands(groups, machine), machine.target, estimate)
        if isinstance(program, Program):
            break
    return groups, _feasible(program)


def stored_operands(groups: Groups, machine: Machine) -> dict[str, Operand]:
    """The operands, with weights as large as the machine stores them."""
    from sim.cost.weights import stored_sizes

    sizes = stored_sizes(groups.nests, groups.constants, machine)
    stored = {name: replace(groups.operands[name], stored_bytes=size) for name, size in sizes.items()}
    return {**groups.operands, **stored}


def _feasible(program: Program | Infeasible) -> Program:
    if isinstance(program, Infeasible):
        raise PlanError(str(program))
    return program
