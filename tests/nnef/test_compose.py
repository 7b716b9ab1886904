"""Graphs become models: helper symbols, outputs, constants, variables, bodies (NNEF 2.0 chapter 3)."""

from __future__ import annotations

import numpy as np
import pytest

from tests.nnef.composing import CONV, graph, graph_refusal, operation, refusal, tensor
from tosajit.arrays import Array
from tosajit.frontends.nnef.compose import Library, compose
from tosajit.frontends.nnef.model import Operation, Tensor, operations, tensors_of


def steps(text: str) -> list[Operation]:
    """The operations of a graph's own body."""
    body = graph(text).root.body
    assert body is not None
    return [one for one in body.steps if isinstance(one, Operation)]


def shapes(operation: Operation) -> list[tuple[object, ...]]:
    return [one.shape for output in operation.outputs.values() for one in tensors_of(output)]


def names(operation: Operation) -> list[str]:
    return [one.name for output in operation.outputs.values() for one in tensors_of(output)]


def test_a_convolution_has_the_shape_that_its_helper_symbols_give() -> None:
    """Section 2.9."""
    inputs = {"input": tensor(1, 3, 9, 8), "filter": tensor(4, 3, 3, 3)}
    assert shapes(operation(CONV, inputs, stride=2)) == [(1, 4, 5, 4)]
    assert shapes(operation(CONV, inputs, padding=(0, 1))) == [(1, 4, 7, 8)]


def test_a_failed_assertion_shows_its_message_and_values() -> None:
    """Section 2.8."""
    inputs = {"input": tensor(1, 3, 2), "filter": tensor(4, 3, 3)}
    found = refusal(CONV, inputs, padding=0)
    assert found.message.endswith("too small; input-size = [2], fs = [3]")
    assert found.section == "2.8"
    assert "got [0]" in refusal(CONV, inputs, stride=0).message


def test_assertions_are_checked_before_the_symbols_that_need_them() -> None:
    """Section 2.9: without the order, `r` would divide by zero."""
    text = """operator op { @attrib { a: int; b: int; c: int; } @output { y: real[]; }
        @using { r = a / b; }
        @assert { r + c == 42; b > 0: "b must be positive", b; a % b == 0: "divisible", a, b; } }"""
    assert refusal(text, a=1, b=0, c=0).message == "b must be positive; b = 0"
    assert refusal(text, a=3, b=2, c=0).message == "divisible; a = 3, b = 2"
    assert refusal(text, a=4, b=2, c=0).message == "`r + c == 42` does not hold"
    assert operation(text, a=4, b=2, c=40).symbols["r"] == 2


def test_assertions_that_are_null_are_skipped() -> None:
    """Section 2.8."""
    text = "operator op { @attrib { a: optional int..; } @assert { a > 0; } @output { y: real[]; } }"
    operation(text)
    operation(text, a=(1, 2))
    assert refusal(text, a=(1, 0)).message == "`a > 0` does not hold"


USING = [
    ("[a, b..] = [1, 2, 3];", {"a": 1, "b": (2, 3)}),
    ("[a.., b] = [1, 2, 3];", {"a": (1, 2), "b": 3}),
    ("[a..(1), b..(2)] = [1, 2, 3];", {"a": (1,), "b": (2, 3)}),
    ("[(e, f)..] = [1, 2, 3, 4];", {"e": (1, 3), "f": (2, 4)}),
    ("[(e, f)..(3)] = [1, 2, 3, 4, 5, 6];", {"e": (1, 3, 5), "f": (2, 4, 6)}),
    ("(e, f)..(3) = [1, 2, 3, 4, 5, 6];", {"e": (1, 3, 5), "f": (2, 4, 6)}),
    ("[(e, f, g)..(1), h] = [1, 2, 3, 4];", {"e": (1,), "f": (2,), "g": (3,), "h": 4}),
    ("c..(2) = [5, 6];", {"c": (5, 6)}),
    ("c = [1, 2]; d = c * 2;", {"d": (2, 4)}),
]


@pytest.mark.parametrize(("using", "expected"), USING)
def test_lists_are_taken_apart(using: str, expected: dict[str, object]) -> None:
    """Section 2.9."""
    found = operation(f"operator op {{ @using {{ {using} }} @output {{ y: real[]; }} }}").symbols
    assert {name: found[name] for name in expected} == expected


@pytest.mark.parametrize(
    ("using", "message"),
    [
        ("c..(3) = [5, 6];", "`c` has 2 items, not 3"),
        ("[a, b] = [1, 2, 3];", "a list of 3 items goes to 2 places"),
        ("[a.., b..] = [1, 2, 3];", "more than one part of the list has no length"),
        ("[(e, f)..] = [1, 2, 3];", "does not unzip to 2 packs"),
        ("[(e, f)..(3)] = [1, 2, 3, 4];", "a list of 4 items goes to 6 places"),
        ("(e, f)..(3) = [1, 2, 3, 4];", "2 items go to packs of 3"),
        ("c..(-1) = [5, 6];", "-1 is no length of a pack"),
        ("[a, b..] = 1;", "1 is no list"),
        ("a = 1 / 0;", "divides by zero"),
    ],
)
def test_lists_that_do_not_fit_are_refused(using: str, message: str) -> None:
    """Section 2.9."""
    found = refusal(f"operator op {{ @using {{ {using} }} @output {{ y: real[]; }} }}")
    assert message in found.message


OUTPUTS = [
    ("y: real[m + n, n * 2];", [(5, 6)]),
    ("y: real[s..];", [(2, 3)]),
    ("y: real[s * .., 1 ..(2)];", [(6, 1, 1)]),
    ("y: real[m > 5 ? m, n];", [(3,)]),
    ("y: real[1 ..(m == 2), n];", [(1, 3)]),
    ("y: real[n]..(m);", [(3,), (3,)]),
    ("y: real[..s, 7]..(2);", [(2, 7), (3, 7)]),
    ("y: real[s[::-1]..]; z: int[];", [(3, 2), ()]),
]


@pytest.mark.parametrize(("output", "expected"), OUTPUTS)
def test_outputs_have_the_shapes_that_they_say(output: str, expected: list[tuple[int, ...]]) -> None:
    """Section 2.6."""
    text = f"operator op {{ @input {{ x: real[m,n]; z: real[s..]; }} @output {{ {output} }} }}"
    assert shapes(operation(text, {"x": tensor(2, 3), "z": tensor(2, 3)})) == expected


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("y: real[k];", "`k` has no value here"),
        ("y: real[m - 5];", "-3 is no extent"),
        ("y: real[s];", "an extent is no pack"),
        ("y: real[m..];", "the length of these dimensions is not said"),
        ("y: real[m ..(100)];", "100 is no number of dimensions"),
        ("y: real[n]..;", "the length of the pack `y` is not said"),
        ("y: real;", "the shape of the output `y` is not said"),
    ],
)
def test_outputs_without_shapes_are_refused(output: str, message: str) -> None:
    """Section 2.6."""
    text = f"operator op {{ @input {{ x: real[m,n]; z: real[s..]; }} @output {{ {output} }} }}"
    found = refusal(text, {"x": tensor(2, 3), "z": tensor(2, 3)})
    assert message in found.message
    assert found.section == ("2.4" if "value" in message else "2.6")


CONSTANTS = [
    ("c: real[2,3] = 0.5;", np.full((2, 3), 0.5)),
    ("c: int[2,2] = [1, 2, 3, 4];", np.array([[1, 2], [3, 4]])),
    ("c: real[n,n] = i == j ? 1.0 : 0.0, i < n, j < n;", np.eye(3)),
    ("c: real[n,n] = i == j ? 1 : 0, i < n, j < n;", np.eye(3)),
    ("c: int[2,n] = i * 10 + j, i < 2, j < n;", np.array([[0, 1, 2], [10, 11, 12]])),
    ("c: int[[2,n]..] = (i * [10, 1]) + .., i < [2, n];", np.array([[0, 1, 2], [10, 11, 12]])),
    ("c: bool[] = true;", np.array(True)),
    ("c: str[] = 'a';", np.array("a", object)),
    ("c: T[] = T();", np.array(0.0)),
]


@pytest.mark.parametrize(("constant", "expected"), CONSTANTS, ids=range(len(CONSTANTS)))
def test_constants_have_their_values(constant: str, expected: Array) -> None:
    """Section 2.7."""
    text = (
        "operator op { @dtype { T: type = real; } @attrib { n: int = 3; } @output { y: real[]; }"
        f" @constant {{ {constant} }} }}"
    )
    found = operation(text).constants["c"]
    assert isinstance(found, Tensor)
    assert found.value is not None
    assert found.kind == "constant"
    np.testing.assert_array_equal(found.value, expected)
    assert found.value.dtype == expected.dtype


def test_a_pack_of_constants_has_a_value_for_each() -> None:
    """Section 2.7."""
    text = "operator op { @constant { c: real[2]..(2) = [1.0, 2.0]; } @output { y: real[]; } }"
    found = operation(text).constants["c"]
    assert [one.value.tolist() for one in tensors_of(found) if one.value is not None] == [[1, 1], [2, 2]]


@pytest.mark.parametrize(
    ("constant", "message"),
    [
        ("c: real[2];", "the constant `c` has no value"),
        ("c: int[2] = 1.5;", "a tensor of int has no value of real"),
        ("c: int[3] = [1, 2];", "`c` has 3 elements, but 2 values"),
        ("c: int[n] = i, i < 2;", "walk [2], but its shape is [3]"),
        ("c: int[2]..(2) = [1];", "so its value is a list of as many"),
    ],
)
def test_constants_without_values_are_refused(constant: str, message: str) -> None:
    """Section 2.7."""
    text = f"operator op {{ @attrib {{ n: int = 3; }} @constant {{ {constant} }} @output {{ y: real[]; }} }}"
    found = refusal(text)
    assert message in found.message
    assert found.section == "2.7"


def test_a_constant_has_no_more_elements_than_can_be_computed() -> None:
    text = "operator op { @constant { c: int[1000000000] = i, i < 1000000000; } @output { y: real[]; } }"
    assert "the limit is 1048576" in refusal(text).message


def test_a_large_uniform_constant_takes_no_memory() -> None:
    text = "operator op { @constant { c: real[1000000,1000000] = 1.0; } @output { y: real[]; } }"
    found = operation(text).constants["c"]
    assert isinstance(found, Tensor)
    assert found.value is not None
    assert found.value.strides == (0, 0)


GRAPH = """
operator block {
    @input { x: real[b,c,s..]; }
    @output { y: real[b,c,s..]; }
    @variable { w: real[c,c,3,3]; }
    @compose { t = conv{padding=1}(x, w); y = scale(t, 2.0); }
}
graph main {
    @attrib { n: int = 2; }
    @input { x: real[n,3,~|24,~|24]; }
    @variable { v: real[4,3,1,1]; }
    @output { y: real; z: real[n,4,24,24]; }
    @compose { a = block(x); y = b: block(a); z = conv(y, v); }
}
"""


def test_a_graph_keeps_the_structure_of_its_text() -> None:
    """Chapter 3."""
    model = graph(GRAPH)
    assert model.name == "main"
    assert [(one.name, one.label) for one in operations(model.root.body)] == [
        ("main.block", "a"), ("main.conv", "a.t"), ("main.scale", "a.y"),
        ("main.block", "b"), ("main.conv", "b.t"), ("main.scale", "b.y"), ("main.conv", "z"),
    ]  # fmt: skip
    assert model.root.body is not None
    assert model.root.body.results == tuple(model.root.outputs.values())
    assert [one.kind for one in tensors_of(model.root.outputs["y"])] == ["output"]


def test_names_of_tensors_are_unique() -> None:
    model = graph(GRAPH)
    found = [one for operation in operations(model.root.body) for one in operation.outputs.values()]
    all_names = [one.name for argument in found for one in tensors_of(argument)]
    assert len(set(all_names)) == len(all_names)


def test_variables_are_asked_for_by_their_scoped_names() -> None:
    """Section 2.10: labels are explicit, or the name of the result."""
    asked = []

    def weights(name: str, shape: tuple[int, ...], type: str) -> Array:
        asked.append((name, shape, type))
        return np.zeros(shape, np.float32)

    library = Library({"main": CONV + "operator scale { @input { x: real[s..]; f: real[]; }"
                       " @output { y: real[s..]; } }" + GRAPH})  # fmt: skip
    model = compose(library, weights=weights)
    assert asked == [
        ("v", (4, 3, 1, 1), "real"), ("a.w", (3, 3, 3, 3), "real"), ("b.w", (3, 3, 3, 3), "real"),
    ]  # fmt: skip
    (found,) = tensors_of(model.root.variables["v"])
    assert found.value is not None


def test_attributes_and_types_come_from_outside() -> None:
    model = graph(GRAPH, n=5)
    (found,) = tensors_of(model.root.inputs["x"])
    assert found.shape == (5, 3, 24, 24)


def test_a_number_is_a_constant_of_rank_0() -> None:
    """Section 2.10."""
    (step,) = steps(
        "graph main { @input { x: real[3]; } @output { y: real[3]; } @compose { y = scale(x, 2.5); } }"
    )
    (found,) = tensors_of(step.inputs["factor"])
    assert (found.kind, found.shape) == ("constant", ())
    assert found.value == 2.5


def test_an_input_that_is_left_out_has_its_default_value() -> None:
    """Section 2.6."""
    (step,) = steps(
        "graph main { @input { x: real[3]; } @output { y: real[3]; } @compose { y = scale(x); } }"
    )
    (found,) = tensors_of(step.inputs["factor"])
    assert found.value == 1.0


def test_default_values_of_inputs_know_attributes_and_shapes() -> None:
    """Section 2.6."""
    text = """operator op { @attrib { k: real; } @input { x: real[n]; s: real[] = k; t: real[n,2] = 2.0 * k; }
        @output { y: real[n]; } }"""
    made = operation(text, {"x": tensor(3)}, k=2.5)
    found = [one for name in "st" for one in tensors_of(made.inputs[name])]
    assert [one.shape for one in found] == [(), (3, 2)]
    assert [np.asarray(one.value).tolist() for one in found] == [2.5, [[5.0, 5.0]] * 3]


def test_packs_stand_on_both_sides() -> None:
    """Section 2.10."""
    first, second, third = steps("""graph main { @input { x: real[6,2]; } @output { y: real[4,2]; z: real; }
        @compose { [a, b..(2)] = split{n=3}(x); y = join([b[0], a]); z = join([b.., a, x]); } }""")
    assert names(first) == ["a", "b.0", "b.1"]
    assert [one.name for one in tensors_of(second.inputs["xs"])] == ["b.0", "a"]
    assert [one.name for one in tensors_of(third.inputs["xs"])] == ["b.0", "b.1", "a", "x"]
    assert shapes(third) == [(12, 2)]


def test_results_that_are_not_needed_have_no_name() -> None:
    """Section 2.10."""
    _, step = steps("""operator two { @input { x: real[n]; } @output { p: real[n]; q: real[]; } }
        graph main { @input { x: real[6]; } @output { y: real; } 
        @compose { z = add(x, x); ~, y = two(z); } }""")
    assert names(step) == ["two.p", "y"]


def test_the_scope_of_an_operator_that_is_one_invocation_has_no_component_of_its_own() -> None:
    """Section 2.10, the first rule of labels."""
    text = """
    operator inner { @input { x: real[n]; } @output { y: real[n]; } @variable { w: real[n]; }
        @compose { y = add(x, w); } }
    operator outer { @input { x: real[n]; } @output { y: real[n]; } @compose { y = inner(x); } }
    graph main { @input { x: real[6]; } @output { y: real; z: real; }
        @compose { y = outer(x); z = other: outer(y); } }"""
    labels = {one.name: one.label for one in operations(graph(text).root.body)}
    variables = [v for one in operations(graph(text).root.body) for v in one.variables.values()]
    assert [one.name for argument in variables for one in tensors_of(argument)] == ["y.w", "other.w"]
    assert labels["main.inner"] == "other"


def test_a_condition_that_is_known_chooses_what_is_invoked() -> None:
    """Section 2.10.1."""
    text = """graph main { @attrib { n: int = 1; } @input { x: real[2]; } @output { y: real; }
        @compose { a = if n > 1 then add(x, x) elif n == 1 then scale(x, 3.0) else x;
                   y = n == 1 ? a : x; } }"""
    model = graph(text)
    assert [one.name for one in operations(model.root.body)] == ["main.scale"]
    assert names(steps(text)[0]) == ["a"]
    assert [one.name for one in operations(graph(text, n=2).root.body)] == ["main.add"]
    root = graph(text, n=0).root
    assert root.outputs["y"] is root.inputs["x"]


def test_null_chooses_too() -> None:
    """Section 2.10.1: `??` and `?x` look at what was left out."""
    text = """
    operator op { @input { x: real[n]; bias: optional real[n]; } @output { y: real[n]; }
        @compose { b = bias ?? x; y = if ?bias then add(x, bias) else scale(b, 2.0); } }
    graph main { @input { x: real[2]; } @output { y: real; z: real; }
        @compose { y = op(x); z = op(x, y); } }"""
    assert [one.name for one in operations(graph(text).root.body)] == [
        "main.op", "main.scale", "main.op", "main.add",
    ]  # fmt: skip


INVALID = [
    ("y = ad(x, x);", "module `main` has no operator `ad`", "2.10"),
    ("y = math.add(x, x);", "no module `math` is imported", "2.15"),
    ("y = add(x);", "the input `y` of `add` is not given", "2.10"),
    ("y = add(x, x, x);", "`add` takes 2 inputs, not 3", "2.10"),
    ("y = add(x, w);", "main.add: extent 0 of `y` is 3, but `s` is 6", "2.6"),
    ("y = add{a=1}(x, x);", "`add` has no attribute `a`", "2.10"),
    ("a, y = add(x, x);", "1 results go to 2 names", "2.10"),
    ("a = add(x, x);", "the output `y` is not assigned", "2.10"),
    ("y = add(x, x); y = add(x, x);", "`y` has a tensor already", "2.10"),
    ("[a, y] = split{n=3}(x);", "a list of 3 items goes to 2 places", "2.9"),
    ("ys..(2) = split{n=3}(x); y = x;", "`ys` has 3 tensors, but its length is said to be 2", "2.10"),
    ("y = x + x;", "tensors are computed by operators", "2.10"),
    ("y = add(x, nothing);", "there is no `nothing` here", "2.4"),
    ("a = l: add(x, x); y = l: add(x, x);", "the label `l` is taken", "2.10"),
    ("y = add<real, int>(x, x);", "`add` has 1 generic types, not 2", "2.13"),
    ("y = add(x, 1);", "`y` of `add` is real, not int", "2.13"),
    ("y = w;", "the output `y` is real[6], but real[3] is computed", "2.10"),
]


@pytest.mark.parametrize(("compose", "message", "section"), INVALID)
def test_what_cannot_be_composed_is_refused(compose: str, message: str, section: str) -> None:
    head = "graph main { @input { x: real[6]; w: real[3]; } @output { y: real[6]; }"
    found = graph_refusal(f"{head} @compose {{ {compose} }} }}")
    assert message in found.message
    assert found.section == section


def test_a_fault_within_an_operator_tells_where_it_was_called() -> None:
    found = graph_refusal("""operator op { @attrib { n: int; } @using { a = 1 / n; } @output { y: real[a]; } }
        graph main { @output { y: real[2]; } @compose { y = op{n=0}(); } }""")
    assert "divides by zero" in found.message


def test_an_operator_that_calls_itself_is_refused() -> None:
    found = graph_refusal("""operator op { @output { y: real[2]; } @compose { y = op(); } }
        graph main { @output { y: real[2]; } @compose { y = op(); } }""")
    assert "calls itself" in found.message


def test_modules_are_imported_by_their_names() -> None:
    """Section 2.15."""
    inner = "operator op { @output { y: real[2]; } }"
    text = "import layers.inner; graph main { @output { y: real[2]; } @compose { y = layers.inner.op(); } }"
    model = compose(Library({"main": text, "layers.inner": inner}))
    assert [one.name for one in operations(model.root.body)] == ["layers.inner.op"]


def test_the_first_graph_is_meant_where_none_is_named() -> None:
    """Section 2.15."""
    library = Library({"main": "graph a { @output { y: real; } @compose { y = 1.0; } }"
                       " graph b { @output { y: real; } @compose { y = 2.0; } }"})  # fmt: skip
    assert compose(library).name == "a"
    assert compose(library, "b").name == "b"
