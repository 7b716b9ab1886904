"""Drawn floating-point graphs are accurate on every target, and fused as they are one by one."""

from __future__ import annotations

import numpy as np
import pytest

import tosajit as tj
from tests import floating_oracle as oracle
from tests import reference
from tests.floating_checks import check, check_model, check_node, exposed_values, run, smallest
from tests.floating_graphs import MOVING, FloatingGraph, draw

# The same graphs in every run, so that their kernels are in the cache; `make fuzz` has other seeds.
SEEDS = [range(start, start + 20) for start in range(0, 200, 20)]


def fault(drawn: FloatingGraph, only_model: bool = False) -> str:
    """Check a graph; if it fails, say so of the shortest beginning of it that fails too."""
    try:
        check_model(drawn) if only_model else check(drawn)
    except Exception as error:
        return f"{type(error).__name__}: {error}\n\nreduced to\n{smallest(drawn.seed)}"
    return ""


@pytest.mark.parametrize("seeds", SEEDS, ids=str)
def test_graphs_are_accurate_and_fused_without_a_difference(seeds: range) -> None:
    for seed in seeds:
        wrong = fault(draw(seed))
        if wrong:
            pytest.fail(wrong, pytrace=False)


@pytest.mark.parametrize("seeds", SEEDS, ids=str)
def test_operators_are_accurate_by_the_reference_model(seeds: range) -> None:
    if reference.tools() is None:
        pytest.skip("Arm's reference model is missing: `make test` installs it, or set TOSAJIT_ARM")
    for seed in seeds:
        wrong = fault(draw(seed), only_model=True)
        if wrong:
            pytest.fail(wrong, pytrace=False)


def test_a_wrong_result_is_found() -> None:
    drawn = next(g for g in map(draw, range(1000)) if any(n.operator.opcode == "EXP" for n in g.nodes))
    graph = drawn.graph()
    values = exposed_values(drawn, run(tj.compile(graph), drawn.inputs, graph))
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
