"""A sample of Arm's conformance suite: every operator with every mode, and every kind of error."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tosajit.conformance import sample
from tosajit.conformance.arm import ArmToolsMissing, arm_tools
from tosajit.conformance.check import Job, check
from tosajit.conformance.suite import Test

NAMES = [name for archive in sample.ARCHIVES for name in sample.names(archive)]


@pytest.fixture(scope="module")
def tests(conformance_sample: dict[Path, list[tuple[Test, Path]]]) -> dict[str, Job]:
    """The tests of all archives by their names."""
    return {test.name: Job(test, results) for found in conformance_sample.values() for test, results in found}


@pytest.mark.parametrize("name", NAMES)
def test_arm_judges_the_test_as_passed(name: str, tests: dict[str, Job]) -> None:
    job = tests[name]
    if needs_judge(job.test) and not has_arm_tools():
        pytest.skip("Arm's verify library is missing: `make test` installs it, or set TOSAJIT_ARM")
    assert check(job).fault == ""


def needs_judge(test: Test) -> bool:
    """Whether results need not be exact, or are wider than ours."""
    floats = any(tensor["data_type"].startswith(("FP", "BF")) for tensor in outputs_of(test))
    return test.bounds or (floats and not test.negative)


def outputs_of(test: Test) -> list[dict[str, Any]]:
    """What the test says of its outputs."""
    return list(test.compliance.get("tensors", {}).values())


def has_arm_tools() -> bool:
    """Whether Arm's library is there to judge results that need not be exact."""
    try:
        arm_tools()
    except ArmToolsMissing:
        return False
    return True
