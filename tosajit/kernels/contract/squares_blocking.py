"""How an instruction set does a convolution of float32 by Winograd's F(2 × 2, 3 × 3): where that pays."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate

from tiling.records import dataclass
from tosajit.kernels.contract.blocking import FAR_STEPS, NEAR_BYTES
from tosajit.kernels.contract.geometry import PAGE, Geometry
from tosajit.kernels.contract.slots import SQUARE, WinogradSlot
from tosajit.kernels.contract.spec import LINE
from tosajit.kernels.contract.winograd_blocking import outline
from tosajit.kernels.sets.description import InstructionSet

TAPS = 3
POINT_BYTES, FAR_POINT_BYTES = 448 * 1024, 896 * 1024
"""Transformed rows that should stay in the second-level cache, beside weights that do or do not."""
TILES = 56
"""Tiles whose sums stay near."""
INPUT_STEPS, SUM_STEPS = 40, 60
"""Steps of vectors that take as long as to transform a tile of a register of the input, or of sums."""


@dataclass(frozen=True, slots=True)
class SquareBlocking:
    """Pairs of rows at a time."""

    shape: Geometry
    isa: InstructionSet

    @property
    def pays(self) -> bool:
        """Tell whether a shape can be done so, and in less time."""
        return self.possible and self.steps < self.plain_steps

    @property
    def possible(self) -> bool:
        """Tell whether a shape can be done so."""
        g = self.shape
        plain = g.stride == g.dilation == (1, 1, 1) and g.kernel == (1, TAPS, TAPS)
        flat = g.input[1] == g.output[1] == 1 and g.pad[0] == 0
        whole = g.in_channels % self.isa.lanes == 0
        fits = self._pair_bytes <= FAR_POINT_BYTES
        return g.floating and g.element_bytes == 4 and plain and flat and whole and fits

    @property
    def steps(self) -> int:
        """Return how many steps it takes, of rows times registers of columns."""
        g, parts = self.shape, self.shape.in_channels // self.isa.lanes
        tiles = g.output[0] * self.pairs * self.tiles
        sums = SQUARE**2 * self._products * (tiles + self._far)
        return sums + tiles * (INPUT_STEPS * parts + SUM_STEPS * self._panels)

    @property
    def plain_steps(self) -> int:
        """Return how many it takes with all products."""
        return (self.shape.positions + self._far) * TAPS**2 * self._products

    @property
    def _panels(self) -> int:
        """Return the registers of columns."""
        return self.isa.padded(self.shape.out_channels) // self.isa.lanes

    @property
    def _products(self) -> int:
        """Return the steps of a row, for each point or tap."""
        return self.shape.in_channels * self._panels

    @property
    def _far(self) -> int:
        """Return the rows that take as long as to load weights from memory."""
        return FAR_STEPS * self.isa.register_bytes // LINE if self._weights > NEAR_BYTES else 0

    @property
    def _weights(self) -> int:
        """Return the bytes of transformed weights."""
        return SQUARE**2 * self.shape.in_channels * self.shape.out_channels * 4

    @property
    def tiles(self) -> int:
        """Return how many tiles cover a pair of rows of the output."""
        return -(-self.shape.output[3] // 2)

    @property
    def pairs(self) -> int:
        """Return how many pairs of rows cover an image."""
        return -(-self.shape.output[2] // 2)

    @property
    def row_bytes(self) -> int:
        """Return the bytes from tile to tile of transformed rows: pages would share a few cache sets."""
        size = self.shape.in_channels * 4
        return size + LINE * int(size % PAGE == 0)

    @property
    def _pair_bytes(self) -> int:
        """Return the bytes of the transformed input of a pair of rows."""
        return SQUARE**2 * self.tiles * self.row_bytes

    @property
    def _blank_bytes(self) -> int:
        """Return the bytes that a row of the input spans."""
        return self.shape.input[3] * self.shape.in_elements[3] * 4

    @property
    def lines(self) -> int:
        """Return how many rows of the output are done at a time."""
        limit = FAR_POINT_BYTES if self._weights > NEAR_BYTES else POINT_BYTES
        blocks = -(-self.pairs // max(1, limit // self._pair_bytes))
        return 2 * -(-self.pairs // blocks)

    @property
    def chunk(self) -> int:
        """Return how many rows of the output are summed at a time."""
        return 2 * max(1, min(self.lines // 2, TILES // self.tiles))

    def slots(self) -> Mapping[WinogradSlot, int]:
        """Return the numbers that depend on the shape alone, with the whole output as the box."""
        g, slot = self.shape, WinogradSlot
        rows = {
            slot.WEIGHT_POINT: g.in_channels * self.isa.padded(g.out_channels) * 4,
            slot.LINES: self.lines,
            slot.CHUNK: self.chunk,
            slot.ROW_BYTES: self.row_bytes,
            slot.BLANK_BYTES: self._blank_bytes,
        }
        return {**outline(g), **rows, **self._places()}

    def _places(self) -> Mapping[WinogradSlot, int]:
        """Where parts of the scratch memory are, and how far it is from point to point.

        Planes are an odd number of cache lines apart, so that points of a tile do not share a cache set.
        """
        slot, row, word_row = WinogradSlot, self.row_bytes, 2 * self.isa.register_bytes
        plane, sums = (
            -(-(lines // 2 * self.tiles * size) // LINE) * LINE | LINE
            for lines, size in ((self.lines, row), (self.chunk, word_row))
        )
        sizes = {
            slot.SUMS: SQUARE**2 * plane,
            slot.WORDS: SQUARE**2 * sums,
            slot.BLANK: 4 * self.tiles * word_row,
        }
        places = dict(zip(sizes, accumulate(sizes.values()), strict=True))
        return {slot.POINTS: 0, slot.PLANE: plane, slot.SUM_PLANE: sums, **places}

    @property
    def scratch_bytes(self) -> int:
        """Return the scratch memory that a thread needs."""
        line, end = self.shape.in_channels * 4, self._places()[WinogradSlot.BLANK]
        copied = SQUARE * max(SQUARE, self.shape.output[3] + TAPS - 1)
        return end + self._blank_bytes + copied * line + LINE + self.isa.register_bytes
