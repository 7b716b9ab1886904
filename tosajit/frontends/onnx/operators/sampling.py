"""Images sampled on grids of places, and such grids."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from tosajit import ops
from tosajit.frontends.common.layout import part, reshaped, small, transposed
from tosajit.frontends.common.matrices import multiplied
from tosajit.frontends.common.numbers import number
from tosajit.frontends.common.sampled import Side, sampled
from tosajit.frontends.frame import Refused
from tosajit.frontends.frame.attributes import Attributes
from tosajit.frontends.onnx.node import Node
from tosajit.frontends.onnx.operators import operator
from tosajit.tracing.tensor import Tensor

_MODES = {"bilinear": "linear", "bicubic": "cubic"}
"""What modes were called before."""


@dataclass(frozen=True, slots=True)
class GridAttributes(Attributes):
    """How elements are taken from around places, and what is outside."""

    align_corners: bool = False
    mode: str = "linear"
    padding_mode: str = "zeros"


@operator("GridSample", GridAttributes, types="float32")
def grid_sample(node: Node, options: GridAttributes) -> Tensor:
    """The elements of images at places that a tensor has, from -1 to 1."""
    value, grid = node[0].tensor, node[1].tensor
    count, outside = value.ndim - 2, options.padding_mode
    mode = _MODES.get(options.mode, options.mode)
    if not 1 <= count <= 3 or grid.ndim != value.ndim or grid.shape[-1] != count:
        raise Refused(f"its grid {list(grid.shape)} does not fit images of {count} dimensions")
    if outside not in ("zeros", "border", "reflection"):
        raise Refused(f"its padding {outside!r} is not known")
    if mode not in ("nearest", "linear", "cubic"):
        raise Refused(f"its mode {options.mode!r} is not known")
    batch, channels, *extents = value.shape
    wanted = grid.shape[1:-1]
    last = [0, *range(2, value.ndim), 1]
    pixels = reshaped(transposed(value, last), (batch, prod(extents), channels))
    flat = reshaped(grid, (batch, prod(wanted), count))
    places, sides = [], []
    for axis, extent in enumerate(extents):
        place = reshaped(part(flat, 2, count - 1 - axis, 1), (batch, prod(wanted)))
        places.append(_place(place, extent, options.align_corners))
        ends = (0.0, extent - 1.0) if options.align_corners else (-0.5, extent - 0.5)
        sides.append(Side(extent, *ends))
    found = reshaped(sampled(pixels, places, sides, mode, outside), (batch, *wanted, channels))
    return transposed(found, [0, value.ndim - 1, *range(1, value.ndim - 1)])


def _place(place: Tensor, extent: int, aligned: bool) -> Tensor:
    """Places from -1 to 1 in elements."""
    slope, middle = ((extent - 1) / 2 if aligned else extent / 2), (extent - 1) / 2
    return ops.add(ops.mul(place, number(place, slope)), number(place, middle))


@dataclass(frozen=True, slots=True)
class AffineAttributes(Attributes):
    """Whether the first and last places are those of corners."""

    align_corners: bool = False


@operator("AffineGrid", AffineAttributes, types="float32 float16 bfloat16")
def affine_grid(node: Node, options: AffineAttributes) -> Tensor:
    """The places of images that are turned, scaled and moved."""
    theta, size = node[0].tensor, node[1].ints
    extents, count = size[2:], len(size) - 2
    if not small((*extents, count + 1)) or theta.shape != (size[0], count, count + 1):
        raise Refused(f"its matrices {list(theta.shape)} do not make images {list(size)}")
    rows = [
        np.linspace(-1, 1, extent) if options.align_corners
        else (2 * np.arange(extent) + 1) / extent - 1
        for extent in extents
    ]  # fmt: skip
    meshed = np.meshgrid(*rows, indexing="ij")[::-1]
    points = np.stack([*meshed, np.ones(extents)], -1).reshape(1, -1, count + 1)
    turned = transposed(theta, (0, 2, 1))
    found = multiplied(ops.const(points.astype(theta.dtype.storage)), turned)
    return reshaped(found, (size[0], *extents, count))
