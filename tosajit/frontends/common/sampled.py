"""Images sampled at places that are computed: one element, or sums of those around each place."""

from __future__ import annotations

from functools import reduce
from itertools import product
from math import prod

from tiling.records import dataclass
from tosajit import ops
from tosajit.dtypes import INT32
from tosajit.frontends.common.layout import part, reshaped, transposed
from tosajit.frontends.common.numbers import constant, is_negative, nearest_even, number
from tosajit.frontends.frame import Refused
from tosajit.tracing.tensor import Tensor

_CUBIC = -0.75


@dataclass(frozen=True, slots=True)
class Side:
    """A dimension of images: its extent, and where reflections turn."""

    extent: int
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Tap:
    """Elements beside places along a dimension, and how much of them is taken."""

    index: Tensor
    weight: Tensor | None


def on_grid(value: Tensor, grid: Tensor, mode: str, outside: str, aligned: bool) -> Tensor:
    """The elements of images (batch, channels, …) at places from -1 to 1, the last dimension's first.

    These are corners of the image where places are aligned, otherwise the outer edges of its elements.
    """
    count = value.ndim - 2
    if not 1 <= count <= 3 or grid.ndim != value.ndim or grid.shape[-1] != count:
        raise Refused(f"its grid {list(grid.shape)} does not fit images of {count} dimensions")
    if outside not in ("zeros", "border", "reflection"):
        raise Refused(f"its padding {outside!r} is not known")
    if mode not in ("nearest", "linear", "cubic"):
        raise Refused(f"its mode {mode!r} is not known")
    batch, channels, *extents = value.shape
    wanted = grid.shape[1:-1]
    last = [0, *range(2, value.ndim), 1]
    pixels = reshaped(transposed(value, last), (batch, prod(extents), channels))
    flat = reshaped(grid, (batch, prod(wanted), count))
    places, sides = [], []
    for axis, extent in enumerate(extents):
        place = reshaped(part(flat, 2, count - 1 - axis, 1), (batch, prod(wanted)))
        places.append(_place(place, extent, aligned))
        ends = (0.0, extent - 1.0) if aligned else (-0.5, extent - 0.5)
        sides.append(Side(extent, *ends))
    found = reshaped(sampled(pixels, places, sides, mode, outside), (batch, *wanted, channels))
    return transposed(found, [0, value.ndim - 1, *range(1, value.ndim - 1)])


def _place(place: Tensor, extent: int, aligned: bool) -> Tensor:
    """Places from -1 to 1 in elements."""
    slope, middle = ((extent - 1) / 2 if aligned else extent / 2), (extent - 1) / 2
    return ops.add(ops.mul(place, number(place, slope)), number(place, middle))


def sampled(images: Tensor, places: list[Tensor], sides: list[Side], mode: str, outside: str) -> Tensor:
    """The elements of images (batch, pixels, channels) at real places (batch, outputs) of each dimension.

    What is outside are "zeros", the elements of the "border", or a "reflection" of the image.
    """
    taps = []
    for place, side in zip(places, sides, strict=True):
        moved = nearest_even(place) if mode == "nearest" else place
        taps.append(_taps(_turned(moved, side, outside), side, mode, outside))
    total: list[Tensor] = []
    strides = [prod(side.extent for side in sides[axis + 1 :]) for axis in range(len(sides))]
    for chosen in product(*taps):
        terms = [
            one.index if stride == 1 else ops.mul(one.index, number(one.index, stride))
            for one, stride in zip(chosen, strides, strict=True)
        ]
        found = ops.gather(images, reduce(ops.add, terms))
        weights = [one.weight for one in chosen if one.weight is not None]
        if weights:
            share = reduce(ops.mul, weights)
            found = ops.mul(found, reshaped(share, (*share.shape, 1)))
        total.append(found)
    return reduce(ops.add, total)


def _turned(place: Tensor, side: Side, outside: str) -> Tensor:
    """Places inside of images, where what is outside is not zero."""
    if outside == "border":
        inside = ops.maximum(place, number(place, 0))
        return ops.minimum(inside, number(place, side.extent - 1))
    return _reflected(place, side) if outside == "reflection" else place


def _reflected(place: Tensor, side: Side) -> Tensor:
    """Places that go back at the ends of a dimension, however often."""
    span = side.high - side.low
    if span <= 0:
        return ops.mul(place, number(place, 0))
    far = ops.sub(place, number(place, side.low))
    size = ops.select(is_negative(far), -far, far)
    turns = ops.floor(ops.mul(size, number(size, 0.5 / span)))
    rest = ops.sub(size, ops.mul(turns, number(turns, 2 * span)))
    back = ops.minimum(rest, ops.sub(constant(rest, 2 * span), rest))
    is_inside = ops.logical_and(
        ops.greater_equal(place, number(place, side.low)),
        ops.greater_equal(constant(place, side.high), place),
    )
    return ops.select(is_inside, place, ops.add(back, number(back, side.low)))


def _taps(place: Tensor, side: Side, mode: str, outside: str) -> list[Tap]:
    if mode == "nearest":
        return [_tap(place, None, side, outside)]
    below = ops.floor(place)
    rest = ops.sub(place, below)
    if mode == "linear":
        shares = [ops.sub(constant(rest, 1), rest), rest]
    elif mode == "cubic":
        shares = [_cubic(rest, step) for step in (-1, 0, 1, 2)]
    else:
        raise Refused(f"its mode {mode!r} is not known")
    first = 0 if mode == "linear" else -1
    return [
        _tap(ops.add(below, number(below, first + step)) if first + step else below, share, side, outside)
        for step, share in enumerate(shares)
    ]


def _cubic(rest: Tensor, step: int) -> Tensor:
    """The share of an element some steps before or behind a place, by Keys' polynomial."""
    far = ops.abs(ops.sub(rest, number(rest, step)))
    a = _CUBIC
    factors = (a + 2, -(a + 3), 0.0, 1.0) if step in (0, 1) else (a, -5 * a, 8 * a, -4 * a)
    total = constant(far, factors[0])
    for factor in factors[1:]:
        total = ops.add(ops.mul(total, far), number(far, factor))
    return total


def _tap(place: Tensor, share: Tensor | None, side: Side, outside: str) -> Tap:
    last = number(place, side.extent - 1)
    if outside == "reflection":
        place = ops.floor(ops.add(_reflected(place, side), number(place, 1e-3)))
    inside = ops.minimum(ops.maximum(place, number(place, 0)), last)
    index = ops.cast(inside, dtype=INT32)
    if outside != "zeros":
        return Tap(index, share)
    whole = constant(place, 1) if share is None else share
    return Tap(index, ops.select(ops.equal(place, inside), whole, number(place, 0)))
