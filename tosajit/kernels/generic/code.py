"""The program of a nest as words of the generic kernel: walks, places, records of steps, and registers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from tiling.nest import Nest
from tiling.program import Program, Section
from tiling.records import dataclass
from tiling.text import members_text
from tosajit.kernels import layout
from tosajit.kernels.emit import Emitted
from tosajit.kernels.generic import words as at
from tosajit.kernels.generic.program import (
    Function,
    Lists,
    Operand,
    Register,
    UnsuitedError,
    instructions,
)
from tosajit.kernels.generic.steps import libraries, library, step_of
from tosajit.kernels.layout import Layout
from tosajit.kernels.link import Code, Unit, once_for_alike, sources_of
from tosajit.kernels.objects import is_there
from tosajit.log import LOG

LANES = 256
"""Elements of a full vector: then a dozen registers stay in the nearest cache."""
WIDTHS = {"bool": 1, "i32": 4, "f32": 4, "i64": 8}
ALIGNMENT = 64


NAME = "generic"
"""What does a section that the generic kernel runs."""


@dataclass(frozen=True, slots=True)
class Walk:
    """Neighbouring axes that are walked as one: the first, the last, and points to each of the first one."""

    first: int
    last: int
    factor: int


ONE_POINT = Walk(-1, -1, 1)


@cache
def walker() -> str:
    """The text of the generic kernel."""
    return Path(__file__).with_name("walker.py").read_text(encoding="utf-8")


def texts() -> tuple[str, ...]:
    """The texts that have to be compiled before the generic kernel can run any nest."""
    return walker(), *map(library, libraries())


def everywhere(program: Program, codes: Sequence[Code]) -> tuple[Code, ...]:
    """What does each section, with the generic kernel wherever it can for a kernel of the section's own."""
    pairs, made = zip(program.sections, codes, strict=True), once_for_alike(_generic)
    return tuple((made(section) if isinstance(code, Emitted) else None) or code for section, code in pairs)


def meanwhile(program: Program, codes: Sequence[Code]) -> tuple[Code, ...]:
    """What does each section at once: the generic kernel in place of one that would have to be compiled."""
    there, made = cache(is_there), once_for_alike(_generic)
    chosen: list[Code] = []
    for section, code in zip(program.sections, codes, strict=True):
        unit = made(section) if isinstance(code, Emitted) and not there(code.source) else None
        chosen.append(unit if unit and all(map(there, sources_of(unit))) else code)
    return tuple(chosen)


def _generic(section: Section) -> Unit | None:
    """How the generic kernel does a section, if it can."""
    try:
        return generic(section)
    except UnsuitedError as error:
        LOG.debug("%s: not by the generic kernel, %s", members_text(section.nest.members), error)
        return None


def generic(section: Section) -> Unit:
    """How the generic kernel runs a section; raises `UnsuitedError` if it cannot."""
    lists, nest = instructions(section), section.nest
    functions = list(dict.fromkeys(one for one in _operands(lists) if isinstance(one, Function)))
    kept, reduced = _walks(section, functions)
    walks = (*kept, *reduced)
    table = at.WORDS + at.WALK * len(walks) + (at.PLACE + len(walks)) * len(functions)
    frame, end = _registers(lists, 8 * (at.FRAME_PLACES + len(functions)))
    words = [len(nest.axes), len(nest.accesses), len(walks), len(kept), LANES, len(functions), at.WORDS]
    records, helpers = list[int](), dict[int, str]()
    for part in (at.ONCE, at.BEFORE, at.EACH, at.AFTER):
        words.append(table + len(records))
        for step in lists[part]:
            text, number = step_of(step.name, *step.kinds)
            helpers[table + len(records) + at.LIBRARY] = text
            given = [word for one in step.operands for word in _words(one, frame, functions, kept)]
            records += [at.RESULT + len(given), 0, number, 0, *given]
    words.append(table + len(records))
    words += [word for one in walks for word in (one.first, one.factor)]
    words += [word for one in functions for word in _place(one, walks)]
    _check(nest, walks, len(words) + len(records))
    return Unit(NAME, walker(), helpers, (*words, *records), (), end)


def _check(nest: Nest, walks: Sequence[Walk], size: int) -> None:
    room = layout.ARGUMENT_BYTES // 8 - Layout(len(nest.axes), len(nest.accesses)).payload
    if size > room or len(walks) > at.MOST_WALKS:
        raise UnsuitedError(f"its program takes {size} words and {len(walks)} walks")


def _operands(lists: Lists) -> Iterator[Operand]:
    for steps in lists.values():
        for step in steps:
            yield from step.operands


def _words(
    operand: Operand, frame: dict[Register, int], functions: Sequence[Function], kept: Sequence[Walk]
) -> tuple[int, ...]:
    """An operand in the record of a step."""
    match operand:
        case Register():
            return (frame[operand],)
        case Function(coefficients=steps, unit=unit):
            far, near = (steps[walk.last] if walk.last >= 0 else 0 for walk in kept[-2:])
            return at.FRAME_PLACES + functions.index(operand), near, far * unit
    return (operand,)


def _place(function: Function, walks: Sequence[Walk]) -> Iterator[int]:
    yield from (function.base, function.constant)
    for walk in walks:
        yield function.coefficients[walk.last] * function.unit if walk.last >= 0 else 0


def _walks(section: Section, functions: Sequence[Function]) -> tuple[list[Walk], list[Walk]]:
    """The kept axes and the reduced ones, as few as possible; there are rows and columns at least."""
    nest, cut = section.nest, {loop.axis for loop in section.loops}
    halves = range(nest.outer), range(nest.outer, len(nest.axes))
    kept, reduced = (_merged(nest, axes, cut, functions) for axes in halves)
    return [ONE_POINT] * (2 - len(kept)) + kept, reduced


def _merged(nest: Nest, axes: range, cut: set[int], functions: Sequence[Function]) -> list[Walk]:
    found: list[Walk] = []
    for axis in axes:
        extent = nest.axes[axis].extent
        if extent == 1:
            continue
        before = found[-1] if found else ONE_POINT
        if (
            before.last >= 0
            and axis not in cut
            and all(_goes_on(f, before.last, axis, extent) for f in functions)
        ):
            found[-1] = Walk(before.first, axis, before.factor * extent)
        else:
            found.append(Walk(axis, axis, 1))
    return found


def _goes_on(function: Function, outer: int, inner: int, extent: int) -> bool:
    """Whether the outer axis goes on where the inner one ends."""
    return function.coefficients[outer] == function.coefficients[inner] * extent


def _registers(lists: Lists, head: int) -> tuple[dict[Register, int], int]:
    """Where each register is in the frame, and the size of that; those no longer needed are used again."""
    steps = [step for steps in lists.values() for step in steps]
    last, frame = _last_uses(lists), dict[Register, int]()
    free: dict[int, list[int]] = {1: [], 4: [], 8: []}
    end = -(-head // ALIGNMENT) * ALIGNMENT
    for number, step in enumerate(steps):
        registers = [one for one in step.operands if isinstance(one, Register)]
        for one in dict.fromkeys(registers):
            if one in frame and last[one] == number:
                free[WIDTHS[one.kind]].append(frame[one])
        new = registers[0] if step.writes and registers[0] not in frame else None
        if new is not None:
            width = WIDTHS[new.kind]
            if not free[width]:
                free[width].append(end)
                end += width * LANES
            frame[new] = free[width].pop()
    return frame, end


def _last_uses(lists: Lists) -> dict[Register, int]:
    """The number of the last step that uses each register; those of another list need it to the end."""
    steps = [(part, step) for part, steps in lists.items() for step in steps]
    home, last = dict[Register, int](), dict[Register, int]()
    for number, (part, step) in enumerate(steps):
        for one in step.operands:
            if isinstance(one, Register):
                last[one] = number if home.setdefault(one, part) == part else len(steps)
    return last
