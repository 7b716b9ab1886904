"""Holding a drawn graph against the oracle, Arm's reference model and every target; keeping what fails."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np

import tosajit as tj
from tests import reference
from tests.strategies import TARGETS, Drawn, assert_same, difference
from tosajit.files import save, to_bytes
from tosajit.frontends import load


def check_model(drawn: Drawn) -> None:
    """Compare the oracle with Arm's reference model."""
    outputs = reference.run(to_bytes(drawn.graph), drawn.inputs)
    for name, expected in drawn.expected.items():
        fault = difference(outputs[name], expected)
        assert not fault, f"the reference model: {name}{fault}{drawn}"


def check_executable(drawn: Drawn, target: str, threads: int = 1) -> None:
    """Compare an executable for a target with the oracle."""
    check_calls(drawn, tj.compile(drawn.graph, target=TARGETS[target], threads=threads), target)


def check_machine(drawn: Drawn, machine: str) -> None:
    """Compare an executable for a modelled machine with the oracle."""
    check_calls(drawn, tj.compile(drawn.graph, machine=machine), machine)


def check_calls(drawn: Drawn, executable: tj.Executable, target: str) -> None:
    """Compare two calls with the oracle; they must leave the inputs alone."""
    given = {name: array.copy() for name, array in drawn.inputs.items()}
    assert_same(drawn, executable(*given.values()), target)
    for name, array in given.items():
        assert np.array_equal(array, drawn.inputs[name]), f"{target}: input {name} was modified{drawn}"
    assert_same(drawn, executable(*given.values()), f"{target}, second call,")


def check(drawn: Drawn, model: bool = True, machine: str = "") -> None:
    """Compare everything with everything, or one modelled machine with the oracle."""
    if machine:
        check_machine(drawn, machine)
        return
    if model:
        check_model(drawn)
    for target in TARGETS:
        check_executable(drawn, target)
    check_executable(drawn, "host", threads=2)


def keep(drawn: Drawn, folder: Path, why: str) -> Path:
    """Save a graph with its inputs, what is expected, and a listing."""
    folder.mkdir(parents=True, exist_ok=True)
    save(drawn.graph, folder / "graph.tosa")
    for kind, arrays in (("input", drawn.inputs), ("expected", drawn.expected)):
        for name, array in arrays.items():
            np.save(folder / f"{kind}-{name}.npy", array)
    names = {"inputs": list(drawn.inputs), "expected": list(drawn.expected), "operators": drawn.operators}
    (folder / "names.json").write_text(json.dumps(names))
    (folder / "why.txt").write_text(f"{why.removesuffix(str(drawn))}\n{drawn}\n")
    return folder


def kept(folder: Path) -> Drawn:
    """Load what `keep` has saved."""
    names = json.loads((folder / "names.json").read_text())

    def arrays(kind: str, wanted: list[str]) -> Mapping[str, np.ndarray]:
        return {name: np.load(folder / f"{kind}-{name}.npy") for name in wanted}

    graph = load(folder / "graph.tosa")
    operators = tuple((name, mode) for name, mode in names["operators"])
    text = (folder / "why.txt").read_text()
    return Drawn(
        graph, arrays("input", names["inputs"]), arrays("expected", names["expected"]), operators, text
    )
