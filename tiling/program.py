"""Programs: sections of tile loops with load, compute and store commands over numbered addresses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import IntEnum
from math import gcd, prod
from typing import TYPE_CHECKING, Literal

import numpy as np

from tiling.expr import BYTES
from tiling.nest import Access, Affine, Nest
from tiling.records import dataclass
from tiling.target import Home, Target
from tiling.words import plain

if TYPE_CHECKING:
    from numpy.typing import NDArray

Parcels = tuple[tuple[int, int], ...]
"""Parts of a box that come ahead: how many sections, and bytes."""
OperandKind = Literal["input", "output", "constant", "temporary"]


@dataclass(frozen=True, slots=True)
class Operand:
    """A tensor: its offset is in the memory that it lives in, off-chip, for temporaries, in the arena."""

    name: str
    type: str
    elements: int
    kind: OperandKind
    offset: int = 0
    place: Home = "offchip"
    stored_bytes: int | None = None
    """Bytes that a constant takes in memory and on its way, where it is compressed."""
    remote: bool = False
    """Whether another core has it: this one moves parts of it to itself, in place, and no more."""

    @property
    def bytes(self) -> int:
        """Size in memory."""
        return self.elements * BYTES[self.type]

    def stored(self, size: int) -> int:
        """What so many of its bytes take in memory and on their way: fewer where a constant is compressed."""
        if self.stored_bytes is None or self.kind != "constant" or not self.bytes:
            return size
        return -(-size * self.stored_bytes // self.bytes)


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop over tiles: `count` steps of `step` points along an axis of the nest, the last one cut."""

    axis: int
    step: int
    count: int


@dataclass(frozen=True, slots=True)
class Image:
    """A box of an operand in the scratchpad: its address, its extents, and which loops change it.

    `level` counts the outer loops that move the box; further in, it stays where it is. With `copies`, boxes
    take turns in so many places behind each other, so that the next one can come while this one is used:
    box number n, counted over all tiles of the section, is at `address + n % copies * pitch`. With `steps`,
    the box has only every n-th index of each dimension (`steps` says which n), those that the section meets.
    Of the first box of a constant parts may come `ahead`: each behind the first loads of a section so many
    before its own, and of so many bytes.
    """

    address: int
    shape: tuple[int, ...]
    bytes: int
    level: int
    copies: int = 1
    pitch: int = 0
    steps: tuple[int, ...] = ()
    ahead: Parcels = ()

    @property
    def end(self) -> int:
        """The first address behind all copies."""
        return self.address + (self.copies - 1) * self.pitch + self.bytes


@dataclass(frozen=True, slots=True)
class Section:
    """The tiles of one nest: loops (those of reduced axes innermost) and where each access finds its data."""

    nest: Nest
    loops: tuple[Loop, ...]
    images: tuple[Image | None, ...]
    """By access of the nest; None for operands that are used where they are, in either memory."""
    accumulator: Image | None = None
    """Where results are kept between the tiles of a split reduction; else the unit has its own room."""
    shared: bool = False
    """Whether several cores do its tiles; other sections are left to the first core."""

    @property
    def tiles(self) -> int:
        """How many tiles the loops make."""
        return prod(loop.count for loop in self.loops)

    @property
    def tile(self) -> tuple[int, ...]:
        """Points of a full tile along each axis."""
        steps = {loop.axis: loop.step for loop in self.loops}
        return tuple(steps.get(number, axis.extent) for number, axis in enumerate(self.nest.axes))

    @property
    def splits_reduction(self) -> bool:
        """Whether a result needs several tiles, so that its accumulator stays between them."""
        return any(self.nest.axes[loop.axis].reduced for loop in self.loops)


class Opcode(IntEnum):
    """The kinds of command."""

    LOAD = 1
    COMPUTE = 2
    STORE = 3


COMMAND = np.dtype(
    [("opcode", "u1"), ("section", "i4"), ("access", "i4"), ("level", "i4"), ("operand", "i4"),
     ("address", "i8"), ("bytes", "i8"), ("copies", "i4"), ("pitch", "i8")]
)  # fmt: skip
"""A command: of which section and access, how many loops move its box, which operand (by its place among the
program's), where in the scratchpad, how many bytes a box has, how many places it takes turns in, and how far
these are apart. A compute command has none of the latter."""
LOOP = np.dtype([("section", "i4"), ("axis", "i4"), ("extent", "i8"), ("step", "i8"), ("count", "i8")])


@dataclass(frozen=True)
class Program:
    """What a target runs: operands in memory, sections in order, and how much memory both sides need.

    Operands whose place is the scratchpad are there from the section that writes them to the last that reads
    them; inputs and constants from the beginning, outputs until the end.
    """

    target: Target
    operands: Mapping[str, Operand]
    sections: tuple[Section, ...]
    arena_bytes: int
    scratch_bytes: int
    level2_bytes: int = field(default=0, kw_only=True)

    @property
    def commands(self) -> NDArray[np.void]:
        """The command stream: in each section, for each tile, its loads, its computation, its stores."""
        numbers = {name: number for number, name in enumerate(self.operands)}
        rows: list[tuple[int, ...]] = []
        for number, section in enumerate(self.sections):
            count = len(section.nest.reads)
            body: list[tuple[int, ...]] = []
            for access, (item, image) in enumerate(zip(section.nest.accesses, section.images, strict=True)):
                if image is not None:
                    opcode = Opcode.LOAD if access < count else Opcode.STORE
                    place = (image.address, image.bytes, image.copies, image.pitch)
                    row = (opcode, number, access, image.level, numbers[item.operand], *place)
                    body.append(row)
            loads = [row for row in body if row[0] == Opcode.LOAD]
            stores = [row for row in body if row[0] == Opcode.STORE]
            compute = (Opcode.COMPUTE, number, -1, len(section.loops), -1, 0, 0, 0, 0)
            rows += [*loads, compute, *stores]
        return np.array(rows, COMMAND)

    @property
    def loops(self) -> NDArray[np.void]:
        """The tile loops of all sections, outermost first."""
        rows = [
            (number, loop.axis, section.nest.axes[loop.axis].extent, loop.step, loop.count)
            for number, section in enumerate(self.sections)
            for loop in section.loops
        ]
        return np.array(rows, LOOP)

    def __str__(self) -> str:
        from tiling.text import program_text

        return program_text(self)

    def _repr_html_(self) -> str:
        from tiling.text import program_html

        return program_html(self)

    def __repr__(self) -> str:
        tiles = sum(section.tiles for section in self.sections)
        return (
            f"<Program for {plain(self.target.name)}: {len(self.sections)} groups, {tiles} tiles, "
            f"arena {self.arena_bytes} bytes, scratchpad {self.scratch_bytes} bytes>"
        )


def box_steps(access: Access, extents: tuple[int, ...]) -> tuple[int, ...]:
    """How far the indices that a nest meets are apart along each dimension, at least."""
    return tuple(
        gcd(*(c for c, extent in zip(index.coefficients, extents, strict=True) if extent > 1)) or 1
        if isinstance(index, Affine)
        else 1
        for index in access.index
    )


def box_shape(access: Access, tile: tuple[int, ...], steps: tuple[int, ...] = ()) -> tuple[int, ...]:
    """The largest box of the operand that a tile touches: extents by dimension, counted in `steps`."""
    shape = []
    for index, extent, step in zip(
        access.index, access.shape, steps or (1,) * len(access.shape), strict=True
    ):
        if isinstance(index, Affine):
            reach = 1 + sum(abs(c) * (t - 1) for c, t in zip(index.coefficients, tile, strict=True)) // step
            shape.append(min(-(-extent // step), reach))
        else:
            shape.append(extent)
    return tuple(shape)


def dense_box(access: Access, tile: tuple[int, ...], steps: tuple[int, ...] = ()) -> bool:
    """Whether a tile touches every element of its box."""
    for index, reach in zip(access.index, box_shape(access, tile, steps), strict=True):
        if not isinstance(index, Affine):
            return False
        if prod(t for c, t in zip(index.coefficients, tile, strict=True) if c) != reach:
            return False
    return True


def box_bytes(access: Access, tile: tuple[int, ...], steps: tuple[int, ...] = ()) -> int:
    """Size of the box in the scratchpad."""
    return prod(box_shape(access, tile, steps)) * BYTES[access.type]


def takes_from_others(nest: Nest, operands: Mapping[str, Operand]) -> bool:
    """Whether a nest of a core reads what is another core's."""
    return any(operands[access.operand].remote for access in nest.reads)
