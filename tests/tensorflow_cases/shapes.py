"""Operators on segments, angles and diagonals, and what NumPy makes of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.tensorflow_cases import oracle
from tests.tensorflow_cases.operators import case, real, whole

Array = np.ndarray[Any, Any]


def _segmented() -> None:
    a, i = real(4, 3), whole(4, 3)
    ends: list[tuple[Array, Any, str]] = [
        (a, np.finfo(np.float32), "real"), (i, np.iinfo(np.int32), "whole"),
    ]  # fmt: skip
    for value, end, note in ends:
        for op, combine, nothing, zero in (
            ("Sum", np.add, 0, 0), ("Prod", np.multiply, 1, 1),
            ("Max", np.maximum, end.min, 0), ("Min", np.minimum, end.max, 0),
        ):  # fmt: skip
            wanted = oracle.segments(combine, nothing, value)
            case(f"UnsortedSegment{op}", [value, [0, 2, 0, -1], 3], wanted, constants=[2], note=note)
            rows = np.stack([combine(value[0], value[1]), np.full_like(value[0], zero), value[2], value[3]])
            case(f"Segment{op}", [value, [0, 0, 2, 3]], rows, constants=[1], note=note)
    means = np.stack([(a[0] + a[1]) / 2, a[0] * 0, (a[2] + a[3]) / 2])
    case("SegmentMean", [a, [0, 0, 2, 2]], means, constants=[1])


def _angled() -> None:
    a, b, part, beyond = real(3, 5), real(5, seed=6), real(3, 5, low=-1, high=1), real(3, 5, low=1, high=9)
    for op, value, function in (
        ("Asin", part, np.arcsin), ("Acos", part, np.arccos), ("Atan", 5 * a, np.arctan),
        ("Sinh", a, np.sinh), ("Cosh", a, np.cosh), ("Asinh", 5 * a, np.arcsinh),
        ("Acosh", beyond, np.arccosh), ("Atanh", 0.99 * part, np.arctanh),
    ):  # fmt: skip
        case(op, [value], function(value.astype(np.float64)).astype(np.float32))
        small = np.array([0, 1e-6, -1e-6] if op != "Acosh" else [1, 1.0001], np.float32)
        case(op, [small], function(small.astype(np.float64)).astype(np.float32), note="near")
    case("Atan2", [a, b], np.arctan2(a, b))
    case("Xlogy", [np.maximum(a, 0), np.abs(a) + 1], np.maximum(a, 0) * np.log(np.abs(a) + 1))
    case("ClipByValue", [a, np.float32(-1), b * 0 + 1], np.clip(a, -1, 1))
    case("Cumprod", [a, 1], np.cumprod(a, 1), constants=[1])
    before = np.cumprod(np.pad(a[:, :0:-1], ((0, 0), (1, 0)), constant_values=1), 1)[:, ::-1]
    case("Cumprod", [a, 1], before, constants=[1], exclusive=True, reverse=True, note="reverse")
    case("Pow", [a, np.round(b)], a ** np.round(b), note="negative")


def _diagonal() -> None:
    rows, matrices = real(2, 3), real(2, 3, 4)
    squares = rows[..., None] * np.eye(3, dtype=np.float32)
    case("MatrixDiag", [rows], squares)
    case("MatrixDiagPart", [matrices], np.diagonal(matrices, 0, 1, 2))
    placed = matrices.copy()
    placed[:, range(3), range(3)] = rows
    case("MatrixSetDiag", [matrices, rows], placed)
    offsets = np.arange(4) - np.arange(3)[:, None]
    for low, high in ((1, 0), (-1, 2), (0, -1)):
        inside = ((offsets >= -low) | (low < 0)) & ((offsets <= high) | (high < 0))
        case(
            "MatrixBandPart", [matrices, low, high], matrices * inside, constants=[1, 2], note=f"{low}{high}"
        )
    for low, high in ((-1, 1), (0, 2), (-2, -1), (1, 1)):
        for align in ("LEFT_LEFT", "RIGHT_LEFT", "LEFT_RIGHT", "RIGHT_RIGHT"):
            found = oracle.diagonals(matrices, low, high, align, 7)
            shared: dict[str, Any] = {"align": align, "note": f"{low}{high}{align}"}
            limits = [low, high]
            case("MatrixDiagPartV3", [matrices, limits, np.float32(7)], found, constants=[1, 2], **shared)
            inside = (low <= offsets) & (offsets <= high)
            case("MatrixDiagV3", [found, limits, 3, 4, np.float32(9)], np.where(inside, matrices, 9),
                 constants=[1, 2, 3, 4], **shared)  # fmt: skip
            other = real(2, 3, 4, seed=8)
            case("MatrixSetDiagV3", [other, found, limits], np.where(inside, matrices, other),
                 constants=[2], **shared)  # fmt: skip
    found = oracle.diagonals(matrices, -1, 1, "LEFT_LEFT", 0)
    case("MatrixDiagPartV2", [matrices, [-1, 1], np.float32(0)], found, constants=[1, 2])
    case("MatrixDiagV2", [rows, 0, -1, -1, np.float32(0)], squares, constants=[1, 2, 3, 4])
    case("MatrixSetDiagV2", [matrices, rows, 0], placed, constants=[2])


for _family in (_segmented, _angled, _diagonal):
    _family()
