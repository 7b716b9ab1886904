"""The REQUIREs of the scalars, for checked execution: `<scalar>_ok` tells whether its arguments are allowed.

The same rules hold as in `scalars.py`, so that `scalar_source` can copy these into kernels too. They must be right
for every argument, the forbidden ones above all.
"""

import numpy as np

from tosajit.kernels.scalars import Integer


def fits_i32(value: np.int64) -> np.bool_:
    """Tell whether an int64 is an int32."""
    return np.bool_(np.int64(np.int32(value)) == value)


def fits_i48(value: np.int64) -> np.bool_:
    """Tell whether an int64 is an int48."""
    return np.bool_(np.int64(np.int64(value << np.int64(16)) >> np.int64(16)) == value)


def add_i32_ok(a: Integer, b: Integer) -> np.bool_:
    """No overflow."""
    return fits_i32(np.int64(np.int64(a) + np.int64(b)))


def sub_i32_ok(a: Integer, b: Integer) -> np.bool_:
    """No overflow."""
    return fits_i32(np.int64(np.int64(a) - np.int64(b)))


def add_i48_ok(a: np.int64, b: np.int64) -> np.bool_:
    """No overflow of 48 bits, given int48 operands."""
    return fits_i48(np.int64(a + b))


def sub_i48_ok(a: np.int64, b: np.int64) -> np.bool_:
    """No overflow of 48 bits, given int48 operands."""
    return fits_i48(np.int64(a - b))


def mul_shift_ok(a: np.int32, b: np.int32, shift: Integer) -> np.bool_:
    """The shift is in range, and the shifted product fits (a shift of 0 keeps the low bits of any product)."""
    amount = np.int64(np.int64(shift) & np.int64(63))
    in_range = np.bool_(np.int64(shift) == amount)
    half = np.int64(np.int64(1) << np.int64(np.int64(amount - np.int64(1)) & np.int64(63)))
    product = np.int64(np.int64(a) * np.int64(b))
    half_of_product = np.int64(product >> np.int64(1))
    low = np.int64(np.int64(product & np.int64(1)) + np.int64(half & np.int64(1)))
    half_of_sum = np.int64(np.int64(half_of_product + np.int64(half >> np.int64(1))) + np.int64(low >> np.int64(1)))
    shifted = np.int64(half_of_sum >> np.int64(np.int64(amount - np.int64(1)) & np.int64(63)))
    return np.bool_(in_range & np.bool_(np.bool_(amount == np.int64(0)) | fits_i32(shifted)))


def intdiv_i32_ok(a: np.int32, b: np.int32) -> np.bool_:
    """Neither a division by zero nor the minimum by -1."""
    overflow = np.bool_(np.bool_(np.int64(a) == np.int64(-(1 << 31))) & np.bool_(np.int64(b) == np.int64(-1)))
    return np.bool_(np.bool_(np.int64(b) != np.int64(0)) & np.bool_(overflow == np.bool_(False)))


def abs_i32_ok(a: np.int32) -> np.bool_:
    """Not the minimum."""
    return np.bool_(np.int64(a) != np.int64(-(1 << 31)))


def negate_i32_ok(a: np.int32) -> np.bool_:
    """Not the minimum."""
    return np.bool_(np.int64(a) != np.int64(-(1 << 31)))


def clip_ok(min_val: Integer, max_val: Integer) -> np.bool_:
    """The bounds are in order."""
    return np.bool_(np.int64(min_val) <= np.int64(max_val))


def shift_i8_ok(b: Integer) -> np.bool_:
    """A shift amount of int8 is in range."""
    return np.bool_(np.int64(np.int64(b) & np.int64(7)) == np.int64(b))


def shift_i16_ok(b: Integer) -> np.bool_:
    """A shift amount of int16 is in range."""
    return np.bool_(np.int64(np.int64(b) & np.int64(15)) == np.int64(b))


def shift_i32_ok(b: Integer) -> np.bool_:
    """A shift amount of int32 is in range."""
    return np.bool_(np.int64(np.int64(b) & np.int64(31)) == np.int64(b))


def scale_ok(multiplier: Integer, shift: Integer) -> np.bool_:
    """Multiplier and shift are in range."""
    low = np.bool_(np.int64(shift) >= np.int64(2))
    high = np.bool_(np.int64(shift) <= np.int64(62))
    return np.bool_(np.bool_(np.int64(multiplier) >= np.int64(0)) & np.bool_(low & high))


def apply_scale_32_ok(value: Integer, multiplier: np.int32, shift: Integer) -> np.bool_:
    """Multiplier and shift are in range, and the value fits in `shift` bits."""
    top = np.int64(np.int64(value) >> np.int64(np.int64(np.int64(shift) - np.int64(1)) & np.int64(63)))
    fits = np.bool_(np.int64(np.int64(top + np.int64(1)) & np.int64(-2)) == np.int64(0))
    return np.bool_(scale_ok(multiplier, shift) & np.bool_(fits & fits_i32(np.int64(value))))


def apply_scale_16_ok(value: np.int64, multiplier: np.int16, shift: Integer) -> np.bool_:
    """Multiplier and shift are in range, and the result fits."""
    amount = np.int64(np.int64(shift) & np.int64(63))
    half = np.int64(np.int64(1) << np.int64(np.int64(amount - np.int64(1)) & np.int64(63)))
    product = np.int64(np.int64(value) * np.int64(multiplier))
    return np.bool_(scale_ok(multiplier, shift) & fits_i32(np.int64(np.int64(product + half) >> amount)))


def table_interpolate_ok(base: np.int16, next_: np.int16) -> np.bool_:
    """The slope fits in int16."""
    slope = np.int32(np.int32(next_) - np.int32(base))
    return np.bool_(np.int32(np.int16(slope)) == slope)


def index_ok(index: Integer, size: Integer) -> np.bool_:
    """An index read from data is inside its axis."""
    below = np.bool_(np.int64(index) < np.int64(size))
    return np.bool_(np.bool_(np.int64(index) >= np.int64(0)) & below)
