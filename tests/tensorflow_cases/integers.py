"""Operators on integers of 8 and 16 bits, and what NumPy makes of them."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from tests.tensorflow_cases.files import TYPES
from tests.tensorflow_cases.operators import case, whole
from tests.tensorflow_cases.oracle import segments

Array = np.ndarray[Any, Any]


def _pairs(*ones: tuple[str, Any]) -> tuple[tuple[str, Any], ...]:
    return ones


def of_type(kind: Any, *shape: int, seed: int = 4) -> Array:
    """Random integers of a type, of all that it has."""
    ends = np.iinfo(kind)
    return np.random.default_rng(seed).integers(ends.min, ends.max, shape, endpoint=True).astype(kind)


def _narrow() -> None:
    """Integers of 8 and 16 bits wrap, as NumPy's do."""
    for kind in (np.int8, np.int16, np.uint8, np.uint16):
        name, bits = np.dtype(kind).name, np.iinfo(kind).bits
        a, b = of_type(kind, 4, 6), of_type(kind, 6, seed=5)
        divisors, counts = np.where(b == 0, 1, b).astype(kind), of_type(kind, 6, seed=7) % kind(bits)
        shared: dict[str, Any] = {"note": name, "T": TYPES[np.dtype(kind)]}
        for op, function in _pairs(
            ("AddV2", np.add), ("Sub", np.subtract), ("Mul", np.multiply), ("Maximum", np.maximum),
            ("Minimum", np.minimum), ("Equal", np.equal), ("NotEqual", np.not_equal), ("Less", np.less),
            ("Greater", np.greater), ("GreaterEqual", np.greater_equal), ("LessEqual", np.less_equal),
            ("BitwiseAnd", np.bitwise_and), ("BitwiseOr", np.bitwise_or), ("BitwiseXor", np.bitwise_xor),
        ):  # fmt: skip
            case(op, [a, b], function(a, b), **shared)
        for op, function in _pairs(
            ("FloorDiv", np.floor_divide), ("FloorMod", np.mod), ("TruncateDiv", trunc)
        ):
            case(op, [a, divisors], function(a, divisors), **shared)
        for op, function in _pairs(("LeftShift", np.left_shift), ("RightShift", np.right_shift)):
            case(op, [a, np.abs(counts)], function(a, np.abs(counts)), **shared)
        for op, function in _pairs(
            ("Square", np.square), ("Invert", np.invert), ("Relu", partial(np.maximum, kind(0))),
            ("Relu6", partial(np.clip, a_min=kind(0), a_max=kind(6))),
        ):  # fmt: skip
            case(op, [a], function(a), **shared)
        for op, function in _pairs(("Sum", np.sum), ("Prod", np.prod)):
            case(op, [a, 1], function(a, axis=1, dtype=kind), constants=[1], **shared)
        for op, function in _pairs(("Max", np.max), ("Min", np.min)):
            case(op, [a, 1], function(a, axis=1), constants=[1], **shared)
        case("ArgMax", [a, 1], a.argmax(1).astype(np.int32), constants=[1], **shared)
        case("Cumsum", [a, 1], np.cumsum(a, 1, dtype=kind), constants=[1], **shared)
        case("UnsortedSegmentMax", [a, [0, 2, 0, -1], 3], segments(np.maximum, np.iinfo(kind).min, a),
             constants=[2], **shared)  # fmt: skip
        large = whole(3, 4, low=-99999, high=99999)
        case("Cast", [large], large.astype(kind), DstT=TYPES[np.dtype(kind)], note=name)
        if kind in (np.int8, np.int16):
            case("Abs", [a], np.abs(a), **shared)
            case("Neg", [a], np.negative(a), **shared)
            case("Sign", [a], np.sign(a), **shared)
            case("Pow", [a, b % kind(4)], a ** (b % kind(4)), **shared)


def trunc(value: Array, divisor: Array) -> Array:
    return np.asarray(np.trunc(value / divisor.astype(np.float64))).astype(value.dtype)


_narrow()
