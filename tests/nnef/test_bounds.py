"""No text makes anyone fold, unroll or recurse without end: each limit has a message that names it."""

from __future__ import annotations

import random
import re

import pytest

from tests.nnef.composing import BINARY, graph, graph_refusal
from tosajit.errors import ScriptError
from tosajit.frontends.nnef.compose import Library, compose
from tosajit.frontends.nnef.compose.tensors import MOST_TENSORS
from tosajit.frontends.nnef.library import Standard
from tosajit.frontends.nnef.syntax.depth import LONGEST_CHAIN
from tosajit.frontends.nnef.values.evaluate import MOST_WORK

GRAPH = "graph main {{ @input {{ x: real[3]; }} @output {{ y: real; }} {} @compose {{ {} }} }}"


def told(using: str = "", compose: str = "y = x;") -> str:
    return graph_refusal(GRAPH.format(f"@using {{ {using} }}", compose)).message


@pytest.mark.parametrize(
    "expression",
    [
        " || ".join(["true"] * 3000),
        "[1]" + "[:]" * 3000,
        "[1]" + " + ..." * 3000,
        "(" * 101 + " + ".join(["1"] * 90) + ")" * 101,
    ],
)
def test_expressions_are_nested_only_so_deep(expression: str) -> None:
    assert "nested more than 100 deep" in told(f"a = {expression};")


def test_packs_of_inputs_have_no_more_tensors_than_a_model() -> None:
    text = "graph main { @input { xs: real[3]..(1000000); } @output { y: real; } @compose { y = xs[0]; } }"
    assert f"`xs` has 1000000 tensors, but a model at most {MOST_TENSORS}" in graph_refusal(text).message


@pytest.mark.parametrize("operator", ["+", "-", "*", "/", "<?"])
def test_operators_follow_one_another_only_so_often(operator: str) -> None:
    text = f" {operator} ".join(["1"] * (LONGEST_CHAIN + 1))
    graph(GRAPH.format(f"@using {{ a = {text}; }}", "y = x;"))
    assert f"more than {LONGEST_CHAIN} operators follow" in told(f"a = {text} {operator} 1;")
    assert f"more than {LONGEST_CHAIN} operators follow" in told(f"a = ({text}) {operator} 1;")


def test_packs_are_computed_only_so_often() -> None:
    using = "a0 = [0:1000000];" + "".join(f"a{i + 1} = a{i} + 1;" for i in range(20))
    assert f"more than {MOST_WORK} items" in told(using)


def test_a_pack_in_another_takes_time_for_their_lengths_only() -> None:
    using = "a = [0:1000000]; b = (a in a) && ..;" + "c = [b, 1];"
    assert "the items of a list have one type" in told(using)


def test_loops_are_unrolled_only_so_often() -> None:
    inner = "unroll..(1000)"
    step = f"with a = x {inner} {{ b = with c = a {inner} {{ yield c; }}; yield b; }}"
    assert f"more than {MOST_WORK} items" in told(compose=f"y = {step};")


def test_constants_are_computed_only_so_often() -> None:
    constants = "".join(f"c{i}: int[1000000] = i, i < 1000000;" for i in range(12))
    text = GRAPH.format(f"@constant {{ {constants} }}", "y = x;")
    assert f"more than {MOST_WORK} items" in graph_refusal(text).message


@pytest.mark.parametrize(
    "using",
    [
        "a0 = 'abcdefgh';" + "".join(f"a{i + 1} = '{{a{i}}}{{a{i}}}';" for i in range(40)),
        "a = [0:1000000]; b = '{a}';",
        "a = '{[0:1000]}'; b = [a..(1000000)]; c = '{b}';",
    ],
)
def test_strings_are_only_so_long(using: str) -> None:
    assert "a string has at most 65536 characters" in told(using)


def test_messages_are_only_so_long() -> None:
    text = GRAPH.format("@assert { false: 'no', [0:100000]; }", "y = x;")
    assert len(graph_refusal(text).message) < 500


WHOLE = (
    f"import nn; import math; {BINARY}"
    """graph main { @attrib { k: int = 3; c: bool = true; }
    @input { x: real[1,3,~|9,~|9]; more: bool[]; } @variable { w: real[4,3,k,k]; b: real[4]; }
    @output { y: real; }
    @compose { a = nn.conv{padding=1, stride=2}(x, w, b); [p, q..] = split{n=1}(a);
        r = if more then math.add(p, p) else { t = nn.relu(p); yield t; };
        y = with s = r for i : [1.0, 2.0] unroll..(j -> 2) math.mul(s, i); }
    @update { b = math.add(b, b); } }"""
)


def test_the_graph_that_is_damaged_is_right() -> None:
    assert compose(Library({"main": WHOLE}, Standard())).name == "main"


@pytest.mark.parametrize("seed", range(200))
def test_a_damaged_graph_is_refused_or_composed(seed: int) -> None:
    drawn = random.Random(seed)
    tokens = re.findall(r"\s+|\w+|[^\w\s]", WHOLE)
    for _ in range(drawn.randint(1, 3)):
        place, other = drawn.randrange(len(tokens)), drawn.choice([*tokens, "", "100000000", "?", ".."])
        tokens[place] = other
    found = 0
    try:
        found = len(compose(Library({"main": "".join(tokens)}, Standard())).root.outputs)
    except ScriptError as error:
        found = len(error.faults)
    assert found
