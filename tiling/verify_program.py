"""What a well-formed program is: sections that do their nests, and addresses that nothing shares in use."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import pairwise
from math import prod

from tiling.expr import BYTES
from tiling.nest import Access, Affine, Nest
from tiling.program import Image, Program, Section, box_shape, dense_box
from tiling.spread import SpreadProgram, is_pull
from tiling.target import Home
from tiling.verify import name_of, verify_nests

Span = tuple[int, int, str]
"""The first address and the end of something, and what it is."""


def verify_program(
    program: Program, opaque: Collection[Nest] = (), buffers: Collection[str] = ()
) -> list[str]:
    """The faults of a program: of its nests, of their tiles and boxes, and of its addresses.

    `opaque` nests and `buffers` are those of `verify_nests`; groups in stripes have buffers between them.
    """
    nests = [section.nest for section in program.sections]
    return verify_nests(nests, program.operands, opaque, buffers) or verify_layout(program)


def verify_layout(program: Program) -> list[str]:
    """The faults of a program whose nests are well-formed: of tiles, boxes and addresses."""
    found: list[str] = []
    for section in program.sections:
        where = name_of(section.nest)
        found += [f"{where}: {fault}" for fault in _section_faults(section, program)]
    cores = program.cores if isinstance(program, SpreadProgram) else ()
    return found or [*_address_faults(program), *(fault for core in cores for fault in ahead_faults(core))]


# Sections.


def _section_faults(section: Section, program: Program) -> Iterator[str]:
    nest = section.nest
    loops = list(_loop_faults(section))
    if loops or len(section.images) != len(nest.accesses):
        yield from loops or [f"{len(section.images)} images for {len(nest.accesses)} accesses"]
        return
    for number, (access, image) in enumerate(zip(nest.accesses, section.images, strict=True)):
        if image is not None:
            stored = number >= len(nest.reads)
            faults = (*_box_faults(section, access, image, stored), *_image_faults(image, program))
            yield from (f"the box of {access.operand} {fault}" for fault in faults)
    if section.accumulator is not None:
        yield from (f"the accumulator {fault}" for fault in _image_faults(section.accumulator, program))
    elif program.target.scratch_bytes is not None and section.splits_reduction:
        yield "the reduction is split, but there is no accumulator"


def _loop_faults(section: Section) -> Iterator[str]:
    nest: Nest = section.nest
    axes = [loop.axis for loop in section.loops]
    if len(set(axes)) != len(axes) or not all(0 <= axis < len(nest.axes) for axis in axes):
        yield f"its loops are over the axes {axes} of {len(nest.axes)}"
        return
    reduced = [nest.axes[axis].reduced for axis in axes]
    if reduced != sorted(reduced):
        yield "loops over reduced axes are not the innermost ones"
    for loop in section.loops:
        extent = nest.axes[loop.axis].extent
        if loop.step < 1 or loop.count != -(-extent // loop.step):
            yield f"{loop.count} steps of {loop.step} are not the {extent} of {nest.axes[loop.axis].name}"


def _box_faults(section: Section, access: Access, image: Image, stored: bool) -> Iterator[str]:
    """It holds what a tile touches, stays as long as it is said to, and is filled before it is stored."""
    if len(image.shape) != len(access.shape):
        yield f"has {len(image.shape)} dimensions of {len(access.shape)}"
        return
    needed = box_shape(access, section.tile, image.steps)
    if any(size > extent for size, extent in zip(needed, image.shape, strict=True)):
        yield f"is {list(image.shape)}, but a tile touches {list(needed)}"
    if image.bytes != prod(image.shape) * BYTES[access.type]:
        yield f"has {image.bytes} bytes, but is {list(image.shape)} of {access.type}"
    if not 0 <= image.level <= len(section.loops):
        yield f"is moved by {image.level} of {len(section.loops)} loops"
        return
    inner = {loop.axis for loop in section.loops[image.level :]}
    moving = {a for i in access.index if isinstance(i, Affine) for a, c in enumerate(i.coefficients) if c}
    if inner & moving:
        yield "stays where it is while a loop moves it"
    if stored and not access.indirect and not dense_box(access, section.tile, image.steps):
        yield "is stored, but a tile does not write all of it"


def _image_faults(image: Image, program: Program) -> Iterator[str]:
    if image.address < 0 or image.end > program.scratch_bytes:
        yield f"is at {image.address} to {image.end} of {program.scratch_bytes} bytes"
    if image.address % program.target.alignment:
        yield f"is at {image.address}, which {program.target.alignment} does not divide"
    if image.copies < 1 or (image.copies > 1 and image.pitch < image.bytes):
        yield f"has {image.copies} places of {image.bytes} bytes, {image.pitch} apart"


# Addresses.


def _address_faults(program: Program) -> Iterator[str]:
    capacity = program.target.scratch_bytes
    if program.scratch_bytes > (capacity or 0):
        yield f"the scratchpad has {capacity or 0} bytes, but {program.scratch_bytes} are used"
    room = program.target.level2_bytes
    if program.level2_bytes > room:
        yield f"level 2 has {room} bytes, but {program.level2_bytes} are used"
    lives = _lives(program)
    for section, names in zip(program.sections, _alive(lives, len(program.sections)), strict=True):
        pad: list[Span] = list(_boxes(section))
        spans: dict[Home, list[Span]] = {"scratchpad": pad, "level2": [], "offchip": []}
        for operand in map(program.operands.__getitem__, names):
            taken = operand.stored(operand.bytes) if operand.place == "level2" else operand.bytes
            spans[operand.place].append((operand.offset, operand.offset + taken, operand.name))
        where = name_of(section.nest)
        yield from (f"{where}: {fault}" for fault in _overlaps(pad, program.scratch_bytes, "scratchpad"))
        yield from (
            f"{where}: {fault}" for fault in _overlaps(spans["level2"], program.level2_bytes, "level 2")
        )
        yield from (
            f"{where}: {fault}" for fault in _overlaps(spans["offchip"], program.arena_bytes, "arena")
        )
    for name in lives:
        if program.operands[name].offset % program.target.alignment:
            offset = program.operands[name].offset
            yield f"{name} is at {offset}, which {program.target.alignment} does not divide"


def ahead_faults(program: Program) -> Iterator[str]:
    """Boxes of a core that come ahead lie where nothing else is from then on."""
    alive = list(_alive(_lives(program), len(program.sections)))
    working = [n for n, section in enumerate(program.sections) if not is_pull(section, program)]
    for step, section in enumerate(program.sections):
        for access, image in zip(section.nest.accesses, section.images, strict=True):
            if image is None or not image.ahead:
                continue
            where = f"{name_of(section.nest)}: the box of {access.operand} comes ahead"
            first = step - max(sections for sections, _ in image.ahead)
            if sum(size for _, size in image.ahead) > image.bytes:
                yield f"{where} with more than its {image.bytes} bytes"
            if first not in working:
                yield f"{where} with section {first}, which is none that computes"
                continue
            for number in range(working[max(working.index(first) - 1, 0)], step):
                for low, high, name in _inside(program, number, alive[number]):
                    if low < image.end and image.address < high:
                        yield f"{where}, but {name} is there in section {number}"


def _inside(program: Program, step: int, alive: Collection[str]) -> Iterator[Span]:
    """All that is in the scratchpad at a step."""
    yield from _boxes(program.sections[step])
    for operand in map(program.operands.__getitem__, alive):
        if operand.place == "scratchpad":
            yield operand.offset, operand.offset + operand.bytes, operand.name


def _lives(program: Program) -> dict[str, tuple[int, int]]:
    """The first and the last step that need each operand with an address of the planner's."""
    found: dict[str, tuple[int, int]] = {}
    end = len(program.sections) - 1
    for step, section in enumerate(program.sections):
        for name in section.nest.operands:
            operand = program.operands[name]
            if operand.place != "offchip" or operand.kind == "temporary":
                first = 0 if operand.kind in ("input", "constant") else found.get(name, (step, step))[0]
                found[name] = first, end if operand.kind in ("output", "constant") else step
    return found


def _alive(lives: Mapping[str, tuple[int, int]], steps: int) -> Iterator[list[str]]:
    """The operands that each step needs, or must leave alone."""
    begun: dict[int, list[str]] = {}
    for name, (first, _) in lives.items():
        begun.setdefault(first, []).append(name)
    alive: list[str] = []
    for step in range(steps):
        alive = [name for name in alive if lives[name][1] >= step] + begun.get(step, [])
        yield alive


def _boxes(section: Section) -> Iterator[Span]:
    """What a section has in the scratchpad for itself."""
    for access, image in zip(section.nest.accesses, section.images, strict=True):
        if image is not None:
            yield image.address, image.end, f"the box of {access.operand}"
    if section.accumulator is not None:
        yield section.accumulator.address, section.accumulator.end, "the accumulator"


def _overlaps(spans: list[Span], room: int, place: str) -> Iterator[str]:
    ordered = sorted(span for span in spans if span[1] > span[0])
    for (_, end, one), (first, _, other) in pairwise(ordered):
        if first < end:
            yield f"{one} and {other} overlap in the {place}"
    for first, end, name in ordered:
        if first < 0 or end > room:
            yield f"{name} is at {first} to {end} of {room} bytes of the {place}"
