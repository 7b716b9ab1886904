"""Shapes that are open until a model is loaded, or until data are there (NNEF 2.0 sections 2.6.1 and 3.1)."""

from __future__ import annotations

import pytest

from tests.nnef.composing import graph, operation
from tosajit.errors import ScriptError
from tosajit.frontends.nnef.compose import Library, compose
from tosajit.frontends.nnef.model import Open, Tensor, tensors_of

FOUND = """operator found { @input { x: real[n,m]; } @output { y: real[k|n,m]; z: int[k|n]; }
    @lower { y[k,j] = x[i,j], i < n, j < m | x[i,0] > 0.0; z[k] = i, i < n | x[i,0] > 0.0; } }
operator twice { @input { x: real[n,m]; } @output { y: real[2 * n,m]; }
    @lower { y[i,j] = 0.0, i < 2 * n, j < m; } }
"""


def inputs(declared: str, **shapes: tuple[int, ...] | list[tuple[int, ...]]) -> list[tuple[object, ...]]:
    text = f"graph main {{ @input {{ {declared} }} @output {{ out: real; }} @compose {{ out = 1.0; }} }}"
    root = compose(Library({"main": text}), shapes=shapes).root
    return [one.shape for argument in root.inputs.values() for one in tensors_of(argument)]


@pytest.mark.parametrize(
    ("declared", "shapes", "expected"),
    [
        ("x: real[s|10];", {}, [(10,)]),
        ("x: real[s|10];", {"x": (4,)}, [(4,)]),
        ("x: real[~|10, 3, ~|20];", {}, [(10, 3, 20)]),
        ("x: real[s|10 ..(3)];", {}, [(10, 10, 10)]),
        ("x: real[~|10 ..(2), 1];", {}, [(10, 10, 1)]),
        ("x: real[s|10]; y: real[s];", {"x": (4,)}, [(4,), (4,)]),
        ("x: real[s]; y: real[s|10];", {"y": (4,)}, [(4,), (4,)]),
        ("x: real[~];", {"x": (7,)}, [(7,)]),
        ("x: real;", {"x": (7, 2)}, [(7, 2)]),
        ("x: real[~|4]..(2);", {}, [(4,), (4,)]),
        ("x: real[..s]..(2);", {"x": [(4,), (5,)]}, [(4,), (5,)]),
        ("x: optional real[3];", {}, []),
        ("x: optional real[3];", {"x": (3,)}, [(3,)]),
    ],
)
def test_inputs_of_a_graph_are_as_they_are_said_to_be_or_as_their_bounds(
    declared: str, shapes: dict[str, tuple[int, ...]], expected: list[tuple[int, ...]]
) -> None:
    """Section 2.6.1."""
    assert inputs(declared, **shapes) == expected


@pytest.mark.parametrize(
    ("declared", "shapes", "message"),
    [
        ("x: real[s|10];", {"x": (11,)}, "has an extent of 11, but at most 10"),
        ("x: real[s];", {}, 'is open, and has no bound; give its shape: shapes={"x": (…)}'),
        ("x: real;", {}, "the shape of the input `x` is open"),
        ("x: real[s|10];", {"x": (1, 2)}, "`x` has rank 2, not 1"),
        ("x: real[s|10];", {"y": (1,)}, "`main` has no input `y`"),
        ("x: real[s|10]; y: real[s];", {"x": (1,), "y": (2,)}, "extent 0 of `y` is 2, but `s` is 1"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(
    declared: str, shapes: dict[str, tuple[int, ...]], message: str
) -> None:
    """Section 2.6.1."""
    with pytest.raises(ScriptError) as caught:
        inputs(declared, **shapes)
    assert message in str(caught.value)


def test_extents_that_data_decide_have_a_bound() -> None:
    """Section 2.6.1."""
    found = graph(f"""{FOUND} graph main {{ @input {{ x: real[6,2]; }} @output {{ y: real; }}
        @compose {{ y, ~ = found(x); }} }}""")
    assert [one.shape for one in tensors_of(found.root.outputs["y"])] == [(Open(6), 2)]


@pytest.mark.parametrize(
    ("call", "shape"),
    [
        ("scale(a)", (Open(6), 2)),
        ("add(a, a)", (Open(6), 2)),
        ("twice(a)", (Open(12), 2)),
        ("twice(x)", (12, 2)),
        ("join([a, x])", (Open(12), 2)),
    ],
)
def test_what_is_computed_of_them_is_open_too(call: str, shape: tuple[object, ...]) -> None:
    """Section 3.1: as a bound, and only where it depends on data."""
    found = graph(f"""{FOUND} graph main {{ @input {{ x: real[6,2]; }} @output {{ y: real; }}
        @compose {{ a, ~ = found(x); y = {call}; }} }}""")
    assert [one.shape for one in tensors_of(found.root.outputs["y"])] == [shape]


def test_symbols_of_what_data_decide_are_bounds() -> None:
    text = "operator op { @input { x: real[n,m]; } @output { y: real[n]; } }"
    found = operation(text, {"x": Tensor("x", "real", (Open(5), 2))})
    assert (found.symbols["n"], found.symbols["m"]) == (5, 2)
