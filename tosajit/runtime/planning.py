"""The program of groups: for the host, for a target of given capacities, or for a modelled machine."""

from __future__ import annotations

from tiling.plan import Infeasible, plan
from tiling.program import Program
from tosajit.errors import PlanError
from tosajit.runtime.groups import Groups
from tosajit.runtime.options import Options


def planned(groups: Groups, options: Options) -> Program:
    """The program, or a PlanError that says what does not fit."""
    program = plan(groups.nests, groups.operands, options.target)
    if isinstance(program, Infeasible):
        raise PlanError(str(program))
    return program
