"""Terms of loops and elements: what is known is computed, what changes nothing is left out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tosajit.frontends.nnef.model import Tensor
from tosajit.frontends.nnef.nests import terms
from tosajit.frontends.nnef.nests.terms import Apply, Element, Loop, Term
from tosajit.frontends.nnef.values.arithmetic import NoValue

ROW, COLUMN = Loop("i", 4), Loop("j", 5)
WHOLE, REAL, TRUTH = (Element(Tensor(type, type, (4,), "input"), (ROW,)) for type in ("int", "real", "bool"))
OTHER = Element(Tensor("other", "bool", (4,), "input"), (ROW,))


@pytest.mark.parametrize(
    ("operator", "left", "right", "expected"),
    [
        ("+", ROW, 0, ROW),
        ("+", 0, ROW, ROW),
        ("-", ROW, 0, ROW),
        ("*", ROW, 1, ROW),
        ("*", 1, ROW, ROW),
        ("*", ROW, 0, 0),
        ("*", 0, ROW, 0),
        ("/", ROW, 1, ROW),
        ("\\", ROW, 1, ROW),
        ("&&", TRUTH, True, TRUTH),
        ("&&", True, TRUTH, TRUTH),
        ("&&", TRUTH, False, False),
        ("&&", False, TRUTH, False),
        ("||", TRUTH, True, True),
        ("||", True, TRUTH, True),
        ("||", TRUTH, False, TRUTH),
        ("||", False, TRUTH, TRUTH),
        ("=>", True, TRUTH, TRUTH),
        ("=>", False, TRUTH, True),
        ("=>", TRUTH, True, True),
        ("+", 2, 3, 5),
        ("<", 2, 3, True),
    ],
)
def test_an_operator_may_leave_what_it_takes(operator: str, left: Term, right: Term, expected: Term) -> None:
    found = terms.binary(operator, left, right)
    assert found is expected or (terms.is_known(found) and found == expected)
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("operator", "left", "right", "type"),
    [
        ("+", ROW, 1, "int"),
        ("+", 1, ROW, "int"),
        ("-", 0, ROW, "int"),
        ("-", ROW, 1, "int"),
        ("*", ROW, 2, "int"),
        ("*", -1, ROW, "int"),
        ("/", ROW, 2, "int"),
        ("/", 1, ROW, "int"),
        ("\\", 1, ROW, "int"),
        ("%", ROW, 1, "int"),
        ("+", REAL, 0.0, "real"),
        ("*", REAL, 0.0, "real"),
        ("*", 0.0, REAL, "real"),
        ("*", 1.0, REAL, "real"),
        ("-", REAL, 0.0, "real"),
        ("/", REAL, 1.0, "real"),
        ("<", ROW, 0, "bool"),
        ("==", ROW, 0, "bool"),
        ("==", TRUTH, OTHER, "bool"),
        ("!=", TRUTH, True, "bool"),
        ("is", REAL, 1.0, "bool"),
        ("=>", TRUTH, False, "bool"),
        ("&&", TRUTH, OTHER, "bool"),
        ("||", TRUTH, OTHER, "bool"),
        ("^", TRUTH, False, "bool"),
    ],
)
def test_other_operators_are_applied(operator: str, left: Term, right: Term, type: str) -> None:
    found = terms.binary(operator, left, right)
    assert isinstance(found, Apply)
    assert (found.operator, found.operands, found.type) == (operator, (left, right), type)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: terms.binary("+", ROW, REAL), "`+` takes operands of one type, not int and real"),
        (lambda: terms.binary("+", TRUTH, OTHER), "`+` does not take bool"),
        (lambda: terms.binary("<", TRUTH, OTHER), "`<` does not take bool"),
        (lambda: terms.binary("&&", ROW, COLUMN), "`&&` does not take int"),
        (lambda: terms.binary("^", REAL, REAL), "`^` does not take real"),
        (lambda: terms.unary("!", ROW), "`!` does not take int"),
        (lambda: terms.unary("-", TRUTH), "`-` does not take bool"),
        (lambda: terms.unary("+", TRUTH), "`+` does not take bool"),
        (lambda: terms.function("sqrt", ROW), "`sqrt` does not take int"),
        (lambda: terms.function("abs", TRUTH), "`abs` does not take bool"),
        (lambda: terms.function("erf", 1), "`erf` does not take int"),
        (lambda: terms.chosen(ROW, ROW, COLUMN), "the condition of `?` is a bool, not int"),
        (lambda: terms.chosen(TRUTH, ROW, REAL), "`?` chooses among values of one type, not int and real"),
        (lambda: terms.converted("str", ROW), "int cannot be cast to str"),
    ],
)
def test_what_has_another_type_is_refused(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(NoValue) as caught:
        make()
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("found", "operator", "type"),
    [
        (terms.unary("-", ROW), "-.", "int"),
        (terms.unary("!", TRUTH), "!.", "bool"),
        (terms.function("abs", ROW), "abs", "int"),
        (terms.function("sign", WHOLE), "sign", "int"),
        (terms.function("sqrt", REAL), "sqrt", "real"),
        (terms.function("erf", 0.5), "erf", "real"),
        (terms.converted("real", ROW), "real", "real"),
        (terms.chosen(TRUTH, ROW, COLUMN), "?", "int"),
    ],
)
def test_functions_keep_their_operand(found: Term, operator: str, type: str) -> None:
    assert isinstance(found, Apply)
    assert (found.operator, found.type) == (operator, type)


def test_choices_that_are_known_are_made() -> None:
    assert terms.chosen(True, ROW, COLUMN) is ROW
    assert terms.chosen(False, ROW, COLUMN) is COLUMN
    assert terms.chosen(TRUTH, ROW, ROW) is ROW
    assert terms.unary("+", ROW) is ROW
    assert terms.converted("int", ROW) is ROW


def test_an_index_within_a_dimension_is_compared_with_both_ends() -> None:
    found = terms.within(ROW, 4)
    assert isinstance(found, Apply)
    low, high = found.operands
    assert isinstance(low, Apply)
    assert isinstance(high, Apply)
    assert (low.operator, low.operands, high.operator, high.operands) == (">=", (ROW, 0), "<", (ROW, 4))
    assert [terms.within(one, 4) for one in (-1, 0, 3, 4)] == [False, True, True, False]


def test_terms_are_walked_once_and_parts_first() -> None:
    shared = terms.binary("+", ROW, COLUMN)
    whole = terms.binary("*", shared, terms.binary("-", shared, 2))
    walked = list(terms.walk(whole, ROW))
    assert walked[:3] == [ROW, COLUMN, shared]
    assert (len(walked), walked[-1]) == (5, whole)
    assert terms.loops_of(whole, REAL) == {ROW, COLUMN}
    assert terms.elements_of(REAL, whole) == [REAL]


def test_what_is_replaced_is_computed_again() -> None:
    same = terms.binary("+", WHOLE, 1)
    moved = terms.chosen(terms.binary("<", ROW, 3), terms.unary("-", ROW), terms.function("abs", ROW))
    real = terms.function("sqrt", terms.converted("real", ROW))
    found = terms.replaced([moved, real, same, 7], lambda leaf: 4 if leaf is ROW else leaf)
    assert found[:2] == [4, 2.0]
    assert found[3] == 7
    assert isinstance(found[2], Apply)
    element = found[2].operands[0]
    assert isinstance(element, Element)
    assert (element.tensor, element.indices) == (WHOLE.tensor, (4,))
    assert terms.replaced([moved, same], lambda leaf: leaf) == [moved, same]
