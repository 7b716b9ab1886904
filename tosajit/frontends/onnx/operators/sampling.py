"""Images sampled on grids of places, and such grids."""

from __future__ import annotations

import numpy as np

from tiling.records import dataclass
from tosajit import ops
from tosajit.frontends.common.layout import reshaped, small, transposed
from tosajit.frontends.common.matrices import multiplied
from tosajit.frontends.common.sampled import on_grid
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
    mode = _MODES.get(options.mode, options.mode)
    return on_grid(node[0].tensor, node[1].tensor, mode, options.padding_mode, options.align_corners)


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
