"""Activation, elementwise, comparison, TABLE and SELECT (TOSA 1.0.1 sections 2.4 to 2.8)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .numbers import (
    BITS,
    Call,
    error_if,
    maximum,
    minimum,
    require,
    require_fits,
    truncating_divide,
    unsigned,
    wrap,
)

Rule = Callable[[Call], list[np.ndarray]]


def broadcast(*arrays: np.ndarray) -> list[np.ndarray]:
    """Stretch axes of size one; all ranks must be equal (TOSA 1.0.1 section 1.11.3)."""
    error_if(len({a.ndim for a in arrays}) != 1, "the ranks of broadcast operands must match")
    extents = [max(sizes) for sizes in zip(*(a.shape for a in arrays), strict=True)]
    for array in arrays:
        for size, extent in zip(array.shape, extents, strict=True):
            error_if(size not in (1, extent), f"cannot broadcast {size} to {extent}")
    return [np.broadcast_to(a, extents) for a in arrays]


def CLAMP(call: Call) -> list[np.ndarray]:
    """Section 2.4.1."""
    low, high = int(call.attributes["min_val"]), int(call.attributes["max_val"])
    error_if(high < low, "max_val is below min_val")
    return [np.minimum(np.maximum(call.inputs[0], low), high)]


def ADD(call: Call) -> list[np.ndarray]:
    """Section 2.5.1."""
    a, b = broadcast(*call.inputs)
    return [require_fits(a + b, call.input_types[0], "the sum")]


def SUB(call: Call) -> list[np.ndarray]:
    """Section 2.5.16."""
    a, b = broadcast(*call.inputs)
    return [require_fits(a - b, call.input_types[0], "the difference")]


def _shift_amount(amount: np.ndarray, type_name: str) -> None:
    last = BITS[type_name] - 1
    require((amount >= 0) & (amount <= last), f"the shift must be in 0 .. {last}")


def ARITHMETIC_RIGHT_SHIFT(call: Call) -> list[np.ndarray]:
    """Section 2.5.2."""
    value, amount = broadcast(*call.inputs)
    _shift_amount(amount, call.input_types[0])
    result = value >> amount
    if call.get("round"):
        last_bit_out = (value >> np.maximum(amount - 1, 0)) & 1
        result = result + np.where(amount > 0, last_bit_out, 0)
    return [result]


def LOGICAL_LEFT_SHIFT(call: Call) -> list[np.ndarray]:
    """Section 2.5.8."""
    value, amount = broadcast(*call.inputs)
    _shift_amount(amount, call.input_types[0])
    return [value << amount]


def LOGICAL_RIGHT_SHIFT(call: Call) -> list[np.ndarray]:
    """Section 2.5.9."""
    value, amount = broadcast(*call.inputs)
    _shift_amount(amount, call.input_types[0])
    return [unsigned(value, call.input_types[0]) >> amount]


def INTDIV(call: Call) -> list[np.ndarray]:
    """Section 2.5.6."""
    a, b = broadcast(*call.inputs)
    require(b != 0, "division by zero")
    return [require_fits(truncating_divide(a, b), call.input_types[0], "the quotient")]


def MUL(call: Call) -> list[np.ndarray]:
    """Section 2.5.14."""
    shift, is_int32 = call.scalar(2), call.input_types[0] == "INT32"
    require(0 <= shift <= 63, "the shift must be in 0 .. 63")
    require(is_int32 or shift == 0, "the shift must be 0 unless the inputs are INT32")
    a, b = broadcast(*call.inputs[:2])
    if shift == 0:
        return [wrap(a * b, "INT32")]
    # (-2**31)**2 + 2**62 does not fit into 64 bits; section 1.12 calls overflow unpredictable.
    product, rounding = a * b, 1 << (shift - 1)
    require((product < 1 << 62) | (rounding < 1 << 62), "the rounded product leaves 64 bits")
    return [require_fits((product + rounding) >> np.int64(shift), "INT32", "the shifted product")]


def TABLE(call: Call) -> list[np.ndarray]:
    """Section 2.5.17 and apply_lookup_s of section 1.12.5."""
    value, table = call.inputs
    size = 256 if call.input_types[0] == "INT8" else 513
    error_if(table.shape != (size,), f"the table must have {size} entries")
    if call.input_types[0] == "INT8":
        return [table[value + 128]]
    position, fraction = (value + 32768) >> 7, value & 127
    slope = table[position + 1] - table[position]
    require_fits(slope, "INT16", "the slope of the table")
    return [(table[position] << 7) + slope * fraction]


def ABS(call: Call) -> list[np.ndarray]:
    """Section 2.6.1."""
    return [require_fits(np.abs(call.inputs[0]), call.input_types[0], "the absolute value")]


def NEGATE(call: Call) -> list[np.ndarray]:
    """Section 2.6.10."""
    kind, input_zp, output_zp = call.input_types[0], call.scalar(1), call.scalar(2)
    error_if(kind != "INT8" and (input_zp != 0 or output_zp != 0), "zero points are for INT8 only")
    value = require_fits(call.inputs[0] - input_zp, "INT32", "the value less its zero point")
    value = require_fits(-value, "INT32", "the negated value")
    value = require_fits(value + output_zp, "INT32", "the value plus its zero point")
    return [np.minimum(np.maximum(value, minimum(kind)), maximum(kind))]


def CLZ(call: Call) -> list[np.ndarray]:
    """Section 2.6.4."""
    bits = unsigned(call.inputs[0], "INT32")
    zeros = [32 - int(v).bit_length() for v in bits.reshape(-1)]
    return [np.array(zeros, np.int64).reshape(bits.shape)]


def SELECT(call: Call) -> list[np.ndarray]:
    """Section 2.7.1."""
    condition, a, b = broadcast(*call.inputs)
    return [np.where(condition != 0, a, b)]


def _binary(operation: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Rule:
    return lambda call: [operation(*broadcast(*call.inputs)).astype(np.int64)]


ELEMENTWISE: dict[str, Rule] = {
    "CLAMP": CLAMP,
    "ADD": ADD,
    "ARITHMETIC_RIGHT_SHIFT": ARITHMETIC_RIGHT_SHIFT,
    "BITWISE_AND": _binary(lambda a, b: a & b),
    "BITWISE_OR": _binary(lambda a, b: a | b),
    "BITWISE_XOR": _binary(lambda a, b: a ^ b),
    "INTDIV": INTDIV,
    "LOGICAL_AND": _binary(lambda a, b: (a != 0) & (b != 0)),
    "LOGICAL_LEFT_SHIFT": LOGICAL_LEFT_SHIFT,
    "LOGICAL_RIGHT_SHIFT": LOGICAL_RIGHT_SHIFT,
    "LOGICAL_OR": _binary(lambda a, b: (a != 0) | (b != 0)),
    "LOGICAL_XOR": _binary(lambda a, b: (a != 0) != (b != 0)),
    "MAXIMUM": _binary(np.maximum),
    "MINIMUM": _binary(np.minimum),
    "MUL": MUL,
    "SUB": SUB,
    "TABLE": TABLE,
    "ABS": ABS,
    "BITWISE_NOT": lambda call: [~call.inputs[0]],
    "CLZ": CLZ,
    "LOGICAL_NOT": lambda call: [(call.inputs[0] == 0).astype(np.int64)],
    "NEGATE": NEGATE,
    "SELECT": SELECT,
    "EQUAL": _binary(lambda a, b: a == b),
    "GREATER": _binary(lambda a, b: a > b),
    "GREATER_EQUAL": _binary(lambda a, b: a >= b),
}
