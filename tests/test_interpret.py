"""Nests interpreted in plain Python and NumPy give what kernels give, bit by bit."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tosajit as tj
from tests import oracle
from tests.strategies import difference, operator_graph, random_graph
from tests.test_conformance_sample import NAMES, has_arm_tools, needs_judge, tests  # noqa: F401  (a fixture)
from tests.test_control_flow import choice
from tests.test_variables import accumulator
from tosajit import ops
from tosajit.compiler.options import INTERPRETED
from tosajit.conformance.check import Job, check

FLOATS = {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16}
UNARY = "abs ceil cos erf exp floor log negate reciprocal rsqrt sigmoid sin tanh".split()
BINARY = "add sub mul maximum minimum pow greater equal".split()


def every(found: Any) -> tuple[np.ndarray, ...]:
    return found if isinstance(found, tuple) else (found,)


@pytest.mark.parametrize("stage", INTERPRETED)
@pytest.mark.parametrize("name", ["ds_cnn", "resnet8", "autoencoder", "ds_cnn_i16x8"])
def test_networks_give_what_the_reference_model_gives(name: str, stage: str) -> None:
    case = tj.samples.cases(name)[0]
    found = tj.compile(tj.samples.load(name), interpret=stage)(*case.inputs)
    for array, expected in zip(every(found), case.outputs, strict=True):
        np.testing.assert_array_equal(array, expected)


def test_a_transformer_gives_what_the_reference_model_gives() -> None:
    case = tj.samples.cases("transformer_tiny")[0]
    found = tj.compile(tj.samples.load("transformer_tiny"), interpret=True)(*case.inputs)
    for array, expected in zip(every(found), case.outputs, strict=True):
        np.testing.assert_array_equal(array, expected)


@pytest.mark.parametrize("operator", oracle.MODES)
def test_every_operator_and_mode_gives_what_the_oracle_gives(operator: str) -> None:
    for mode in oracle.MODES[operator]:
        drawn = operator_graph(operator, mode, seed=7)
        found = tj.compile(drawn.graph, interpret=True).run(drawn.inputs)
        for name, expected in drawn.expected.items():
            assert not difference(found[name], expected), f"{mode} {name}{drawn}"


@pytest.mark.parametrize("stage", INTERPRETED)
@pytest.mark.parametrize("seed", range(8))
def test_graphs_give_what_the_oracle_gives_after_each_stage(seed: int, stage: str) -> None:
    drawn = random_graph(300 + seed)
    found = tj.compile(drawn.graph, interpret=stage).run(drawn.inputs)
    for name, expected in drawn.expected.items():
        assert not difference(found[name], expected), f"{name}{drawn}"


@pytest.mark.parametrize("name", NAMES[::5])
def test_arm_judges_interpreted_tests_as_passed(name: str, tests: dict[str, Job]) -> None:  # noqa: F811
    job = tests[name]
    if needs_judge(job.test) and not has_arm_tools():
        pytest.skip("Arm's verify library is missing: `make test` installs it, or set TOSAJIT_ARM")
    assert check(Job(job.test, job.results, {"interpret": True})).fault == ""


def numbers(kind: str) -> np.ndarray:
    """Numbers of all sizes, with zeros, infinities, NaN and the smallest ones."""
    drawn = np.random.default_rng(5).standard_normal(4000) * 2.0 ** np.arange(-20, 20).repeat(100)
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, 1.5, 2.5, 1e-40, -1e-40, 6e-8]
    with np.errstate(over="ignore"):
        return np.concatenate([drawn, special]).astype(np.float32).astype(FLOATS[kind])


def assert_same_bits(one: np.ndarray, other: np.ndarray) -> None:
    """NaN may have any bits."""
    bits = f"u{one.dtype.itemsize}"
    some = ~(np.isnan(one.astype(np.float32)) & np.isnan(other.astype(np.float32)))
    np.testing.assert_array_equal(one.view(bits)[some], other.view(bits)[some])


@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("name", [*UNARY, *BINARY])
def test_elementwise_floats_have_the_bits_of_kernels(name: str, kind: str) -> None:
    x = numbers(kind)
    y = np.random.default_rng(6).permutation(x)
    function: Callable[..., Any] = getattr(ops, name)
    given = (x,) if name in UNARY else (abs(x), y) if name == "pow" else (x, y)
    graph = tj.trace(lambda *arrays: function(*arrays), *given)
    assert_same_bits(tj.compile(graph, interpret=True)(*given), tj.compile(graph)(*given))


CASTS: list[tuple[str, type[np.generic]]] = [
    (kind, to) for kind in FLOATS for to in (np.int8, np.int16, np.int32)
]
CASTS += [("f32", np.float16), ("f32", ml_dtypes.bfloat16), ("f16", np.float32), ("bf16", np.float32)]


@pytest.mark.parametrize(("kind", "to"), CASTS)
def test_casts_have_the_bits_of_kernels(kind: str, to: Any) -> None:
    x = numbers(kind)
    graph = tj.trace(lambda x: ops.cast(x, dtype=to), x)
    found, expected = tj.compile(graph, interpret=True)(x), tj.compile(graph)(x)
    (np.testing.assert_array_equal if np.dtype(to).kind == "i" else assert_same_bits)(found, expected)


def test_both_sides_of_a_branch_are_interpreted() -> None:
    made, expected = tj.compile(choice(), interpret=True), tj.compile(choice())
    x = np.arange(5, dtype=np.int32)
    for condition in (np.array([True]), np.array([False])):
        for array, wanted in zip(every(made(condition, x)), every(expected(condition, x)), strict=True):
            np.testing.assert_array_equal(array, wanted)


def test_variables_are_kept_between_interpreted_calls() -> None:
    made, expected = tj.compile(accumulator(), interpret=True), tj.compile(accumulator())
    x = np.array([1, 2, 3], np.int8)
    for _ in range(3):
        for array, wanted in zip(every(made(x)), every(expected(x)), strict=True):
            np.testing.assert_array_equal(array, wanted)


def test_checked_interpreting_says_which_rule_is_broken_and_where() -> None:
    graph = tj.trace(lambda x, y: ops.intdiv(x, y), *[np.ones((2, 3), np.int32)] * 2)
    x, y = np.ones((2, 3), np.int32), np.array([[1, 1, 1], [1, 0, 1]], np.int32)
    messages = []
    for interpret in (False, True):
        with pytest.raises(tj.RequireError) as caught:
            tj.compile(graph, checked=True, interpret=interpret)(x, y)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


@pytest.mark.parametrize("shape", [(), (2, 2)])
def test_a_broken_rule_is_told_with_the_place_if_there_are_several(shape: tuple[int, ...]) -> None:
    graph = tj.trace(lambda x, y: ops.intdiv(x, y), *[np.ones(shape, np.int32)] * 2)
    x, y = np.ones(shape, np.int32), np.zeros(shape, np.int32)
    for interpret in (False, True):
        with pytest.raises(tj.RequireError) as caught:
            tj.compile(graph, checked=True, interpret=interpret)(x, y)
        assert str(caught.value).endswith("its only point") == (len(shape) < 2)
        assert ("=0" in str(caught.value)) == (len(shape) == 2)


def test_interpreting_imports_no_numba_and_writes_no_kernels(tmp_path: Path) -> None:
    code = (
        "import sys, numpy as np, tosajit as tj\n"
        "case = tj.samples.cases('ds_cnn')[0]\n"
        "tj.compile(tj.samples.load('ds_cnn'), interpret=True)(*case.inputs)\n"
        "print('numba' in sys.modules)"
    )
    variables = {"TOSAJIT_CACHE": str(tmp_path), "PATH": ""}
    done = subprocess.run(
        [sys.executable, "-c", code], env=variables, check=True, capture_output=True, text=True
    )
    assert done.stdout == "False\n"
    assert [one for one in tmp_path.iterdir() if one.suffix != ".tjg"] == []  # graphs may be kept


def test_an_interpreted_executable_says_what_it_has_not() -> None:
    made = tj.compile(choice(), interpret="fuse")
    assert list(made.stages) == ["validate", "lower", "precompute", "fuse"]
    assert "interpreted after fuse" in repr(made)
    for ask in (lambda: made.program, made.explain, lambda: made.profile()):
        with pytest.raises(tj.InputError, match="an interpreted executable has no"):
            ask()
    assert str(made)
    assert made._repr_html_()


def test_only_stages_with_nests_can_be_interpreted() -> None:
    with pytest.raises(tj.CompileError, match="interpret is 'plan', but must be one of True, False, lower"):
        tj.compile(choice(), interpret="plan")
