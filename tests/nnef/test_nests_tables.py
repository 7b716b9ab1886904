"""Terms over loops alone are computed at all their points, as they would be one by one."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest

from tests.nnef.nest_cases import Hand
from tosajit.frontends.nnef.model import Tensor
from tosajit.frontends.nnef.nests import terms
from tosajit.frontends.nnef.nests.assigned import _DEEPEST, _MOST_PARTS
from tosajit.frontends.nnef.nests.assignment import Unfit
from tosajit.frontends.nnef.nests.nest import FARTHEST
from tosajit.frontends.nnef.nests.tables import LARGEST_TABLE, is_table, points, tabulated
from tosajit.frontends.nnef.nests.terms import Element, Loop, Term
from tosajit.frontends.nnef.values import arithmetic
from tosajit.frontends.nnef.values.arithmetic import NoValue

ROW, COLUMN = Loop("row", 7), Loop("column", 7)
LEFT, RIGHT = terms.binary("-", ROW, 3), terms.binary("-", COLUMN, 3)
NUMBERS = range(-3, 4)


def same(term: Term, expected: list[list[Any]]) -> None:
    found = tabulated(term, [ROW, COLUMN])
    assert found.shape == (7, 7)
    for line, row in zip(found.tolist(), expected, strict=True):
        for one, other in zip(line, row, strict=True):
            assert other is None or one == other or math.isclose(one, other, rel_tol=1e-12)


def or_none(operator: str, left: Any, right: Any) -> Any:
    try:
        return arithmetic.binary(operator, left, right)
    except NoValue:
        return None


@pytest.mark.parametrize(
    "operator", ["+", "-", "*", "/", "\\", "%", "<?", ">?", "<", "<=", ">", ">=", "==", "!=", "is"]
)
def test_whole_numbers(operator: str) -> None:
    same(
        terms.binary(operator, LEFT, RIGHT),
        [[or_none(operator, left, right) for right in NUMBERS] for left in NUMBERS],
    )


@pytest.mark.parametrize("operator", ["+", "-", "*", "/", "\\", "<?", ">?", "<", "<=", ">", ">=", "==", "!="])
def test_real_numbers(operator: str) -> None:
    halves = [terms.binary("*", terms.converted("real", one), 0.5) for one in (LEFT, RIGHT)]
    expected = [
        [or_none(operator, left / 2, right / 2) if right else None for right in NUMBERS] for left in NUMBERS
    ]
    same(terms.binary(operator, *halves), expected)


@pytest.mark.parametrize("operator", ["&&", "||", "^", "=>", "==", "!="])
def test_truths(operator: str) -> None:
    sides = [terms.binary(">", one, 0) for one in (LEFT, RIGHT)]
    same(
        terms.binary(operator, *sides),
        [[arithmetic.binary(operator, left > 0, right > 0) for right in NUMBERS] for left in NUMBERS],
    )


@pytest.mark.parametrize(
    "name", ["floor", "ceil", "round", "frac", "abs", "sign", "exp", "sin", "cos", "tanh", "atan", "asinh"]
)
def test_functions(name: str) -> None:
    value = terms.binary("*", terms.converted("real", LEFT), 0.5)
    same(terms.function(name, value), [[arithmetic.function(name, left / 2)] * 7 for left in NUMBERS])


def test_casts_choices_and_signs() -> None:
    value = terms.binary("*", terms.converted("real", LEFT), 0.75)
    same(terms.converted("int", value), [[int(left * 0.75)] * 7 for left in NUMBERS])
    same(terms.converted("bool", LEFT), [[left != 0] * 7 for left in NUMBERS])
    chosen = terms.chosen(terms.binary("<", LEFT, RIGHT), terms.unary("-", LEFT), RIGHT)
    same(chosen, [[-left if left < right else right for right in NUMBERS] for left in NUMBERS])
    same(terms.unary("!", terms.binary("<", LEFT, 0)), [[left >= 0] * 7 for left in NUMBERS])
    same(terms.function("erf", value), [[math.erf(left * 0.75)] * 7 for left in NUMBERS])


def test_elements_of_constants_are_found_at_the_ends_too() -> None:
    table = Tensor("table", "int", (5,), "constant", np.array([10, 20, 30, 40, 50], np.int32))
    element = Element(table, (LEFT,))
    same(element, [[[10, 20, 30, 40, 50][min(max(left, 0), 4)]] * 7 for left in NUMBERS])
    assert is_table(element)
    assert not is_table(Element(Tensor("x", "int", (5,), "input"), (LEFT,)))


def test_a_table_has_so_many_points() -> None:
    for extent, expected in ((LARGEST_TABLE // 4, True), (LARGEST_TABLE // 4 + 1, False)):
        wide, long = Loop("wide", 4), Loop("long", extent)
        term = terms.binary("+", wide, long)
        assert is_table(term) == expected
        assert points([wide, long]) == 4 * extent
    assert not is_table(5)
    assert not is_table(terms.binary("+", Loop("open", terms.binary("+", ROW, 1)), 1))


def test_axes_are_in_the_order_of_the_loops() -> None:
    wide = Loop("wide", 2)
    found = tabulated(terms.binary("-", terms.binary("*", ROW, 10), wide), [wide, ROW])
    assert found.tolist() == [[10 * row - one for row in range(7)] for one in range(2)]


X = np.arange(4, dtype=np.float32)


def test_an_output_has_so_many_parts() -> None:
    def case(count: int) -> Hand:
        text = " ".join(f"y[{place},] = x[{place % 4},];" for place in range(count))
        return Hand(text, {"x": X}, {"y": (count,)})

    np.testing.assert_array_equal(case(_MOST_PARTS).result(), np.tile(X, _MOST_PARTS // 4))
    with pytest.raises(Unfit, match=f"`y` is written in {_MOST_PARTS + 1} parts"):
        case(_MOST_PARTS + 1).run()


def test_formulas_are_so_deep() -> None:
    def case(count: int) -> Hand:
        return Hand(f"y[i,] = x[i,]{' * x[i,]' * count}, i < 4;", {"x": X}, {"y": (4,)})

    np.testing.assert_array_equal(case(_DEEPEST - 1).result()[:2], [0, 1])
    with pytest.raises(Unfit, match="formulas are nested too deeply"):
        case(_DEEPEST).run()


@pytest.mark.parametrize("at", [f"{FARTHEST - 2} + i", f"{2 - FARTHEST} - i - 1"])
def test_indices_are_so_far_away(at: str) -> None:
    def case(count: int) -> Hand:
        return Hand(f"y[j,] += x[|{at}|] + 0.0 * real(j), i < {count}, j < 4;", {"x": X}, {"y": (4,)})

    np.testing.assert_array_equal(case(2).result(), [0] * 4)
    with pytest.raises(Unfit, match="an index goes from"):
        case(3).run()


@pytest.mark.parametrize(
    ("base", "expected"), [(2, [2, 1, 0, 0]), (-1, [-1, 1, -1, 1]), (1, [1] * 4), (-3, [-3, 1, 0, 0])]
)
def test_only_units_have_whole_inverse_powers(base: int, expected: list[int]) -> None:
    case = Hand(f"y[i,] = x[i,] * real({base} ** (1 - i)), i < 4;", {"x": X + 1}, {"y": (4,)})
    np.testing.assert_array_equal(case.result(), (X + 1) * expected)


def test_real_numbers_have_inverse_powers() -> None:
    case = Hand("y[i,] = x[i,] * 2.0 ** real(1 - i), i < 4;", {"x": X + 1}, {"y": (4,)})
    np.testing.assert_array_equal(case.result(), (X + 1) * [2, 1, 0.5, 0.25])


def test_accumulation_over_all_pairs_of_a_choice() -> None:
    expected = [sum(a * b for a, b in product(X.tolist(), X.tolist()) if (a + b) % 2 == k) for k in range(2)]
    text = "y[k,] += x[i,] * x[j,], k < 2, i < 4, j < 4 | (i + j) % 2 == k;"
    np.testing.assert_array_equal(Hand(text, {"x": X}, {"y": (2,)}).result(), expected)
