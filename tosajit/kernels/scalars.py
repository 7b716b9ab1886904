"""The integer arithmetic of TOSA (1.0.1 section 4.5 and the operators' pseudo-code), one scalar at a time.

Every function runs in plain Python on NumPy scalars and, with the same result, inside kernels: `scalar_source`
copies its text. Rules that keep it so:

* each step is cast to its type, because Numba computes in int64 where NumPy computes in the type of the operands;
* bodies are assignments and one return without branches, so that they are inlined and loops over them vectorise;
* never uint64 (with an int64 it makes a float64).

What a REQUIRE forbids gives some value; it never traps. `requires.py` tells when that is.
The suffix is the type of the result, where several exist; int48 is held in int64. 8- and 16-bit operands are
computed as int32 and narrowed by `to_i8`, `to_i16`.
"""

import ast
import functools
from collections.abc import Iterable
from pathlib import Path

import numpy as np

Integer = np.int8 | np.int16 | np.int32 | np.int64


def scalar_source(names: Iterable[str]) -> str:
    """Return the definitions of the named scalars and of all that they call, callees first."""
    texts = _definitions()
    ordered: dict[str, str] = {}

    def add(name: str) -> None:
        if name in ordered or name not in texts:
            return
        text, calls = texts[name]
        for callee in calls:
            add(callee)
        ordered[name] = text

    for name in names:
        if name not in texts:
            raise KeyError(f"no scalar is named {name}")
        add(name)
    return "\n\n".join(ordered.values())


@functools.cache
def _definitions() -> dict[str, tuple[str, tuple[str, ...]]]:
    """Name the scalars, each with its text (annotations and docstring left out) and what it calls."""
    found: dict[str, tuple[str, tuple[str, ...]]] = {}
    for file in ("scalars.py", "requires.py"):
        for node in ast.parse(Path(__file__).with_name(file).read_text(encoding="utf-8")).body:
            if not isinstance(node, ast.FunctionDef) or node.name.startswith("_") or node.name == "scalar_source":
                continue
            calls = [n.func.id for n in ast.walk(node) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)]
            node.returns, node.body = None, node.body[1:]
            for argument in node.args.args:
                argument.annotation = None
            found[node.name] = ast.unparse(node), tuple(calls)
    return found


# Casts: narrowing keeps the low bits, widening extends the sign (TOSA 1.0.1 section 4.5.2).


def to_bool(value: Integer | np.bool_) -> np.bool_:
    """Tell whether a value is not zero."""
    return np.bool_(value != 0)


def to_i8(value: Integer | np.bool_) -> np.int8:
    """Keep the low 8 bits."""
    return np.int8(value)


def to_i16(value: Integer | np.bool_) -> np.int16:
    """Keep the low 16 bits."""
    return np.int16(value)


def to_i32(value: Integer | np.bool_) -> np.int32:
    """Keep the low 32 bits."""
    return np.int32(value)


def to_i48(value: Integer | np.bool_) -> np.int64:
    """Keep the low 48 bits, sign-extended into int64."""
    return np.int64(np.int64(np.int64(value) << np.int64(16)) >> np.int64(16))


def to_i64(value: Integer | np.bool_) -> np.int64:
    """Widen to 64 bits."""
    return np.int64(value)


def zero_extend_i8(value: np.int8) -> np.int32:
    """Read the bits of an int8 as unsigned."""
    return np.int32(np.uint8(value))


def zero_extend_i16(value: np.int16) -> np.int32:
    """Read the bits of an int16 as unsigned."""
    return np.int32(np.uint16(value))


# Arithmetic that wraps. apply_add_s and its kin REQUIRE that it does not.


def add_i32(a: Integer, b: Integer) -> np.int32:
    """Add."""
    return np.int32(np.int64(a) + np.int64(b))


def sub_i32(a: Integer, b: Integer) -> np.int32:
    """Subtract."""
    return np.int32(np.int64(a) - np.int64(b))


def mul_i32(a: Integer, b: Integer) -> np.int32:
    """Multiply; MUL of all integer types with shift 0."""
    return np.int32(np.int64(a) * np.int64(b))


def add_i64(a: np.int64, b: np.int64) -> np.int64:
    """Add."""
    return np.int64(a + b)


def sub_i64(a: np.int64, b: np.int64) -> np.int64:
    """Subtract."""
    return np.int64(a - b)


def mul_i64(a: np.int64, b: np.int64) -> np.int64:
    """Multiply."""
    return np.int64(a * b)


def add_i48(a: np.int64, b: np.int64) -> np.int64:
    """Add."""
    return to_i48(np.int64(a + b))


def sub_i48(a: np.int64, b: np.int64) -> np.int64:
    """Subtract."""
    return to_i48(np.int64(a - b))


def mul_i48(a: np.int64, b: np.int64) -> np.int64:
    """Multiply."""
    return to_i48(np.int64(a * b))


def mul_shift(a: np.int32, b: np.int32, shift: Integer) -> np.int32:
    """MUL of int32 with any shift: half is added before shifting right (TOSA 1.0.1 section 2.5.14)."""
    amount = np.int64(np.int64(shift) & np.int64(63))
    below = np.int64(np.int64(amount - np.int64(1)) & np.int64(63))
    half = np.int64(np.int64(np.int64(1) << below) * np.int64(amount > np.int64(0)))
    return np.int32(np.int64(np.int64(np.int64(a) * np.int64(b)) + half) >> amount)


def intdiv_i32(a: np.int32, b: np.int32) -> np.int32:
    """Divide, towards zero; exact, since a quotient of int32 is never within rounding of the next integer."""
    divisor = np.float64(np.int64(b) + np.int64(b == 0))
    return np.int32(np.int64(np.float64(np.float64(a) / divisor)))


def abs_i32(a: np.int32) -> np.int32:
    """Absolute value; of the minimum, itself."""
    sign = np.int32(np.int32(a) >> np.int32(31))
    return np.int32(np.int64(np.int32(a ^ sign)) - np.int64(sign))


def negate_i8(a: np.int8, input1_zp: Integer, output_zp: Integer) -> np.int8:
    """NEGATE (TOSA 1.0.1 section 2.6.10)."""
    return clip_i8(np.int32(np.int32(np.int32(input1_zp) - np.int32(a)) + np.int32(output_zp)))


def negate_i16(a: np.int16) -> np.int16:
    """NEGATE; of the minimum, the maximum."""
    return clip_i16(np.int32(-np.int32(a)))


def negate_i32(a: np.int32) -> np.int32:
    """NEGATE; the accumulator wraps."""
    return np.int32(np.int64(0) - np.int64(a))


# Minimum, maximum, clip.


def max_i32(a: np.int32, b: np.int32) -> np.int32:
    """Take the greater."""
    return max(np.int32(a), np.int32(b))


def min_i32(a: np.int32, b: np.int32) -> np.int32:
    """Take the lesser."""
    return min(np.int32(a), np.int32(b))


def clip_i32(value: np.int32, min_val: np.int32, max_val: np.int32) -> np.int32:
    """Clip; CLAMP of int8 and int16 too, narrowed after."""
    return min_i32(max_i32(np.int32(value), np.int32(min_val)), np.int32(max_val))


def clip_i8(value: np.int32) -> np.int8:
    """Saturate to int8."""
    return np.int8(clip_i32(value, np.int32(-128), np.int32(127)))


def clip_i16(value: np.int32) -> np.int16:
    """Saturate to int16."""
    return np.int16(clip_i32(value, np.int32(-32768), np.int32(32767)))


def clip_u8(value: np.int32) -> np.int8:
    """Saturate to unsigned 8 bits, stored in an int8."""
    return np.int8(clip_i32(value, np.int32(0), np.int32(255)))


def clip_u16(value: np.int32) -> np.int16:
    """Saturate to unsigned 16 bits, stored in an int16."""
    return np.int16(clip_i32(value, np.int32(0), np.int32(65535)))


# Bits and shifts. Of a shift amount the low five bits count.


def and_i32(a: Integer, b: Integer) -> np.int32:
    """Bitwise and."""
    return np.int32(np.int32(a) & np.int32(b))


def or_i32(a: Integer, b: Integer) -> np.int32:
    """Bitwise or."""
    return np.int32(np.int32(a) | np.int32(b))


def xor_i32(a: Integer, b: Integer) -> np.int32:
    """Bitwise exclusive or."""
    return np.int32(np.int32(a) ^ np.int32(b))


def not_i32(a: Integer) -> np.int32:
    """Bitwise complement."""
    return np.int32(np.int32(a) ^ np.int32(-1))


def shift_left_i32(a: Integer, b: Integer) -> np.int32:
    """LOGICAL_LEFT_SHIFT."""
    return np.int32(np.int64(a) << np.int64(np.int64(b) & np.int64(31)))


def shift_right_u8(a: np.int8, b: np.int8) -> np.int8:
    """LOGICAL_RIGHT_SHIFT of int8."""
    return np.int8(zero_extend_i8(a) >> np.int32(np.int32(b) & np.int32(31)))


def shift_right_u16(a: np.int16, b: np.int16) -> np.int16:
    """LOGICAL_RIGHT_SHIFT of int16."""
    return np.int16(zero_extend_i16(a) >> np.int32(np.int32(b) & np.int32(31)))


def shift_right_u32(a: np.int32, b: np.int32) -> np.int32:
    """LOGICAL_RIGHT_SHIFT of int32."""
    return np.int32(np.int64(np.uint32(a)) >> np.int64(np.int64(b) & np.int64(31)))


def shift_right_i32(a: Integer, b: Integer) -> np.int32:
    """ARITHMETIC_RIGHT_SHIFT without rounding."""
    return np.int32(np.int64(a) >> np.int64(np.int64(b) & np.int64(31)))


def shift_right_round_i32(a: Integer, b: Integer) -> np.int32:
    """ARITHMETIC_RIGHT_SHIFT with rounding: the last bit shifted out is added."""
    amount = np.int64(np.int64(b) & np.int64(31))
    twice = np.int64(np.int64(np.int64(a) << np.int64(1)) >> amount)
    return np.int32(np.int64(np.int64(twice >> np.int64(1)) + np.int64(twice & np.int64(1))))


def count_leading_zeros(a: np.int32) -> np.int32:
    """Count the zeros above the highest one (TOSA 1.0.1 section 4.5.1), without branches."""
    x = np.int64(np.uint32(a))
    x1 = np.int64(x | np.int64(x >> np.int64(1)))
    x2 = np.int64(x1 | np.int64(x1 >> np.int64(2)))
    x4 = np.int64(x2 | np.int64(x2 >> np.int64(4)))
    x8 = np.int64(x4 | np.int64(x4 >> np.int64(8)))
    ones = np.int64(x8 | np.int64(x8 >> np.int64(16)))
    pairs = np.int64(ones - np.int64(np.int64(ones >> np.int64(1)) & np.int64(0x55555555)))
    high = np.int64(np.int64(pairs >> np.int64(2)) & np.int64(0x33333333))
    fours = np.int64(np.int64(pairs & np.int64(0x33333333)) + high)
    bytes_ = np.int64(np.int64(fours + np.int64(fours >> np.int64(4))) & np.int64(0x0F0F0F0F))
    total = np.int64(np.int64(np.int64(bytes_ * np.int64(0x01010101)) >> np.int64(24)) & np.int64(63))
    return np.int32(np.int64(32) - total)


# Comparison, logic, choice.


def equal(a: Integer, b: Integer) -> np.bool_:
    """Compare."""
    return np.bool_(a == b)


def greater(a: Integer, b: Integer) -> np.bool_:
    """Compare."""
    return np.bool_(a > b)


def greater_equal(a: Integer, b: Integer) -> np.bool_:
    """Compare."""
    return np.bool_(a >= b)


def logical_and(a: np.bool_, b: np.bool_) -> np.bool_:
    """Both."""
    return np.bool_(a & b)


def logical_or(a: np.bool_, b: np.bool_) -> np.bool_:
    """Either."""
    return np.bool_(a | b)


def logical_xor(a: np.bool_, b: np.bool_) -> np.bool_:
    """One of the two."""
    return np.bool_(a ^ b)


def logical_not(a: np.bool_) -> np.bool_:
    """Complement."""
    return np.bool_(a ^ np.bool_(True))


def select_bool(condition: np.bool_, a: np.bool_, b: np.bool_) -> np.bool_:
    """Take `a` where the condition holds."""
    return np.bool_(a if condition else b)


def select_i32(condition: np.bool_, a: Integer, b: Integer) -> np.int32:
    """Take `a` where the condition holds."""
    return np.int32(a if condition else b)


# Scaling (TOSA 1.0.1 sections 2.13.2 and 4.5.5).


def apply_scale_32(value: np.int32, multiplier: np.int32, shift: Integer) -> np.int32:
    """Scale by multiplier / 2**shift, rounded once; INEXACT_ROUND too."""
    amount = np.int64(np.int64(shift) & np.int64(63))
    half = np.int64(np.int64(1) << np.int64(np.int64(amount - np.int64(1)) & np.int64(63)))
    product = np.int64(np.int64(value) * np.int64(multiplier))
    return np.int32(np.int64(product + half) >> amount)


def apply_scale_32_double(value: np.int32, multiplier: np.int32, shift: Integer) -> np.int32:
    """Scale with DOUBLE_ROUND: for shifts above 31, 2**30 more away from zero."""
    amount = np.int64(np.int64(shift) & np.int64(63))
    half = np.int64(np.int64(1) << np.int64(np.int64(amount - np.int64(1)) & np.int64(63)))
    first = np.int64(np.int64(amount > np.int64(31)) << np.int64(30))
    sign = np.int64(np.int64(value) >> np.int64(63))
    away = np.int64(np.int64(first ^ sign) - sign)
    product = np.int64(np.int64(value) * np.int64(multiplier))
    return np.int32(np.int64(product + np.int64(half + away)) >> amount)


def apply_scale_16(value: np.int64, multiplier: np.int16, shift: Integer) -> np.int32:
    """Scale an int48 by multiplier / 2**shift."""
    amount = np.int64(np.int64(shift) & np.int64(63))
    half = np.int64(np.int64(1) << np.int64(np.int64(amount - np.int64(1)) & np.int64(63)))
    product = np.int64(np.int64(value) * np.int64(multiplier))
    return np.int32(np.int64(product + half) >> amount)


def reciprocal_shift(value: Integer) -> np.int32:
    """Return the shift of reciprocal_scale."""
    return np.int32(np.int32(62) - count_leading_zeros(np.int32(np.int64(value) - np.int64(1))))


def reciprocal_multiplier(value: Integer) -> np.int32:
    """Return the multiplier of reciprocal_scale."""
    positive = np.int64(np.int64(np.uint32(value)) + np.int64(value == 0))
    numerator = np.int64(np.int64((1 << 30) + 1) << np.int64(reciprocal_shift(value) - np.int32(30)))
    return np.int32(numerator // positive)


# TABLE (TOSA 1.0.1 section 1.12.5) and RESIZE (section 2.12.1).


def table_index_i8(value: np.int8) -> np.int64:
    """Return where int8 TABLE looks."""
    return np.int64(np.int64(value) + np.int64(128))


def table_index_i16(value: np.int16) -> np.int64:
    """Return where int16 TABLE looks, there and at the next entry."""
    return np.int64(np.int64(np.int64(value) + np.int64(32768)) >> np.int64(7))


def table_interpolate(base: np.int16, next_: np.int16, value: np.int16) -> np.int32:
    """Interpolate between two entries of int16 TABLE (apply_lookup_s)."""
    slope = np.int32(np.int32(next_) - np.int32(base))
    fraction = np.int32(np.int32(value) & np.int32(0x7F))
    return np.int32(np.int32(np.int32(base) << np.int32(7)) + np.int32(slope * fraction))


def resize_index(position: Integer, scale_n: Integer) -> np.int64:
    """Return the input coordinate of a scaled position (idiv_floor)."""
    return np.int64(np.int64(position) // np.int64(scale_n))


def resize_fraction(position: Integer, scale_n: Integer) -> np.int64:
    """Return what the input coordinate leaves."""
    return np.int64(np.int64(position) - np.int64(resize_index(position, scale_n) * np.int64(scale_n)))


def resize_blend_i32(
    v00: np.int8, v01: np.int8, v10: np.int8, v11: np.int8, dy: Integer, dx: Integer, unit_y: Integer, unit_x: Integer
) -> np.int32:
    """Blend four int8 neighbours."""
    left = np.int32(np.int32(unit_x) - np.int32(dx))
    top = np.int32(np.int32(unit_y) - np.int32(dy))
    upper = np.int32(np.int32(np.int32(v00) * left) + np.int32(np.int32(v01) * np.int32(dx)))
    lower = np.int32(np.int32(np.int32(v10) * left) + np.int32(np.int32(v11) * np.int32(dx)))
    return np.int32(np.int32(upper * top) + np.int32(lower * np.int32(dy)))


def resize_blend_i48(
    v00: np.int16, v01: np.int16, v10: np.int16, v11: np.int16, dy: Integer, dx: Integer, unit_y: Integer, unit_x: Integer
) -> np.int64:
    """Blend four int16 neighbours."""
    left = np.int64(np.int64(unit_x) - np.int64(dx))
    top = np.int64(np.int64(unit_y) - np.int64(dy))
    upper = np.int64(np.int64(np.int64(v00) * left) + np.int64(np.int64(v01) * np.int64(dx)))
    lower = np.int64(np.int64(np.int64(v10) * left) + np.int64(np.int64(v11) * np.int64(dx)))
    return np.int64(np.int64(upper * top) + np.int64(lower * np.int64(dy)))
