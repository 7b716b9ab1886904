"""Images in another size, and images sampled at places that are computed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import ceil, floor

import numpy as np

from tiling.records import dataclass
from tosajit.arrays import Array
from tosajit.frontends.common.images import Sampling
from tosajit.frontends.common.sampling import Resampling, check_weights, chosen, resampled
from tosajit.frontends.frame import Refused
from tosajit.frontends.frame.attributes import Attributes
from tosajit.frontends.onnx.node import Node
from tosajit.frontends.onnx.operators import MOVED, operator
from tosajit.frontends.onnx.operators.parts import axes_each
from tosajit.tracing.tensor import Tensor

_LONGEST = 1 << 20
"""Elements of a dimension whose places are computed: few numbers of a model can ask for many."""


@dataclass(frozen=True, slots=True)
class ResizeAttributes(Attributes):
    """How places are counted, and how elements are taken from around them."""

    antialias: bool = False
    axes: tuple[int, ...] | None = None
    coordinate_transformation_mode: str = "half_pixel"
    cubic_coeff_a: float = -0.75
    exclude_outside: bool = False
    extrapolation_value: float = 0.0
    keep_aspect_ratio_policy: str = "stretch"
    mode: str = "nearest"
    nearest_mode: str = "round_prefer_floor"


@dataclass(frozen=True, slots=True)
class Side:
    """A dimension: its extents, the factor between them, and the part that is sampled, if it is one."""

    axis: int
    inputs: int
    outputs: int
    scale: float
    crop: tuple[float, float] = (0.0, 1.0)

    def places(self, mode: str) -> Array:
        """Where outputs are, in elements of the operand."""
        if self.outputs > _LONGEST:
            raise Refused(f"it makes {self.outputs} elements, but at most {_LONGEST} are numbered")
        number, inputs, outputs = np.arange(self.outputs, dtype=np.float64), self.inputs, self.outputs
        length = self.scale * inputs
        match mode:
            case "asymmetric":
                return number / self.scale
            case "half_pixel":
                return (number + 0.5) / self.scale - 0.5
            case "half_pixel_symmetric":
                middle = inputs / 2 * (1 - outputs / length)
                return middle + (number + 0.5) / self.scale - 0.5
            case "pytorch_half_pixel":
                return (number + 0.5) / self.scale - 0.5 if length > 1 else number * 0
            case "align_corners":
                return number * (inputs - 1) / (length - 1) if length != 1 else number * 0
            case "tf_crop_and_resize":
                start, end = self.crop
                if outputs == 1:
                    return number * 0 + 0.5 * (start + end) * (inputs - 1)
                return start * (inputs - 1) + number * (end - start) * (inputs - 1) / (outputs - 1)
        raise Refused(f"its places {mode!r} are not known")

    def exact(self, mode: str) -> Sampling | None:
        """The same as fractions, where they are."""
        match mode:
            case "asymmetric" if self.outputs == self.scale * self.inputs:
                return Sampling(self.inputs, self.outputs, self.outputs, self.inputs)
            case "half_pixel" if self.outputs == self.scale * self.inputs:
                return Sampling(
                    self.inputs, self.outputs, 2 * self.outputs, 2 * self.inputs, self.inputs - self.outputs
                )
            case "align_corners" if self.outputs > 1 and self.outputs == self.scale * self.inputs:
                return Sampling(self.inputs, self.outputs, self.outputs - 1, self.inputs - 1)
        return None


_NEAREST: dict[str, Callable[[Array], Array]] = {
    "floor": np.floor,
    "ceil": np.ceil,
    "round_prefer_floor": lambda places: np.ceil(places - 0.5),
    "round_prefer_ceil": lambda places: np.floor(places + 0.5),
}


@operator("Resize", ResizeAttributes, types=MOVED)
def resize(node: Node, options: ResizeAttributes) -> Tensor:
    """A tensor in another size."""
    return _resized(node[0].tensor, _sides(node, options), options)


@dataclass(frozen=True, slots=True)
class UpsampleAttributes(Attributes):
    """How elements are taken, and the factors of old versions."""

    mode: str = "nearest"
    scales: tuple[float, ...] | None = None


@operator("Upsample", UpsampleAttributes, types=MOVED)
def upsample(node: Node, options: UpsampleAttributes) -> Tensor:
    """A tensor in a larger size."""
    value = node[0].tensor
    scales = options.scales if node.optional(1) is None else [float(one) for one in node[1].raw]
    if scales is None or len(scales) != value.ndim:
        raise Refused("it has no factor for each dimension")
    sides = [
        Side(axis, extent, floor(extent * scale), scale)
        for axis, (extent, scale) in enumerate(zip(value.shape, scales, strict=True))
    ]
    given = ResizeAttributes(
        mode=options.mode, coordinate_transformation_mode="asymmetric", nearest_mode="floor"
    )
    return _resized(value, sides, given)


def _sides(node: Node, options: ResizeAttributes) -> list[Side]:
    """The dimensions by their factors, or by their extents."""
    shape = node[0].shape
    axes = range(len(shape)) if options.axes is None else axes_each(options.axes, len(shape))
    roi, scales, sizes = (node.optional(place) for place in ((1, 2, 3) if node.opset > 10 else (9, 1, 9)))
    crop = _crop(None if roi is None else roi.raw, len(axes), options)
    if sizes is not None and sizes.shape[0]:
        wanted = _kept(sizes.ints, [shape[axis] for axis in axes], options.keep_aspect_ratio_policy)
        rows = zip(axes, wanted, crop, strict=True)
        return [Side(axis, shape[axis], size, scale, part) for axis, (size, scale), part in rows]
    if scales is None or not scales.shape[0]:
        raise Refused("it has neither factors nor extents")
    factors = [float(one) for one in scales.raw.reshape(-1)]
    found = []
    for axis, scale, (start, end) in zip(axes, factors, crop, strict=True):
        found.append(Side(axis, shape[axis], floor(shape[axis] * scale * (end - start)), scale, (start, end)))
    return found


def _crop(raw: Array | None, count: int, options: ResizeAttributes) -> list[tuple[float, float]]:
    if options.coordinate_transformation_mode != "tf_crop_and_resize" or raw is None:
        return [(0.0, 1.0)] * count
    numbers = [float(one) for one in raw]
    return list(zip(numbers[:count], numbers[count:], strict=True))


def _kept(sizes: Sequence[int], shape: Sequence[int], policy: str) -> list[tuple[int, float]]:
    """The extents, and the factor of each: one for all if images keep their proportions."""
    ratios = [Fraction(size, extent) for size, extent in zip(sizes, shape, strict=True)]
    if policy == "stretch":
        return [(size, size / extent) for size, extent in zip(sizes, shape, strict=True)]
    scale = min(ratios) if policy == "not_larger" else max(ratios)
    return [(floor(scale * extent + Fraction(1, 2)), float(scale)) for extent in shape]


def _resized(value: Tensor, sides: Sequence[Side], options: ResizeAttributes) -> Tensor:
    mode, scheme = options.mode, options.coordinate_transformation_mode
    changing = [one for one in sides if one.outputs != one.inputs or one.scale != 1 or one.crop != (0.0, 1.0)]
    if any(one.outputs < 1 for one in changing):
        raise Refused("its result has no elements, and TOSA's tensors have some")
    if scheme == "tf_crop_and_resize" and any(_leaves(one, scheme) for one in changing):
        raise Refused("it takes places outside of its operand, which become a number of their own")
    if mode == "nearest":
        for one in changing:
            places = _NEAREST[options.nearest_mode](np.round(one.places(scheme), 9)).astype(np.int64)
            value = chosen(value, one.axis, np.clip(places, 0, one.inputs - 1))
        return value
    if not value.dtype.is_float:
        raise Refused("it interpolates integers", "cast them to float32 before, and back behind it")
    rows = []
    for one in changing:
        check_weights(one.outputs, one.inputs)
        weights = _weights(one, options)
        plain = mode == "linear" and not options.antialias and not options.exclude_outside
        rows.append(Resampling(one.axis, weights, one.exact(scheme) if plain else None))
    return resampled(value, rows)


def _leaves(side: Side, scheme: str) -> bool:
    places = side.places(scheme)
    return bool(places.min(initial=0) < 0 or places.max(initial=0) > side.inputs - 1)


def _weights(side: Side, options: ResizeAttributes) -> Array:
    """How much of each element is in each output."""
    reach = 1 if options.mode == "linear" else 2
    if options.mode not in ("linear", "cubic"):
        raise Refused(f"its mode {options.mode!r} is not known")
    stretch = min(side.scale, 1.0) if options.antialias else 1.0
    wide = ceil(reach / stretch) + 1
    weights, places = (
        np.zeros((side.outputs, side.inputs)),
        side.places(options.coordinate_transformation_mode),
    )
    for row, place in enumerate(places):
        columns = np.arange(floor(place) - wide + 1, floor(place) + wide + 1)
        shares = _kernel((columns - place) * stretch, options)
        if options.exclude_outside:
            shares = np.where((columns >= 0) & (columns < side.inputs), shares, 0)
        total = shares.sum()
        np.add.at(weights[row], np.clip(columns, 0, side.inputs - 1), shares / total)
    return weights


def _kernel(distances: Array, options: ResizeAttributes) -> Array:
    """The weights of elements by their distances: of a line, or of a cubic polynomial."""
    far = np.abs(distances)
    if options.mode == "linear":
        return np.asarray(np.maximum(1 - far, 0))
    a = options.cubic_coeff_a
    near = ((a + 2) * far - (a + 3)) * far * far + 1
    outer = ((a * far - 5 * a) * far + 8 * a) * far - 4 * a
    return np.where(far <= 1, near, np.where(far < 2, outer, 0))
