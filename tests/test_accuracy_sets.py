"""Our dot products on the data sets of Appendix A: within their bounds, unbiased, of small variance."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tosajit as tj
from tests import floating_sums
from tosajit import accuracy
from tosajit.dtypes import DTYPES
from tosajit.operators import OPERATORS

PLANE: dict[str, Any] = {"stride": (1, 1), "pad": (0, 0, 0, 0)}
CONV: dict[str, Any] = PLANE | {"dilation": (1, 1)}
SPACE: dict[str, Any] = {"stride": (1, 1, 1), "pad": (0,) * 6, "dilation": (1, 1, 1)}
SPREAD: dict[str, Any] = {"stride": (1, 1), "out_pad": (0, 0, 0, 0)}
# Operands, attributes, how many zero points follow.
OPERANDS: dict[str, tuple[list[tuple[int, ...]], dict[str, Any], int]] = {
    "MATMUL": ([(2, 33, 64), (2, 64, 31)], {}, 2),
    "CONV2D": ([(1, 14, 15, 8), (13, 3, 3, 8), (13,)], CONV, 2),
    "CONV3D": ([(1, 5, 9, 10, 4), (9, 3, 3, 2, 4), (9,)], SPACE, 2),
    "DEPTHWISE_CONV2D": ([(1, 14, 15, 8), (3, 4, 8, 2), (16,)], CONV, 2),
    "TRANSPOSE_CONV2D": ([(1, 11, 9, 8), (13, 3, 3, 8), (13,)], SPREAD, 2),
    "REDUCE_SUM": ([(40, 64, 33)], {"axis": 1}, 0),
    "AVG_POOL2D": ([(1, 20, 21, 7)], PLANE | {"kernel": (3, 4)}, 2),
    "FFT2D": ([(3, 16, 32), (3, 16, 32)], {"inverse": False}, 0),
    "RFFT2D": ([(5, 16, 32)], {}, 0),
}
LOCAL = (*floating_sums.CONVOLUTIONS, *floating_sums.TRANSFORMS)
"""Operators with the attribute local_bound."""
ALL = ("FP32", "FP32"), ("FP16", "FP16"), ("BF16", "FP32")
EIGHT_BITS = [("FP8E4M3", "FP16", "FP16"), ("FP8E5M2", "FP16", "FP16")]
SAME = [(kind, kind, acc) for kind, acc in ALL]
HALF = ("FP16", "FP16", "FP32")
TYPES = {
    "MATMUL": [*SAME[:2], ("FP16", "FP32", "FP32"), ("BF16", "FP32", "FP32"), *EIGHT_BITS],
    **{name: [*SAME, HALF, *EIGHT_BITS] for name in floating_sums.CONVOLUTIONS},
    "REDUCE_SUM": SAME,
    "AVG_POOL2D": [*SAME, HALF],
    **{name: SAME[:1] for name in floating_sums.TRANSFORMS},
}
CASES = [
    (operator, *types, local)
    for operator, rows in TYPES.items()
    for types in rows
    for local in ((True, False) if operator in LOCAL else (True,))
]


def test_every_operator_with_data_sets_is_here() -> None:
    assert sorted(OPERANDS) == sorted(floating_sums.SUMS)


@pytest.mark.parametrize("number", accuracy.SETS)
@pytest.mark.parametrize(
    "shape", [(1000, 1, 4), (1000, 1, 8), (500, 1, 16), (250, 1, 32), (500, 2, 8), (2, 1, 1024)]
)
@pytest.mark.parametrize("operator", floating_sums.TRANSFORMS)
def test_short_transforms_are_accurate_in_each_number(
    operator: str, shape: tuple[int, ...], number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    shapes, attributes, _ = OPERANDS[operator]
    monkeypatch.setitem(OPERANDS, operator, ([shape] * len(shapes), attributes, 0))
    test_sums_of_a_data_set_are_accurate(operator, "FP32", "FP32", "FP32", True, number)


@pytest.mark.parametrize("number", accuracy.SETS)
@pytest.mark.parametrize(("operator", "kind", "output", "acc", "local"), CASES)
def test_sums_of_a_data_set_are_accurate(
    operator: str, kind: str, output: str, acc: str, local: bool, number: int
) -> None:
    shapes, attributes, zeros = OPERANDS[operator]
    attributes = attributes | ({"local_bound": local} if operator in LOCAL else {})
    if operator in (*floating_sums.CONVOLUTIONS, "AVG_POOL2D"):
        attributes |= {"acc_type": acc}
    types = [kind, kind, output][: len(shapes)]
    made = accuracy.data_set(
        operator, number, shapes, types, output, axis=1, kernel=attributes.get("kernel", (1, 1))
    )
    builder = tj.GraphBuilder()
    names = [
        builder.input(f"x{k}", DTYPES[t], a.shape) for k, (t, a) in enumerate(zip(types, made, strict=True))
    ]
    zero = [
        builder.const(np.zeros(1), DTYPES[t]) for t in [kind, output if operator[0] == "A" else kind][:zeros]
    ]
    node = OPERATORS[operator](**attributes)
    if operator in floating_sums.TRANSFORMS:
        builder.output(*builder.add_all(node, names))
    else:
        builder.output(builder.add(node, [*names, *zero], dtype=DTYPES[output]))
    found = np.asarray(tj.compile(builder.build())(*made))
    wide = [array.astype(np.float64) for array in made]
    expected = floating_sums.summed(operator, dict(node), wide)
    assert found.size >= accuracy.MIN_DOT_PRODUCTS
    result = floating_sums.judged(operator, dict(node), output, made, found, expected, number)
    assert result, str(result)
