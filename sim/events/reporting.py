"""The report of a run: sections taken together by the operators that they compute."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sim.events.model import Model
from sim.events.sections import Ran, Run
from sim.events.state import CAUSES
from sim.events.timeline import Spans
from sim.events.totals import Totals
from sim.machine.machine import Machine
from sim.report.report import OperatorReport, Report, Span, summed
from tiling.program import Program

NAMED = 3
"""Members of a group that its label names; of more, it says how many."""


@dataclass(frozen=True, slots=True)
class Done:
    """A section: what it asked for and what came of it."""

    model: Model
    totals: Totals
    ran: Ran


def report_of(
    machine: Machine, program: Program, done: Sequence[Done], run: Run, labels: Mapping[str, str]
) -> Report:
    """The report of a run."""
    ranks = {name: rank for rank, name in enumerate(labels)}
    groups: dict[tuple[str, ...], list[int]] = {}
    for number, one in enumerate(done):
        groups.setdefault(one.model.nest.members or (f"group {number}",), []).append(number)
    timeline: list[Span] = []
    operators = []
    for members, numbers in groups.items():
        label = label_of(sorted(members, key=lambda name: ranks.get(name, len(ranks))), labels)
        for number in numbers:
            timeline += _spans(label, done[number])
        operators.append(_operator(machine, label, members, numbers, done, run.launch))
    timeline.sort(key=lambda span: span.first)
    stay = frozenset(
        name
        for name, o in program.operands.items()
        if o.place == "scratchpad" and o.kind in ("output", "constant")
    )
    occupancy = run.pad.occupancy(run.cycles, stay)
    energy = summed((operator.energy, 1) for operator in operators)
    return Report(
        machine=machine.name,
        program="program",
        mode="events",
        clock_hz=machine.clock_hz,
        cycles=run.cycles,
        operators=tuple(operators),
        busy=summed((operator.busy, 1) for operator in operators),
        traffic=summed((operator.traffic, 1) for operator in operators),
        peak_scratchpad_bytes=max((level for _, level in occupancy), default=0),
        scratchpad_bytes=machine.scratchpad.bytes,
        peak_macs_per_cycle=float(machine.macs_per_cycle),
        offchip_bytes_per_cycle=machine.offchip_bytes_per_cycle,
        energy=energy,
        occupancy=occupancy,
        timeline=tuple(timeline),
    )


def label_of(members: Sequence[str], labels: Mapping[str, str]) -> str:
    """The name of a group: those of its members, as far as there is room."""
    names = [labels.get(member, member) for member in members[:NAMED]]
    more = f" + {len(members) - NAMED} more" if len(members) > NAMED else ""
    return " + ".join(names) + more


def _operator(
    machine: Machine,
    label: str,
    members: tuple[str, ...],
    numbers: Sequence[int],
    done: Sequence[Done],
    launch: int,
) -> OperatorReport:
    parts = [done[number] for number in numbers]
    cycles: dict[str, int] = {
        cause: count
        for place, cause in enumerate(CAUSES)
        if (count := sum(part.ran.cycles[place] for part in parts))
    }
    if launch and 0 in numbers:
        cycles["launch"] = launch
    energy = summed((part.totals.energy(machine.energy), 1) for part in parts)
    energy["leakage"] = machine.energy.leakage_watts * sum(cycles.values()) / machine.clock_hz
    units = Counter[str]()
    for part in parts:
        units[part.model.unit_name] += part.totals.busy.get(part.model.unit_name, 0)
    return OperatorReport(
        label=label,
        members=members,
        sections=tuple(numbers),
        unit=units.most_common(1)[0][0],
        cycles=cycles,
        busy=summed((part.totals.busy, 1) for part in parts),
        macs=sum(part.totals.macs for part in parts),
        operations=sum(part.totals.operations for part in parts),
        traffic=summed((part.totals.traffic, 1) for part in parts),
        energy=energy,
        detail=summed((part.totals.detail, 1) for part in parts),
        start=min(part.ran.start for part in parts),
        end=max(part.ran.end for part in parts),
    )


def _spans(label: str, one: Done) -> list[Span]:
    model = one.model
    channels = ("dma 0", "dma 1") if model.rates.channels > 1 else ("dma", "dma")
    unit = channels[0] if model.unit_name == "dma" else model.unit_name
    spans = Spans(label, (unit, *channels))
    spans.add(one.ran.events)
    return spans.spans
