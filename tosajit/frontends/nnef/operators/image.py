"""Images in another size, and images sampled at places that are computed (NNEF 2.0 section 4.5)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np

from tosajit import ops
from tosajit.arrays import Array
from tosajit.dtypes import FP32, INT32
from tosajit.frontends.common.gather import gathered
from tosajit.frontends.common.images import exactly
from tosajit.frontends.common.layout import part, reshaped, transposed
from tosajit.frontends.common.numbers import constant, nearest_away, number
from tosajit.frontends.common.sampling import Resampling, check_weights, chosen, repeated, resampled
from tosajit.frontends.common.slices import Range, strided
from tosajit.frontends.frame import Refused
from tosajit.frontends.nnef.node import Attributes, Node, each
from tosajit.frontends.nnef.operators import operator
from tosajit.tracing.tensor import Tensor

_LONGEST = 1 << 20
"""Elements of a dimension whose places are computed: few numbers of a text can ask for many."""


@dataclass(frozen=True, slots=True)
class Factors(Attributes):
    """How many times larger or smaller some dimensions become."""

    axes: tuple[int, ...]
    factor: tuple[int, ...]

    def of(self, value: Tensor) -> list[tuple[int, int]]:
        """Dimensions, and the factor of each."""
        factors = each(self.factor, len(self.axes))
        return [(axis % value.ndim, one) for axis, one in zip(self.axes, factors, strict=True)]


@operator("image.nearest_downsample", Factors)
def nearest_downsample(node: Node, options: Factors) -> Tensor:
    """Every so many elements."""
    value = node["input"]
    ranges = [Range(0, extent) for extent in value.shape]
    for axis, factor in options.of(value):
        ranges[axis] = Range(0, value.shape[axis], factor)
    return strided(value, ranges)


@operator("image.nearest_upsample", Factors)
def nearest_upsample(node: Node, options: Factors) -> Tensor:
    """Each element several times."""
    value = node["input"]
    for axis, factor in options.of(value):
        value = repeated(value, axis, factor)
    return value


@dataclass(frozen=True, slots=True)
class Size(Attributes):
    """The extents that some dimensions get, and where the elements are then."""

    axes: tuple[int, ...]
    size: tuple[int, ...]
    coordinate_transform: str

    def places(self, inputs: int, outputs: int) -> Array:
        """Where the elements of a dimension are."""
        if outputs > _LONGEST:
            raise Refused(
                f"it makes {outputs} elements along a dimension, but at most {_LONGEST} are numbered"
            )
        if self.coordinate_transform == "ALIGNED":
            scale = (inputs - 1) / (outputs - 1) if outputs > 1 else 0.0
        else:
            scale = inputs / outputs
        offset = 0.5 * scale - 0.5 if self.coordinate_transform == "SYMMETRIC" else 0.0
        return np.arange(outputs) * scale + offset

    def of(self, value: Tensor) -> list[tuple[int, int]]:
        """Dimensions that change, and the extent of each."""
        sizes = each(self.size, len(self.axes))
        found = [(axis % value.ndim, size) for axis, size in zip(self.axes, sizes, strict=True)]
        return [(axis, size) for axis, size in found if size != value.shape[axis]]


@dataclass(frozen=True, slots=True)
class Nearest(Size):
    """How a place between two elements is rounded."""

    rounding_method: str


_ROUNDED: dict[str, Callable[[Array], Array]] = {
    "FLOOR": np.floor,
    "CEIL": np.ceil,
    "ROUND_PREFER_FLOOR": lambda places: np.ceil(places - 0.5),
    "ROUND_PREFER_CEIL": lambda places: np.floor(places + 0.5),
}


@operator("image.nearest_resize", Nearest)
def nearest_resize(node: Node, options: Nearest) -> Tensor:
    """Images in another size, each element the nearest one."""
    value = node["input"]
    for axis, size in options.of(value):
        extent = value.shape[axis]
        places = _ROUNDED[options.rounding_method](options.places(extent, size))
        found = np.clip(places.astype(np.int64), 0, extent - 1)
        value = chosen(value, axis, found)
    return value


@operator("image.linear_resize", Size)
def linear_resize(node: Node, options: Size) -> Tensor:
    """Images in another size, each element between its neighbours."""
    value = node["input"]
    sides = []
    for axis, size in options.of(value):
        extent = value.shape[axis]
        places = options.places(extent, size)
        aligned = options.coordinate_transform == "ALIGNED"
        sampling = exactly(extent, size, aligned, options.coordinate_transform == "SYMMETRIC")
        sides.append(Resampling(axis, _between(places, extent), sampling))
    return resampled(value, sides)


def _between(places: Array, extent: int) -> Array:
    """How much of each element is in each output: those before and behind its place, at most the last."""
    check_weights(len(places), extent)
    weights, rows = np.zeros((len(places), extent)), np.arange(len(places))
    share = np.abs(places) % 1
    for behind, part_of in ((0, 1 - share), (1, share)):
        columns = np.clip(np.floor(places).astype(np.int64) + behind, 0, extent - 1)
        np.add.at(weights, (rows, columns), part_of)
    return weights


@dataclass(frozen=True, slots=True)
class Upsampling(Factors):
    """Where elements are, and what is beyond the border."""

    symmetric: bool
    replicate_border: bool


@operator("image.linear_upsample", Upsampling)
def linear_upsample(node: Node, options: Upsampling) -> Tensor:
    """Images several times larger, each element between its neighbours."""
    value = node["input"]
    sides = []
    for axis, factor in options.of(value):
        if factor > 1:
            extent = value.shape[axis]
            sampling = exactly(extent, extent * factor, False, options.symmetric)
            sides.append(Resampling(axis, _upsampling(extent, factor, options), sampling))
    return resampled(value, sides)


def _upsampling(extent: int, factor: int, options: Upsampling) -> Array:
    """How much of each element is in each output, as the text says it."""
    check_weights(extent * factor, extent)
    symmetric, border = options.symmetric, options.replicate_border
    count = 2 * factor - factor % 2 if symmetric else 2 * factor - 1
    skipped = factor - 1
    if symmetric:
        skipped = factor + factor // 2 if border else factor // 2
    offset = 0.5 if symmetric and factor % 2 == 0 else 1.0
    window = 1 - np.abs(np.arange(count) - factor + offset) / factor
    weights, before = np.zeros((extent * factor, extent)), int(symmetric)
    for place in range(extent + before + 1 if border else extent):
        column = min(max(place - before, 0), extent - 1) if border else place
        for number_, share in enumerate(window):
            row = factor * place + number_ - skipped
            if 0 <= row < extent * factor:
                weights[row, column] += share
    return weights


@dataclass(frozen=True, slots=True)
class Grid(Attributes):
    """What is beyond the border, and whether corners are at the middle of pixels."""

    padding: str
    aligned: bool


@operator("image._nearest_grid_sample", Grid)
def nearest_grid_sample(node: Node, options: Grid) -> Tensor:
    """The pixels nearest to places that are computed."""
    image, places = node["input"], _places(node, options)
    extents = image.shape[2:]
    indices = [ops.cast(nearest_away(one), dtype=INT32) for one in places]
    found = _pixels(image, indices, extents, options.padding)
    return _channels_first(found, node.shape("output"))


@operator("image._linear_grid_sample", Grid)
def linear_grid_sample(node: Node, options: Grid) -> Tensor:
    """The pixels around places that are computed, by how near they are."""
    image, places = node["input"], _places(node, options)
    extents = image.shape[2:]
    floors = [ops.floor(one) for one in places]
    total: Tensor | None = None
    for corner in product((0, 1), repeat=len(extents)):
        near = [ops.add(one, number(one, step)) for one, step in zip(floors, corner, strict=True)]
        weight: Tensor | None = None
        for one, place in zip(near, places, strict=True):
            share = ops.sub(constant(one, 1), ops.abs(ops.sub(one, place)))
            weight = share if weight is None else ops.mul(weight, share)
        assert weight is not None
        indices = [ops.cast(one, dtype=INT32) for one in near]
        pixels = _pixels(image, indices, extents, options.padding)
        term = ops.mul(pixels, reshaped(weight, (*weight.shape, 1)))
        total = term if total is None else ops.add(total, term)
    assert total is not None
    return _channels_first(total, node.shape("output"))


def _places(node: Node, options: Grid) -> list[Tensor]:
    """The places of a grid along each dimension of the images, in pixels."""
    grid, extents = node["grid"], node["input"].shape[2:]
    rows = reshaped(grid, (grid.shape[0], -1, grid.shape[-1]))
    found = []
    for axis, extent in enumerate(extents):
        row = part(rows, 2, len(extents) - 1 - axis, 1)
        middle = reshaped(row, row.shape[:2])
        unit = ops.mul(ops.add(middle, number(middle, 1)), number(middle, 0.5))
        if options.aligned:
            found.append(ops.mul(unit, number(unit, extent - 1)))
        else:
            found.append(ops.sub(ops.mul(unit, number(unit, extent)), number(unit, 0.5)))
    return found


def _pixels(image: Tensor, indices: Sequence[Tensor], extents: Sequence[int], padding: str) -> Tensor:
    """The pixels at indices: images, places, channels."""
    inside: Tensor | None = None
    total: Tensor | None = None
    for index, extent in zip(indices, extents, strict=True):
        low, high = number(index, 0), number(index, extent - 1)
        if padding == "REFLECT":
            index = ops.abs(index)
            over = ops.greater(index, high)
            index = ops.select(over, ops.sub(constant(index, 2 * (extent - 1)), index), index)
        kept = ops.minimum(ops.maximum(index, low), high)
        same = ops.equal(kept, index)
        inside = same if inside is None else ops.logical_and(inside, same)
        total = kept if total is None else ops.add(ops.mul(total, number(total, extent)), kept)
    assert total is not None
    assert inside is not None
    order = (0, *range(2, image.ndim), 1)
    table = reshaped(transposed(image, order), (image.shape[0], prod(extents), image.shape[1]))
    found = gathered(table, total, 1, 1)
    if padding != "ZEROS":
        return found
    return ops.mul(found, ops.cast(ops.cast(reshaped(inside, (*inside.shape, 1)), dtype=INT32), dtype=FP32))


def _channels_first(found: Tensor, shape: tuple[int, ...]) -> Tensor:
    return reshaped(transposed(found, (0, 2, 1)), shape)
