"""Reports as trace events, which Perfetto and Chrome show."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from sim.report.files import write_text
from sim.report.report import CAUSES, Report, Span
from sim.report.words import plain

LIMIT = 100_000
"""Spans that are drawn one by one. The longest repetitions become one span each when there are more."""
POINTS = 50_000
"""Points of a counter."""

Event = dict[str, Any]
_PROCESS = 1


def trace(report: Report, limit: int = LIMIT) -> dict[str, Any]:
    """The timeline with a track for each unit, one for the operators, and counters."""
    clock = _Clock(report.clock_hz)
    title = f"{plain(report.program)} on {plain(report.machine)}"
    events: list[Event] = [_named("process_name", 0, title)]
    number = 0
    for name, slices in _tracks(report, limit):
        for lane in _lanes(slices):
            number += 1
            events += [_named("thread_name", number, name), _sorted(number)]
            events += [_complete(one, number, clock) for one in lane]
    events += _occupancy(report, clock)
    events += _bandwidth(report, limit, clock)
    return {
        "traceEvents": events,
        "displayTimeUnit": "ns",
        "otherData": {
            "machine": plain(report.machine),
            "program": plain(report.program),
            "mode": report.mode,
            "clock_hz": report.clock_hz,
            "cycles": report.cycles,
        },
    }


def write_trace(report: Report, path: str | Path) -> None:
    """A file that https://ui.perfetto.dev opens: an event a line."""
    data = trace(report)
    events = data.pop("traceEvents")
    head = json.dumps(data, allow_nan=False)[1:-1]
    rows = ",\n".join(json.dumps(event, allow_nan=False) for event in events)
    write_text(path, f'{{{head}, "traceEvents": [\n{rows}\n]}}\n')


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


def _tracks(report: Report, limit: int) -> Iterator[tuple[str, list[Slice]]]:
    """Names of tracks with what is on them: (first, end, name, category, arguments)."""
    yield (
        "operators",
        [
            (one.start, one.end, plain(one.label), "operator", _arguments(one))
            for one in report.operators
            if one.end > one.start
        ],
    )
    units: dict[str, list[Slice]] = defaultdict(list)
    for span in expanded(report.timeline, limit):
        units[plain(span.unit)].append(_slice(span))
    yield from units.items()


def _arguments(operator: Any) -> dict[str, Any]:
    return {
        "members": ", ".join(map(plain, operator.members)),
        "unit": operator.unit,
        "cycles": operator.total,
        **{f"cycles of {cause}": operator.cycles[cause] for cause in CAUSES if operator.cycles.get(cause)},
        "macs": operator.macs,
        "offchip bytes": operator.offchip_bytes,
    }


def _slice(span: Span) -> Slice:
    verb = f"{span.kind} " if span.kind != "compute" else ""
    name = verb + plain(span.label)
    arguments: dict[str, Any] = {"cycles": span.duration}
    if span.bytes:
        arguments["bytes"] = span.bytes
    if span.count > 1:
        name += f" × {span.count:,}"
        arguments |= {"times": span.count, "period in cycles": span.period}
    return span.first, span.end, name, span.kind, arguments


def expanded(timeline: Sequence[Span], limit: int = LIMIT) -> Iterator[Span]:
    """Spans one by one; those that repeat most often stay folded where that would be more than the limit."""
    most = _most(timeline, limit)
    for span in timeline:
        if span.count == 1 or span.count > most:
            yield span
        else:
            for number in range(span.count):
                first = span.first + number * span.period
                yield Span(span.unit, span.label, span.kind, first, span.duration, bytes=span.bytes)


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


def _occupancy(report: Report, clock: _Clock) -> Iterator[Event]:
    step = -(-len(report.occupancy) // POINTS) or 1
    for start in range(0, len(report.occupancy), step):
        part = report.occupancy[start : start + step]
        yield _counter("scratchpad", part[0][0], {"bytes": max(count for _, count in part)}, clock)
    if report.occupancy:
        yield _counter("scratchpad", report.cycles, {"bytes": report.occupancy[-1][1]}, clock)


def _bandwidth(report: Report, limit: int, clock: _Clock) -> Iterator[Event]:
    """Off-chip bytes a second: those of each span, evenly over the time it takes."""
    changes: dict[int, float] = defaultdict(float)
    for span in expanded(report.timeline, limit):
        if span.bytes and span.end > span.first:
            rate = span.bytes * span.count / (span.end - span.first)
            changes[span.first] += rate
            changes[span.end] -= rate
    rate = 0.0
    for cycle in sorted(changes):
        rate += changes[cycle]
        value = round(max(rate, 0.0) * report.clock_hz / 1e9, 4)
        yield _counter("off-chip bandwidth", cycle, {"GB/s": value}, clock)


def _complete(one: Slice, track: int, clock: _Clock) -> Event:
    first, end, name, category, arguments = one
    return {
        "ph": "X",
        "pid": _PROCESS,
        "tid": track,
        "ts": clock.microseconds(first),
        "dur": clock.between(first, end),
        "name": name,
        "cat": category,
        "args": arguments,
    }


def _counter(name: str, cycle: int, values: dict[str, Any], clock: _Clock) -> Event:
    return {"ph": "C", "pid": _PROCESS, "ts": clock.microseconds(cycle), "name": name, "args": values}


def _named(what: str, track: int, name: str) -> Event:
    return {"ph": "M", "pid": _PROCESS, "tid": track, "name": what, "args": {"name": name}}


def _sorted(track: int) -> Event:
    return {
        "ph": "M",
        "pid": _PROCESS,
        "tid": track,
        "name": "thread_sort_index",
        "args": {"sort_index": track},
    }
