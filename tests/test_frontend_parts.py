"""Parts that front ends share, by themselves: places of samples, numbered elements."""

from __future__ import annotations

import numpy as np
import pytest

import tosajit as tj
from tosajit.frontends.common.images import Sampling
from tosajit.frontends.common.indices import numbered
from tosajit.frontends.frame import Refused, proportion
from tosajit.frontends.frame.proportion import Proportion
from tosajit.tracing.recorder import Trace


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


def test_a_model_may_become_so_much_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, number in (("_FREE_LOWERINGS", 3), ("_REPEATED", 2), ("_FREE_BYTES", 100), ("_BYTES", 3)):
        monkeypatch.setattr(proportion, name, number)
    left = Proportion(Trace(), operators=4, size=10)
    for _ in range(3 + 2 * 4):
        left.spend()
    with pytest.raises(tj.FileError, match="its functions call too much"):
        left.spend()
    repeated = np.broadcast_to(np.zeros((), np.int32), (1000,))
    left.fold([np.zeros(100, np.int8), repeated, np.zeros(7, np.int32)])
    left.fold([np.zeros((), np.int16)])
    with pytest.raises(tj.FileError, match="its constants grow too much"):
        left.fold([np.zeros(1, np.int8)])


@pytest.mark.parametrize(("size", "nodes"), [(0, 20_600), (4000, 21_600), (1 << 30, 50_600)])
def test_nodes_are_in_proportion_to_operators_and_to_bytes_up_to_an_end(size: int, nodes: int) -> None:
    trace = Trace()
    Proportion(trace, operators=3, size=size)
    assert trace.builder.budget.nodes == nodes


def test_functions_call_each_other_to_a_depth() -> None:
    assert [proportion.below(depth) for depth in (0, 31)] == [1, 32]
    with pytest.raises(tj.FileError, match="to a depth of 32"):
        proportion.below(32)
