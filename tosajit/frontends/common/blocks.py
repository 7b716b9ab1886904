"""Blocks of images that become channels or batches, and back."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tosajit.frontends.common.layout import reshaped, transposed
from tosajit.tracing.tensor import Tensor


def space_to_depth(value: Tensor, block: int) -> Tensor:
    """Square blocks of images as the channels of smaller ones."""
    count, height, width, channels = value.shape
    rows = reshaped(value, (count * height // block, block, width // block, block * channels))
    turned = transposed(rows, (0, 2, 1, 3))
    return reshaped(turned, (count, height // block, width // block, block * block * channels))


def depth_to_space(value: Tensor, block: int) -> Tensor:
    """Channels as square blocks of larger images: the opposite of `space_to_depth`."""
    count, height, width, channels = value.shape
    depth = channels // (block * block)
    rows = reshaped(value, (count * height, width, block, block * depth))
    turned = transposed(rows, (0, 2, 1, 3))
    return reshaped(turned, (count, height * block, width * block, depth))


def space_to_batch(value: Tensor, blocks: Sequence[int]) -> Tensor:
    """Blocks along the dimensions behind the first as more of that one, which varies slowest over a block."""
    count, inner = value.shape[0], value.shape[len(blocks) + 1 :]
    extents = [extent // block for extent, block in zip(value.shape[1:], blocks, strict=False)]
    pairs = [one for extent, block in zip(extents, blocks, strict=True) for one in (extent, block)]
    split = reshaped(value, (count, *pairs, *inner))
    outer, places = range(2, 2 * len(blocks) + 1, 2), range(1, 2 * len(blocks), 2)
    rest = range(2 * len(blocks) + 1, split.ndim)
    return reshaped(transposed(split, (*outer, 0, *places, *rest)), (prod(blocks) * count, *extents, *inner))


def batch_to_space(value: Tensor, blocks: Sequence[int]) -> Tensor:
    """The first dimension as blocks along those behind it: the opposite of `space_to_batch`."""
    size = len(blocks)
    count, extents, inner = value.shape[0] // prod(blocks), value.shape[1 : size + 1], value.shape[size + 1 :]
    split = reshaped(value, (*blocks, count, *extents, *inner))
    pairs = [place for number in range(size) for place in (size + 1 + number, number)]
    turned = transposed(split, (size, *pairs, *range(2 * size + 1, split.ndim)))
    grown = [extent * block for extent, block in zip(extents, blocks, strict=True)]
    return reshaped(turned, (count, *grown, *inner))
