"""Every operator of PyTorch that is lowered gives what `torch` gives; so do whole networks."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any, cast

import pytest
from environments import with_torch

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
QUICK = (
    "resnet18 mobilenet_v3_small shufflenet_v2_x0_5 squeezenet1_1 lraspp_mobilenet_v3_large fpn_mobilenet "
    "bert distilbert vit whisper_encoder llama transformer lstm gru cache"
)


def run(script: str, *arguments: str) -> list[str]:
    """What a script prints where `torch` is."""
    python = with_torch()
    if python is None:
        pytest.skip("there is no torch: TOSAJIT_TORCH says where, `make test-slow` installs it")
    done = subprocess.run(
        [python, "-W", "ignore", ROOT / "tests" / "torch_cases" / script, *arguments],
        capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return [line for line in done.stdout.splitlines() if line.startswith("{")]


def judged(kind: str, seed: int, *names: str) -> dict[str, str]:
    """How each case compares, by its name."""
    rows = map(json.loads, run("running.py", kind, str(seed), *names))
    return {row["name"]: row["fault"] for row in rows}


@pytest.mark.parametrize("seed", [1, 2])
def test_operators_give_what_torch_gives(seed: int) -> None:
    found = judged("cases", seed)
    assert len(found) > 250
    assert {name: fault for name, fault in found.items() if fault} == {}


def test_networks_give_what_torch_gives() -> None:
    found = judged("models", 1, *QUICK.split())
    assert set(found) == set(QUICK.split())
    assert {name: fault for name, fault in found.items() if fault} == {}


@pytest.fixture(scope="module")
def loaded() -> dict[str, Any]:
    """What `tests/torch_cases/loading.py` has found out."""
    (line,) = run("loading.py")
    return cast("dict[str, Any]", json.loads(line))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("no_module", "InputError: function is no PyTorch module"),
        ("no_inputs", "InputError: example inputs are missing"),
        ("dictionary", "InputError: example_inputs is a dictionary: give example_keywords"),
        ("twice", "InputError: an ExportedProgram has its example inputs already"),
        ("no_export", "torch.export cannot export the module: Could not guard on data-dependent expression"),
        ("wrong_count", "torch.export cannot export the module: too many positional arguments"),
        ("refused", "rand_like (aten.rand_like.default): TOSA has no random numbers"),
        ("refused", "erfinv (aten.erfinv.default)"),
        ("double", "TOSA has no type for float64; convert the module: module.float()"),
        ("trained", "0/batch_norm (aten.batch_norm.default): it normalises by the statistics of its operand"),
    ],
)
def test_odd_input_is_told(name: str, text: str, loaded: dict[str, Any]) -> None:
    assert text in loaded[name]


def test_modules_stay_in_the_mode_that_they_have(loaded: dict[str, Any]) -> None:
    assert loaded["mixed"] == [True, True, True, False]


def test_inputs_and_outputs_are_called_by_their_places(loaded: dict[str, Any]) -> None:
    inputs, outputs = loaded["nested"]
    assert inputs == ["given_left", "given_right_0", "given_right_1_0", "scale"]
    assert outputs == ["sum", "pair_0", "pair_2_0"]


def test_parameters_are_not_copied(loaded: dict[str, Any]) -> None:
    assert loaded["shared"] == [True, True]


def test_extents_that_are_open_are_those_of_the_example(loaded: dict[str, Any]) -> None:
    notes, shape = loaded["dynamic"]
    assert notes == ["input.shape[0] = 2 is dynamic, and fixed as in the example"]
    assert shape == [6]


def test_modules_that_have_been_exported_are_taken(loaded: dict[str, Any]) -> None:
    shape, fault = loaded["exported"]
    assert shape == [2, 4]
    assert "torch.export cannot export the module" in fault
