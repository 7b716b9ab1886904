"""Programs on machines, followed command by command."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache

from sim.events.cores import follow_together
from sim.events.model import CostModel, Rates, SectionModel
from sim.events.reporting import Summary, report_of
from sim.events.sections import Run
from sim.machine.machine import Machine
from sim.report.contents import contents
from sim.report.report import Report
from tiling.program import Program
from tiling.spread import SpreadProgram


class Simulator:
    """Simulates programs on one machine; what does not depend on time is worked out once a program."""

    def __init__(self, machine: Machine, costs: CostModel | None = None) -> None:
        if costs is None:
            from sim.cost.costs import Costs

            costs = Costs.of(machine)
        self.machine, self.costs, self.rates = machine, costs, Rates.of(machine)
        self._programs: dict[int, Summary] = {}

    def simulate(
        self,
        program: Program,
        labels: Mapping[str, str] | None = None,
        *,
        launch_overhead_cycles: int | None = None,
        fold: bool = True,
    ) -> Report:
        """What the program takes; without `fold` every tile is followed, for the same result."""
        summary = self.summary(program)
        launch = self.machine.launch_overhead_cycles
        run = Run(program, self.rates, launch if launch_overhead_cycles is None else launch_overhead_cycles)
        for model in summary.models:
            run.section(model, fold)
        run.finish()
        report = report_of(self.machine, summary, run, labels or {})
        return replace(report, contents=contents(report, program))

    def summary(self, program: Program) -> Summary:
        """What the program asks of the machine."""
        known = self._programs.get(id(program))
        if known is None:
            models = [
                SectionModel(section, program.operands, self.rates, self.costs)
                for section in program.sections
            ]
            known = self._programs[id(program)] = Summary.of(self.machine, program, models)
            weakref.finalize(program, self._programs.pop, id(program), None)
        return known


def simulate(
    program: Program,
    machine: Machine,
    labels: Mapping[str, str] | None = None,
    *,
    costs: CostModel | None = None,
) -> Report:
    """What a program takes on a machine; `labels` are names of operators by those of the nodes."""
    if isinstance(program, SpreadProgram):
        return follow_together(program, machine, labels or {})
    machine = machine.core
    if costs is not None:
        return Simulator(machine, costs).simulate(program, labels)
    return _simulator(machine).simulate(
        program, labels, launch_overhead_cycles=machine.launch_overhead_cycles
    )


def simulate_all(
    programs: Iterable[Program], machine: Machine, labels: Mapping[str, str] | None = None
) -> Report:
    """What programs take one after another; the machine is launched once."""
    simulator, reports = _simulator(machine), []
    for number, program in enumerate(programs):
        launch = 0 if number else machine.launch_overhead_cycles
        reports.append(simulator.simulate(program, labels, launch_overhead_cycles=launch))
    return Report.joined(reports)


@lru_cache(maxsize=32)
def _simulator(machine: Machine) -> Simulator:
    """The simulator of a machine; launching is no part of what it keeps."""
    return _kept(machine.model_copy(update={"launch_overhead_cycles": 0}))


@lru_cache(maxsize=32)
def _kept(machine: Machine) -> Simulator:
    return Simulator(machine)
