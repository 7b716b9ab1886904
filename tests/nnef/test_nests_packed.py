"""Packs of terms, the attributes that keep a call, and conditions: what is taken, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.nnef.nest_cases import Hand, verbs
from tosajit.frontends.nnef.nests import packed, terms
from tosajit.frontends.nnef.nests.packed import MOST_FOLDED, chosen, folded, known_items, mapped, picked
from tosajit.frontends.nnef.nests.terms import Apply, Checked, Loop
from tosajit.frontends.nnef.nests.text import LONGEST, Written, decoded, encoded, grouped
from tosajit.frontends.nnef.values.arithmetic import NoValue

ROW, COLUMN = Loop("row", 4), Loop("column", 5)
TRUTH = terms.binary("<", ROW, COLUMN)
CHECKED = Checked(ROW)


def plus(left: Any, right: Any) -> Any:
    return terms.binary("+", left, right)


def test_functions_of_packs_go_item_by_item() -> None:
    assert mapped(plus, 1, 2) == 3
    assert mapped(plus, (1, 2), 3) == (4, 5)
    assert mapped(plus, (1, 2), (3, 4)) == (4, 6)
    assert mapped(plus, (), 1) == ()
    assert mapped(plus, None, (1,)) is None
    assert mapped(plus, 1, None) is None
    assert mapped(Checked, ROW) != ROW


def test_known_choices_may_be_of_checked_indices() -> None:
    assert chosen(True, CHECKED, 1) is CHECKED
    assert chosen(False, CHECKED, 1) == 1
    assert mapped(chosen, (True, False), CHECKED, 5) == (CHECKED, 5)
    found = mapped(chosen, TRUTH, ROW, COLUMN)
    assert isinstance(found, Apply)
    assert found.operator == "?"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: mapped(plus, (1, 2), (1, 2, 3)), "packs of 2 and 3 items do not go together"),
        (lambda: mapped(plus, CHECKED, 1), "a checked index can only index a tensor"),
        (lambda: mapped(plus, (1, 2), (1, CHECKED)), "a checked index can only index a tensor"),
        (lambda: chosen(TRUTH, CHECKED, 1), "a checked index cannot be chosen by data"),
        (lambda: chosen(TRUTH, 1, CHECKED), "a checked index cannot be chosen by data"),
        (lambda: picked(ROW, []), "nothing can be picked from an empty pack"),
        (lambda: known_items((1, ROW)), "this has to be known before the model runs"),
        (lambda: known_items(None), "this has to be known before the model runs"),
        (lambda: folded(":=", [ROW, ROW], False), "the fold `:=` takes values that are known"),
        (lambda: folded("!=", [ROW, 1], False), "the fold `!=` takes values that are known"),
        (
            lambda: folded("+", [ROW] * (MOST_FOLDED + 1), False),
            "1001 values that loops or data decide are folded, but 1000 may be",
        ),
    ],
)
def test_packs_that_make_no_sense_are_refused(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(NoValue) as caught:
        make()
    assert str(caught.value) == message


def counted(term: Any, operator: str) -> int:
    return sum(isinstance(one, Apply) and one.operator == operator for one in terms.walk(term))


def test_folds_are_operators_between_items() -> None:
    assert folded("+", (1, 2, 4), False) == 7
    assert folded("+", (1, 2, 4), True) == (1, 3, 7)
    assert counted(folded("+", [ROW] * MOST_FOLDED, False), "+") == MOST_FOLDED - 1
    steps = folded("*", (ROW, COLUMN, 3), True)
    assert isinstance(steps, tuple)
    assert [counted(one, "*") for one in steps] == [0, 1, 2]
    for operator in ("<", "<=", ">", ">=", "=="):
        found = folded(operator, (ROW, COLUMN, ROW), False)
        assert (counted(found, operator), counted(found, "&&")) == (2, 1)
    assert folded("<", (ROW,), False) is True


def test_what_is_picked_is_compared_with_every_place_but_the_last() -> None:
    assert picked(ROW, [7]) == 7
    found = picked(ROW, [7, 8, 9])
    assert isinstance(found, Apply)
    condition, first, rest = found.operands
    assert isinstance(condition, Apply)
    assert (condition.operator, condition.operands, first) == ("==", (ROW, 0), 7)
    assert isinstance(rest, Apply)
    assert (counted(rest, "=="), rest.operands[1:]) == (1, (8, 9))
    assert packed.known_items(5) == (5,)
    assert known_items((1, True, "a")) == (1, True, "a")


WHOLE = Written(
    "operator f { }", "f", ("real", "int"),
    (("a", 1), ("b", (1.5, 2.0)), ("c", True), ("d", "text"), ("e", ())),
    (("x", -1), ("xs", 3), ("none", None)), ((0,), (), (1, 2)),
)  # fmt: skip


@pytest.mark.parametrize("one", [WHOLE, Written("t", "f"), Written("t", "f", inputs=(), opened=())])
def test_a_call_is_kept(one: Written) -> None:
    assert decoded(encoded(one)) == one


@pytest.mark.parametrize("number", [-(2**63), 2**63 - 1])
def test_integers_of_attributes_have_64_bits(number: int) -> None:
    assert decoded(encoded(Written("t", "f", (), (("a", number),)))).attributes == (("a", number),)


def test_a_call_has_so_many_bytes() -> None:
    longest = "a" * (LONGEST - len(encoded(Written("", "f"))))
    data = encoded(Written(longest, "f"))
    assert len(data) == LONGEST == 1 << 20
    assert decoded(data).text == longest
    with pytest.raises(ValueError, match="the text takes 1048577 bytes, but an operator may take 1048576"):
        encoded(Written(longest + "a", "f"))
    with pytest.raises(ValueError, match="they take 1048577 bytes, but may take 1048576"):
        decoded(data + b" ")


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ([], "they have no `text` or no `operator`"),
        ({"text": "t"}, "they have no `text` or no `operator`"),
        ({"text": 1, "operator": "f"}, "they have no `text` or no `operator`"),
        ({"operator": "f"}, "they have no `text` or no `operator`"),
        ({"types": "real"}, "`types` are no names"),
        ({"types": ["real", 1]}, "`types` are no names"),
        ({"attributes": [1]}, "`attributes` are not by name"),
        ({"attributes": {"a": 1 << 63}}, "an attribute is int"),
        ({"attributes": {"a": -(1 << 63) - 1}}, "an attribute is int"),
        ({"attributes": {"a": {}}}, "an attribute is dict"),
        ({"attributes": {"a": [1, 2.0]}}, "the items of an attribute are not of one type"),
        ({"attributes": {"a": [1, None]}}, "the items of an attribute are not of one type"),
        ({"attributes": {"a": [None]}}, "the items of an attribute are not of one type"),
        ({"attributes": {"a": [[1]]}}, "the items of an attribute are not of one type"),
        ({"inputs": 5}, "`inputs` are not names with numbers"),
        ({"inputs": [["x", True]]}, "`inputs` are not names with numbers"),
        ({"inputs": [["x", 1], ["y"]]}, "`inputs` are not names with numbers"),
        ({"inputs": [[1, 1]]}, "`inputs` are not names with numbers"),
        ({"opened": 5}, "`opened` are no dimensions of operands"),
        ({"opened": [5]}, "`opened` are no dimensions of operands"),
        ({"opened": [[0], [-1]]}, "`opened` are no dimensions of operands"),
        ({"opened": [[True]]}, "`opened` are no dimensions of operands"),
    ],
)
def test_attributes_that_are_no_call_are_refused(given: Any, fault: str) -> None:
    is_whole = isinstance(given, list) or given.keys() & {"text", "operator"}
    whole = given if is_whole else {"text": "t", "operator": "f", **given}
    with pytest.raises(ValueError, match=fault):
        decoded(json.dumps(whole).encode())


def test_operands_are_grouped_by_inputs() -> None:
    counts = (("x", -1), ("none", None), ("xs", 2), ("ys", 0), ("z", -1))
    assert grouped(counts, "abcd") == {"x": "a", "none": None, "xs": ("b", "c"), "ys": (), "z": "d"}
    for operands in ("abc", "abcde"):
        with pytest.raises(ValueError, match=f"its inputs take 4 operands, but there are {len(operands)}"):
            grouped(counts, operands)


X = np.arange(1, 13, dtype=np.float32).reshape(3, 4)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("y[i,] += x[i,j], i < 3, j < 4 | j > 0 && i > 0;", [0, 21, 33]),
        ("y[i,] += x[i,j] * 2.0, i < 3, j < 4 | i != 1;", [20, 0, 84]),
        ("y[i,] += x[i,j] * real(i), i < 3, j < 4 | true;", [0, 26, 84]),
        ("y[i,] >?= x[i,j], i < 3, j < 4 | j < 2;", [2, 6, 10]),
        ("y[i,] *= x[i,j], i < 3, j < 4 | j < 1 && i < 2;", [1, 5, 1]),
        ("y[i,] = 5.0, i < 3; y[i,] += x[i,j], i < 3, j < 4 | j == i;", [6, 11, 16]),
    ],
)
def test_conditions_say_which_points_count(text: str, expected: list[float]) -> None:
    np.testing.assert_array_equal(Hand(text, {"x": X}, {"y": (3,)}).result(), expected)


def test_factors_wait_for_the_sum_only_where_they_are_numbers() -> None:
    weights = np.array([2, 3, 4], np.float32)
    scaled = Hand("y[i,] += 0.5 * x[i,j] * 2.0, i < 3, j < 4;", {"x": X}, {"y": (3,)})
    assert verbs(scaled) == ["reduce"]
    np.testing.assert_array_equal(scaled.result(), X.sum(1))
    by_element = Hand("y[i,] += x[i,j] * w[i,], i < 3, j < 4;", {"x": X, "w": weights}, {"y": (3,)})
    np.testing.assert_array_equal(by_element.result(), X.sum(1) * weights)
    whole = Hand(
        "y[i,] += n[i,j] * 3, i < 3, j < 4;", {"n": X.astype(np.int32)}, {"y": (3,)}, types={"y": "int"}
    )
    np.testing.assert_array_equal(whole.result(), 3 * X.sum(1))
    alone = Hand("y[i,] += real(i) * 2.0, i < 3, j < 4;", {}, {"y": (3,)})
    np.testing.assert_array_equal(alone.result(), [0, 8, 16])


@pytest.mark.parametrize(
    ("operator", "neutral"), [("+=", 0), (">?=", -(2**31)), ("<?=", 2**31 - 1), ("*=", 1)]
)
def test_whole_numbers_outside_are_neutral(operator: str, neutral: int) -> None:
    x = np.array([-5, 7, 2, -3], np.int32)
    case = Hand(f"y[i,] {operator} x[|i + j - 1|], i < 4, j < 3;", {"x": x}, {"y": (4,)}, types={"y": "int"})
    padded = np.pad(x, 1, constant_values=neutral)
    join: Any = {"+=": np.sum, ">?=": np.max, "<?=": np.min, "*=": np.prod}[operator]
    np.testing.assert_array_equal(case.result(), [join(padded[i : i + 3]) for i in range(4)])


@pytest.mark.parametrize(("operator", "join"), [("&=", np.all), ("|=", np.any)])
def test_truths_outside_are_neutral(operator: str, join: Any) -> None:
    x = np.array([True, False, False, True, True])
    case = Hand(f"y[i,] {operator} x[|i + j - 1|], i < 5, j < 3;", {"x": x}, {"y": (5,)}, types={"y": "bool"})
    padded = np.pad(x, 1, constant_values=operator == "&=")
    np.testing.assert_array_equal(case.result(), [join(padded[i : i + 3]) for i in range(5)])


def test_whole_products_vanish_outside() -> None:
    x, w = np.array([1, 2, 3, 4], np.int32), np.array([1, 10, 100], np.int32)
    case = Hand(
        "y[i,] += x[|i + j - 1|] * w[j,], i < 4, j < 3;", {"x": x, "w": w}, {"y": (4,)}, types={"y": "int"}
    )
    assert verbs(case) == ["contract"]
    padded = np.pad(x, 1)
    np.testing.assert_array_equal(case.result(), [padded[i : i + 3] @ w for i in range(4)])


def test_sums_of_elements_outside_are_skipped_whole() -> None:
    x = np.array([1, 2, 3, 4], np.float32)
    case = Hand("y[i,] += x[|i + j - 1|] + 1.0, i < 4, j < 3;", {"x": x}, {"y": (4,)})
    expected = [sum(x[p] + 1 for p in range(i - 1, i + 2) if 0 <= p < 4) for i in range(4)]
    np.testing.assert_array_equal(case.result(), expected)


def test_a_product_is_skipped_where_any_of_its_elements_is_outside() -> None:
    x, z = np.array([1, 2, 3, 4], np.int32), np.array([5, 6, 7, 8], np.int32)
    text = "y[i,] += x[|i + j - 1|] * (z[|i + j - 2|] + 1), i < 4, j < 3;"
    case = Hand(text, {"x": x, "z": z}, {"y": (4,)}, types={"y": "int"})
    expected = [
        sum(x[i + j - 1] * (z[i + j - 2] + 1) for j in range(3) if 0 <= i + j - 2 and i + j - 1 < 4)
        for i in range(4)
    ]
    np.testing.assert_array_equal(case.result(), expected)
