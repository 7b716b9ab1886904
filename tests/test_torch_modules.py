"""Modules that tosajit runs: tensors in the structure of the module, `torch.compile`, Arm's tests."""

from __future__ import annotations

import json
import os
import subprocess
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, cast

import pytest
from environments import with_torch

ROOT = Path(__file__).parents[1]
CASES = ROOT / "tests" / "torch_cases"
SAMPLE = ("mobilenet_v2", "squeezenet1_1")
DEEP = ("efficientnet_v2_s", "efficientnet_b1", "resnet101", "mobilenet_v3_small")


def run(script: str, *arguments: str) -> list[str]:
    """The lines of a script that runs where `torch` is."""
    python = with_torch()
    if python is None:
        pytest.skip("there is no torch: TOSAJIT_TORCH says where, `make test-slow` installs it")
    done = subprocess.run(
        [python, "-W", "ignore", CASES / script, *arguments],
        capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return [line for line in done.stdout.splitlines() if line.startswith("{")]


@pytest.fixture(scope="module")
def called() -> dict[str, Any]:
    """What `tests/torch_cases/calling.py` has found out."""
    (line,) = run("calling.py")
    return cast("dict[str, Any]", json.loads(line))


def test_torch_finds_the_backend_by_its_name() -> None:
    found = entry_points(group="torch_dynamo_backends", name="tosajit")
    assert [one.value for one in found] == ["tosajit.modules.dynamo:backend"]
    assert callable(next(iter(found)).load())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["nested", "strides"])
def test_tensors_come_and_go_in_the_structure_of_the_module(name: str, called: dict[str, Any]) -> None:
    assert called[name] == [True, [True] * 5]


@pytest.mark.slow
def test_variables_persist(called: dict[str, Any]) -> None:
    assert called["kept"] == [2, 4, 6]


@pytest.mark.slow
def test_a_language_model_keeps_what_it_has_seen(called: dict[str, Any]) -> None:
    assert max(called["cached"]) < 1e-4


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("otherwise", "InputError: its arguments are nested as"),
        ("keyword", "InputError: it takes the keywords ['flag'], but [] are given"),
        ("no_tensor", "InputError: input given_whole: expected a tensor, found int"),
        ("shape", "InputError: %image: FP32[1, 2, 5, 5]: the array has shape [1, 2, 4, 5]"),
    ],
)
def test_other_calls_are_refused(name: str, text: str, called: dict[str, Any]) -> None:
    assert text in called[name]


@pytest.mark.slow
def test_the_backend_of_torch_compile_gives_what_the_module_gives(called: dict[str, Any]) -> None:
    assert called["good"] == [[True, [True]], []]
    assert called["named"] == [True, [True]]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "text"),
    [("trained", "gradients are wanted"), ("unknown", "aten.erfinv"), ("written", "it writes to a tensor")],
)
def test_what_the_backend_refuses_runs_as_torch_runs_it(name: str, text: str, called: dict[str, Any]) -> None:
    *found, (warning,) = called[name]
    assert warning.startswith("tosajit: a part of the model runs as PyTorch runs it")
    assert text in warning
    assert found[0] in ([True, [True]], [1.0, 1.0, 1.0])


@pytest.mark.slow
def test_modules_of_arm_give_what_torch_gives() -> None:
    rows = [
        json.loads(line)
        for line in run("running.py", "arm", "3", "linear", "div", "mm", "squeeze_dim", "avg")
    ]
    assert len(rows) > 30
    assert [row for row in rows if row["fault"]] == []


@pytest.mark.slow
def test_quantised_networks_are_within_a_step_on_every_grid() -> None:
    rows = [json.loads(line) for line in run("running.py", "networks", "5", *SAMPLE)]
    assert [row["name"] for row in rows] == list(SAMPLE)
    for row in rows:
        found = row["xnnpack"]
        assert row["float"]["error"] < 1e-4
        assert found["integer"] == found["sums"] > 20
        assert max(found["step"], found["end"]) <= 1
        assert found["off"] / found["elements"] < 1e-3  # beside halves


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 3])
def test_drawn_networks_do_not_magnify_the_rounding_of_float32(seed: int) -> None:
    rows = [json.loads(line) for line in run("running.py", "conditions", str(seed), *DEEP)]
    assert [row["name"] for row in rows] == list(DEEP)
    assert {row["name"]: row["error"] for row in rows if not row["error"] < 3e-5} == {}
