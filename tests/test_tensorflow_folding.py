"""What follows from constants alone is found when a model is read, and is what the operator gives."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tosajit as tj
from tests.tensorflow_cases.cases import CASES
from tests.tensorflow_cases.operators import OpCase
from tests.tflite_cases.running import listed, stored
from tosajit.frontends.tensorflow.operators import DECLARATIONS

FOLDED = [
    case
    for case in CASES
    if DECLARATIONS[case.op].fold and np.asarray(case.expected[0]).dtype.kind not in "uc"
]
"""But those whose results change their type where they leave the graph."""
LOWERED = {"Select-rows", "GatherV2-shared"}
"""Whose operands have no common shape: they are left to the operators of the graph."""


def of_constants(case: OpCase) -> tj.Graph:
    """The graph of a case whose operands are all known."""
    known = replace(case, constants=frozenset(range(len(case.operands))))
    return tj.from_tensorflow(known.model(), outputs=[f"y:{place}" for place in range(len(case.expected))])


@pytest.mark.parametrize("case", FOLDED, ids=lambda case: case.label)
def test_an_operator_on_constants_gives_what_numpy_gives(case: OpCase) -> None:
    graph = of_constants(case)
    assert all(type(node.operator).__name__ in ("CONST", "IDENTITY") for node in graph.nodes) == (
        case.label not in LOWERED
    )
    found = listed(tj.compile(graph)())
    for one, expected in zip(found, case.expected, strict=True):
        wanted: np.ndarray[Any, Any] = stored(np.asarray(expected))
        assert (one.dtype, one.shape) == (wanted.dtype, wanted.shape)
        np.testing.assert_allclose(one, wanted, rtol=case.relative, atol=case.absolute)
