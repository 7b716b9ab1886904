"""What a contraction kernel is compiled for, and the numbers that it is called with."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum, auto
from itertools import pairwise


@dataclass(frozen=True, slots=True)
class Epilogue:
    """What happens to each sum: text over `acc`, `channel` (column) and `index` (element of the output).

    `setup` runs once and may load its numbers from `load_i64(args, EPILOGUE + i)`; `functions` are
    definitions that both use. With `rescale`, the sum first becomes an int8 by the vector code of
    `rescale_i8`, and without a `body` that is what the kernel stores.
    """

    body: str = ""
    setup: str = ""
    functions: str = ""
    rescale: bool = False


@dataclass(frozen=True, slots=True)
class ContractSpec:
    """The structure of a kernel; everything else is a number that it is called with."""

    kind: str
    """"convolution" (also matrix products) or "depthwise"."""
    left: str = "i8"
    """Type of the activations: i8 or i16."""
    right: str = "i8"
    """Type of the other operand as it was before packing: i8 or i16."""
    library: str = "avx512"
    """Register tiles to use: avx512 or portable."""

    @property
    def accumulator(self) -> str:
        """Return the type of `acc` in an epilogue."""
        return "i32" if self.left == "i8" else "i64"


class Slot(IntEnum):
    """The arguments of a convolution kernel, in order; addresses and `*_bytes` are in bytes."""

    @staticmethod
    def _generate_next_value_(name: str, start: int, count: int, last_values: Sequence[int]) -> int:
        return count

    SOURCE = auto()
    """Address of the input (matrix A), from its first batch."""
    WEIGHT = auto()
    """Address of the packed weights (matrix B)."""
    INITIAL = auto()
    """Address of the start value of each column, padded to 16: bias and corrections for the zero points."""
    OUTPUT = auto()
    """Address of the output; for the epilogue's use and for `rescale`."""
    SCRATCH = auto()
    """Address of scratch memory of this thread, at least `scratch_bytes`."""
    M_LO = auto()
    """First output position, counted over N, OD, OH, OW."""
    M_HI = auto()
    N_LO = auto()
    """First output channel: a multiple of 16 (32 is better)."""
    N_HI = auto()
    K = auto()
    """Elements of a row of A: KD * KH * KW * IC."""
    PANEL_ROWS = auto()
    """Rows of A that are gathered, and used by all columns, before the next; at most MAX_PANEL_ROWS."""
    DIRECT = auto()
    """1: rows of A are used in place, STEP bytes apart from position to position; see `is_direct`."""
    SEGMENTS = auto()
    """0: rows of A are gathered one by one. Else the input of a whole output row is gathered, as so many
    segments (one for each kernel row), and a row of A is a part of each: neighbours overlap."""
    ROW_BYTES = auto()
    """Bytes from row to row of A, gathered or in place."""
    INPUT_ZP = auto()
    WEIGHT_ZP = auto()
    O_D = auto()
    O_H = auto()
    O_W = auto()
    I_D = auto()
    I_H = auto()
    I_W = auto()
    K_D = auto()
    K_H = auto()
    RUNS = auto()
    """Pieces of a kernel row that are contiguous in the input: 1, or KW."""
    RUN_TAPS = auto()
    """Taps in a piece: KW, or 1."""
    TAP_BYTES = auto()
    """Bytes of the channels of one tap."""
    REACH = auto()
    """Input columns that one output depends on: (KW - 1) * dilation_x + 1."""
    TABLE_BYTES = auto()
    """Scratch bytes ahead of the gathered rows: the table of runs."""
    STRIDE_Z = auto()
    STRIDE_Y = auto()
    STRIDE_X = auto()
    PAD_FRONT = auto()
    """Paddings may be negative (sub-grids of a transposed convolution)."""
    PAD_TOP = auto()
    PAD_LEFT = auto()
    DILATION_Z = auto()
    DILATION_Y = auto()
    DILATION_X = auto()
    IN_N = auto()
    """Bytes from batch to batch, and so on, in the input."""
    IN_Z = auto()
    IN_Y = auto()
    IN_X = auto()
    OUT_N = auto()
    """Elements from batch to batch, and so on, in the output."""
    OUT_Z = auto()
    OUT_Y = auto()
    OUT_X = auto()
    PARAMETERS = auto()
    """Address of the packed parameters of `rescale`."""
    SIGN = auto()
    """31 for DOUBLE_ROUND, 32 for SINGLE_ROUND."""
    LOW = auto()
    """The int8 result of `rescale` is clipped to LOW and HIGH."""
    HIGH = auto()
    GATHER = auto()
    """Address of the kernel of `gather_source()`."""
    TILE = auto()
    """Address of the kernel of `tile_source(spec)`."""
    EPILOGUE = auto()
    """The first of the epilogue's own numbers."""


class Job(IntEnum):
    """The arguments of the gathering kernel."""

    JOB_ARGS, JOB_M, JOB_ROWS, JOB_OFFSETS, JOB_TABLE = range(5)


class TileJob(IntEnum):
    """The arguments of the kernel of a register tile."""

    TILE_A, TILE_A_ROW, TILE_STEPS, TILE_B, TILE_B_PANEL, TILE_INITIAL, TILE_WORDS = range(7)
    TILE_HEIGHT, TILE_PANELS, TILE_DEPTH, TILE_FACTOR = range(7, 11)
    TILE_FUSED, TILE_COLUMNS, TILE_PARAMETERS, TILE_LOW, TILE_HIGH, TILE_OUT, TILE_OFFSETS = range(11, 18)
    TILE_SEGMENTS, TILE_SEGMENT = range(18, 20)


class DepthwiseSlot(IntEnum):
    """The arguments of a depthwise convolution kernel; names that Slot has too mean the same."""

    @staticmethod
    def _generate_next_value_(name: str, start: int, count: int, last_values: Sequence[int]) -> int:
        return count

    SOURCE = auto()
    WEIGHT = auto()
    INITIAL = auto()
    OUTPUT = auto()
    SCRATCH = auto()
    M_LO = auto()
    """First output row, counted over N, OH."""
    M_HI = auto()
    N_LO = auto()
    """First output channel, a multiple of 16."""
    N_HI = auto()
    CHANNEL_BLOCK = auto()
    """Channels and pixels of a row to work on at a time; channels a multiple of 16, or all of them."""
    PIXEL_BLOCK = auto()
    CHANNEL_MULTIPLIER = auto()
    O_H = auto()
    O_W = auto()
    I_H = auto()
    I_W = auto()
    K_H = auto()
    K_W = auto()
    STRIDE_Y = auto()
    STRIDE_X = auto()
    PAD_TOP = auto()
    PAD_LEFT = auto()
    DILATION_Y = auto()
    DILATION_X = auto()
    REACH = auto()
    """Input columns that one output depends on: (KW - 1) * dilation_x + 1."""
    TAPS = auto()
    """Entries of the packed weights per channel: groups of vertical taps, times KW, times PARTS."""
    PARTS = auto()
    """int8 numbers that a weight less its zero point is the sum of."""
    PAIR_BYTES = auto()
    """Bytes from the packed weights to those shifted down by a tap; with 0, output rows share no input."""
    IN_N = auto()
    IN_Y = auto()
    IN_X = auto()
    OUT_N = auto()
    OUT_Y = auto()
    OUT_X = auto()
    GROUP_BYTES = auto()
    """Scratch bytes of the input of one group of vertical taps."""
    BLANK = auto()
    """Bytes from SCRATCH to a row of zero points, to an expanded row, to the tap table, to the sums."""
    BLANK_BYTES = auto()
    BLANK_BYTE = auto()
    """What padding holds once interleaved: for int8 input_zp + 128, for int16 0."""
    EXPAND = auto()
    EXPAND_BYTES = auto()
    TAP_TABLE = auto()
    WORDS = auto()
    PARAMETERS = auto()
    SIGN = auto()
    LOW = auto()
    HIGH = auto()
    GATHER = auto()
    """Address of the kernel of `depthwise_gather_source(spec)`."""
    EPILOGUE = auto()


class DepthwiseJob(IntEnum):
    """The arguments of the kernel that interleaves rows."""

    DEPTHWISE_ARGS, DEPTHWISE_N, DEPTHWISE_Y, DEPTHWISE_X = range(4)
    DEPTHWISE_COLUMNS, DEPTHWISE_CHANNEL, DEPTHWISE_CHANNELS, DEPTHWISE_LINES = range(4, 8)


class PackSlot(IntEnum):
    """The arguments of the kernel that packs a matrix B [depth][columns] at run time."""

    @staticmethod
    def _generate_next_value_(name: str, start: int, count: int, last_values: Sequence[int]) -> int:
        return count

    PACK_SOURCE = auto()
    PACK_ROW = auto()
    """Bytes from row to row."""
    PACK_DEPTH = auto()
    PACK_COLUMNS = auto()
    PACK_OUT = auto()
    """Room for `packed_bytes(depth, columns, bytes of an element)`."""
    PACK_INITIAL = auto()
    """int8: where the start values of the columns go, 4 bytes each, columns rounded up to 64."""
    PACK_FACTOR = auto()
    """int8: -(128 + A_zp)."""
    PACK_ADDEND = auto()
    """int8: A_zp * B_zp * depth, and 2**31 if the epilogue rescales."""


def packed_bytes(depth: int, columns: int, element_bytes: int, halves: bool = False) -> int:
    """Return the bytes of a packed matrix B; `halves` if its int16 are split into bytes."""
    return -(-depth * element_bytes // 4) * -(-columns // 16) * 64 * (2 if halves else 1)


MAX_PANEL_ROWS = 240
TILE_ROWS = 12
PANEL_BYTES = 192 * 1024
"""A gathered panel should stay in the second-level cache, with the weights that stream past it."""


@dataclass(frozen=True, slots=True)
class Geometry:
    """A convolution's shape: (N, D, H, W) of input and output, (D, H, W) of the rest."""

    input: tuple[int, int, int, int]
    output: tuple[int, int, int, int]
    in_channels: int
    out_channels: int
    kernel: tuple[int, int, int] = (1, 1, 1)
    stride: tuple[int, int, int] = (1, 1, 1)
    pad: tuple[int, int, int] = (0, 0, 0)
    dilation: tuple[int, int, int] = (1, 1, 1)
    element_bytes: int = 1
    out_strides: tuple[int, int, int, int] | None = None
    """Elements between neighbours along N, D, H, W of the output; dense if not given."""
    in_strides: tuple[int, int, int, int] | None = None
    """The same of the input."""

    @property
    def positions(self) -> int:
        """Return the number of rows of A."""
        n, d, h, w = self.output
        return n * d * h * w

    @property
    def depth(self) -> int:
        """Return the number of columns of A."""
        return self.kernel[0] * self.kernel[1] * self.kernel[2] * self.in_channels

    @property
    def row_bytes(self) -> int:
        """Return the bytes of a gathered row of A."""
        return -(-self.depth * self.element_bytes // 4) * 4

    @property
    def is_plain(self) -> bool:
        """Tell whether each output position depends on the same input position."""
        return self.kernel == self.stride == (1, 1, 1) and self.pad == (0, 0, 0) and self.input == self.output

    @property
    def _in_elements(self) -> tuple[int, int, int, int]:
        _, d, h, w = self.input
        ic = self.in_channels
        return self.in_strides or (d * h * w * ic, h * w * ic, w * ic, ic)

    @property
    def direct_bytes(self) -> int:
        """Return the bytes from row to row of A if they lie in the input as the kernel wants them, else 0."""
        if self.kernel != (1, 1, 1) or any(self.pad) or self.row_bytes != self.depth * self.element_bytes:
            return 0
        inside = zip(self.output[1:], self.stride, self.input[1:], strict=True)
        if any((extent - 1) * stride >= limit for extent, stride, limit in inside):
            return 0
        strides = zip(self.output, self._in_elements, (1, *self.stride), strict=True)
        steps = [(extent, elements * stride) for extent, elements, stride in strides if extent > 1]
        if any(far != near * extent for (_, far), (extent, near) in pairwise(steps)):
            return 0
        return (steps[-1][1] if steps else self.depth) * self.element_bytes

    @property
    def is_direct(self) -> bool:
        """Tell whether the rows of A are used in place."""
        return self.direct_bytes > 0

    @property
    def segments(self) -> int:
        """Return the segments of a row of A if rows overlap in the gathered input, else 0."""
        tap, width = self.in_channels * self.element_bytes, self.output[3]
        dense = self._runs[0] == 1 and self._in_elements[3] == self.in_channels
        joined = dense and self.kernel[2] * tap % 4 == 0 and self.kernel != (1, 1, 1)
        tiled = min(-(-width // height) * height for height in (8, 10, 12))
        if (
            self.is_direct
            or not joined
            or width < 6
            or tiled > width * 1.15
            or self.stride[2] > self.kernel[2]
        ):
            return 0
        return self.kernel[0] * self.kernel[1]

    def _segment_bytes(self, rows: int) -> int:
        exact = ((rows - 1) * self.stride[2] + self.kernel[2]) * self.in_channels * self.element_bytes
        return -(-exact // 64) * 64

    @property
    def panel_rows(self) -> int:
        """Return how many rows of A to work on at a time."""
        if self.segments:
            rows = min(self.output[3], MAX_PANEL_ROWS)
            while rows > 2 * TILE_ROWS and self.segments * self._segment_bytes(rows) > PANEL_BYTES:
                rows -= TILE_ROWS
            return rows
        fitting = PANEL_BYTES // max(self.row_bytes, 1) // TILE_ROWS * TILE_ROWS
        everything = -(-self.positions // TILE_ROWS) * TILE_ROWS
        return max(TILE_ROWS, min(fitting, MAX_PANEL_ROWS, everything))

    @property
    def _panel_bytes(self) -> int:
        if self.segments:
            return self.segments * self._segment_bytes(self.panel_rows)
        return self.panel_rows * self.row_bytes

    @property
    def _runs(self) -> tuple[int, int]:
        """Return the pieces of a kernel row that are contiguous in the input, and the taps in each."""
        joined = self.dilation[2] == 1 and self._in_elements[3] == self.in_channels
        return (1, self.kernel[2]) if joined else (self.kernel[2], 1)

    @property
    def _table_bytes(self) -> int:
        return 24 * self.kernel[0] * self.kernel[1] * self._runs[0]

    @property
    def scratch_bytes(self) -> int:
        """Return the scratch memory that a thread needs."""
        return 0 if self.is_direct else self._table_bytes + self._panel_bytes + 192

    @property
    def _collapsed(self) -> "Geometry":
        """Return the same with all positions along x, if input and output are dense and nothing else is."""
        if not self.is_plain or self.out_strides or self.in_strides:
            return self
        row = (1, 1, 1, self.positions)
        return replace(self, input=row, output=row)

    def slots(self) -> Mapping[Slot, int]:
        """Return the numbers that depend on the shape alone, with the whole output as the box."""
        return self._collapsed._slots()

    def _slots(self) -> Mapping[Slot, int]:
        d, h, w = self.input[1:]
        tap = self.in_channels * self.element_bytes
        od, oh, ow = self.output[1:]
        oc = self.out_channels
        strides = self.out_strides or (od * oh * ow * oc, oh * ow * oc, ow * oc, oc)
        names = "O_D O_H O_W I_D I_H I_W K_D K_H RUNS RUN_TAPS TAP_BYTES REACH TABLE_BYTES".split()
        reach = (self.kernel[2] - 1) * self.dilation[2] + 1
        numbers = [
            *self.output[1:],
            d,
            h,
            w,
            *self.kernel[:2],
            *self._runs,
            tap,
            reach,
            self._table_bytes,
        ]
        names += (
            "STRIDE_Z STRIDE_Y STRIDE_X PAD_FRONT PAD_TOP PAD_LEFT DILATION_Z DILATION_Y DILATION_X".split()
        )
        numbers += [*self.stride, *self.pad, *self.dilation]
        names += "IN_N IN_Z IN_Y IN_X OUT_N OUT_Z OUT_Y OUT_X M_LO M_HI N_LO N_HI K".split()
        numbers += [elements * self.element_bytes for elements in self._in_elements]
        numbers += [*strides, 0, self.positions, 0, oc, self.depth]
        names += "PANEL_ROWS DIRECT SEGMENTS ROW_BYTES".split()
        step = self.stride[2] * tap if self.segments else self.direct_bytes or self.row_bytes
        numbers += [self.panel_rows, int(self.is_direct), self.segments, step]
        return {Slot[name]: number for name, number in zip(names, numbers, strict=True)}


ROW_BLOCK_BYTES = 24 * 1024
"""Interleaved input that should stay in the first-level cache, with sums and weights."""


@dataclass(frozen=True, slots=True)
class DepthwiseGeometry:
    """A depthwise convolution's shape: (N, H, W) of input and output, (H, W) of the rest."""

    input: tuple[int, int, int]
    output: tuple[int, int, int]
    in_channels: int
    channel_multiplier: int = 1
    kernel: tuple[int, int] = (1, 1)
    stride: tuple[int, int] = (1, 1)
    pad: tuple[int, int] = (0, 0)
    dilation: tuple[int, int] = (1, 1)
    element_bytes: int = 1
    parts: int = 1

    @property
    def out_channels(self) -> int:
        """Return the number of output channels."""
        return self.in_channels * self.channel_multiplier

    @property
    def rows(self) -> int:
        """Return the number of output rows, over all batches."""
        return self.output[0] * self.output[1]

    @property
    def groups(self) -> int:
        """Return the number of groups of vertical taps."""
        return -(-self.kernel[0] * self.element_bytes // 4)

    @property
    def reach(self) -> int:
        """Return how many input columns one output depends on."""
        return (self.kernel[1] - 1) * self.dilation[1] + 1

    @property
    def blocks(self) -> tuple[int, int]:
        """Return how many channels and pixels to work on at a time."""
        width = self.output[2]
        columns = (width - 1) * self.stride[1] + self.reach
        budget = ROW_BLOCK_BYTES // (4 * self.groups)
        channels, pieces = self.out_channels, 1
        while pieces < 64 and channels * min(columns, 3 * self.reach + 8) > budget:
            pieces += 1
            channels = max(16, -(-self.out_channels // pieces // 64) * 64)
        channels = min(channels, self.out_channels)
        fitting = max(0, budget // channels - self.reach) // self.stride[1] + 1
        pixels = -(-width // -(-width // fitting))
        return channels, min(width, -(-pixels // 8) * 8 if pixels > 8 else pixels)

    @property
    def pair_bytes(self) -> int:
        """Return where the weights of the second of two output rows are; 0 if rows share no input."""
        group = 4 // self.element_bytes
        if self.kernel[0] % group == 0 or self.stride[0] != self.dilation[0]:
            return 0
        return -(-self.out_channels // 16) * self.groups * self.kernel[1] * self.parts * 64

    def _scratch(self) -> Mapping[str, int]:
        channels, pixels = self.blocks
        columns = (pixels - 1) * self.stride[1] + self.reach
        expand = (columns * channels * self.element_bytes + 127) // 64 * 64
        group = (columns * channels * 4 + 63) // 64 * 64
        blank = group * self.groups + 256
        expanded = blank + expand
        table = expanded + (4 * expand if self.channel_multiplier > 1 else 0)
        words = table + 8 * self.groups * self.kernel[1] * self.parts
        total = words + pixels * (channels + 16) * 8 + 64
        numbers = {
            "BLANK": blank,
            "BLANK_BYTES": expand - 64,
            "EXPAND": expanded,
            "EXPAND_BYTES": expand,
        }
        return numbers | {
            "TAP_TABLE": table,
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
        h, w = self.input[1:]
        _, oh, ow = self.output
        tap, oc = self.in_channels * self.element_bytes, self.out_channels
        numbers = {
            "M_LO": 0,
            "M_HI": self.rows,
            "N_LO": 0,
            "N_HI": oc,
            "REACH": self.reach,
            "PARTS": self.parts,
        }
        numbers |= dict(zip(("CHANNEL_BLOCK", "PIXEL_BLOCK"), self.blocks, strict=True))
        numbers |= {
            "CHANNEL_MULTIPLIER": self.channel_multiplier,
            "O_H": oh,
            "O_W": ow,
            "I_H": h,
            "I_W": w,
        }
        for name, (y, x) in (
            ("STRIDE", self.stride),
            ("DILATION", self.dilation),
            ("K", self.kernel),
        ):
            numbers |= {
                f"{name}_{'H' if name == 'K' else 'Y'}": y,
                f"{name}_{'W' if name == 'K' else 'X'}": x,
            }
        numbers["PAIR_BYTES"] = self.pair_bytes
        numbers |= {
            "PAD_TOP": self.pad[0],
            "PAD_LEFT": self.pad[1],
            "TAPS": self.groups * self.kernel[1] * self.parts,
        }
        numbers |= {
            "IN_N": h * w * tap,
            "IN_Y": w * tap,
            "IN_X": tap,
            "OUT_N": oh * ow * oc,
            "OUT_Y": ow * oc,
            "OUT_X": oc,
        }
        numbers |= {name: number for name, number in self._scratch().items() if name != "total"}
        return {DepthwiseSlot[name]: number for name, number in numbers.items()}
