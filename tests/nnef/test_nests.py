"""Formulas become nests, which compute what NumPy does (NNEF 2.0 section 2.12)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.nnef.nest_cases import Hand, verbs
from tosajit.arrays import Array
from tosajit.errors import CompileError, ScriptError
from tosajit.frontends.nnef.nests.assignment import Unfit

RANDOM = np.random.default_rng(14)


def real(*shape: int) -> Array:
    """Random numbers."""
    return RANDOM.normal(size=shape).astype(np.float32)


def close(case: Hand, expected: Array) -> None:
    """The result of a case is what is expected."""
    np.testing.assert_allclose(case.result(), expected, rtol=2e-5, atol=2e-6)


A, B, X = real(3, 4), real(4, 5), real(9)
MATMUL = "C[i,j] += A[i,l] * B[l,j], i < m, j < n, l < k;"
SIZES = {"m": 3, "n": 5, "k": 4}


def test_a_product_of_matrices_is_a_contraction() -> None:
    case = Hand(MATMUL, {"A": A, "B": B}, {"C": (3, 5)}, SIZES)
    assert verbs(case) == ["contract"]
    close(case, A @ B)


def test_factors_that_all_steps_share_wait_for_the_sum() -> None:
    case = Hand(MATMUL.replace("A[i", "0.5 * A[i"), {"A": A, "B": B}, {"C": (3, 5)}, SIZES)
    assert verbs(case) == ["contract"]
    close(case, 0.5 * (A @ B))


@pytest.mark.parametrize("start", [None, real(3, 5)])
def test_a_sum_begins_with_what_is_there(start: Array | None) -> None:
    text = "C[i,j] = Z[i,j] ?? 0.0, i < m, j < n; " + MATMUL
    case = Hand(text, {"A": A, "B": B, "Z": start}, {"C": (3, 5)}, SIZES)
    close(case, A @ B + (0 if start is None else start))


Function = Callable[..., Any]
ACCUMULATED: dict[str, Function] = {"+=": np.sum, "*=": np.prod, "<?=": np.min, ">?=": np.max}


@pytest.mark.parametrize("operator", ACCUMULATED)
@pytest.mark.parametrize("kind", [np.float32, np.int32])
def test_numbers_are_accumulated(operator: str, kind: type) -> None:
    x: Array = (3 * real(4, 6)).astype(kind)
    types = {"y": "int" if kind is np.int32 else "real"}
    case = Hand(f"y[i,] {operator} x[i,j], i < 4, j < 6;", {"x": x}, {"y": (4,)}, types=types)
    assert verbs(case) == ["reduce"]
    np.testing.assert_allclose(case.result(), ACCUMULATED[operator](x, axis=1), rtol=1e-5)


@pytest.mark.parametrize(("operator", "function"), [("&=", np.all), ("|=", np.any)])
def test_truths_are_accumulated(operator: str, function: Function) -> None:
    x = real(4, 3) > 0
    case = Hand(f"y[i,] {operator} x[i,j], i < 4, j < 3;", {"x": x}, {"y": (4,)}, types={"y": "bool"})
    np.testing.assert_array_equal(case.result(), function(x, axis=1))


def test_elements_outside_are_skipped() -> None:
    text = "y[i,] += x[|i + j - w/2|] / real(w), i < s, j < w;"
    close(Hand(text, {"x": X}, {"y": (9,)}, {"s": 9, "w": 3}), np.convolve(X, np.ones(3) / 3, "same"))


def test_what_is_found_outside_of_an_element_alone_is_neutral() -> None:
    case = Hand("y[i,] >?= x[|i + j - 1|], i < 9, j < 3;", {"x": -abs(X)}, {"y": (9,)})
    padded = np.pad(-abs(X), 1, constant_values=-np.inf)
    close(case, np.max([padded[j : j + 9] for j in range(3)], axis=0))
    assert case.nests[0].reads[0].fill is not None


CONVOLUTION = "y[i,] += x[|i + j - 1|] * w[j,], i < 9, j < 3;"


def test_skipping_is_not_a_product_with_zero() -> None:
    w = np.array([np.inf, 1, 2], np.float32)
    found = Hand(CONVOLUTION, {"x": X, "w": w}, {"y": (9,)}).result()
    assert found[0] == np.float32(np.float32(X[0]) + np.float32(2 * X[1]))
    assert not np.isfinite(found[1:]).any()


def test_a_product_with_numbers_that_are_finite_is_a_contraction() -> None:
    inputs = {"x": X, "w": real(3)}
    assert verbs(Hand(CONVOLUTION, inputs, {"y": (9,)})) == ["reduce"]
    case = Hand(CONVOLUTION, inputs, {"y": (9,)}, known=True)
    assert verbs(case) == ["contract"]
    close(case, np.convolve(X, inputs["w"][::-1], "same"))


@pytest.mark.parametrize(
    ("low", "high", "mode"), [("0", "s - 1", "edge"), ("-zi", "2 * (s - 1) - zi", "reflect")]
)
def test_indices_outside_are_replaced(low: str, high: str, mode: str) -> None:
    text = f"with zi = i - 2: y[i,] = x[|zi <> {low} : {high}|], i < s + 4;"
    close(Hand(text, {"x": X}, {"y": (13,)}, {"s": 9}), np.pad(X, 2, mode))  # type: ignore[call-overload]


def test_a_choice_guards_an_index() -> None:
    text = "with zi = i - 2: y[i,] = (zi >= 0 && zi < s) ? x[zi,] : 7.0, i < s + 4;"
    close(Hand(text, {"x": X}, {"y": (13,)}, {"s": 9}), np.pad(X, 2, constant_values=7))


def test_an_index_that_leaves_its_tensor_is_a_fault() -> None:
    with pytest.raises(
        CompileError, match=r"x: index 0 goes from 1 to 9, but the extent is 9 .*; write `\|…\|`"
    ):
        Hand("y[i,] = x[i + 1,], i < 9;", {"x": X}, {"y": (9,)}).run()


@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("dilation", [1, 2, 3])
def test_accumulation_into_strided_places_is_turned_round(stride: int, dilation: int) -> None:
    w = real(4)
    text = "y[|s * i + d * j - 2|] += x[i,] * w[j,], i < 9, j < 4;"
    expected = np.zeros(60)
    for i in range(9):
        for j in range(4):
            expected[10 + stride * i + dilation * j - 2] += X[i] * w[j]
    case = Hand(text, {"x": X, "w": w}, {"y": (20,)}, {"s": stride, "d": dilation})
    close(case, expected[10:30])


def test_upsampling_spreads_each_element() -> None:
    case = Hand("y[i * 3 + f,] = x[i,], i < 9, f < 3;", {"x": X}, {"y": (27,)})
    assert verbs(case) == ["move"]
    close(case, np.repeat(X, 3))


def test_a_pack_is_written_piece_by_piece() -> None:
    xs = [real(3, 2), real(3, 4)]
    text = "y[i,offs[k] + j] = xs[k][i,j], k < 2, i < 3, j < z[k];"
    case = Hand(text, {"xs": xs}, {"y": (3, 6)}, {"offs": (0, 2), "z": (2, 4)})
    assert verbs(case) == ["move", "move"]
    close(case, np.concatenate(xs, 1))


def test_a_pack_is_added_up() -> None:
    xs = [real(3, 2) for _ in range(3)]
    close(Hand("y[i..] += xs[k][i..], k < 3, i < s;", {"xs": xs}, {"y": (3, 2)}, {"s": (3, 2)}), sum(xs))  # type: ignore[arg-type]


def test_an_unrolled_loop_writes_one_item_after_the_other() -> None:
    text = "unroll..(k -> 2) y[k,i] = x[i,] * real(k + 1), i < 9;"
    close(Hand(text, {"x": X}, {"y": (2, 9)}), np.stack([X, 2 * X]))


def test_an_assignment_to_a_range_is_one_for_each_item() -> None:
    x, z = real(4, 3), real(4)
    close(Hand("y[i,:] = x[i,:] + z[i,], i < 4;", {"x": x, "z": z}, {"y": (4, 3)}), x + z[:, None])


ROWS = np.array([4, 0, 2], np.int32)


def test_data_choose_rows_that_are_read() -> None:
    d = real(5, 3)
    close(Hand("y[n,j] = d[r[n,],j], n < 3, j < 3;", {"d": d, "r": ROWS}, {"y": (3, 3)}), d[ROWS])


def test_data_choose_rows_that_are_written() -> None:
    d, u = real(5, 3), real(3, 3)
    text = "y[n,j] = d[n,j], n < 5, j < 3; y[r[n,],j] := u[n,j], n < 3, j < 3;"
    expected = d.copy()
    expected[ROWS] = u
    close(Hand(text, {"d": d, "r": ROWS, "u": u}, {"y": (5, 3)}), expected)


def test_an_index_of_a_pack_of_numbers_is_looked_up() -> None:
    close(Hand("y[i,] = x[p[i],], i < 3;", {"x": X}, {"y": (3,)}, {"p": (7, 0, 3)}), X[[7, 0, 3]])


def test_local_values_are_computed_once() -> None:
    case = Hand("with z = x[i,] ** 2.0: y[i,] = z * sin(z), i < 9;", {"x": X}, {"y": (9,)})
    close(case, X**2 * np.sin(X**2))
    assert len(case.nests[0].reads) == 1


def test_functions_of_loops_alone_are_tables() -> None:
    case = Hand("y[i,j] = x[i,j] * cos(real(i) / 3.0 ** real(j)), i < 3, j < 4;", {"x": A}, {"y": (3, 4)})
    assert [read.shape for read in case.nests[0].reads] == [(3, 4), (3, 4)]
    i, j = np.mgrid[:3, :4]
    close(case, A * np.cos(i / 3.0**j))


FUNCTIONS = {
    "sqrt": (0, 9), "exp": (-5, 5), "log": (0.01, 9), "sin": (-9, 9), "cos": (-9, 9), "tan": (-1.5, 1.5),
    "asin": (-1, 1), "acos": (-1, 1), "atan": (-9, 9), "sinh": (-4, 4), "cosh": (-4, 4), "tanh": (-4, 4),
    "asinh": (-9, 9), "acosh": (1, 9), "atanh": (-0.99, 0.99), "floor": (-9, 9), "ceil": (-9, 9),
    "abs": (-9, 9), "sign": (-2, 2),
}  # fmt: skip
NUMPY = {f"a{name}": f"arc{name}" for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_those_of_numpy(name: str) -> None:
    x = np.linspace(*FUNCTIONS[name], 401, dtype=np.float32)
    found = Hand(f"y[i,] = {name}(x[i,]), i < 401;", {"x": x}, {"y": (401,)}).result()
    np.testing.assert_allclose(
        found, getattr(np, NUMPY.get(name, name))(x.astype(np.float64)), rtol=3e-6, atol=3e-7
    )


def test_halves_are_rounded_away_from_zero() -> None:
    x = np.array([-2.5, -0.5, 0.49999997, 0.5, 1.5, 8388609.0], np.float32)
    found = Hand("y[i,] = round(x[i,]), i < 6;", {"x": x}, {"y": (6,)}).result()
    np.testing.assert_array_equal(found, np.array([-3, -1, 0, 1, 2, 8388609], np.float32))


INTEGERS: dict[str, Function] = {
    "/": lambda a, b: a // b, "\\": lambda a, b: -(-a // b), "%": np.fmod, "<?": np.minimum, ">?": np.maximum
}  # fmt: skip


@pytest.mark.parametrize("operator", INTEGERS)
def test_integers_are_divided_as_the_text_says(operator: str) -> None:
    a, b = (one.reshape(-1).astype(np.int32) for one in np.meshgrid(np.arange(-7, 8), [-3, -2, 2, 5]))
    types = {"y": "int"}
    case = Hand(
        f"y[i,] = a[i,] {operator} b[i,], i < {a.size};", {"a": a, "b": b}, {"y": a.shape}, types=types
    )
    np.testing.assert_array_equal(case.result(), INTEGERS[operator](a, b))


def test_what_division_leaves_has_the_sign_of_what_is_divided() -> None:
    a, b = (one.reshape(-1) for one in np.meshgrid(np.linspace(-9, 9, 37), [-3.0, -0.7, 0.1, 2.5, np.inf]))
    a, b = a.astype(np.float32), b.astype(np.float32)
    found = Hand(f"y[i,] = a[i,] % b[i,], i < {a.size};", {"a": a, "b": b}, {"y": a.shape}).result()
    expected = np.fmod(a, b)
    apart = np.minimum(np.abs(found - expected), np.abs(np.abs(found - expected) - np.abs(b)))
    np.testing.assert_array_less(apart, 1e-5)
    assert (np.abs(found) < np.abs(b)).all()
    np.testing.assert_array_equal(np.sign(found[found != 0]), np.sign(a[found != 0]))


def test_casts_cut_what_is_behind_the_point() -> None:
    x = np.array([-1.9, -0.5, 0.5, 1.9], np.float32)
    case = Hand("y[i,] = int(x[i,]), i < 4;", {"x": x}, {"y": (4,)}, types={"y": "int"})
    np.testing.assert_array_equal(case.result(), [-1, 0, 0, 1])


def test_a_formula_that_reads_what_it_writes_fits_no_nest() -> None:
    text = "y[] = 0; y[] := i, i < 9 | x[i,] > x[y[],];"
    with pytest.raises(Unfit, match="`y` is read while it is written"):
        Hand(text, {"x": X}, {"y": ()}, types={"y": "int"}).run()


def test_a_null_value_has_to_be_resolved() -> None:
    with pytest.raises(ScriptError, match=r"main:1:\d+: the value is null; .* \[NNEF 2.0 section 2.12\]"):
        Hand("y[i,] = z[i,], i < 9;", {"z": None}, {"y": (9,)}).run()


def test_a_value_of_another_type_is_a_fault() -> None:
    with pytest.raises(ScriptError, match="the value is int, but `y` is real; cast it"):
        Hand("y[i,] = i, i < 9;", {}, {"y": (9,)}).run()


def test_unrolled_loops_are_bounded() -> None:
    with pytest.raises(ScriptError, match="more than 4096 loops"):
        Hand("unroll..(k -> 5000) y[i,] = 0.0, i < 9;", {}, {"y": (9,)}).run()


def test_a_table_over_one_point_is_a_number() -> None:
    case = Hand("y[i,j] = x[i,j] * cos(real(i)), i < 1, j < 4;", {"x": A[:1]}, {"y": (1, 4)})
    close(case, A[:1])
