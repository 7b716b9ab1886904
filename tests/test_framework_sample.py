"""A sample of Arm's framework tests: every operator in every type gives what its own runtime gives."""

from __future__ import annotations

import pytest
from framework_tests import sample
from framework_tests.judge import judge
from framework_tests.suite import Test

from tests.tflite_cases.running import by_arm


@pytest.fixture(scope="module")
def tests(tmp_path_factory: pytest.TempPathFactory) -> list[Test]:
    """The tests of the archive."""
    return sample.unpack(tmp_path_factory.mktemp("frameworks"))


@pytest.mark.parametrize("name", sample.names())
def test_a_model_gives_what_its_framework_gives(name: str, tests: list[Test]) -> None:
    for test in tests:
        if test.name == name:
            outcome = judge(test, by_arm)
            assert outcome.became == "passed", "; ".join(outcome.reasons)
