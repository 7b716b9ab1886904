"""Linking: a program and its compiled kernels as one array of numbers that the driver walks."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from math import prod
from typing import TypeVar

import numpy as np

from tiling.expr import BYTES
from tiling.forms import unnamed
from tiling.nest import Access, Affine, Nest, dense_strides
from tiling.program import Image, Program, Section
from tiling.records import dataclass, replace
from tosajit.errors import CompileError
from tosajit.kernels import layout as at
from tosajit.kernels.emit import Emitted, emit, strided
from tosajit.kernels.layout import Layout
from tosajit.kernels.objects import compile_kernels, placed
from tosajit.kernels.phase import Strided
from tosajit.kernels.runnable import Image64
from tosajit.kernels.showing import Progress
from tosajit.kernels.workspace import driver_text

ALIGNMENT = 64


def emit_section(section: Section, number: int | None = None) -> Emitted:
    """The kernel of a section, for the layouts that its operands have there; with a number, a checked one."""
    axes = len(section.nest.axes)
    views = [
        strided(access, dense_strides(access.shape), axes) if image is None else _boxed(access, image, axes)
        for access, image in zip(section.nest.accesses, section.images, strict=True)
    ]
    return emit(section.nest, views, section.splits_reduction, number)


def _boxed(access: Access, image: Image, axes: int) -> Strided:
    """The access in its box."""
    near = dense_strides(image.shape)
    if not image.steps:
        return strided(access, near, axes)
    index = tuple(
        Affine(tuple(c // step for c in i.coefficients)) if isinstance(i, Affine) else i
        for i, step in zip(access.index, image.steps, strict=True)
    )
    return replace(strided(replace(access, index=index), near, axes), access=access)


@dataclass(frozen=True, slots=True)
class Word:
    """A word of an array kernel's arguments that depends on the tile: `constant + sum(args[i] * factor)`."""

    slot: int
    constant: int
    terms: tuple[tuple[int, int], ...]

    def numbers(self) -> list[int]:
        """The driver's form of it."""
        first, second = (*self.terms, (0, 0), (0, 0))[:2]
        return [self.slot, self.constant, *first, *second]


@dataclass(frozen=True, slots=True)
class Unit:
    """How an array kernel does a section: its text, its words, which of them depend on the tile."""

    name: str
    """What it does, such as `convolution i8 × i8`."""
    source: str
    helpers: Mapping[int, str]
    """Texts of kernels whose addresses are words, by slot."""
    words: tuple[int, ...]
    derived: tuple[Word, ...]
    scratch_bytes: int


Code = Emitted | Unit
"""What does a section: a kernel of its own, or an array kernel."""
Made = TypeVar("Made")


def emit_program(program: Program, units: Mapping[Nest, Unit], checked: bool = False) -> tuple[Code, ...]:
    """What does each section: an array kernel if there is a unit, else a kernel that is written here."""
    emitted = once_for_alike(emit_section)
    return tuple(
        units.get(section.nest) or (emit_section(section, number) if checked else emitted(section))
        for number, section in enumerate(program.sections)
    )


def once_for_alike(make: Callable[[Section], Made]) -> Callable[[Section], Made]:
    """Make the same of sections, but once for those that differ in names alone, as the steps of a loop do."""
    known: dict[Hashable, Made] = {}

    def made(section: Section) -> Made:
        key = unnamed(section.nest), section.loops, section.images
        if key not in known:
            known[key] = make(section)
        return known[key]

    return made


def link(
    program: Program, slots: Mapping[str, int], codes: Sequence[Code], progress: Progress | bool | None = None
) -> Image64:
    """Compile what is missing and put all together; `slots` gives each operand's table entry."""
    driver = driver_text()
    sources = list(dict.fromkeys([driver, *(text for code in codes for text in sources_of(code))]))
    kernels = dict(zip(sources, compile_kernels(sources, progress), strict=True))
    numbers: list[int] = [0] * len(program.sections)
    calls: list[tuple[int, str]] = []
    own_bytes = lasting = 0
    for position, (section, code) in enumerate(zip(program.sections, codes, strict=True)):
        start = numbers[position] = len(numbers)
        record = _record(section, code, start, slots, program.scratch_bytes)
        record[at.PASSED] = int(_is_passed(section, program))
        if _lasts(record):
            record[at.LASTING] = lasting
            lasting += 8 * (1 + record[at.ARGUMENTS])
        numbers += record
        calls += [(place, kernels[text].digest) for place, text in _calls(section, code, start, numbers)]
        own_bytes = max(own_bytes, code.scratch_bytes if isinstance(code, Unit) else _row_bytes(section))
    scratch = -(-program.scratch_bytes // ALIGNMENT) * ALIGNMENT
    size = at.OWN_BYTES + scratch + own_bytes + ALIGNMENT
    checks = tuple(() if isinstance(code, Unit) else code.checks for code in codes)
    digests = tuple(kernels[code.source].digest for code in codes)
    array = placed(np.array(numbers or [0], np.int64), calls)
    sections = len(program.sections)
    return Image64(array, sections, size, checks, digests, tuple(calls), kernels[driver].digest, lasting)


def _lasts(record: Sequence[int]) -> bool:
    """Whether the arguments of a section's kernel stay as they are: it has one tile, and nothing is moved."""
    return record[at.KEPT_TILES] == record[at.REDUCED_TILES] == 1 and record[at.TRANSFERS] == 0


def _is_passed(section: Section, program: Program) -> bool:
    """Whether there are arrays of a call among a section's operands."""
    operands = (program.operands[access.operand] for access in section.nest.accesses)
    return any(operand.kind in ("input", "output") for operand in operands)


def _calls(section: Section, code: Code, start: int, numbers: Sequence[int]) -> Iterator[tuple[int, str]]:
    """Where the record of a section has addresses of kernels, and the texts of these."""
    yield start + at.KERNEL, code.source
    if isinstance(code, Unit):
        payload = numbers[start + at.TEMPLATE] + _layout(section.nest).payload
        yield from ((payload + slot, text) for slot, text in code.helpers.items())


def sources_of(code: Code) -> list[str]:
    """The texts of all kernels that a section calls, its own first."""
    return [code.source, *code.helpers.values()] if isinstance(code, Unit) else [code.source]


def operands_of(section: Section, code: Code) -> set[str]:
    """The operands that a section's kernel is told the places of; an array kernel knows others as packed."""
    nest = section.nest
    if isinstance(code, Emitted) or not nest.prepared:
        return set(nest.operands)
    base = _layout(nest).base
    told = {place - base for word in code.derived for place, _ in word.terms}
    return {access.operand for number, access in enumerate(nest.accesses) if number in told}


def _row_bytes(section: Section) -> int:
    """Accumulators of one row, for sections that have none in the scratchpad."""
    reduction = section.nest.reduction
    if reduction is None or section.accumulator is not None:
        return 0
    outer = section.nest.outer
    return (section.nest.axes[outer - 1].extent if outer else 1) * BYTES[reduction.type]


def _record(
    section: Section,
    code: Code,
    start: int,
    slots: Mapping[str, int],
    scratch_bytes: int,
) -> list[int]:
    nest = section.nest
    axes, accesses = len(nest.axes), nest.accesses
    layout = _layout(nest)
    payload, derived, job = _payload(code, layout)
    arguments = _template(nest, layout, payload)
    loops = [(loop, nest.axes[loop.axis]) for loop in section.loops]
    kept = [row for row in loops if not row[1].reduced]
    reduced = [row for row in loops if row[1].reduced]
    transfers = _transfers(section, slots)
    tables = {
        at.PLACES: [number for pair in _places(section, slots) for number in pair],
        at.LOOPS: [
            n for loop, axis in (*kept, *reduced) for n in (loop.axis, axis.extent, loop.step, loop.count)
        ],
        at.IMAGES: [number for row in transfers for number in row],
        at.WORDS: [number for row in derived for number in row],
        at.TEMPLATE: arguments,
    }
    record = [0] * at.SECTION
    record[at.AXES], record[at.ACCESSES] = axes, len(accesses)
    record[at.KEPT_LOOPS], record[at.REDUCED_LOOPS] = len(kept), len(reduced)
    record[at.KEPT_TILES] = prod(loop.count for loop, _ in kept)
    record[at.REDUCED_TILES] = prod(loop.count for loop, _ in reduced)
    record[at.ARGUMENTS], record[at.TRANSFERS] = len(arguments), len(transfers)
    record[at.WORD_COUNT], record[at.JOB] = len(derived), job
    record[at.SHARED], record[at.LASTING] = int(section.shared), -1
    own = section.accumulator
    record[at.ACCUMULATORS] = own.address if own is not None else -(-scratch_bytes // ALIGNMENT) * ALIGNMENT
    for field, table in tables.items():
        record[field] = start + len(record)
        record += table
    return record


def _layout(nest: Nest) -> Layout:
    return Layout(len(nest.axes), len(nest.accesses))


def _template(nest: Nest, layout: Layout, payload: Sequence[int]) -> list[int]:
    """The argument array of a kernel, as far as it is the same for all tiles."""
    arguments = [0] * layout.payload + list(payload)
    arguments[layout.first : layout.base] = [0] * layout.axes + list(nest.extents)
    if 8 * len(arguments) > at.ARGUMENT_BYTES:
        names, room = ", ".join(dict.fromkeys(nest.members)), at.ARGUMENT_BYTES // 8
        text = f"its kernel takes {len(arguments)} numbers, but there is room for {room}"
        raise CompileError(f"{names}: {text}")
    return arguments


def _places(section: Section, slots: Mapping[str, int]) -> list[tuple[int, int]]:
    """Table entry and offset of the operands that are used where they are; -1 for those in the scratchpad."""
    return [
        (slots[access.operand], _start(access, access.strides) * BYTES[access.type])
        if image is None
        else (-1, 0)
        for access, image in zip(section.nest.accesses, section.images, strict=True)
    ]


def _payload(code: Code, layout: Layout) -> tuple[list[int], list[list[int]], int]:
    """The words of a kernel behind the header, those to derive for each tile, and where the kernel looks."""
    if isinstance(code, Emitted):
        return list(code.payload), [], 0
    return list(code.words), [word.numbers() for word in code.derived], layout.payload


def _transfers(section: Section, slots: Mapping[str, int]) -> list[list[int]]:
    rows = []
    reads = len(section.nest.reads)
    for number, (access, image) in enumerate(zip(section.nest.accesses, section.images, strict=True)):
        if image is not None:
            rows.append(_transfer(section, number, access, image, number >= reads, slots[access.operand]))
    return rows


def _transfer(
    section: Section, number: int, access: Access, image: Image, store: bool, slot: int
) -> list[int]:
    """A record of the driver: what to copy, and how its box follows from the tile's."""
    size, axes = BYTES[access.type], len(section.nest.axes)
    strides = dense_strides(image.shape)
    row = [0] * at.TRANSFER
    row[at.ACCESS], row[at.STORE], row[at.ADDRESS], row[at.SIZE] = number, int(store), image.address, size
    row[at.RANK], row[at.OPERAND] = len(access.shape), slot
    row[at.COPIES], row[at.PITCH] = image.copies, image.pitch
    row[at.PERIOD] = prod(loop.count for loop in section.loops[image.level :])
    steps = image.steps or (1,) * len(access.shape)
    for index, extent, large, small, step in zip(
        access.index, access.shape, access.strides, strides, steps, strict=True
    ):
        affine = index if isinstance(index, Affine) else None
        coefficients = affine.coefficients if affine else (0,) * axes
        reach = 0 if affine else extent - 1
        offset = affine.offset if affine else 0
        row += [extent, large * size, small * size, offset, reach, step, *coefficients]
    return row


def _start(access: Access, strides: Sequence[int]) -> int:
    """The element at the origin of the axes, for an operand that is laid out by `strides`."""
    pairs = zip(access.index, strides, strict=True)
    return sum(index.offset * stride for index, stride in pairs if isinstance(index, Affine))
