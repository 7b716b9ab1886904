"""The integer arithmetic of TOSA (1.0.1 section 4.5 and the operators' pseudo-code), one scalar at a time.

This text is copied into kernels (see `scalars.py`), and the same text runs in plain Python on NumPy scalars.
`T` stands for each type of `@of` in turn, `U` for its unsigned partner; `BITS`, `LOW`, `HIGH` for its range:
`add` defines `add_i8`, `add_i16`, and so on; `max_` defines `max_i8`.
The rules that keep both readings equal, and loops over them fast:

* each step is cast, because Numba computes in int64 where NumPy computes in the type of the operands;
* a body is assignments and one return, without branches: it is inlined, and loops over it vectorise;
* never uint64 with an int64: Numba makes a float64 of them;
* `multiply_high` of two uint32 is an intrinsic of kernels, and a function of `scalars.py` in Python.

What a REQUIRE forbids gives some value and never traps; `requires.py` tells when that is. int64 holds int48.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

Number = Any
T: Any = np.int64
U: Any = np.uint32
BITS: Any = 64
LOW: Any = 0
HIGH: Any = 0
multiply_high: Any = None
INTEGERS = ("i8", "i16", "i32", "i64")


def of(*types: str) -> Callable[[Callable[..., Number]], Callable[..., Number]]:
    """Define the scalar for several types, named with a suffix each."""
    return lambda definition: definition


# Casts: narrowing keeps the low bits, widening extends (TOSA 1.0.1 section 4.5.2).


def to_bool(value: Number) -> Number:
    """Tell whether a value is not zero."""
    return np.bool_(value != 0)


def to_i8(value: Number) -> Number:
    """Keep the low 8 bits."""
    return np.int8(value)


def to_u8(value: Number) -> Number:
    """Keep the low 8 bits."""
    return np.uint8(value)


def to_i16(value: Number) -> Number:
    """Keep the low 16 bits."""
    return np.int16(value)


def to_u16(value: Number) -> Number:
    """Keep the low 16 bits."""
    return np.uint16(value)


def to_i32(value: Number) -> Number:
    """Keep the low 32 bits."""
    return np.int32(value)


def to_i64(value: Number) -> Number:
    """Widen to 64 bits."""
    return np.int64(value)


def saturate_i8(value: Number) -> Number:
    """Clip to int8."""
    return np.int8(min(max(np.int64(value), np.int64(-128)), np.int64(127)))


def saturate_u8(value: Number) -> Number:
    """Clip to unsigned 8 bits."""
    return np.uint8(min(max(np.int64(value), np.int64(0)), np.int64(255)))


def saturate_i16(value: Number) -> Number:
    """Clip to int16."""
    return np.int16(min(max(np.int64(value), np.int64(-32768)), np.int64(32767)))


def saturate_u16(value: Number) -> Number:
    """Clip to unsigned 16 bits."""
    return np.uint16(min(max(np.int64(value), np.int64(0)), np.int64(65535)))


def saturate_i32(value: Number) -> Number:
    """Clip to int32."""
    return np.int32(min(max(np.int64(value), np.int64(-(1 << 31))), np.int64((1 << 31) - 1)))


# Arithmetic; it wraps.


@of(*INTEGERS)
def add(a: Number, b: Number) -> Number:
    """Add."""
    return T(np.int64(a) + np.int64(b))


@of(*INTEGERS)
def sub(a: Number, b: Number) -> Number:
    """Subtract."""
    return T(np.int64(a) - np.int64(b))


@of(*INTEGERS)
def mul(a: Number, b: Number) -> Number:
    """Multiply; MUL without a shift, its operands widened first."""
    return T(np.int64(a) * np.int64(b))


@of(*INTEGERS)
def neg(a: Number) -> Number:
    """Change the sign."""
    return T(np.int64(0) - np.int64(a))


@of(*INTEGERS)
def abs_(a: Number) -> Number:
    """Take the magnitude; of the minimum, itself."""
    sign = np.int64(np.int64(a) >> 63)
    return T(np.int64(np.int64(a) ^ sign) - sign)


@of(*INTEGERS)
def max_(a: Number, b: Number) -> Number:
    """Take the greater."""
    return T(max(np.int64(a), np.int64(b)))


@of(*INTEGERS)
def min_(a: Number, b: Number) -> Number:
    """Take the lesser."""
    return T(min(np.int64(a), np.int64(b)))


@of(*INTEGERS)
def clip(value: Number, min_val: Number, max_val: Number) -> Number:
    """Clip, the lower bound first (apply_clip_s)."""
    return T(min(max(np.int64(value), np.int64(min_val)), np.int64(max_val)))


def mul_high_i32(a: Number, b: Number) -> Number:
    """Take the upper half of the product of the bits as unsigned numbers."""
    return np.int32(multiply_high(np.uint32(a), np.uint32(b)))


def mul_shift_i32(a: Number, b: Number, shift: Number) -> Number:
    """Multiply, add half and shift right; with shift 0 the low bits (TOSA 1.0.1 section 2.5.14)."""
    amount = np.int64(np.int64(shift) & 63)
    below = np.int64(np.int64(amount - 1) & 63)
    half = np.int64(np.int64(np.int64(1) << below) * np.int64(amount > 0))
    return np.int32(np.int64(np.int64(np.int64(a) * np.int64(b)) + half) >> amount)


def intdiv_i32(a: Number, b: Number) -> Number:
    """Divide towards zero, exactly: float64 cannot round a quotient of int32 to the next integer."""
    divisor = np.float64(np.int64(b) + np.int64(b == 0))
    return np.int32(np.int64(np.float64(np.float64(a) / divisor)))


@of("i8", "i16", "i32")
def negate(value: Number, input1_zp: Number, output_zp: Number) -> Number:
    """NEGATE (TOSA 1.0.1 section 2.6.10); its accumulator has 32 bits, the result saturates."""
    difference = np.int32(np.int64(value) - np.int64(input1_zp))
    result = np.int64(np.int32(np.int64(output_zp) - np.int64(difference)))
    return T(min(max(result, np.int64(LOW)), np.int64(HIGH)))


# Bits and shifts. Of a shift amount the low five bits count.


@of("bool", *INTEGERS)
def and_(a: Number, b: Number) -> Number:
    """Take the bits that both have."""
    return T(a & b)


@of("bool", *INTEGERS)
def or_(a: Number, b: Number) -> Number:
    """Take the bits that either has."""
    return T(a | b)


@of("bool", *INTEGERS)
def xor(a: Number, b: Number) -> Number:
    """Take the bits that one of the two has."""
    return T(a ^ b)


@of("bool", *INTEGERS)
def not_(a: Number) -> Number:
    """Invert all bits."""
    return T(a ^ T(-1))


@of("i8", "i16", "i32")
def shl(a: Number, b: Number) -> Number:
    """Shift left (LOGICAL_LEFT_SHIFT)."""
    return T(np.int64(a) << np.int64(np.int64(b) & 31))


@of("i8", "i16", "i32")
def lshr(a: Number, b: Number) -> Number:
    """Shift right, filling with zeros (LOGICAL_RIGHT_SHIFT)."""
    return T(np.int64(U(a)) >> np.int64(np.int64(b) & 31))


@of("i8", "i16", "i32")
def ashr(a: Number, b: Number) -> Number:
    """Shift right, keeping the sign (ARITHMETIC_RIGHT_SHIFT)."""
    return T(np.int64(a) >> np.int64(np.int64(b) & 31))


@of("i8", "i16", "i32")
def ashr_round(a: Number, b: Number) -> Number:
    """Shift right, keeping the sign, and add the last bit shifted out (ARITHMETIC_RIGHT_SHIFT)."""
    amount = np.int64(np.int64(b) & 31)
    last = np.int64(amount > 0)
    before = T(np.int64(a) >> np.int64(amount - last))
    return T(np.int64(np.int64(before) >> last) + np.int64(np.int64(before) & last))


def clz_i32(a: Number) -> Number:
    """Count the zeros above the highest one (TOSA 1.0.1 section 4.5.1), without branches."""
    x0 = np.uint32(a)
    x1 = np.uint32(x0 | np.uint32(x0 >> np.uint32(1)))
    x2 = np.uint32(x1 | np.uint32(x1 >> np.uint32(2)))
    x4 = np.uint32(x2 | np.uint32(x2 >> np.uint32(4)))
    x8 = np.uint32(x4 | np.uint32(x4 >> np.uint32(8)))
    ones = np.uint32(x8 | np.uint32(x8 >> np.uint32(16)))
    pairs = np.uint32(ones - np.uint32(np.uint32(ones >> np.uint32(1)) & np.uint32(0x55555555)))
    high = np.uint32(np.uint32(pairs >> np.uint32(2)) & np.uint32(0x33333333))
    fours = np.uint32(np.uint32(pairs & np.uint32(0x33333333)) + high)
    octets = np.uint32(np.uint32(fours + np.uint32(fours >> np.uint32(4))) & np.uint32(0x0F0F0F0F))
    total = np.uint32(np.uint32(octets * np.uint32(0x01010101)) >> np.uint32(24))
    return np.int32(np.int64(32) - np.int64(total))


# Comparison and choice.


@of("bool", *INTEGERS)
def eq(a: Number, b: Number) -> Number:
    """Tell whether they are equal."""
    return np.bool_(a == b)


@of("bool", *INTEGERS)
def gt(a: Number, b: Number) -> Number:
    """Tell whether the first is greater."""
    return np.bool_(a > b)


@of("bool", *INTEGERS)
def ge(a: Number, b: Number) -> Number:
    """Tell whether the first is greater or equal."""
    return np.bool_(a >= b)


@of("bool", *INTEGERS)
def select(condition: Number, a: Number, b: Number) -> Number:
    """Take `a` where the condition holds; named by the type of the choices.

    By masking: of a conditional LLVM makes a choice between addresses, element by element.
    """
    mask = np.int64(0) - np.int64(condition)
    return T(np.int64(b) ^ np.int64(np.int64(np.int64(a) ^ np.int64(b)) & mask))


# Scaling (TOSA 1.0.1 sections 2.13.2 and 4.5.5).


def apply_scale_32(value: Number, multiplier: Number, shift: Number) -> Number:
    """Scale by multiplier / 2**shift and round once; INEXACT_ROUND too."""
    amount = np.int64(np.int64(shift) & 63)
    half = np.int64(np.int64(1) << np.int64(np.int64(amount - 1) & 63))
    return np.int32(np.int64(np.int64(np.int64(value) * np.int64(multiplier)) + half) >> amount)


def apply_scale_32_double(value: Number, multiplier: Number, shift: Number) -> Number:
    """Scale with DOUBLE_ROUND: for shifts above 31, 2**30 more away from zero."""
    amount = np.int64(np.int64(shift) & 63)
    half = np.int64(np.int64(1) << np.int64(np.int64(amount - 1) & 63))
    more = np.int64(np.int64(amount > 31) << 30)
    product = np.int64(np.int64(value) * np.int64(multiplier))
    less = np.int64(np.int64(more << 1) & np.int64(product >> 63))
    return np.int32(np.int64(np.int64(product + np.int64(half + more)) - less) >> amount)


def apply_scale_16(value: Number, multiplier: Number, shift: Number) -> Number:
    """Scale an int48 by multiplier / 2**shift."""
    amount = np.int64(np.int64(shift) & 63)
    half = np.int64(np.int64(1) << np.int64(np.int64(amount - 1) & 63))
    return np.int32(np.int64(np.int64(np.int64(value) * np.int64(multiplier)) + half) >> amount)


def rescale_32(
    value: Number, input_zp: Number, multiplier: Number, shift: Number, output_zp: Number
) -> Number:
    """RESCALE with scale32, before saturation; widen unsigned values and zero points first."""
    scaled = apply_scale_32(np.int32(np.int64(value) - np.int64(input_zp)), multiplier, shift)
    return np.int32(np.int64(scaled) + np.int64(output_zp))


def rescale_32_double(
    value: Number, input_zp: Number, multiplier: Number, shift: Number, output_zp: Number
) -> Number:
    """RESCALE with scale32 and DOUBLE_ROUND, before saturation."""
    scaled = apply_scale_32_double(np.int32(np.int64(value) - np.int64(input_zp)), multiplier, shift)
    return np.int32(np.int64(scaled) + np.int64(output_zp))


def rescale_16(
    value: Number, input_zp: Number, multiplier: Number, shift: Number, output_zp: Number
) -> Number:
    """RESCALE without scale32, before saturation."""
    scaled = apply_scale_16(np.int64(np.int64(value) - np.int64(input_zp)), multiplier, shift)
    return np.int32(np.int64(scaled) + np.int64(output_zp))


def reciprocal_shift(value: Number) -> Number:
    """Return the shift of reciprocal_scale."""
    return np.int32(62 - np.int64(clz_i32(np.int32(np.int64(value) - 1))))


def reciprocal_multiplier(value: Number) -> Number:
    """Return the multiplier of reciprocal_scale."""
    divisor = np.int64(np.int64(np.uint32(value)) + np.int64(value == 0))
    numerator = np.int64(np.int64((1 << 30) + 1) << np.int64(np.int64(reciprocal_shift(value)) - 30))
    return np.int32(numerator // divisor)


# TABLE (TOSA 1.0.1 section 1.12.5) and RESIZE (section 2.12.1).


def table_index_i8(value: Number) -> Number:
    """Return where int8 TABLE looks."""
    return np.int64(np.int64(value) + 128)


def table_index_i16(value: Number) -> Number:
    """Return where int16 TABLE looks: there and at the next entry."""
    return np.int64(np.int64(np.int64(value) + 32768) >> 7)


def table_interpolate(base: Number, next_: Number, value: Number) -> Number:
    """Interpolate between two entries of int16 TABLE (apply_lookup_s)."""
    slope = np.int32(np.int64(next_) - np.int64(base))
    fraction = np.int64(np.int64(value) & 0x7F)
    return np.int32(np.int64(np.int64(base) << 7) + np.int64(np.int64(slope) * fraction))


def first_write(repeats: Number) -> Number:
    """Give back how many writes to a place were before this one (SCATTER)."""
    return np.int32(repeats)


@of("i32", "i64")
def resize_blend(
    v00: Number, v01: Number, v10: Number, v11: Number, dy: Number, dx: Number, unit_y: Number, unit_x: Number
) -> Number:
    """Blend four neighbours; named by the type of the result (i64 holds int48)."""
    left = T(np.int64(unit_x) - np.int64(dx))
    top = T(np.int64(unit_y) - np.int64(dy))
    upper = T(np.int64(T(v00) * left) + np.int64(T(v01) * T(dx)))
    lower = T(np.int64(T(v10) * left) + np.int64(T(v11) * T(dx)))
    return T(np.int64(upper * top) + np.int64(lower * T(dy)))
