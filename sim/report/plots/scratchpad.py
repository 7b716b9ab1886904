"""The scratchpad over time: which addresses hold what."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sim.report.plots.figure import clean, figure, limit, patch, tidy, time_axis
from sim.report.report import OperatorReport, Report, ReportError, Span
from sim.report.text import headline
from sim.report.words import plain, size
from tiling.program import Image, Operand, Program, Section

COLOURS = {
    "input": "#56B4E9",
    "constant": "#E69F00",
    "temporary": "#009E73",
    "output": "#CC79A7",
    "sums": "#A6A6A6",
}
NAMES = {
    "input": "inputs",
    "constant": "constants",
    "temporary": "between operators",
    "output": "outputs",
    "sums": "accumulators",
}


@dataclass(frozen=True, slots=True)
class Box:
    """Addresses that hold something for some time."""

    first: int
    last: int
    address: int
    bytes: int
    name: str
    kind: str
    copy: bool


def scratchpad(report: Report, program: Program) -> Any:
    """A box for all that is kept there; tiles that pass through are hatched."""
    boxes = list(residents(report, program)) + list(images(report, program))
    made = figure(11, 5)
    axes = made.subplots()
    factor, unit = time_axis(report.latency_seconds)
    scale = 1 / report.clock_hz / factor
    top = max([box.address + box.bytes for box in boxes] + [program.scratch_bytes, 1])
    share, name = (1, "bytes") if top < 4096 else (1024, "KiB")
    for box in boxes:
        _draw(axes, box, scale, report.cycles, top, share)
    there = report.scratchpad_bytes
    if there and there <= 2 * top:
        limit(axes, there / share, size(there))
    axes.set_xlim(0, max(report.cycles, 1) * scale)
    axes.set_ylim(0, max(top, there if there <= 2 * top else 0) * 1.06 / share)
    axes.set_xlabel(f"time in {unit}")
    axes.set_ylabel(f"address in {name}")
    tidy(axes)
    found = {box.kind for box in boxes}
    patches = [patch(facecolor=COLOURS[kind], label=words) for kind, words in NAMES.items() if kind in found]
    if any(box.copy for box in boxes):
        patches.append(patch(facecolor="white", edgecolor="#505050", hatch="////", label="in tiles"))
    axes.legend(handles=patches, loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False)
    made.suptitle(clean(headline(report)), fontsize=10)
    return made


def _draw(axes: Any, box: Box, scale: float, cycles: int, top: int, share: int) -> None:
    width = (box.last - box.first) * scale
    axes.add_patch(
        _rectangle(
            (box.first * scale, box.address / share),
            width,
            box.bytes / share,
            facecolor=COLOURS[box.kind],
            edgecolor="white" if not box.copy else "#505050",
            linewidth=0.6,
            hatch="////" if box.copy else None,
            alpha=0.9,
        )
    )
    letters = int(125 * (box.last - box.first) / max(cycles, 1))
    name = plain(box.name)
    if len(name) <= letters and box.bytes > top / 28:
        axes.text(
            box.first * scale + width / 2,
            (box.address + box.bytes / 2) / share,
            clean(name),
            ha="center",
            va="center",
            fontsize=7.5,
            bbox={"facecolor": COLOURS[box.kind], "edgecolor": "none", "pad": 1} if box.copy else None,
        )


def _rectangle(*arguments: Any, **options: Any) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle(*arguments, **options)


def residents(report: Report, program: Program) -> Iterator[Box]:
    """Operands that live in the scratchpad, from when they are written to their last use."""
    times = _times(report, program)
    writers: dict[str, list[int]] = {}
    users: dict[str, list[int]] = {}
    for number, section in enumerate(program.sections):
        for name in section.nest.operands:
            users.setdefault(name, []).append(number)
        for write in section.nest.writes:
            writers.setdefault(write.access.operand, []).append(number)
    for operand in program.operands.values():
        numbers = users.get(operand.name)
        if operand.place == "scratchpad" and numbers:
            made = writers.get(operand.name, numbers)
            first, last = _life(operand, min(times[n].work for n in made), max(times[n].end for n in numbers))
            last = report.cycles if last is None else last
            yield Box(first, last, operand.offset, operand.bytes, operand.name, operand.kind, False)


def _life(operand: Operand, first: int, last: int) -> tuple[int, int | None]:
    """Inputs are there before, outputs afterwards, constants always."""
    starts = 0 if operand.kind in ("input", "constant") else first
    return starts, None if operand.kind in ("output", "constant") else last


def images(report: Report, program: Program) -> Iterator[Box]:
    """Boxes that are loaded, stored or added up, while their section is at work."""
    times = _times(report, program)
    for section, time in zip(program.sections, times, strict=True):
        for name, image, kind, loaded in _images(program, section):
            first, count = time.start if loaded else time.work, image.bytes * image.copies
            yield Box(first, time.end, image.address, count, name, kind, True)


def _images(program: Program, section: Section) -> Iterator[tuple[str, Image, str, bool]]:
    """Operand, image, kind, and whether the image is filled before the work begins."""
    seen: set[tuple[str, int]] = set()
    count = len(section.nest.reads)
    for number, (access, image) in enumerate(zip(section.nest.accesses, section.images, strict=True)):
        if image is not None and (access.operand, image.address) not in seen:
            seen.add((access.operand, image.address))
            yield access.operand, image, program.operands[access.operand].kind, number < count
    if section.accumulator is not None:
        yield "sums", section.accumulator, "sums", False


@dataclass(frozen=True, slots=True)
class Time:
    """When the first command of a section starts, when its work does, and when all is done."""

    start: int
    work: int
    end: int


def _times(report: Report, program: Program) -> list[Time]:
    """When each section is at work."""
    by_section: dict[int, OperatorReport] = {}
    for operator in report.operators:
        for number in operator.sections:
            by_section.setdefault(number, operator)
    if report.runs > 1 or by_section.keys() != set(range(len(program.sections))):
        raise ReportError(
            f"{report.program}: this report is not of this program alone: "
            f"it is the sum of {report.runs} programs, with {len(by_section)} sections"
        )
    spans: dict[int, list[Span]] = {}
    for span in report.timeline:
        spans.setdefault(span.section, []).append(span)
    return [_time(by_section[number], spans.get(number, [])) for number in range(len(program.sections))]


def _time(operator: OperatorReport, spans: list[Span]) -> Time:
    """The time of a section by its spans or, if it has none, that of its operator."""
    if not spans:
        return Time(operator.start, operator.start, operator.end)
    start = min(span.first for span in spans)
    work = min((span.first for span in spans if span.kind == "compute"), default=start)
    return Time(start, work, max(span.end for span in spans))
