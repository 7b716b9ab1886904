"""Programs that run one after another, as one report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from sim.report.values import Account, Content, OperatorReport, ReportError, Span, details, summed

Some = TypeVar("Some", bound=Account)
POINTS = 20_000
"""Points of the occupancy and contents of a repeated program; of more, those of the first run are kept."""


def joined(reports: Sequence[Some | tuple[Some, int]], program: str | None = None) -> Some:
    """The sum of reports on one machine, each with how many times it runs."""
    pairs = [one if isinstance(one, tuple) else (one, 1) for one in reports]
    pairs = [(report, count) for report, count in pairs if _counted(count)] or pairs[:1]
    if not pairs:
        raise ReportError("there are no reports to join")
    first = pairs[0][0]
    for report, _ in pairs:
        if (report.machine, report.clock_hz) != (first.machine, first.clock_hz):
            raise ReportError(f"reports of {first.machine} and {report.machine} are for different machines")
    if len(pairs) == 1 and pairs[0][1] == 1:
        return replace(first, program=program or first.program)
    timed = [(report, count, start) for (report, count), start in zip(pairs, _starts(pairs), strict=True)]
    return replace(
        first,
        program=program or first.program,
        mode="events" if all(report.mode == "events" for report, _ in pairs) else "analytic",
        cycles=sum(report.cycles * count for report, count in pairs),
        origin=None,
        operators=tuple(
            _operator(operator, report, count, start, before)
            for (report, count, start), before in zip(timed, _counts(pairs), strict=True)
            for operator in report.operators
        ),
        busy=summed((report.busy, count) for report, count in pairs),
        traffic=summed((report.traffic, count) for report, count in pairs),
        energy=summed((report.energy, count) for report, count in pairs),
        peak_scratchpad_bytes=max(report.peak_scratchpad_bytes for report, _ in pairs),
        peak_level2_bytes=max(report.peak_level2_bytes for report, _ in pairs),
        occupancy=tuple(
            point for report, count, start in timed for point in _occupancy(report, count, start)
        ),
        contents=tuple(
            content for report, count, start in timed for content in _contents(report, count, start)
        ),
        timeline=tuple(
            span
            for report, count, start in timed
            for old in report.timeline
            for span in _spans(old, report.cycles, count, start)
        ),
        runs=sum(report.runs * count for report, count in pairs),
    )


def _counted(count: int) -> int:
    if count < 0:
        raise ReportError(f"a program cannot run {count} times")
    return count


def _starts(pairs: Sequence[tuple[Account, int]]) -> list[int]:
    """When each of them starts."""
    starts, now = [], 0
    for report, count in pairs:
        starts.append(now)
        now += report.cycles * count
    return starts


def _counts(pairs: Sequence[tuple[Account, int]]) -> list[int]:
    """How many operators are in front of those of each report."""
    return [sum(len(report.operators) for report, _ in pairs[:place]) for place in range(len(pairs))]


def _operator(
    operator: OperatorReport, report: Account, count: int, start: int, before: int
) -> OperatorReport:
    return replace(
        operator,
        after=tuple(number + before for number in operator.after),
        cycles=summed([(operator.cycles, count)]),
        busy=summed([(operator.busy, count)]),
        macs=operator.macs * count,
        operations=operator.operations * count,
        traffic=summed([(operator.traffic, count)]),
        energy=summed([(operator.energy, count)]),
        detail=details([(operator.detail, count)]),
        lanes=summed([(operator.lanes, count)]),
        start=start + operator.start,
        end=start + operator.end + max(0, count - 1) * report.cycles,
    )


def _occupancy(report: Account, count: int, start: int) -> Iterator[tuple[int, int]]:
    """Every repetition while that is not too long, else the first one and the peak."""
    exact = count * len(report.occupancy) <= POINTS
    for number in range(count if exact else 1):
        for cycle, size in report.occupancy:
            yield start + number * report.cycles + cycle, size
    if not exact:
        yield start + report.cycles, max(size for _, size in report.occupancy)


def _contents(report: Account, count: int, start: int) -> Iterator[Content]:
    """Those of every repetition while they are not too many, else of the first one."""
    exact = count * len(report.contents) <= POINTS
    for number in range(count if exact else min(count, 1)):
        shift = start + number * report.cycles
        for one in report.contents:
            yield replace(one, first=one.first + shift, last=one.last + shift)


def _spans(span: Span, period: int, count: int, start: int) -> Iterator[Span]:
    """A span in each repetition, folded over the longer of the two."""
    first = start + span.first
    if span.count <= count:
        for number in range(span.count):
            yield replace(span, first=first + number * span.period, period=period, count=count)
    else:
        for number in range(count):
            yield replace(span, first=first + number * period)
