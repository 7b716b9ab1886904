"""Operators that users write: called in Python, kept in CUSTOM, tiled, timed, written and read back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tosajit as tj
from tosajit import nnef
from tosajit.arrays import Array
from tosajit.errors import CompileError, ScriptError, TraceError
from tosajit.frontends.nnef.nests.text import Written, decoded, encoded
from tosajit.frontends.nnef.writing import save_model

SCALED = """
operator scaled {
    @attrib { a: real; }
    @input { x: real[m,k]; w: real[k,n]; b: optional real[n]; }
    @output { y: real[m,n]; }
    @lower {
        y[i,j] = b[j,] ?? 0.0, i < m, j < n;
        y[i,j] += a * x[i,l] * w[l,j], i < m, j < n, l < k;
    }
}
"""
RANDOM = np.random.default_rng(7)
X, W, B = (RANDOM.normal(size=shape).astype(np.float32) for shape in ((8, 16), (16, 4), (4,)))
EXPECTED = 0.5 * X @ W + B
scaled = nnef.operator(SCALED, "scaled", a=0.5)


def close(found: Array, expected: Array) -> None:
    """Equal but for the order of sums."""
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def test_an_operator_is_called_on_arrays() -> None:
    close(scaled(X, W, B), EXPECTED)
    close(scaled(X, W), 0.5 * X @ W)


def test_an_operator_is_called_in_a_traced_function() -> None:
    @tj.jit
    def layer(x: Array) -> Array:
        return tj.ops.tanh(scaled(x, W, B))

    close(layer(X), np.tanh(EXPECTED))


def graph() -> tj.Graph:
    """The operator between others."""
    return tj.trace(lambda x, w, b: tj.ops.tanh(scaled(x, w, b)), X, W, B)


def test_it_is_one_group_with_what_follows() -> None:
    executable = tj.compile(graph())
    last = executable.program.sections[-1].nest
    assert last.verb == "contract"
    assert {"custom", "tanh"} <= {member.partition("_")[0] for member in last.members}


@pytest.mark.parametrize("target", [tj.HOST, tj.TINY])
def test_it_is_tiled(target: tj.Target) -> None:
    close(tj.compile(graph(), target=target)(X, W, B), np.tanh(EXPECTED))


@pytest.mark.parametrize("machine", ["ethos-u85-256", "systolic-32"])
def test_it_is_timed(machine: str) -> None:
    assert tj.simulate(graph(), machine).cycles > 0


def test_files_keep_it(tmp_path: Path) -> None:
    path = tmp_path / "model.tosa"
    tj.save(graph(), path)
    found = tj.load(path)
    assert found == graph()
    close(tj.compile(found)(X, W, B), np.tanh(EXPECTED))


def custom(text: str, **changed: object) -> tj.Graph:
    """A graph of one CUSTOM operator."""
    given: dict[str, object] = {"operator_name": "f", "domain_name": "nnef", "outputs": [("fp32", (8, 16))]}
    attributes = encoded(Written(text, "f"))
    given |= {"implementation_attrs": attributes} | changed
    return tj.trace(lambda x: tj.ops.custom(x, **given), X)  # type: ignore[arg-type]


NEGATED = (
    "operator f { @input { x: real[s..]; } @output { y: real[s..]; } @lower { y[i..] = -x[i..], i < s; } }"
)


def test_outputs_are_those_of_the_text() -> None:
    close(tj.compile(custom(NEGATED))(X), -X)
    wrong = custom(NEGATED, outputs=[("fp32", (16, 8))])
    with pytest.raises(
        CompileError, match=r"output_list: is real\[16, 8\], but the text gives real\[8, 16\]"
    ):
        tj.compile(wrong)


@pytest.mark.parametrize(
    ("attributes", "fault"),
    [
        (b"\xff", "they are not JSON"),
        (b"[" * 100_000, "they are not JSON"),
        (b"{}", "they have no `text`"),
        (b'{"text": "", "operator": "f"}', "the text has no operator 'f'"),
        (b'{"text": "operator f {}", "operator": "f", "attributes": {"a": {}}}', "an attribute is dict"),
        (b'{"text": "operator f {", "operator": "f"}', "the text of f is wrong: main:1:13: "),
        (b'{"text": "", "operator": "f", "modules": ["a"]}', "`modules` are no texts by name"),
        (b'{"text": "", "operator": "f", "modules": {"../a": ""}}', "`modules` are no texts by name"),
        (b'{"text": "", "operator": "f", "modules": {"a": 1}}', "`modules` are no texts by name"),
        (b" " * (1 << 21), "they take 2097152 bytes, but may take 1048576"),
    ],
)
def test_damaged_attributes_are_told(attributes: bytes, fault: str) -> None:
    with pytest.raises(CompileError, match=fault):
        tj.compile(custom(NEGATED, implementation_attrs=attributes))


def test_attributes_are_read_back_as_they_were() -> None:
    call = Written(
        "operator f {}", "f", ("real",), (("a", (1, 2)), ("b", float("inf"))), (("x", -1), ("y", None))
    )
    assert decoded(encoded(call)) == call
    assert encoded(decoded(encoded(call))) == encoded(call)


def test_a_text_gives_custom_operators_their_meaning() -> None:
    tj.register_custom("test_nnef", "f", nnef=NEGATED)
    made = custom("", domain_name="test_nnef", implementation_attrs=b"")
    close(tj.compile(made)(X), -X)
    assert tj.simulate(made, "ethos-u85-256").cycles > 0


def test_an_implementation_is_one_thing() -> None:
    with pytest.raises(CompileError, match="either a function or a text"):
        tj.Custom()


def test_faults_of_a_text_are_told_at_once() -> None:
    with pytest.raises(ScriptError, match="main:1:"):
        nnef.operator("operator f { @lower { y[i = 3; } }", "f")
    with pytest.raises(ScriptError) as found:
        nnef.operator(NEGATED.replace("-x[i..]", "-z[i..]").replace("i < s", "i < t"))
    assert {fault.message for fault in found.value.faults} >= {"there is no `t` here", "there is no `z` here"}
    with pytest.raises(TraceError, match="the text has no operator 'g'; it has f"):
        nnef.operator(NEGATED, "g")


def test_an_operator_composes_others() -> None:
    text = """
        import math;
        operator f {
            @input { x: real[s..]; }
            @output { y: real[s..]; }
            @compose { z = math.neg(x); y = math.exp(z); }
        }
    """
    close(nnef.operator(text)(X), np.exp(-X))


MODULES = {
    "layers.own": "import layers.deep, math; operator twice { @input { x: real[s..]; }"
    " @output { y: real[s..]; } @compose { z = math.neg(x); y = layers.deep.thrice(z); } }",
    "layers.deep": NEGATED.replace("operator f", "operator thrice").replace("-x[i..]", "3.0 * x[i..]"),
}
COMPOSED = """import layers.own;
    operator g { @input { x: real[s..]; } @output { y: real[s..]; } @compose { y = layers.own.twice(x); } }"""


def test_an_operator_keeps_all_modules_that_it_needs(tmp_path: Path) -> None:
    found = nnef.operator(COMPOSED, modules=MODULES)
    close(found(X), -3 * X)
    traced = tj.trace(found, X)
    tj.save(traced, tmp_path / "model.tosa")
    close(tj.compile(tj.load(tmp_path / "model.tosa"))(X), -3 * X)
    save_model(traced, tmp_path / "model.nnef2")
    assert (tmp_path / "model.nnef2" / "layers" / "deep.sknd").read_text() == MODULES["layers.deep"]
    close(tj.compile(tj.load(tmp_path / "model.nnef2"))(X), -3 * X)


def test_a_module_that_is_missing_is_told() -> None:
    with pytest.raises(ScriptError, match=r"layers\.deep"):
        nnef.operator(COMPOSED, modules={"layers.own": MODULES["layers.own"]})


def test_two_modules_of_one_name_are_not_written(tmp_path: Path) -> None:
    first = nnef.operator(COMPOSED, modules=MODULES)
    changed = {**MODULES, "layers.deep": MODULES["layers.deep"].replace("3.0", "4.0")}
    second = nnef.operator(COMPOSED, modules=changed)
    with pytest.raises(tj.ModelError, match=r"the module layers\.deep that it imports is not the only one"):
        save_model(tj.trace(lambda x: (first(x), second(x)), X), tmp_path / "model.nnef2")
    standard = nnef.operator(
        "import quant; " + NEGATED, modules={"quant": NEGATED.replace("operator f", "operator h")}
    )
    with pytest.raises(tj.ModelError, match="the module quant that it imports is not the only one"):
        save_model(tj.trace(standard, X), tmp_path / "model.nnef2")


def test_variables_belong_to_graphs() -> None:
    text = """
        operator f {
            @input { x: real[n,m]; }
            @variable { v: real[m]; }
            @output { y: real[n,m]; }
            @lower { y[i,j] = x[i,j] + v[j,], i < n, j < m; }
        }
    """
    with pytest.raises(CompileError, match="has variables, which only a graph can hold"):
        nnef.operator(text)(X)


def test_checked_executables_watch_indices() -> None:
    text = """
        operator rows {
            @input { x: real[n,m]; r: int[k]; }
            @output { y: real[k,m]; }
            @lower { y[i,j] = x[r[i],j], i < k, j < m; }
        }
    """
    rows = np.array([7, 0, 8], np.int32)
    graph = tj.trace(nnef.operator(text), X, rows)
    close(tj.compile(graph)(X, rows), X[[7, 0, 7]])
    with pytest.raises(tj.RequireError, match="an index is outside of its operand, at i=2"):
        tj.compile(graph, checked=True)(X, rows)


@pytest.mark.parametrize("kind", ["float16", "bfloat16", "float32"])
def test_real_numbers_are_of_any_width(kind: str) -> None:
    import ml_dtypes

    x = X.astype(ml_dtypes.bfloat16 if kind == "bfloat16" else kind)
    found = nnef.operator(NEGATED)(x)
    assert found.dtype == x.dtype
    np.testing.assert_array_equal(found, -x)


def test_packs_are_lists() -> None:
    text = """
        operator f {
            @input { xs: real[n]..(k); }
            @output { ys: real[n]..(k); }
            @lower { ys[i,] = 2.0 * xs[i,], i < n; }
        }
    """
    first, second = nnef.operator(text)([B, B + 1])
    close(first, 2 * B)
    close(second, 2 * B + 2)
