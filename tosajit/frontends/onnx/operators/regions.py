"""Images sampled at places that other tensors say: regions, and convolutions with offsets."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import product
from math import prod

import numpy as np

from tiling.records import dataclass
from tosajit import ops
from tosajit.dtypes import INT32
from tosajit.frontends.common.layout import part, reshaped, small, transposed
from tosajit.frontends.common.numbers import constant, number
from tosajit.frontends.common.sampled import Side, sampled
from tosajit.frontends.frame import Refused
from tosajit.frontends.frame.attributes import Attributes
from tosajit.frontends.onnx.node import Node
from tosajit.frontends.onnx.operators import operator
from tosajit.frontends.onnx.operators.convolution import ConvAttributes, convolution, each
from tosajit.tracing.tensor import Tensor


@dataclass(frozen=True, slots=True)
class RegionAttributes(Attributes):
    """How many results a region has, from how many samples, and how its corners are counted."""

    coordinate_transformation_mode: str = ""
    mode: str = "avg"
    output_height: int = 1
    output_width: int = 1
    sampling_ratio: int = 0
    spatial_scale: float = 1.0


@dataclass(frozen=True, slots=True)
class _Places:
    """Where samples are along a dimension of an image: two elements beside each, and their shares."""

    indices: tuple[Tensor, Tensor]
    shares: tuple[Tensor, Tensor]


@operator("RoiAlign", RegionAttributes, types="float32")
def roi_align(node: Node, options: RegionAttributes) -> Tensor:
    """Means or maxima of samples between the elements of regions of images."""
    value, regions = node[0].tensor, node[1].tensor
    batch, channels, *extents = value.shape
    wanted, samples = (options.output_height, options.output_width), options.sampling_ratio
    if samples <= 0:
        raise Refused("how many samples it takes depends on its regions", "export it with a sampling_ratio")
    if options.mode not in ("avg", "max"):
        raise Refused(f"its mode {options.mode!r} is not known")
    counts = [one * samples for one in wanted]
    if min(wanted) < 1 or not small(counts):
        raise Refused(f"its {counts} samples are none or too many")
    pixels = reshaped(transposed(value, (0, 2, 3, 1)), (1, batch * prod(extents), channels))
    is_half = options.coordinate_transformation_mode == "half_pixel"
    is_half = is_half or (not options.coordinate_transformation_mode and node.opset >= 16)
    sides = [
        _side(regions, axis, extents[axis], wanted[axis], counts[axis], options.spatial_scale, is_half)
        for axis in range(2)
    ]
    batches = node[2].tensor
    batches = batches if batches.dtype is INT32 else ops.cast(batches, dtype=INT32)
    start = ops.mul(reshaped(batches, (-1, 1, 1)), np.full((1, 1, 1), prod(extents), np.int32))
    terms = []
    for row, column in product(range(2), range(2)):
        line = ops.mul(sides[0].indices[row], np.full((1, 1, 1), extents[1], np.int32))
        index = ops.add(ops.add(start, line), sides[1].indices[column])
        found = reshaped(ops.gather(pixels, reshaped(index, (1, -1))), (*index.shape, channels))
        share = ops.mul(sides[0].shares[row], sides[1].shares[column])
        terms.append(ops.mul(found, reshaped(share, (*share.shape, 1))))
    return _gathered(terms, wanted, samples, options.mode)


def _side(
    regions: Tensor, axis: int, extent: int, wanted: int, count: int, scale: float, is_half: bool
) -> _Places:
    """Samples along the height or the width of each region."""
    first, last = (
        ops.mul(part(regions, 1, column, 1), number(regions, scale)) for column in (1 - axis, 3 - axis)
    )
    size = ops.sub(last, first)
    if is_half:
        first = ops.sub(first, number(first, 0.5))
    else:
        size = ops.maximum(size, number(size, 1))
    steps = ((np.arange(count, dtype=np.float32) + 0.5) / (count // wanted)).reshape(1, -1)
    each_bin = ops.mul(size, number(size, 1 / wanted))
    place = ops.add(first, ops.mul(each_bin, steps.astype(np.float32)))
    is_near = ops.logical_and(
        ops.greater_equal(place, number(place, -1)), ops.greater_equal(constant(place, extent), place)
    )
    inside = ops.minimum(ops.maximum(place, number(place, 0)), number(place, extent - 1))
    below = ops.floor(inside)
    rest = ops.sub(inside, below)
    above = ops.minimum(ops.add(below, number(below, 1)), number(below, extent - 1))
    shares = ops.sub(constant(rest, 1), rest), rest
    kept = [ops.select(is_near, one, number(one, 0)) for one in shares]
    shape = (place.shape[0], count, 1) if axis == 0 else (place.shape[0], 1, count)
    indices = [reshaped(ops.cast(one, dtype=INT32), shape) for one in (below, above)]
    low, high = (reshaped(one, shape) for one in kept)
    return _Places((indices[0], indices[1]), (low, high))


def _gathered(terms: Sequence[Tensor], wanted: tuple[int, int], samples: int, mode: str) -> Tensor:
    """What the samples of each result become: the sum of four products is one, or their greatest."""
    regions, _, _, channels = terms[0].shape
    total = reduce(ops.maximum if mode == "max" else ops.add, terms)
    apart = reshaped(total, (regions, wanted[0], samples, wanted[1], samples, channels))
    for axis in (2, 4):
        apart = (ops.reduce_max if mode == "max" else ops.reduce_sum)(apart, axis=axis)
    found = reshaped(apart, (regions, *wanted, channels))
    found = found if mode == "max" else ops.mul(found, number(found, 1 / samples**2))
    return transposed(found, (0, 3, 1, 2))


@dataclass(frozen=True, slots=True)
class DeformAttributes(ConvAttributes):
    """How many groups of channels have offsets of their own."""

    offset_group: int = 1


@operator("DeformConv", DeformAttributes, types="float32")
def deform_conv(node: Node, options: DeformAttributes) -> Tensor:
    """A convolution whose windows take elements beside their places, by offsets, and times masks."""
    value, kernels, offsets = node[0].tensor, node[1].tensor, node[2].tensor
    if value.ndim != 4 or kernels.ndim != 4:
        raise Refused(f"its windows have {value.ndim - 2} dimensions, but only 2 are lowered")
    batch, channels, *extents = value.shape
    kernel, groups, wanted = kernels.shape[2:], options.offset_group, offsets.shape[2:]
    taps, spots = prod(kernel), prod(wanted)
    if not small((taps, *wanted)) or offsets.shape[1] != groups * taps * 2 or channels % groups:
        raise Refused(f"its offsets {list(offsets.shape)} do not fit its windows, or are too many")
    last = transposed(reshaped(value, (batch * groups, channels // groups, *extents)), (0, 2, 3, 1))
    pixels = reshaped(last, (batch * groups, prod(extents), channels // groups))
    apart = reshaped(offsets, (batch * groups, taps, 2, spots))
    places, sides = [], []
    for axis, extent in enumerate(extents):
        own = reshaped(part(apart, 2, axis, 1), (batch * groups, taps * spots))
        places.append(ops.add(own, _grid(options, kernel, wanted, axis)))
        sides.append(Side(extent, 0.0, extent - 1.0))
    found = sampled(pixels, places, sides, "linear", "zeros")
    mask = node.optional(4)
    if mask is not None:
        found = ops.mul(found, reshaped(mask.tensor, (batch * groups, taps * spots, 1)))
    columns = reshaped(found, (batch, groups, taps, spots, channels // groups))
    images = reshaped(transposed(columns, (0, 1, 4, 2, 3)), (batch, channels * taps, *wanted))
    weights = reshaped(kernels, (kernels.shape[0], kernels.shape[1] * taps, 1, 1))
    bias = node.optional(3)
    given = None if bias is None else bias.tensor
    return convolution(images, weights, given, ConvAttributes(group=options.group))


def _grid(options: DeformAttributes, kernel: Sequence[int], wanted: Sequence[int], axis: int) -> Tensor:
    """Where the elements of windows are along a dimension without offsets."""
    steps, gaps, pads = each(options.strides, 2), each(options.dilations, 2), each(options.pads, 4, 0)
    own = np.arange(kernel[axis]) * gaps[axis] - pads[axis]
    windows = np.arange(wanted[axis]) * steps[axis]
    shape = [1, 1, 1, 1]
    shape[axis], shape[2 + axis] = kernel[axis], wanted[axis]
    places = (own[:, None] + windows[None, :]).reshape(shape)
    whole = np.broadcast_to(places, (*kernel, *wanted)).reshape(1, -1)
    found: Tensor = ops.const(whole.astype(np.float32))
    return found
