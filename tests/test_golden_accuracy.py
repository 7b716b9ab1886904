"""Data sets and verdicts of accuracy stay what they are: the specification's numbers, worked out once."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

from tosajit import accuracy
from tosajit.accuracy.data import LARGEST, PLACES, random
from tosajit.accuracy.formats import FORMATS
from tosajit.accuracy.result import summarised

Golden = Callable[[str, str], None]
SHAPES: dict[str, list[tuple[int, ...]]] = {
    "AVG_POOL2D": [(1, 5, 6, 2)],
    "CONV2D": [(1, 4, 5, 2), (2, 2, 3, 2), (2,)],
    "CONV3D": [(1, 2, 3, 3, 2), (2, 2, 1, 2, 2), (2,)],
    "DEPTHWISE_CONV2D": [(1, 3, 4, 2), (2, 3, 2, 2), (4,)],
    "FFT2D": [(2, 2, 4), (2, 2, 4)],
    "MATMUL": [(2, 3, 4), (2, 4, 3)],
    "RFFT2D": [(2, 2, 4)],
    "TRANSPOSE_CONV2D": [(1, 3, 2, 2), (2, 2, 2, 2), (2,)],
    "REDUCE_SUM": [(2, 4, 3)],
}
VALUES = [0.0, 1e-45, 1e-9, 5e-5, 0.4, 1.0, -1.0, 1.5, 3.99, -6.0, 240.0, 449.0, 60000.0, 70000.0, 3e38]
VALUES += [np.inf, -np.inf, np.nan]


def shown(array: Any) -> str:
    """Numbers of six digits, which every machine has alike."""
    return " ".join(f"{float(one):.6g}" for one in np.asarray(array, np.float64).reshape(-1))


@pytest.mark.parametrize("operator", sorted(PLACES))
def test_data_sets_are_what_they_were(operator: str, golden: Golden) -> None:
    lines = []
    for number in accuracy.SETS:
        shapes = SHAPES[operator]
        types = ["FP32"] * len(shapes)
        made = accuracy.data_set(operator, number, shapes, types, "FP32", axis=1, kernel=(2, 3))
        lines += [f"{number} {list(one.shape)} {shown(one)}" for one in made]
    golden(f"data_{operator.lower()}", "\n".join(lines))


def test_sequences_and_largest_numbers_are_what_they_were(golden: Golden) -> None:
    lines = [
        f"{number}: {shown(random(number, np.array([0, 1, 2, 3, 9, 64, 65, 1000])))}" for number in range(18)
    ]
    for (inputs, output), most in LARGEST.items():
        names = " ".join(sorted(one.name for one in inputs))
        lines.append(f"{names} to {output.name}: {most!r}")
        assert accuracy.format_of(output).normal_max >= most
    golden("data_sequences", "\n".join(lines))


def test_formats_round_and_have_units_as_they_did(golden: Golden) -> None:
    lines = []
    for kind in FORMATS.values():
        lines.append(f"{kind}")
        lines.append(f"  rounded {shown(kind.rounded(np.array(VALUES)))}")
        lines.append(f"  units {shown(accuracy.reference_ulp(VALUES, kind.dtype))}")
        with np.errstate(all="ignore"):
            for lower, divisor in ((0.0, 1.0), (0.5, 1.0), (1e3, 2.0)):
                found = accuracy.absolute_bound(VALUES, 3.0, kind.dtype, lower, divisor)
                lines.append(f"  bound {lower} {divisor}: {shown(found)}")
            lines.append(f"  beside nothing {shown(accuracy.absolute_bound(VALUES, np.inf, kind.dtype))}")
    golden("accuracy_formats", "\n".join(lines))


@pytest.mark.parametrize("kind", ["FP32", "FP16", "BF16", "FP8E4M3", "FP8E5M2"])
def test_results_are_accepted_as_far_from_the_reference_as_they_were(kind: str, golden: Golden) -> None:
    lines = []
    most = accuracy.format_of(kind).normal_max
    references = [0.0, 1.0, -1.0, 1e-9, 100.0, most, -most, np.inf, -np.inf, np.nan]
    offsets = [0.0, 0.4, 0.5, 0.6, 1.0, 1.01, -0.5, -1.0, -1.01, -3.0, np.inf, -np.inf, np.nan]
    for reference, ulps in product(references, ((1.0, None), (0.5, 1.0), (0.0, None), (1e99, None))):
        ulp = max(float(accuracy.reference_ulp(reference, kind)), 1e-12)
        found = np.array([reference + offset * ulp for offset in offsets])
        verdicts = [accuracy.check([one], [reference], kind, *ulps).passed for one in found]
        lines.append(f"{reference:g} {ulps}: {''.join('.X'[not one] for one in verdicts)}")
    for one in (0.0, most * 1.01, -most * 1.2, np.nan, np.inf):
        row = [accuracy.check_bound([one], [reference], kind, 2.0).passed for reference in references]
        lines.append(f"found {one:g}: {''.join('.X'[not one] for one in row)}")
    golden(f"accuracy_{kind.lower()}", "\n".join(lines))


def test_operators_may_be_as_far_off_as_they_were(golden: Golden) -> None:
    x = np.array([0.0, 1e-3, 0.5, 2.0, -3.0, 80.0, np.inf])
    y = np.array([1.0, -2.0, 0.0, 2.5, 2.0, 0.1, 1.0])
    lines = []
    for name, kind in product((*accuracy.BOUNDS, "ABS"), ("FP32", "FP16", "BF16")):
        given = (x, y) if name == "POW" else (x,)
        reference = np.array([0.0, 1.0, -2.0, 5.0, 1e-9, 300.0, 7.0])
        lines.append(f"{name} {kind}: {shown(accuracy.bound(name, reference, kind, *given))}")
    lines.append(shown(accuracy.bound("REDUCE_PRODUCT", [2.0, 3.0], "FP16", np.ones((2, 5)))))
    golden("accuracy_bounds", "\n".join(lines))


def test_the_worst_element_is_told_as_it_was(golden: Golden) -> None:
    expected = np.array([[1.0, 2.0, 0.0], [4.0, np.nan, 6.0]])
    lines = []
    beside = np.array([[0.0, 0.0, 1e-9], [9.0, 0.0, 0.0]])
    there = np.where(np.isnan(expected), 1.0, expected)
    endless = np.where(expected == 6, np.inf, expected)
    for found, allowed in (
        (expected, 1.0),
        (expected + 0.5, 1.0),
        (expected * [1, 1.2, 1], 0.1),
        (expected + beside, 0.0),
        (there, 1.0),
        (endless, 1.0),
    ):
        with np.errstate(all="ignore"):
            accepted = (np.abs(found - expected) <= allowed) | (np.isnan(found) & np.isnan(expected))
        made = summarised(found, expected, np.full(expected.shape, allowed), accepted, "a rule")
        lines += [
            str(made),
            f"{made.index} {made.failures} of {made.elements} {made.error:g} {made.allowed:g}",
        ]
    none = np.zeros((0, 2))
    lines += [str(summarised(none, none, none, none > 0, "a rule", note)) for note in ("", "a note")]
    golden("accuracy_worst", "\n".join(lines))


def test_sums_of_products_are_judged_as_they_were(golden: Golden) -> None:
    lines = []
    for kind, number, limit in product(("FP32", "FP16"), (None, 2, 3), (None, 1.0)):
        fraction = accuracy.format_of(kind).fraction
        for off in (0.0, 1.0, 2.0, 3.9, 4.0, 4.1, -4.1):
            bounds = np.array([1.0, 2.0, 4.0, 0.0, np.nan])
            expected = np.array([1.0, -1.0, 3.0, 0.0, 1.0])
            found = expected + off * np.nan_to_num(bounds) * 2.0 ** (-1 - fraction)
            made = accuracy.check_dot_product(found, expected, bounds, kind, 2, number, abs_bound=limit)
            lines.append(f"{kind} {number} {limit} {off}: {made}")
    for size, kind, acc, bias in (
        (9, "FP16", "FP32", False),
        (9, "FP16", "FP16", True),
        (1000, "BF16", "FP32", True),
    ):
        lines.append(f"{size} {kind} {acc}: {accuracy.kernel_size_bound(size, kind, acc, bias)}")
    for local in (True, False):
        lines.append(shown(accuracy.magnitudes([0.0, -3.0, 1e-9], "FP16", local)))
    nothing = accuracy.check_dot_product([0.0, 1e-30, 0.0], [0.0, 0.0, 1e-30], [0.0] * 3, "FP32", 1)
    golden("accuracy_products", "\n".join([*lines, str(nothing)]))
