"""Parts that front ends share, by themselves: places of samples, numbered elements."""

from __future__ import annotations

import numpy as np
import pytest

from tosajit.frontends.common.images import Sampling
from tosajit.frontends.common.indices import numbered
from tosajit.frontends.frame import Refused


def places(sampling: Sampling) -> list[float]:
    """Where the outputs are among the inputs."""
    return [
        (number * sampling.denominator + sampling.offset) / sampling.numerator
        for number in range(sampling.outputs)
    ]


@pytest.mark.parametrize("numbers", [(4, 8, 16, 8, 4), (5, 9, 6, 9, -3), (3, 3, 7, 7, 0), (2, 5, 4, 1, 0)])
def test_smaller_and_larger_numbers_are_the_same_places(numbers: tuple[int, int, int, int, int]) -> None:
    one = Sampling(*numbers)
    assert places(one.reduced) == places(one.doubled) == places(one)
    assert np.gcd.reduce([one.reduced.numerator, one.reduced.denominator, one.reduced.offset]) == 1
    assert one.doubled.numerator == 2 * one.numerator


@pytest.mark.parametrize(("outputs", "numerator"), [(1, 1), (2, 2), (3, 4), (4, 4), (5, 8), (33, 64)])
def test_of_one_element_all_samples_are_that_element(outputs: int, numerator: int) -> None:
    assert Sampling(1, outputs, 6, 4, 5).reduced == Sampling(1, outputs, numerator, 1)
    assert all(0 <= place < 1 for place in places(Sampling(1, outputs, 6, 4, 5).reduced))


def test_as_many_elements_are_numbered_as_a_constant_may_have() -> None:
    assert numbered(3, 1, 3).tolist() == [[[0], [1], [2]]]
    assert numbered(1 << 24, 0, 1).shape == (1 << 24,)
    with pytest.raises(Refused, match="16777217 elements along dimension 2 are too many to be numbered"):
        numbered((1 << 24) + 1, 2, 3)
