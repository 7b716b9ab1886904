"""Number formats, REQUIRE and arithmetic helpers, exact in 64 bits (TOSA 1.0.1 sections 1.9, 4.5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

BITS = {"BOOL": 1, "INT4": 4, "INT8": 8, "INT16": 16, "INT32": 32, "INT48": 48, "SHAPE": 64}
STORAGE = {
    "BOOL": np.bool_,
    "INT4": np.int8,
    "INT8": np.int8,
    "INT16": np.int16,
    "INT32": np.int32,
    "INT48": np.int64,
    "SHAPE": np.int64,
}
TYPE_OF_STORAGE = {"bool": "BOOL", "int8": "INT8", "int16": "INT16", "int32": "INT32", "int64": "INT48"}


class Illegal(Exception):
    """An ERROR_IF holds: the operator must not be accepted."""


class Unpredictable(Exception):
    """A REQUIRE is violated: the result is unpredictable from here on (TOSA 1.0.1 section 4.3)."""

    def __init__(self, rule: str, index: Sequence[int] = ()) -> None:
        """Remember the rule and the position of the first element that violates it."""
        self.rule = rule
        self.index = tuple(int(i) for i in index)
        self.operator = ""
        self.node = ""
        super().__init__(rule, self.index)

    def __str__(self) -> str:
        """Say where the rule is violated."""
        return f"{self.node} ({self.operator}) at {list(self.index)}: {self.rule}"


@dataclass
class Call:
    """One use of an operator: its inputs widened to int64, the names of all types, its attributes."""

    inputs: list[np.ndarray]
    input_types: list[str]
    output_types: list[str]
    attributes: Mapping[str, Any] = field(default_factory=dict)

    def get(self, name: str, default: Any = None) -> Any:
        """Return an attribute; enumerations come back as their names."""
        value = self.attributes.get(name, default)
        return value if isinstance(value, str) else getattr(value, "name", value)

    def numbers(self, name: str) -> list[int]:
        """Return a list-like attribute as Python integers."""
        return [int(v) for v in np.asarray(self.attributes[name]).reshape(-1)]

    def scalar(self, position: int) -> int:
        """Return the value of an input of one element."""
        values = self.inputs[position].reshape(-1)
        error_if(values.size != 1, f"input {position} must have one element")
        return int(values[0])


def minimum(type_name: str) -> int:
    """Return the smallest value of a signed type."""
    return -7 if type_name == "INT4" else -(1 << (BITS[type_name] - 1))


def maximum(type_name: str) -> int:
    """Return the largest value of a signed type."""
    return (1 << (BITS[type_name] - 1)) - 1


def wrap(values: np.ndarray, type_name: str) -> np.ndarray:
    """Keep the low bits of the type and read them as two's complement."""
    if type_name == "BOOL":
        return values.astype(np.int64) & 1
    spare = 64 - BITS[type_name]
    return (values.astype(np.int64) << np.int64(spare)) >> np.int64(spare)


def unsigned(values: np.ndarray, type_name: str) -> np.ndarray:
    """Read the bits of a signed type as an unsigned number."""
    return values.astype(np.int64) & np.int64((1 << BITS[type_name]) - 1)


def error_if(condition: bool, rule: str) -> None:
    """ERROR_IF of TOSA 1.0.1 section 4.3."""
    if condition:
        raise Illegal(rule)


def require(holds: Any, rule: str) -> None:
    """REQUIRE of TOSA 1.0.1 section 4.3, for every element; reports the first position that fails."""
    holds = np.asarray(holds)
    if not holds.all():
        raise Unpredictable(rule, np.argwhere(~holds)[0])


def require_fits(values: np.ndarray, type_name: str, what: str) -> np.ndarray:
    """Require that every value is representable in the type, and return the values."""
    low, high = minimum(type_name), maximum(type_name)
    require((values >= low) & (values <= high), f"{what} leaves the range of {type_name}")
    return values


def divide_exactly(dividend: int, divisor: int, what: str) -> int:
    """Divide, insisting on a remainder of zero."""
    error_if(dividend % divisor != 0, f"{what}: {dividend} is not a multiple of {divisor}")
    return dividend // divisor


def truncating_divide(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Divide integers rounding towards zero."""
    quotient = np.abs(a) // np.abs(b)
    return np.asarray(np.where((a < 0) != (b < 0), -quotient, quotient))


def scale_32(value: np.ndarray, multiplier: Any, shift: Any, double_round: bool) -> np.ndarray:
    """Multiply by multiplier / 2**shift with a 32-bit multiplier (TOSA 1.0.1 section 4.5.5)."""
    value, multiplier, shift = np.broadcast_arrays(
        value.astype(np.int64), np.int64(multiplier), np.int64(shift)
    )
    require(multiplier >= 0, "the multiplier must not be negative")
    require((shift >= 2) & (shift <= 62), "the shift must be in 2 .. 62")
    half = np.int64(1) << (shift - 1)
    require((value >= -half) & (value < half), "the value must be in -2**(shift-1) .. 2**(shift-1) - 1")
    rounding = half.copy()
    if double_round:
        rounding += np.where(
            shift > 31, np.where(value >= 0, np.int64(1 << 30), np.int64(-(1 << 30))), np.int64(0)
        )
    return wrap((value * multiplier + rounding) >> shift, "INT32")


def scale_16(value: np.ndarray, multiplier: Any, shift: Any) -> np.ndarray:
    """Multiply by multiplier / 2**shift with a 16-bit multiplier (TOSA 1.0.1 section 4.5.5)."""
    value, multiplier, shift = np.broadcast_arrays(
        value.astype(np.int64), np.int64(multiplier), np.int64(shift)
    )
    require(multiplier >= 0, "the multiplier must not be negative")
    require((shift >= 2) & (shift <= 62), "the shift must be in 2 .. 62")
    result = (value * multiplier + (np.int64(1) << (shift - 1))) >> shift
    return require_fits(result, "INT32", "the scaled value")


def reciprocal_scale(count: int) -> tuple[int, int]:
    """Return multiplier and shift that divide by a count (TOSA 1.0.1 section 4.5.5)."""
    require(count > 0, "the divisor must be positive")
    k = (count - 1).bit_length()
    return (((1 << 30) + 1) << k) // count, 30 + k
