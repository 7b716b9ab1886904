"""What judges us must itself be right: comparison, worker processes, the reference model's client."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import reference

import tosajit as tj
from tosajit.binding import use_of
from tosajit.conformance import sample
from tosajit.conformance.judge import difference
from tosajit.conformance.suite import Test, load_expected
from tosajit.profiles import EXTENSIONS

sys.path.append(str(Path(__file__).parents[1] / "tools"))
from workers import run_jobs


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Test, Path]]:
    return sample.unpack(tmp_path_factory.mktemp("sample"))


def test_equal_arrays_do_not_differ() -> None:
    assert difference(np.arange(6, dtype=np.int8), np.arange(6, dtype=np.int8)) == ""


def test_a_difference_names_the_first_index_and_both_values() -> None:
    ours = np.array([[1, 2], [3, 4]], np.int32)
    reference_value = np.array([[1, 2], [5, 6]], np.int32)
    assert difference(ours, reference_value) == "3 at (1, 0), not 5 (2 of 4 differ)"


def test_a_scalar_difference_is_found() -> None:
    assert difference(np.array(True), np.array(False)) == "True at (), not False (1 of 1 differ)"


def test_equal_values_of_another_type_differ() -> None:
    assert difference(np.zeros(2, np.int8), np.zeros(2, np.int16)) == "is int8[2], not int16[2]"


def test_negative_zero_differs_from_zero() -> None:
    assert difference(np.array([-0.0], np.float32), np.array([0.0], np.float32))


def task(job: int) -> str:
    """Stand in for a test: number 3 kills its process, number 5 takes too long."""
    if job == 3:
        os.abort()
    if job == 5:
        time.sleep(60)
    return f"{job} done"


def lost(job: int, reason: str) -> str:
    return f"{job} {reason}"


def test_a_job_that_kills_its_worker_or_hangs_fails_alone() -> None:
    results = set(run_jobs(task, range(8), lost, workers=2, seconds=4))
    good = {f"{job} done" for job in (0, 1, 2, 4, 6, 7)}
    assert results == good | {"3 the process died with code -6", "5 took more than 4 s"}


def test_the_sample_is_unpacked_under_the_names_that_are_listed(unpacked: list[tuple[Test, Path]]) -> None:
    assert sorted(test.name for test, _ in unpacked) == sorted(sample.names())


def test_the_reference_client_returns_what_the_sample_holds(unpacked: list[tuple[Test, Path]]) -> None:
    exact = [pair for pair in unpacked if not pair[0].negative and not pair[0].bounds]
    for test, results in exact[::25]:
        outputs = reference.run(test.tosa_path.read_bytes(), test.load_inputs())
        expected = load_expected(test, results)
        assert outputs.keys() == expected.keys()
        assert not any(difference(outputs[name], expected[name].value) for name in outputs), test.name


def test_the_reference_client_raises_for_illegal_graphs(unpacked: list[tuple[Test, Path]]) -> None:
    test = next(test for test, _ in unpacked if test.negative)
    with pytest.raises(reference.ReferenceError) as caught:
        reference.run(test.tosa_path.read_bytes(), test.load_inputs())
    assert caught.value.kind == "error"


def test_the_sample_holds_every_integer_operator_with_every_mode(unpacked: list[tuple[Test, Path]]) -> None:
    untested_by_arm = {"CUSTOM", "VARIABLE", "VARIABLE_READ", "VARIABLE_WRITE"}
    known = frozenset({"PRO-INT", *(name for name, profiles in EXTENSIONS.items() if "PRO-INT" in profiles)})
    wanted = {
        (name, str(mode))
        for name, operator in tj.OPERATORS.items()
        for mode in operator.modes
        if mode.is_in(known) and name not in untested_by_arm
    }
    blocks = [
        block
        for test, _ in unpacked
        if not test.negative
        for region in tj.load(test.tosa_path).regions
        for block in region.blocks
    ]
    held = {
        (type(node.operator).__name__, str(use_of(node, block).mode))
        for block in blocks
        for node in block.nodes
    }
    assert wanted - held == set()
