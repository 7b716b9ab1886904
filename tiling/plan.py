"""Planning: a tile, loops and buffers for every nest, and a place for every temporary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from tiling.allocate import Lifetime, allocate
from tiling.expr import BYTES
from tiling.nest import Access, Affine, Nest
from tiling.program import Image, Loop, Operand, Program, Section, box_bytes, box_shape, dense_box
from tiling.share import shared_loops, work
from tiling.target import Target

WORTH_THREADS = 8
"""How many tiles of work that can be shared are worth the start of a thread."""


@dataclass(frozen=True, slots=True)
class Infeasible:
    """Why a nest does not fit a target: the resource, the demand, the bound, and what would help."""

    members: tuple[str, ...]
    resource: str
    demand: int
    bound: int
    remedy: str

    def __str__(self) -> str:
        names = ", ".join(self.members) or "a group"
        return f"{names}: {self.resource} of {self.demand} bytes needed, {self.bound} there; {self.remedy}"


def plan(nests: Sequence[Nest], operands: Mapping[str, Operand], target: Target) -> Program | Infeasible:
    """The program that runs the nests in order on the target, or why there is none."""
    sections: list[Section] = []
    for nest in nests:
        section = schedule(nest, target)
        if isinstance(section, Infeasible):
            return section
        sections.append(section)
    if sum(work(section.nest) for section in sections if section.shared) < WORTH_THREADS * target.tile_points:
        sections = [replace(section, shared=False) for section in sections]
    placed, arena = place(nests, operands, target.alignment)
    scratch = max((_scratch_end(section) for section in sections), default=0)
    return Program(target, placed, tuple(sections), arena, scratch)


def place(
    nests: Sequence[Nest], operands: Mapping[str, Operand], alignment: int
) -> tuple[dict[str, Operand], int]:
    """Offsets in the arena for the temporaries, by their lifetimes over the nests; and the arena's size."""
    lives: dict[str, Lifetime] = {}
    for step, nest in enumerate(nests):
        for name in nest.operands:
            operand = operands[name]
            if operand.kind == "temporary":
                first = lives[name].first if name in lives else step
                lives[name] = Lifetime(operand.bytes, first, step)
    offsets, arena = allocate(lives, alignment)
    used = {name for nest in nests for name in nest.operands}
    placed = {
        name: Operand(name, o.type, o.elements, o.kind, offsets.get(name, 0))
        for name, o in operands.items()
        if name in used or o.kind in ("input", "output")
    }
    return placed, arena


def fits(nest: Nest, target: Target) -> bool:
    """Whether the target has room for a tile of the nest."""
    return not isinstance(schedule(nest, target), Infeasible)


def schedule(nest: Nest, target: Target) -> Section | Infeasible:
    """Tile one nest for the target."""
    if target.scratch_bytes is None:
        loops, shared = shared_loops(nest, target)
        return Section(nest, loops, (None,) * len(nest.accesses), shared=shared)
    return _fit(nest, target, target.scratch_bytes)


def _fit(nest: Nest, target: Target, capacity: int) -> Section | Infeasible:
    accesses = (*nest.reads, *(write.access for write in nest.writes))
    tile = nest.extents

    def demand(tile: tuple[int, ...]) -> int:
        resident = _resident(accesses, nest, tile, capacity)
        total = sum(
            _aligned(box_bytes(a, tile), target) for a, r in zip(accesses, resident, strict=True) if r
        )
        return total + _accumulator_bytes(nest, tile, target)

    while (needed := demand(tile)) > capacity:
        smaller = [_shrunk(tile, number) for number, steps in enumerate(tile) if steps > 1]
        if not smaller:
            remedy = "a larger scratchpad, or smaller tables and fewer operators in the group"
            return Infeasible(nest.members, "scratchpad", needed, capacity, remedy)
        tile = min(smaller, key=lambda t: (max(demand(t), capacity), -prod(t)))
    return _section(nest, target, accesses, _resident(accesses, nest, tile, capacity), tile)


def _shrunk(tile: tuple[int, ...], number: int) -> tuple[int, ...]:
    return (*tile[:number], -(-tile[number] // 2), *tile[number + 1 :])


def _resident(
    accesses: Sequence[Access], nest: Nest, tile: tuple[int, ...], capacity: int
) -> tuple[bool, ...]:
    """Which operands come into the scratchpad.

    Not those that data index, unless they are small, nor results that a tile leaves gaps in: storing their
    box would overwrite what other tiles wrote.
    """
    count = len(nest.reads)
    return tuple(
        _small(a, tile, capacity) if number < count else dense_box(a, tile)
        for number, a in enumerate(accesses)
    )


def _small(access: Access, tile: tuple[int, ...], capacity: int) -> bool:
    return not access.indirect or 2 * box_bytes(access, (1,) * len(tile)) <= capacity


def _accumulator_bytes(nest: Nest, tile: tuple[int, ...], target: Target) -> int:
    if nest.reduction is None:
        return 0
    return _aligned(prod(tile[: nest.outer]) * BYTES[nest.reduction.type], target)


def _aligned(size: int, target: Target) -> int:
    return -(-size // target.alignment) * target.alignment


def _section(
    nest: Nest, target: Target, accesses: Sequence[Access], resident: Sequence[bool], tile: tuple[int, ...]
) -> Section:
    """Loops in the nest's order and buffers one behind the other."""
    loops = tuple(
        Loop(number, steps, -(-axis.extent // steps))
        for number, (axis, steps) in enumerate(zip(nest.axes, tile, strict=True))
        if steps < axis.extent
    )
    address = 0
    images: list[Image | None] = []
    for access, inside in zip(accesses, resident, strict=True):
        if not inside:
            images.append(None)
            continue
        size = box_bytes(access, tile)
        images.append(Image(address, box_shape(access, tile), size, _level(access, loops)))
        address += _aligned(size, target)
    accumulator = None
    if nest.reduction is not None:
        size = _accumulator_bytes(nest, tile, target)
        accumulator = Image(address, tile[: nest.outer], size, len(loops))
    several = any(not nest.axes[loop.axis].reduced for loop in loops)
    shared = target.cores > 1 and several and not nest.scatters
    return Section(nest, loops, tuple(images), accumulator, shared)


def _level(access: Access, loops: Sequence[Loop]) -> int:
    """How many of the outer loops must stand still for the box to stay."""
    moving = [
        depth + 1
        for depth, loop in enumerate(loops)
        if any(isinstance(i, Affine) and i.coefficients[loop.axis] for i in access.index)
    ]
    return max(moving, default=0)


def _scratch_end(section: Section) -> int:
    images = [image for image in (*section.images, section.accumulator) if image is not None]
    return max((image.address + image.bytes for image in images), default=0)
