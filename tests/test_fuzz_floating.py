"""Drawn floating-point graphs are accurate on every target, fused or not; `make fuzz` draws 5,000.

Where Arm's reference model is there, every operator is held against it too.
"""

from __future__ import annotations

import numpy as np
import pytest

import tosajit as tj
from tests import floating_oracle as oracle
from tests import reference
from tests.floating_checks import check, check_node, check_target, smallest
from tests.floating_graphs import MOVING, draw
from tosajit.dtypes import DTYPES
from tosajit.operators import OPERATORS

# The same graphs in every run, so that their kernels are in the cache; `make fuzz` has other seeds.
SEEDS = [range(start, start + 20) for start in range(0, 200, 20)]


@pytest.mark.parametrize("seeds", SEEDS, ids=str)
def test_graphs_are_accurate_and_fused_without_a_difference(seeds: range) -> None:
    for seed in seeds:
        try:
            check(draw(seed), reference.tools())
        except Exception as error:
            small = smallest(seed, reference.tools())
            pytest.fail(f"{type(error).__name__}: {error}\n\nreduced to\n{small}", pytrace=False)


def test_a_wrong_result_is_found() -> None:
    drawn = next(g for g in map(draw, range(1000)) if any(n.operator.opcode == "EXP" for n in g.nodes))
    values = check_target(drawn, tj.compile(drawn.exposed()), "host")
    node = next(node for node in drawn.nodes if node.operator.opcode == "EXP")
    right = values[node.outputs[0]]
    assert check_node(drawn, node, values, right) == ""
    assert "is outside the bounds of EXP" in check_node(drawn, node, values, np.full_like(right, 77))


def test_fewer_operators_are_the_beginning_of_the_same_graph() -> None:
    for seed in range(30):
        whole = draw(seed)
        for count in range(1, len(whole.nodes)):
            part = draw(seed, count)
            assert [n.operator for n in part.nodes] == [n.operator for n in whole.nodes[:count]]


def test_the_first_thousand_graphs_have_every_kind_of_operator() -> None:
    drawn = [draw(seed) for seed in range(1000)]
    operators = {node.operator.opcode for graph in drawn for node in graph.nodes}
    known = {*oracle.UNARY, *oracle.BINARY, *oracle.NAN_MODES, *oracle.SUMS, *MOVING}
    assert operators == known | {"ARGMAX", "CAST", "CLAMP", "REDUCE_PRODUCT", "SELECT"}
    assert {entry.dtype for graph in drawn for entry in graph.entries.values()} == {
        *("FP32", "FP16", "BF16", "FP8E4M3", "FP8E5M2", "BOOL", "INT8", "INT16", "INT32", "SHAPE")
    }
    fused = [
        g for g in drawn if any(n.operator.opcode in ("MATMUL", "CONV2D") for n in g.nodes) and not g.cuts
    ]
    assert len(fused) > 20


@pytest.mark.parametrize("dtype", ["FP32", "FP16", "BF16"])
@pytest.mark.parametrize("operator", ["REDUCE_MAX", "REDUCE_MIN"])
def test_ignoring_nan_leaves_it_where_there_is_nothing_else(operator: str, dtype: str) -> None:
    for axis in (0, 1, 2):
        builder = tj.GraphBuilder()
        x = builder.input("x", DTYPES[dtype], (3, 40, 5))
        builder.output(builder.add(OPERATORS[operator](axis=axis, nan_mode="IGNORE"), [x]))
        values = np.full((3, 40, 5), np.nan)
        values[1:2, 7:8, :1] = 5
        found = tj.compile(builder.build())(values.astype(DTYPES[dtype].storage)).astype(np.float64)
        assert np.array_equal(found, np.fmax.reduce(values, axis=axis, keepdims=True), equal_nan=True)
