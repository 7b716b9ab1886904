"""Operators of pictures, of quantisation, and algorithms (sections 4.5 to 4.7)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from tests.nnef.cases.case import Array, Attribute, Case, reals
from tests.nnef.cases.elementwise import rounded

AXES = (
    ((6,), (0,), (2,)),
    ((2, 3, 4, 6), (2, 3), (2, 3)),
    ((4, 6, 3), (-2, 0), (3, 2)),
    ((1, 4, 5, 2), (1,), (4,)),
)


def _per_axis(x: Array, axes: tuple[int, ...], sizes: Any, function: Any) -> Array:
    """A function of one axis and of what is said of it, along some axes in turn."""
    for axis, size in zip(axes, sizes, strict=True):
        x = np.moveaxis(function(np.moveaxis(x, axis, -1), size), -1, axis)
    return x


def _spread(x: Array, factor: int, symmetric: bool, replicate: bool) -> Array:
    """Each item times a triangle of weights; at the ends the outermost items go on, or nothing does."""
    n = x.shape[-1]
    found = np.zeros((*x.shape[:-1], n * factor))
    for place in range(n * factor):
        at = (place + 0.5) / factor - 0.5 if symmetric else place / factor
        for item in range(-1, n + 1):
            weight = max(0.0, 1 - abs(at - item))
            inside = 0 <= item < n
            if inside or replicate:
                found[..., place] += weight * x[..., min(max(item, 0), n - 1)]
    return found


def _repeated(x: Array, factor: int) -> Array:
    return np.repeat(x, factor, -1)


def _strided(x: Array, factor: int) -> Array:
    return x[..., ::factor]


def _averaged(x: Array, factor: int) -> Array:
    return np.asarray(x.reshape(*x.shape[:-1], -1, factor).mean(-1))


def samplings() -> Iterator[Case]:
    """Section 4.5.1."""
    for shape, axes, factor in AXES:
        x = reals(*shape)
        given: dict[str, Attribute] = {"axes": axes, "factor": factor}
        yield Case(
            "image.nearest_upsample", (x,), lambda x, a=axes, f=factor: _per_axis(x, a, f, _repeated), given
        )
        for symmetric in (True, False):
            for replicate in (True, False):
                yield Case(
                    "image.linear_upsample",
                    (x,),
                    lambda x, a=axes, f=factor, s=symmetric, r=replicate: _per_axis(
                        x, a, f, partial(_spread, symmetric=s, replicate=r)
                    ),
                    {**given, "symmetric": symmetric, "replicate_border": replicate},
                )
        large = reals(
            *(
                n * dict(zip([a % len(shape) for a in axes], factor, strict=True)).get(place, 1)
                for place, n in enumerate(shape)
            )
        )
        yield Case(
            "image.nearest_downsample",
            (large,),
            lambda x, a=axes, f=factor: _per_axis(x, a, f, _strided),
            given,
        )
        yield Case(
            "image.area_downsample",
            (large,),
            lambda x, a=axes, f=factor: _per_axis(x, a, f, _averaged),
            given,
        )


_ROUND: dict[str, Callable[[Array], Array]] = {
    "FLOOR": np.floor, "CEIL": np.ceil, "ROUND_PREFER_FLOOR": lambda v: np.ceil(v - 0.5),
    "ROUND_PREFER_CEIL": lambda v: np.floor(v + 0.5),
}  # fmt: skip


def _sources(extent: int, size: int, transform: str) -> Array:
    """Where each new item is among the old ones."""
    at = np.arange(size, dtype=np.float64)
    match transform:
        case "ALIGNED":
            return at * ((extent - 1) / (size - 1) if size > 1 else 0.0)
        case "ASYMMETRIC":
            return at * (extent / size)
    return (at + 0.5) * (extent / size) - 0.5


def _nearest(x: Array, size: int, transform: str, rounding: str) -> Array:
    places = _ROUND[rounding](np.round(_sources(x.shape[-1], size, transform), 12)).astype(int)
    return x[..., np.clip(places, 0, x.shape[-1] - 1)]


def _linear(x: Array, size: int, transform: str) -> Array:
    at = _sources(x.shape[-1], size, transform)
    low = np.floor(at).astype(int)
    last = x.shape[-1] - 1
    before, behind = x[..., np.clip(low, 0, last)], x[..., np.clip(low + 1, 0, last)]
    return np.asarray(before + (behind - before) * (at - low))


def _keys(t: Array, a: float) -> Array:
    """The weight of an item at some distance (Keys 1981)."""
    t = np.abs(t)
    near = (a + 2) * t**3 - (a + 3) * t**2 + 1
    far = a * t**3 - 5 * a * t**2 + 8 * a * t - 4 * a
    return np.where(t <= 1, near, np.where(t < 2, far, 0.0))


def _cubic(x: Array, size: int, transform: str, a: float) -> Array:
    """Every item counts with its weight; the outermost go on outside."""
    at = _sources(x.shape[-1], size, transform)
    items = np.arange(-2, x.shape[-1] + 2)
    weights = _keys(at[:, None] - items, a)
    return np.asarray(x[..., np.clip(items, 0, x.shape[-1] - 1)] @ weights.T)


SIZES = (((6,), (0,), (4,)), ((2, 3, 4, 6), (2, 3), (8, 3)), ((4, 5, 3), (-2, 0), (10, 1)))
TRANSFORMS = ("SYMMETRIC", "ASYMMETRIC", "ALIGNED")


def resizings() -> Iterator[Case]:
    """Section 4.5.2."""
    for (shape, axes, size), transform in product(SIZES, TRANSFORMS):
        x = reals(*shape)
        given: dict[str, Attribute] = {"axes": axes, "size": size, "coordinate_transform": transform}

        def linear(x: Array, axes: Any = axes, size: Any = size, transform: str = transform) -> Array:
            return _per_axis(x, axes, size, partial(_linear, transform=transform))

        yield Case("image.linear_resize", (x,), linear, given)
        yield Case("image.resize", (x,), linear, {**given, "mode": "LINEAR"})
        factor = tuple(n / shape[axis] for n, axis in zip(size, axes, strict=True))
        scaled: dict[str, Attribute] = {"axes": axes, "factor": factor, "coordinate_transform": transform}
        yield Case("image.rescale", (x,), linear, {**scaled, "mode": "LINEAR"})
        for a in (-0.75, -0.5):

            def cubic(
                x: Array, axes: Any = axes, size: Any = size, transform: str = transform, a: float = a
            ) -> Array:
                return _per_axis(x, axes, size, partial(_cubic, transform=transform, a=a))

            yield Case("image.cubic_resize", (x,), cubic, {**given, "coeff_a": a})
            by: dict[str, Attribute] = {"mode": "CUBIC", "cubic_coeff_a": a}
            yield Case("image.resize", (x,), cubic, {**given, **by})
            yield Case("image.rescale", (x,), cubic, {**scaled, **by})
        for rounding in _ROUND:

            def nearest(
                x: Array,
                axes: Any = axes,
                size: Any = size,
                transform: str = transform,
                rounding: str = rounding,
            ) -> Array:
                return _per_axis(x, axes, size, partial(_nearest, transform=transform, rounding=rounding))

            extra: dict[str, Attribute] = {"rounding_method": rounding}
            yield Case("image.nearest_resize", (x,), nearest, {**given, **extra})
            yield Case("image.resize", (x,), nearest, {**given, **extra})
            yield Case("image.rescale", (x,), nearest, {**scaled, **extra})


def _outer(at: Array, extent: int, padding: str) -> tuple[Array, Array]:
    """Places that are inside of an extent, and whether they were."""
    inside = (at >= 0) & (at < extent)
    if padding == "REFLECT":
        at = np.where(at < 0, -at, np.where(at >= extent, 2 * (extent - 1) - at, at))
    return np.clip(at, 0, extent - 1), inside | (padding != "ZEROS")


_REACH = {"NEAREST": (0,), "LINEAR": (0, 1), "CUBIC": (-1, 0, 1, 2)}
"""The items that count, from the one before a place."""


def _weights(mode: str, at: Array, place: Array) -> Array:
    match mode:
        case "NEAREST":
            return np.ones_like(place)
        case "LINEAR":
            return np.asarray(1 - np.abs(at - place))
    return _keys(at - place, -0.75)


def _sampled(x: Array, grid: Array, padding: str, aligned: bool, mode: str) -> Array:
    d = x.ndim - 2
    found = np.zeros((*x.shape[:2], *grid.shape[1:-1]))
    for item in range(x.shape[0]):
        places = []
        for axis in range(d):
            n = x.shape[2 + axis]
            unit = (grid[item, ..., d - 1 - axis] + 1) / 2
            places.append(unit * (n - 1) if aligned else unit * n - 0.5)
        for corner in product(_REACH[mode], repeat=d):
            at = [
                (rounded(p) if mode == "NEAREST" else np.floor(p) + step).astype(int)
                for p, step in zip(places, corner, strict=True)
            ]
            weight = np.prod([_weights(mode, a, p) for a, p in zip(at, places, strict=True)], axis=0)
            kept = [_outer(a, n, padding) for a, n in zip(at, x.shape[2:], strict=True)]
            inside = np.logical_and.reduce([one for _, one in kept])
            found[item] += x[item][(slice(None), *(a for a, _ in kept))] * weight * inside
    return found


def grids() -> Iterator[Case]:
    """Section 4.5.4; places a little outside of the picture too."""
    for shape, size in (((2, 3, 5), (4,)), ((2, 2, 4, 5), (3, 4)), ((1, 2, 3, 4, 3), (2, 3, 2))):
        d = len(size)
        x, grid = reals(*shape), reals(shape[0], *size, d, low=-1.2, high=1.2)
        for padding in ("ZEROS", "REFLECT", "REPLICATE"):
            for aligned in (False, True):
                given: dict[str, Attribute] = {"padding": padding, "aligned": aligned}
                for mode in _REACH:

                    def sampled(
                        x: Array, g: Array, p: str = padding, a: bool = aligned, mode: str = mode
                    ) -> Array:
                        return _sampled(x, g, p, a, mode)

                    yield Case(f"image._{mode.lower()}_grid_sample", (x, grid), sampled, given)
                    yield Case("image.grid_sample", (x, grid), sampled, {**given, "mode": mode})


def _limits(bits: int, signed: bool, symmetric: bool) -> tuple[int, int]:
    if not signed:
        return 0, 2**bits - 1
    return -(2 ** (bits - 1)) + int(symmetric), 2 ** (bits - 1) - 1


def quantisations() -> Iterator[Case]:
    """Section 4.6."""
    for shape, axis, count in (((3, 4), 1, 4), ((2, 3, 4), 1, 3), ((2, 3, 4), -1, 4)):
        x = reals(*shape, low=-4.0, high=4.0)
        along = [1] * len(shape)
        along[axis] = count
        for bits, signed, symmetric in (
            (8, True, False),
            (8, True, True),
            (8, False, False),
            (4, True, False),
            (3, False, True),
        ):
            kinds: dict[str, Attribute] = {
                "bits": bits,
                "signed": signed,
                "symmetric": symmetric,
                "channel_axis": axis,
            }
            low, high = _limits(bits, signed, symmetric)
            for zero, scale in (
                ((1,) * count, (0.0625,) * count),
                (tuple(range(count)), tuple(0.05 * (n + 1) for n in range(count))),
            ):

                def zero_point(
                    x: Array,
                    z: Any = zero,
                    s: Any = scale,
                    low: int = low,
                    high: int = high,
                    along: Any = along,
                ) -> Array:
                    points, units = np.array(z).reshape(along), np.array(s).reshape(along)
                    return np.asarray((np.clip(points + rounded(x / units), low, high) - points) * units)

                yield Case(
                    "quant.zero_point_linear_quantize",
                    (x,),
                    zero_point,
                    {**kinds, "zero_point": zero, "scale": scale},
                )
            for least, most in (
                ((-3.0,) * count, (2.5,) * count),
                (tuple(-1.0 - n for n in range(count)), (3.0,) * count),
            ):
                steps = 2**bits - 1 - int(signed and symmetric)

                def min_max(
                    x: Array, a: Any = least, b: Any = most, steps: int = steps, along: Any = along
                ) -> Array:
                    bottom, top = np.array(a).reshape(along), np.array(b).reshape(along)
                    return np.asarray(
                        rounded((np.clip(x, bottom, top) - bottom) / (top - bottom) * steps)
                        / steps
                        * (top - bottom)
                        + bottom
                    )

                yield Case(
                    "quant.min_max_linear_quantize", (x,), min_max, {**kinds, "min": least, "max": most}
                )


def _top(x: Array, k: int, axis: int, largest: bool) -> tuple[Array, Array]:
    order = np.argsort(-x if largest else x, axis, kind="stable").take(range(min(k, x.shape[axis])), axis)
    return np.take_along_axis(x, order, axis), order


def algorithms() -> Iterator[Case]:
    """Section 4.7."""
    for shape, axis in (((7,), 0), ((3, 5), 1), ((2, 5, 3), -2)):
        for k, largest in ((1, True), (3, True), (3, False), (9, True)):
            yield Case(
                "algo.top_k",
                (reals(*shape),),
                lambda x, k=k, a=axis, m=largest: _top(x, k, a, m),
                {"k": k, "axis": axis, "largest": largest},
            )
