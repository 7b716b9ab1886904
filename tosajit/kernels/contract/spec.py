"""What a contraction kernel is compiled for, and the numbers that it is called with."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum, auto


@dataclass(frozen=True, slots=True)
class Epilogue:
    """What happens to each sum: text over `acc`, `channel` (column) and `index` (element of the output).

    `setup` runs once and may load its numbers from `load_i64(args, EPILOGUE + i)`; `functions` are definitions that
    both use. With `rescale`, the sum first becomes an int8 by the vector code of `rescale_i8`, and without a `body`
    that is what the kernel stores.
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

    JOB_ARGS, JOB_M, JOB_ROWS, JOB_OFFSETS, JOB_PANEL = range(5)


class TileJob(IntEnum):
    """The arguments of the kernel of a register tile."""

    TILE_A, TILE_A_ROW, TILE_STEPS, TILE_B, TILE_B_PANEL, TILE_INITIAL, TILE_WORDS = range(7)
    TILE_HEIGHT, TILE_PANELS, TILE_DEPTH, TILE_FACTOR = range(7, 11)


MAX_PANEL_ROWS = 240
TILE_ROWS = 12
PANEL_BYTES = 192 * 1024
"""A gathered panel should stay in the second-level cache, with the weights that stream past it."""


@dataclass(frozen=True, slots=True)
class Geometry:
    """A convolution's shape: (N, D, H, W) of input and output, (D, H, W) of the rest, D of 1 for two dimensions."""

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
    def is_direct(self) -> bool:
        """Tell whether the rows of A lie in the input as the kernel wants them."""
        plain = self.kernel == self.stride == (1, 1, 1) and self.pad == (0, 0, 0) and self.input == self.output
        return plain and self.row_bytes == self.depth * self.element_bytes

    @property
    def panel_rows(self) -> int:
        """Return how many rows of A to work on at a time."""
        fitting = PANEL_BYTES // max(self.row_bytes, 1) // TILE_ROWS * TILE_ROWS
        return max(TILE_ROWS, min(fitting, MAX_PANEL_ROWS, -(-self.positions // TILE_ROWS) * TILE_ROWS))

    @property
    def scratch_bytes(self) -> int:
        """Return the scratch memory that a thread needs."""
        return 0 if self.is_direct else self.panel_rows * self.row_bytes + 128

    def slots(self) -> Mapping[Slot, int]:
        """Return the numbers that depend on the shape alone, with the whole output as the box."""
        n, d, h, w = self.input
        tap = self.in_channels * self.element_bytes
        joined = self.dilation[2] == 1
        od, oh, ow = self.output[1:]
        oc = self.out_channels
        strides = self.out_strides or (od * oh * ow * oc, oh * ow * oc, ow * oc, oc)
        names = "O_D O_H O_W I_D I_H I_W K_D K_H RUNS RUN_TAPS TAP_BYTES".split()
        numbers = [*self.output[1:], d, h, w, *self.kernel[:2]]
        numbers += [1, self.kernel[2], tap] if joined else [self.kernel[2], 1, tap]
        names += "STRIDE_Z STRIDE_Y STRIDE_X PAD_FRONT PAD_TOP PAD_LEFT DILATION_Z DILATION_Y DILATION_X".split()
        numbers += [*self.stride, *self.pad, *self.dilation]
        names += "IN_N IN_Z IN_Y IN_X OUT_N OUT_Z OUT_Y OUT_X M_LO M_HI N_LO N_HI K PANEL_ROWS DIRECT ROW_BYTES".split()
        numbers += [d * h * w * tap, h * w * tap, w * tap, tap, *strides]
        numbers += [0, self.positions, 0, oc, self.depth, self.panel_rows, int(self.is_direct), self.row_bytes]
        return {Slot[name]: number for name, number in zip(names, numbers, strict=True)}
