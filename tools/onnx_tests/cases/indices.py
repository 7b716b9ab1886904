"""Operators that read and write at places."""

from __future__ import annotations

from typing import Any

import numpy as np
from drawing import Array, Random, array, shape_of

from onnx_tests.cases import Drawn, case, chance, one_of

KINDS = ("float32", "float32", "int32", "int8", "uint8", "int64", "float16", "bool")


@case("Gather")
def gathered(rng: Random, name: str) -> Drawn:
    """Slices at places, from both ends."""
    given = array(rng, one_of(rng, *KINDS), shape_of(rng, 1))
    axis = int(rng.integers(-given.ndim, given.ndim))
    places = _places(rng, shape_of(rng, 0, 2), given.shape[axis])
    return Drawn((given, places), {"axis": axis} if axis or chance(rng) else {}, _constant(rng))


@case("GatherElements")
def gathered_elements(rng: Random, name: str) -> Drawn:
    """Elements at places along an axis."""
    given = array(rng, one_of(rng, *KINDS), shape_of(rng, 1))
    axis = int(rng.integers(-given.ndim, given.ndim))
    shape = [int(rng.integers(1, one + 1)) for one in given.shape]
    shape[axis] = int(rng.integers(1, 5))
    return Drawn((given, _places(rng, tuple(shape), given.shape[axis])), {"axis": axis}, _constant(rng))


@case("GatherND")
def gathered_rows(rng: Random, name: str) -> Drawn:
    """Slices at places of several dimensions."""
    given = array(rng, one_of(rng, *KINDS), shape_of(rng, 2))
    batch = int(rng.integers(0, given.ndim - 1)) if chance(rng, 0.4) else 0
    depth = int(rng.integers(1, given.ndim - batch + 1))
    lead = (*given.shape[:batch], *shape_of(rng, 1, 2))
    places = np.stack([_places(rng, lead, one) for one in given.shape[batch : batch + depth]], -1)
    return Drawn((given, places.astype(np.int64)), {"batch_dims": batch} if batch else {}, _constant(rng))


@case("ScatterElements")
def scattered(rng: Random, name: str) -> Drawn:
    """Elements to places along an axis, added, multiplied or compared with what is there."""
    given = array(rng, one_of(rng, "float32", "int32"), shape_of(rng, 1))
    axis, how = int(rng.integers(-given.ndim, given.ndim)), one_of(rng, "none", "add", "mul", "max", "min")
    shape = [int(rng.integers(1, one + 1)) for one in given.shape]
    if how == "none":
        order = [
            rng.permutation(given.shape[axis])[: shape[axis]]
            for _ in range(int(np.prod(shape)) // shape[axis])
        ]
        places = np.moveaxis(np.reshape(order, [*(np.delete(shape, axis)), shape[axis]]), -1, axis).astype(
            np.int64
        )
    else:
        places = _places(rng, tuple(shape), given.shape[axis]).astype(np.int64)
    updates = array(rng, given.dtype.name, places.shape)
    return Drawn((given, places, updates), {"axis": axis} | _how(how), _constant(rng))


@case("ScatterND")
def scattered_rows(rng: Random, name: str) -> Drawn:
    """Slices to places."""
    given = array(rng, one_of(rng, "float32", "int32"), shape_of(rng, 1))
    depth, how = int(rng.integers(1, given.ndim + 1)), one_of(rng, "none", "add", "mul", "max", "min")
    total = int(np.prod(given.shape[:depth]))
    count = int(rng.integers(1, total + 1))
    flat = rng.permutation(total)[:count] if how == "none" else rng.integers(0, total, count)
    places = np.stack(np.unravel_index(flat, given.shape[:depth]), -1).astype(np.int64)
    updates = array(rng, given.dtype.name, (count, *given.shape[depth:]))
    return Drawn((given, places, updates), _how(how), _constant(rng))


@case("OneHot")
def one_hot(rng: Random, name: str) -> Drawn:
    """A row for each place."""
    depth, places = int(rng.integers(1, 7)), shape_of(rng, 0, 3)
    axis = int(rng.integers(-len(places) - 1, len(places) + 1))
    values = array(rng, "float32", (2,))
    return Drawn((_places(rng, places, depth), np.asarray(depth), values), {"axis": axis}, (1, 2))


@case("Compress")
def compressed(rng: Random, name: str) -> Drawn:
    """Slices by truths that the model holds."""
    given = array(rng, "float32", shape_of(rng, 1))
    axis = int(rng.integers(-given.ndim, given.ndim))
    keep = array(rng, "bool", (given.shape[axis],))
    keep[rng.integers(keep.size)] = True
    return Drawn((given, keep), {"axis": axis}, (1,))


@case("Range")
def ranges(rng: Random, name: str) -> Drawn:
    """What is known when the model is read."""
    start, count, step = int(rng.integers(-5, 5)), int(rng.integers(1, 9)), int(one_of(rng, 1, 2, -1, 3))
    kind = one_of(rng, np.int64, np.int32, np.float32)
    return Drawn(tuple(np.asarray(one, kind) for one in (start, start + count * step, step)), {}, (0, 1, 2))


def _places(rng: Random, shape: tuple[int, ...], extent: int) -> Array:
    low = -extent if chance(rng) else 0
    return np.asarray(rng.integers(low, extent, shape)).astype(one_of(rng, np.int64, np.int32))


def _constant(rng: Random) -> tuple[int, ...]:
    return (1,) if chance(rng) else ()


def _how(how: str) -> dict[str, Any]:
    return {} if how == "none" else {"reduction": how}


@case("TensorScatter")
def cached(rng: Random, name: str) -> Drawn:
    """Rows of a cache replaced, from its middle on, or round its end."""
    shape = shape_of(rng, 3)
    axis = int(rng.integers(1, len(shape)))
    count = int(rng.integers(1, shape[axis] + 1))
    mode = one_of(rng, "linear", "circular")
    most = shape[axis] - count if mode == "linear" else 2 * shape[axis]
    first = (np.asarray(rng.integers(0, most + 1, shape[:1])),) if chance(rng, 0.7) else ()
    given = array(rng, one_of(rng, *KINDS), shape)
    update = array(rng, given.dtype.name, (*shape[:axis], count, *shape[axis + 1 :]))
    return Drawn((given, update, *first), {"axis": axis - len(shape), "mode": mode}, opsets=(24,))
