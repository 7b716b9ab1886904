"""The report of a run: sections taken together by the operators that they compute."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from sim.cost.geometry import geometry
from sim.events.model import SectionModel
from sim.events.sections import Ran, Run
from sim.events.state import CAUSES
from sim.events.timeline import Spans
from sim.events.totals import Totals
from sim.machine.machine import Machine
from sim.report.report import Report
from sim.report.values import LANES, OperatorReport, Span, summed
from tiling.expr import BYTES
from tiling.nest import Nest
from tiling.program import Program

NAMED = 3
"""Members of a group that its label names; of more, it says how many."""


@dataclass(frozen=True, slots=True)
class Group:
    """The sections that compute the same operators, and what they do in all."""

    members: tuple[str, ...]
    numbers: tuple[int, ...]
    unit: str
    totals: Totals
    energy: Mapping[str, float]
    """Without leakage."""
    layer: Mapping[str, int]
    after: tuple[int, ...]


@dataclass(frozen=True)
class Summary:
    """What a report says of a program that has nothing to do with time."""

    models: tuple[SectionModel, ...]
    groups: tuple[Group, ...]
    totals: Totals
    stay: frozenset[str]
    """Operands that are in the scratchpad until the end."""

    @staticmethod
    def of(machine: Machine, program: Program, models: Sequence[SectionModel]) -> Summary:
        """The summary of a program whose sections ask for this."""
        found: dict[tuple[str, ...], list[int]] = {}
        for number, model in enumerate(models):
            members = tuple(dict.fromkeys(model.nest.members)) or (f"group {number}",)
            found.setdefault(members, []).append(number)
        after = _dependencies(list(found.values()), models)
        groups = tuple(
            _group(machine, members, numbers, models, before)
            for (members, numbers), before in zip(found.items(), after, strict=True)
        )
        stay = frozenset(
            name
            for name, operand in program.operands.items()
            if operand.place == "scratchpad" and operand.kind in ("output", "constant")
        )
        return Summary(tuple(models), groups, Totals.sum([group.totals for group in groups]), stay)


def _dependencies(groups: Sequence[Sequence[int]], models: Sequence[SectionModel]) -> list[tuple[int, ...]]:
    """For each group of sections the other groups whose results it reads."""
    writers: dict[str, int] = {}
    found = []
    for place, numbers in enumerate(groups):
        nests = [models[number].nest for number in numbers]
        for nest in nests:
            for write in nest.writes:
                writers.setdefault(write.access.operand, place)
    for place, numbers in enumerate(groups):
        read = {access.operand for number in numbers for access in models[number].nest.reads}
        found.append(tuple(sorted({writers[name] for name in read if name in writers} - {place})))
    return found


def layer_of(nest: Nest) -> dict[str, int]:
    """A contraction or reduction in numbers."""
    found = geometry(nest, nest.extents)
    if found is None:
        return {}
    high, wide = found.kernel
    return {
        "groups": found.groups,
        "images": found.images,
        "height": found.height,
        "width": found.width,
        "filters": found.columns,
        "kernel_height": high,
        "kernel_width": wide,
        "channels": found.in_channels,
        "depthwise": int(found.kind == "depthwise"),
        "data_bits": 8 * BYTES[found.data_type],
        "weight_bits": 8 * BYTES[found.weight_type],
    }


def _group(
    machine: Machine,
    members: tuple[str, ...],
    numbers: list[int],
    models: Sequence[SectionModel],
    after: tuple[int, ...],
) -> Group:
    parts = [(models[number], Totals.of(models[number])) for number in numbers]
    units = Counter[str]()
    for model, totals in parts:
        units[model.unit_name] += totals.busy.get(model.tracks[0], 0)
    total = Totals.sum([totals for _, totals in parts])
    largest = max((model.nest for model, _ in parts), key=lambda nest: (nest.verb == "contract", nest.points))
    unit, energy = units.most_common(1)[0][0], total.energy(machine)
    return Group(members, tuple(numbers), unit, total, energy, layer_of(largest), after)


def report_of(machine: Machine, summary: Summary, run: Run, labels: Mapping[str, str]) -> Report:
    """The report of a run; groups are called by the member that comes first in `labels`."""
    timeline: list[Span] = []
    operators = []
    ranks = {name: rank for rank, name in enumerate(labels)}
    for group in summary.groups:
        first = min(group.members, key=lambda name: ranks.get(name, len(ranks)))
        label = label_of([first, *(name for name in group.members if name != first)], labels)
        for number in group.numbers:
            timeline += _spans(label, number, summary.models[number], run.ran[number])
        operators.append(_operator(machine, label, group, run))
    timeline.sort(key=lambda span: span.first)
    occupancy = run.pad.occupancy(run.cycles, summary.stay)
    return Report(
        machine=machine.name,
        program="program",
        mode="events",
        clock_hz=machine.clock_hz,
        cycles=run.cycles,
        operators=tuple(operators),
        busy=summary.totals.busy,
        traffic=summary.totals.traffic,
        peak_scratchpad_bytes=max((level for _, level in occupancy), default=0),
        scratchpad_bytes=machine.scratchpad.bytes,
        peak_level2_bytes=run.program.level2_bytes,
        level2_bytes=0 if machine.level2 is None else machine.level2.bytes,
        peak_macs_per_cycle=float(machine.macs_per_cycle),
        offchip_bytes_per_cycle=machine.offchip_bytes_per_cycle,
        energy=summed((operator.energy, 1) for operator in operators),
        occupancy=occupancy,
        timeline=tuple(timeline),
    )


def label_of(members: Sequence[str], labels: Mapping[str, str]) -> str:
    """The name of a group: those of its members, as far as there is room."""
    names = [labels.get(member, member) for member in members[:NAMED]]
    more = f" + {len(members) - NAMED} more" if len(members) > NAMED else ""
    return " + ".join(names) + more


def _operator(machine: Machine, label: str, group: Group, run: Run) -> OperatorReport:
    parts = [run.ran[number] for number in group.numbers]
    sums = [sum(column) for column in zip(*(part.cycles for part in parts), strict=True)]
    cycles = {cause: count for cause, count in zip(CAUSES, sums, strict=True) if count}
    if run.launch and 0 in group.numbers:
        cycles["launch"] = run.launch
    leakage = machine.energy.leakage_watts * sum(cycles.values()) / machine.clock_hz
    return OperatorReport(
        label=label,
        members=group.members,
        sections=group.numbers,
        unit=group.unit,
        cycles=cycles,
        busy=group.totals.busy,
        macs=group.totals.macs,
        operations=group.totals.operations,
        traffic=group.totals.traffic,
        energy={**group.energy, "leakage": leakage},
        detail=group.totals.detail,
        lanes=apportioned(group.totals.lanes, cycles.get("compute", 0)),
        layer=group.layer,
        after=group.after,
        start=min(part.start for part in parts),
        end=max(part.end for part in parts),
    )


def apportioned(shares: Mapping[str, Fraction], total: int) -> dict[str, int]:
    """So many cycles in proportion to shares, as integers that sum to them: the largest rests are rounded up.

    Fewer cycles are seen than were spent where another unit's cover some: these are left out evenly.
    """
    whole = sum(shares.values())
    if not whole or not total:
        return {}
    exact = {name: total * share / whole for name, share in shares.items()}
    found = {name: int(cycles) for name, cycles in exact.items()}
    rests = sorted(exact, key=lambda name: found[name] - exact[name])
    for name in rests[: total - sum(found.values())]:
        found[name] += 1
    return {name: found[name] for name in LANES if found.get(name)}


def _spans(label: str, number: int, model: SectionModel, ran: Ran) -> list[Span]:
    spans = Spans(label, model.tracks, number)
    spans.add(ran.events)
    return spans.spans
