"""The REQUIREs of the scalars: `add_i32_ok(a, b)` tells whether `add_i32` may be given `a` and `b`.

Written as `arithmetic.py` is, and copied into checked kernels. They are right for every argument, the
forbidden ones above all. A scalar without a function here allows everything.
"""

import numpy as np

from tosajit.kernels.arithmetic import (
    BITS,
    HIGH,
    INTEGERS,
    LOW,
    Number,
    apply_scale_16,
    apply_scale_32,
    apply_scale_32_double,
    of,
)
from tosajit.kernels.floating import FLOATS


def fits_i32(value: Number) -> Number:
    """Tell whether an int64 is an int32."""
    return np.bool_(np.int64(np.int32(value)) == np.int64(value))


@of(*INTEGERS)
def add_ok(a: Number, b: Number) -> Number:
    """No overflow of {bits} bits."""
    return in_range(np.int64(np.int64(a) + np.int64(b)), np.int64(LOW), np.int64(HIGH))


@of(*INTEGERS)
def sub_ok(a: Number, b: Number) -> Number:
    """No overflow of {bits} bits."""
    return in_range(np.int64(np.int64(a) - np.int64(b)), np.int64(LOW), np.int64(HIGH))


def in_range(value: Number, low: Number, high: Number) -> Number:
    """Tell whether low <= value <= high."""
    return np.bool_(np.bool_(np.int64(value) >= np.int64(low)) & np.bool_(np.int64(value) <= np.int64(high)))


@of("i32")
def abs_ok(a: Number) -> Number:
    """Not the minimum."""
    return np.bool_(a != LOW)


@of(*INTEGERS, *FLOATS)
def clip_ok(value: Number, min_val: Number, max_val: Number) -> Number:
    """The bounds are numbers in order."""
    return np.bool_(min_val <= max_val)


@of(*FLOATS)
def clip_ignore_ok(value: Number, min_val: Number, max_val: Number) -> Number:
    """The bounds are numbers in order."""
    return np.bool_(min_val <= max_val)


@of(*FLOATS)
def pow_ok(a: Number, b: Number) -> Number:
    """Both are finite, the base is not negative, and a base of zero has a positive exponent."""
    finite = np.bool_(np.bool_(np.float32(a - a) == 0) & np.bool_(np.float32(b - b) == 0))
    return np.bool_(finite & np.bool_(np.bool_(a > 0) | np.bool_(np.bool_(a == 0) & np.bool_(b > 0))))


def float_to_i8_ok(value: Number) -> Number:
    """It is not NaN."""
    return np.bool_(value == value)


def float_to_i16_ok(value: Number) -> Number:
    """It is not NaN."""
    return np.bool_(value == value)


def float_to_i32_ok(value: Number) -> Number:
    """It is not NaN."""
    return np.bool_(value == value)


def mul_shift_i32_ok(a: Number, b: Number, shift: Number) -> Number:
    """The shift is in range and the shifted product fits; with shift 0 any product is allowed."""
    amount = np.int64(np.int64(shift) & 63)
    product = np.int64(np.int64(a) * np.int64(b))
    # Shifting by one less first keeps the sum of product and half within 64 bits.
    nearly = np.int64(product >> np.int64(np.int64(amount - 1) & 63))
    fits = fits_i32(np.int64(np.int64(nearly + 1) >> 1))
    return np.bool_(np.bool_(np.int64(shift) == amount) & np.bool_(np.bool_(amount == 0) | fits))


def intdiv_i32_ok(a: Number, b: Number) -> Number:
    """Neither a division by zero nor the minimum by -1."""
    fits = np.bool_(np.bool_(np.int64(a) != -(1 << 31)) | np.bool_(np.int64(b) != -1))
    return np.bool_(np.bool_(np.int64(b) != 0) & fits)


@of("i8", "i16", "i32")
def negate_ok(value: Number, input1_zp: Number, output_zp: Number) -> Number:
    """No overflow of the 32-bit accumulator on the way."""
    difference = np.int64(np.int64(value) - np.int64(input1_zp))
    changed = np.int64(0 - difference)
    result = np.int64(changed + np.int64(output_zp))
    return np.bool_(fits_i32(difference) & np.bool_(fits_i32(changed) & fits_i32(result)))


@of("i8", "i16", "i32")
def shl_ok(a: Number, b: Number) -> Number:
    """The shift is less than the bits of the type."""
    return in_range(b, np.int64(0), np.int64(BITS - 1))


@of("i8", "i16", "i32")
def lshr_ok(a: Number, b: Number) -> Number:
    """The shift is less than the bits of the type."""
    return in_range(b, np.int64(0), np.int64(BITS - 1))


@of("i8", "i16", "i32")
def ashr_ok(a: Number, b: Number) -> Number:
    """The shift is less than the bits of the type."""
    return in_range(b, np.int64(0), np.int64(BITS - 1))


@of("i8", "i16", "i32")
def ashr_round_ok(a: Number, b: Number) -> Number:
    """The shift is less than the bits of the type."""
    return in_range(b, np.int64(0), np.int64(BITS - 1))


def scale_ok(multiplier: Number, shift: Number) -> Number:
    """Multiplier and shift are in range."""
    return np.bool_(np.bool_(np.int64(multiplier) >= 0) & in_range(shift, np.int64(2), np.int64(62)))


def apply_scale_32_ok(value: Number, multiplier: Number, shift: Number) -> Number:
    """Multiplier and shift are in range, and the value has at most `shift` bits."""
    top = np.int64(np.int64(value) >> np.int64(np.int64(np.int64(shift) - 1) & 63))
    narrow = in_range(top, np.int64(-1), np.int64(0))
    return np.bool_(scale_ok(multiplier, shift) & np.bool_(narrow & fits_i32(value)))


def apply_scale_32_double_ok(value: Number, multiplier: Number, shift: Number) -> Number:
    """Multiplier and shift are in range, and the value has at most `shift` bits."""
    return apply_scale_32_ok(value, multiplier, shift)


def apply_scale_16_ok(value: Number, multiplier: Number, shift: Number) -> Number:
    """Multiplier and shift are in range, and the result fits."""
    amount = np.int64(np.int64(shift) & 63)
    half = np.int64(np.int64(1) << np.int64(np.int64(amount - 1) & 63))
    scaled = np.int64(np.int64(np.int64(np.int64(value) * np.int64(multiplier)) + half) >> amount)
    return np.bool_(scale_ok(multiplier, shift) & fits_i32(scaled))


def rescale_32_ok(
    value: Number, input_zp: Number, multiplier: Number, shift: Number, output_zp: Number
) -> Number:
    """Scaling is allowed, and adding the zero point does not overflow."""
    difference = np.int64(np.int64(value) - np.int64(input_zp))
    scaled = apply_scale_32(np.int32(difference), multiplier, shift)
    sum_fits = fits_i32(np.int64(np.int64(scaled) + np.int64(output_zp)))
    return np.bool_(apply_scale_32_ok(difference, multiplier, shift) & sum_fits)


def rescale_32_double_ok(
    value: Number, input_zp: Number, multiplier: Number, shift: Number, output_zp: Number
) -> Number:
    """Scaling is allowed, and adding the zero point does not overflow."""
    difference = np.int64(np.int64(value) - np.int64(input_zp))
    scaled = apply_scale_32_double(np.int32(difference), multiplier, shift)
    sum_fits = fits_i32(np.int64(np.int64(scaled) + np.int64(output_zp)))
    return np.bool_(apply_scale_32_ok(difference, multiplier, shift) & sum_fits)


def rescale_16_ok(
    value: Number, input_zp: Number, multiplier: Number, shift: Number, output_zp: Number
) -> Number:
    """Scaling is allowed, and adding the zero point does not overflow."""
    difference = np.int64(np.int64(value) - np.int64(input_zp))
    scaled = apply_scale_16(difference, multiplier, shift)
    sum_fits = fits_i32(np.int64(np.int64(scaled) + np.int64(output_zp)))
    return np.bool_(apply_scale_16_ok(difference, multiplier, shift) & sum_fits)


def reciprocal_multiplier_ok(value: Number) -> Number:
    """There is something to divide by."""
    return np.bool_(np.int64(value) != 0)


def table_interpolate_ok(base: Number, next_: Number, value: Number) -> Number:
    """The slope is an int16."""
    return in_range(np.int64(np.int64(next_) - np.int64(base)), np.int64(-32768), np.int64(32767))


def first_write_ok(repeats: Number) -> Number:
    """Every place is written once."""
    return np.bool_(np.int64(repeats) == 0)


def index_ok(index: Number, size: Number) -> Number:
    """An index read from data is inside its axis."""
    return np.bool_(np.bool_(np.int64(index) >= 0) & np.bool_(np.int64(index) < np.int64(size)))
