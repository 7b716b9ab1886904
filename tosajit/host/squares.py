"""Convolutions of float32 by Winograd's F(2 × 2, 3 × 3)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from tiling.nest import Access, Nest
from tiling.records import replace
from tosajit.arrays import Array
from tosajit.host.phases import phases
from tosajit.host.unit import (
    Prepared,
    Request,
    array_unit,
    finish_of,
    grain_of,
    matrix_of,
    out_strides,
    own_constants,
)
from tosajit.kernels.contract.geometry import Geometry
from tosajit.kernels.contract.pack import pack_squares, pack_weights
from tosajit.kernels.contract.slots import SQUARE, WinogradSlot
from tosajit.kernels.contract.source import tile_source
from tosajit.kernels.contract.spec import ContractSpec
from tosajit.kernels.contract.squares_blocking import SquareBlocking

ROUNDINGS = 12
"""Of a product beside those of sums with the products after it: of operands, of itself, of sums of points."""


def squares(request: Request, made: Prepared) -> list[Nest] | None:
    """The nests that do a convolution so; None if it must not, or if that takes longer."""
    found, group, weights, isa = request.match, request.group, request.weights, request.isa
    allowed = group.reduction is not None and group.reduction.by_transforms
    by_rows = found.positions[:1] != found.places[3:]
    if weights is None or not allowed or request.left.type != "f32" or found.batch or not by_rows:
        return None
    parts = phases(request)
    blockings = [_blocking(part) for part in parts]
    plain = _blocking(request).plain_steps
    if not all(one.possible for one in blockings) or sum(one.steps for one in blockings) >= plain:
        return None
    finish = finish_of(request, None, WinogradSlot.EPILOGUE)
    if finish is None:
        return None
    matrix = matrix_of(request, weights.astype(np.float32))
    with np.errstate(over="ignore", invalid="ignore"):
        points = pack_squares(isa.lanes, matrix.reshape(len(matrix), *found.geometry.kernel[1:], -1))
    if not all(within_bounds(points, matrix, one.shape) for one in blockings):
        return None
    arrays = {"packed": points, "plain": pack_weights(isa.lanes, matrix, 1)}
    prepared = own_constants(request, made, {name: array.view(np.int32) for name, array in arrays.items()})
    return [_done(part, one, prepared, made) for part, one in zip(parts, blockings, strict=True)]


def _blocking(request: Request) -> SquareBlocking:
    """How a convolution would be done."""
    found = request.match
    steps = out_strides(request.group, found)
    return SquareBlocking(replace(found.geometry, out_strides=steps, in_strides=found.strides), request.isa)


def _done(request: Request, blocking: SquareBlocking, prepared: tuple[Access, ...], made: Prepared) -> Nest:
    """The nest of a convolution without dilation, with its unit."""
    group, found, isa = request.group, request.match, request.isa
    finish = finish_of(request, None, WinogradSlot.EPILOGUE)
    assert finish is not None
    rows = 2 if found.positions[:1] == found.places[2:3] else 1
    grain = grain_of(group, found, 2 * isa.lanes, rows)
    done = replace(group, prepared=prepared, grain=grain)
    spec = ContractSpec(isa, "winograd", "f32", "f32")
    helpers = {int(WinogradSlot.TILE): tile_source(replace(spec, kind="convolution"))}
    scratch = blocking.scratch_bytes
    made.units[done] = array_unit(
        request, done, finish, spec, WinogradSlot, blocking.slots(), helpers, scratch
    )
    return done


def within_bounds(points: Array, matrix: Array, shape: Geometry) -> bool:
    """Tell whether all errors are within the bounds of CONV2D without `local_bound`: see docs/numerics.md.

    `points` are packed, and the greatest input counts as 1.
    """
    channels, panels = shape.in_channels, points.reshape(SQUARE, SQUARE, -1, *points.shape[2:4])
    if not np.isfinite(points).all():
        return False
    roundings = np.arange(channels, 0, -1, dtype=np.float64) + ROUNDINGS
    growth = roundings * (1 + roundings * 2.0**-24)
    sizes = np.einsum("k,pqckl->pqcl", growth, np.abs(panels)).reshape(SQUARE, SQUARE, -1)
    sizes = sizes[:, :, : len(matrix)] * SQUARE
    errors = [sizes[y : y + 3, x : x + 3].sum(axis=(0, 1)) for y in range(2) for x in range(2)]
    taps = np.abs(matrix.astype(np.float64)).reshape(len(matrix), *shape.kernel[1:], -1).sum(axis=3)
    known = product(*(set(_inside(shape, axis)) for axis in (1, 2)))
    least = np.min([taps[:, np.array(y)][:, :, np.array(x)].sum(axis=(1, 2)) for y, x in known], axis=0)
    return bool((np.max(errors, axis=0) <= 2 * shape.depth * least).all())


def _inside(shape: Geometry, axis: int) -> Iterator[tuple[bool, ...]]:
    """Which taps along an axis find an input, for each output."""
    for first in range(-shape.pad[axis], shape.output[axis + 1] - shape.pad[axis]):
        yield tuple(0 <= first + tap < shape.input[axis + 1] for tap in range(shape.kernel[axis]))
