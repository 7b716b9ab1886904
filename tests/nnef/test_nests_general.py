"""Formulas that fit no nest are run one point after the other (NNEF 2.0 section 2.12)."""

from __future__ import annotations

import numpy as np
import pytest

import tosajit as tj
from tosajit import nnef
from tosajit.arrays import Array
from tosajit.errors import InputError

RANDOM = np.random.default_rng(3)

ARGMAX = """
operator argmax {
    @input { x: real[m,n]; }
    @output { y: int[m]; }
    @lower {
        y[i] = 0, i < m;
        y[i] := j, i < m, j < n | x[i,j] > x[i,y[i]];
    }
}
"""
X = RANDOM.normal(size=(5, 7)).astype(np.float32)
argmax = nnef.operator(ARGMAX)


def test_a_condition_reads_what_is_written() -> None:
    np.testing.assert_array_equal(argmax(X), X.argmax(1))


def test_its_neighbours_are_compiled() -> None:
    @tj.jit
    def function(x: Array) -> Array:
        return tj.ops.add(argmax(tj.ops.negate(x)), np.array([1], np.int32))

    np.testing.assert_array_equal(function(X), (-X).argmax(1) + 1)


@pytest.mark.parametrize("mode", ["events", "analytic"])
def test_it_takes_time_on_a_machine(mode: str) -> None:
    def cycles(columns: int) -> int:
        graph = tj.trace(argmax, RANDOM.normal(size=(64, columns)).astype(np.float32))
        return tj.simulate(graph, "ethos-u85-256", mode=mode).cycles  # type: ignore[arg-type]

    assert 3 * cycles(64) < 2 * cycles(256)


def test_a_packed_assignment_is_done_at_once() -> None:
    text = """
        operator argmax_2d {
            @input { x: real[m,n]; }
            @output { y: int[2]; }
            @lower {
                y[:] = 0;
                y[:] := [i,j], i < m, j < n | x[i,j] > x[y[:]..];
            }
        }
    """
    assert tuple(nnef.operator(text)(X)) == np.unravel_index(X.argmax(), X.shape)


def test_data_limit_a_loop() -> None:
    text = """
        operator head_sums {
            @input { x: real[m,n]; lengths: int[m]; }
            @output { y: real[m]; }
            @lower { y[i] += x[i,j], i < m, j < lengths[i]; }
        }
    """
    lengths = np.array([0, 3, 7, 1, 2], np.int32)
    expected = [row[:count].sum() for row, count in zip(X, lengths, strict=True)]
    operator = nnef.operator(text)
    np.testing.assert_allclose(operator(X, lengths), expected, rtol=1e-6)
    with pytest.raises(InputError, match="a loop has 100000000 steps, but data may ask for 16777216"):
        operator(X, lengths * 0 + 100_000_000)


def test_data_choose_where_to_add() -> None:
    text = """
        operator histogram {
            @attrib { k: int; }
            @input { x: int[n]; }
            @output { y: int[k]; }
            @lower { y[x[i]] += 1, i < n; }
        }
    """
    x = RANDOM.integers(0, 6, 100).astype(np.int32)
    np.testing.assert_array_equal(nnef.operator(text, k=6)(x), np.bincount(x, minlength=6))


def test_an_index_from_data_stays_inside() -> None:
    text = """
        operator mark {
            @input { x: int[n]; }
            @output { y: int[4]; }
            @lower { y[x[i]] += 1, i < n; }
        }
    """
    x = np.array([-(2**31), -1, 0, 3, 4, 2**31 - 1], np.int32)
    np.testing.assert_array_equal(nnef.operator(text)(x), [3, 0, 0, 3])


def test_elements_that_hold_are_put_one_behind_the_other() -> None:
    text = """
        operator where_true {
            @input { x: real[s..(d)]; }
            @output { y: int[d,k|(s * ..)]; }
            @lower { y[:,k] = i, i < s | x[i..] > 0.0; }
        }
    """
    found = nnef.operator(text)(X)
    expected = np.argwhere(X > 0).T
    np.testing.assert_array_equal(found, expected)

    whole = tj.jit(nnef.operator(text))(X)  # traced: others may follow, whose shapes are known
    np.testing.assert_array_equal(whole[:, : expected.shape[1]], expected)
    assert not whole[:, expected.shape[1] :].any()


@pytest.mark.parametrize("operator", ["+", "*"])
def test_a_long_sum_is_computed(operator: str) -> None:
    terms = f" {operator} ".join(f"x[i, {place % 7}]" for place in range(250))
    lower = f"@lower {{ y[i] = {terms}, i < m; }}"
    text = f"operator op {{ @input {{ x: real[m,7]; }} @output {{ y: real[m]; }} {lower} }}"
    call = nnef.operator(text)
    x = np.ones_like(X) + X / 1000
    expected = np.add.reduce if operator == "+" else np.multiply.reduce
    places = [place % 7 for place in range(250)]
    np.testing.assert_allclose(call(x), expected(x[:, places].astype(np.float64), axis=1), rtol=1e-4)
    assert tj.simulate(tj.trace(call, x), "ethos-u85-256").cycles > 0
