"""Operators whose bodies have control flow, called as CUSTOM operators (NNEF 2.0 section 2.10.1)."""

from __future__ import annotations

import numpy as np
import pytest

import tosajit as tj
from tosajit import nnef
from tosajit.arrays import Array

X = np.array([1.0, -2.0, 3.0], np.float32)
ROWS = np.arange(1, 13, dtype=np.float32).reshape(6, 2)
HEAD = """
import math, layout;
operator step { @input { x: real[s..]; i: int[]; } @output { y: real[s..]; }
    @lower { y[j..] = x[j..] + real(i[]), j < s; } }
"""
FOUND = """
operator found { @input { x: real[n,m]; } @output { y: real[k|n,m]; }
    @lower { y[k,:] = x[i,:], i < n | x[i,0] > 0.0; } }
"""


def operator(inputs: str, outputs: str, compose: str, more: str = "") -> nnef.Operator:
    text = f"""{HEAD} {more}
        operator tested {{ @input {{ {inputs} }} @output {{ {outputs} }} @compose {{ {compose} }} }}"""
    return nnef.operator(text, "tested")


def number(value: int) -> Array:
    return np.array(value, np.int32)


@pytest.mark.parametrize("c", [True, False])
@pytest.mark.parametrize("d", [True, False])
def test_branches(c: bool, d: bool) -> None:
    call = operator(
        "x: real[n]; c: bool[]; d: bool[];", "y: real[n]; z: real[n];",
        "y, z = if c then { t = math.neg(x); yield t, x; } elif d then { t = math.sqr(x); yield x, t; }"
        " else { yield x, x; };",
    )  # fmt: skip
    y, z = call(X, np.array(c), np.array(d))
    np.testing.assert_array_equal(y, -X if c else X)
    np.testing.assert_array_equal(z, X * X if d and not c else X)


@pytest.mark.parametrize("k", [-1, 0, 1, 3, 9])
def test_scans_that_carry_and_pack(k: int) -> None:
    call = operator(
        "xs: real[n]..(p); k: int[];", "y: real[n]; z: real[n]..(p);",
        "y, z = with s = xs[0] for x : xs do..(i -> k) { t = math.add(s, x); u = step(t, i); yield t, u; };",
    )  # fmt: skip
    pack = [X, 2 * X, X * X]
    y, z = call(pack, number(k))
    state, expected = X, [0 * X] * 3
    for place in range(min(max(k, 0), 3)):
        state = state + pack[place]
        expected[place] = state + place
    np.testing.assert_array_equal(y, state)
    np.testing.assert_array_equal(z, expected)


@pytest.mark.parametrize("k", [-3, 0, 2, 5])
def test_conditions_before_and_behind_a_step(k: int) -> None:
    call = operator(
        "k: int[];", "y: int[]; z: int[];",
        "y = with s = k while { t = math.lt(s, 2); yield t; } do math.add(s, 1);"
        " z = with s = k do math.add(s, 1) while { t = math.lt(s, 2); yield t; };",
    )  # fmt: skip
    y, z = call(number(k))
    assert (int(y), int(z)) == (max(k, 2), max(k + 1, 2))


def test_data_decide_shapes_inside() -> None:
    call = operator("x: real[n,m];", "y: real[m];", "a = found(x); r = math.sum_reduce{axes=[0]}(a);"
                    " y = layout.squeeze{axes=[0]}(r);", FOUND)  # fmt: skip
    x = ROWS * np.array([1, -1, 1, 1, -1, 1], np.float32)[:, None]
    np.testing.assert_array_equal(call(x), x[x[:, 0] > 0].sum(0))


def test_its_neighbours_are_compiled_and_it_takes_time() -> None:
    call = operator("x: real[n]; c: bool[];", "y: real[n];", "y = if c then math.neg(x) else math.sqr(x);")
    graph = tj.trace(lambda x, c: tj.ops.negate(call(tj.ops.negate(x), c)), X, np.array(True))
    again = tj.from_bytes(tj.to_bytes(graph))
    np.testing.assert_array_equal(tj.compile(again)(X, np.array(True)), -X)
    np.testing.assert_array_equal(tj.compile(again)(X, np.array(False)), -X * X)
    assert tj.simulate(graph, "ethos-u85-256").cycles > 0


def test_inputs_that_are_left_out_have_their_default_value() -> None:
    text = """operator scaled { @input { x: real[n]; factor: real[n] = 2.0; bias: real[] = 1.0; }
        @output { y: real[n]; } @lower { y[i] = x[i] * factor[i] + bias[], i < n; } }"""
    scaled = nnef.operator(text)
    np.testing.assert_array_equal(scaled(X), 2 * X + 1)
    np.testing.assert_array_equal(scaled(X, X), X * X + 1)
    np.testing.assert_array_equal(scaled(X, None, np.float32(3)), 2 * X + 3)


def test_variables_are_refused() -> None:
    more = """operator held { @input { x: real[n]; } @output { y: real[n]; } @variable { w: real[n]; }
        @compose { y = math.add(x, w); } }"""
    call = operator("x: real[n]; c: bool[];", "y: real[n];", "y = if c then held(x) else math.sqr(x);", more)
    with pytest.raises(tj.CompileError, match="has variables"):
        call(X, np.array(True))
