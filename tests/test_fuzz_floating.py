"""Drawn floating-point graphs are accurate on every target, fused or not; `make fuzz` draws 5,000.

Where Arm's reference model is there, every operator is held against it too.
"""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from typing import Any

import fuzz_floating
import graph_fuzzer
import numpy as np
import pytest

import tosajit as tj
from tests import floating_checks, reference
from tests.floating_checks import check, check_node, check_target, smallest
from tests.floating_graphs import FloatingGraph
from tests.floating_steps import OPERATORS_DRAWN, draw
from tosajit.dtypes import DTYPES
from tosajit.operators import REDUCE_MAX, REDUCE_MIN, NanMode

# The same graphs in every run, so that their kernels are in the cache; `make fuzz` has other seeds.
SEEDS = [range(start, start + 20) for start in range(0, 100, 20)]


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
    assert check_node(drawn, node, values, [right]) == ""
    assert "is outside the bounds of EXP" in check_node(drawn, node, values, [np.full_like(right, 77)])


@pytest.mark.parametrize(
    "opcode", ["FFT2D", "TRANSPOSE_CONV2D", "DEPTHWISE_CONV2D", "CONV3D", "RESIZE", "COND_IF"]
)
def test_a_wrong_result_is_found_in_every_kind_of_operator(opcode: str) -> None:
    drawn = next(g for g in map(draw, range(1000)) if any(n.operator.opcode == opcode for n in g.nodes))
    node = next(node for node in drawn.nodes if node.operator.opcode == opcode)
    values = {name: entry.array for name, entry in drawn.entries.items()}
    right = [values[name] for name in node.outputs]
    assert check_node(drawn, node, values, right) == ""
    assert "outside" in check_node(drawn, node, values, [*right[:-1], np.full_like(right[-1], 1e4)])


def test_fewer_operators_are_the_beginning_of_the_same_graph() -> None:
    for seed in range(30):
        whole = draw(seed)
        for count in range(1, len(whole.nodes)):
            part = draw(seed, count)
            assert [n.operator for n in part.nodes] == [n.operator for n in whole.nodes[:count]]


def test_the_first_four_hundred_graphs_have_every_kind_of_operator() -> None:
    drawn = [draw(seed) for seed in range(400)]
    used = Counter(name for graph in drawn for name, _ in graph.operators)
    assert sorted(used) == OPERATORS_DRAWN
    assert used["POW"] > 40
    assert {entry.dtype for graph in drawn for entry in graph.entries.values()} == {
        *("FP32", "FP16", "BF16", "FP8E4M3", "FP8E5M2", "BOOL", "INT8", "INT16", "INT32", "SHAPE")
    }
    fused = [
        g for g in drawn if any(n.operator.opcode in ("MATMUL", "CONV2D") for n in g.nodes) and not g.cuts
    ]
    assert len(fused) > 20


@pytest.mark.parametrize("dtype", ["FP32", "FP16", "BF16"])
@pytest.mark.parametrize("operator", [REDUCE_MAX, REDUCE_MIN])
def test_ignoring_nan_leaves_it_where_there_is_nothing_else(operator: Any, dtype: str) -> None:
    for axis in (0, 1, 2):
        builder = tj.GraphBuilder()
        x = builder.input("x", DTYPES[dtype], (3, 40, 5))
        builder.output(builder.add(operator(axis=axis, nan_mode=NanMode.IGNORE), [x]))
        values = np.full((3, 40, 5), np.nan)
        values[1:2, 7:8, :1] = 5
        found = tj.compile(builder.build())(values.astype(DTYPES[dtype].storage)).astype(np.float64)
        assert np.array_equal(found, np.fmax.reduce(values, axis=axis, keepdims=True), equal_nan=True)


def test_a_failing_graph_is_kept_with_its_seed_and_its_reduction(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def wrong(drawn: FloatingGraph, model: object = None) -> bool:
        assert len(drawn.nodes) < 3, "too many"
        return True

    monkeypatch.setattr(fuzz_floating, "check", wrong)
    monkeypatch.setattr(floating_checks, "check", wrong)
    batch = graph_fuzzer.Batch(0, 12, 100, tmp_path, shrink=True)
    outcome = fuzz_floating.run_batch(batch)
    assert outcome.graphs == 12
    assert 0 < len(outcome.failures) < 12
    message, folder = outcome.failures[0]
    assert message.startswith("AssertionError: too many")
    assert (folder / "reduced" / "seed.txt").read_text().split()[1] == "3"
    with pytest.raises(AssertionError, match="too many"):
        fuzz_floating.replay(str(folder))
    assert not batch.running.exists()
    graph_fuzzer.report(outcome, "floating-point ", "2 targets", list(OPERATORS_DRAWN), 1.0)
    said = capsys.readouterr().out.splitlines()
    assert said[-1].startswith("fuzz: 12 floating-point graphs of ")
    assert said[-1].endswith(f"{len(outcome.failures)} failures, 1 s")
    assert sum(line.startswith("FAILED") for line in said) == len(outcome.failures)


def test_no_more_graphs_are_drawn_after_the_time(tmp_path: Path) -> None:
    options = graph_fuzzer.parser_of("", "fuzz").parse_args(
        ["--graphs", "60", "--seed", "2", "--minutes", "1"]
    )
    now = time.perf_counter()
    made = list(graph_fuzzer.batches(options, now, ""))
    assert [(batch.seed, batch.graphs) for batch in made] == [(2000006, 25), (2000031, 25), (2000056, 10)]
    assert not list(graph_fuzzer.batches(options, now - 61, ""))
