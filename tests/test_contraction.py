"""Contractions as the host's kernels and the costs of NPUs see them."""

from __future__ import annotations

from math import prod

from hypothesis import assume, given

from sim.cost.geometry import geometry
from tests.planning.contractions import Drawn, contractions
from tosajit.host.match import match


def as_lowered(drawn: Drawn) -> bool:
    """Whether axes of positions are in the order in which operators have them."""
    names = [axis.name for axis in drawn.nest.axes]
    return [name for name in names if name in "nyx"] == [name for name in "nyx" if name in names]


@given(contractions())
def test_the_host_and_the_costs_of_npus_see_one_contraction(drawn: Drawn) -> None:
    assume(as_lowered(drawn))
    found, seen = match(drawn.nest), geometry(drawn.nest, drawn.nest.extents)
    assume(found is not None)
    assert found is not None
    assert seen is not None
    shape, extents = found.geometry, drawn.nest.extents
    groups = prod(extents[axis] for axis in found.batch)
    assert {found.left.read, found.right.read} == {seen.data, seen.weights}
    depth = prod(shape.kernel) if found.depthwise else shape.depth
    assert groups * shape.positions * shape.out_channels * depth == seen.macs == prod(extents)
    assert found.depthwise <= (seen.kind == "depthwise")


@given(contractions())
def test_both_see_the_same_window(drawn: Drawn) -> None:
    names = {axis.name for axis in drawn.nest.axes}
    assume(as_lowered(drawn) and drawn.channels_last and not drawn.flat and set("yxvu") <= names)
    found, seen = match(drawn.nest), geometry(drawn.nest, drawn.nest.extents)
    assume(found is not None)
    assert found is not None
    assert seen is not None
    shape, lines = found.geometry, (drawn.lines["y"], drawn.lines["x"])
    assert shape.kernel[1:] == seen.kernel == tuple(line.taps for line in lines)
    assert shape.stride[1:] == seen.stride == tuple(line.stride for line in lines)
    assert shape.dilation[1:] == seen.dilation == tuple(line.dilation for line in lines)
    assert shape.pad[1:] == tuple(line.padding for line in lines)
