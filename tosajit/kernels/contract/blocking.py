"""How an instruction set works on a shape: how much at a time, and with which numbers kernels are called."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiling.records import dataclass, replace
from tosajit.kernels.contract.geometry import PAGE, DepthwiseGeometry, Geometry
from tosajit.kernels.contract.slots import SIDES, DepthwiseSlot, PixelSlot, RowSlot, Slot
from tosajit.kernels.contract.spec import LINE, MAX_PANEL_ROWS, WORD_BYTES
from tosajit.kernels.sets.description import ALONE, EIGHT, LARGEST, SMALL, InstructionSet, Matrices, Side

FLOAT_BYTES = 4
"""Of the only elements that have so many."""
QUAD = 4
"""Bytes of a row of A that most register tiles take at a time."""
PANEL_BYTES = 192 * 1024
"""A gathered panel should stay in the second-level cache, with the weights that stream past it."""
MATRIX_PANEL_BYTES = 512 * 1024
"""The same on CPUs with matrices, which have two megabytes of it."""
FAR_PANEL_BYTES = 1024 * 1024
"""The same of float32 whose weights do not stay there, if registers have 64 bytes: the cache is as large."""
BLOCK_STEPS = 512
"""Steps of float32 that all tiles of a panel take before the next ones, so that columns stay near."""
LINES_BYTES = 20 * 1024
"""Gathered lines that several lines of the output share should stay in the first-level cache."""
ROW_BLOCK_BYTES = 24 * 1024
"""Interleaved input that should stay in the first-level cache, with sums and weights."""
MATRIX_STEPS, END_STEPS, CALL_STEPS, GATHER_STEPS, LINE_STEPS, FAR_STEPS = 24, 80, 1500, 16, 2, 8
"""What takes as long as so many steps of vectors (a row of A times a register of B): to multiply registers of
rows, to have their sums through memory, to begin and end with registers of rows, to gather a row that
vectors use in place or share, each of its cache lines, and to have a cache line from behind the second-level
cache."""
PAIR_STEPS = 3
"""What a step of vectors takes as long as if it multiplies pairs of bfloat16."""
NEAR_BYTES = 768 * 1024
"""Weights that are still in the second-level cache when the next rows meet them."""


@dataclass(frozen=True, slots=True)
class Blocking:
    """Rows of A at a time."""

    shape: Geometry
    isa: InstructionSet
    rounded: bool = False
    """Whether segments may end in elements that do not count: their weights are 0, and nothing sums A."""

    @property
    def _matrices(self) -> Matrices | None:
        return self.isa.matrices_of(self.shape.kind)

    @property
    def _tiles(self) -> InstructionSet:
        return self.isa.tiles_of("f32") if self.shape.element_bytes == FLOAT_BYTES else self.isa

    @property
    def _block(self) -> int:
        """Rows among which the heights of tiles are evened out."""
        return self._matrices.height if self._matrices else self._tiles.block

    @property
    def direct_bytes(self) -> int:
        """Return the bytes from row to row of A if they are used in place, else 0.

        Registers of rows take long to load if their rows cross cache lines.
        """
        step, depth = self.shape.direct_bytes, self.shape.depth
        whole = self.isa.whole_depth(depth, self.shape.kind) == depth
        return step if whole and not (self._matrices and step % LINE) else 0

    @property
    def is_direct(self) -> bool:
        """Tell whether the rows of A are used in place."""
        return self.direct_bytes > 0

    @property
    def pitch(self) -> int:
        """Return the bytes from row to row of gathered A."""
        size = self.shape.element_bytes
        return self.isa.whole_depth(self.shape.pitch // size, self.shape.kind) * size

    @property
    def segments(self) -> int:
        """Return the segments of a row of A if rows overlap in the gathered input, else 0."""
        width, run_bytes = self.shape.output[3], self._run * self.shape.element_bytes
        dense = self.shape.in_elements[3] == self.shape.in_channels
        many = self.shape.runs[0] > 1 and self.shape.kind == "i16"  # sums go to quad words for each
        if self._matrices:
            step = self.shape.stride[2] * self.shape.in_channels * self.shape.element_bytes
            whole = run_bytes % LINE == step % LINE == 0
        else:
            whole = (self.rounded and self.shape.runs[0] == 1) or run_bytes % self._taken == 0
        joined = dense and whole and not many and self.shape.kernel != (1, 1, 1)
        covers = (self._matrices.rows,) if self._matrices else self._tiles.covers
        tiled = min(-(-width // height) * height for height in covers)
        if (
            self.is_direct
            or not joined
            or width < 6
            or tiled > width * 1.15
            or self.shape.stride[2] > self.shape.runs[1]
            or self._apart_steps < self._shared_steps(tiled)
        ):
            return 0
        return self.shape.kernel[0] * self.shape.kernel[1] * self.shape.runs[0]

    @property
    def _row_steps(self) -> int:
        """Return the steps of a row: registers of columns times fours of bytes."""
        columns = self.isa.padded(self.shape.out_channels) // self.isa.lanes
        return -(-self.shape.depth * self.shape.element_bytes * self._widths // QUAD) * columns

    @property
    def _weight_steps(self) -> int:
        """Return what it takes as many steps as to have all weights once more, if they leave the caches."""
        weights = self.shape.depth * self.shape.out_channels * self.shape.element_bytes * self._widths
        return FAR_STEPS * weights // LINE if weights > NEAR_BYTES else 0

    def _shared_steps(self, tiled: int) -> int:
        """Return the steps of output rows that share their input, made up to a width of whole tiles."""
        lines = self.shape.positions // self.shape.output[3]
        return lines * (tiled * self._row_steps + self._weight_steps)

    @property
    def _apart_steps(self) -> int:
        """Return the steps of rows of A that are gathered one by one, with gathering them."""
        gathering = GATHER_STEPS + LINE_STEPS * self._widths * -(-self.pitch // LINE)
        panels = -(-self.shape.positions // self._apart_rows)
        return self.shape.positions * (self._row_steps + gathering) + panels * self._weight_steps

    @property
    def _taken(self) -> int:
        """Return the bytes of a row of A that a register tile takes at a time."""
        return EIGHT if self.isa.eights_of(self.shape.kind) else QUAD // self._widths

    @property
    def _run(self) -> int:
        return self.shape.runs[1] * self.shape.in_channels

    @property
    def depth(self) -> int:
        """Return the elements of a row of A with those that do not count."""
        if not self.rounded:
            return self.shape.depth
        return self.segments * self.segment_depth or self.shape.depth

    @property
    def segment_depth(self) -> int:
        """Return the elements of a segment with those that do not count."""
        return -(-self._run // self._taken) * self._taken if self.rounded else self._run

    def _segment_bytes(self, rows: int) -> int:
        exact = (
            ((rows - 1) * self.shape.stride[2] + self.shape.runs[1])
            * self.shape.in_channels
            * self.shape.element_bytes
        )
        return -(-exact // self.isa.register_bytes) * self.isa.register_bytes

    @property
    def _limit(self) -> int:
        """Return the bytes of a panel: many where each panel has all weights come from afar once more."""
        if self._matrices:
            return MATRIX_PANEL_BYTES
        far = self._weight_steps > 0 and self.shape.element_bytes == FLOAT_BYTES
        return FAR_PANEL_BYTES * self.isa.register_bytes // LINE if far else PANEL_BYTES

    @property
    def panel_rows(self) -> int:
        """Return how many rows of A to work on at a time."""
        block = self._block
        if self.segments:
            rows = min(self.shape.output[3], MAX_PANEL_ROWS)
            while rows > 2 * block and self.segments * self._segment_bytes(rows) * self._widths > self._limit:
                rows -= block
            return rows
        return self._apart_rows

    @property
    def lines(self) -> int:
        """Return how many lines of the output share gathered lines of the input; 1 if none do."""
        stride, kernel, width = self.shape.stride[1], self.shape.kernel, self.shape.output[3]
        follow = kernel[0] == self.shape.dilation[1] == self.shape.runs[0] == 1 and stride < kernel[1]
        if not self.segments or not follow or self._widths > 1 or self.panel_rows < width:
            return 1
        fitting = LINES_BYTES // self._segment_bytes(width)
        return max(1, min((fitting - kernel[1]) // stride + 1, self.shape.output[2]))

    @property
    def _gathered_lines(self) -> int:
        """Return the segments of input that there are at a time."""
        return self.segments + (self.lines - 1) * self.shape.stride[1]

    @property
    def _apart_rows(self) -> int:
        """Return how many rows to gather one by one at a time."""
        block = self._block
        fitting = max(block, self._limit // max(self.pitch * self._widths, 1))
        panels = max(1, round(self.shape.positions / fitting))
        even = -(-self.shape.positions // panels)
        return min(-(-even // block) * block, MAX_PANEL_ROWS)

    @property
    def _panel_bytes(self) -> int:
        if self.segments:
            return self._gathered_lines * self._segment_bytes(self.panel_rows)
        return self.panel_rows * self.pitch

    @property
    def _table_bytes(self) -> int:
        kernel = self.shape.kernel
        lines = kernel[0] * kernel[1] + (self.lines - 1) * self.shape.stride[1]
        return 24 * lines * self.shape.runs[0]

    @property
    def _widths(self) -> int:
        """Return how many times as long rows are when products take them."""
        return max(1, self.isa.byte_width // self.shape.element_bytes)

    @property
    def flip(self) -> int:
        """Return what bytes of A are combined with by xor, so that products can take them."""
        return self.isa.bias if self.shape.element_bytes == 1 else 0

    @property
    def _gathered_bytes(self) -> int:
        """Scratch memory for rows as they are, or with other signs."""
        if self.is_direct and not self.flip:
            return 0
        return self._table_bytes + self._panel_bytes + LINE + 2 * self.isa.register_bytes

    @property
    def _block_steps(self) -> int:
        """Return how many steps all tiles of a panel take before the next; all of them but of float32.

        Segments are there for many rows in a row, whose weights are few.
        """
        whole = self.shape.element_bytes < FLOAT_BYTES or self.segments or self.depth < 2 * BLOCK_STEPS
        if whole:
            return max(1, self.isa.whole_depth(self.depth, self.shape.kind))
        return -(-self.depth // round(self.depth / BLOCK_STEPS))

    @property
    def _sums_bytes(self) -> int:
        """Scratch memory for the sums of blocks of steps; the heights of tiles may leave one more."""
        if self._block_steps >= self.depth:
            return 0
        tiles = -(-self.panel_rows // self._block) + 1
        columns = -(-self.shape.out_channels // (self.isa.panels * self.isa.lanes))
        return tiles * columns * self._block * 2 * self.isa.register_bytes + LINE

    @property
    def scratch_bytes(self) -> int:
        """Return the scratch memory that a thread needs."""
        widened = self._widths * self._panel_bytes + LINE + 2 * self.isa.register_bytes
        return self._gathered_bytes + (widened if self._widths > 1 else 0) + self._sums_bytes

    def slots(self) -> Mapping[Slot, int]:
        """Return the numbers that depend on the shape alone, with the whole output as the box."""
        return replace(self, shape=self.shape.collapsed)._slots()

    def _slots(self) -> Mapping[Slot, int]:
        _, od, oh, ow = self.shape.output
        oc, tap = self.shape.out_channels, self.shape.in_channels * self.shape.element_bytes
        strides = self.shape.out_strides or (od * oh * ow * oc, oh * ow * oc, ow * oc, oc)
        step = self.shape.stride[2] * tap if self.segments else self.direct_bytes or self.pitch
        groups = {
            "M_LO M_HI N_LO N_HI K": (0, self.shape.positions, 0, oc, self.depth),
            "O_D O_H O_W": self.shape.output[1:],
            "I_D I_H I_W": self.shape.input[1:],
            "K_D K_H": self.shape.kernel[:2],
            "STRIDE_Z STRIDE_Y STRIDE_X": self.shape.stride,
            "PAD_FRONT PAD_TOP PAD_LEFT": self.shape.pad,
            "DILATION_Z DILATION_Y DILATION_X": self.shape.dilation,
            "IN_N IN_Z IN_Y IN_X": [
                elements * self.shape.element_bytes for elements in self.shape.in_elements
            ],
            "OUT_N OUT_Z OUT_Y OUT_X": strides,
            "RUNS RUN_TAPS": self.shape.runs,
            "TAP_BYTES TABLE_BYTES ROW_BYTES": (tap, self._table_bytes, step),
            "FLIP WIDENED SUMS": (self.flip, self._gathered_bytes, self._gathered_bytes),
            "BLOCK_STEPS": [self._block_steps],
            "REACH": [(self.shape.kernel[2] - 1) * self.shape.dilation[2] + 1],
            "PANEL_ROWS DIRECT SEGMENTS": (self.panel_rows, int(self.is_direct), self.segments),
            "LINES": [self.lines],
        }
        pairs = (zip(names.split(), numbers, strict=True) for names, numbers in groups.items())
        return {Slot[name]: number for name, number in chain.from_iterable(pairs)}


@dataclass(frozen=True, slots=True)
class RowBlocking:
    """A single row of int8."""

    shape: Geometry
    isa: InstructionSet

    @property
    def _room(self) -> int:
        """Scratch memory for a copy of the row: wider or longer, if products want it so."""
        depth = self.shape.depth
        size = self.isa.byte_width * self.isa.whole_depth(-(-depth // QUAD) * QUAD, "i8")
        return -(-(size + self.isa.register_bytes) // LINE) * LINE if size > depth else 0

    @property
    def scratch_bytes(self) -> int:
        """Return the scratch memory that a thread needs."""
        return self._room + WORD_BYTES * self.isa.padded(self.shape.out_channels) + LINE

    def slots(self) -> Mapping[RowSlot, int]:
        """Return the numbers that depend on the shape alone, with the whole output as the box."""
        columns, depth = self.shape.out_channels, self.shape.depth
        return {RowSlot.M_HI: 1, RowSlot.N_HI: columns, RowSlot.K: depth, RowSlot.SUMS: self._room}


def set_for(isa: InstructionSet, shape: Geometry, depthwise: bool, largest: int = LARGEST) -> InstructionSet:
    """Return the set that multiplies a shape: `isa`, or another of the CPU's where that is faster.

    `largest` is the size of the largest weight, if they are constant int8. Matrices or vectors is a matter of
    the steps that both take; the numbers were measured on Sapphire Rapids.
    """
    if isa.symmetric and largest < LARGEST and shape.positions <= isa.symmetric_rows:
        return isa.symmetric
    if isa.small and largest <= SMALL and not depthwise:
        return isa.small
    matrices = isa.matrices
    if matrices is None or depthwise or shape.kind not in matrices.kinds:
        return matrices.vectors if matrices else isa
    rounded, size = shape.kind == "i8", shape.element_bytes
    own, other = Blocking(shape, isa, rounded), Blocking(shape, matrices.vectors, rounded)
    rows, panels, blocks = shape.positions, isa.padded(shape.out_channels) // isa.lanes, own.pitch // LINE
    gathers = not (own.is_direct or own.segments) and (other.is_direct or other.segments)
    steps = -(-rows // matrices.rows) * panels * (blocks * MATRIX_STEPS + END_STEPS) + CALL_STEPS
    steps += rows * (GATHER_STEPS + LINE_STEPS * blocks) if gathers else 0
    each = PAIR_STEPS if shape.kind == "bf16" else 1
    return isa if steps < rows * -(-other.depth * size // QUAD) * panels * each else matrices.vectors


def in_segments(matrix: NDArray[Any], blocking: Blocking) -> NDArray[Any]:
    """Return a matrix [columns][depth] with zeros behind each segment that is rounded up."""
    if blocking.depth == matrix.shape[1]:
        return matrix
    split = matrix.reshape(len(matrix), blocking.segments, -1)
    spare = blocking.segment_depth - split.shape[2]
    return np.pad(split, ((0, 0), (0, 0), (0, spare))).reshape(len(matrix), -1)


@dataclass(frozen=True, slots=True)
class PixelBlocking:
    """A single pixel of a depthwise convolution of int8, whose taps are so many bytes apart."""

    shape: DepthwiseGeometry
    isa: InstructionSet
    steps: tuple[int, int]

    @property
    def scratch_bytes(self) -> int:
        """Return the scratch memory that a thread needs."""
        return WORD_BYTES * self.isa.padded(self.shape.out_channels, QUAD) + LINE

    def slots(self) -> Mapping[PixelSlot, int]:
        """Return the numbers that depend on the shape alone, with the whole output as the box."""
        (height, width), (down, across) = self.shape.kernel, self.steps
        sizes = {PixelSlot.K_H: height, PixelSlot.K_W: width, PixelSlot.IN_Y: down, PixelSlot.IN_X: across}
        return {PixelSlot.M_HI: 1, PixelSlot.N_HI: self.shape.out_channels} | sizes


@dataclass(frozen=True, slots=True)
class DepthwiseBlocking:
    """Channels and pixels of a depthwise convolution at a time."""

    shape: DepthwiseGeometry
    isa: InstructionSet

    @property
    def _group(self) -> int:
        """Vertical taps that are side by side."""
        return 4 // max(self.shape.element_bytes, self.isa.byte_width)

    @property
    def groups(self) -> int:
        """Return the number of groups of vertical taps."""
        return -(-self.shape.kernel[0] // self._group)

    @property
    def kept_lines(self) -> int:
        """Return how many input lines, or groups of them, there is room for."""
        shape = self.shape
        return (shape.kernel[0] - 1) * shape.dilation[0] + 1 if shape.floating else self.groups

    @property
    def blocks(self) -> tuple[int, int]:
        """Return how many channels and pixels to work on at a time."""
        width, lanes, tile = self.shape.output[2], self.isa.lanes, self.isa.pixels[0]
        budget, together = ROW_BLOCK_BYTES // (4 * self.groups), self._stays_together
        channels, pieces = self.shape.out_channels, 1
        while pieces < 64 and channels * self._fewest_columns > budget and not together:
            pieces += 1
            channels = max(lanes, -(-self.shape.out_channels // pieces // (4 * lanes)) * (4 * lanes))
        channels = min(channels, self.shape.out_channels)
        fitting = max(0, budget // channels - self.shape.reach) // self.shape.stride[1] + 1
        fitting = max(fitting, tile) if together else fitting
        pixels = -(-width // -(-width // fitting))
        return channels, min(width, -(-pixels // tile) * tile if pixels > tile else pixels)

    @property
    def _fewest_columns(self) -> int:
        """Columns of the input that have to fit: of float32 those of a tile; parts of pixels come slowly."""
        stride, reach = self.shape.stride[1], self.shape.reach
        least = (self.isa.pixels[0] - 1) * stride + reach if self.shape.floating else 3 * reach + 8
        return min((self.shape.output[2] - 1) * stride + reach, least)

    @property
    def _stays_together(self) -> bool:
        """Tell whether the input of a tile of all channels of float32 stays near, and their weights do.

        Copies of pixels of whole halves of pages would share a few cache sets.
        """
        (height, width), pixel = self.shape.kernel, self.shape.out_channels * FLOAT_BYTES
        near = height * (self._fewest_columns + width) * pixel <= self.isa.together_bytes
        return self.shape.floating and near and pixel % (PAGE // 2) > 0

    @property
    def taps(self) -> int:
        """Return the entries of the packed weights of a channel."""
        return self.groups * self.shape.kernel[1] * self.shape.parts

    @property
    def side(self) -> int:
        """Return which taps side by side share input with those of the next pixel, as kernels are told."""
        shape, floats = self.shape, [Side(taps) for taps in SIDES]
        step, rest = divmod(shape.stride[1], shape.dilation[1])
        sides = {1: self.isa.sides, 4: floats}.get(shape.element_bytes, ())
        found = Side(shape.kernel[1], step)
        return found.number if rest == 0 and shape.parts == 1 and found in sides else ALONE.number

    @property
    def pair_bytes(self) -> int:
        """Return where the weights of the second of two output rows are; 0 if rows share no input."""
        if self.shape.kernel[0] % self._group == 0 or self.shape.stride[0] != self.shape.dilation[0]:
            return 0
        return -(-self.shape.out_channels // self.isa.lanes) * self.taps * self.isa.register_bytes

    def _scratch(self) -> Mapping[str, int]:
        (channels, pixels), lanes, step = self.blocks, self.isa.lanes, self.isa.register_bytes
        channels += -channels % lanes if self.shape.floating else 0
        columns = (pixels - 1) * self.shape.stride[1] + self.shape.reach
        expand = (columns * channels * self.shape.element_bytes + 2 * step - 1) // step * step
        behind = 1 if self.shape.floating else QUAD  # registers that are written past the end
        group = ((columns * channels * 4 + step - 1) // step + behind) * step
        blank = group * self.kept_lines
        expanded = blank + expand
        table = expanded + (4 * expand if self.shape.channel_multiplier > 1 else 0)
        kept = table + 8 * self.taps
        places = 8 * self.groups * self.shape.kernel[1] * self.shape.floating
        words = (kept + 8 * self.kept_lines + places + LINE - 1) // LINE * LINE
        total = words + pixels * (channels + lanes) * 8 + step
        numbers = {
            "BLANK": blank,
            "BLANK_BYTES": expand - step,
            "EXPAND": expanded,
            "EXPAND_BYTES": expand,
        }
        return numbers | {
            "TAP_TABLE": table,
            "LINES": self.kept_lines,
            "LINE_TABLE": kept,
            "WORDS": words,
            "GROUP_BYTES": group,
            "total": total,
        }

    @property
    def scratch_bytes(self) -> int:
        """Return the scratch memory that a thread needs."""
        return self._scratch()["total"]

    def slots(self) -> Mapping[DepthwiseSlot, int]:
        """Return the numbers that depend on the shape alone, with the whole output as the box."""
        shape = self.shape
        (_, h, w), (_, oh, ow) = shape.input, shape.output
        tap, oc = shape.in_channels * shape.element_bytes, shape.out_channels
        groups = {
            "M_LO M_HI N_LO N_HI": (0, shape.rows, 0, oc),
            "CHANNEL_BLOCK PIXEL_BLOCK": self.blocks,
            "CHANNEL_MULTIPLIER REACH": (shape.channel_multiplier, shape.reach),
            "O_H O_W I_H I_W": (oh, ow, h, w),
            "K_H K_W": shape.kernel,
            "STRIDE_Y STRIDE_X": shape.stride,
            "DILATION_Y DILATION_X": shape.dilation,
            "PAD_TOP PAD_LEFT": shape.pad,
            "TAPS PARTS SIDE PAIR_BYTES": (self.taps, shape.parts, self.side, self.pair_bytes),
            "IN_N IN_Y IN_X": (h * w * tap, w * tap, tap),
            "OUT_N OUT_Y OUT_X": (oh * ow * oc, ow * oc, oc),
        }
        pairs = (zip(names.split(), numbers, strict=True) for names, numbers in groups.items())
        scratch = ((name, number) for name, number in self._scratch().items() if name != "total")
        return {DepthwiseSlot[name]: number for name, number in chain(*pairs, scratch)}
