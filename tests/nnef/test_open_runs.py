"""Shapes that data decide, in graphs that run (NNEF 2.0 sections 2.6.1, 2.8 and 3.1)."""

from __future__ import annotations

import json

import numpy as np
import pytest

import tosajit as tj
from tests.building import add_all
from tosajit import nnef
from tosajit.arrays import Array
from tosajit.dtypes import FP32, INT32
from tosajit.graph import Graph
from tosajit.operators import CUSTOM
from tosajit.tracing.builder import GraphBuilder

TEXT = """
import layout, math;
operator found {
    @input { x: real[n,m]; }
    @output { y: real[k|n,m]; z: int[k|n]; }
    @lower {
        y[k,:] = x[i,:], i < n | x[i,0] > 0.0;
        z[k] = i, i < n | x[i,0] > 0.0;
    }
}
operator halves {
    @input { x: real[n,m]; }
    @using { h = n / 2; sizes = [n, m]; }
    @assert { n % 2 == 0: "rows come in pairs", n; }
    @output { y: real[h,m]; t: real[]; s: int[2]; }
    @lower {
        y[i,j] = x[2 * i,j] + x[2 * i + 1,j], i < h, j < m;
        t[] = real(n) * 10.0;
        s[i] = sizes[i], i < 2;
    }
}
operator next {
    @input { x: real[n,m]; }
    @output { y: real[n,m]; shape: int[2]; }
    @lower {
        y[i,j] += x[i,j] - x[|i + 1|,j], i < n, j < m;
        shape[i] = x.shape[i], i < 2;
    }
}
operator total {
    @attrib { weight: int..(k) = [n ..(3)]; scale: int = n; }
    @input { x: real[n,m]; y: real[n]; }
    @output { z: real[]; w: int[k]; }
    @lower { z[] += (x[i,j] + y[i]) * real(scale), i < n, j < m; w[i] = weight[i], i < k; }
}
graph main {
    @input { x: real[6,2]; c: bool[]; }
    @output { OUTPUTS }
    @compose { y, z = found(x); COMPOSE }
}
"""
X = np.arange(1, 13, dtype=np.float32).reshape(6, 2)


def graph(outputs: str, compose: str = "") -> Graph:
    return nnef.parse(TEXT.replace("OUTPUTS", outputs).replace("COMPOSE", compose))


def rows(*kept: int) -> Array:
    """Rows of which some begin with positive numbers."""
    return np.where(np.isin(np.arange(6), kept)[:, None], X, -X)


def run(made: Graph, x: Array, c: bool = True) -> list[Array]:
    given = {"x": x, "c": np.array(c)}
    return list(tj.compile(made).run({one.name: given[one.name] for one in made.inputs}).values())


@pytest.mark.parametrize("kept", [(), (3,), (0, 2, 3, 5), tuple(range(6))])
def test_results_leave_a_graph_as_large_as_they_are(kept: tuple[int, ...]) -> None:
    y, z = run(graph("y: real; z: int;"), rows(*kept))
    np.testing.assert_array_equal(y, X[list(kept)])
    np.testing.assert_array_equal(z, kept)
    assert y.shape == (len(kept), 2)


@pytest.mark.parametrize("kept", [(), (0, 2), (0, 2, 3, 5)])
def test_operators_compute_on_what_is_there(kept: tuple[int, ...]) -> None:
    compose = "h, t, s = halves(y); d, e = next(y);"
    made = graph("h: real; t: real; s: int; d: real; e: int;", compose)
    y, n = X[list(kept)], len(kept)
    h, t, s, d, e = run(made, rows(*kept))
    np.testing.assert_array_equal(h, y[::2] + y[1::2])
    assert (float(t), s.tolist(), e.tolist()) == (10.0 * n, [n, 2], [n, 2])
    np.testing.assert_array_equal(d[:-1], y[:-1] - y[1:])
    assert not d[-1:].any(), "the last row has no next one, and what stands behind it in memory is none"


def test_standard_operators_compute_on_what_is_there() -> None:
    compose = "t = layout.transpose{perm=[1, 0]}(y); r = math.min_reduce{axes=[0]}(y);"
    t, r = run(graph("t: real; r: real;", compose), rows(1, 4))
    np.testing.assert_array_equal(t, X[[1, 4]].T)
    np.testing.assert_array_equal(r, X[[1]])


def test_defaults_follow_the_extents() -> None:
    compose = "r = math.sum_reduce{axes=[1]}(y); q = layout.squeeze{axes=[1]}(r); t, w = total(y, q);"
    t, w = run(graph("t: real; w: int;", compose), rows(1, 4))
    y = X[[1, 4]]
    assert (float(t), w.tolist()) == (2 * float((y + y.sum(1, keepdims=True)).sum()), [2, 2, 2])


@pytest.mark.parametrize("c", [True, False])
def test_branches_may_give_other_extents(c: bool) -> None:
    made = graph("b: real; d: real;", "b = if c then y else x; d, ~ = next(b);")
    b, d = run(made, rows(0, 5), c)
    expected = X[[0, 5]] if c else rows(0, 5)
    np.testing.assert_array_equal(b, expected)
    assert d.shape == expected.shape


def test_an_assertion_on_extents_is_checked_when_they_are_known() -> None:
    made = graph("h: real;", "h, ~, ~ = halves(y);")
    with pytest.raises(
        tj.InputError, match=r"h.* \(main.halves\): (.|\n)*rows come in pairs; n = 3"
    ) as caught:
        run(made, rows(0, 1, 2))
    assert "2.8" in str(caught.value)
    assert run(made, rows(0, 1))[0].shape == (1, 2)


def test_extents_that_must_agree_are_checked_when_they_are_known() -> None:
    text = TEXT.replace("OUTPUTS", "t: real;").replace(
        "COMPOSE", "n = math.neg(x); a, b = found(n); r = layout.cast<real>(b); t, ~ = total(y, r);"
    )
    agreed = nnef.parse(text)
    run(agreed, rows(0, 1, 2))
    with pytest.raises(tj.InputError, match="extent 0 of `y` is 4, but `n` is 2"):
        run(agreed, rows(0, 1))


def test_a_file_keeps_what_data_decide() -> None:
    made = graph("y: real; h: real;", "h, ~, ~ = halves(y);")
    again = tj.from_bytes(tj.to_bytes(made))
    for one, other in zip(run(again, rows(2, 3)), run(made, rows(2, 3)), strict=True):
        np.testing.assert_array_equal(one, other)


def test_its_operators_take_time_on_a_machine() -> None:
    assert tj.simulate(graph("h: real;", "h, ~, ~ = halves(y);"), "ethos-u85-256").cycles > 0


def halves(**changed: object) -> Graph:
    """The CUSTOM operator of a call, alone, with other attributes."""
    made = graph("h: real;", "h, ~, ~ = halves(y);")
    (operator,) = (
        one.operator for one in made.nodes if getattr(one.operator, "operator_name", "") == "halves"
    )
    assert isinstance(operator, CUSTOM)
    attributes = {**json.loads(operator.implementation_attrs), **changed}
    custom = CUSTOM(
        operator_name="halves", domain_name="nnef", implementation_attrs=json.dumps(attributes).encode()
    )
    builder = GraphBuilder()
    operands = [builder.input("x", FP32, (6, 2)), builder.input("extents", INT32, (2,))]
    results = [(FP32, (3, 2)), (FP32, ()), (INT32, (2,)), (INT32, (2,))]
    builder.output(*add_all(builder, custom, operands, results))
    return builder.build()


@pytest.mark.parametrize("opened", [[[5]], [[0], [1]], [], [[-1]], [["0"]], 3, [[0, 1]] * 3, [[True]]])
def test_attributes_that_make_no_sense_are_an_error(opened: object) -> None:
    with pytest.raises(tj.CompileError, match="opened"):
        tj.compile(halves(opened=opened))


def test_extents_beyond_their_bounds_are_an_error() -> None:
    call = tj.compile(halves())
    assert call(X, np.array([4, 2], np.int32))[3].tolist() == [2, 2]
    for wrong in ([7, 2], [-1, 2]):
        with pytest.raises(tj.InputError, match="but must be from 0 to 6"):
            call(X, np.array(wrong, np.int32))


def test_loops_carry_no_extents() -> None:
    with pytest.raises(tj.ModelError, match="data decide an extent"):
        graph("b: real;", "b = with s = y do..(3) math.neg(s);")


def suppressed(
    boxes: Array, scores: Array, most: int, limit: float, least: float, centered: bool
) -> list[list[int]]:
    """Batch, class and place, by the definition of ONNX: one candidate after the other."""
    found = []
    for batch, number in np.ndindex(*scores.shape[:2]):
        kept: list[int] = []
        for place in sorted(range(boxes.shape[1]), key=lambda one: -scores[batch, number, one]):
            if scores[batch, number, place] <= least or len(kept) == most:
                continue
            if all(overlap(boxes[batch, place], boxes[batch, one], centered) <= limit for one in kept):
                kept.append(place)
        found += [[batch, number, place] for place in kept]
    return found


def overlap(one: Array, other: Array, centered: bool) -> float:
    sides = []
    areas = [1.0, 1.0]
    for axis in (0, 1):
        ends = []
        for place, box in enumerate((one, other)):
            a, b = float(box[axis]), float(box[axis + 2])
            low, high = (a - b / 2, a + b / 2) if centered else (min(a, b), max(a, b))
            ends.append((low, high))
            areas[place] *= high - low
        sides.append(max(0.0, min(ends[0][1], ends[1][1]) - max(ends[0][0], ends[1][0])))
    common = sides[0] * sides[1]
    return common / (areas[0] + areas[1] - common)


@pytest.mark.parametrize("most", [1, 3, 9])
@pytest.mark.parametrize(("limit", "least"), [(0.0, None), (0.3, None), (0.3, 0.5), (0.3, 2.0)])
@pytest.mark.parametrize("box_format", ["CORNERS", "CENTER"])
def test_boxes_are_suppressed_by_class(most: int, limit: float, least: float | None, box_format: str) -> None:
    """Section 4.7, as ONNX defines it."""
    random = np.random.default_rng(most)
    boxes = random.uniform(0.1, 1, (2, 9, 4)).astype(np.float32)
    scores = random.permutation(2 * 3 * 9).reshape(2, 3, 9).astype(np.float32) / 54
    given = f"max_outputs_per_class={most}, iou_threshold={limit}, box_format='{box_format}'"
    given += "" if least is None else f", score_threshold={least}"
    made = nnef.parse(
        f"""
        import algo, layout;
        graph main {{ @input {{ boxes: real[2, 9, 4]; scores: real[2, 3, 9]; }} @output {{ y: int; z: int; }}
            @compose {{ y = algo.nonmax_suppress{{{given}}}(boxes, scores);
                z = layout.transpose{{perm=[1, 0]}}(y); }} }}"""
    )
    y, z = tj.compile(made)(boxes, scores)
    lowest = -1.0 if least is None else least
    expected = suppressed(boxes, scores, most, limit, lowest, box_format == "CENTER")
    assert y.tolist() == expected
    assert y.shape == (len(expected), 3)
    np.testing.assert_array_equal(z, y.T)
