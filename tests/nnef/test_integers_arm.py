"""Arm's reference model takes the graphs of quantised operators, and gives the bits that we give."""

from __future__ import annotations

import numpy as np
import pytest

import tosajit as tj
from tests import reference
from tests.nnef.quantizing import Model
from tests.nnef.test_integers import CHOSEN, model
from tests.nnef.test_integers_ends import CONV
from tests.nnef.test_integers_sums import SUMS


def check(found: Model) -> None:
    graph = found.graph()
    assert tj.validate(graph) == ()
    inputs = dict(zip(graph.main.inputs, found.integers, strict=True))
    (given,) = reference.run(tj.to_bytes(graph), inputs).values()
    np.testing.assert_array_equal(given, found.run())


@pytest.mark.parametrize(("name", "form"), [one for one in CHOSEN if one[1] in ("int8", "int16", "bits6")])
def test_an_operator_has_the_bits_of_the_reference_model(name: str, form: str) -> None:
    check(model(name, form))


@pytest.mark.parametrize("name", SUMS)
def test_sums_of_products_have_the_bits_of_the_reference_model(name: str) -> None:
    check(SUMS[name])


def test_a_convolution_has_the_bits_of_the_reference_model() -> None:
    check(CONV)
