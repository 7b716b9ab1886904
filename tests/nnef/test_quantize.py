"""Tensors are quantised by the algorithms that `@quantize` binds (NNEF 2.0 sections 2.10 and 2.14)."""

from __future__ import annotations

import pytest

from tests.nnef.composing import graph, graph_refusal
from tosajit.errors import ScriptError

TEXT = """
operator linear { @attrib { bits: int = 8; zero: optional int; } @input { x: real[s..]; }
    @output { y: real[s..]; } }
operator inner { @input { x: real[n]; } @output { y: real[n]; } @variable { w: real[n]; }
    @compose { t = add(x, w); y = scale(t); } }
public operator shown { @input { x: real[n]; } @output { y: real[n]; }
    @compose { t = scale(x); y = scale(t); } }
graph main { @attrib { b: int = 4; } @input { x: real[6]; } @output { y: real; }
    @variable { xs: real[6]..(2); }
    @compose { a = inner(x); y = shown(a); }
    @quantize { """


@pytest.mark.parametrize(
    ("name", "tensors"),
    [
        ("x", ["x"]), ("a", ["a"]), ("y", ["y"]), ("xs", ["xs.0", "xs.1"]), ("a.w", ["a.w"]),
        ("y.t", ["y.t"]), ("y.x", ["a"]),
    ],
)  # fmt: skip
def test_tensors_are_named_with_their_labels(name: str, tensors: list[str]) -> None:
    found = graph(f"{TEXT} {name}: linear{{bits=b}}; }} }}").quantized
    assert [one.tensor.name for one in found] == tensors
    assert found[0].operation.attributes == {"bits": 4, "zero": None}
    assert found[0].operation.name == "main.linear"


@pytest.mark.parametrize(
    ("line", "message", "remedy"),
    [
        ("z: linear;", "there is no tensor `z`", "known are"),
        ("a.v: linear;", "there is no tensor `a.v`", "did you mean `a.w`?"),
        ("a.t: linear;", "there is no tensor `a.t`", ""),
        ("a: liner;", "no operator `liner`", "did you mean `linear`?"),
        ("a: linear{bit=1};", "main.linear: `linear` has no attribute `bit`", "did you mean `bits`?"),
        ("a: add;", "`add` has 2 inputs and 1 outputs", ""),
        ("a: linear{bits=1.5};", "main.linear: `bits` is int, not real", ""),
    ],
)
def test_what_cannot_be_quantised_is_refused(line: str, message: str, remedy: str) -> None:
    found = graph_refusal(f"{TEXT} {line} }} }}")
    assert message in found.message
    assert remedy in found.remedy


def test_an_operator_quantises_its_own_tensors() -> None:
    text = """operator linear { @input { x: real[s..]; } @output { y: real[s..]; } }
    operator op { @input { x: real[n]; } @output { y: real[n]; } @compose { t = scale(x); y = scale(t); }
        @quantize { t: linear; } }
    graph main { @input { x: real[6]; } @output { y: real; } @compose { a = op(x); y = op(a); } }"""
    assert [one.tensor.name for one in graph(text).quantized] == ["a.t", "y.t"]


def test_all_faults_of_all_blocks_are_told_at_once() -> None:
    text = f"""operator op {{ @input {{ x: real[n]; }} @output {{ y: real[n]; }} @compose {{ y = scale(x); }}
        @quantize {{ z: linear; }} }}
    {TEXT.replace("shown(a)", "op(a)")} b: linear; x: linear; a: linear{{bit=1}}; x: linear; }} }}"""
    with pytest.raises(ScriptError) as caught:
        graph(text)
    assert [one.message for one in caught.value.faults] == [
        "there is no tensor `z` to quantize",
        "there is no tensor `b` to quantize",
        "main.linear: `linear` has no attribute `bit`",
        "`x` is quantised twice",
    ]


def test_a_fault_of_an_operator_that_is_called_often_is_told_once() -> None:
    text = """operator op { @input { x: real[n]; } @output { y: real[n]; } @compose { y = scale(x); }
        @quantize { z: scale; } }
    graph main { @input { x: real[6]; } @output { y: real; } @compose { a = op(x); y = op(a); } }"""
    assert graph_refusal(text).message == "there is no tensor `z` to quantize"


def test_a_caller_is_heard_after_the_operator_that_it_calls() -> None:
    text = f"""public operator op {{ @input {{ x: real[n]; }} @output {{ y: real[n]; }}
        @compose {{ t = scale(x); y = scale(t); }} @quantize {{ t: linear{{bits=2}}; }} }}
    {TEXT.replace("shown(a)", "op(a)")} y.t: linear{{bits=3}}; }} }}"""
    found = [one.operation.attributes["bits"] for one in graph(text).quantized]
    assert found == [2, 3]


@pytest.mark.parametrize(
    ("quantiser", "message"),
    [
        ("@output { y: real[2 * n]; } @lower { y[i] = x[i / 2], i < 2 * n; }",
         "`wide` makes real[12] of `x`, which is real[6]"),
        ("@output { y: int[n]; } @lower { y[i] = int(x[i]), i < n; }",
         "`wide` makes int[6] of `x`, which is real[6]"),
        ("@output { y: real[n]; } @variable { v: real[n]; } @compose { y = scale(x); }"
         " @update { v = scale(x); }", "`wide` updates variables"),
        ("@output { y: real[n]; } @compose { y = scale(x, x); }",
         "main.scale: `factor` has rank 1, not 0"),
    ],
)  # fmt: skip
def test_a_quantisation_leaves_type_and_shape_and_keeps_nothing(quantiser: str, message: str) -> None:
    text = f"operator wide {{ @input {{ x: real[n]; }} {quantiser} }} {TEXT} x: wide; }} }}"
    with pytest.raises(ScriptError) as caught:
        graph(text)
    assert message in caught.value.faults[0].message
