"""Images in another size, and blocks of images that become channels or batches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from tosajit import ops
from tosajit.dtypes import FP32
from tosajit.frontends.common.blocks import batch_to_space, depth_to_space, space_to_batch, space_to_depth
from tosajit.frontends.common.borders import padded
from tosajit.frontends.common.images import bilinear_image, exactly, nearest_image
from tosajit.frontends.common.layout import sliced, small
from tosajit.frontends.frame import Refused
from tosajit.frontends.frame.attributes import Attributes
from tosajit.frontends.tensorflow.images import Images
from tosajit.frontends.tensorflow.node import Node
from tosajit.frontends.tensorflow.operators import MOVED, NUMBERS, operator
from tosajit.tracing.tensor import Tensor


@dataclass(frozen=True, slots=True)
class ResizeAttributes(Attributes):
    """Where outputs are between inputs."""

    align_corners: bool = False
    half_pixel_centers: bool = False


@operator("ResizeNearestNeighbor", ResizeAttributes, types=f"{NUMBERS} int8 uint8")
def resize_nearest_neighbor(node: Node, options: ResizeAttributes) -> Tensor:
    """Images in another size, each element the nearest one."""
    value = node[0].tensor
    return nearest_image(value, _extents(node), options.align_corners, options.half_pixel_centers)


@operator("ResizeBilinear", ResizeAttributes, types=f"{NUMBERS} uint8")
def resize_bilinear(node: Node, options: ResizeAttributes) -> Tensor:
    """Images in another size, each element between four ones: real numbers, whatever they were."""
    if options.align_corners and options.half_pixel_centers:
        raise Refused("it has both aligned corners and centres at half pixels, which exclude each other")
    value = node[0].tensor if node[0].dtype is FP32 else ops.cast(node[0].tensor, dtype=FP32)
    exact = [
        exactly(*one, options.align_corners, options.half_pixel_centers).reduced for one in _extents(node)
    ]
    return value if all(one.identical for one in exact) else bilinear_image(value, exact)


def _extents(node: Node) -> list[tuple[int, int]]:
    """The heights, and the widths, of the images before and after."""
    shape, size = node[0].shape, node[1].ints
    if len(shape) != 4 or len(size) != 2 or min(size) < 1:
        raise Refused(
            f"it makes {list(shape)} {list(size)} large, but must make 4 dimensions 2 extents large"
        )
    if not small(size[:1]) or not small(size[1:]):
        raise Refused(f"it makes images {list(size)} large, which are more places than a dimension may have")
    return list(zip(shape[1:3], size, strict=True))


@dataclass(frozen=True, slots=True)
class BlockAttributes(Attributes):
    """The extent of blocks, and where channels are."""

    block_size: int
    data_format: str = "NHWC"


@operator("SpaceToDepth", BlockAttributes, types=MOVED)
def to_depth(node: Node, options: BlockAttributes) -> Tensor:
    """Square blocks of images as the channels of smaller ones."""
    images = Images.of(node[0].tensor, options.data_format)
    _divisible(images.value.shape[1:3], (options.block_size,) * 2)
    return images.back(space_to_depth(images.value, options.block_size))


@operator("DepthToSpace", BlockAttributes, types=MOVED)
def from_depth(node: Node, options: BlockAttributes) -> Tensor:
    """Channels as square blocks of larger images."""
    images = Images.of(node[0].tensor, options.data_format)
    _divisible(images.value.shape[3:], (options.block_size**2,))
    return images.back(depth_to_space(images.value, options.block_size))


@operator("SpaceToBatchND", types=MOVED)
def to_batch(node: Node) -> Tensor:
    """Blocks of images, after a border of zeros, as more images."""
    blocks = node[1].ints
    inner = [(0, 0)] * (node[0].rank - 1 - len(blocks))
    value = padded(node[0].tensor, [(0, 0), *_pairs(node[2].ints), *inner])
    _divisible(value.shape[1:], blocks)
    return space_to_batch(value, blocks)


@operator("BatchToSpaceND", types=MOVED)
def from_batch(node: Node) -> Tensor:
    """Images as blocks of larger ones, less a border."""
    blocks = node[1].ints
    _divisible(node[0].shape, (prod(blocks),))
    value = batch_to_space(node[0].tensor, blocks)
    start, size = [0] * value.ndim, list(value.shape)
    for axis, crop in enumerate(_pairs(node[2].ints), 1):
        start[axis], size[axis] = crop[0], size[axis] - sum(crop)
    return sliced(value, start, size)


def _pairs(numbers: Sequence[int]) -> list[tuple[int, int]]:
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def _divisible(extents: Sequence[int], blocks: Sequence[int]) -> None:
    """Refuse blocks that do not fill the extents."""
    for extent, block in zip(extents, blocks, strict=False):
        if block < 1 or extent % block:
            raise Refused(f"its extent {extent} does not consist of blocks of {block}")
