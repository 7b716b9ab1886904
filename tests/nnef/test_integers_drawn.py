"""Chains of operators that are drawn with their quantisations are legal graphs, whatever the numbers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tosajit as tj
from tests.nnef.quantizing import Model, Q

STEPS = (
    "nn.relu({a})", "nn.relu{{max=6.0}}({a})", "nn.relu{{alpha=0.3}}({a})", "nn.sigmoid({a})",
    "math.exp({a})", "math.log({a})", "math.rsqrt({a})", "math.tan({a})", "math.add({a}, {b})",
    "math.sub({a}, {b})",
    "math.mul({a}, {b})", "math.mul({a}, 0.37)", "math.div({a}, 3.0)", "math.max({a}, {b})",
    "math.min({a}, 0.5)", "math.sum_n([{a}, {b}, {a}])", "nn.softmax{{axes=[1]}}({a})", "math.pow({a}, 2.0)",
    "math.clamp({a}, -0.25, 3.0)", "nn.linear({a}, k)", "linalg.matmul({a}, {b})", "math.iden({a})",
)  # fmt: skip
SIGNED = st.builds(Q, st.floats(1e-6, 1e4), st.integers(-128, 127), st.sampled_from([5, 8]))
WIDE = st.builds(lambda scale, bits: Q(scale, bits=bits), st.floats(1e-8, 1e2), st.sampled_from([11, 16]))
UNSIGNED = st.builds(
    lambda scale, zero: Q(scale, zero, signed=False), st.floats(1e-6, 1e4), st.integers(0, 255)
)
FORMS = st.one_of(SIGNED, WIDE, UNSIGNED)


@st.composite
def chains(draw: st.DrawFn) -> Model:
    """Some operators, each of what is there before; most results are quantised."""
    lines, said, names = [], {"x": draw(FORMS), "k": draw(SIGNED)}, ["x"]
    for place in range(draw(st.integers(1, 5))):
        name = f"t{place}"
        one, other = (draw(st.sampled_from(names)) for _ in range(2))
        lines.append(f"{name} = {draw(st.sampled_from(STEPS)).format(a=one, b=other)};")
        names.append(name)
        if draw(st.integers(0, 3)):
            said[name] = draw(FORMS)
    lines.append(f"y = math.iden({names[-1]});")
    said["y"] = draw(FORMS)
    return Model(" ".join(lines), {"x": (4, 4)}, said, (4, 4), {"k": (4, 4)}, draw(st.integers(0, 99)))


@settings(max_examples=60, deadline=None)
@given(chains())
def test_drawn_chains_are_legal_graphs_of_integers(model: Model) -> None:
    graph = model.graph()
    assert tj.validate(graph) == ()
    assert graph.outputs[0].dtype in (tj.INT8, tj.INT16)
    said = model.said["y"]
    assert isinstance(said, Q)
    if graph.notes:  # real numbers may be infinite, and no integers
        return
    found = model.run()
    assert said.ends[0] <= found.min()
    assert found.max() <= said.ends[1]


def odd(name: str, said: Mapping[str, object]) -> Model:
    """Rows times weights, one of whose quantisations is odd."""
    kind = "min_max" if "min" in said else "zero_point"
    attributes = ", ".join(f"{key}={value}" for key, value in said.items())
    forms: dict[str, Q | str] = {"x": Q(0.1), "k": Q(0.1), "y": Q(0.1)}
    forms[name] = f"quant.{kind}_linear_quantize{{{attributes}}}"
    return Model("y = nn.linear(x, k);", {"x": (4, 4)}, forms, (4, 4), {"k": (4, 4)})


@pytest.mark.parametrize(
    "said",
    [
        {"zero_point": 10**9, "scale": 0.1, "bits": 8}, {"zero_point": 0, "scale": 1e-300, "bits": 8},
        {"zero_point": 0, "scale": 1e300, "bits": 8}, {"zero_point": 0, "scale": 0.1, "bits": 1},
        {"zero_point": 0, "scale": 0.1, "bits": 40}, {"min": -1e300, "max": 1e300, "bits": 8},
        {"min": 0.0, "max": 0.0, "bits": 8}, {"min": -1.0, "max": 1.0, "bits": 1},
        {"min": [-1.0, -2.0, -3.0, -4.0], "max": 1.0, "bits": 8},
        {"zero_point": [1, 2, 3, 4], "scale": 0.1, "bits": 8},
    ],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("name", ["x", "k", "y"])
def test_odd_quantisations_are_graphs_all_the_same(said: dict[str, object], name: str) -> None:
    graph = odd(name, said).graph()
    assert tj.validate(graph) == ()
    (value,) = graph.inputs
    assert tj.compile(graph)(np.zeros((4, 4), value.dtype.storage)).shape == (4, 4)


@pytest.mark.parametrize("said", [
    {"zero_point": 10**30, "scale": 0.1, "bits": 8}, {"zero_point": 0, "scale": 0.1, "bits": 10**6},
])  # fmt: skip
def test_numbers_that_the_language_does_not_have_are_faults(said: dict[str, object]) -> None:
    with pytest.raises(tj.TosaError, match="64 bits"):
        odd("k", said).graph()
