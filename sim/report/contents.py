"""The scratchpad over time: which addresses hold what."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sim.report.values import Account, Content, OperatorReport, ReportError
from tiling.program import Image, Operand, Program, Section


def contents(report: Account, program: Program) -> tuple[Content, ...]:
    """All that the scratchpad holds: what is kept there, then tiles that pass through."""
    times = _times(report, program)
    return (*_residents(report, program, times), *_images_of_all(program, times))


def _residents(report: Account, program: Program, times: list[Time]) -> Iterator[Content]:
    """Operands that live in the scratchpad, from when they are written to their last use."""
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
            yield Content(first, last, operand.offset, operand.bytes, operand.name, operand.kind, False)


def _life(operand: Operand, first: int, last: int) -> tuple[int, int | None]:
    """Inputs are there before, outputs afterwards, constants always."""
    starts = 0 if operand.kind in ("input", "constant") else first
    return starts, None if operand.kind in ("output", "constant") else last


def _images_of_all(program: Program, times: list[Time]) -> Iterator[Content]:
    """Boxes that are loaded, stored or added up, while their section is at work."""
    for section, time in zip(program.sections, times, strict=True):
        for name, image, kind, loaded in _images(program, section):
            first, count = time.start if loaded else time.work, image.bytes * image.copies
            yield Content(first, time.end, image.address, count, name, kind, True)


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


def _times(report: Account, program: Program) -> list[Time]:
    """When each section is at work by its spans or, if it has none, when its operator is."""
    by_section: dict[int, OperatorReport] = {}
    for operator in report.operators:
        for number in operator.sections:
            by_section.setdefault(number, operator)
    if report.runs > 1 or by_section.keys() != set(range(len(program.sections))):
        raise ReportError(
            f"{report.program}: this report is not of this program alone: "
            f"it is the sum of {report.runs} programs, with {len(by_section)} sections"
        )
    starts: dict[int, int] = {}
    works: dict[int, int] = {}
    ends: dict[int, int] = {}
    for span in report.timeline:
        number = span.section
        starts[number] = min(span.first, starts.get(number, span.first))
        ends[number] = max(span.end, ends.get(number, 0))
        if span.kind == "compute":
            works[number] = min(span.first, works.get(number, span.first))
    times = []
    for number in range(len(program.sections)):
        operator = by_section[number]
        start = starts.get(number, operator.start)
        times.append(Time(start, works.get(number, start), ends.get(number, operator.end)))
    return times
