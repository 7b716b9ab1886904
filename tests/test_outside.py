"""A model's inputs and outputs keep the types that it has in its own runtime, also those that TOSA lacks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import tosajit as tj
from tests.tflite_cases import draw
from tosajit.arrays import Array
from tosajit.frontends.tflite.schema import Type


def run(name: str, kind: str, seed: int = 0) -> tuple[tj.Executable, tuple[Array, ...]]:
    case = draw(name, kind, seed)
    return tj.compile(tj.load(case.model)), tuple(case.calls[0])


def test_bytes_without_sign_come_and_go_as_such() -> None:
    executable, inputs = run("MAX_POOL_2D", "uint8")
    assert inputs[0].dtype == np.uint8
    found = executable(*inputs)
    assert found.dtype == np.uint8
    assert np.array_equal(found, executable(*(one.view(np.int8) for one in inputs)))
    assert found.max() <= max(one.max() for one in inputs)


def test_integers_of_64_bits_come_and_go_as_such() -> None:
    executable, inputs = run("NEG", "int64")
    assert inputs[0].dtype == np.int64
    found = executable(*inputs)
    assert found.dtype == np.int64
    assert np.array_equal(found, -inputs[0])
    assert np.array_equal(executable(*(one.astype(np.int32) for one in inputs)), found)


def test_integers_beyond_32_bits_are_refused() -> None:
    executable, inputs = run("NEG", "int64")
    wide = np.full_like(inputs[0], 1 << 40)
    with pytest.raises(tj.InputError, match="the model's int64 is kept as INT32, from -2147483648 to"):
        executable(wide)


def test_other_types_are_refused_as_ever() -> None:
    executable, inputs = run("NEG", "int64")
    with pytest.raises(tj.InputError, match="the array has type float32, but the input is stored as int32"):
        executable(inputs[0].astype(np.float32))


def test_results_by_name_have_the_types_of_the_model() -> None:
    executable, inputs = run("MAX_POOL_2D", "uint8")
    graph = executable.graph
    (found,) = executable.run({graph.inputs[0].name: inputs[0]}).values()
    assert found.dtype == np.uint8


def test_a_graph_of_tosa_has_no_other_types() -> None:
    graph = tj.load(draw("MAX_POOL_2D", "uint8", 0).model)
    written = tj.from_bytes(tj.to_bytes(graph))
    assert set(graph.outside.values()) == {Type.UINT8.label}
    assert written.outside == {}
    assert replace(graph, outside={}) == graph
