"""What an executable for a modelled machine takes there: its program, timed as `tj.simulate` does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tiling.records import replace
from tosajit.compiler.labels import labels_of
from tosajit.errors import CompileError
from tosajit.kernels.runner import Runner
from tosajit.runtime.executable import Executable

if TYPE_CHECKING:
    from sim import Machine, Report


def report_of(executable: Executable, machine: Machine, name: str) -> Report:
    """The report of a graph's only program, whose name is that of the function."""
    from sim.events import simulate

    if not isinstance(executable.body.whole, Runner):
        text = "control flow, variables or CUSTOM operators, so it is several programs"
        raise CompileError(f"{name} has {text}: tj.simulate(function, machine) adds them up")
    if machine.topology is not None:
        raise CompileError(
            f"{machine.name} has cores with a topology: tj.simulate(function, machine) times them"
        )
    return replace(simulate(executable.program, machine, labels_of(executable.graph)), program=name)
