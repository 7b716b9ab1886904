"""What units do when, with the occupancy of the scratchpad and the off-chip bandwidth."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sim.report.plots.figure import clean, figure, limit, patch, tidy, time_axis
from sim.report.style import OPERATOR_COLOURS, OTHER, UNIT_COLOURS
from sim.report.text import headline
from sim.report.trace import expanded, flows
from sim.report.values import UNITS, Account, ReportError, Span
from sim.report.words import size, title
from tiling.words import plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LIMIT = 20_000
"""Spans that are drawn one by one."""
SEPARATE = 500
"""Spans of a track that are told apart by lines between them."""
BINS = 400
"""Steps of the bandwidth."""


def timeline(report: Account, first: int = 0, last: int | None = None) -> Figure:
    """Tracks of the operators and units, and two curves below them."""
    last = report.cycles if last is None else last
    if not report.cycles:
        raise ReportError(f"{report.program}: there is nothing to draw")
    if not 0 <= first < last <= report.cycles:
        raise ReportError(f"cycles {first} to {last} are not within 0 to {report.cycles}")
    spans = [span for span in expanded(report.timeline, LIMIT) if span.first < last and span.end > first]
    tracks = sorted({span.unit for span in spans}, key=_rank)
    rows = 1 + len(tracks)
    made = figure(11, 3.4 + 0.45 * rows)
    top, middle, bottom = made.subplots(3, sharex=True, height_ratios=[0.45 * rows, 0.9, 0.9])
    factor, unit = time_axis((last - first) / report.clock_hz)
    scale = 1 / report.clock_hz / factor
    _tracks(top, report, spans, tracks, scale, (first, last))
    _occupancy(middle, report, scale)
    _bandwidth(bottom, report, scale, (first, last))
    bottom.set_xlabel(f"time in {unit}")
    bottom.set_xlim(first * scale, last * scale)
    made.suptitle(clean(headline(report)), fontsize=10)
    return made


def _rank(unit: str) -> tuple[int, str]:
    name = unit.split(" ")[0]
    return (UNITS.index(name) if name in UNITS else len(UNITS), unit)


def _tracks(
    axes: Axes, report: Account, spans: list[Span], tracks: list[str], scale: float, window: tuple[int, int]
) -> None:
    colours = {
        one.label: OPERATOR_COLOURS[number % len(OPERATOR_COLOURS)]
        for number, one in enumerate(report.operators)
    }
    names = ["operators", *tracks]
    boxes = _owned(report)
    axes.broken_barh(
        [(start * scale, (end - start) * scale) for start, end, _, _ in boxes],
        (-0.4, 0.8),
        color=[colours[label] for _, _, label, _ in boxes],
    )
    first, last = window
    for start, end, label, members in boxes:
        shown = min(end, last) - max(start, first)
        if name := _fitting(label, members, int(130 * shown / (last - first))):
            middle = (max(start, first) + shown / 2) * scale
            axes.text(middle, 0, clean(name), ha="center", va="center", fontsize=7.5)
    for number, track in enumerate(tracks, 1):
        for stored in (False, True):
            mine = [span for span in spans if span.unit == track and (span.kind == "store") == stored]
            axes.broken_barh(
                [(span.first * scale, max(span.end - span.first, 1) * scale) for span in mine],
                (number - 0.4, 0.8),
                facecolor=[colours.get(span.label, OTHER) for span in mine],
                edgecolor="white",
                linewidth=0.5 if len(mine) < SEPARATE else 0,
                hatch="/////" if stored and len(mine) < SEPARATE else None,
            )
    if any(span.kind == "store" for span in spans):
        patches = [
            patch(facecolor=OTHER, label="load or compute"),
            patch(facecolor=OTHER, edgecolor="white", hatch="/////", label="store"),
        ]
        axes.legend(handles=patches, loc="lower left", bbox_to_anchor=(1.01, 0), frameon=False, fontsize=8)
    axes.set_yticks(range(len(names)), [clean(name) for name in names])
    axes.set_ylim(len(names) - 0.4, -0.6)
    tidy(axes, "x")


def _fitting(label: str, members: int, letters: int) -> str:
    """As much of a name as so many letters can say, or nothing."""
    whole = title(label, members, 1000)
    brief = title(label, members, min(letters, len(whole) - 1))
    node = plain(label).split(" + ")[0].split(" ")[-1]
    if len(whole) <= letters or "…" not in brief:
        return whole if len(whole) <= letters else brief
    return node if len(node) <= letters else ""


def _owned(report: Account) -> list[tuple[int, int, str, int]]:
    """The operators one after another, each as long as its cycles."""
    boxes, now = [], 0
    for one in report.operators:
        boxes.append((now, now + one.total, one.label, len(one.members)))
        now += one.total
    return boxes


def _occupancy(axes: Axes, report: Account, scale: float) -> None:
    points = [*report.occupancy, (report.cycles, report.occupancy[-1][1] if report.occupancy else 0)]
    times = [cycle * scale for cycle, _ in points]
    sizes = [count / 1024 for _, count in points]
    axes.fill_between(times, sizes, step="post", color=UNIT_COLOURS["array"], alpha=0.6, lw=0)
    if report.scratchpad_bytes and report.scratchpad_bytes < 4 * report.peak_scratchpad_bytes:
        limit(axes, report.scratchpad_bytes / 1024, size(report.scratchpad_bytes))
    axes.set_ylabel("scratchpad\nin KiB")
    axes.set_ylim(bottom=0)
    tidy(axes)


def _bandwidth(axes: Axes, report: Account, scale: float, window: tuple[int, int]) -> None:
    """The mean of each step of time."""
    first, last = window
    step = (last - first) / BINS
    moved = [0.0] * BINS
    for start, end, count in flows(report, LIMIT):
        low, high = max(start, first), min(end, last)
        for number in range(max(0, int((low - first) / step)), min(BINS, int((high - first) / step) + 1)):
            edge = first + number * step
            share = max(0.0, min(high, edge + step) - max(low, edge)) / (end - start)
            moved[number] += count * share
    if report.offchip_bytes_per_cycle:
        _carried(moved, step * report.offchip_bytes_per_cycle)
    giga = report.clock_hz / 1e9
    times = [(first + number * step) * scale for number in range(BINS + 1)]
    rates = [moved[number] / step * giga for number in range(BINS)]
    axes.fill_between(times, [*rates, rates[-1]], step="post", color=UNIT_COLOURS["dma"], alpha=0.7, lw=0)
    if report.offchip_bytes_per_cycle:
        rate = report.offchip_bytes_per_cycle * giga
        limit(axes, rate, f"{rate:.3g} GB/s")
    axes.set_ylabel("off-chip\nin GB/s")
    axes.set_ylim(bottom=0)
    tidy(axes)


def _carried(moved: list[float], most: float) -> None:
    """Move what is more than a step can take to the next ones, then to those before.

    What units move themselves is only known in sum, and may seem to be in the way of a transfer.
    """
    for steps in (range(len(moved)), range(len(moved) - 1, -1, -1)):
        rest = 0.0
        for number in steps:
            wanted = moved[number] + rest
            moved[number] = min(wanted, most)
            rest = wanted - moved[number]
        moved[steps[-1]] += rest
