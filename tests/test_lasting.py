"""Arguments of kernels that are the same in all runs are noted by the first one, and results stay right."""

from __future__ import annotations

import numpy as np
import pytest

import tosajit as tj
from tosajit.arrays import Array
from tosajit.kernels.runner import Runner
from tosajit.kernels.workspace import Workspace
from tosajit.runtime.executable import Executable

WEIGHTS = [np.random.default_rng(number).integers(-9, 10, (24, 1, 1, 24), np.int8) for number in range(4)]


def layers(x: tj.Tensor) -> tj.Tensor:
    """Four layers of one row."""
    for weights in WEIGHTS:
        sums = tj.ops.conv2d(x, weights)
        x = tj.ops.rescale(sums, 1 << 30, 36, dtype=tj.INT8)
    return x


def expected(x: Array) -> Array:
    row = x.reshape(-1).astype(np.int64)
    for weights in WEIGHTS:
        row = np.clip((weights.reshape(24, 24).astype(np.int64) @ row + 32) >> 6, -128, 127)
    return row.reshape(x.shape)


def rows(count: int) -> list[Array]:
    rng = np.random.default_rng(count)
    return [rng.integers(-128, 128, (1, 1, 1, 24), np.int8) for _ in range(count)]


def compiled(threads: int) -> Executable:
    return tj.compile(tj.trace(layers, rows(1)[0]), threads=threads, generic="never")


def noted(workspace: Workspace) -> int:
    """How many sections have noted theirs: a word that tells is 1, and flags behind it are 3."""
    words = workspace.lasting
    return int(((words[:-1] == 1) & (words[1:] == 3)).sum())


@pytest.mark.parametrize("threads", [1, 2])
def test_calls_with_other_arrays_are_right(threads: int) -> None:
    executable = compiled(threads)
    for x in rows(5):
        np.testing.assert_array_equal(executable(x), expected(x))


def test_sections_note_their_arguments_but_for_those_with_arrays_of_the_call() -> None:
    executable = compiled(1)
    executable(rows(1)[0])
    runner = executable.body.whole
    assert isinstance(runner, Runner)
    (workspace,) = runner._free
    assert noted(workspace) == runner.program.image.sections - 2


@pytest.mark.parametrize("threads", [1, 2])
def test_bound_arrays_may_hold_other_numbers(threads: int) -> None:
    executable, values = compiled(threads), rows(5)
    given = values[0].copy()
    bound = executable.bind(given)
    for x in values:
        given[...] = x
        np.testing.assert_array_equal(bound(), expected(x))


def test_bound_arrays_let_all_sections_note_their_arguments() -> None:
    runner = compiled(1).body.whole
    assert isinstance(runner, Runner)
    workspace = runner._bound(rows(1), [np.empty((1, 1, 1, 24), np.int8)])
    for _ in range(2):
        workspace.run()
        assert noted(workspace) == runner.program.image.sections
