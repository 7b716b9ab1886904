"""Branches, loops and updates as a graph of TOSA runs them (NNEF 2.0 sections 2.10.1 and 2.11)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import tosajit as tj
from tests.nnef.cases import CASES
from tosajit import nnef
from tosajit.arrays import Array
from tosajit.graph import Graph

X = np.array([1.0, -2.0, 3.0], np.float32)
PACK = [X, 2 * X, X - 1, X * X]


def graph(
    compose: str, outputs: str = "y: real;", inputs: str = "", more: str = "", **attributes: Any
) -> Graph:
    return nnef.parse(
        f"""
        import math;
        operator step {{ @input {{ x: real[s..]; i: int[]; }} @output {{ y: real[s..]; }}
            @lower {{ y[j..] = x[j..] + real(i[]), j < s; }} }}
        graph main {{
            @attrib {{ yes: bool = true; n: int = 4; }}
            @input {{ x: real[3]; xs: real[3]..(4); c: bool[]; d: bool[]; k: int[]; {inputs} }}
            @output {{ {outputs} }}
            {more}
            @compose {{ {compose} }}
        }}""",
        **attributes,
    )


def run(made: Graph, c: bool = False, d: bool = False, k: int = 0) -> list[Array]:
    given = {"x": X, "c": np.array(c), "d": np.array(d), "k": np.array(k, np.int32)}
    given |= {f"xs.{place}": one for place, one in enumerate(PACK)}
    found = tj.compile(made, checked=True).run({one.name: given[one.name] for one in made.inputs})
    return list(found.values())


def opcodes(made: Graph) -> list[str]:
    return [node.operator.opcode for node in made.nodes]


def check(found: Sequence[Array], *expected: Any) -> None:
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, np.asarray(other, one.dtype), rtol=1e-6)


@pytest.mark.parametrize("yes", [True, False])
def test_a_branch_that_is_known_leaves_no_control_flow(yes: bool) -> None:
    made = graph("y = if yes then math.neg(x) else math.sqr(x);", yes=yes)
    assert "COND_IF" not in opcodes(made)
    check(run(made), -X if yes else X * X)


@pytest.mark.parametrize("c", [True, False])
@pytest.mark.parametrize("d", [True, False])
def test_branches_by_data_take_the_first_that_holds(c: bool, d: bool) -> None:
    made = graph("y = if c then math.neg(x) elif d then math.sqr(x) else x;")
    assert "COND_IF" in opcodes(made)
    check(run(made, c, d), -X if c else X * X if d else X)


@pytest.mark.parametrize("c", [True, False])
@pytest.mark.parametrize("d", [True, False])
def test_branches_within_branches_give_several_results(c: bool, d: bool) -> None:
    text = """y, z = if c then {
            a, b = if d then { yield math.neg(x), x; } else { yield x, math.sqr(x); };
            yield math.add(a, b), b;
        } else { yield x, x; };"""
    text = text.replace("{ yield math.neg(x), x; }", "{ t = math.neg(x); yield t, x; }")
    text = text.replace("{ yield x, math.sqr(x); }", "{ t = math.sqr(x); yield x, t; }")
    text = text.replace("yield math.add(a, b), b;", "t = math.add(a, b); yield t, b;")
    expected = ((0 * X, X) if d else (X + X * X, X * X)) if c else (X, X)
    check(run(graph(text, "y: real; z: real;"), c, d), *expected)


@pytest.mark.parametrize("k", [-1, 0, 3])
def test_a_condition_is_computed(k: int) -> None:
    made = graph("y = if { t = math.gt(k, 0); yield t; } then math.neg(x) else x;")
    check(run(made, k=k), -X if k > 0 else X)


@pytest.mark.parametrize("loop", ["do..(n)", "unroll..(n)"])
@pytest.mark.parametrize("n", [0, 1, 5, 100])
def test_a_count_that_is_known(loop: str, n: int) -> None:
    made = graph(f"y = with s = x {loop} math.add(s, x);", n=n)
    assert ("WHILE_LOOP" in opcodes(made)) == (n > 64 and loop == "do..(n)")
    check(run(made), (n + 1) * X)


@pytest.mark.parametrize("k", [-3, 0, 1, 100])
def test_a_count_that_data_give(k: int) -> None:
    check(run(graph("y = with s = x do..(i -> k) step(s, i);"), k=k), X + sum(range(k)))


@pytest.mark.parametrize("word", ["do", "unroll"])
def test_a_scan_packs_what_its_steps_give(word: str) -> None:
    made = graph(f"y = for a : xs {word} math.neg(a);", "y: real..;")
    check(run(made), *(-one for one in PACK))


@pytest.mark.parametrize("word", ["do", "unroll"])
def test_a_fold_carries_and_packs(word: str) -> None:
    made = graph(
        f"y, z = with s = x for a : xs, b : xs[::-1] {word} {{ t = math.add(s, a); u = math.mul(a, b);"
        " yield t, u; };",
        "y: real; z: real..;",
    )
    check(run(made), X + sum(PACK), *(a * b for a, b in zip(PACK, PACK[::-1], strict=True)))


@pytest.mark.parametrize("k", [-1, 0, 2, 4, 9])
def test_data_decide_how_many_items_are_packed(k: int) -> None:
    made = graph(
        "y, z = with s = x for a : xs do..(i -> k) { t = math.add(s, a); u = step(t, i); yield t, u; };",
        "y: real; z: real..;",
    )
    assert "WHILE_LOOP" in opcodes(made)
    items, state = [], X
    for number in range(min(max(k, 0), 4)):
        state = state + PACK[number]
        items.append(state + number)
    check(run(made, k=k), state, *items, *[0 * X] * (4 - len(items)))


def test_truths_and_integers_are_packed() -> None:
    made = graph(
        "y, z = for a : xs do..(i -> k) { t = math.gt(a, x); u = math.add(i, k); yield t, u; };",
        "y: bool..; z: int..;",
    )
    no, yes = [False] * 3, [one > X for one in PACK]
    check(run(made, k=2), *yes[:2], no, no, 2, 3, 0, 0)


def test_a_long_scan_is_a_loop() -> None:
    made = graph(
        "ones = [1.0 ..(100)]; y, z = with s = x for f : ones do { t = math.add(s, f); yield t, t; };",
        "y: real; z: real..;",
    )
    assert opcodes(made).count("WHILE_LOOP") == 1
    check(run(made), X + 100, *(X + 1 + n for n in range(100)))


@pytest.mark.parametrize("k", [0, 3])
def test_while_tests_before_a_step(k: int) -> None:
    made = graph("y = with s = k while { t = math.lt(s, 3); yield t; } do math.add(s, 1);", "y: int;")
    check(run(made, k=k), 3)


@pytest.mark.parametrize("k", [0, 3, 7])
def test_do_while_tests_behind_a_step(k: int) -> None:
    made = graph("y = with s = k do math.add(s, 1) while { t = math.lt(s, 3); yield t; };", "y: int;")
    check(run(made, k=k), max(3, k + 1))


@pytest.mark.parametrize("form", ["while {} do..(3) {}", "do..(3) {} while {}"])
@pytest.mark.parametrize("k", [-9, 0, 1, 5])
def test_a_count_limits_a_condition(form: str, k: int) -> None:
    before, behind = (
        form.replace("{}", "{ t = math.lt(s, 2); yield t; }", 1).replace("{}", "math.add(s, 1)"),
        form.replace("{}", "math.add(s, 1)", 1).replace("{}", "{ t = math.lt(s, 2); yield t; }"),
    )
    tested_first = form.startswith("while")
    made = graph(f"y = with s = k {before if tested_first else behind};", "y: int;")
    state, steps = k, 0
    while steps < 3 and (state < 2 or (steps == 0 and not tested_first)):
        state, steps = state + 1, steps + 1
    check(run(made, k=k), state)


@pytest.mark.parametrize("k", [-2, 0, 2])
def test_a_condition_decides_how_many_items_are_packed(k: int) -> None:
    made = graph(
        "y, z = with s = k for a : xs while { t = math.lt(s, 2); yield t; } do"
        " { t = math.add(s, 2); u = math.neg(a); yield t, u; };",
        "y: int; z: real..;",
    )
    count = max(0, (2 - k + 1) // 2)
    check(run(made, k=k), k + 2 * count, *(-one for one in PACK[:count]), *[0 * X] * (4 - count))


def test_a_loop_runs_inside_of_a_branch_inside_of_a_loop() -> None:
    made = graph(
        """y = with s = x do..(k) {
            t = if c then { u = with v = s do..(i -> k) step(v, i); yield u; } else s;
            yield t;
        };"""
    )
    check(run(made, c=True, k=3), X + 9)
    check(run(made, c=False, k=3), X)


def test_an_update_is_there_in_the_next_call() -> None:
    made = nnef.parse(
        """
        import math;
        graph main {
            @input { x: real[3]; }
            @variable { total: real[3]; count: int[]; }
            @output { y: real[3]; n: int[]; }
            @compose { y = math.add(total, x); n = math.add(count, 1); }
            @update { total = y; count = n; }
        }""",
        weights={"total": np.zeros(3, np.float32), "count": np.array(10, np.int32)},
    )
    executable = tj.compile(made)
    for call in range(1, 4):
        check(executable(X), call * X, 10 + call)
    check(executable(X, context=executable.context()), X, 11)


def test_an_update_sees_what_updates_before_it_have_written() -> None:
    made = nnef.parse(
        """
        import math;
        graph main {
            @input { x: real[]; }
            @variable { a: real[]; b: real[]; }
            @output { y: real[]; }
            @compose { y = math.sub(a, b); }
            @update { a = math.add(a, x); b = math.mul(a, 2.0); }
        }""",
        weights=1.0,
    )
    executable = tj.compile(made)
    one = np.array(1.0, np.float32)
    assert [float(executable(one)) for _ in range(3)] == [0, 2 - 4, 3 - 6]


@pytest.mark.parametrize("steps", [[3, 5], [0, 1], [5, 5]])
def test_an_lstm_makes_as_many_steps_as_are_said_for_each_item(steps: list[int]) -> None:
    """Section 4.4.8: what lies beyond the last step is 0."""
    step = CASES["nn.lstm_step"][0].reference
    random = np.random.default_rng(2)
    x, w, r, b = (random.standard_normal(s).astype(np.float32) for s in ((5, 2, 3), (8, 3), (8, 2), (8,)))
    made = nnef.parse(
        """
        import nn;
        graph main { @input { X: real[5,2,3]; W: real[8,3]; R: real[8,2]; B: real[8]; steps: int[2]; }
            @output { Y: real; h: real; c: real; }
            @compose { Y, h, c = nn.lstm(X, W, R, B, ~, ~, steps); } }"""
    )
    expected = np.zeros((5, 2, 2))
    h, c = np.zeros((2, 2)), np.zeros((2, 2))
    for number in range(5):
        going = np.array(steps)[:, None] > number
        h1, c1 = step(h, c, x[number], w, r, b)
        h, c = np.where(going, h1, h), np.where(going, c1, c)
        expected[number] = np.where(going, h1, 0)
    found = tj.compile(made)(x, w, r, b, np.array(steps, np.int32))
    for one, other in zip(found, (expected, h, c), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_more_tensors_are_joined_than_one_concat_takes() -> None:
    made = nnef.parse(
        """
        import layout;
        graph main { @input { x: real[3]; } @output { y: real[300]; }
            @compose { y = layout.concat{axis=0}([x ..(100)]); } }"""
    )
    assert "CUSTOM" not in opcodes(made)
    check([tj.compile(made)(X)], np.tile(X, 100))
