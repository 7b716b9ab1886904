"""A convolution with dilation in parts without: each meets pixels that are as far apart as its taps."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from math import prod

from tiling.nest import along, with_axes
from tiling.records import replace
from tosajit.host.unit import Request

MOST = 16
"""Parts that are few: each is a section of its own."""


def phases(request: Request) -> list[Request]:
    """The parts of a convolution, or itself if it has no dilation, or if they would be many."""
    shape, places, axes = request.match.geometry, request.match.places[1:], request.group.axes
    taps = zip(places, shape.kernel, shape.dilation, strict=True)
    gaps = {place: gap for place, size, gap in taps if place is not None and size > 1 < gap}
    if not gaps or shape.stride != (1, 1, 1) or prod(gaps.values()) > MOST:
        return [request]
    firsts = product(*(range(min(gap, axes[place].extent)) for place, gap in gaps.items()))
    return [_phase(request, gaps, dict(zip(gaps, first, strict=True))) for first in firsts]


def _phase(request: Request, gaps: Mapping[int, int], firsts: Mapping[int, int]) -> Request:
    """Results that are so many apart along some axes, from these on."""
    group, found = request.group, request.match
    shape, count = found.geometry, len(group.axes)
    extents = [-(-(a.extent - firsts.get(n, 0)) // gaps.get(n, 1)) for n, a in enumerate(group.axes)]
    axes = tuple(replace(axis, extent=extent) for axis, extent in zip(group.axes, extents, strict=True))
    part = with_axes(group, axes, [along(n, count, gaps.get(n, 1), firsts.get(n, 0)) for n in range(count)])
    input, output, strides = list(shape.input), list(shape.output), list(found.strides)
    pad, dilation = list(shape.pad), list(shape.dilation)
    for side, place in enumerate(found.places[1:]):
        if place is not None and place in gaps:
            ahead, inside = divmod(firsts[place] - pad[side], gaps[place])
            input[side + 1] = max(0, -(-(input[side + 1] - inside) // gaps[place]))
            output[side + 1], strides[side + 1] = extents[place], strides[side + 1] * gaps[place]
            pad[side], dilation[side] = -ahead, 1
    sides = {"input": tuple(input), "output": tuple(output), "pad": tuple(pad), "dilation": tuple(dilation)}
    geometry = replace(shape, **sides)  # type: ignore[arg-type]
    apart = replace(found, geometry=geometry, strides=tuple(strides))  # type: ignore[arg-type]
    return replace(request, group=part, match=apart)
