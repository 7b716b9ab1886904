"""Attributes, types, extents, ranks and lengths get their values (NNEF 2.0 sections 2.5, 2.6 and 2.13)."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.nnef.composing import graph_refusal, operation, refusal, tensor
from tosajit.frontends.nnef.model import Argument, tensors_of
from tosajit.frontends.nnef.values.value import Value

BOUND: list[tuple[str, dict[str, Argument], dict[str, Value], dict[str, Value]]] = [
    ("@input { x: real[m,n]; }", {"x": tensor(2, 3)}, {}, {"m": 2, "n": 3}),
    ("@input { x: real[s..(d)]; }", {"x": tensor(2, 3)}, {}, {"s": (2, 3), "d": 2}),
    ("@input { x: real[s..(d)]; }", {"x": tensor()}, {}, {"s": (), "d": 0}),
    ("@input { x: real^(r)[b,s..,c]; }", {"x": tensor(2, 3, 4)}, {}, {"r": 3, "b": 2, "s": (3,), "c": 4}),
    ("@input { x: real[2 * k + 1]; }", {"x": tensor(7)}, {}, {"k": 3}),
    ("@input { x: real[1 - k]; }", {"x": tensor(1)}, {}, {"k": 0}),
    ("@input { x: real[(k + 1) * 2 - k]; }", {"x": tensor(5)}, {}, {"k": 3}),
    ("@input { x: real[s..(2 * d)]; }", {"x": tensor(1, 2, 3, 4)}, {}, {"d": 2}),
    ("@input { x: real[2 * s..]; }", {"x": tensor(2, 4)}, {}, {"s": (1, 2)}),
    ("@attrib { n: int; } @input { x: real[n / 2]; }", {"x": tensor(2)}, {"n": 5}, {"n": 5}),
    ("@attrib { r: int; } @input { x: real[s..(r),t..]; }", {"x": tensor(1, 2, 3)}, {"r": 1}, {"t": (2, 3)}),
    (
        "@input { x: real[s..(d),t..]; y: real[s..(d)]; }",
        {"x": tensor(1, 2, 3), "y": tensor(1)}, {}, {"s": (1,), "t": (2, 3), "d": 1},
    ),
    (
        "@attrib { r: int; a: optional int; b: int..(d) = 0; c: int = 2 * d + r; }"
        "@input { x: real[s..(r),z..(d),t..]; y: real[s..(r),z..(d)]; }",
        {"x": tensor(1, 2, 3, 4), "y": tensor(1, 2)}, {"r": 1},
        {"s": (1,), "z": (2,), "t": (3, 4), "a": None, "b": (0,), "c": 3},
    ),
    ("@attrib { f: bool; } @input { x: real[s..(f),t]; }",
     {"x": tensor(2, 3)}, {"f": True}, {"s": 2, "t": 3}),
    ("@attrib { f: bool; } @input { x: real[s..(f),t]; }",
     {"x": tensor(3)}, {"f": False}, {"s": None, "t": 3}),
    ("@attrib { f: bool; } @input { x: real[1 ..(f),t]; }", {"x": tensor(1, 3)}, {"f": True}, {"t": 3}),
    ("@attrib { a: optional int; } @input { x: real[a,t]; }", {"x": tensor(4, 3)}, {"a": 4}, {"t": 3}),
    ("@attrib { a: optional int; } @input { x: real[a,t]; }", {"x": tensor(3)}, {}, {"a": None, "t": 3}),
    ("@attrib { t: bool; } @input { x: real[m,n]; y: real[t ? m : n]; }",
     {"x": tensor(4, 3), "y": tensor(4)}, {"t": True}, {"m": 4}),
    ("@input { xs: real[z,..t]..(k); }", {"xs": (tensor(2, 3), tensor(2, 4))}, {},
     {"z": 2, "t": (3, 4), "k": 2}),
    ("@input { xs: real[..t]..(k); ys: real[..t]..(k); }",
     {"xs": (tensor(3), tensor(4)), "ys": (tensor(3), tensor(4))}, {}, {"t": (3, 4)}),
    ("@input { xs: real[..t]..(k); }", {"xs": ()}, {}, {"t": (), "k": 0}),
    ("@input { xs: real[n]..(2 * k); }", {"xs": (tensor(3), tensor(3))}, {}, {"k": 1}),
    ("@input { x: optional real[n,s..(d)]; }", {}, {}, {"n": None, "s": None, "d": None}),
    ("@input { y: optional real[n]; x: real[n]; }", {"x": tensor(5)}, {}, {"n": 5}),
    ("@attrib { axis: int = -1; } @input { x: real^(r)[s..(axis < 0 ? axis + r : axis),z,t..]; }",
     {"x": tensor(1, 2, 3)}, {}, {"s": (1, 2), "z": 3, "t": ()}),
    ("@attrib { rank: int = d; shape: int..(r); } @input { x: real[s..(d)]; }",
     {"x": tensor(1, 2)}, {"shape": (2,)}, {"rank": 2, "r": 1}),
    ("@attrib { r: int; a: int.. = [0:r]; }", {}, {"r": 3}, {"a": (0, 1, 2)}),
    ("@attrib { r: optional int; a: int.. = [0:r]; }", {}, {"a": (7,)}, {"a": (7,), "r": None}),
    ("@attrib { r: int; a: int..(r) = 0; }", {}, {"r": 2}, {"a": (0, 0)}),
    ("@attrib { a: int..(2 * k); b: int..(k) = 1; }", {}, {"a": (1, 2, 3, 4)}, {"k": 2, "b": (1, 1)}),
    ("@attrib { a: optional int..(d); b: int..(d) = 2; } @input { x: real[s..(d)]; }",
     {"x": tensor(3)}, {}, {"a": None, "b": (2,)}),
    ("@attrib { a: int..(f); f: bool; }", {}, {"a": (3,), "f": True}, {"a": (3,)}),
    ("@input { x: real[s..]; } @using { n = x.rank; v = x.shape * ..; }", {"x": tensor(2, 3)}, {},
     {"n": 2, "v": 6}),
    ("@input { xs: real[]..; } @using { n = xs.size; }", {"xs": (tensor(),)}, {}, {"n": 1}),
    ("@input { x: optional real[s..]; } @using { there = ?x; }", {}, {}, {"there": False}),
]  # fmt: skip


@pytest.mark.parametrize(("blocks", "inputs", "attributes", "expected"), BOUND, ids=range(len(BOUND)))
def test_names_get_the_values_that_a_call_gives_them(
    blocks: str, inputs: Mapping[str, Argument], attributes: dict[str, Value], expected: Mapping[str, Value]
) -> None:
    found = operation(f"operator op {{ {blocks} @output {{ y: real[]; }} }}", inputs, attributes).symbols
    assert {name: found[name] for name in expected} == expected


REFUSED: list[tuple[str, dict[str, Argument], dict[str, Value], str, str]] = [
    ("@input { x: real[m,n]; }", {"x": tensor(2)}, {}, "`x` has rank 1, not 2", "2.6"),
    ("@input { x: real[m,s..]; }", {"x": tensor()}, {}, "`x` has rank 0, but takes 1 or more", "2.6"),
    ("@input { x: real[n]; y: real[n]; }", {"x": tensor(2), "y": tensor(3)}, {},
     "extent 0 of `y` is 3, but `n` is 2", "2.6"),
    ("@input { x: real[3]; }", {"x": tensor(2)}, {}, "extent 0 of `x` is 2, not 3", "2.6"),
    ("@input { x: real[2 * k]; }", {"x": tensor(3)}, {}, "extent 0 of `x` is 3, which no `k` gives", "2.6.2"),
    ("@input { x: real[s..(2 * d)]; }", {"x": tensor(3)}, {}, "which no `d` gives", "2.6.2"),
    ("@input { x: real^(r)[s..]; y: real^(r)[t..]; }", {"x": tensor(3), "y": tensor()}, {},
     "`y` has rank 0, but `r` is 1", "2.6"),
    ("@input { x: real[s..,t..]; }",
     {"x": tensor(3)}, {}, "no order of inputs binds the shape of `x`", "2.6.2"),
    ("@attrib { a: int..(d) = 0; } @input { x: real[s..(d),t..]; }", {"x": tensor(3)}, {},
     "no order of inputs binds", "2.6.2"),
    ("@attrib { d: optional int; } @input { x: real[s..(d),t..]; }", {"x": tensor(3)}, {"d": 1},
     "no order of inputs binds", "2.6.2"),
    ("@attrib { d: int = n; } @input { x: real[n,s..(d)]; }", {"x": tensor(1, 3)}, {},
     "no order of inputs binds", "2.6.2"),
    ("@input { x: real[n / 2]; }", {"x": tensor(3)}, {}, "no order of inputs binds", "2.6.2"),
    ("@attrib { a: int; }", {}, {}, "`a` is not given", "2.5"),
    ("@attrib { stride: int = 1; }", {}, {"strode": 2}, "`op` has no attribute `strode`", "2.10"),
    ("@attrib { a: int = 1; }", {}, {"a": (1, 2)}, "`a` is no pack", "2.5"),
    ("@attrib { a: real; }", {}, {"a": 1}, "`a` is real, not int", "2.3"),
    ("@attrib { a: int..; }", {}, {"a": 1}, "one value for a pack whose length nothing tells", "2.6.2"),
    ("@attrib { a: int..(d); b: int..(d); }", {}, {"a": (1, 2), "b": (1,)}, "`b` has 1 items, not 2", "2.6"),
    ("@attrib { r: optional int; a: int.. = [0:r]; }", {}, {}, "its default value is null here", "2.5"),
    ("@attrib { r: int; a: int..(r) = 0; }", {}, {"r": 1 << 40}, "a number up to 1048576", "2.6.2"),
    ("@input { x: real[n]; }", {}, {}, "the input `x` is not given", "2.10"),
    ("@input { x: real[n]; }", {"x": (tensor(2),)}, {}, "one tensor, not a pack of tensors", "2.10"),
    ("@input { x: real[n]..; }", {"x": tensor(2)}, {}, "a pack of tensors, not one tensor", "2.10"),
    ("@input { x: real[n]..; }", {"x": (tensor(2), tensor(3))}, {}, "is 3, but `n` is 2", "2.6"),
    ("@input { x: real[s..]..; }", {"x": (tensor(2), tensor(3, 1))}, {}, "ranks 1 and 2", "2.3"),
    ("@input { xs: real[..t]..; ys: real[..t]..; }", {"xs": (tensor(3),), "ys": (tensor(4),)}, {},
     "is 4, but `t` is 3", "2.6"),
    ("@input { x: int[n]; }", {"x": tensor(2)}, {}, "`x` is int, not real", "2.3"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("blocks", "inputs", "attributes", "message", "section"), REFUSED, ids=range(len(REFUSED))
)
def test_what_does_not_fit_is_refused(
    blocks: str, inputs: Mapping[str, Argument], attributes: dict[str, Value], message: str, section: str
) -> None:
    found = refusal(f"operator op {{ {blocks} @output {{ y: real[]; }} }}", inputs, **attributes)
    assert message in found.message
    assert found.section == section


def test_a_misspelt_attribute_is_suggested() -> None:
    text = "operator op { @attrib { stride: int = 1; } @output { y: real[]; } }"
    assert refusal(text, strode=2).remedy == "did you mean `stride`?"


@given(
    st.integers(-9, 9).filter(bool), st.integers(-20, 20), st.integers(0, 30),
    st.sampled_from(["{a} * k + {b}", "{b} + {a} * k", "k * {a} - ({b} * -1)", "({a} + 1) * k - k + {b}"]),
)  # fmt: skip
def test_affine_extents_give_the_value_that_made_them(a: int, b: int, k: int, form: str) -> None:
    """Section 2.6: from `a * k + b`, `k` is found again."""
    extent = a * k + b
    text = f"operator op {{ @input {{ x: real[{form.format(a=a, b=b)}]; }} @output {{ y: real[]; }} }}"
    if extent >= 0:
        assert operation(text, {"x": tensor(extent)}).symbols["k"] == k


TYPES: list[tuple[str, dict[str, Argument], tuple[str, ...], dict[str, Value], dict[str, str]]] = [
    ("@dtype { T: num; } @input { x: T[]; }", {"x": tensor(type="int")}, (), {}, {"T": "int"}),
    ("@dtype { T: num; } @attrib { a: T; }", {}, (), {"a": 2.0}, {"T": "real"}),
    ("@dtype { T: type; } @attrib { a: T..; }", {}, (), {"a": ("u",)}, {"T": "str"}),
    ("@dtype { T: num; S: type = real; } @attrib { a: T; }", {}, (), {"a": 2}, {"T": "int", "S": "real"}),
    ("@dtype { R: arith; T: arith; } @input { x: T[]; }", {"x": tensor()}, ("bool",), {},
     {"R": "bool", "T": "real"}),
    ("@dtype { T: num; } @input { x: T[]; } @attrib { a: T = T(1); }",
     {"x": tensor()}, (), {}, {"T": "real"}),
    ("@dtype { T: num; } @attrib { a: T = 1; }", {}, (), {}, {"T": "int"}),
]  # fmt: skip


@pytest.mark.parametrize(("blocks", "inputs", "types", "attributes", "expected"), TYPES)
def test_generic_types_are_deduced(
    blocks: str, inputs: Mapping[str, Argument], types: tuple[str, ...], attributes: dict[str, Value],
    expected: Mapping[str, str],
) -> None:  # fmt: skip
    """Section 2.13."""
    text = f"operator op {{ {blocks} @output {{ y: real[]; }} }}"
    assert operation(text, inputs, attributes, types).types == expected


@pytest.mark.parametrize(
    ("blocks", "inputs", "message"),
    [
        ("@dtype { T: num; } @input { x: T[]; }", {"x": tensor(type="bool")}, "may be int or real, not bool"),
        ("@dtype { T: arith; } @input { x: T[]; }",
         {"x": tensor(type="str")}, "int or real or bool, not str"),
        ("@dtype { T: num; }", {}, "nothing tells the type `T` of `op`"),
        ("@dtype { T: num; } @input { x: T[]; y: T[]; }", {"x": tensor(), "y": tensor(type="int")},
         "`y` is real, which `T` stands for, not int"),
    ],
)  # fmt: skip
def test_generic_types_that_do_not_fit_are_refused(
    blocks: str, inputs: Mapping[str, Argument], message: str
) -> None:
    """Section 2.13."""
    found = refusal(f"operator op {{ {blocks} @output {{ y: real[]; }} }}", inputs)
    assert message in found.message
    assert found.section == "2.13"


def test_helper_symbols_of_attributes_say_which_extents_inputs_have() -> None:
    """Section 4.1.5: `space_to_batch` has its channels in front of its extents, or behind them."""
    text = """operator op { @attrib { format: str = 'NCX'; }
        @input { x: T[b, c..(ncx), s..(d), c..(!ncx)]; } @dtype { T: type; }
        @using { ncx = format == 'NCX'; }
        @output { y: T[b, c, s..]; } }"""
    for format in ("NCX", "NXC"):
        shape = (2, 3, 4, 5) if format == "NCX" else (2, 4, 5, 3)
        found = operation(text, {"x": tensor(*shape)}, format=format)
        assert [one.shape for one in tensors_of(found.outputs["y"])] == [(2, 3, 4, 5)]
        assert found.symbols["ncx"] is (format == "NCX")


def test_helper_symbols_of_extents_are_unknown_to_inputs() -> None:
    """Section 2.9."""
    text = "operator op { @input { x: real[n, c..(h)]; } @using { h = n + 1; } @output { y: real[n]; } }"
    main = "graph g { @input { x: real[2]; } @output { y: real; } @compose { y = op(x); } }"
    fault = graph_refusal(f"{text} {main}")
    assert "`h` is declared twice" in fault.message
