"""Layout operators (section 4.1)."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

import numpy as np

from tests.nnef.cases.case import DRAWN, SHAPES, Array, Attribute, Case, integers, reals

TYPES = ("real", "int", "bool")


def generators() -> Iterator[Case]:
    """Section 4.1.1."""
    yield Case(
        "layout.tensor", (), lambda: np.arange(6).reshape(2, 3), {"shape": (2, 3), "value": tuple(range(6))}
    )
    yield Case(
        "layout.tensor",
        (),
        lambda: np.arange(24.0).reshape(2, 3, 4) / 8,
        {"shape": (2, 3, 4), "value": tuple(n / 8 for n in range(24))},
    )
    yield Case("layout.tensor", (), lambda: np.full((3, 2), 1.5), {"shape": (3, 2), "value": 1.5})
    yield Case("layout.tensor", (), lambda: np.array(True), {"value": True})
    for type in TYPES:
        for shape in SHAPES:
            value = DRAWN[type]()
            yield Case("layout.uniform", (value,), lambda v, shape=shape: np.full(shape, v), {"shape": shape})
            yield Case("layout.shape", (DRAWN[type](*shape),), lambda x: np.array(x.shape, np.int64))
    for first, last, stride in ((0, 7, 1), (1, 10, 3), (7, 0, -2), (-3, -3, 1)):
        given: dict[str, Attribute] = {"first": first, "last": last, "stride": stride}
        yield Case("layout.range", (), lambda g=given: np.arange(g["first"], g["last"], g["stride"]), given)
    yield Case(
        "layout.range", (), lambda: np.arange(0.0, 2.25, 0.5), {"first": 0.0, "last": 2.25, "stride": 0.5}
    )
    yield Case("layout.range", (), lambda: np.arange(1.0, 4.0), {"first": 1.0, "last": 4.0})


def views() -> Iterator[Case]:
    """Section 4.1.2."""
    dtypes = {"real": np.float64, "int": np.int64, "bool": np.bool_}
    for result, dtype in dtypes.items():
        for type in TYPES:
            for shape in SHAPES:
                x = DRAWN[type](*shape)
                yield Case(
                    "layout.cast",
                    (x,),
                    lambda x, dtype=dtype: (
                        np.trunc(x * 1.0).astype(dtype) if dtype == np.int64 else x.astype(dtype)
                    ),
                    types=(result,),
                )
    whole = np.array([0.0, -0.0, 0.25, -0.75, 2.5, -2.5])
    yield Case("layout.cast", (whole,), lambda x: np.array([0, 0, 0, 0, 2, -2]), types=("int",))
    yield Case(
        "layout.cast", (whole,), lambda x: np.array([False, False, True, True, True, True]), types=("bool",)
    )
    reshapes: tuple[tuple[tuple[int, ...], dict[str, Attribute], tuple[int, ...]], ...] = (
        ((2, 3, 4), {"shape": (4, 6)}, (4, 6)),
        ((2, 3, 4), {"shape": (-1, 6)}, (4, 6)),
        ((2, 3, 4), {"shape": (24,)}, (24,)),
        ((2, 3, 4), {"axis": 1, "shape": (2, 6)}, (2, 2, 6)),
        ((2, 3, 4), {"axis": 1, "rank": 1, "shape": (3, 1)}, (2, 3, 1, 4)),
        ((2, 3, 4), {"axis": -2, "shape": (-1,)}, (2, 12)),
        ((24,), {"shape": (2, 3, -1)}, (2, 3, 4)),
        ((6,), {"shape": (6,)}, (6,)),
    )
    for type in TYPES:
        for shape, attributes, made in reshapes:
            yield Case("layout.reshape", (DRAWN[type](*shape),), lambda x, r=made: x.reshape(r), attributes)
    moved: tuple[tuple[str, tuple[int, ...], dict[str, Attribute], tuple[int, ...]], ...] = (
        ("flatten", (2, 3, 4), {}, (24,)),
        ("flatten", (2, 3, 4), {"axis": 1}, (2, 12)),
        ("flatten", (2, 3, 4, 5), {"axis": 1, "rank": 2}, (2, 12, 5)),
        ("flatten", (2, 3, 4), {"axis": -1}, (2, 3, 4)),
        ("flatten", (2, 3), {"axis": 1, "rank": 0}, (2, 1, 3)),
        ("unflatten", (24,), {"axis": 0, "shape": (2, 3, 4)}, (2, 3, 4)),
        ("unflatten", (2, 12, 5), {"axis": -2, "shape": (3, 4)}, (2, 3, 4, 5)),
        ("squeeze", (1, 3, 1, 4), {"axes": (0, 2)}, (3, 4)),
        ("squeeze", (3, 1), {"axes": (-1,)}, (3,)),
        ("squeeze", (1,), {"axes": (0,)}, ()),
        ("squeeze", (3, 2), {"axes": ()}, (3, 2)),
        ("unsqueeze", (3, 4), {"axes": (0, 2)}, (1, 3, 1, 4)),
        ("unsqueeze", (3,), {"axes": (-1,)}, (3, 1)),
        ("unsqueeze", (), {"axes": (0, 1)}, (1, 1)),
    )
    for type in TYPES:
        for name, shape, attributes, made in moved:
            yield Case(f"layout.{name}", (DRAWN[type](*shape),), lambda x, r=made: x.reshape(r), attributes)


def joins() -> Iterator[Case]:
    """Section 4.1.3."""
    for type in TYPES:
        for shapes, axis in (
            (((3,), (2,)), 0),
            (((2, 3), (2, 3)), 1),
            (((2, 3), (4, 3), (1, 3)), -2),
            (((2, 3, 4),), 1),
        ):
            xs = [DRAWN[type](*shape, seed=place) for place, shape in enumerate(shapes)]
            yield Case("layout.concat", (xs,), lambda xs, axis=axis: np.concatenate(xs, axis), {"axis": axis})
        x = DRAWN[type](4, 6)
        yield Case("layout.split", (x,), lambda x: (np.split(x, 3, 1),), {"axis": 1, "count": 3})
        yield Case(
            "layout.split", (x,), lambda x: (np.split(x, [1, 3], -1),), {"axis": -1, "sizes": (1, 2, 3)}
        )
        yield Case("layout.split", (x,), lambda x: (np.split(x, 2, 0),), {"axis": 0, "sizes": (2, 2)})
        xs = [DRAWN[type](3, 4, seed=place) for place in range(3)]
        for axis in (0, 1, 2):
            yield Case("layout.stack", (xs,), lambda xs, axis=axis: np.stack(xs, axis), {"axis": axis})
        # A negative axis counts the dimensions of an input, not of the result (section 4.1.3).
        yield Case("layout.stack", (xs,), lambda xs: np.stack(xs, 1), {"axis": -1})
        ones = [DRAWN[type](3, 1, 4, seed=place) for place in range(2)]
        yield Case("layout.stack", (ones,), lambda xs: np.concatenate(xs, 1), {"axis": 1, "squeeze": True})
        x = DRAWN[type](3, 2, 4)
        for axis in (0, 1, -1):
            yield Case(
                "layout.unstack", (x,), lambda x, axis=axis: (list(np.moveaxis(x, axis, 0)),), {"axis": axis}
            )
            yield Case(
                "layout.unstack",
                (x,),
                lambda x, axis=axis: (np.split(x, x.shape[axis], axis),),
                {"axis": axis, "squeeze": False},
            )


_SLICES: tuple[tuple[tuple[int, ...], dict[str, Attribute], tuple[Any, ...]], ...] = (
    ((7,), {"begin": (2,), "end": (5,)}, (slice(2, 5),)),
    ((7,), {"begin": (1,), "end": (7,), "stride": (3,)}, (slice(1, 7, 3),)),
    ((7,), {"begin": (6,), "end": (-1,), "stride": (-1,)}, (slice(None, None, -1),)),
    ((7,), {"begin": (5,), "end": (1,), "stride": (-2,)}, (slice(5, 1, -2),)),
    ((4, 6), {"axes": (1,), "begin": (2,), "end": (100,)}, (slice(None), slice(2, None))),
    ((4, 6), {"axes": (-2,), "begin": (1,), "end": (3,)}, (slice(1, 3),)),
    ((4, 6), {"begin": (0, 1), "end": (4, 6), "stride": 2}, (slice(0, 4, 2), slice(1, 6, 2))),
    ((2, 3, 4), {"axes": (2, 0), "begin": (1, 0), "end": (3, 1)}, (slice(0, 1), slice(None), slice(1, 3))),
)
_PADS: tuple[tuple[tuple[int, ...], dict[str, Attribute], tuple[tuple[int, int], ...]], ...] = (
    ((4,), {"padding": (1, 2)}, ((1, 2),)),
    ((4,), {"padding": (3, 3)}, ((3, 3),)),
    ((3, 4), {"padding": (1, 0, 0, 2)}, ((1, 0), (0, 2))),
    ((3, 4), {"axes": (1,), "padding": (2, 1)}, ((0, 0), (2, 1))),
    ((2, 3, 4), {"axes": (-1, 1), "padding": (2, 1, 0, 1)}, ((0, 0), (1, 1), (2, 0))),
)
_MODES = {"REFLECT": "reflect", "REPLICATE": "edge", "SYMMETRIC": "symmetric"}


def extents() -> Iterator[Case]:
    """Section 4.1.4."""
    for type in TYPES:
        x = DRAWN[type](2, 3)
        yield Case("layout.tile", (x,), lambda x: np.tile(x, (2, 3)), {"repeats": (2, 3)})
        yield Case("layout.tile", (x,), lambda x: np.tile(x, (1, 4)), {"axes": (-1,), "repeats": (4,)})
        yield Case("layout.tile", (DRAWN[type](3),), lambda x: np.tile(x, 2), {"repeats": (2,)})
        x = DRAWN[type](1, 3, 1)
        yield Case("layout.broadcast", (x,), lambda x: np.broadcast_to(x, (2, 3, 4)), {"shape": (2, 3, 4)})
        yield Case(
            "layout.broadcast",
            (x,),
            lambda x: np.broadcast_to(x, (2, 3, 1)),
            {"axes": (0, 1), "shape": (2, 1)},
        )
        yield Case(
            "layout.broadcast", (x,), lambda x: np.broadcast_to(x, (1, 3, 5)), {"axes": (-1,), "shape": (5,)}
        )
        for shape, attributes, where in _SLICES:
            yield Case("layout.slice", (DRAWN[type](*shape),), lambda x, where=where: x[where], attributes)
        for shape, attributes, widths in _PADS:
            x, value = DRAWN[type](*shape), DRAWN[type](seed=3)
            yield Case(
                "layout.pad", (x, value), lambda x, v, w=widths: np.pad(x, w, constant_values=v), attributes
            )
            yield Case("layout.pad", (x,), lambda x, w=widths: np.pad(x, w), attributes)
            for method, mode in _MODES.items():
                yield Case(
                    "layout.pad",
                    (x,),
                    lambda x, w=widths, mode=mode: np.pad(x, w, mode),
                    {**attributes, "method": method},
                )


def _blocks(x: Array, block: tuple[int, ...], spatial: int) -> Array:
    """Each extent of space as blocks and what is in them: outer and inner dimensions in turns."""
    shape = list(x.shape[:spatial])
    for extent, size in zip(x.shape[spatial:], block, strict=False):
        shape += [extent // size, size]
    return x.reshape(*shape, *x.shape[spatial + len(block) :])


def _space_to_batch(x: Array, block: tuple[int, ...], first: bool, ncx: bool) -> Array:
    x = x if ncx else np.moveaxis(x, -1, 1)
    d = len(block)
    split = _blocks(x, block, 2)
    inner, outer = [3 + 2 * n for n in range(d)], [2 + 2 * n for n in range(d)]
    moved = split.transpose(*([*inner, 0] if first else [0, *inner]), 1, *outer)
    found = moved.reshape(-1, *moved.shape[d + 1 :])
    return found if ncx else np.moveaxis(found, 1, -1)


def _space_to_depth(x: Array, block: tuple[int, ...], first: bool, ncx: bool) -> Array:
    x = x if ncx else np.moveaxis(x, -1, 1)
    d = len(block)
    split = _blocks(x, block, 2)
    inner, outer = [3 + 2 * n for n in range(d)], [2 + 2 * n for n in range(d)]
    moved = split.transpose(0, *([*inner, 1] if first else [1, *inner]), *outer)
    found = moved.reshape(x.shape[0], -1, *moved.shape[d + 2 :])
    return found if ncx else np.moveaxis(found, 1, -1)


def _undone(function: Any, result: tuple[int, ...]) -> Any:
    """The inverse of a permutation of items."""

    def inverse(x: Array) -> Array:
        order = function(np.arange(prod(result)).reshape(result))
        found = np.empty(prod(result), x.dtype)
        found[order.reshape(-1)] = x.reshape(-1)
        return found.reshape(result)

    return inverse


def orders() -> Iterator[Case]:
    """Section 4.1.5."""
    for type in TYPES:
        turned: tuple[tuple[tuple[int, ...], dict[str, Attribute], tuple[int, ...]], ...] = (
            ((2, 3), {}, (1, 0)),
            ((2, 3, 4), {}, (2, 1, 0)),
            ((2, 3, 4), {"perm": (1, 2, 0)}, (1, 2, 0)),
            ((2, 3, 4), {"axis": 1, "perm": (2, 1)}, (0, 2, 1)),
            ((2, 3, 4), {"axis": -2, "perm": (-1, -2)}, (0, 2, 1)),
            ((5,), {}, (0,)),
        )
        for extents, attributes, perm in turned:
            yield Case(
                "layout.transpose",
                (DRAWN[type](*extents),),
                lambda x, perm=perm: x.transpose(perm),
                attributes,
            )
        for axis, groups in ((1, 2), (-2, 3), (0, 1)):
            yield Case(
                "layout.shuffle",
                (DRAWN[type](2, 6, 3),),
                lambda x, axis=axis % 3, groups=groups: np.moveaxis(
                    np.moveaxis(x, axis, -1)
                    .reshape(*np.moveaxis(x, axis, -1).shape[:-1], groups, -1)
                    .swapaxes(-1, -2)
                    .reshape(np.moveaxis(x, axis, -1).shape),
                    -1,
                    axis,
                ),
                {"axis": axis, "groups": groups},
            )
    for block, space in (((2,), (6,)), ((2, 3), (4, 6)), ((1, 2, 2), (3, 4, 2))):
        for first in (True, False):
            for ncx in (True, False):
                shape = (2, 3, *space) if ncx else (2, *space, 3)
                batch = _space_to_batch(np.zeros(shape), block, first, ncx).shape
                depth = _space_to_depth(np.zeros(shape), block, first, ncx).shape
                given: dict[str, Attribute] = {
                    "block_size": block,
                    "blocks_first": first,
                    "data_format": "NCX" if ncx else "NXC",
                }

                def to_batch(x: Array, b: Any = block, f: bool = first, n: bool = ncx) -> Array:
                    return _space_to_batch(x, b, f, n)

                def to_depth(x: Array, b: Any = block, f: bool = first, n: bool = ncx) -> Array:
                    return _space_to_depth(x, b, f, n)

                yield Case("layout.space_to_batch", (reals(*shape),), to_batch, given)
                yield Case("layout.space_to_depth", (reals(*shape),), to_depth, given)
                yield Case("layout.batch_to_space", (reals(*batch),), _undone(to_batch, shape), given)
                yield Case("layout.depth_to_space", (reals(*depth),), _undone(to_depth, shape), given)


def _scattered(data: Array, indices: Array, updates: Array, axis: int) -> Array:
    found = data.copy()
    np.put_along_axis(found, indices, updates, axis)
    return found


def _gathered_nd(data: Array, indices: Array, batch: int) -> Array:
    found = (
        [_gathered_nd(one, other, batch - 1) for one, other in zip(data, indices, strict=True)]
        if batch
        else None
    )
    return np.stack(found) if found else data[tuple(np.moveaxis(indices, -1, 0))]


def _scattered_nd(data: Array, indices: Array, updates: Array, batch: int) -> Array:
    if batch:
        return np.stack(
            [_scattered_nd(*three, batch - 1) for three in zip(data, indices, updates, strict=True)]
        )
    found = data.copy()
    for place in np.ndindex(indices.shape[:-1]):
        found[tuple(indices[place])] = updates[place]
    return found


def _nonzero(x: Array) -> Array:
    return np.stack(np.nonzero(x)) if x.ndim else np.zeros((0, int(bool(x))), np.int64)


def indexing() -> Iterator[Case]:
    """Section 4.1.6; indices that occur twice have the last update."""
    for type in TYPES:
        for shape in SHAPES:
            x = np.asarray(DRAWN[type](*shape) * DRAWN["bool"](*shape, seed=5))
            yield Case("layout.nonzero", (x,), _nonzero)
        for shape, axis, places in (
            ((5,), 0, (3,)),
            ((4, 3), 0, (2, 2)),
            ((4, 3), -1, ()),
            ((2, 5, 3), 1, (4,)),
        ):
            index = integers(*places, low=0, high=shape[axis])
            yield Case(
                "layout.gather",
                (DRAWN[type](*shape), index),
                lambda x, i, axis=axis: np.take(x, i, axis),
                {"axis": axis},
            )
        for shape, axis, count in (((5,), 0, 3), ((4, 3), 1, 2), ((2, 5, 3), -2, 4)):
            some = list(shape)
            some[axis] = count
            order = np.argsort(reals(*shape), axis).take(range(count), axis)
            yield Case(
                "layout.scatter",
                (DRAWN[type](*shape), order, DRAWN[type](*some, seed=1)),
                lambda x, i, u, axis=axis: _scattered(x, i, u, axis),
                {"axis": axis},
            )
        for shape, batch, z, d in (
            ((4, 3), 0, (5,), 2),
            ((4, 3), 0, (2, 2), 1),
            ((2, 4, 3), 1, (3,), 2),
            ((2, 4, 3), 1, (2,), 1),
        ):
            indices = np.stack(
                [integers(*shape[:batch], *z, low=0, high=shape[batch + n], seed=n) for n in range(d)], -1
            )
            data, given = DRAWN[type](*shape), {"batch_dims": batch} if batch else {}
            updates = DRAWN[type](*shape[:batch], *z, *shape[batch + d :], seed=1)
            yield Case(
                "layout.gather_nd", (data, indices), lambda x, i, b=batch: _gathered_nd(x, i, b), given
            )
            yield Case(
                "layout.scatter_nd",
                (data, indices, updates),
                lambda x, i, u, b=batch: _scattered_nd(x, i, u, b),
                given,
            )
