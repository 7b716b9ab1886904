"""Sums of two scaled bytes as one product of each byte: every pair gets what the scalings give."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tosajit as tj
from tiling.expr import walk
from tosajit import ops
from tosajit.arrays import Array
from tosajit.host import sums
from tosajit.host.ranges import apply_scale
from tosajit.host.scale import scale_of
from tosajit.host.sums import BYTES, Plane, plane_of

MULTIPLIERS = st.integers(1 << 30, (1 << 31) - 1)


def exact(
    first: Array, second: Array, multiplier: int, shift: int, double: bool, zero: int
) -> list[list[int]]:
    """All sums by the specification's scaling."""
    return [[apply_scale(int(a + b), multiplier, shift, double) + zero for b in second] for a in first]


def of(plane: Plane) -> Array:
    """All sums by the plane, in 32 bits."""
    with np.errstate(over="ignore"):
        a, b = BYTES.astype(np.int32)[:, None], BYTES.astype(np.int32)
        total = a * np.int32(plane.first) + b * np.int32(plane.second) + np.int32(plane.addend)
    return total >> plane.shift


def term(zero: int, multiplier: int, shift: int) -> Array:
    """What each byte adds, as TFLite's ADD scales it."""
    return np.array([apply_scale(int(x - zero) << 20, multiplier, shift, True) for x in BYTES])


@settings(max_examples=15, deadline=None)
@given(
    multipliers=st.tuples(MULTIPLIERS, MULTIPLIERS, MULTIPLIERS),
    shifts=st.tuples(st.integers(31, 34), st.integers(31, 34), st.integers(48, 52)),
    zeros=st.tuples(*[st.integers(-128, 127)] * 3),
    double=st.booleans(),
    sign=st.sampled_from((1, -1)),
)
def test_a_plane_gives_what_the_scalings_give_for_every_pair(
    multipliers: tuple[int, ...], shifts: tuple[int, ...], zeros: tuple[int, ...], double: bool, sign: int
) -> None:
    a, b = (term(zeros[n], multipliers[n], shifts[n]) for n in range(2))
    b *= sign
    plane = plane_of(a, b, scale_of(multipliers[2], shifts[2], double, zeros[2], 0))
    if plane is not None:
        np.testing.assert_array_equal(of(plane), exact(a, b, multipliers[2], shifts[2], double, zeros[2]))


def test_a_residual_sum_has_a_plane() -> None:
    a, b = term(-4, 1073741824, 31), term(3, 1518500250, 32)
    scale = scale_of(1610612736, 50, True, -11, 0)
    plane = plane_of(a, b, scale)
    assert plane is not None
    np.testing.assert_array_equal(of(plane), exact(a, b, 1610612736, 50, True, -11))


def test_a_plane_is_the_same_whether_few_pairs_are_looked_at_or_all(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for many in (0, sums.MANY, BYTES.size**2):
        monkeypatch.setattr(sums, "MANY", many)
        sums._plane.cache_clear()
        found.append(
            [
                plane_of(term(-4, 1073741824, 31), term(3, 1518500250, 32), scale)
                for scale in (scale_of(1610612736, 50, True, -11, 0), scale_of(1 << 30, 50, False, 0, 0))
            ]
            + [plane_of(BYTES, -3 * BYTES, scale_of(1 << 30, 33, False, 7, 0))]
        )
    assert found[0] == found[1] == found[2]
    assert None not in found[0]


@pytest.mark.parametrize(
    ("first", "second"), [(np.where(BYTES < 0, 0, BYTES << 20), BYTES << 20), (BYTES << 24, BYTES << 24)]
)
def test_what_is_no_plane_or_could_wrap_has_none(first: Array, second: Array) -> None:
    assert plane_of(first, second, scale_of(1 << 30, 50, True, 0, 0)) is None


@pytest.mark.parametrize("combine", [ops.add, ops.sub])
def test_sums_and_differences_of_bytes_are_one_product_of_each(combine: Any) -> None:
    def scaled_three_times(x: Any, y: Any) -> Any:
        first = ops.rescale(x, [1 << 30], [11], [-4], dtype=tj.INT32)
        second = ops.rescale(y, [1518500250], [12], [3], dtype=tj.INT32)
        return ops.rescale(combine(first, second), [1610612736], [50], output_zp=[-11], dtype=tj.INT8)

    pairs = [side.reshape(-1).astype(np.int8) for side in np.meshgrid(BYTES, BYTES)]
    graph = tj.trace(scaled_three_times, *pairs)
    made = tj.compile(graph)
    (nest,) = made.stages["simplify"].values["main"].nests
    assert sum(node.scalar.family == "multiply" for node in walk(nest.writes[0].value)) == 2
    np.testing.assert_array_equal(made(*pairs), tj.compile(graph, interpret=True)(*pairs))
