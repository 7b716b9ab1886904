"""The floating-point arithmetic of TOSA (1.0.1 sections 1.8 and 4.5), one scalar at a time.

As in `arithmetic.py`, this text is copied into kernels and runs in plain Python too. Every value is a
float32; `T` rounds it to the type that the scalar is for, so that a chain of operators rounds after each of
them, as the specification does. Of float32 sums, products and quotients, rounding once more to a narrow type
is rounding the exact ones: float32 has more than twice as many bits. Subnormal numbers are kept, NaN
propagates unless the name says `ignore`.
"""

from typing import Any

import numpy as np

from tosajit.kernels.arithmetic import Number, of

T: Any = np.float32
choose: Any = None
float_floor = float_ceil = float_even = float_root = float_abs = bits_of = float_of = choose
nearest_bf16 = round_f16 = round_bf16 = round_f8e4m3 = round_f8e5m2 = choose
FLOATS = ("f16", "bf16", "f32")
ALL = ("f16", "bf16", "f32", "f8e4m3", "f8e5m2")


# Conversion (TOSA 1.0.1 section 2.13.1).


def to_f32(value: Number) -> Number:
    """Convert a number of any type, rounding to nearest even."""
    return np.float32(value)


def to_f16(value: Number) -> Number:
    """Round to half precision."""
    return round_f16(np.float32(value))


def to_bf16(value: Number) -> Number:
    """Round to bfloat16."""
    return nearest_bf16(np.float32(value))


def to_f8e4m3(value: Number) -> Number:
    """Round to E4M3; what is too large becomes NaN."""
    return round_f8e4m3(np.float32(value))


def to_f8e5m2(value: Number) -> Number:
    """Round to E5M2; what is too large becomes infinity."""
    return round_f8e5m2(np.float32(value))


def i32_to_f32(value: Number) -> Number:
    """Convert an integer, rounding to nearest even."""
    return np.float32(value)


def i32_to_f16(value: Number) -> Number:
    """Convert an integer; those that float32 rounds are infinite."""
    return round_f16(np.float32(value))


def i32_to_bf16(value: Number) -> Number:
    """Convert an integer, rounding once: what float32 cannot hold leaves an odd last bit."""
    rest = np.int32(np.int32(np.int32(value & 255) + 255) >> 8)
    odd = np.int32(np.int32(np.int32(value >> 8) | rest) << 8)
    small = np.bool_(np.bool_(value > -16777216) & np.bool_(value < 16777216))
    return round_bf16(np.float32(choose(small, np.int32(value), odd)))


def float_to_i8(value: Number) -> Number:
    """Round to nearest even and saturate; of NaN, zero."""
    return np.int8(np.int32(float_even(within(value, np.float32(-128), np.float32(127)))))


def float_to_i16(value: Number) -> Number:
    """Round to nearest even and saturate; of NaN, zero."""
    return np.int16(np.int32(float_even(within(value, np.float32(-32768), np.float32(32767)))))


def float_to_i32(value: Number) -> Number:
    """Round to nearest even and saturate; of NaN, zero."""
    inside = within(value, np.float32(-2147483648), np.float32(2147483520))
    return choose(value >= np.float32(2147483648), np.int32(2147483647), np.int32(float_even(inside)))


def within(value: Number, least: Number, most: Number) -> Number:
    """Clip; of NaN, zero. LLVM would round a half that comes as it is without vectors."""
    return np.float32(min(max(choose(value == value, value, np.float32(0)), least), most))


# Arithmetic.


@of(*FLOATS)
def add(a: Number, b: Number) -> Number:
    """Add."""
    return T(np.float32(a + b))


@of(*FLOATS)
def sub(a: Number, b: Number) -> Number:
    """Subtract."""
    return T(np.float32(a - b))


@of(*FLOATS)
def mul(a: Number, b: Number) -> Number:
    """Multiply."""
    return T(np.float32(a * b))


@of(*FLOATS)
def div(a: Number, b: Number) -> Number:
    """Divide."""
    return T(np.float32(a / b))


@of(*FLOATS)
def neg(a: Number) -> Number:
    """Change the sign."""
    return np.float32(-a)


@of(*FLOATS)
def abs_(a: Number) -> Number:
    """Take the magnitude."""
    return float_abs(a)


@of(*FLOATS)
def max_(a: Number, b: Number) -> Number:
    """Take the greater; NaN if one of the two is."""
    return choose(a != a, a, choose(a > b, a, b))


@of(*FLOATS)
def min_(a: Number, b: Number) -> Number:
    """Take the lesser; NaN if one of the two is."""
    return choose(a != a, a, choose(a < b, a, b))


@of(*FLOATS)
def max_ignore(a: Number, b: Number) -> Number:
    """Take the greater; NaN only if both are."""
    return choose(b != b, a, choose(a > b, a, b))


@of(*FLOATS)
def min_ignore(a: Number, b: Number) -> Number:
    """Take the lesser; NaN only if both are."""
    return choose(b != b, a, choose(a < b, a, b))


@of(*FLOATS)
def clip(value: Number, min_val: Number, max_val: Number) -> Number:
    """Clip, the lower bound first; NaN stays."""
    above = choose(value < min_val, min_val, value)
    return choose(above > max_val, max_val, above)


@of(*FLOATS)
def clip_ignore(value: Number, min_val: Number, max_val: Number) -> Number:
    """Clip, the lower bound first; NaN becomes the lower bound."""
    above = choose(value >= min_val, value, min_val)
    return choose(above > max_val, max_val, above)


def half_rank(bits: Number) -> Number:
    """Order the bits of half precision, from -infinity at 0 to infinity at 63488, NaN beyond."""
    sign = np.int16(bits >> 15)
    magnitude = np.int16(np.int16(bits & 32767) ^ sign)
    return np.uint16(np.int64(np.int64(magnitude) - np.int64(sign)) + np.int64(31744))


def half_above(first: Number, second: Number) -> Number:
    """Tell from their ranks whether a number is greater than another one, which is not NaN."""
    return np.bool_(
        np.uint16(np.int64(63488) - np.int64(first)) < np.uint16(np.int64(63488) - np.int64(second))
    )


def half_clip(value: Number, min_val: Number, max_val: Number) -> Number:
    """Clip half precision by its bits between bounds in order; NaN stays."""
    rank = half_rank(value)
    above = choose(rank < half_rank(min_val), min_val, value)
    return choose(half_above(rank, half_rank(max_val)), max_val, above)


def half_clip_ignore(value: Number, min_val: Number, max_val: Number) -> Number:
    """Clip half precision by its bits between bounds in order; NaN becomes the lower bound."""
    rank = half_rank(value)
    least = np.bool_(rank < half_rank(min_val))
    above = choose(np.bool_(least | np.bool_(rank > 63488)), min_val, value)
    return choose(half_above(rank, half_rank(max_val)), max_val, above)


@of("f32", "bf16")
def floor(a: Number) -> Number:
    """Round down to an integer."""
    return float_floor(a)


@of("f32", "bf16")
def ceil(a: Number) -> Number:
    """Round up to an integer."""
    return float_ceil(a)


@of("f16")
def floor_(a: Number) -> Number:
    """Round down to an integer."""
    near = half_even(a)
    return signed(np.float32(near - choose(near > a, np.float32(1), np.float32(0))), a)


@of("f16")
def ceil_(a: Number) -> Number:
    """Round up to an integer."""
    near = half_even(a)
    return signed(np.float32(near + choose(near < a, np.float32(1), np.float32(0))), a)


def half_even(a: Number) -> Number:
    """Round half precision to an integer, by adding much: LLVM has no instruction for vectors of halves."""
    small = np.float32(np.float32(a + np.float32(12582912)) - np.float32(12582912))
    return choose(float_abs(a) < np.float32(2048), small, a)


def signed(value: Number, like: Number) -> Number:
    """A number with the sign of another one, where it is zero."""
    return float_of(np.int32(bits_of(value) | np.int32(bits_of(like) & np.int32(-2147483648))))


@of(*FLOATS)
def reciprocal(a: Number) -> Number:
    """Divide one by the number."""
    return T(np.float32(np.float32(1) / a))


@of(*FLOATS)
def select(condition: Number, a: Number, b: Number) -> Number:
    """Take a number as it is: kernels that do nothing else do this with bits."""
    return choose(condition, a, b)


# Comparison.


@of(*FLOATS)
def eq(a: Number, b: Number) -> Number:
    """Tell whether they are equal; NaN never is."""
    return np.bool_(a == b)


@of(*FLOATS)
def gt(a: Number, b: Number) -> Number:
    """Tell whether the first is greater."""
    return np.bool_(a > b)


@of(*FLOATS)
def ge(a: Number, b: Number) -> Number:
    """Tell whether the first is greater or equal."""
    return np.bool_(a >= b)


# Of whole operators.


def key_f32(value: Number, place: Number) -> Number:
    """An integer that is the greater, the greater the number is, then the smaller its place.

    ARGMAX (TOSA 1.0.1 section 2.3.1) takes both zeros for equal, and all NaN, which are above all else.
    """
    bits = bits_of(np.float32(value + np.float32(0)))
    ordered = np.int32(bits ^ np.int32(np.int32(bits >> 31) & 2147483647))
    first = np.int64(choose(value != value, np.int32(2147483647), ordered))
    return np.int64(np.int64(first * 4294967296) + np.int64(2147483647 - np.int64(place)))


def key_ignore_f32(value: Number, place: Number) -> Number:
    """The same with NaN below all else."""
    last = np.int64(np.int64(-2147483647 * 4294967296) + np.int64(2147483647 - np.int64(place)))
    return choose(value != value, last, key_f32(value, place))


def interpolate_f32(v00: Number, v01: Number, v10: Number, v11: Number, dy: Number, dx: Number) -> Number:
    """Blend four neighbours as RESIZE does (TOSA 1.0.1 section 2.12.1)."""
    top, left = np.float32(np.float32(1) - dy), np.float32(np.float32(1) - dx)
    upper = np.float32(np.float32(np.float32(v00 * top) * left) + np.float32(np.float32(v01 * top) * dx))
    lower = np.float32(np.float32(np.float32(v10 * dy) * left) + np.float32(np.float32(v11 * dy) * dx))
    return np.float32(upper + lower)
