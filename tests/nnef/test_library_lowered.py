"""Standard operators, as TOSA has them, give what NumPy says, by Arm's reference model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.nnef.cases import CASES, Case
from tests.nnef.operations import Array, definition, run
from tests.nnef.running import composed, given_by_name
from tosajit.frontends.nnef.lowering import graph_of
from tosajit.frontends.nnef.model import Body, Model, Operation, tensors_of
from tosajit.frontends.nnef.operators import DECLARATIONS

LOWERED = sorted(name for name in CASES if DECLARATIONS.get(name) and DECLARATIONS[name].kind == "lowered")


def model_of(case: Case) -> tuple[Model, list[Array]]:
    """A graph of one operation, and the arrays that it takes."""
    step = composed(case)
    inputs = {one.name: one for given in step.inputs.values() for one in tensors_of(given)}
    outputs = {one.name: one for given in step.outputs.values() for one in tensors_of(given)}
    body = Body((step,), tuple(outputs.values()))
    root = Operation(definition("main.main", standard=False), "", {}, {}, inputs, outputs, body=body)
    return Model("main", root), [np.asarray(one) for one in _flat(given_by_name(case).values())]


def _flat(given: Any) -> Iterator[Any]:
    for one in given:
        if isinstance(one, list | tuple):
            yield from one
        elif one is not None:
            yield one


def is_possible(case: Case) -> bool:
    """Whether TOSA has tensors for all results: none is empty, and integers have 32 bits."""
    results = [np.asarray(one) for one in _flat(case.expected)]
    whole = [one for one in results if one.dtype.kind == "i"]
    return all(one.size for one in results) and all(np.abs(one).max() < 1 << 31 for one in whole)


def judged(case: Case) -> None:
    made, arrays = model_of(case)
    for one, expected in zip(run(made, arrays), _flat(case.expected), strict=True):
        wanted = np.asarray(expected)
        assert one.shape == wanted.shape
        if wanted.dtype.kind == "f":
            near = 2e-5 * max(1.0, float(np.abs(wanted[np.isfinite(wanted)]).max(initial=0)))
            np.testing.assert_allclose(one, wanted.astype(np.float32), rtol=2e-5, atol=near)
        else:
            np.testing.assert_array_equal(one, wanted)


@pytest.mark.parametrize("operator", LOWERED)
def test_an_operator_gives_what_numpy_does(operator: str) -> None:
    cases = list(filter(is_possible, CASES[operator]))
    assert cases
    for case in cases:
        try:
            judged(case)
        except Exception as error:
            error.add_note(str(case))
            raise


def test_what_stands_alone_is_neither_custom_nor_refused() -> None:
    """Of all cases only those fall back to the text whose range TOSA lacks."""
    fallen = set()
    for operator in LOWERED:
        for case in filter(is_possible, CASES[operator]):
            graph = graph_of(model_of(case)[0])
            if any(node.operator.opcode == "CUSTOM" for node in graph.nodes):
                fallen.add(operator)
    assert fallen == {"layout.scatter", "layout.scatter_nd"}
