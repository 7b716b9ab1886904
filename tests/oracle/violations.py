"""One violation of every REQUIRE that data can break, with where it is and whether Arm's model notices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

LOWEST, HIGHEST = -(1 << 31), (1 << 31) - 1


@dataclass(frozen=True)
class Violation:
    """A use of an operator that breaks a REQUIRE."""

    operator: str
    inputs: Sequence[np.ndarray]
    index: tuple[int, ...]
    """Where it is broken first."""
    output_shape: tuple[int, ...]
    output_type: str = "INT32"
    attributes: Mapping[str, Any] = field(default_factory=dict)
    free: int = 1
    """How many operands are inputs of the graph; the others are constants."""
    model: str = "unpredictable"
    """What Arm's reference model makes of it."""


def row(*values: int, dtype: type = np.int32) -> np.ndarray:
    """Make a tensor of rank one."""
    return np.array(values, dtype)


def filled(*shape: int, value: int = 1, dtype: type = np.int8) -> np.ndarray:
    """Make a tensor of equal elements."""
    return np.full(shape, value, dtype)


def _binary(operator: str, a: np.ndarray, b: np.ndarray, index: int, **more: Any) -> Violation:
    kind = a.dtype.name.upper()
    return Violation(operator, [a, b], (index,), a.shape, kind, free=2, **more)


def _mul(a: np.ndarray, b: np.ndarray, shift: int, index: tuple[int, ...], **more: Any) -> Violation:
    return Violation("MUL", [a, b, filled(1, value=shift)], index, a.shape, free=2, **more)


def _rescale(multiplier: int, shift: int, value: np.ndarray, index: int, wide: bool = True) -> Violation:
    scales = [filled(1, value=multiplier, dtype=np.int32 if wide else np.int16), filled(1, value=shift)]
    attributes = {
        "scale32": wide,
        "rounding_mode": "SINGLE_ROUND",
        "per_channel": False,
        "input_unsigned": False,
        "output_unsigned": False,
    }
    points = [filled(1, value=0, dtype=value.dtype.type), filled(1, value=0, dtype=np.int32)]
    return Violation("RESCALE", [value, *scales, *points], (index,), value.shape, attributes=attributes)


def _gather(*indices: int, index: tuple[int, ...]) -> Violation:
    arrays = [filled(1, 3, 2), np.array([indices], np.int32)]
    return Violation("GATHER", arrays, index, (1, len(indices), 2), "INT8", free=2, model="crash")


def _scatter(*indices: int, index: tuple[int, ...], **more: Any) -> Violation:
    arrays = [filled(1, 3, 2), np.array([indices], np.int32), filled(1, len(indices), 2)]
    return Violation("SCATTER", arrays, index, (1, 3, 2), "INT8", free=3, **more)


def _bias(operator: str, rank: int, attributes: Mapping[str, Any]) -> Violation:
    """1 · 1 + the largest bias."""
    ones = filled(*(1,) * rank)
    arrays = [ones, ones, filled(1, value=HIGHEST, dtype=np.int32), filled(1, value=0), filled(1, value=0)]
    shape = (1,) * rank
    return Violation(operator, arrays, (0,) * rank, shape, attributes=attributes, free=3, model="nothing")


_WINDOW = {"pad": (0, 0, 0, 0), "stride": (1, 1), "dilation": (1, 1), "acc_type": "INT32"}
_WINDOW_3D = {"pad": (0,) * 6, "stride": (1,) * 3, "dilation": (1,) * 3, "acc_type": "INT32"}
_TRANSPOSED = {"out_pad": (0, 0, 0, 0), "stride": (1, 1), "acc_type": "INT32"}
_POOL = {"kernel": (300, 300), "stride": (1, 1), "pad": (0, 0, 0, 0), "acc_type": "INT32"}
_LONG = 33100  # 33100 · 255² > 2³¹
_STEEP = np.repeat(row(-32768, 32767, dtype=np.int16), [300, 213])  # at 299, where 5504 is looked up
_ZERO = filled(1, value=0)
_TOP = filled(1, value=127)

VIOLATIONS: dict[str, Violation] = {
    "ADD-overflow": _binary("ADD", row(0, HIGHEST), row(0, 1), 1),
    "SUB-overflow": _binary("SUB", row(5, 0, LOWEST), row(0, 0, 1), 2),
    "INTDIV-by-zero": _binary("INTDIV", row(1, 1), row(2, 0), 1, model="crash"),
    "INTDIV-overflow": _binary("INTDIV", row(7, LOWEST), row(-1, -1), 1),
    "shift-of-32": _binary("ARITHMETIC_RIGHT_SHIFT", row(1, 1), row(31, 32), 1, attributes={"round": False}),
    "shift-below-zero": _binary("LOGICAL_LEFT_SHIFT", row(1, 1), row(1, -1), 1),
    "shift-of-8": _binary("LOGICAL_RIGHT_SHIFT", row(1, 1, dtype=np.int8), row(7, 8, dtype=np.int8), 1),
    "shift-of-16": _binary("LOGICAL_LEFT_SHIFT", row(1, 1, dtype=np.int16), row(15, 16, dtype=np.int16), 1),
    "ABS-of-lowest": Violation("ABS", [row(0, LOWEST)], (1,), (2,)),
    "NEGATE-of-lowest": Violation("NEGATE", [row(1, LOWEST), row(0), row(0)], (1,), (2,)),
    "MUL-result": _mul(row(1, 1 << 30), row(1, 8), 1, (1,)),
    "MUL-shift-of-64": _mul(row(1), row(1), 64, ()),
    "MUL-shift-below-zero": _mul(row(1), row(1), -1, (), model="nothing"),
    "MUL-shift-of-INT8": _mul(filled(1), filled(1), 1, (), model="nothing"),
    "TABLE-slope": Violation("TABLE", [row(0, 5504, dtype=np.int16), _STEEP], (1,), (2,)),
    "REDUCE_SUM-overflow": Violation(
        "REDUCE_SUM", [np.array([[1, 2], [HIGHEST, 1]], np.int32)], (1, 0), (2, 1), attributes={"axis": 1}
    ),
    "REDUCE_SUM-on-the-way": Violation(
        "REDUCE_SUM", [row(HIGHEST, 1, -1)], (0,), (1,), attributes={"axis": 0}
    ),
    "GATHER-index": _gather(0, 3, index=(0, 1)),
    "GATHER-below-zero": _gather(0, -1, index=(0, 1)),
    "SCATTER-index": _scatter(0, 3, index=(0, 1), model="crash"),
    "SCATTER-below-zero": _scatter(-1, 0, index=(0, 0), model="crash"),
    "SCATTER-twice": _scatter(1, 1, index=(0, 1)),
    "RESCALE-multiplier": _rescale(-1, 30, row(1), 0),
    "RESCALE-shift-of-1": _rescale(1, 1, row(0), 0),
    "RESCALE-shift-of-63": _rescale(1, 63, row(1), 0),
    "RESCALE-value": _rescale(1, 4, row(7, -8, 8), 2),
    "RESCALE-result": _rescale(32767, 2, row(1, HIGHEST), 1, wide=False),
    "CONV2D-bias": _bias("CONV2D", 4, _WINDOW),
    "CONV3D-bias": _bias("CONV3D", 5, _WINDOW_3D),
    "DEPTHWISE_CONV2D-bias": _bias("DEPTHWISE_CONV2D", 4, _WINDOW),
    "TRANSPOSE_CONV2D-bias": _bias("TRANSPOSE_CONV2D", 4, _TRANSPOSED),
    "CONV2D-accumulator": Violation(
        "CONV2D",
        [*(filled(1, 1, 1, _LONG, value=-128) for _ in range(2)), row(0), _TOP, _TOP],
        (0, 0, 0, 0),
        (1, 1, 1, 1),
        attributes=_WINDOW,
        free=2,
        model="nothing",
    ),
    "MATMUL-accumulator": Violation(
        "MATMUL",
        [filled(1, 1, _LONG, value=-128), filled(1, _LONG, 2, value=-128), _TOP, _TOP],
        (0, 0, 0),
        (1, 1, 2),
        free=2,
        model="nothing",
    ),
    "AVG_POOL2D-accumulator": Violation(
        "AVG_POOL2D",
        [filled(1, 300, 300, 1, value=-32768, dtype=np.int16), *(row(0, dtype=np.int16) for _ in range(2))],
        (0, 0, 0, 0),
        (1, 1, 1, 1),
        "INT16",
        attributes=_POOL,
        model="nothing",
    ),
}
