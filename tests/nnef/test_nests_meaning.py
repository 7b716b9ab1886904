"""Operators and functions of formulas give what NumPy does, at their edges too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.nnef.nest_cases import Hand
from tosajit.arrays import Array
from tosajit.frontends.nnef.nests.assignment import Unfit

Function = Callable[..., Any]
TYPES = {"f": "real", "i": "int", "b": "bool"}


def found(text: str, expected: Array, **inputs: Array) -> Array:
    """What a formula of elements gives."""
    type = TYPES[expected.dtype.kind]
    size = expected.size
    whole = f"y[i,] = {text}, i < {size};"
    return np.asarray(Hand(whole, inputs, {"y": (size,)}, types={"y": type}).result())


X = np.array([-2.5, -2, -1, -0.5, 0, 0.5, 1, 1.5, 2, 3], np.float32)
Y = np.array([2, 3, -1, 2, 1, -2, 0, 0.5, 2, -3], np.float32)
A = np.array([-7, -3, -2, -1, 0, 1, 2, 3, 5, 7], np.int32)
B = np.array([2, 3, 31, 64, 0, -5, -1, 0, 2, 3], np.int32)
P, Q = X > 0, Y > 1


@pytest.mark.parametrize("exponent", [-9, -8, -3, -1, 0, 1, 2, 3, 8, 9, 0.5, 1.5, -0.5])
def test_real_powers_with_a_known_exponent(exponent: float) -> None:
    x = X if float(exponent).is_integer() and exponent >= 0 else np.abs(X) + np.float32(0.5)
    expected = x.astype(np.float64) ** exponent
    np.testing.assert_allclose(found(f"x[i,] ** ({float(exponent)})", expected, x=x), expected, rtol=3e-6)


@pytest.mark.parametrize("exponent", [-1, -3, -8, -9, -10])
def test_negative_numbers_have_inverse_powers(exponent: int) -> None:
    x = X[X != 0]
    expected = x.astype(np.float64) ** exponent
    np.testing.assert_allclose(found(f"x[i,] ** ({float(exponent)})", expected, x=x), expected, rtol=3e-6)


@pytest.mark.parametrize("exponent", [1, 2, 3, 8])
def test_whole_powers_with_a_known_exponent(exponent: int) -> None:
    expected = A**exponent
    np.testing.assert_array_equal(found(f"x[i,] ** {exponent}", expected, x=A), expected)


@pytest.mark.parametrize("exponent", [9, 0])
def test_whole_powers_beyond_some_factors_are_not_written_out(exponent: int) -> None:
    with pytest.raises(Unfit, match=f"an integer to the power of {exponent} has no scalar"):
        found(f"x[i,] ** {exponent}", A, x=A)


def test_real_powers_keep_the_sign_of_odd_exponents() -> None:
    with np.errstate(all="ignore"):
        expected = X.astype(np.float64) ** Y
        np.testing.assert_allclose(found("x[i,] ** z[i,]", expected, x=X, z=Y), expected, rtol=1e-5)


def test_a_root_of_a_negative_number_is_none() -> None:
    x, y = np.array([-2, -2, -2, -2], np.float32), np.array([0.5, 1.5, 2, 3], np.float32)
    np.testing.assert_allclose(found("x[i,] ** z[i,]", x, x=x, z=y), [np.nan, np.nan, 4, -8], rtol=1e-6)


def test_whole_powers_are_exact() -> None:
    expected = np.array([49, -27, -(2**31), 1, 1, 1, 0, 1, 25, 343], np.int32)
    np.testing.assert_array_equal(found("x[i,] ** z[i,]", expected, x=A, z=B), expected)


def test_only_units_have_whole_inverse_powers() -> None:
    x, y = np.array([1, -1, -1, 2, -3, 2, 2], np.int32), np.array([-3, -3, -2, -1, -2, 0, 1], np.int32)
    np.testing.assert_array_equal(found("x[i,] ** z[i,]", x, x=x, z=y), [1, -1, 1, 0, 0, 1, 2])


COMPARED: dict[str, Function] = {
    "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal, "==": np.equal,
    "!=": np.not_equal, "is": np.equal,
}  # fmt: skip


@pytest.mark.parametrize("operator", COMPARED)
@pytest.mark.parametrize(("x", "y"), [(X, np.roll(np.abs(X), 1)), (A, np.abs(A))], ids=["real", "int"])
def test_comparisons(operator: str, x: Array, y: Array) -> None:
    expected = COMPARED[operator](x, y)
    np.testing.assert_array_equal(found(f"x[i,] {operator} z[i,]", expected, x=x, z=y), expected)


LOGICAL: dict[str, Function] = {
    "&&": np.logical_and, "||": np.logical_or, "^": np.logical_xor, "=>": lambda p, q: ~p | q,
    "==": np.equal, "!=": np.not_equal,
}  # fmt: skip


@pytest.mark.parametrize("operator", LOGICAL)
def test_truths(operator: str) -> None:
    p, q = np.array([False, False, True, True]), np.array([False, True, False, True])
    expected = LOGICAL[operator](p, q)
    np.testing.assert_array_equal(found(f"p[i,] {operator} q[i,]", expected, p=p, q=q), expected)


CASTS: list[tuple[str, Array, Array]] = [
    ("int(x[i,])", X, np.trunc(X).astype(np.int32)),
    ("bool(x[i,])", X, X != 0),
    ("bool(x[i,])", A, A != 0),
    ("real(x[i,])", A, A.astype(np.float32)),
    ("real(x[i,])", P, P.astype(np.float32)),
    ("int(x[i,])", P, P.astype(np.int32)),
    ("sign(x[i,])", A, np.sign(A)),
    ("abs(x[i,])", A, np.abs(A)),
    ("-x[i,]", A, -A),
    ("-x[i,]", X, -X),
    ("!x[i,]", P, ~P),
    ("frac(x[i,])", X, X - np.floor(X)),
    ("x[i,] > 0.0 ? x[i,] : 7.0", X, np.where(X > 0, X, np.float32(7))),
    ("x[i,] > 0 ? x[i,] : 7", A, np.where(A > 0, A, np.int32(7))),
    ("x[i,] + 2147483647 - 2147483647", A, A),
    ("x[i,] <? (-2147483647 - 1)", A, np.full(10, -(2**31), np.int32)),
]


@pytest.mark.parametrize(("text", "x", "expected"), CASTS, ids=[f"{t} {x.dtype}" for t, x, _ in CASTS])
def test_functions_of_any_type(text: str, x: Array, expected: Array) -> None:
    np.testing.assert_array_equal(found(text, expected, x=x), expected)


@pytest.mark.parametrize("number", [2**31, -(2**31) - 1])
def test_numbers_have_so_many_bits(number: int) -> None:
    with pytest.raises(Unfit, match=f"{number} has more than 32 bits"):
        found(f"x[i,] + ({number})", A, x=A)


def test_real_quotients_may_be_rounded_up() -> None:
    y = np.float32(2) + 0 * X
    np.testing.assert_array_equal(found("x[i,] \\ z[i,]", X, x=X, z=y), np.ceil(X / 2))


EDGES: dict[str, list[float]] = {
    "asinh": [0, 1e-7, -1e-7, 0.01, 1e9, 0.9e18, 1.1e18, 3e38, -3e38, -1e19],
    "acosh": [1, 1.0000001, 1.5, 1e9, 0.9e18, 1.1e18, 3e38],
    "atanh": [0, 1e-7, -1e-7, 0.5, -0.5, 0.9999999, -0.9999999],
    "atan": [0, 1e-7, 0.4142, 0.4143, -0.4142, -0.4143, 2.4142, 2.4143, -2.4143, 1, -1, 1e30, -1e30],
    "asin": [0, 1e-7, 0.5, 0.999, 1, -1, -0.999],
    "acos": [1, 0.999, 0.5, 0, -0.5, -0.999, -1],
    "sinh": [0, 1e-7, -1e-7, 5, -5],
    "cosh": [0, 1e-7, 5, -5],
    "tan": [0, 1e-7, 0.7, -0.8, 1.5, 2, 4],
    "sqrt": [0, 1e-30, 1, 4, 1e30],
    "erf": [0, 1e-7, 0.5, -0.5, 3],
}
ERRORS = {"erf": (0, 1.1283791670955126e-7, 0.5204998778130465, -0.5204998778130465, 0.9999779095030014)}


@pytest.mark.parametrize("name", EDGES)
def test_functions_at_their_edges(name: str) -> None:
    x = np.array(EDGES[name], np.float32)
    if name == "erf":
        expected = np.array(ERRORS[name])
    else:
        named = f"arc{name[1:]}" if name[0] == "a" else name
        expected = getattr(np, named)(x.astype(np.float64))
    np.testing.assert_allclose(found(f"{name}(x[i,])", expected, x=x), expected, rtol=3e-6, atol=1e-12)


def test_infinite_numbers_stay_so() -> None:
    x = np.array([np.inf, -np.inf], np.float32)
    np.testing.assert_array_equal(found("asinh(x[i,])", x, x=x), x)
    np.testing.assert_array_equal(found("acosh(x[i,])", x[:1], x=x[:1]), x[:1])


EMPTY: list[tuple[str, str, float]] = [
    ("+=", "real", 0), ("*=", "real", 1), ("<?=", "real", np.inf), (">?=", "real", -np.inf),
    ("+=", "int", 0), ("*=", "int", 1), ("<?=", "int", 2**31 - 1), (">?=", "int", -(2**31)),
    ("&=", "bool", True), ("|=", "bool", False),
]  # fmt: skip


@pytest.mark.parametrize(("operator", "type", "expected"), EMPTY)
def test_what_is_never_updated_is_neutral(operator: str, type: str, expected: float) -> None:
    kind = {"real": np.float32, "int": np.int32, "bool": np.bool_}[type]
    x: Array = np.array([1, 0, 1], kind)
    text = f"y[i,] {operator} x[j,], i < 2, j < 3 | i == 1;"
    result = Hand(text, {"x": x}, {"y": (2,)}, types={"y": type}).result()
    joined = {"+=": 2, "*=": 0, "<?=": 0, ">?=": 1, "&=": False, "|=": True}[operator]
    np.testing.assert_array_equal(result, np.array([expected, joined], kind))
