"""Expressions: their values, what is refused and where, and texts of strangers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim.explore.errors import SpaceError
from sim.explore.expression import TROUBLES, Column, Expression, Symbol, constraint, expression

SYMBOLS = {
    "a": Symbol("number"),
    "b": Symbol("number"),
    "part.size": Symbol("number"),
    "flag": Symbol("truth"),
    "mode": Symbol("text", choices=("weight", "output")),
}


def columns(**given: Any) -> dict[str, Column]:
    """Columns without troubles."""
    found = {name.replace("__", "."): np.asarray(values) for name, values in given.items()}
    return {name: (values, np.zeros(values.shape, np.int8)) for name, values in found.items()}


def value(text: str, **given: Any) -> Any:
    """The value for one row, or what is wrong."""
    values, trouble = expression(text, SYMBOLS).evaluate(columns(**given), 1)
    return TROUBLES[trouble[0]] or values[0]


def read(text: str) -> Expression | str:
    """The expression, or why there is none."""
    try:
        return expression(text, SYMBOLS)
    except SpaceError as error:
        return str(error)


def fault(text: str) -> str:
    """What is said of a text that is refused."""
    with pytest.raises(SpaceError) as caught:
        constraint(text, SYMBOLS)
    return str(caught.value)


def power(base: float, exponent: float) -> float:
    found = float(np.float_power(base, exponent)) if base or exponent >= 0 else 1 / 0
    if not math.isfinite(found):
        raise ValueError
    return found


PYTHON: dict[str, Callable[..., Any]] = {
    "power": power,
    "min": min,
    "max": max,
    "abs": abs,
    "sqrt": math.sqrt,
    "log2": lambda one: float(np.log2(one)) if one > 0 else math.sqrt(-1),
    "ceil": lambda one: float(math.ceil(one)),
    "floor": lambda one: float(math.floor(one)),
}
Pair = tuple[str, str]
"""A text, and the same for Python."""


def both(form: str, *parts: Pair, python: str = "") -> Pair:
    return form.format(*(one for one, _ in parts)), (python or form).format(*(two for _, two in parts))


leaf = st.one_of(
    st.sampled_from([("a", "a"), ("b", "b"), ("part.size", "size"), ("part_size", "size")]),
    st.integers(-6, 6).map(lambda one: (f"({one})", f"({float(one)})")),
)


def larger(inner: st.SearchStrategy[Pair]) -> st.SearchStrategy[Pair]:
    signs = st.sampled_from(["+", "-", "*", "/", "//", "%"])
    return st.one_of(
        st.builds(lambda x, s, y: both(f"({{}} {s} {{}})", x, y), inner, signs, inner),
        st.builds(
            lambda x, e: both(f"({{}} ** {e})", x, python=f"power({{}}, {e})"), inner, st.integers(-1, 2)
        ),
        st.builds(
            lambda f, x: both(f"{f}({{}})", x),
            st.sampled_from(["abs", "sqrt", "log2", "ceil", "floor"]),
            inner,
        ),
        st.builds(
            lambda f, x, y: both(f"{f}({{}}, {{}})", x, y), st.sampled_from(["min", "max"]), inner, inner
        ),
        inner.map(lambda x: both("(-{})", x)),
    )


numbers = st.recursive(leaf, larger, max_leaves=6)
signs = st.sampled_from(["<", "<=", ">", ">=", "==", "!="])
comparisons = st.one_of(
    st.builds(lambda x, s, y: both(f"({{}} {s} {{}})", x, y), numbers, signs, numbers),
    st.builds(
        lambda x, s, y, t, z: both(f"({{}} {s} {{}} {t} {{}})", x, y, z),
        numbers,
        signs,
        numbers,
        signs,
        numbers,
    ),
    st.sampled_from([("flag", "flag"), ("mode == 'weight'", "mode == 'weight'"), ("true", "True")]),
)
truths = st.recursive(
    comparisons,
    lambda inner: st.one_of(
        st.builds(
            lambda x, s, y: both(f"({{}} {s} {{}})", x, y), inner, st.sampled_from(["and", "or"]), inner
        ),
        inner.map(lambda x: both("(not {})", x)),
    ),
    max_leaves=4,
)
few = st.sampled_from([-2.5, -1.0, 0.0, 0.5, 1.0, 3.0])


@settings(max_examples=150)
@given(
    truths,
    st.lists(
        st.tuples(few, few, few, st.booleans(), st.sampled_from(["weight", "output"])), min_size=1, max_size=5
    ),
)
def test_values_are_those_of_python(pair: Pair, rows: list[tuple[Any, ...]]) -> None:
    text, python = pair
    symbols = {**SYMBOLS, "part_size": Symbol("number")}
    a, b, size, flag, mode = (list(one) for one in zip(*rows, strict=True))
    given = columns(a=a, b=b, part__size=size, part_size=size, flag=flag, mode=mode)
    values, trouble = expression(text, symbols).evaluate(given, len(rows))
    for number, row in enumerate(rows):
        names = dict(zip(("a", "b", "size", "flag", "mode"), row, strict=True))
        try:
            expected = eval(python, {**PYTHON, "__builtins__": {}}, names)
        except (ZeroDivisionError, ValueError):
            assert trouble[number]
        else:
            assert not trouble[number]
            assert bool(values[number]) == bool(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2 + 3 * 4 ** 2 // 5", 2 + 3 * 4**2 // 5),
        ("-2 ** 2", -4),
        ("2 ** 3 ** 2", 512),
        ("7 % -4", 7 % -4),
        ("-7 // 2", -7 // 2),
        ("min(3, 1, 2) + max(3, 1, 2)", 4),
        ("1 < 2 < 3", True),
        ("1 < 3 < 2", False),
        ("mode == 'weight' and not flag", True),
        ("'weight' != mode or a > 4", False),
        ("1 > 0 or 1 / 0 > 1", True),
        ("1 < 0 and 1 / 0 > 1", False),
        ("2 < 1 < 1 / 0", False),
        ("1 / 0 > 1 or 1 > 0", "division by zero"),
        ("1 // (a - a)", "division by zero"),
        ("5 % 0", "division by zero"),
        ("0 ** -1", "division by zero"),
        ("sqrt(0 - 1)", "not a real number"),
        ("(-8) ** 0.5", "not a real number"),
        ("log2(0)", "not a real number"),
        ("9 ** 9 ** 9 ** 9", "a number too large"),
        ("part.size", 7),
    ],
)
def test_values_and_troubles_of_some_texts(text: str, expected: object) -> None:
    assert value(text, a=2.0, part__size=7.0, flag=False, mode="weight") == expected


@pytest.mark.parametrize(
    ("text", "said", "column"),
    [
        ("a + size < 3", "'size' is not a known name", 4),
        ("flags and a < 3", "did you mean flag?", 0),
        ("a + 'x' < 3", "+ takes a number, and this is text", 4),
        ("a and b", "and takes true or false, and this is a number", 0),
        ("not a", "not takes true or false", 4),
        ("mode < 'weight'", "text is compared by == and !=, not by <", 7),
        ("mode == 'wieght'", "mode is never 'wieght', but weight, output", 8),
        ("a == mode", "a number and text are not compared", 5),
        ("flag == 1", "true or false and a number are not compared", 8),
        ("abs(a, b) < 1", "abs takes one value", 0),
        ("min(a) < 1", "min takes two values or more", 0),
        ("min(a, key=b) < 1", "min takes two values", 0),
        ("sqr(a) < 1", "did you mean sqrt?", 0),
        ("open('x') < 1", "'open' is not a function of expressions", 0),
        ("a.real < 1", "'a.real' is not a known name", 0),
        ("(1).real < 1", "is not the name of a field", 0),
        ("a[0] < 1", "[…] is not part of expressions", 0),
        ("a if flag else b", "if … else is not part of expressions", 0),
        ("(lambda: 1) < 1", "lambda is not part of expressions", 1),
        ("a << 60 < 1", "this operation is not part of expressions", 0),
        ("~a < 1", "~ is not part of expressions", 0),
        ("a is b", "is is not part of expressions", 5),
        ("1j < 1", "1j is not part of expressions", 0),
        ("None == a", "None is not part of expressions", 0),
        ("a < 1e999 + 10 ** 2 + b +", "invalid syntax", 25),
        ("'é' == 'é' and size < 3", "'size' is not a known name", 15),
        ("a < 1" + "0" * 400, "the number is too large", 4),
    ],
)
def test_faults_point_at_their_place(text: str, said: str, column: int) -> None:
    first, shown, mark = fault(text).split("\n")
    assert said in first
    assert shown == f"    {text}"[: len(shown)]
    assert mark == " " * (4 + column) + "^"


def test_only_what_is_true_or_false_is_a_constraint() -> None:
    assert fault("a + 1") == "'a + 1' is a number; a constraint must be a comparison, such as area <= 5"
    assert "is text" in fault("'a'")


@pytest.mark.parametrize(
    "text",
    [
        "a <" + " a + " * 500 + "1",
        "x" * 3000,
        "(" * 900,
        "-" * 1900 + "1 < 2",
        "not " * 450 + "flag",
        "a" + ".a" * 900,
        "[" * 1900,
        "a<b" + "<b" * 900,
    ],
)
def test_long_and_deep_texts_are_refused_or_read(text: str) -> None:
    found = read(text)
    if isinstance(found, str):
        assert len(found) < 500
    else:
        assert found.evaluate(columns(a=[1.0], b=[2.0]), 1)[0].shape == (1,)


WORDS = [
    *"a b part.size flag mode 'weight' ' \" ( ) [ ] { } + - * / ** // % < == != and or not".split(),
    *"min( sqrt( , 9 1e308 0 = := lambda if else for in await yield . # f'{a}' é 𝟙 … 0x @ : ;".split(),
    "\\",
    "\u202e",
    "\0",
    "__import__('os')",
    "\n",
    "\t",
]
words = st.lists(st.sampled_from(WORDS), max_size=30)


@settings(max_examples=200)
@given(st.one_of(st.text(max_size=60), words.map(" ".join), words.map("".join)))
def test_texts_of_strangers_are_read_or_refused(text: str) -> None:
    found = read(text)
    if isinstance(found, str):
        return
    given = columns(
        a=[0.0, 1.5], b=[2.0, -1.0], part__size=[3.0, 4.0], flag=[True, False], mode=["weight", "output"]
    )
    values, trouble = found.evaluate(given, 2)
    assert values.shape == trouble.shape == (2,)


def test_what_is_violated_says_what_it_is() -> None:
    held = constraint("a * 2 <= part.size", SYMBOLS)
    given = columns(a=[1.0, 3.0], part__size=[4.0, 4.0])
    assert held.violations(given, 2) == ["", "constraint does not hold: a * 2 <= part.size (it is 6)"]
    given["a"] = (np.array([np.nan, 1.0]), np.array([4, 0], np.int8))
    assert held.violations(given, 2)[0].endswith("(a field that the machine lacks)")
