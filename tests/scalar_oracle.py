"""What every scalar computes and what it may not be given, in unbounded integers and float64.

Written from the specification, not from the text of the kernels. An oracle returns FORBIDDEN for what a
REQUIRE excludes, and ANYTHING where nothing asks for a value.
"""

import math
import struct
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from tiling.scalars import Scalar

FORBIDDEN, ANYTHING = "forbidden", "anything"
INTEGERS = {"i8": 8, "u8": 8, "i16": 16, "u16": 16, "i32": 32, "i64": 64}
FLOATS = {
    "f16": (11, -24, 65504.0),
    "bf16": (8, -133, (2 - 2**-7) * 2.0**127),
    "f32": (24, -149, (2 - 2**-23) * 2.0**127),
    "f8e4m3": (4, -9, 448.0),
    "f8e5m2": (3, -16, 57344.0),
}
"""Bits of a significand, exponent of the least number, greatest number."""


def bounds(type: str) -> tuple[int, int]:
    """The least and the greatest value of an integer type; i64 holds int48."""
    if type.startswith("u"):
        return 0, (1 << INTEGERS[type]) - 1
    half = 1 << (47 if type == "i64" else INTEGERS[type] - 1)
    return -half, half - 1


def wrapped(type: str, value: int) -> int:
    """The low bits of an integer."""
    bits = INTEGERS[type]
    low = value % (1 << bits)
    return low if type.startswith("u") or low < 1 << (bits - 1) else low - (1 << bits)


def rounded(type: str, value: float) -> float:
    """The number of a format that is nearest, of two the even one."""
    if not math.isfinite(value) or value == 0:
        return math.nan if type == "f8e4m3" and value else value
    bits, least, most = FLOATS[type]
    quantum = 2.0 ** max(math.frexp(value)[1] - bits, least)
    found = round(value / quantum) * quantum
    if abs(found) > most:
        return math.nan if type == "f8e4m3" else math.copysign(math.inf, value)
    return math.copysign(found, value)


def clipped(value: Any, low: Any, high: Any) -> Any:
    """The value within bounds."""
    return min(max(value, low), high)


def number(row: Scalar, value: Any) -> Any:
    """A result as the type of a scalar holds it: integers wrap."""
    if row.result == "bool":
        return bool(value)
    return wrapped(row.result, int(value)) if row.result in INTEGERS else rounded(row.result, float(value))


def wraps(body: Callable[..., Any]) -> Callable[..., Any]:
    """The oracle of what wraps or rounds."""
    return lambda row, *values: number(row, body(*values))


def fits(body: Callable[..., Any]) -> Callable[..., Any]:
    """The same of what integers must not overflow."""

    def oracle(row: Scalar, *values: Any) -> Any:
        found = body(*values)
        if row.result in INTEGERS and not bounds(row.result)[0] <= found <= bounds(row.result)[1]:
            return FORBIDDEN
        return number(row, found)

    return oracle


def real(body: Callable[..., Any]) -> Callable[..., Any]:
    """The oracle of a function of real numbers."""

    def oracle(row: Scalar, *values: float) -> float:
        with np.errstate(all="ignore"):
            return rounded(row.result, float(body(*map(np.float64, values))))

    return oracle


def saturate(row: Scalar, value: int) -> int:
    low, high = (-(1 << 31), (1 << 31) - 1) if row.result == "i32" else bounds(row.result)
    return int(clipped(value, low, high))


def float_to(row: Scalar, value: float) -> Any:
    if math.isnan(value):
        return FORBIDDEN
    return clipped(round(clipped(value, -1e10, 1e10)), *bounds(row.result))


def magnitude(row: Scalar, value: Any) -> Any:
    return FORBIDDEN if row.result == "i32" and value == -(1 << 31) else number(row, abs(value))


def extreme(choose: Callable[..., Any], ignore: bool, row: Scalar, a: Any, b: Any) -> Any:
    numbers = [value for value in (a, b) if value == value]
    if len(numbers) == 2 or (ignore and numbers):
        return choose(numbers)
    return math.nan


def clip(ignore: bool, row: Scalar, value: Any, low: Any, high: Any) -> Any:
    if not low <= high:
        return FORBIDDEN
    if value != value:
        return low if ignore else math.nan
    return clipped(value, low, high)


def mul_shift(row: Scalar, a: int, b: int, shift: int) -> Any:
    if not 0 <= shift <= 63:
        return FORBIDDEN
    if shift == 0:
        return wrapped("i32", a * b)
    return fits(lambda: (a * b + (1 << shift >> 1)) >> shift)(row)


def intdiv(row: Scalar, a: int, b: int) -> Any:
    if b == 0 or (a, b) == (-(1 << 31), -1):
        return FORBIDDEN
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def negate(row: Scalar, value: int, input1_zp: int, output_zp: int) -> Any:
    steps = (value - input1_zp, input1_zp - value, input1_zp - value + output_zp)
    if not all(-(1 << 31) <= step < 1 << 31 for step in steps):
        return FORBIDDEN
    return clipped(steps[-1], *bounds(row.result))


def bits(body: Callable[..., Any]) -> Callable[..., Any]:
    return lambda row, *values: number(row, body(*map(int, values)))


def shift(body: Callable[..., Any]) -> Callable[..., Any]:
    """A shift by less than the bits of the type."""

    def oracle(row: Scalar, a: int, b: int) -> Any:
        size = INTEGERS[row.type]
        return number(row, body(a, b, size)) if 0 <= b < size else FORBIDDEN

    return oracle


def rounded_shift(a: int, b: int, size: int) -> int:
    return (a >> b) + (b > 0 and (a >> (b - 1)) & 1)


def scaled(value: int, multiplier: int, shift: int, double: bool) -> int:
    half = 1 << (shift - 1)
    if double and shift > 31:
        half += 1 << 30 if value >= 0 else -(1 << 30)
    return (value * multiplier + half) >> shift


def scale_32(double: bool, row: Scalar, value: int, multiplier: int, shift: int) -> Any:
    if multiplier < 0 or not 2 <= shift <= 62 or not -(1 << shift - 1) <= value < 1 << shift - 1:
        return FORBIDDEN
    return wrapped("i32", scaled(value, multiplier, shift, double))


def rescale_32(double: bool, row: Scalar, value: int, zero: int, factor: int, shift: int, out: int) -> Any:
    less = value - zero
    found = scale_32(double, row, less, factor, shift)
    if found is FORBIDDEN or not -(1 << 31) <= less < 1 << 31:
        return FORBIDDEN
    return fits(lambda: found + out)(row)


def rescale_16(row: Scalar, value: int, zero: int, factor: int, shift: int, out: int) -> Any:
    if factor < 0 or not 2 <= shift <= 62:
        return FORBIDDEN
    if abs(value - zero) >= 1 << 48 or factor >= 1 << 15:
        return ANYTHING  # operands of 48 and 16 bits are declared
    found = scaled(value - zero, factor, shift, False)
    if not -(1 << 31) <= found < 1 << 31:
        return FORBIDDEN
    return fits(lambda: found + out)(row)


def reciprocal(place: int, row: Scalar, value: int) -> Any:
    if value == 0:
        return FORBIDDEN if place == 0 else ANYTHING
    if value < 0:
        return ANYTHING
    k = (value - 1).bit_length()
    return ((((1 << 30) + 1) << k) // value, 30 + k)[place]


def power(a: Any, b: Any) -> Any:
    return np.power(a, b)


def pow_(row: Scalar, a: float, b: float) -> Any:
    if not (math.isfinite(a) and math.isfinite(b)) or a < 0 or (a == 0 and b <= 0):
        return FORBIDDEN
    return real(power)(row, a, b)


def table_interpolate(row: Scalar, base: int, following: int, value: int) -> Any:
    if not -32768 <= following - base <= 32767:
        return FORBIDDEN
    return (base << 7) + (following - base) * (value & 0x7F)


def resize_blend(row: Scalar, *values: int) -> int:
    v00, v01, v10, v11, dy, dx, unit_y, unit_x = values
    upper = v00 * (unit_y - dy) * (unit_x - dx) + v01 * (unit_y - dy) * dx
    return wrapped(row.result, upper + v10 * dy * (unit_x - dx) + v11 * dy * dx)


def interpolate(row: Scalar, *values: float) -> Any:
    v00, v01, v10, v11, dy, dx = values
    if not all(map(math.isfinite, values)) or not (0 <= dy <= 1 and 0 <= dx <= 1):
        return ANYTHING
    return v00 * (1 - dy) * (1 - dx) + v01 * (1 - dy) * dx + v10 * dy * (1 - dx) + v11 * dy * dx


def key(ignore: bool, row: Scalar, value: float, place: int) -> Any:
    if not 0 <= place < 1 << 31:
        return ANYTHING
    (pattern,) = struct.unpack("<i", struct.pack("<f", value))
    rank = 0 if value == 0 else pattern if pattern > 0 else -(pattern & 0x7FFFFFFF) - 1
    if math.isnan(value):
        rank = -(1 << 31) + 1 if ignore else (1 << 31) - 1
    return (rank << 32) + (1 << 31) - 1 - place


def first_write(row: Scalar, repeats: int) -> Any:
    return 0 if repeats == 0 else FORBIDDEN


ORACLES: Mapping[str, Callable[..., Any]] = {
    "to": wraps(lambda value: value),
    "saturate": saturate,
    "float_to": float_to,
    "i32_to": wraps(lambda value: value),
    "add": fits(lambda a, b: a + b),
    "sub": fits(lambda a, b: a - b),
    "mul": wraps(lambda a, b: a * b),
    "mul_high": wraps(lambda a, b: (a % (1 << 32)) * (b % (1 << 32)) >> 32),
    "mul_shift": mul_shift,
    "intdiv": intdiv,
    "div": real(np.divide),
    "reciprocal": real(np.reciprocal),
    "neg": wraps(lambda a: -a),
    "abs": magnitude,
    "negate": negate,
    "max": partial(extreme, max, False),
    "min": partial(extreme, min, False),
    "max_ignore": partial(extreme, max, True),
    "min_ignore": partial(extreme, min, True),
    "clip": partial(clip, False),
    "clip_ignore": partial(clip, True),
    "floor": real(np.floor),
    "ceil": real(np.ceil),
    "and": bits(lambda a, b: a & b),
    "or": bits(lambda a, b: a | b),
    "xor": bits(lambda a, b: a ^ b),
    "not": lambda row, a: not a if row.type == "bool" else ~a,
    "shl": shift(lambda a, b, size: a << b),
    "lshr": shift(lambda a, b, size: a % (1 << size) >> b),
    "ashr": shift(lambda a, b, size: a >> b),
    "ashr_round": shift(rounded_shift),
    "clz": lambda row, a: 32 - (a % (1 << 32)).bit_length(),
    "eq": wraps(lambda a, b: a == b),
    "gt": wraps(lambda a, b: a > b),
    "ge": wraps(lambda a, b: a >= b),
    "select": lambda row, condition, a, b: a if condition else b,
    "rescale_32": partial(rescale_32, False),
    "rescale_32_double": partial(rescale_32, True),
    "rescale_16": rescale_16,
    "apply_scale_32": partial(scale_32, False),
    "apply_scale_32_double": partial(scale_32, True),
    "reciprocal_multiplier": partial(reciprocal, 0),
    "reciprocal_shift": partial(reciprocal, 1),
    "exp": real(np.exp),
    "log": real(np.log),
    "tanh": real(np.tanh),
    "sigmoid": real(lambda a: 1 / (1 + np.exp(-a))),
    "erf": real(np.vectorize(math.erf)),
    "sin": real(np.sin),
    "cos": real(np.cos),
    "rsqrt": real(lambda a: 1 / np.sqrt(a)),
    "pow": pow_,
    "table_index": lambda row, value: value + 128 if row.type == "i8" else (value + 32768) >> 7,
    "table_interpolate": table_interpolate,
    "resize_blend": resize_blend,
    "interpolate": interpolate,
    "key": partial(key, False),
    "key_ignore": partial(key, True),
    "first_write": first_write,
}
"""By what a scalar does: the row of the vocabulary and values, to what it gives."""
