"""What we write is what Arm's tools read: its schema finds our attributes, its model our results."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from enum import IntEnum
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from file_seeds import constants, counter, seeds

from tests import reference
from tosajit import samples
from tosajit.files import from_bytes, to_bytes
from tosajit.files.npy import load_npy, save_npy
from tosajit.frontends import load
from tosajit.graph import Graph, Value
from tosajit.operators import VARIABLE, VARIABLE_READ, VARIABLE_WRITE

OF_ARM = Path(__file__).parent / "data" / "variables_of_arm.tosa"
SEEDS = seeds()
RUNNABLE = [name for name in SEEDS if name not in ("CUSTOM", "VARIABLE", "constants", "CONST")]


def as_json(data: bytes, folder: Path) -> dict[str, Any]:
    """Let Arm's schema read a file."""
    arm = reference.tools()
    if arm is None:
        pytest.skip("Arm's schema is missing: `make test` installs it, or set TOSAJIT_ARM")
    (folder / "x.tosa").write_bytes(data)
    tools = arm.packages / "bin"
    options = ["--json", "--strict-json", "--defaults-json", "--raw-binary"]
    command = [str(tools / "flatc"), *options, str(tools / "tosa.fbs"), "--", "x.tosa"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    found: dict[str, Any] = json.loads((folder / "x.json").read_text())
    return found


def evaluated(data: bytes, graph: Graph, arrays: Sequence[np.ndarray], folder: Path) -> list[np.ndarray]:
    """Let the reference model run a file, with arrays in files of ours."""
    arm = reference.tools()
    if arm is None:
        pytest.skip("Arm's reference model is missing: `make test` installs it, or set TOSAJIT_ARM")
    (folder / "x.tosa").write_bytes(data)
    files = [f"in{i}.npy" for i in range(len(graph.inputs))]
    for file, array in zip(files, arrays, strict=True):
        save_npy(folder / file, array)
    description = {
        "tosa_file": "x.tosa",
        "ifm_name": [value.name for value in graph.inputs],
        "ifm_file": files,
        "ofm_name": [value.name for value in graph.outputs],
        "ofm_file": [f"out{i}.npy" for i in range(len(graph.outputs))],
        "expected_failure": False,
    }
    (folder / "desc.json").write_text(json.dumps(description))
    status, messages = arm.evaluate(folder / "desc.json", folder, precise=False)
    assert status == 0, messages
    return [load_npy(folder / f"out{i}.npy", value.dtype) for i, value in enumerate(graph.outputs)]


@pytest.mark.parametrize("name", SEEDS)
def test_arms_schema_reads_the_same_operators_and_attributes(name: str, tmp_path: Path) -> None:
    graph = SEEDS[name]
    found = as_json(to_bytes(graph), tmp_path)
    for ours, theirs in zip(graph.regions, found["regions"], strict=True):
        nodes = [n for n in ours.blocks[0].nodes if not isinstance(n.operator, VARIABLE)]
        for node, operator in zip(nodes, theirs["blocks"][0]["operators"], strict=True):
            if isinstance(node.operator, VARIABLE_READ | VARIABLE_WRITE):
                assert operator["op"] == "IDENTITY"
                continue
            assert operator["op"] == node.operator.opcode
            assert (
                operator["attribute_type"].lower()
                == node.operator.opcode.replace("_", "").lower() + "attribute"
            )
            assert operator.get("inputs", []) == list(node.inputs)
            assert operator.get("outputs", []) == list(node.outputs)
            for attribute in type(node.operator).attributes:
                if attribute.encoding != "number":
                    value = operator["attribute"][attribute.name]
                    assert value == plain(getattr(node.operator, attribute.name)), attribute.name
            assert set(operator["attribute"]) == {
                attribute.name for attribute in type(node.operator).attributes
            }


def plain(value: object) -> object:
    match value:
        case IntEnum():
            return value.name
        case tuple() | bytes():
            return list(value)
    return value


def test_arms_schema_reads_the_same_tensors_and_shapes(tmp_path: Path) -> None:
    graph = constants()
    block = as_json(to_bytes(graph), tmp_path)["regions"][0]["blocks"][0]
    for tensor in block["tensors"]:
        value = graph.main.values[tensor["name"]]
        assert (tensor["type"], tuple(tensor["shape"])) == (value.dtype.name, value.shape)
    assert [(shape["name"], shape["rank"]) for shape in block["shapes"]] == [("nothing", 0), ("extents", 3)]


@pytest.mark.parametrize("name", RUNNABLE)
def test_the_reference_model_runs_what_is_written(name: str, tmp_path: Path) -> None:
    graph = SEEDS[name]
    outputs = evaluated(to_bytes(graph), graph, [drawn(value) for value in graph.inputs], tmp_path)
    assert [array.shape for array in outputs] == [value.shape for value in graph.outputs]


def drawn(value: Value) -> np.ndarray:
    """Elements that no operator refuses."""
    assert value.shape is not None
    return np.random.default_rng(7).integers(0, 2, value.shape).astype(value.dtype.storage)


def test_the_reference_model_reads_constants_of_every_type(tmp_path: Path) -> None:
    graph = constants()
    for value, array in zip(graph.outputs, evaluated(to_bytes(graph), graph, [], tmp_path), strict=True):
        assert value.data is not None
        assert array.tobytes() == value.data.tobytes(), value.name


@pytest.mark.parametrize("test", [True, False])
@pytest.mark.parametrize("graph", [counter(), load(OF_ARM)], ids=["ours", "arm's"])
def test_the_reference_model_runs_variables(graph: Graph, test: bool, tmp_path: Path) -> None:
    new, old = np.array([9, 8, 7, 6], np.int8), np.array([1, 2, 4, -128], np.int8)
    outputs = evaluated(to_bytes(graph), graph, [np.array(test), new], tmp_path)
    assert outputs[0].tolist() == old.tolist()
    assert outputs[1].tolist() == (new if test else old).tolist()


def test_variables_of_arms_serializer_become_operators() -> None:
    graph = load(OF_ARM)
    main, then, other = (region.blocks[0] for region in graph.regions)
    declared: dict[str, Value] = {}
    for node in main.nodes[:2]:
        assert isinstance(node.operator, VARIABLE)
        declared[node.operator.name] = main.values[node.outputs[0]]
    opcodes = ["VARIABLE", "VARIABLE", "VARIABLE_READ", "COND_IF", "VARIABLE_WRITE", "VARIABLE_READ"]
    assert [node.operator.opcode for node in main.nodes] == opcodes
    assert [node.operator.opcode for node in then.nodes] == ["VARIABLE_WRITE", "VARIABLE_READ"]
    assert [node.operator.opcode for node in other.nodes] == ["VARIABLE_READ"]
    initial = declared["state"].data
    assert initial is not None
    assert initial.tolist() == [1, 2, 4, -128]
    assert declared["other"].data is None
    assert not any(value.variable_name for block in (then, other) for value in block.values.values())


@pytest.mark.parametrize("name", ["autoencoder", "ds_cnn", "ds_cnn_i16x8", "resnet8"])
def test_the_reference_model_gives_the_golden_outputs_of_what_was_written_again(
    name: str, tmp_path: Path
) -> None:
    data = to_bytes(samples.load(name))
    graph = from_bytes(data)
    assert to_bytes(graph) == data
    inputs, outputs = samples.cases(name)[0]
    for output, golden in zip(evaluated(data, graph, inputs, tmp_path), outputs, strict=True):
        np.testing.assert_array_equal(output, golden)
