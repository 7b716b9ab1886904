"""How an instruction set does a convolution by Winograd's F(4, 3): where that pays, and rows at a time."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate
from math import gcd

from tiling.records import dataclass
from tosajit.kernels.contract.geometry import Geometry
from tosajit.kernels.contract.pack import OUTPUTS, POINTS, TAPS
from tosajit.kernels.contract.slots import WinogradSlot
from tosajit.kernels.contract.spec import LINE
from tosajit.kernels.sets.description import InstructionSet

FEWEST = 8
"""Channels of input and output: with fewer, transforms take as long as products."""
POINT_BYTES = 192 * 1024
"""Transformed rows that should stay in the second-level cache."""
TILES = 24
"""Tiles whose sums stay in the first-level cache."""
SQUARE_BYTES = 288 * 1024
"""Transformed rows that should stay in the second-level cache beside weights."""
SQUARES = 56
"""Tiles whose sums stay in it, too."""
FEWEST_OF_SQUARES = 32
"""Channels with which transforms along both axes take less time than the products that they save."""
NEAR_BYTES = 2 * 1024 * 1024
"""Weights that do not come from memory for each image."""
FEWEST_FAR = 12
"""Tiles with which products take longer than to load other weights from there."""


def outline(g: Geometry) -> dict[WinogradSlot, int]:
    """Return what is a shape's alone, however its rows are blocked: the whole output is the box."""
    slot = WinogradSlot
    (_, _, oh, ow), oc = g.output, g.out_channels
    strides = g.out_strides or (oh * ow * oc, oh * ow * oc, ow * oc, oc)
    return {
        slot.M_LO: 0,
        slot.M_HI: g.positions,
        slot.N_LO: 0,
        slot.N_HI: oc,
        slot.CHANNELS: g.in_channels,
        slot.O_H: oh,
        slot.O_W: ow,
        slot.I_H: g.input[2],
        slot.I_W: g.input[3],
        slot.PAD_TOP: g.pad[1],
        slot.PAD_LEFT: g.pad[2],
        slot.IN_N: g.in_elements[0] * g.element_bytes,
        slot.IN_Y: g.in_elements[2] * g.element_bytes,
        slot.IN_X: g.in_elements[3] * g.element_bytes,
        slot.OUT_N: strides[0],
        slot.OUT_Y: strides[2],
        slot.OUT_X: strides[3],
    }


@dataclass(frozen=True, slots=True)
class WinogradBlocking:
    """Rows of tiles at a time."""

    shape: Geometry
    isa: InstructionSet

    @property
    def pays(self) -> bool:
        """Tell whether a shape can be done so, and in less time: products of bytes would be twice as fast."""
        return self.along_x and not self.isa.byte_dots

    @property
    def along_x(self) -> bool:
        """Tell whether transforms along x can be done, and pay where products are of int16 anyway."""
        g = self.shape
        plain = g.stride == g.dilation == (1, 1, 1) and g.kernel[2] == TAPS
        flat = g.kernel[0] == g.input[1] == g.output[1] == 1 and g.pad[0] == 0
        wide = g.in_channels % 2 == 0 and min(g.in_channels, g.out_channels) >= FEWEST
        fits = 2 * OUTPUTS * self.tiles <= 3 * g.output[3] and self._line_bytes * g.kernel[1] <= POINT_BYTES
        return self.isa.byte_width == 2 and g.element_bytes == 1 and plain and flat and wide and fits

    def holds(self, largest: int) -> bool:
        """Tell whether sums that are at most so large are exact: each axis takes three of their bits."""
        return largest << (3 * self.axes) < 1 << 31

    @property
    def axes(self) -> int:
        """Return how many axes have transforms."""
        return 1

    @property
    def tiles(self) -> int:
        """Return how many tiles cover a row of the output."""
        return -(-self.shape.output[3] // OUTPUTS)

    @property
    def _line_bytes(self) -> int:
        """Return the bytes of a transformed row of the input."""
        return POINTS * self.tiles * self.shape.in_channels * 2

    @property
    def lines(self) -> int:
        """Return how many rows of the output share transformed rows."""
        return min(self.shape.output[2], max(1, POINT_BYTES // self._line_bytes - self.shape.kernel[1] + 1))

    @property
    def chunk(self) -> int:
        """Return how many rows of the output are summed at a time: best as many as fill the highest tiles."""
        height = self.isa.heights[-1]
        even = height // gcd(height, self.tiles)
        return max(1, min(even, TILES // self.tiles))

    def slots(self) -> Mapping[WinogradSlot, int]:
        """Return the numbers that depend on the shape alone, with the whole output as the box."""
        g, slot = self.shape, WinogradSlot
        weights = g.kernel[1] * g.in_channels * self.isa.padded(g.out_channels) * 2
        rows = {
            slot.K_H: g.kernel[1],
            slot.WEIGHT_POINT: weights,
            slot.LINES: self.lines,
            slot.CHUNK: self.chunk,
        }
        return {**outline(g), **rows, **self._places()}

    def _places(self) -> Mapping[WinogradSlot, int]:
        """Where parts of the scratch memory are, and how far it is from point to point."""
        g, slot, spare = self.shape, WinogradSlot, 2 * self.isa.register_bytes
        lines = self.lines + g.kernel[1] - 1
        plane = _rounded(lines * self._line_bytes // POINTS + spare)
        row = 2 * self.isa.register_bytes
        sums = self.chunk * self.tiles * row
        sizes = {
            slot.POINTS: _rounded((OUTPUTS * self.tiles + 2) * g.in_channels + spare),
            slot.SUMS: POINTS * plane,
            slot.WORDS: POINTS * sums,
            slot.NARROW: OUTPUTS * self.tiles * row,
            slot.OFFSETS: _rounded(OUTPUTS * self.tiles * 2 * self.isa.lanes + spare),
        }
        ends = accumulate(sizes.values())
        return {slot.PLANE: plane, slot.SUM_PLANE: sums, **dict(zip(sizes, ends, strict=True))}

    @property
    def scratch_bytes(self) -> int:
        """Return the scratch memory that a thread needs."""
        return self._places()[WinogradSlot.OFFSETS] + 8 * self.shape.output[3] + LINE


@dataclass(frozen=True, slots=True)
class SquaresBlocking(WinogradBlocking):
    """Four rows of tiles at a time: both axes have transforms."""

    @property
    def pays(self) -> bool:
        """Tell whether a shape can be done so, and in less time than along x alone."""
        g = self.shape
        wide = min(g.in_channels, g.out_channels) >= FEWEST_OF_SQUARES
        squares = self.tiles * self._squares
        covers = 3 * OUTPUTS**2 * squares <= 4 * g.output[2] * g.output[3]
        near = POINTS**2 * g.in_channels * g.out_channels * 2 <= NEAR_BYTES or squares >= FEWEST_FAR
        return self.along_x and g.kernel[1] == TAPS and wide and covers and near

    @property
    def axes(self) -> int:
        """Return how many axes have transforms."""
        return 2

    @property
    def _squares(self) -> int:
        """Return how many rows of tiles cover an image."""
        return -(-self.shape.output[2] // OUTPUTS)

    @property
    def lines(self) -> int:
        """Return how many rows of the output share transformed rows."""
        blocks = -(-self._squares // max(1, SQUARE_BYTES // (POINTS * self._line_bytes)))
        return OUTPUTS * -(-self._squares // blocks)

    @property
    def chunk(self) -> int:
        """Return how many rows of the output are summed at a time."""
        squares = self.lines // OUTPUTS
        chunks = -(-squares // max(1, SQUARES // self.tiles))
        return OUTPUTS * -(-squares // chunks)

    def slots(self) -> Mapping[WinogradSlot, int]:
        """Return the numbers that depend on the shape alone: rows of A have one segment."""
        g, slot = self.shape, WinogradSlot
        weights = g.in_channels * self.isa.padded(g.out_channels) * 2
        return {**WinogradBlocking.slots(self), slot.K_H: 1, slot.WEIGHT_POINT: weights}

    def _places(self) -> Mapping[WinogradSlot, int]:
        """Planes are an odd number of cache lines apart: points of a tile do not share a cache set."""
        slot, spare, row = WinogradSlot, 2 * self.isa.register_bytes, 2 * self.isa.register_bytes
        pixels = POINTS * (OUTPUTS * self.tiles + 2) * self.shape.in_channels
        plane = _rounded(self.lines // OUTPUTS * self._line_bytes // POINTS + spare) | LINE
        sums = (self.chunk // OUTPUTS * self.tiles * row) | LINE
        sizes = {
            slot.TRANSFORMED: _rounded(pixels + spare),
            slot.POINTS: _rounded(2 * pixels + POINTS * spare),
            slot.SUMS: POINTS**2 * plane,
            slot.WORDS: POINTS**2 * sums,
            slot.NARROW: OUTPUTS * self.tiles * row,
            slot.OFFSETS: _rounded(OUTPUTS * self.tiles * 2 * self.isa.lanes + spare),
        }
        ends = accumulate(sizes.values())
        return {slot.PLANE: plane, slot.SUM_PLANE: sums, **dict(zip(sizes, ends, strict=True))}


def _rounded(size: int) -> int:
    return -(-size // LINE) * LINE
