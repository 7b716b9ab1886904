"""Programs on machines, followed command by command."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache

from sim.cost.ticks import TICKS
from sim.events.cores import follow_together, followed
from sim.events.model import CostModel, Models, Rates, SectionModel
from sim.events.reporting import Summary, report_of
from sim.events.sections import Run
from sim.events.totals import traffic_of
from sim.machine.machine import Machine
from sim.report.contents import contents
from sim.report.report import Report
from sim.report.values import Traffic, summed
from tiling.program import Program
from tiling.spread import SpreadProgram


class Simulator:
    """Simulates programs on one machine; what does not depend on time is worked out once a program."""

    def __init__(self, machine: Machine, costs: CostModel | None = None) -> None:
        self.machine = machine
        self.known = Models.of(machine) if costs is None else Models(Rates.of(machine), costs)
        self.rates = self.known.rates
        self._models: dict[int, tuple[SectionModel, ...]] = {}
        self._summaries: dict[int, Summary] = {}

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
        run = self._run(program, launch if launch_overhead_cycles is None else launch_overhead_cycles, fold)
        report = report_of(self.machine, summary, run, labels or {})
        return replace(report, contents=contents(report, program))

    def follow(self, program: Program) -> tuple[float, Traffic]:
        """Cycles, not rounded, and bytes of the program, without all else that a report says."""
        run = self._run(program, self.machine.launch_overhead_cycles, True)
        return run.ticks / TICKS, summed((traffic_of(model), 1) for model in self.models(program))

    def _run(self, program: Program, launch: int, fold: bool) -> Run:
        run = Run(program, self.rates, launch)
        for model in self.models(program):
            run.section(model, fold)
        run.finish()
        return run

    def models(self, program: Program) -> tuple[SectionModel, ...]:
        """What each section asks of the machine."""
        known = self._models.get(id(program))
        if known is None:
            model, operands = self.known.model, program.operands
            known = self._models[id(program)] = tuple(model(one, operands) for one in program.sections)
            weakref.finalize(program, self._models.pop, id(program), None)
        return known

    def summary(self, program: Program) -> Summary:
        """What the program asks of the machine."""
        known = self._summaries.get(id(program))
        if known is None:
            models = self.models(program)
            known = self._summaries[id(program)] = Summary.of(self.machine, program, models)
            weakref.finalize(program, self._summaries.pop, id(program), None)
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


def follow(program: Program, machine: Machine) -> tuple[float, Traffic]:
    """Cycles, not rounded, and bytes of a program, for which what is worked out is kept."""
    return _simulator(machine.core).follow(program)


def seconds_of(program: Program, machine: Machine) -> float:
    """How long a program takes, its last cycle as far as it is used."""
    if isinstance(program, SpreadProgram):
        ticks = max(core.run.ticks for core in followed(program, machine).cores)
        return ticks / TICKS / machine.clock_hz
    cycles, _ = follow(program, machine)
    return (cycles + machine.launch_overhead_cycles) / machine.clock_hz


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
