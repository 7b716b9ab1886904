"""Every standard operator that is a formula is computed by nests, or by the general kernel, as NumPy does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from tests.nnef.cases import CASES, Case
from tests.nnef.nest_cases import TYPES, interpreted
from tests.nnef.running import composed
from tosajit.arrays import Array
from tosajit.frontends.nnef.model import Operation, Tensor, operations, tensors_of
from tosajit.frontends.nnef.nests.assignment import Unfit
from tosajit.frontends.nnef.nests.general import General
from tosajit.frontends.nnef.nests.meaning import COMPUTED
from tosajit.frontends.nnef.nests.operation import lowered

ELSEWHERE = frozenset({"algo.top_k", "math.cumsum", "nn.lstm", "nn.lstm_loop", "nn._jagged_lstm_loops"})
"""No formulas, but control flow, or nothing that the language could say."""
GENERAL = frozenset(
    {"layout.nonzero"} | {f"math.arg{which}{of}" for which in ("min", "max") for of in ("", "_n", "_nd")}
)
"""Formulas that read what they write, or write as much as data say."""


def listed(given: Sequence[Any]) -> list[Array]:
    """Arrays, those of packs too."""
    groups = [one if isinstance(one, list | tuple) else [one] for one in given if one is not None]
    return [np.asarray(array) for group in groups for array in group]


def is_empty(case: Case) -> bool:
    """Whether a tensor has no elements, which TOSA does not know."""
    return any(array.size == 0 for array in listed([*case.inputs, *case.expected]))


def tensors(operation: Operation) -> tuple[list[Tensor], list[Tensor]]:
    """Inputs and outputs."""
    inputs = [tensor for one in operation.inputs.values() for tensor in tensors_of(one)]
    return inputs, [tensor for one in operation.outputs.values() for tensor in tensors_of(one)]


def computed(case: Case, *, general: bool) -> list[Array]:
    """What nests give for a case, or the general kernel."""
    operation = composed(case)
    inputs, outputs = tensors(operation)
    arrays = [array.astype(TYPES[one.type]) for array, one in zip(listed(case.inputs), inputs, strict=True)]
    if general:
        return General(case.operator, operation)(dict(zip(inputs, arrays, strict=True)), outputs)
    operands = [(tensor, tensor.name, COMPUTED[tensor.type]) for tensor in (*inputs, *outputs)]
    return interpreted(lowered(case.operator, operation, operands, {}), inputs, outputs, arrays)


def formulas_of(cases: Sequence[Case]) -> tuple[Counter[str], Counter[str]]:
    """How many formulas of each operator become nests, and how many the general kernel computes."""
    nests, general = Counter[str](), Counter[str]()
    for case in cases:
        if is_empty(case):
            continue
        whole = composed(case)
        for one in (whole, *operations(whole.body)):
            if one.definition.operator.lowerings is not None:
                found = nests if becomes_nests(one) else general
                found[one.name] += len(one.definition.operator.lowerings)
    return nests, general


def becomes_nests(operation: Operation) -> bool:
    """Whether nests compute an operation."""
    inputs, outputs = tensors(operation)
    operands = [(tensor, tensor.name, COMPUTED[tensor.type]) for tensor in (*inputs, *outputs)]
    try:
        lowered(operation.name, operation, operands, {})
    except Unfit:
        return False
    return True


def judge(case: Case, found: Sequence[Array]) -> None:
    """Real numbers are those of NumPy within float32, integers with 32 bits."""
    for one, expected in zip(found, listed(case.expected), strict=True):
        cut = one[tuple(slice(0, extent) for extent in expected.shape)]
        if one.dtype.kind == "f":
            size = float(np.abs(expected[np.isfinite(expected)]).max(initial=0.01))
            np.testing.assert_allclose(cut, expected, rtol=1e-5, atol=1e-5 * size, err_msg=str(case))
        else:
            np.testing.assert_array_equal(cut, expected.astype(one.dtype), err_msg=str(case))


@pytest.mark.parametrize("operator", sorted(set(CASES) - ELSEWHERE))
def test_a_standard_operator_is_what_numpy_says(operator: str) -> None:
    for case in CASES[operator]:
        if not is_empty(case):
            judge(case, computed(case, general=operator in GENERAL))


@pytest.mark.parametrize("operator", sorted(GENERAL))
def test_no_nest_can_say_these(operator: str) -> None:
    largest = max(CASES[operator], key=lambda case: sum(one.size for one in listed(case.inputs)))
    with pytest.raises(Unfit):
        computed(largest, general=False)


def test_most_formulas_become_nests() -> None:
    """The tiler sees at least 393 of 453 formulas, as many as are static and affine in Khronos's models."""
    nests, general = formulas_of([case for operator in CASES for case in CASES[operator][::8]])
    assert set(general) <= GENERAL
    assert nests.total() * 453 >= (nests + general).total() * 393


@pytest.mark.parametrize(
    "operator", ["nn.conv", "nn.deconv", "linalg.matmul", "layout.pad", "layout.scatter", "image.rescale"]
)
def test_the_general_kernel_gives_the_same(operator: str) -> None:
    for case in [case for case in CASES.get(operator, []) if not is_empty(case)][:3]:
        judge(case, computed(case, general=True))
