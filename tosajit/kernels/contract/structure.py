"""What kernels are compiled for, and what they call: names in the texts that `source` writes.

The values here are for reading alone. Names in capitals become numbers, `epilogue` and `setup` the text of
what follows each sum; the rest is imported from the chosen instruction set.
"""

from __future__ import annotations

from typing import Any

LANES = 16
"""Words in a register, and columns in a panel."""
REGISTER = 64
"""Bytes of a register."""
COLUMNS = 32
"""Columns of the widest tile."""
ROWS = 12
"""Rows of the highest tile."""
BLOCK = 12
"""Rows among which heights of tiles are evened out."""
LOW, SHORT_STEPS = 1, 0
"""The height of tiles of float32 of so few steps and more than a panel, as long as there are two of them."""
OFFSETS_BYTES = 1920
"""Room for where the rows of a panel of A go."""
LEAST_BYTES = 64
BIAS = 128
PARTS = 1
"""Panels that a panel of columns takes: 2 if int16 is split into bytes."""
STEP = 4
"""Elements of a row of A in a step."""
DEPTH = 4
"""Elements that a row of A is made up to."""
APART = 1
"""Words from a pair of a column of bf16 to that of the next."""
NEAR_STEPS = 8
"""Pairs of rows that are read whole before they are packed, so that their lines come in order."""
CHUNK = 255
"""Steps of two int16 products each that stay within 32 bits."""
GROUP = 4
"""Vertical taps that are interleaved."""
SHORT_ROW = 16
"""Pixels of an output row of float32 that are not worth telling apart by whether they depend on padding."""
WIDTH = 1
"""Bytes of an element of A where products take it."""
ELEMENT = 1
"""Bytes of an element of the input of a depthwise convolution."""
WIDE = False
"""Whether int8 are widened ahead of products."""
IN_TURN = True
"""Whether a register has more numbers than go together in the second step of a Fourier transform."""
MATRICES = False
"""Whether whole matrices are multiplied."""
FLIPPED = True
"""Whether they count from -BIAS in products."""
NARROW, SPLIT, FLOAT, CAREFUL = True, False, False, False
"""Whether A is int8; B int16, as two halves; sums are float32; operands bf16, with care for small ones."""
HALVES = False
"""Whether tiles of float32 can leave out half of their last panel."""
MEAN = False
"""Whether windows are averaged; of others the greatest elements are found."""
RESCALE, FUSED, IN_REGISTERS, SIGNED, MASKED = True, True, True, True, True
"""Whether vector code rescales sums; whether that is what is stored; whether it can be without memory, even
if the sign of a sum matters to its rounding."""

INTRINSIC: Any = object()
"""Stands for what `kernels.intrinsics` has; to import that would take most of a second, and Numba."""

local = call = INTRINSIC
load_i32 = load_i64 = load_u8 = load_u16 = load_u32 = reload_i32 = reload_i64 = reload_u16 = INTRINSIC
store_f32 = store_i16 = store_i32 = store_i64 = INTRINSIC
reload_sum = load_b = load_a = store_a = INTRINSIC
"""Access to sums, to elements of B and of A, by their type."""

copy_run: Any = None
interleave_wide_i8 = widen_rows = flip_rows = copy_run
fill_run = gather_rows = add_row_sums = add_terms = widen_add_rows = copy_run
tile = tile_small_bf16 = tile_rescale_i8 = rescale_i8 = copy_run
row_sums_i8 = row_rescale_i8 = pixel_sums_i8 = pixel_rescale_i8 = copy_run
interleave_i8 = interleave_i16 = depthwise = depthwise_rescale_i8 = copy_run
pack_i8 = pack_halves = least_bf16 = copy_run
start_matrices = end_matrices = copy_run
copy_rows = copy_rows_by = fill_rows = greatest = mean = copy_run
transform_inputs = transform_wide_inputs = transform_lines = transform_sums = transform_line_sums = copy_run
transform_sums_of_squares = transform_squares = transform_square_sums = copy_run
quarters_first = quarters_first_of_pairs = quarters_second = quarters_apart = halves = spectrum = copy_run
"""Vector code of the set: `procedures` says what each is."""


def highest(rows: int) -> int:
    """The height of the highest tile of at most so many rows."""
    return rows


def lowest(rows: int) -> int:
    """The height of the lowest tile of at least so many rows, or of the highest of all."""
    return rows


def setup(args: int) -> None:
    """Load what the epilogue needs once."""


def epilogue(acc: Any, channel: int, index: int) -> None:
    """Do what follows a sum: `acc` of a channel, for the element of the output at `index`."""


def height_of(left: int, rows: int) -> Any:
    """The height of the next tile, so that heights are even; it may begin early, in rows that are done."""
    tiles = (left + BLOCK - 1) // BLOCK
    even = BLOCK
    if left < BLOCK * (BLOCK - 1):  # more are whole blocks: to divide takes as long as many products
        even = (left + tiles - 1) // tiles
    height = lowest(even)
    return height if height <= rows else highest(even)
