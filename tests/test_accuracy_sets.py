"""Our dot products on the data sets of Appendix A: within their bounds, unbiased, of small variance."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tosajit as tj
from tests import floating_oracle as oracle
from tosajit import accuracy
from tosajit.dtypes import DTYPES
from tosajit.operators import OPERATORS

WINDOW: dict[str, Any] = {"stride": (1, 1), "pad": (0, 0, 0, 0)}
# Operands, attributes, how many products a sum has, how many zero points follow.
OPERANDS: dict[str, tuple[list[tuple[int, ...]], dict[str, Any], int, int]] = {
    "MATMUL": ([(2, 33, 64), (2, 64, 31)], {}, 64, 2),
    "CONV2D": ([(1, 14, 15, 8), (13, 3, 3, 8), (13,)], WINDOW | {"dilation": (1, 1)}, 72, 2),
    "REDUCE_SUM": ([(40, 64, 33)], {"axis": 1}, 64, 0),
    "AVG_POOL2D": ([(1, 20, 21, 7)], WINDOW | {"kernel": (3, 4)}, 12, 2),
}
ALL = ("FP32", "FP32"), ("FP16", "FP16"), ("BF16", "FP32")
EIGHT_BITS = [("FP8E4M3", "FP16", "FP16"), ("FP8E5M2", "FP16", "FP16")]
SAME = [(kind, kind, acc) for kind, acc in ALL]
HALF = ("FP16", "FP16", "FP32")
TYPES = {
    "MATMUL": [*SAME[:2], ("FP16", "FP32", "FP32"), ("BF16", "FP32", "FP32"), *EIGHT_BITS],
    "CONV2D": [*SAME, HALF, *EIGHT_BITS],
    "REDUCE_SUM": SAME,
    "AVG_POOL2D": [*SAME, HALF],
}
CASES = [
    (operator, *types, local)
    for operator, rows in TYPES.items()
    for types in rows
    for local in ((True, False) if operator == "CONV2D" else (True,))
]


@pytest.mark.parametrize("number", accuracy.SETS)
@pytest.mark.parametrize(("operator", "kind", "output", "acc", "local"), CASES)
def test_sums_of_a_data_set_are_accurate(
    operator: str, kind: str, output: str, acc: str, local: bool, number: int
) -> None:
    shapes, attributes, ks, zeros = OPERANDS[operator]
    attributes = dict(attributes)
    if operator in ("CONV2D", "AVG_POOL2D"):
        attributes["acc_type"] = acc
    if operator == "CONV2D":
        attributes["local_bound"] = local
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
    builder.output(builder.add(node, [*names, *zero], dtype=DTYPES[output]))
    found = tj.compile(builder.build())(*made)
    sizes = [accuracy.magnitudes(a, kind, local or k > 0) for k, a in enumerate(made)]
    reference = oracle.evaluate(operator, dict(node), made, output)
    bounds = oracle.evaluate(operator, dict(node), sizes, output)
    bias = operator == "CONV2D" and bool(made[2].any())
    ksb = accuracy.kernel_size_bound(ks, output, acc, bias)
    assert found.size >= accuracy.MIN_DOT_PRODUCTS
    result = accuracy.check_dot_product(found, reference, bounds, output, ksb, number)
    assert result, str(result)
