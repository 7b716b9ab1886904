"""Blocks of images as columns, and back."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod

import numpy as np

from tosajit import ops
from tosajit.frontends.common.borders import bordered
from tosajit.frontends.common.convolution import Operands, transposed_convolved
from tosajit.frontends.common.layout import joined, reshaped, small, transposed
from tosajit.frontends.common.slices import Range, strided
from tosajit.frontends.frame import Refused
from tosajit.frontends.torch.node import Node, Operand
from tosajit.frontends.torch.operators import MOVED, REAL, operator
from tosajit.frontends.torch.operators.convolution import batched, each, last
from tosajit.tracing.tensor import Tensor


@operator("aten.im2col.default", types=MOVED)
def im2col(
    node: Node,
    self: Operand,
    kernel_size: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    stride: Sequence[int],
) -> Tensor:
    """The blocks of images, one behind the other: a column has the elements of one."""
    image, _ = batched(self.tensor, 2)
    block, gaps, pads, steps = (each(one, 2) for one in (kernel_size, dilation, padding, stride))
    counts = _counts(image.shape[2:], block, gaps, pads, steps)
    if not small(block):
        raise Refused(f"its blocks of {list(block)} are too large")
    wide = bordered(image, [(0, 0), (0, 0), *((one, one) for one in pads)])
    whole = [Range(0, extent) for extent in image.shape[:2]]
    pieces = []
    for place in product(*map(range, block)):
        starts = [one * gap for one, gap in zip(place, gaps, strict=True)]
        ends = zip(starts, counts, steps, strict=True)
        taken = [Range(start, start + (count - 1) * step + 1, step) for start, count, step in ends]
        pieces.append(reshaped(strided(wide, [*whole, *taken]), (*image.shape[:2], 1, prod(counts))))
    return reshaped(joined(pieces, 2), node.shape)


@operator("aten.col2im.default", types=REAL)
def col2im(
    node: Node,
    self: Operand,
    output_size: Sequence[int],
    kernel_size: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    stride: Sequence[int],
) -> Tensor:
    """Images from columns of blocks, whose elements are added where they overlap."""
    block, gaps, pads, steps = (each(one, 2) for one in (kernel_size, dilation, padding, stride))
    size, counts = prod(block), _counts(output_size, block, gaps, pads, steps)
    if not small((size, size)):
        raise Refused(f"its blocks of {list(block)} are too large")
    images = prod(self.shape[:-1]) // size
    columns = transposed(reshaped(self.tensor, (images, size, *counts)), last(4))
    kernels = ops.const(np.eye(size).reshape(size, *block, 1).astype(self.dtype.storage))
    given = Operands(columns, kernels, None, 1, steps, gaps)
    return reshaped(transposed_convolved(given, output_size, pads), node.shape)


def _counts(
    extents: Sequence[int],
    block: Sequence[int],
    gaps: Sequence[int],
    pads: Sequence[int],
    steps: Sequence[int],
) -> list[int]:
    """How many blocks there are along each dimension."""
    each_one = zip(extents, block, gaps, pads, steps, strict=True)
    return [(extent + 2 * pad - (one - 1) * gap - 1) // step + 1 for extent, one, gap, pad, step in each_one]
