"""A sample of ONNX's own tests of its operators: every operator in every type gives what ONNX says."""

from __future__ import annotations

import pytest
from onnx_tests import sample
from onnx_tests.suite import Test, judge

from tests.tflite_cases.running import by_arm


@pytest.fixture(scope="module")
def tests(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Test]:
    """The tests of the archive."""
    return {one.name: one for one in sample.unpack(tmp_path_factory.mktemp("onnx"))}


@pytest.mark.parametrize("name", sample.names())
def test_a_model_gives_what_onnx_says(name: str, tests: dict[str, Test]) -> None:
    outcome = judge(tests[name], by_arm)
    assert outcome.became == "passed", "; ".join(outcome.reasons)
