"""Every operator that the TensorFlow front end lowers gives what NumPy gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tosajit as tj
from tests.tensorflow_cases.cases import CASES
from tests.tensorflow_cases.operators import OpCase
from tests.tflite_cases.running import by_arm, listed, stored
from tosajit.frontends.tensorflow.operators import DECLARATIONS

Array = np.ndarray[Any, Any]

SILENT = {"Const", "NoOp", "Assert", "AssignAddVariableOp", "AssignSubVariableOp", "AssignVariableOp"}
"""What computes nothing, or what tests of whole graphs are about."""
ELSEWHERE = {
    "PartitionedCall", "StatefulPartitionedCall", "If", "StatelessIf", "Case", "StatelessCase",
    "While", "StatelessWhile",
    "ReadVariableOp", "VariableShape", "TensorListReserve", "TensorListFromTensor", "TensorListLength",
    "TensorListGetItem", "TensorListSetItem", "TensorListPushBack", "TensorListStack", "EmptyTensorList",
}  # fmt: skip
"""Tested with whole graphs in test_tensorflow.py and test_tensorflow_models.py."""


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.label)
def test_an_operator_gives_what_numpy_gives(case: OpCase) -> None:
    graph = tj.from_tensorflow(case.model(), outputs=[f"y:{place}" for place in range(len(case.expected))])
    assert tj.validate(graph) == ()
    given = {name: array for name, array in case.inputs.items()}
    found = listed(by_arm(graph)(*(stored(given[value.name]) for value in graph.inputs)))
    assert len(found) == len(case.expected)
    for one, expected in zip(found, case.expected, strict=True):
        wanted = stored(np.asarray(expected))
        assert one.shape == wanted.shape
        if wanted.dtype.kind in "iub":
            np.testing.assert_array_equal(one, wanted)
        else:
            np.testing.assert_allclose(one, wanted, rtol=case.relative, atol=case.absolute)


def test_every_lowered_operator_has_a_case() -> None:
    tested = {case.op for case in CASES} | SILENT | ELSEWHERE
    lowered = {name for name, one in DECLARATIONS.items() if one.kind == "lowered"}
    assert sorted(lowered - tested) == []


FINE_GRID = """
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
       attr { key: "shape" value { shape { dim { size: 3 } } } } }
node { name: "y" op: "FakeQuantWithMinMaxArgs" input: "x" attr { key: "min" value { f: -2 } }
       attr { key: "max" value { f: 2 } } attr { key: "num_bits" value { i: 16 } } }
"""


def test_numbers_near_zero_are_those_of_a_fine_grid_to_the_last_bit() -> None:
    given = np.array([0.0026882102, 0.0005318426, -0.0021365443], np.float32)
    found = tj.compile(tj.from_tensorflow(FINE_GRID.encode()))(given)
    of_tensorflow = np.array([0.0026855879, 0.0005493248, -0.002136263], np.float32)
    assert found.tobytes() == of_tensorflow.tobytes()
