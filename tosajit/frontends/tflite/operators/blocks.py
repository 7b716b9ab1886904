"""Blocks of images that become channels or batches, and back."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tosajit.frontends.common.blocks import batch_to_space, depth_to_space, space_to_batch, space_to_depth
from tosajit.frontends.common.borders import padded
from tosajit.frontends.common.layout import sliced
from tosajit.frontends.frame import Refused
from tosajit.frontends.tflite.node import Node
from tosajit.frontends.tflite.operators import operator
from tosajit.frontends.tflite.operators.padding import borders_of
from tosajit.frontends.tflite.options import BlockOptions
from tosajit.tracing.tensor import Tensor

_MOVED = "float32 float16 int8 uint8 int16 int32 int64 bool"


@operator("SPACE_TO_DEPTH", BlockOptions, types="float32 int8 uint8 int32 int64", versions=3)
def to_depth(node: Node, options: BlockOptions) -> Tensor:
    """Square blocks of images as the channels of smaller ones."""
    _divisible(node[0].shape[1:3], (options.block_size,) * 2)
    return space_to_depth(node[0].tensor, options.block_size)


@operator("DEPTH_TO_SPACE", BlockOptions, types="float32 int8 uint8 int32 int64", versions=3)
def from_depth(node: Node, options: BlockOptions) -> Tensor:
    """Channels as square blocks of larger images."""
    _divisible(node[0].shape[3:], (options.block_size**2,))
    return depth_to_space(node[0].tensor, options.block_size)


@operator("SPACE_TO_BATCH_ND", types=_MOVED, versions=4)
def to_batch(node: Node) -> Tensor:
    """Blocks of images, after a border of zeros, as more images."""
    blocks = node[1].ints
    zero = node.result.zero_point if node.result.quantized else 0
    inner = [(0, 0)] * (node[0].rank - 1 - len(blocks))
    value = padded(node[0].tensor, [(0, 0), *borders_of(node[2], len(blocks)), *inner], zero)
    _divisible(value.shape[1:], blocks)
    return space_to_batch(value, blocks)


@operator("BATCH_TO_SPACE_ND", types=_MOVED, versions=4)
def from_batch(node: Node) -> Tensor:
    """Images as blocks of larger ones, less a border."""
    blocks, crops = node[1].ints, borders_of(node[2], len(node[1].ints))
    _divisible(node[0].shape, (prod(blocks),))
    value = batch_to_space(node[0].tensor, blocks)
    start, size = [0] * value.ndim, list(value.shape)
    for axis, crop in enumerate(crops, 1):
        start[axis], size[axis] = crop[0], size[axis] - sum(crop)
    return sliced(value, start, size)


def _divisible(extents: Sequence[int], blocks: Sequence[int]) -> None:
    """Refuse blocks that do not fill the extents."""
    for extent, block in zip(extents, blocks, strict=False):
        if block < 1 or extent % block:
            raise Refused(f"its extent {extent} does not consist of blocks of {block}")
