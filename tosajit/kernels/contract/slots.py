"""The arguments of contraction kernels, by number."""

from __future__ import annotations

from tosajit.kernels.contract.numbered import Numbered, auto


class Slot(Numbered):
    """The arguments of a convolution kernel, in order; addresses and `*_bytes` are in bytes."""

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
    segments (one for each kernel row, or each tap if these lie apart), and a row of A is a part of each:
    neighbours overlap."""
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
    FLIP = auto()
    """What bytes of A are combined with by xor on their way, so that products can take them as unsigned."""
    WIDENED = auto()
    """Scratch bytes ahead of widened rows, where there are such."""
    BLOCK_STEPS = auto()
    """Floating-point numbers: steps of rows of A that all tiles of a panel take before the next ones."""
    SUMS = auto()
    """Scratch bytes ahead of the sums of these tiles, if that is not all steps."""
    TABLE_BYTES = auto()
    """Scratch bytes ahead of the gathered rows: the table of runs."""
    LINES = auto()
    """Lines of the output that share gathered lines of the input."""
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
    """Address of the packed parameters of `rescale`; float32: of a bias for each column."""
    SIGN = auto()
    """31 for DOUBLE_ROUND, 32 for SINGLE_ROUND; float32: what follows sums in registers, 0 if text does."""
    LOW = auto()
    """The int8 result of `rescale` is clipped to LOW and HIGH; float32: their bits."""
    HIGH = auto()
    SHIFT = auto()
    """float32: the bits of what is added before bounds, and of what results are multiplied by."""
    SCALE = auto()
    OTHER = auto()
    """float32: address of what is added to each result."""
    GATHER = auto()
    """Address of the kernel of `gather_source()`."""
    TILE = auto()
    """Address of the kernel of `tile_source(spec)`."""
    EPILOGUE = auto()
    """The first of the epilogue's own numbers."""


class RowSlot(Numbered):
    """The arguments of a kernel of a single row of A; names that Slot has too mean the same."""

    SOURCE = auto()
    WEIGHT = auto()
    INITIAL = auto()
    OUTPUT = auto()
    SCRATCH = auto()
    M_LO = auto()
    M_HI = auto()
    N_LO = auto()
    N_HI = auto()
    K = auto()
    SUMS = auto()
    """Bytes from SCRATCH, where a copy of the row may be, to sums."""
    PARAMETERS = auto()
    SIGN = auto()
    LOW = auto()
    HIGH = auto()
    EPILOGUE = auto()


class PixelSlot(Numbered):
    """The arguments of a kernel of a single depthwise pixel; names that Slot has too mean the same."""

    SOURCE = auto()
    WEIGHT = auto()
    INITIAL = auto()
    OUTPUT = auto()
    SCRATCH = auto()
    M_LO = auto()
    M_HI = auto()
    N_LO = auto()
    """First channel: a multiple of 16 (64 is better)."""
    N_HI = auto()
    K_H = auto()
    K_W = auto()
    IN_Y = auto()
    """Bytes from tap to tap, down and across."""
    IN_X = auto()
    PARAMETERS = auto()
    SIGN = auto()
    LOW = auto()
    HIGH = auto()
    EPILOGUE = auto()


class WinogradSlot(Numbered):
    """The arguments of a convolution by Winograd's F(4, 3), or of float32 by F(2 × 2, 3 × 3).

    Names that Slot has too mean the same.
    """

    SOURCE = auto()
    WEIGHT = auto()
    """Address of the packed weights of each point, WEIGHT_POINT bytes apart."""
    INITIAL = auto()
    """float32: address of the packed weights as they are."""
    OUTPUT = auto()
    SCRATCH = auto()
    M_LO = auto()
    """First output position, which begins a row."""
    M_HI = auto()
    N_LO = auto()
    N_HI = auto()
    CHANNELS = auto()
    """Of the input: an even number."""
    INPUT_ZP = auto()
    O_H = auto()
    O_W = auto()
    I_H = auto()
    I_W = auto()
    K_H = auto()
    PAD_TOP = auto()
    PAD_LEFT = auto()
    IN_N = auto()
    IN_Y = auto()
    IN_X = auto()
    """float32: pixels may lie apart."""
    OUT_N = auto()
    OUT_Y = auto()
    OUT_X = auto()
    WEIGHT_POINT = auto()
    LINES = auto()
    """Rows of the output that share transformed rows of the input."""
    CHUNK = auto()
    """Those that are summed at a time."""
    POINTS = auto()
    """Bytes from SCRATCH, where a row of pixels is, to transformed rows; those of points are PLANE apart."""
    PLANE = auto()
    TRANSFORMED = auto()
    """Squares of int8: bytes from SCRATCH to rows that are transformed along y."""
    SUMS = auto()
    """Bytes from SCRATCH to the sums of tiles, of points SUM_PLANE apart; of pixels; their bytes."""
    SUM_PLANE = auto()
    WORDS = auto()
    NARROW = auto()
    OFFSETS = auto()
    """Bytes from SCRATCH to where `rescale_i8` has its results go."""
    ROW_BYTES = auto()
    """float32: bytes from tile to tile of transformed rows."""
    BLANK = auto()
    """float32: bytes from SCRATCH to a row of zeros, BLANK_BYTES; behind it is room for copies of pixels."""
    BLANK_BYTES = auto()
    PARAMETERS = auto()
    SIGN = auto()
    LOW = auto()
    HIGH = auto()
    TILE = auto()
    EPILOGUE = auto()


class GatherJob(Numbered):
    """The arguments of the kernel that gathers rows of A, and finds where their outputs go."""

    ARGS = auto()
    M = auto()
    ROWS = auto()
    OFFSETS = auto()
    TABLE = auto()
    A = auto()
    """Where the rows are then, unless they are used in place."""
    UNTIL = auto()
    """The row before which all are there: those of several output lines are gathered at once."""


class RowsJob(Numbered):
    """The arguments of `gather_rows`: rows of A for outputs along x."""

    TARGET = auto()
    ROW_BYTES = auto()
    COUNT = auto()
    TABLE = auto()
    """Address of the table of runs (see RUN_ENTRY), RUNS of RUN_TAPS taps, RUN_BYTES apart in the target."""
    RUNS = auto()
    RUN_BYTES = auto()
    RUN_TAPS = auto()
    TAP_BYTES = auto()
    COLUMN = auto()
    """Input column of the first tap of the first row."""
    STRIDE = auto()
    WIDTH = auto()
    REACH = auto()
    IN_X = auto()
    ZERO = auto()
    FLIP = auto()
    """What all bytes are combined with by xor."""


ENDED, BIASED, JOINED, BOUNDED, GATED, SCALED, FAR = 1, 2, 4, 8, 16, 32, 64
"""What follows sums of float32 in registers, as SIGN says: they are results, after a bias for each column,
the elements of another operand, and bounds, in this order. With a gate, they are multiplied by what bounds
leave of them and SHIFT; what is scaled is multiplied by SCALE at last. FAR: the lines that results go to are
fetched ahead."""


class TileJob(Numbered):
    """The arguments of a register tile: rows of A times panels of B."""

    A = auto()
    A_ROW = auto()
    """Bytes from row to row."""
    SEGMENTS = auto()
    """Parts of a row of STEPS each, SEGMENT bytes apart."""
    SEGMENT = auto()
    STEPS = auto()
    B = auto()
    B_PANEL = auto()
    """Bytes from panel to panel."""
    INITIAL = auto()
    """Address of the start values of the columns, a word each."""
    WORDS = auto()
    """Address of the sums: rows of two panels."""
    HEIGHT = auto()
    PANELS = auto()
    """Of float32, as many more as a tile has at most where half of the last panel has no columns."""
    TERMS = auto()
    """int8: address of what rows add to their sums for the zero point of B, a word each; 0: nothing."""
    FUSED = auto()
    """Not 0: sums are finished in registers, and this is SIGN."""
    COLUMNS = auto()
    PARAMETERS = auto()
    LOW = auto()
    HIGH = auto()
    OUT = auto()
    OFFSETS = auto()
    """Elements from OUT to each row."""
    SMALL = auto()
    """1: products or sums of bf16 could be subnormal."""
    FOLLOWING = auto()
    """Floating-point numbers, widened bytes: address of a panel of B to fetch into the cache, for tiles that
    follow; of two panels, the other one is B_PANEL behind it."""
    FOLLOWING_STEP = auto()
    """Bytes of each to fetch in each step."""
    FETCH = auto()
    """1: it is the first tile for its columns, and their weights could be in memory alone."""
    CONTINUED = auto()
    """Floating-point numbers: 1 if WORDS are the sums of the steps so far."""
    OTHER = auto()
    DONE = auto()
    """float32: rows that are done, whose results stay."""
    TILES = auto()
    """float32 that is finished in registers: so many tiles, each below the one before."""
    SHIFT = auto()
    SCALE = auto()
    """float32: what results are multiplied by."""


class SquareJob(Numbered):
    """The arguments of `transform_squares`: tiles of four rows and columns, two columns apart."""

    LINE = auto()
    """Address of the first pixel of the first tile; of those in the rows below."""
    LINE_1 = auto()
    LINE_2 = auto()
    LINE_3 = auto()
    CHANNELS = auto()
    PIXEL = auto()
    """Bytes from pixel to pixel."""
    TILES = auto()
    TARGET = auto()
    ROW_BYTES = auto()
    """From tile to tile, of points PLANE bytes apart."""
    PLANE = auto()


SQUARE = 4
"""Rows and columns of a tile of F(2 × 2, 3 × 3), and of its points."""


class RescaleJob(Numbered):
    """The arguments of `rescale_i8`: rows of two panels of sums to int8 at OUT + OFFSETS[row] + column."""

    WORDS = auto()
    ROWS = auto()
    COLUMNS = auto()
    PARAMETERS = auto()
    SIGN = auto()
    LOW = auto()
    HIGH = auto()
    OUT = auto()
    OFFSETS = auto()


SIDES = (1, 3)
"""Taps of a depthwise convolution of float32 that are taken at once, so that pixels share what they load."""


class DepthwiseTile(Numbered):
    """The arguments of a row of pixels of a depthwise convolution."""

    SOURCE = auto()
    PIXEL_BYTES = auto()
    """From the input of a pixel to that of the next."""
    OFFSETS = auto()
    """Address of where each tap is, in bytes from a pixel's input."""
    TAPS = auto()
    WEIGHTS = auto()
    PANEL_TAPS = auto()
    """Taps that a panel of weights has, of which TAPS are taken."""
    SIDE = auto()
    """Taps side by side that have input in common with those of the next pixel: for float32 of `SIDES`, each
    the tap before it of that pixel; for int8 the number of one of the set's `sides`."""
    INITIAL = auto()
    OUT = auto()
    OUT_BYTES = auto()
    """From the sums or results of a pixel to those of the next."""
    PIXELS = auto()
    PANELS = auto()
    COLUMNS = auto()
    PARAMETERS = auto()
    SIGN = auto()
    LOW = auto()
    HIGH = auto()
    SHIFT = auto()
    SCALE = auto()


class DepthwiseSlot(Numbered):
    """The arguments of a depthwise convolution kernel; names that Slot has too mean the same."""

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
    SIDE = auto()
    """See DepthwiseTile."""
    PAIR_BYTES = auto()
    """Bytes from the packed weights to those shifted down by a tap; with 0, output rows share no input."""
    IN_N = auto()
    IN_Y = auto()
    IN_X = auto()
    OUT_N = auto()
    OUT_Y = auto()
    OUT_X = auto()
    GROUP_BYTES = auto()
    """Scratch bytes of the input of one group of vertical taps, float32 of one line."""
    BLANK = auto()
    """Bytes from SCRATCH to a row of zero points, to an expanded row, to the tap table, to the sums."""
    BLANK_BYTES = auto()
    BLANK_BYTE = auto()
    """What padding holds once interleaved: for int8 input_zp + 128, for int16 0."""
    EXPAND = auto()
    EXPAND_BYTES = auto()
    TAP_TABLE = auto()
    LINES = auto()
    """Input lines or groups of them that are kept, each at its number modulo LINES; LINE_TABLE says which."""
    LINE_TABLE = auto()
    WORDS = auto()
    PARAMETERS = auto()
    SIGN = auto()
    LOW = auto()
    HIGH = auto()
    SHIFT = auto()
    SCALE = auto()
    GATHER = auto()
    """Address of the kernel of `depthwise_gather_source(spec)`."""
    EPILOGUE = auto()


class LinesJob(Numbered):
    """The arguments of the kernel that interleaves or keeps rows of the input."""

    ARGS = auto()
    N = auto()
    Y = auto()
    X = auto()
    COLUMNS = auto()
    CHANNEL = auto()
    CHANNELS = auto()


class PackSlot(Numbered):
    """The arguments of the kernel that packs a matrix B [depth][columns] at run time."""

    SOURCE = auto()
    ROW = auto()
    """Bytes from row to row."""
    DEPTH = auto()
    COLUMNS = auto()
    OUT = auto()
    """Room for `packed_bytes(depth, columns, bytes of an element)`."""
    INITIAL = auto()
    """int8: where the start values of the columns go, 4 bytes each, columns rounded up to 64."""
    FACTOR = auto()
    """int8: -(128 + A_zp)."""
    ADDEND = auto()
    """int8: A_zp * B_zp * depth, and 2**31 if the epilogue rescales."""
