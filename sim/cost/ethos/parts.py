"""The arrays of the Ethos-U family: microblocks, buffers and rates, and what an operation asks of them.

Figures are those that Arm's compiler Vela 5.2.0 has for these parts (`ethos_u55.cpp`, `ethos_u65.cpp`,
`ethos_u85.cpp` and `ethos_u85_performance.cpp` of its `regor` back end).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple

BEAT = 16
"""Bytes of a beat."""
PLACES = {"weights": 2, "maps": 4, "scales": 5}
"""Of streams among the beats under way."""
Op = Literal["convolution", "depthwise", "pool", "sum"]
"""Products over channels, or in each; a window of each channel; a sum over channels."""


class Shape(NamedTuple):
    """Rows, columns and channels."""

    height: int
    width: int
    depth: int

    # Written out for each dimension, as searches do all of this some thousand times.

    @property
    def elements(self) -> int:
        """How many elements it has."""
        return self.height * self.width * self.depth

    @property
    def area(self) -> int:
        """Rows × columns."""
        return self.height * self.width

    def within(self, other: Shape) -> Shape:
        """What of it fits into another shape."""
        (high, wide, deep), (most_high, most_wide, most_deep) = self, other
        return Shape(
            high if high < most_high else most_high,
            wide if wide < most_wide else most_wide,
            deep if deep < most_deep else most_deep,
        )

    def over(self, part: Shape) -> Shape:
        """How many parts it takes along each dimension."""
        (high, wide, deep), (down, across, inward) = self, part
        return Shape(-(-high // down), -(-wide // across), -(-deep // inward))

    def rounded(self, granule: Shape) -> Shape:
        """The next multiple of a granule in each dimension."""
        (high, wide, deep), (down, across, inward) = self, granule
        return Shape(-(-high // down) * down, -(-wide // across) * across, -(-deep // inward) * inward)


class Layer(NamedTuple):
    """One pass of the array over a feature map."""

    op: Op
    output: Shape
    input: Shape
    kernel: tuple[int, int] = (1, 1)
    stride: tuple[int, int] = (1, 1)
    dilation: tuple[int, int] = (1, 1)
    bits: int = 8
    """Of an element of the feature map."""
    output_bits: int = 8
    wide: bool = False
    """Whether sums need more than 32 bits."""
    table: bool = False
    """Whether results go through a table."""
    dynamic: bool = False
    """Whether the other factor is computed at run time."""
    maximum: bool = False
    pruned: bool = False
    """Whether two of each four weights along channels are zeros."""

    @property
    def sparse(self) -> bool:
        """Whether the U85 skips two of each four weights: zeros, or those that fill up few channels."""
        return self.op == "convolution" and not self.dynamic and (self.pruned or self.input.depth <= 2)

    @property
    def spread(self) -> tuple[int, int]:
        """Rows and columns that the kernel covers."""
        (high, wide), (down, right) = self.kernel, self.dilation
        return (high - 1) * down + 1, (wide - 1) * right + 1

    def needed(self, block: Shape, limit: int = 8) -> tuple[int, int]:
        """Rows and columns of the feature map that a block of the result needs at once."""
        high, wide = (min(covered, limit) for covered in self.spread)
        return (block.height - 1) * self.stride[0] + high, (block.width - 1) * self.stride[1] + wide


@dataclass(frozen=True, slots=True)
class Choice:
    """How an array does a layer: the blocks it works in, and in which order."""

    output: Shape
    input: Shape
    microblock: Shape
    part_kernel: bool


@dataclass(frozen=True, slots=True)
class Part55:
    """An Ethos-U55 or U65; bytes and banks are of one core."""

    macs: int
    cores: int
    microblock: Shape
    banks: int
    granules: tuple[int, ...]
    """Banks that buffers come in: maps of 8, 16 and 32 bits; sums of 32 and 40 bits."""
    output_cycles: tuple[float, ...]
    """An element: 32-bit unary, binary; product to 32 bits; other products and 40-bit sums; simple and scaled
    addition; maximum; all else."""
    table_cycles: float


@dataclass(frozen=True, slots=True)
class Part85:
    """An Ethos-U85. `decoders` is its number of weight decoders."""

    macs: int
    decoders: int
    microblocks: tuple[Shape, ...]
    units: tuple[tuple[Shape, Shape, Shape], ...]
    """What the feature map is stored in, in bricks of 128 bits, for each microblock and range of depth."""
    input_bytes: int
    sum_bytes: int
    output_cycles: tuple[float, ...]
    """An element: 8, 16, 32, 64 bits; 32 bits between chained operations; 32-bit binary operations."""
    table_cycles: float
    outstanding: tuple[int, ...]
    """Beats under way: copies, streamed maps, weights, coded otherwise too, maps, scales."""

    def unit(self, depth: int, bits: int, micro: Shape) -> Shape:
        """The unit in which a block of the map is stored, for its depth."""
        size = depth * bits
        unit = self.units[self.microblocks.index(micro)][2 if size > 256 else 1 if size > 128 else 0]
        return Shape(unit.height, unit.width, unit.depth * 128 // bits)


_SMALL = (8, 8, 16, 16, 20)
_PARTS55 = {
    (32, 1): Part55(
        32, 1, Shape(1, 1, 4), 16, (2, 2, 4, 4, 4), (2.0, 3.0, 3.0, 3.0, 4.0, 6.0, 1.0, 2.0), 1.0
    ),
    (64, 1): Part55(
        64, 1, Shape(1, 1, 8), 16, (2, 2, 4, 4, 8), (1.0, 1.5, 1.5, 1.5, 2.0, 3.0, 0.5, 1.0), 1.0
    ),
    (128, 1): Part55(
        128, 1, Shape(1, 2, 8), 24, (4, 4, 8, 8, 12),
        (0.75, 1.25, 0.75, 0.75, 1.0, 1.5, 0.25, 0.5), 1.0,
    ),
    (256, 1): Part55(
        256, 1, Shape(2, 2, 8), 48, _SMALL, (0.625, 1.125, 0.5, 0.375, 0.5, 0.75, 0.125, 0.25), 1.0
    ),
    (512, 2): Part55(
        256, 2, Shape(2, 2, 8), 48, _SMALL, (0.3125, 0.5625, 0.25, 0.1875, 0.25, 0.375, 0.0625, 0.125), 0.5
    ),
}  # fmt: skip


def _units(*rows: tuple[int, int, int, int, int, int]) -> tuple[tuple[Shape, Shape, Shape], ...]:
    return tuple((Shape(a, b, 1), Shape(c, d, 2), Shape(e, f, 4)) for a, b, c, d, e, f in rows)


_PARTS85 = {
    128: Part85(
        128, 1, (Shape(1, 2, 8), Shape(1, 1, 16)),
        ((Shape(1, 2, 1), Shape(1, 1, 2), Shape(1, 1, 2)),) * 2,
        8192, 8192, (0.5, 0.5, 0.5, 1.0, 1.0, 1.0), 0.5, (64, 64, 128, 128, 104, 16),
    ),
    256: Part85(
        256, 1, (Shape(1, 2, 16), Shape(1, 4, 8), Shape(2, 2, 8)),
        _units((2, 2, 1, 2, 1, 1), (1, 4, 1, 2, 1, 1), (2, 2, 1, 2, 1, 1)),
        16384, 16384, (0.25, 0.25, 0.25, 0.5, 0.5, 0.5), 0.25, (104, 104, 128, 128, 128, 16),
    ),
    512: Part85(
        512, 2, (Shape(2, 2, 16), Shape(1, 4, 16)),
        _units((2, 2, 1, 2, 1, 1), (1, 4, 1, 2, 1, 1)),
        16384, 32768, (0.125, 0.125, 0.25, 0.5, 0.25, 0.25), 0.125, (128, 128, 256, 256, 128, 16),
    ),
    1024: Part85(
        1024, 4, (Shape(2, 2, 32), Shape(1, 4, 32), Shape(2, 4, 16)),
        _units((2, 4, 2, 2, 1, 2), (2, 4, 1, 4, 1, 2), (2, 4, 2, 2, 1, 2)),
        16384, 65536, (0.0625, 0.125, 0.25, 0.5, 0.125, 0.25), 0.0625,
        (256, 256, 416, 208, 256, 16),
    ),
    2048: Part85(
        2048, 4, (Shape(2, 2, 64), Shape(1, 4, 64), Shape(4, 4, 16)),
        _units((4, 4, 2, 4, 2, 2), (4, 4, 2, 4, 1, 4), (4, 4, 2, 4, 2, 2)),
        32768, 131072, (0.03125, 0.0625, 0.125, 0.25, 0.0625, 0.125), 0.03125,
        (256, 256, 512, 256, 256, 16),
    ),
}  # fmt: skip


def part85(macs: int) -> Part85:
    """The Ethos-U85 of so many products a cycle: the next known size, or the largest."""
    return _PARTS85[min((known for known in _PARTS85 if known >= macs), default=2048)]


@lru_cache
def part(family: str, macs: int, cores: int = 1) -> Part55 | Part85:
    """The array of a family with so many products a cycle: the next known size, or the largest."""
    if family == "u85":
        return part85(macs * cores)
    sizes = sorted(_PARTS55)
    return _PARTS55[next((known for known in sizes if known[0] >= macs * cores), sizes[-1])]


def up(value: int, granule: int) -> int:
    """The next multiple."""
    return -(-value // granule) * granule
