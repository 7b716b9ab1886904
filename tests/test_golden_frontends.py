"""What front ends write for each of their cases stays what it is: operators, attributes, shapes, constants.

A graph that gives the same results with more nodes is a change too, and so is one that only compiles slower.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from hashlib import blake2b
from typing import Any

import numpy as np
import pytest
from generate_nnef import graph_of_case
from onnx_tests import sample
from onnx_tests.suite import Test, loaded

import tosajit as tj
from tests.nnef.cases import CASES as CALLS
from tests.tensorflow_cases.cases import CASES
from tests.tensorflow_cases.operators import OpCase
from tests.test_onnx_numbers import FAMILIES, graph_of
from tests.tflite_cases import draw, drawn
from tosajit.arrays import Array

Golden = Callable[[str, str], None]
SEEDS = range(2)
QUANTIZED = re.compile("qlinear|integer|quantize")
"""What `test_onnx_quantized.py` is about."""
FEW = 8
"""Calls of an operator of NNEF, or a few more."""


@pytest.mark.parametrize("first", sorted({name[0] for name in drawn()}))
def test_graphs_of_tflite_models(first: str, golden: Golden) -> None:
    cases = (
        (f"{name} {kind} {seed}", draw(name, kind, seed).model)
        for name, one in sorted(drawn().items())
        if name.startswith(first)
        for kind in one.types
        for seed in SEEDS
    )
    golden(f"written_tflite_{first}", "\n".join(line(name, tj.load, model) for name, model in cases))


def test_graphs_of_tensorflow_nodes(golden: Golden) -> None:
    golden("written_tensorflow", "\n".join(line(case.label, of_tensorflow, case) for case in CASES))


def test_graphs_of_tensorflow_nodes_whose_first_operand_alone_is_not_known(golden: Golden) -> None:
    known = (replace(case, constants=frozenset(range(1, len(case.operands)))) for case in CASES)
    golden("written_tensorflow_known", "\n".join(line(case.label, of_tensorflow, case) for case in known))


def of_tensorflow(case: OpCase) -> tj.Graph:
    return tj.from_tensorflow(case.model(), outputs=[f"y:{place}" for place in range(len(case.expected))])


@pytest.fixture(scope="module")
def tests(tmp_path_factory: pytest.TempPathFactory) -> list[Test]:
    """The sample of ONNX's tests, without those of quantised networks."""
    every = sample.unpack(sample.ARCHIVES[0], tmp_path_factory.mktemp("onnx"))
    return sorted((one for one in every if not QUANTIZED.search(one.name)), key=lambda test: test.name)


def test_graphs_of_onnx_tests(golden: Golden, tests: list[Test]) -> None:
    golden("written_onnx", "\n".join(line(test.name, lambda test: loaded(test)[0], test) for test in tests))


def test_graphs_of_onnx_tests_whose_first_input_alone_is_not_known(golden: Golden, tests: list[Test]) -> None:
    made = []
    for test in tests:
        others = list(test.arrays(0, "in").items())[1:] if test.sets else []
        made += [line(test.name, tj.load, test.model, constants=dict(others))]
    golden("written_onnx_known", "\n".join(made))


@pytest.mark.parametrize("constant", [False, True], ids=["inputs", "constants"])
def test_graphs_of_onnx_nodes(golden: Golden, constant: bool) -> None:
    made = [
        line(f"{case.op} {number}", graph_of, case, constant)
        for cases in FAMILIES.values()
        for number, case in enumerate(cases)
    ]
    golden(f"written_onnx_{'constants' if constant else 'inputs'}", "\n".join(made))


@pytest.mark.parametrize("module", sorted({name.partition(".")[0] for name in CALLS}))
def test_graphs_of_nnef_operators(module: str, golden: Golden) -> None:
    made = []
    for name, cases in CALLS.items():
        if name.startswith(f"{module}."):
            some = cases[:: max(1, len(cases) // FEW)]
            made += [line(f"{name} {number}", graph_of_case, case) for number, case in enumerate(some)]
    golden(f"written_nnef_{module}", "\n".join(made))


def line(name: str, read: Callable[..., tj.Graph], *given: Any, **options: Any) -> str:
    """A case, the operators of its graph and how many there are, and a digest of all else."""
    try:
        graph = read(*given, **options)
    except tj.TosaError as error:
        return f"{name}: {type(error).__name__}"
    counts = Counter(node.operator.opcode for node in graph.nodes)
    listed = " ".join(f"{n} {opcode}" for opcode, n in sorted(counts.items()) if "CONST" not in opcode)
    return f"{name}: {listed}; {blake2b('|'.join(told(graph)).encode(), digest_size=4).hexdigest()}"


def told(graph: tj.Graph) -> Iterator[str]:
    """All that matters of a graph but names."""
    for region in graph.regions:
        for block in region.blocks:
            for node in block.nodes:
                attributes = [(name, shown(value)) for name, value in node.operator]
                results = [block.values[output] for output in node.outputs]
                yield f"{node.operator.opcode} {attributes} {[one.type for one in results]}"
                yield from (contents(one.data) for one in results if one.data is not None)


def shown(value: object) -> str:
    return f"{value:.5g}" if isinstance(value, float) else str(value)


def contents(array: Array) -> str:
    """Integers as they are; of real numbers what no processor computes otherwise."""
    if array.dtype.kind in "iub":
        return array.tobytes().hex()
    numbers = array.astype(np.float64)
    return f"{np.abs(numbers[np.isfinite(numbers)]).sum():.3g} {np.isnan(numbers).sum()} {array.shape}"
