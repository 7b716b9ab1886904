"""Linear indices of loops, and which elements they meet: held against every point of small loops."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest

from tests.nnef.nest_cases import Hand, verbs
from tosajit.frontends.nnef.model import Tensor
from tosajit.frontends.nnef.nests import terms
from tosajit.frontends.nnef.nests.assignment import Unfit
from tosajit.frontends.nnef.nests.linear import Linear, linear
from tosajit.frontends.nnef.nests.places import (
    Indices,
    are_disjoint,
    cover,
    is_injective,
    is_inside,
    ordered,
    points,
)
from tosajit.frontends.nnef.nests.strided import MOST_PIECES
from tosajit.frontends.nnef.nests.terms import Element, Loop, Term

A, B, C, ONE = Loop("a", 4), Loop("b", 3), Loop("c", 2), Loop("one", 1)


def index(offset: int = 0, **factors: int) -> Linear:
    return Linear({{"a": A, "b": B, "c": C}[name]: factor for name, factor in factors.items()}, offset)


def met(indices: Indices) -> Iterator[tuple[int, ...]]:
    """The element at each point."""
    loops = ordered(indices)
    for point in product(*(range(loop.steps) for loop in loops)):
        at = dict(zip(loops, point, strict=True))
        yield tuple(
            one.offset + sum(factor * at[loop] for loop, factor in one.factors.items()) for one in indices
        )


@pytest.mark.parametrize(
    ("indices", "expected"),
    [
        ((index(a=1),), True),
        ((index(a=-2, b=8),), True),
        ((index(a=3, b=1),), True),
        ((index(a=2, b=1),), False),
        ((index(a=1, b=4),), True),
        ((index(a=1, b=3),), False),
        ((index(a=1, b=-4),), True),
        ((index(a=1, b=4, c=12),), True),
        ((index(a=1, b=4, c=11),), False),
        ((index(a=1), index(b=1)), True),
        ((index(a=1), index(a=1, b=1)), True),
        ((index(a=1, b=1), index(a=1, b=1)), False),
        ((index(a=1, b=1), index(b=1)), True),
        ((index(5),), True),
        ((), True),
    ],
)
def test_loops_that_an_index_tells_apart(indices: Indices, expected: bool) -> None:
    found = list(met(indices))
    assert is_injective(indices) == expected == (len(set(found)) == len(found))
    assert points(indices) == len(found)


@pytest.mark.parametrize(
    ("one", "low", "high"),
    [
        (index(a=1), 0, 3),
        (index(2, a=-1), -1, 2),
        (index(1, a=2, b=-3), -5, 7),
        (index(7), 7, 7),
    ],
)
def test_an_index_is_inside_of_its_span(one: Linear, low: int, high: int) -> None:
    values = [value for (value,) in met((one,))]
    assert one.span == (low, high) == (min(values), max(values))
    moved = one.plus(Linear({}, -low))
    assert is_inside((moved,), (high - low + 1,))
    assert not is_inside((moved,), (high - low,))
    assert not is_inside((moved.plus(Linear({}, -1)),), (high - low + 9,))
    assert is_inside((moved, moved), (high - low + 1, high - low + 1))
    assert not is_inside((moved, moved), (high - low + 1, high - low))


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (index(a=1), index(4, a=1), True),
        (index(a=1), index(3, a=1), False),
        (index(4, a=1), index(a=1), True),
        (index(3, a=1), index(a=1), False),
        (index(a=2), index(1, a=2), True),
        (index(a=2), index(2, a=2), False),
        (index(a=4), index(2, b=6), False),
        (index(a=4), index(3, b=6), True),
        (index(a=1), index(1, a=2), False),
        (index(3), index(3), False),
        (index(3), index(2), True),
    ],
)
def test_writes_that_meet_no_element_both(one: Linear, other: Linear, expected: bool) -> None:
    shared = set(met((one,))) & set(met((other,)))
    assert are_disjoint((one,), (other,)) == expected
    assert not (expected and shared)
    assert are_disjoint((index(a=1), one), (index(a=1), other)) == expected


@pytest.mark.parametrize(
    ("writes", "shape", "expected"),
    [
        ([(index(a=1),)], (4,), True),
        ([(index(a=1),)], (5,), False),
        ([(index(a=1),)], (3,), False),
        ([(index(a=2),), (index(1, a=2),)], (8,), True),
        ([(index(a=2),), (index(2, a=2),)], (10,), False),
        ([(index(a=1), index(b=1))], (4, 3), True),
        ([(index(b=1), index(c=1)), (index(b=1), index(2))], (3, 3), True),
        ([(index(a=2, c=1),)], (8,), True),
        ([(index(a=1),), (index(a=1),)], (8,), False),
    ],
)
def test_writes_that_meet_each_element_once(
    writes: Sequence[Indices], shape: tuple[int, ...], expected: bool
) -> None:
    assert cover(writes, shape) == expected


def test_loops_are_ordered_by_their_steps() -> None:
    assert ordered((index(b=1, a=3), index(c=1))) == (A, B, C)
    assert ordered((index(a=1, b=-4),)) == (B, A)


DATA = Element(Tensor("x", "int", (4,), "input"), (A,))
OPEN = Loop("open", DATA)


def doubled(term: Term) -> Term:
    return terms.binary("*", term, 2)


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        (7, index(7)),
        (A, index(a=1)),
        (ONE, index()),
        (terms.binary("+", A, 1), index(1, a=1)),
        (terms.binary("-", 1, A), index(1, a=-1)),
        (terms.binary("-", A, B), index(a=1, b=-1)),
        (terms.binary("-", A, A), index()),
        (terms.unary("-", A), index(a=-1)),
        (doubled(A), index(a=2)),
        (terms.binary("*", -3, terms.binary("+", A, 2)), index(-6, a=-3)),
        (terms.binary("/", doubled(A), 2), index(a=1)),
        (terms.binary("/", C, 2), index()),
        (terms.binary("%", A, 4), index(a=1)),
        (terms.binary("/", B, 3), index()),
        (terms.binary("+", terms.binary("/", B, 4), 5), index(5)),
        (terms.binary("*", ONE, A), index()),
        (terms.binary("/", ONE, 2), index()),
    ],
)
def test_terms_that_are_linear(term: Term, expected: Linear) -> None:
    found = linear(term)
    assert found is not None
    assert (dict(found.factors), found.offset) == (dict(expected.factors), expected.offset)


@pytest.mark.parametrize(
    "term",
    [
        True, 1.0, "text", DATA, OPEN, terms.binary("*", A, B), terms.binary("*", A, A),
        terms.binary("/", A, 2), terms.binary("%", A, 3), terms.binary("+", A, DATA), doubled(DATA),
        terms.unary("-", DATA), terms.binary("/", terms.binary("+", A, B), 1_000_000),
    ],
)  # fmt: skip
def test_terms_that_are_not_linear(term: Term) -> None:
    assert linear(term) is None


def test_a_linear_index_is_a_term_again() -> None:
    for one in (index(3, a=2, b=-1), index(a=1), index(4)):
        found = linear(one.term)
        assert found is not None
        assert (dict(found.factors), found.offset) == (dict(one.factors), one.offset)
    assert index(3, a=2, b=-1).affine([A, B, C]).coefficients == (2, -1, 0)
    total = index(1, a=2).plus(index(2, a=1, b=3), -2)
    assert (dict(total.factors), total.offset) == ({B: -6}, -3)


def added(stride: int, dilation: int, offset: int, window: int, extent: int) -> np.ndarray[Any, Any]:
    x, w = np.arange(1, 6, dtype=np.int64), np.array([1, 10, 100, 1000][:window])
    found = np.zeros(extent, np.int64)
    for i, j in product(range(5), range(window)):
        place = stride * i + dilation * j - offset
        if 0 <= place < extent:
            found[place] += x[i] * w[j]
    return found


@pytest.mark.parametrize("stride", [1, 2, 3, 4])
@pytest.mark.parametrize(("dilation", "window"), [(1, 3), (2, 3), (3, 2), (4, 3), (2, 1), (6, 4)])
@pytest.mark.parametrize(("offset", "extent"), [(0, 30), (2, 7), (-3, 12), (5, 1), (1, 2)])
def test_accumulation_is_turned_round(
    stride: int, dilation: int, window: int, offset: int, extent: int
) -> None:
    expected = added(stride, dilation, offset, window, extent)
    inputs = {"x": np.arange(1, 6, dtype=np.int32), "w": np.array([1, 10, 100, 1000][:window], np.int32)}
    text = f"y[|s * i + d * j - ({offset})|] += x[i,] * w[j,], i < 5, j < {window};"
    case = Hand(text, inputs, {"y": (extent,)}, {"s": stride, "d": dilation}, {"y": "int"})
    np.testing.assert_array_equal(case.result(), expected)


@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("offset", [-2, 0, 1])
def test_places_without_a_window_are_turned_round(stride: int, offset: int) -> None:
    x = np.arange(1, 6, dtype=np.int32)
    expected = np.zeros(9, np.int32)
    for i in range(5):
        if 0 <= stride * i - offset < 9:
            expected[stride * i - offset] += x[i]
    text = f"y[|s * i - ({offset})|] += x[i,], i < 5;"
    case = Hand(text, {"x": x}, {"y": (9,)}, {"s": stride}, {"y": "int"})
    np.testing.assert_array_equal(case.result(), expected)


def test_two_dimensions_are_turned_round() -> None:
    x, w = np.arange(1, 13, dtype=np.int32).reshape(3, 4), np.array([[1, 10], [100, 1000]], np.int32)
    expected = np.zeros((6, 9), np.int32)
    for i, j, k, m in product(range(3), range(4), range(2), range(2)):
        expected[2 * i + k, 2 * j + m] += x[i, j] * w[k, m]
    text = "y[2 * i + k, 2 * j + m] += x[i,j] * w[k,m], i < 3, j < 4, k < 2, m < 2;"
    case = Hand(text, {"x": x, "w": w}, {"y": (6, 9)}, types={"y": "int"})
    np.testing.assert_array_equal(case.result(), expected)


def test_extremes_are_turned_round() -> None:
    x = np.arange(-2, 3, dtype=np.float32)
    case = Hand("y[|3 * i + j - 1|] >?= x[i,], i < 5, j < 2;", {"x": x}, {"y": (14,)})
    expected = np.full(14, -np.inf, np.float32)
    for i, j in product(range(5), range(2)):
        if 0 <= 3 * i + j - 1 < 14:
            expected[3 * i + j - 1] = max(expected[3 * i + j - 1], x[i])
    np.testing.assert_array_equal(case.result(), expected)
    assert len(verbs(case)) > 1


def spread(stride: int) -> Hand:
    x = np.arange(2, dtype=np.float32)
    return Hand(f"y[|{stride} * i + j - 1|] += x[i,], i < 2, j < 2;", {"x": x}, {"y": (2 * stride,)})


def test_a_stride_cuts_into_so_many_parts() -> None:
    assert spread(MOST_PIECES).result()[MOST_PIECES - 1 :].tolist()[:3] == [1, 1, 0]
    with pytest.raises(Unfit, match=f"strides cut `y` into {MOST_PIECES + 1} parts"):
        spread(MOST_PIECES + 1).run()


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("y[|i + j + k|, |i|] += x[i,], i < 5, j < 2, k < 2;", "a loop is in two indices of what is updated"),
        ("y[|4 - i + j|, 0] += x[i,], i < 5, j < 2;", "an index of what is updated goes backwards"),
        ("y[|2 * i + j + k|, 0] += x[i,], i < 5, j < 2, k < 2;", "has a stride and several windows"),
    ],
)
def test_what_cannot_be_turned_round_says_why(text: str, fault: str) -> None:
    with pytest.raises(Unfit, match=fault):
        Hand(text, {"x": np.arange(5, dtype=np.float32)}, {"y": (6, 5)}).run()


def test_several_windows_without_a_stride_are_turned_round() -> None:
    x = np.arange(1, 6, dtype=np.float32)
    case = Hand("y[|i + j + k - 1|] += x[i,], i < 5, j < 2, k < 2;", {"x": x}, {"y": (7,)})
    expected = np.zeros(8, np.float32)
    for i, j, k in product(range(5), range(2), range(2)):
        expected[i + j + k] += x[i]
    np.testing.assert_array_equal(case.result(), expected[1:8])
