"""Inferences that follow each other without a pause: how soon each ends behind the one before.

A section of the next inference begins as soon as it would if it were one more of the same program: its first
loads come while the last one ends. Weights that stay in the scratchpad are loaded once, before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sim.events.cores import ends_of
from sim.events.model import Rates, SectionModel
from sim.events.sections import Run
from sim.machine.machine import Machine
from sim.report.report import Report
from sim.report.words import scaled, size
from tiling.program import Program
from tiling.spread import SpreadProgram

INFERENCES = 8
"""How many are followed; the period is that of the second half of them."""


@dataclass(frozen=True, slots=True)
class Stream:
    """What inferences take that follow each other."""

    report: Report
    """Of one that has the machine for itself, with the weights that stay already there."""
    ends: tuple[int, ...]
    """The cycle in which each of the first ones ends."""
    kept_bytes: int
    """Weights and other constants that stay in the scratchpads."""

    @property
    def period_cycles(self) -> float:
        """Cycles from the end of one inference to that of the next, once they have settled."""
        half = len(self.ends) // 2
        return (self.ends[-1] - self.ends[half - 1]) / (len(self.ends) - half)

    @property
    def throughput(self) -> float:
        """Inferences a second, once they have settled."""
        return self.report.clock_hz / self.period_cycles if self.period_cycles else float("inf")

    @property
    def latency_seconds(self) -> float:
        """Time of one inference that has the machine for itself."""
        return self.report.latency_seconds

    def to_dict(self) -> dict[str, Any]:
        """Plain data, with the figures that follow."""
        return {
            "program": self.report.program,
            "machine": self.report.machine,
            "latency_seconds": self.latency_seconds,
            "period_cycles": self.period_cycles,
            "inferences_per_second": self.throughput if self.period_cycles else None,
            "ends": list(self.ends),
            "kept_bytes": self.kept_bytes,
        }

    def __str__(self) -> str:
        return (
            f"{self.report.program} on {self.report.machine}: latency {scaled(self.latency_seconds, 's')}, "
            f"then one each {scaled(self.period_cycles / self.report.clock_hz, 's')}: "
            f"{self.throughput:,.4g} inferences/s; {size(self.kept_bytes)} of constants stay"
        )


def ends(program: Program, machine: Machine, inferences: int = INFERENCES) -> list[int]:
    """When each of some inferences ends that follow each other."""
    if isinstance(program, SpreadProgram):
        return ends_of(program, machine, inferences)
    from sim.cost.costs import Costs

    core = machine.core
    rates, costs = Rates.of(core), Costs.of(core.model_copy(update={"launch_overhead_cycles": 0}))
    models = [SectionModel(section, program.operands, rates, costs) for section in program.sections]
    run = Run(program, rates, machine.launch_overhead_cycles)
    for _ in range(inferences):
        for model in models:
            run.section(model, fold=True)
    run.finish()
    return [
        max((ran.end for ran in run.ran[number * len(models) : (number + 1) * len(models)]), default=0)
        for number in range(inferences)
    ]


def kept_bytes(program: Program) -> int:
    """Constants that a program keeps in the scratchpad, on all cores."""
    parts = program.cores if isinstance(program, SpreadProgram) else (program,)
    inside = [one for part in parts for one in part.operands.values() if one.place == "scratchpad"]
    return sum(one.stored(one.bytes) for one in inside if one.kind == "constant")
