"""Modelled machines give the bits of the reference model, through the bytes of their scratchpads."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings

import tosajit as tj
from tests import models
from tests.fuzzing import check_machine
from tests.strategies import Drawn, graphs
from tosajit.conformance import sample
from tosajit.conformance.arm import ArmToolsMissing, arm_tools
from tosajit.conformance.check import Job, check
from tosajit.conformance.suite import Test

MACHINES = ("tiny", "ethos-u55-32", "systolic-16")
SETTINGS: dict[str, Any] = {
    "max_examples": 40,
    "derandomize": True,
    "deadline": None,
    "database": None,
    "phases": (Phase.generate,),
    "suppress_health_check": list(HealthCheck),
}


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("name", models.NAMES)
def test_a_model_gives_its_golden_bits(name: str, machine: str) -> None:
    executable = tj.compile(models.graph(name), machine=machine)
    assert models.cases(name)
    for number, case in enumerate(models.cases(name)):
        results = executable(*case.inputs)
        results = results if isinstance(results, tuple) else (results,)
        for index, (result, golden) in enumerate(zip(results, case.outputs, strict=True)):
            np.testing.assert_array_equal(result, golden, err_msg=f"case {number}, output {index}")


@pytest.fixture(scope="module")
def tests(conformance_sample: dict[Path, list[tuple[Test, Path]]]) -> dict[str, Job]:
    return {test.name: Job(test, results) for test, results in conformance_sample[sample.ARCHIVE]}


def one_of_each_kind() -> list[str]:
    """The first test of every operator and mode; faults are found before a machine is asked for."""
    kinds: dict[tuple[str, ...], str] = {}
    for name in sample.names():
        words = [word for word in name.split("_") if not sample.SIZE.match(word)]
        if "ERRORIF" not in name:
            kinds.setdefault(tuple(words), name)
    return list(kinds.values())


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("name", one_of_each_kind())
def test_arm_judges_the_test_as_passed(name: str, machine: str, tests: dict[str, Job]) -> None:
    job = tests[name]
    if job.test.bounds and not has_arm_tools():
        pytest.skip("Arm's verify library is missing: `make test` installs it, or set TOSAJIT_ARM")
    assert check(Job(job.test, job.results, {"machine": machine})).fault == ""


@pytest.mark.parametrize("machine", MACHINES)
def test_drawn_graphs_give_the_bits_of_the_oracle(machine: str) -> None:
    @settings(**SETTINGS)
    @given(graphs())
    def run(drawn: Drawn) -> None:
        with suppress(tj.PlanError):  # some graphs are too large for the smallest of them
            check_machine(drawn, machine)

    run()


@cache
def has_arm_tools() -> bool:
    """Whether Arm's library is there to judge results that need not be exact."""
    try:
        arm_tools()
    except ArmToolsMissing:
        return False
    return True
