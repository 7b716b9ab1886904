"""Reports as trace events, which Perfetto and Chrome show."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sim.report.files import write_text
from sim.report.values import CAUSES, LANES, Account, Span
from tiling.words import plain

LIMIT = 100_000
"""Spans that are drawn one by one. The longest repetitions become one span each when there are more."""
POINTS = 50_000
"""Points of a counter."""
TRACKS = 10_000
"""Numbers of tracks that each report has for itself."""

Event = dict[str, Any]


def trace(*reports: Account, limit: int = LIMIT) -> dict[str, Any]:
    """The timelines of reports, a process for each: tracks for units and operators, and counters."""
    events: list[Event] = []
    for process, report in enumerate(reports, 1):
        events += _events(report, process, limit // len(reports))
    about = [
        {
            "machine": plain(report.machine),
            "program": plain(report.program),
            "mode": report.mode,
            "clock_hz": report.clock_hz,
            "cycles": report.cycles,
        }
        for report in reports
    ]
    other = about[0] if len(about) == 1 else {"reports": about}
    return {"traceEvents": events, "displayTimeUnit": "ns", "otherData": other}


def write_trace(path: str | Path, *reports: Account) -> None:
    """A file that https://ui.perfetto.dev opens: an event a line."""
    data = trace(*reports)
    events = data.pop("traceEvents")
    head = json.dumps(data, allow_nan=False)[1:-1]
    rows = ",\n".join(json.dumps(event, allow_nan=False) for event in events)
    write_text(path, f'{{{head}, "traceEvents": [\n{rows}\n]}}\n')


def _events(report: Account, process: int, limit: int) -> Iterator[Event]:
    """All of one report."""
    clock = _Clock(report.clock_hz)
    number = (process - 1) * TRACKS
    title = f"{plain(report.program)} on {plain(report.machine)}"
    yield {"ph": "M", "pid": process, "tid": number, "name": "process_name", "args": {"name": title}}
    for name, slices in _tracks(report, limit):
        for lane in _lanes(slices):
            number += 1
            track = {"pid": process, "tid": number}
            yield {"ph": "M", **track, "name": "thread_name", "args": {"name": name}}
            yield {"ph": "M", **track, "name": "thread_sort_index", "args": {"sort_index": number}}
            yield from ({"ph": "X", **track, **_complete(one, clock)} for one in lane)
    for name, cycle, values in (*_occupancy(report), *_bandwidth(report, limit)):
        yield {"ph": "C", "pid": process, "ts": clock.microseconds(cycle), "name": name, "args": values}


class _Clock:
    """Cycles in microseconds, to the nanosecond, so that what follows on another never overlaps it."""

    def __init__(self, hertz: float) -> None:
        self.hertz = hertz

    def nanoseconds(self, cycle: int) -> int:
        return round(cycle * 1e9 / self.hertz)

    def microseconds(self, cycle: int) -> float:
        return self.nanoseconds(cycle) / 1e3

    def between(self, first: int, last: int) -> float:
        return (self.nanoseconds(last) - self.nanoseconds(first)) / 1e3


Slice = tuple[int, int, str, str, dict[str, Any]]
Count = tuple[str, int, dict[str, float]]


def _tracks(report: Account, limit: int) -> Iterator[tuple[str, list[Slice]]]:
    """Names of tracks with what is on them: (first, end, name, category, arguments)."""
    yield "operators", list(_operators(report))
    units: dict[str, list[Slice]] = defaultdict(list)
    folded: dict[tuple[str, str, str], list[Span]] = defaultdict(list)
    for span in expanded(report.timeline, limit):
        if span.count * span.stands_for > 1:
            folded[span.unit, span.label, span.kind].append(span)
        else:
            units[plain(span.unit)].append(_slice(span))
    for (unit, _, _), spans in folded.items():
        units[plain(unit)].append(_folded(spans))
    yield from units.items()


def _operators(report: Account) -> Iterator[Slice]:
    """Operators from when their work starts, not from when data for it are first loaded."""
    works: dict[str, int] = {}
    for span in report.timeline:
        if span.kind == "compute":
            works[span.label] = min(span.first, works.get(span.label, span.first))
    for one in report.operators:
        start = max(one.start, works.get(one.label, one.start))
        if one.end > start:
            yield start, one.end, plain(one.label), "operator", _arguments(one)


def _arguments(operator: Any) -> dict[str, Any]:
    return {
        "members": ", ".join(map(plain, operator.members)),
        "unit": operator.unit,
        "cycles": operator.total,
        **{f"cycles of {cause}": operator.cycles[cause] for cause in CAUSES if operator.cycles.get(cause)},
        **{f"cycles of lanes: {name}": operator.lanes[name] for name in LANES if operator.lanes.get(name)},
        "macs": operator.macs,
        "offchip bytes": operator.offchip_bytes,
    }


def _slice(span: Span) -> Slice:
    arguments: dict[str, Any] = {"cycles": span.duration}
    if span.bytes:
        arguments["bytes"] = span.bytes
    return span.first, span.end, _name(span), span.kind, arguments


def _folded(spans: list[Span]) -> Slice:
    """What one operator does again and again, as one slice."""
    count = sum(span.count * span.stands_for for span in spans)
    arguments: dict[str, Any] = {"times": count}
    if all(span.stands_for == 1 for span in spans):
        arguments["busy cycles"] = sum(span.duration * span.count for span in spans)
        if len(spans) == 1:
            arguments |= {"cycles": spans[0].duration, "period in cycles": spans[0].period}
    if size := sum(span.bytes * span.count for span in spans):
        arguments["bytes"] = size
    first, end = min(span.first for span in spans), max(span.end for span in spans)
    return first, end, f"{_name(spans[0])} × {count:,}", spans[0].kind, arguments


def _name(span: Span) -> str:
    return plain(span.label) if span.kind == "compute" else f"{span.kind} {plain(span.label)}"


def expanded(timeline: Sequence[Span], limit: int = LIMIT) -> Iterator[Span]:
    """Spans one by one; those that repeat most often stay folded where that would be more than the limit."""
    most = _most(timeline, limit)
    for span in timeline:
        if span.count == 1 or span.count > most:
            yield span
        else:
            for number in range(span.count):
                yield replace(span, first=span.first + number * span.period, period=0, count=1)


def flows(report: Account, limit: int = LIMIT) -> Iterator[tuple[int, int, float]]:
    """Off-chip bytes between two cycles.

    Those of transfers are known. What units move themselves is spread evenly over their work and,
    where there is no timeline, over all the time of the operator.
    """
    moved: Counter[str] = Counter()
    work: Counter[str] = Counter()
    for span in report.timeline:
        moved[span.label] += span.bytes * span.count
        work[span.label] += span.duration * span.count if span.kind == "compute" else 0
    rest = Counter({one.label: 0 for one in report.operators})
    for one in report.operators:
        rest[one.label] += one.offchip_bytes
    rates = {label: max(0, size - moved[label]) / work[label] for label, size in rest.items() if work[label]}
    for one in report.operators:
        if one.label not in work and one.end > one.start and one.offchip_bytes:
            yield one.start, one.end, one.offchip_bytes
    for span in expanded(report.timeline, limit):
        if span.end > span.first:
            own = rates.get(span.label, 0.0) * span.duration if span.kind == "compute" else 0.0
            if size := (span.bytes + own) * span.count:
                yield span.first, span.end, size


def _most(timeline: Sequence[Span], limit: int) -> int:
    """The largest count of spans that are expanded."""
    total, left = 0, len(timeline)
    for count in sorted(span.count for span in timeline):
        left -= 1
        if total + count + left > limit:
            return count - 1
        total += count
    return limit + 1


def _lanes(slices: list[Slice]) -> list[list[Slice]]:
    """Tracks on which nothing overlaps: more than one only where folded spans interleave."""
    lanes: list[list[Slice]] = []
    ends: list[int] = []
    for one in sorted(slices, key=lambda one: (one[0], one[1])):
        free = next((number for number, end in enumerate(ends) if end <= one[0]), None)
        if free is None:
            lanes.append([one])
            ends.append(one[1])
        else:
            lanes[free].append(one)
            ends[free] = one[1]
    return lanes


def _occupancy(report: Account) -> Iterator[Count]:
    step = -(-len(report.occupancy) // POINTS) or 1
    for start in range(0, len(report.occupancy), step):
        part = report.occupancy[start : start + step]
        yield "scratchpad", part[0][0], {"bytes": max(count for _, count in part)}
    if report.occupancy:
        yield "scratchpad", report.cycles, {"bytes": report.occupancy[-1][1]}


def _bandwidth(report: Account, limit: int) -> Iterator[Count]:
    """Off-chip bytes a second, at most what there is."""
    changes: dict[int, float] = defaultdict(float)
    for first, end, size in flows(report, limit):
        changes[first] += size / (end - first)
        changes[end] -= size / (end - first)
    rate = 0.0
    for cycle in sorted(changes):
        rate += changes[cycle]
        shown = min(max(rate, 0.0), report.offchip_bytes_per_cycle or rate)
        value = round(shown * report.clock_hz / 1e9, 4)
        yield "off-chip bandwidth", cycle, {"GB/s": value}


def _complete(one: Slice, clock: _Clock) -> Event:
    first, end, name, category, arguments = one
    return {
        "ts": clock.microseconds(first),
        "dur": clock.between(first, end),
        "name": name,
        "cat": category,
        "args": arguments,
    }
