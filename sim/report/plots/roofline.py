"""Operators below the roof of their machine."""

from __future__ import annotations

from math import atan, degrees, log10
from typing import TYPE_CHECKING

from sim.report.plots.figure import clean, figure, scaled_by, shifted, tidy
from sim.report.style import OTHER, unit_colour
from sim.report.text import headline
from sim.report.values import Account, OperatorReport, ReportError
from sim.report.words import percent, title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NAMED = 12
"""Operators that have a number in the picture and a name beside it."""


def roofline(report: Account) -> Figure:
    """MACs a cycle over MACs an off-chip byte, points as large as the share of the time."""
    ranked = sorted(report.operators, key=lambda operator: -operator.total)
    points = [one for one in ranked if one.macs and one.total]
    if not points:
        raise ReportError(f"{report.program}: a roofline needs operators with MACs, and there are none")
    made = figure(10, 5.6)
    axes = made.subplots()
    left, right = _range(report, points)
    _roof(axes, report, left, right)
    _points(axes, report, points, right)
    total = report.roofline
    axes.plot(total.intensity or right, total.attained, "*", ms=16, color="black", mec="white", zorder=5)
    axes.plot([], [], "*", ms=11, color="black", label=f"all, {percent(report.mac_utilisation)} of the peak")
    for number, one in enumerate(points[:NAMED], 1):
        name = clean(title(one.label, len(one.members), 30))
        axes.plot([], [], "none", label=f"{number}  {name}, {percent(one.total / report.cycles)}")
    if len(points) > NAMED:
        axes.plot([], [], "none", label=f"and {len(points) - NAMED} more")
    _labels(made, axes, report, left, right)
    return made


def _range(report: Account, points: list[OperatorReport]) -> tuple[float, float]:
    """Intensities from the smallest to the largest, and the ridge of the roof."""
    found = [report.roofline_of(one).intensity for one in points]
    known = [value for value in found if value is not None]
    if report.offchip_bytes_per_cycle:
        known.append(report.peak_macs_per_cycle / report.offchip_bytes_per_cycle)
    known = known or [1.0]
    return min(known) / 3, max(known) * (3 if None not in found else 9)


def _roof(axes: Axes, report: Account, left: float, right: float) -> None:
    peak, rate = report.peak_macs_per_cycle, report.offchip_bytes_per_cycle
    steps = [left * (right / left) ** (number / 200) for number in range(201)]
    roof = [min(peak, x * rate) if rate else peak for x in steps]
    axes.plot(steps, roof, color="black", lw=1.6)
    axes.annotate(
        f"peak: {peak:g} MACs a cycle", (right, peak), (-4, 5), textcoords="offset points", ha="right"
    )
    if rate and left * rate < peak:
        place = left * (peak / rate / left) ** 0.1
        axes.text(
            place,
            place * rate,
            f"off-chip: {rate:.3g} byte{'' if rate == 1 else 's'} a cycle",
            rotation=degrees(atan(rate)),
            rotation_mode="anchor",
            transform_rotates_text=True,
            transform=shifted(axes, -5, 4),
        )


def _points(axes: Axes, report: Account, points: list[OperatorReport], right: float) -> None:
    """All points, small ones above large ones; those without off-chip traffic at the right edge."""
    places = [report.roofline_of(one) for one in points]
    x = [right / 2 if place.intensity is None else place.intensity for place in places]
    y = [place.attained for place in places]
    sizes = [30 + 900 * one.total / report.cycles for one in points]
    colours = [unit_colour(one.unit) for one in points]
    for marker, beyond in (("o", False), (">", True)):
        chosen = [number for number, place in enumerate(places) if (place.intensity is None) == beyond]
        columns = [[values[number] for number in chosen] for values in (x, y, sizes)]
        shown = [colours[number] for number in chosen]
        axes.scatter(*columns, color=shown, alpha=0.75, edgecolors="white", marker=marker)
    _numbers(axes, [*zip(x, y, sizes, strict=True)][:NAMED])


def _numbers(axes: Axes, points: list[tuple[float, float, float]]) -> None:
    """Numbers beside the points; points in one place share a label."""
    labels: dict[tuple[int, int], list[int]] = {}
    for number, (x, y, _) in enumerate(points):
        labels.setdefault((round(12 * log10(x)), round(12 * log10(y))), []).append(number)
    for numbers in labels.values():
        x, y, size = points[numbers[0]]
        text = ", ".join(str(number + 1) for number in numbers)
        beside = (0.5 * size**0.5 + 3, -1)
        axes.annotate(text, (x, y), beside, textcoords="offset points", va="top", fontsize=8)


def _labels(made: Figure, axes: Axes, report: Account, left: float, right: float) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(left, right)
    low, high = axes.get_ylim()
    high = max(high, report.peak_macs_per_cycle)
    axes.set_ylim(min(low / 1.3, high / 30), high * 1.6)
    axes.set_xlabel("operational intensity in MACs for each off-chip byte")
    axes.set_ylabel("attained MACs a cycle")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(lambda value, _: f"{value:g}")
    giga = report.clock_hz / 1e9
    second = axes.secondary_yaxis("right", functions=scaled_by(giga))
    second.set_ylabel("GMAC/s")
    second.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    for axis in (axes.xaxis, axes.yaxis, second.yaxis):
        axis.set_minor_formatter("")
    tidy(axes)
    axes.spines["right"].set_visible(True)
    if any(report.roofline_of(one).intensity is None for one in report.operators if one.macs):
        axes.plot([], [], ">", color=OTHER, label="no off-chip traffic")
    axes.legend(
        loc="upper left",
        bbox_to_anchor=(1.13, 1),
        frameon=False,
        fontsize=9,
        handlelength=1.2,
        title="operators, share of the time",
        alignment="left",
    )
    made.suptitle(clean(headline(report)), fontsize=10)
