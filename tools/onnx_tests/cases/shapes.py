"""Operators that move elements."""

from __future__ import annotations

from typing import Any

import numpy as np
from drawing import Array, Random, array, shape_of

from onnx_tests.cases import Drawn, case, chance, integers, one_of

KINDS = ("float32", "float32", "float16", "int32", "int8", "uint8", "bool", "int64")


@case("Transpose")
def transposed(rng: Random, name: str) -> Drawn:
    """In any order."""
    given = _any(rng, 1, 5)
    perm = [int(one) for one in rng.permutation(given.ndim)]
    return Drawn((given,), {"perm": perm} if chance(rng, 0.8) else {})


@case("Reshape")
def reshaped(rng: Random, name: str) -> Drawn:
    """With extents that are copied or found."""
    given = _any(rng, 1, 4)
    shape = list(given.shape)[: int(rng.integers(0, given.ndim))]
    rest = given.size // int(np.prod(shape))
    shape = [0 if chance(rng, 0.4) else one for one in shape]
    return Drawn((given, integers(*shape, one_of(rng, -1, rest))), {}, (1,))


@case("Flatten")
def flattened(rng: Random, name: str) -> Drawn:
    """Two dimensions."""
    given = _any(rng, 1, 5)
    return Drawn((given,), {"axis": int(rng.integers(-given.ndim, given.ndim + 1))})


@case("Squeeze")
def squeezed(rng: Random, name: str) -> Drawn:
    """Without some dimensions of 1."""
    given = _any(rng, 1, 3)
    axes = sorted({int(one) for one in rng.integers(0, given.ndim + 1, 2)})
    wide = np.expand_dims(given, tuple(axes))
    if chance(rng, 0.3):
        return Drawn((wide,))
    return Drawn((wide, integers(*(one - (wide.ndim if chance(rng, 0.3) else 0) for one in axes))), {}, (1,))


@case("Unsqueeze")
def unsqueezed(rng: Random, name: str) -> Drawn:
    """With dimensions of 1."""
    given = _any(rng, 0, 3)
    count = int(rng.integers(1, 3))
    axes = [int(one) for one in rng.permutation(given.ndim + count)[:count]]
    return Drawn(
        (given, integers(*(one - (given.ndim + count if chance(rng, 0.3) else 0) for one in axes))), {}, (1,)
    )


@case("Concat")
def concatenated(rng: Random, name: str) -> Drawn:
    """Along an axis."""
    given = _any(rng, 1, 4)
    axis, parts = int(rng.integers(-given.ndim, given.ndim)), [given]
    while chance(rng, 0.6) and len(parts) < 5:
        shape = list(given.shape)
        shape[axis] = int(rng.integers(1, 4))
        parts.append(array(rng, given.dtype.name, tuple(shape)))
    return Drawn(tuple(parts), {"axis": axis})


@case("Split")
def divided(rng: Random, name: str) -> Drawn:
    """Into parts of stated or equal size."""
    given = _any(rng, 1, 4)
    axis = int(rng.integers(-given.ndim, given.ndim))
    extent, count = given.shape[axis], int(rng.integers(1, given.shape[axis] + 1))
    if chance(rng):
        cuts = sorted(int(one) for one in rng.permutation(np.arange(1, extent))[: count - 1])
        sizes = np.diff([0, *cuts, extent])
        return Drawn((given, integers(*sizes)), {"axis": axis}, (1,), outputs=len(sizes))
    if -(-extent // count) * (count - 1) >= extent:
        count = 1
    return Drawn((given,), {"axis": axis, "num_outputs": count}, outputs=count)


@case("Slice")
def cut(rng: Random, name: str) -> Drawn:
    """With steps of both signs, ends from behind, and ends that are too far."""
    given = _any(rng, 1, 4)
    axes = [int(one) for one in rng.permutation(given.ndim)[: rng.integers(1, given.ndim + 1)]]
    starts, ends, steps = [], [], []
    for axis in axes:
        extent, step = given.shape[axis], int(one_of(rng, 1, 1, 2, -1, -2))
        first = int(rng.integers(0, extent))
        end = int(rng.integers(first + 1, extent + 1)) if step > 0 else int(rng.integers(-1, first))
        far = chance(rng, 0.2)
        starts.append(first - extent if chance(rng, 0.3) else first)
        ends.append(2**62 if far and step > 0 else end if end >= 0 and not (far and step < 0) else -(2**62))
        steps.append(step)
    given_axes = [one - given.ndim if chance(rng, 0.3) else one for one in axes]
    return Drawn((given, *(integers(*one) for one in (starts, ends, given_axes, steps))), {}, (1, 2, 3, 4))


@case("Pad")
def padded(rng: Random, name: str) -> Drawn:
    """By a number, by what is there, or less than nothing."""
    given = array(
        rng, one_of(rng, "float32", "float32", "int32", "int8", "uint8", "float16"), shape_of(rng, 1)
    )
    mode = one_of(rng, "constant", "constant", "reflect", "edge", "wrap")
    count = given.ndim
    most = [one - 1 if mode == "reflect" else min(one, 3) for one in given.shape]
    low = -1 if mode == "constant" else 0
    sides = [
        int(rng.integers(low if one > 2 else 0, end + 1))
        for one, end in zip(given.shape * 2, most * 2, strict=True)
    ]
    value = array(rng, given.dtype.name, ()) if mode == "constant" and chance(rng) else None
    return (
        Drawn((given, integers(*sides), value), {"mode": mode}, (1, 2), opsets=(19, 21, 23))
        if count
        else Drawn((given,))
    )


@case("Expand")
def expanded(rng: Random, name: str) -> Drawn:
    """To a shape that it broadcasts with."""
    given = _any(rng, 0, 3)
    shape = [one if chance(rng) else 1 for one in given.shape]
    shape = [
        int(rng.integers(1, 4)) if one == 1 and own == 1 else one
        for one, own in zip(shape, given.shape, strict=True)
    ]
    return Drawn((given, integers(*([int(rng.integers(1, 4))] if chance(rng) else []), *shape)), {}, (1,))


@case("Tile")
def tiled(rng: Random, name: str) -> Drawn:
    """Several times."""
    given = _any(rng, 1, 4)
    return Drawn((given, integers(*rng.integers(1, 4, given.ndim))), {}, (1,))


@case("DepthToSpace SpaceToDepth")
def blocks(rng: Random, name: str) -> Drawn:
    """Channels as pixels, pixels as channels."""
    block, (n, c, h, w) = int(rng.integers(1, 4)), (int(one) for one in rng.integers(1, 4, 4))
    if name == "SpaceToDepth":
        return Drawn((array(rng, "float32", (n, c, h * block, w * block)),), {"blocksize": block})
    given = array(rng, "float32", (n, c * block**2, h, w))
    return Drawn(
        (given,), {"blocksize": block} | ({"mode": one_of(rng, "DCR", "CRD")} if chance(rng) else {})
    )


@case("Trilu")
def triangles(rng: Random, name: str) -> Drawn:
    """Above or below a diagonal."""
    given = array(rng, one_of(rng, "float32", "int32", "int64", "bool"), shape_of(rng, 2))
    attributes = {"upper": int(chance(rng))} if chance(rng, 0.7) else {}
    return Drawn((given, np.asarray(rng.integers(-3, 4))) if chance(rng) else (given,), attributes, (1,))


@case("EyeLike")
def unit_matrices(rng: Random, name: str) -> Drawn:
    """Ones on a diagonal."""
    attributes: dict[str, Any] = {"k": int(rng.integers(-2, 3))} if chance(rng) else {}
    return Drawn((array(rng, "float32", shape_of(rng, 2, 2)),), attributes)


@case("ReverseSequence")
def reversed_parts(rng: Random, name: str) -> Drawn:
    """As many of each as is stated."""
    shape = shape_of(rng, 2)
    batch = int(rng.integers(2))
    lengths = integers(*rng.integers(1, shape[1 - batch] + 1, shape[batch]))
    return Drawn(
        (array(rng, one_of(rng, *KINDS), shape), lengths), {"batch_axis": batch, "time_axis": 1 - batch}, (1,)
    )


@case("Shape Size")
def extents(rng: Random, name: str) -> Drawn:
    """What is known when the model is read."""
    given = _any(rng, 0, 4)
    ends = {key: int(rng.integers(-4, 5)) for key in ("start", "end") if chance(rng)}
    return Drawn((given,), ends if name == "Shape" else {})


def _any(rng: Random, least: int, most: int) -> Array:
    return array(rng, one_of(rng, *KINDS), shape_of(rng, least, most))
