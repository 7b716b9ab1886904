"""Samples of ONNX's own tests and of drawn ones: every operator in every type gives what ONNX says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from onnx_tests import sample
from onnx_tests.suite import Test, judge

import tosajit as tj
from tests.tflite_cases.running import by_arm


@pytest.fixture(scope="module")
def tests(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Test]:
    """The tests of the archives."""
    folder = tmp_path_factory.mktemp("onnx")
    return {
        one.name: one for archive in sample.ARCHIVES for one in sample.unpack(archive, folder / archive.stem)
    }


@pytest.mark.parametrize("name", [name for archive in sample.ARCHIVES for name in sample.names(archive)])
def test_a_model_gives_what_onnx_says(name: str, tests: dict[str, Test]) -> None:
    outcome = judge(tests[name], _run)
    assert outcome.became == "passed", "; ".join(outcome.reasons)


def _run(graph: tj.Graph) -> Callable[..., Any]:
    """Arm's model, if there is one; it knows no meaning of CUSTOM operators."""
    is_custom = any(node.operator.opcode == "CUSTOM" for node in graph.nodes)
    return tj.compile(graph) if is_custom else by_arm(graph)
