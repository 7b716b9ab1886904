"""Standard operators, as TOSA has them, give what NumPy says, by Arm's reference model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.nnef.cases import CASES, Case
from tests.nnef.operations import Array, definition, run
from tests.nnef.running import composed, given_by_name
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
    for case in CASES[operator]:
        try:
            judged(case)
        except Exception as error:
            error.add_note(str(case))
            raise
