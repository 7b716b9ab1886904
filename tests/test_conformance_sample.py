"""A sample of Arm's conformance suite: every operator with every mode, and every kind of error."""

from __future__ import annotations

from pathlib import Path

import pytest

from tosajit.conformance import sample
from tosajit.conformance.arm import ArmToolsMissing, arm_tools
from tosajit.conformance.check import Job, check

NAMES = sample.names()


@pytest.fixture(scope="module")
def tests(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Job]:
    """Unpack the sample."""
    unpacked = sample.unpack(Path(tmp_path_factory.mktemp("conformance")))
    return {test.name: Job(test, results) for test, results in unpacked}


@pytest.mark.parametrize("name", NAMES)
def test_arm_judges_the_test_as_passed(name: str, tests: dict[str, Job]) -> None:
    job = tests[name]
    if job.test.bounds and not has_arm_tools():
        pytest.skip("Arm's verify library is missing: `make test` installs it, or set TOSAJIT_ARM")
    assert check(job).fault == ""


def has_arm_tools() -> bool:
    """Whether Arm's library is there to judge results that need not be exact."""
    try:
        arm_tools()
    except ArmToolsMissing:
        return False
    return True
