"""What judges us must itself be right: comparison, worker processes, the reference model's client."""

from __future__ import annotations

import os
import signal
import tarfile
import threading
import time
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import arm_suite
import conformance
import numpy as np
import pytest
from workers import run_jobs

import tosajit as tj
from tests import reference
from tosajit.conformance import judge, sample
from tosajit.conformance.arm import ArmTools
from tosajit.conformance.check import Job, Outcome
from tosajit.conformance.judge import difference
from tosajit.conformance.suite import Expected, Test, has_results, load_expected
from tosajit.graph.binding import use_of
from tosajit.profiles import EXTENSIONS


@pytest.fixture(scope="module")
def unpacked(conformance_sample: dict[Path, list[tuple[Test, Path]]]) -> list[tuple[Test, Path]]:
    return conformance_sample[sample.ARCHIVE]


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
    results = set(run_jobs(task, range(8), lost, workers=2, limit=lambda _: 4))
    good = {f"{job} done" for job in (0, 1, 2, 4, 6, 7)}
    assert results == good | {"3 the process died with code -6", "5 took more than 4 s"}


def evaluations(jobs: list[Job]) -> Iterator[str]:
    """What the names say that the reference model has been run on."""
    return (job.test.name for job in jobs if conformance.has_results(job))


def few_jobs(unpacked: list[tuple[Test, Path]], place: Path) -> list[Job]:
    """Some tests, positive and negative, without results of the reference model."""
    tests = [test for test, _ in unpacked if test.operator in ("ABS", "ARGMAX", "CLZ")]
    return sorted((Job(test, place / test.name) for test in tests), key=conformance.order)


OPTIONS = Namespace(workers=1, seconds=60, failures=9)


def test_what_there_was_no_time_for_is_counted_as_skipped(
    unpacked: list[tuple[Test, Path]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    jobs = few_jobs(unpacked, tmp_path)
    run = conformance.Run(jobs, minutes=0)
    run.all(conformance.judge, OPTIONS)
    assert run.report(tmp_path / "results", "run") == 1
    said = capsys.readouterr().out.splitlines()
    assert said[-2].startswith(f"NOT RUN: {len(jobs)} tests")
    assert said[-1].startswith(f"conformance: 0 of {len(jobs)} passed, 0 failed, {len(jobs)} skipped")
    assert not list(evaluations(jobs))


def test_tests_are_evaluated_as_they_are_run_and_not_again(
    unpacked: list[tuple[Test, Path]], tmp_path: Path
) -> None:
    if reference.tools() is None:
        pytest.skip("Arm's reference model is missing: `make test` installs it, or set TOSAJIT_ARM")
    jobs = few_jobs(unpacked, tmp_path)
    conformance.Run(jobs).all(conformance.judge, OPTIONS)
    assert len(list(evaluations(jobs))) == len(jobs)
    assert not list(tmp_path.glob("*.part"))
    again = conformance.Run(jobs, minutes=0)
    again.all(conformance.judge, OPTIONS)
    assert (again.not_run, again.failures) == (0, [])
    assert again.report(tmp_path / "results", "run") == 0


def slow(job: Job) -> Outcome:
    """Stand in for the reference model."""
    time.sleep(60)
    return Outcome(job.test, "")


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Ctrl-C, also where the tests run in the background, for which a shell turns it off."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupted_run_says_what_it_has_left(
    unpacked: list[tuple[Test, Path]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    jobs = few_jobs(unpacked, tmp_path)
    run = conformance.Run(jobs)
    threading.Timer(2, os.kill, (os.getpid(), signal.SIGINT)).start()
    run.all(slow, OPTIONS)
    assert run.report(tmp_path / "results", "run") == 1
    said = capsys.readouterr().out
    assert "interrupted: what the reference model has done is kept" in said
    assert f"{len(jobs)} skipped" in said


def test_half_a_result_is_none(unpacked: list[tuple[Test, Path]], tmp_path: Path) -> None:
    test = next(test for test, _ in unpacked if not test.negative)

    class Arm(ArmTools):
        """Writes all that it has to, and then fails."""

        def evaluate(
            self, description: Path, output: Path, *, seconds: float = 0, precise: bool = True
        ) -> tuple[int, str]:
            for name in test.outputs.values():
                np.save(output / name, np.zeros(1))
            return 1, "unpredictable"

    said = arm_suite.evaluate(Arm(tmp_path), test, tmp_path / "place")
    assert said == "the reference model ends with code 1: unpredictable"
    assert not arm_suite.evaluated(test, tmp_path / "place")


def test_large_results_are_packed_and_read_as_they_were(
    unpacked: list[tuple[Test, Path]], tmp_path: Path
) -> None:
    test = next(test for test, _ in unpacked if test.bounds)
    large = np.arange(sample.LIMIT / 8 + 1)

    class Arm(ArmTools):
        """Writes a large result, and small bounds."""

        def evaluate(
            self, description: Path, output: Path, *, seconds: float = 0, precise: bool = True
        ) -> tuple[int, str]:
            for name in test.outputs.values():
                np.save(output / name, large)
                np.save(output / f"bounds_{name}", large[:9])
            return 0, ""

    assert arm_suite.evaluate(Arm(tmp_path), test, tmp_path / "place") == ""
    assert arm_suite.evaluated(test, tmp_path / "place")
    names = sorted(path.name for path in (tmp_path / "place").iterdir())
    assert names == sorted(n for name in test.outputs.values() for n in (f"{name}.gz", f"bounds_{name}"))
    for expected in load_expected(test, tmp_path / "place").values():
        np.testing.assert_array_equal(expected.value, large)
        np.testing.assert_array_equal(expected.bounds, large[:9])
    assert not sample.choose([test], tmp_path / "place", test.folder)


@pytest.mark.parametrize(
    ("operator", "name", "shape", "operations"),
    [
        ("CONV2D", "conv2d_3x2_1x8x9x5_i8xi8_acci32_st11_pad0000", [1, 6, 8, 4], 6 * 8 * 4 * 3 * 2 * 5),
        ("DEPTHWISE_CONV2D", "depthwise_conv2d_3x2_1x8x9x5_i8", [1, 6, 8, 10], 6 * 8 * 10 * 3 * 2),
        ("FFT2D", "fft2d_2x4x8_f32_inv0_lclbnd0_s1", [2, 4, 8], 64 * 32),
        ("MATMUL", "matmul_2x4x8_i8xi8", [2, 4, 3], 24 * 8),
        ("MAX_POOL2D", "max_pool2d_1x4x8x2_i8_st11_kern31_pad00", [1, 2, 8, 2], 32 * 3),
        ("AVG_POOL2D", "avg_pool2d_1x4x8x2_i8_st11_kern1x8192_pad0x1", [1, 4, 1, 2], 8 * 8192),
        ("ABS", "abs_7x8_i32", [7, 8], 2 * 56),
    ],
)
def test_the_reference_model_is_given_what_is_done_soonest_first(
    operator: str, name: str, shape: list[int], operations: int
) -> None:
    compliance = {"tensors": {"out": {"shape": shape}}}
    test = Test(Path(name), operator, False, {}, {}, compliance=compliance)
    assert arm_suite.reference_seconds(test) == 0.03 + operations / 1e7


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


def test_what_is_packed_lies_in_folders_of_tests_and_of_results(
    unpacked: list[tuple[Test, Path]], tmp_path: Path
) -> None:
    test, results = next((test, results) for test, results in unpacked if not test.negative)
    root, place = test.folder.parent, Path(test.folder.name)
    sample.pack([test], results.parent, root, tmp_path / "made" / "small.tar.xz")
    sample.unpack(tmp_path / "again", tmp_path / "made" / "small.tar.xz")
    ((found, made),) = sample.unpacked(tmp_path / "again")
    assert found.folder == tmp_path / "again" / "tests" / place
    assert made == tmp_path / "again" / "results" / place
    assert found.tosa_path.read_bytes() == test.tosa_path.read_bytes()
    assert {path.name for path in made.iterdir()} == {
        path.name for path in sample.result_files(test, results)
    }


def fabricated(folder: Path, size: int, operator: str = "ADD", **more: Any) -> Test:
    """A test of so many bytes, whose name is that of its folder."""
    folder.mkdir(parents=True)
    (folder / "desc.json").write_bytes(b"")
    (folder / "test.tosa").write_bytes(bytes(size))
    fields: dict[str, Any] = {"negative": True, "inputs": {}, "outputs": {}, **more}
    return Test(folder=folder, operator=operator, **fields)


@pytest.mark.parametrize(
    ("name", "operator", "expected"),
    [
        ("add_1x2x3_i8", "ADD", ("add", "i8")),
        ("conv2d_1x2_st11_pad0000_dilat12_f32", "CONV2D", ("conv2d", "f32")),
        ("reduce_max_axis1_rank0_full_si_is", "REDUCE_MAX", ("reduce", "max")),
        ("rescale_12_sc1_pc0_s8", "RESCALE", ("rescale", "sc1", "pc0")),
        ("cast_12_sc1_pc0_x", "CAST", ("cast", "pc0", "x")),
        ("rescale_xsc1_i8", "RESCALE", ("rescale", "xsc1", "i8")),
    ],
)
def test_sizes_and_places_make_no_kind(
    name: str, operator: str, expected: tuple[str, ...], tmp_path: Path
) -> None:
    test = Test(tmp_path / name, operator, False, {}, {}, extensions=frozenset({"b", "a"}))
    assert sample.kind(test) == (operator, *expected, "a", "b")


def test_the_smallest_and_the_largest_small_tests_are_chosen(tmp_path: Path) -> None:
    sizes = {"add_1": 10, "add_2": sample.SMALL, "add_3": sample.SMALL + 1, "add_4": 20}
    tests = [fabricated(tmp_path / name, size) for name, size in sizes.items()]
    assert [test.name for test in sample.choose(tests, tmp_path, tmp_path)] == ["add_1", "add_2"]
    assert [test.name for test in sample.choose(tests, tmp_path, tmp_path, few=True)] == ["add_1"]
    assert [test.name for test in sample.choose(tests[:1], tmp_path, tmp_path)] == ["add_1"]


def test_the_smallest_is_chosen_where_none_is_small(tmp_path: Path) -> None:
    sizes = {
        "add_1": sample.LIMIT,
        "add_2": sample.SMALL + 1,
        "mul_1": sample.LIMIT,
        "sub_1": sample.LIMIT + 1,
    }
    tests = [fabricated(tmp_path / name, size) for name, size in sizes.items()]
    assert [test.name for test in sample.choose(tests, tmp_path, tmp_path)] == ["add_2", "mul_1"]
    assert sample.choose(tests, tmp_path, tmp_path, few=True) == []


def test_of_equal_sizes_the_first_name_is_chosen(tmp_path: Path) -> None:
    tests = [fabricated(tmp_path / name, 10) for name in ("add_3", "add_1", "add_2")]
    assert [test.name for test in sample.choose(tests, tmp_path, tmp_path)] == ["add_1", "add_3"]


def test_tests_without_all_of_their_files_are_not_chosen(tmp_path: Path) -> None:
    root, results = tmp_path / "tests", tmp_path / "results"
    test = fabricated(root / "add_1", 1, negative=False, outputs={"y": "y.npy"}, bounds=True)
    folder = results / "add_1"
    folder.mkdir(parents=True)
    assert sample.result_files(test, folder) == [folder / "y.npy", folder / "bounds_y.npy"]
    for name in ("y.npy", "bounds_y.npy"):
        assert sample.choose([test], results, root) == []
        (folder / name).write_bytes(b"")
    assert sample.choose([test], results, root) == [test]
    assert sample.result_files(fabricated(root / "add_2", 1, outputs={"y": "y.npy"}), folder) == []


def test_archives_have_tests_and_results_by_their_places(tmp_path: Path) -> None:
    root, results = tmp_path / "from" / "tests", tmp_path / "from" / "results"
    test = fabricated(root / "ops" / "add_1", 3, negative=False, outputs={"y": "y.npy"})
    (results / "ops" / "add_1").mkdir(parents=True)
    (results / "ops" / "add_1" / "y.npy").write_bytes(b"abc")
    sample.pack([test], results, root, tmp_path / "new" / "archive.tar.xz")
    with tarfile.open(tmp_path / "new" / "archive.tar.xz") as tar:
        found = {member.name: (member.size, member.mtime, member.uid) for member in tar}
    assert found == {
        "tests/ops/add_1/desc.json": (0, 0, 0),
        "tests/ops/add_1/test.tosa": (3, 0, 0),
        "results/ops/add_1/y.npy": (3, 0, 0),
    }
    assert sample.names(tmp_path / "new" / "archive.tar.xz") == ("add_1",)


@pytest.mark.parametrize(
    ("profiles", "extensions", "expected"),
    [
        ({"a"}, {"x", "y"}, True),
        ({"b"}, {"x"}, True),
        ({"c"}, {"x"}, False),
        ({"a"}, set(), False),
        ({"a"}, {"y"}, False),
    ],
)
def test_a_test_needs_a_profile_and_all_extensions(
    profiles: set[str], extensions: set[str], expected: bool
) -> None:
    test = Test(Path("t"), "ADD", False, {}, {}, profiles=frozenset({"a", "b"}), extensions=frozenset({"x"}))
    assert test.supported(frozenset(profiles), frozenset(extensions)) == expected
    assert Test(Path("t"), "ADD", False, {}, {}).supported(frozenset(), frozenset())


def test_results_are_there_where_all_files_are(tmp_path: Path) -> None:
    test = Test(tmp_path, "ADD", False, {}, {"y": "y.npy"}, bounds=True)
    plain = replace(test, bounds=False)
    assert not has_results(plain, tmp_path)
    np.save(tmp_path / "y.npy", np.arange(3))
    assert has_results(plain, tmp_path)
    assert not has_results(test, tmp_path)
    np.save(tmp_path / "bounds_y.npy", np.arange(3) + 1)
    assert has_results(test, tmp_path)
    found = load_expected(test, tmp_path)["y"]
    assert (found.value.tolist(), found.bounds.tolist()) == ([0, 1, 2], [1, 2, 3])  # type: ignore[union-attr]
    assert load_expected(plain, tmp_path)["y"].bounds is None


def judged(ours: Any, reference: Any, mode: str = "EXACT") -> str:
    about = {"tensors": {"y": {"mode": mode, "shape": [2], "data_type": "FP32"}}}
    test = Test(Path("t"), "ADD", False, {}, {}, compliance=about)
    return judge.fault(test, {"y": np.asarray(ours)}, {"y": Expected(np.asarray(reference))})


def test_faults_are_told_by_output() -> None:
    assert judged(np.array([1, 2]), np.array([1, 2])) == ""
    assert judged(np.array([1, 2]), np.array([1, 3])) == "y: 2 at (1,), not 3 (1 of 2 differ)"
    assert judged(np.array([1, 2, 3]), np.array([1, 2])) == "y: shape is [3], not [2]"
    test = Test(Path("t"), "ADD", False, {}, {})
    assert (
        judge.fault(test, {"z": np.zeros(1)}, {"y": Expected(np.zeros(1))}) == "outputs are ['z'], not ['y']"
    )


def test_what_is_farthest_outside_is_told() -> None:
    reference = Expected(np.array([[0.0, 1.0], [2.0, 3.0]]), np.array([[1.0, 1.0], [1.0, 3.0]]))
    ours = np.array([[0.5, 1.25], [0.25, 3.5]], np.float32)
    text = judge.outside(ours, reference, {"mode": "ULP"})
    assert text == "0.25 at (1, 0) is refused in mode ULP: the reference is 2.0, its bounds 1.0"
    text = judge.outside(ours, Expected(reference.value), {"mode": "ULP"})
    assert text == "0.25 at (1, 0) is refused in mode ULP: the reference is 2.0, its bounds 2.0"
    assert judge.outside(np.array([True]), reference, {"mode": "ULP"}) == "refused in mode ULP"


def test_a_seed_that_arms_generator_stops_at_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It may draw a shape that its own rules forbid, as at seed 2217."""
    monkeypatch.setattr(arm_suite, "configuration_of_any_seed", lambda arm, path: path)
    (tmp_path / "bin").mkdir()
    generator = tmp_path / "bin" / "tosa_verif_conformance_generator"
    generator.write_text("#!/bin/sh\nexit 1\n")
    generator.chmod(0o755)
    with pytest.raises(SystemExit, match="stopped at seed 7, for the reason above: take another SEED"):
        arm_suite.generate(ArmTools(tmp_path), tmp_path / "suite", 7, ["tosa-pro-int"], [])
    assert "with seed 7" in capsys.readouterr().out
