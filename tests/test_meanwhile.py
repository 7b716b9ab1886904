"""While kernels are compiled in the background, the generic one runs; they take its place between calls."""

from __future__ import annotations

import logging
import multiprocessing
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import tosajit as tj
from tests.test_generic import generic_groups
from tosajit.arrays import Array
from tosajit.errors import CompileError
from tosajit.kernels import cache, helpers, objects
from tosajit.kernels.generic.code import NAME as GENERIC
from tosajit.kernels.generic.code import texts
from tosajit.kernels.workspace import driver_text
from tosajit.operators import ADD, BITWISE_XOR, MATMUL, MAXIMUM, MUL, REDUCE_SUM, SUB
from tosajit.runtime import meanwhile

ROOT = Path(__file__).parents[1]


def network(number: int) -> tj.Graph:
    """A group whose kernel is like no other's: the digits of a number are its operators."""
    graph = tj.GraphBuilder()
    x, y = (graph.input(name, tj.INT32, (50, 7)) for name in "xy")
    value = graph.add(ADD(), [x, y])
    for bit in f"{number:b}":
        value = graph.add(BITWISE_XOR() if bit == "1" else SUB(), [value, y])
    graph.output(value)
    return graph.build()


def inputs(seed: int = 1) -> list[np.ndarray]:
    return [np.random.default_rng([seed, n]).integers(-999, 999, (50, 7)).astype(np.int32) for n in (0, 1)]


def expected(number: int, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    value: Array = x + y
    for bit in f"{number:b}":
        value = value ^ y if bit == "1" else value - y
    return value


class Gate:
    """Compiling in the background that waits until it is let through, or fails."""

    def __init__(self) -> None:
        self.open, self.error = threading.Event(), ""

    def compile_beside(self, sources: Sequence[str], stopped: Callable[[], bool]) -> None:
        assert self.open.wait(60)
        if self.error:
            raise CompileError(self.error)
        objects.compile_kernels(sources, False)


@pytest.fixture(autouse=True)
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache without kernels, while driver and steps are there."""
    objects.compile_kernels((driver_text(), *texts()))
    monkeypatch.setenv("TOSAJIT_CACHE", str(tmp_path))
    return tmp_path


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Gate:
    found = Gate()
    monkeypatch.setattr(meanwhile, "compile_beside", found.compile_beside)
    return found


def test_the_generic_kernel_runs_until_the_groups_own_takes_its_place(
    gate: Gate, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "tosajit")
    executable = tj.compile(network(1001), generic="meanwhile")
    assert generic_groups(executable) == 1
    np.testing.assert_array_equal(executable(*inputs()), expected(1001, *inputs()))
    assert {one.kernel for one in executable.profile(*inputs(), runs=1)} == {"generic"}
    assert not executable.wait(0)
    assert "kernels of its own" not in caplog.text
    gate.open.set()
    assert executable.wait(60)
    assert generic_groups(executable) == 0
    assert {one.kernel for one in executable.profile(*inputs(), runs=1)} == {"generated"}
    np.testing.assert_array_equal(executable(*inputs()), expected(1001, *inputs()))
    assert "main: kernels of its own after" in caplog.text


def test_a_helper_compiles_what_is_missing(empty: Path) -> None:
    executable = tj.compile(network(1002), generic="meanwhile")
    np.testing.assert_array_equal(executable(*inputs()), expected(1002, *inputs()))
    assert executable.wait(120)
    assert generic_groups(executable) == 0
    assert [*empty.glob("*.o")]
    np.testing.assert_array_equal(executable(*inputs()), expected(1002, *inputs()))


def test_nothing_is_generic_whose_kernel_is_there(gate: Gate) -> None:
    tj.compile(network(1003), generic="never")
    executable = tj.compile(network(1003), generic="meanwhile")
    assert generic_groups(executable) == 0
    assert executable.wait(0)


def test_nothing_is_generic_before_the_steps_are_compiled(
    gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = objects.is_there
    steps = set(texts())
    monkeypatch.setattr(
        "tosajit.kernels.generic.code.is_there", lambda text: text not in steps and there(text)
    )
    executable = tj.compile(network(1004), generic="meanwhile")
    assert generic_groups(executable) == 0


def test_calls_on_many_threads_go_on_while_kernels_are_replaced(gate: Gate) -> None:
    executable = tj.compile(network(1005), generic="meanwhile")
    before, after = threading.Barrier(5), threading.Event()

    def call(seed: int) -> int:
        given, count = inputs(seed), 0
        wanted = expected(1005, *given)
        before.wait(60)
        while not after.is_set() or count < 50:
            np.testing.assert_array_equal(executable(*given), wanted)
            count += 1
        return count

    with ThreadPoolExecutor(4) as pool:
        calls = [pool.submit(call, seed) for seed in range(4)]
        before.wait(60)
        gate.open.set()
        assert executable.wait(60)
        time.sleep(0.05)
        after.set()
        assert all(one.result(60) >= 50 for one in calls)
    assert generic_groups(executable) == 0
    (runner,) = executable.body.runners
    assert runner._free
    assert all(workspace._program is runner.program for workspace in runner._free)


def test_bound_arrays_are_worked_on_by_the_kernels_that_are_there(gate: Gate) -> None:
    executable = tj.compile(network(1006), generic="meanwhile")
    given = inputs()
    bound = executable.bind(*given)
    np.testing.assert_array_equal(bound(), expected(1006, *given))
    gate.open.set()
    assert executable.wait(60)
    given[0][...] = 5
    np.testing.assert_array_equal(bound(), expected(1006, *given))


def test_the_generic_kernel_stays_if_compiling_fails(gate: Gate, caplog: pytest.LogCaptureFixture) -> None:
    executable = tj.compile(network(1007), generic="meanwhile")
    gate.error = "there is no compiler today"
    gate.open.set()
    assert not executable.wait(60)
    assert "the generic one stays: there is no compiler today" in caplog.text
    assert generic_groups(executable) == 1
    np.testing.assert_array_equal(executable(*inputs()), expected(1007, *inputs()))


def test_an_executable_is_kept_with_the_kernels_that_it_waited_for(
    gate: Gate, empty: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOSAJIT_VERIFY", "0")  # else nothing is kept
    executable = tj.compile(network(1008), generic="meanwhile")
    assert not [*empty.glob(f"*{cache.EXECUTABLE}")]
    gate.open.set()
    assert executable.wait(60)
    end = time.monotonic() + 60
    while not [*empty.glob(f"*{cache.EXECUTABLE}")] and time.monotonic() < end:
        time.sleep(0.01)
    again = tj.compile(network(1008), generic="meanwhile")
    assert again.meanwhile is None
    np.testing.assert_array_equal(again(*inputs()), expected(1008, *inputs()))


def test_a_file_has_the_kernels_that_were_waited_for(gate: Gate, tmp_path: Path) -> None:
    executable = tj.compile(network(1009), generic="meanwhile")
    gate.open.set()
    executable.save(tmp_path / "own.tjx")
    assert executable.wait(0)
    again = tj.load_executable(tmp_path / "own.tjx")
    np.testing.assert_array_equal(again(*inputs()), expected(1009, *inputs()))


def test_a_generic_executable_is_stored_with_its_steps(tmp_path: Path) -> None:
    tj.compile(network(1010), generic="always").save(tmp_path / "generic.tjx")
    again = tj.load_executable(tmp_path / "generic.tjx")
    np.testing.assert_array_equal(again(*inputs()), expected(1010, *inputs()))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_process_does_not_wait_for_a_thread_that_it_does_not_have(gate: Gate) -> None:
    executable = tj.compile(network(1011), generic="meanwhile")

    def child() -> None:
        right = np.array_equal(executable(*inputs()), expected(1011, *inputs()))
        os._exit(0 if right and not executable.wait() else 1)

    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    process.join(60)
    assert process.exitcode == 0
    gate.open.set()
    assert executable.wait(60)


PROGRAM = """
import tosajit as tj
from tests.test_meanwhile import expected, inputs, network
from tests.test_generic import generic_groups
executable = tj.compile(network(1012), generic="meanwhile")
assert (executable(*inputs()) == expected(1012, *inputs())).all()
print(generic_groups(executable))
"""


def run(program: str) -> tuple[str, str]:
    """What a process prints."""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True, timeout=300)
    return done.stdout, done.stderr


def test_kernels_are_finished_behind_a_process_that_has_ended(empty: Path) -> None:
    for kernel in objects.compile_kernels((driver_text(), *texts())):
        cache.write(f"{kernel.digest}.o", kernel.code + objects._footer(kernel.code))
    before = {path.name for path in empty.glob("*.o")}
    assert run(PROGRAM) == ("1\n", "")
    end = time.monotonic() + 120
    while len([*empty.glob("*.o")]) <= len(before) and time.monotonic() < end:
        time.sleep(0.05)
    assert len({path.name for path in empty.glob("*.o")} - before) == 1
    assert run(PROGRAM) == ("0\n", "")


@pytest.mark.parametrize(
    ("variable", "message"), [("", "generic is 'often'"), ("often", "TOSAJIT_GENERIC is 'often'")]
)
def test_other_words_are_refused(variable: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOSAJIT_GENERIC", variable)
    with pytest.raises(CompileError, match=message):
        tj.compile(network(1), generic=None if variable else "often")  # type: ignore[arg-type]


def test_the_environment_says_when(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOSAJIT_GENERIC", "always")
    assert generic_groups(tj.compile(network(1013))) == 1
    assert generic_groups(tj.compile(network(1013), generic="never")) == 0


def test_meanwhile_is_what_happens_if_nobody_says(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TOSAJIT_GENERIC")
    executable = tj.compile(network(1014))
    assert generic_groups(executable) == 1
    gate.open.set()
    assert executable.wait(60)


def test_what_is_computed_from_constants_waits_for_no_kernel(
    gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = inputs()
    graph = tj.GraphBuilder()
    x, y = (graph.const(array, tj.INT32) for array in given)
    value = graph.add(ADD(), [x, y])
    for bit in f"{1015:b}":
        value = graph.add(BITWISE_XOR() if bit == "1" else SUB(), [value, y])
    graph.output(graph.add(BITWISE_XOR(), [value, graph.input("z", tj.INT32, (50, 7))]))
    with monkeypatch.context() as patched:
        patched.setattr(objects, "_compile_missing", None)
        executable = tj.compile(graph.build(), generic="meanwhile")
        np.testing.assert_array_equal(executable(given[0]), expected(1015, *given) ^ given[0])
    gate.open.set()
    assert executable.wait(60)


def layer(number: int, kind: tj.DType) -> tj.Graph:
    """A product of matrices and work on its sums that is like no other's: the digits of a number say what."""
    graph = tj.GraphBuilder()
    integers = kind is tj.INT8
    sums = tj.INT32 if integers else tj.FP32
    rows = graph.input("x", kind, (1, 24, 40))
    added = graph.input("y", sums, (1, 1, 32))
    rng = np.random.default_rng(number)
    weights = rng.integers(-50, 50, (1, 40, 32)).astype(kind.storage)
    zero = graph.const(np.zeros(1, kind.storage), kind)
    value = graph.add(MATMUL(), [rows, graph.const(weights, kind), zero, zero])
    for bit in f"{number:b}":
        value = graph.add(MAXIMUM() if bit == "1" else SUB(), [value, added])
    graph.output(value)
    return graph.build()


@pytest.mark.parametrize("kind", [tj.INT8, tj.FP32], ids=str)
def test_sums_of_products_are_there_before_the_kernel_that_also_works_on_them(
    gate: Gate, kind: tj.DType
) -> None:
    tj.compile(layer(0b1011, kind), generic="always")  # which compiles what sums
    rng = np.random.default_rng(3)
    given = [rng.integers(-99, 99, (1, 24, 40)).astype(kind.storage)]
    given.append(rng.integers(-9999, 9999, (1, 1, 32)).astype(np.int32 if kind is tj.INT8 else np.float32))
    executable = tj.compile(layer(0b100101, kind), generic="meanwhile")
    kernels = [group.kernel for group in executable.explain()]
    assert len(executable.program.sections) == len(kernels)
    assert GENERIC in kernels
    bound = executable.bind(*given)
    bound()
    first = executable(*given)
    assert executable.profile(*given, runs=1)
    gate.open.set()
    assert executable.wait(60)
    after = executable.explain()
    assert len(after) == len(executable.program.sections) == len(kernels) - 1
    assert GENERIC not in [group.kernel for group in after]
    bound()
    for found in (first, executable(*given), bound.outputs):
        found = found[0] if isinstance(found, list | tuple) else found
        wanted = tj.compile(executable.graph, interpret=True)(*given)
        np.testing.assert_array_equal(found.view(np.uint8), wanted.view(np.uint8))


def rows(number: int) -> tj.Graph:
    """Sums of squares along rows, and work on them: the digits of a number say what, as of `layer`."""
    graph = tj.GraphBuilder()
    x, y = graph.input("x", tj.FP32, (24, 40)), graph.input("y", tj.FP32, (24, 1))
    zero = graph.const(np.zeros(1, np.int8), tj.INT8)
    value = graph.add(REDUCE_SUM(axis=1), [graph.add(MUL(), [x, x, zero])])
    for bit in f"{number:b}":
        value = graph.add(MAXIMUM() if bit == "1" else SUB(), [value, y])
    graph.output(value)
    return graph.build()


def test_sums_along_rows_are_there_before_the_kernel_that_also_works_on_them(gate: Gate) -> None:
    """LLVM chooses the order of these sums, so that no step of the generic kernel gives their bits."""
    tj.compile(rows(0b1010), generic="always")  # which compiles the sums alone
    rng = np.random.default_rng(5)
    given = [rng.standard_normal(shape).astype(np.float32) for shape in ((24, 40), (24, 1))]
    executable = tj.compile(rows(0b100101), generic="meanwhile")
    assert [group.kernel for group in executable.explain()] == ["generated", GENERIC]
    first = executable(*given)
    assert not executable.wait(0)
    gate.open.set()
    assert executable.wait(60)
    assert [group.kernel for group in executable.explain()] == ["generated"]
    np.testing.assert_array_equal(first.view(np.uint8), executable(*given).view(np.uint8))


def test_a_helper_whose_pipe_is_closed_is_left_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """As when it ends while Python does: its thread closes the pipe."""
    monkeypatch.setattr(helpers, "_waiting", {"kernel": "text"})
    monkeypatch.setattr(helpers, "_lasting", {"kernel"})
    with subprocess.Popen([sys.executable, "-c", ""], stdin=subprocess.PIPE, text=True) as process:
        assert process.stdin
        process.stdin.close()
        assert not helpers._left_to(process)
    assert helpers._waiting == {"kernel": "text"}
