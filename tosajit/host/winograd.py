"""Convolutions of int8 by Winograd's F(4, 3), along x or both axes, where a set multiplies int16."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

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
    raised,
)
from tosajit.kernels.contract.geometry import Geometry
from tosajit.kernels.contract.pack import (
    OUTPUTS,
    pack_points,
    pack_points_of_squares,
    start_values,
    sum_bound,
)
from tosajit.kernels.contract.slots import WinogradSlot
from tosajit.kernels.contract.source import tile_source
from tosajit.kernels.contract.spec import ContractSpec
from tosajit.kernels.contract.winograd_blocking import SquaresBlocking, WinogradBlocking
from tosajit.kernels.sets.description import LARGEST, InstructionSet

KINDS = SquaresBlocking, WinogradBlocking
"""By both axes, or along x; the first that can be is best."""


def winograd(request: Request, made: Prepared) -> list[Nest] | None:
    """The nests that do a convolution so; None if it cannot, or if that takes longer."""
    request = replace(request, isa=request.isa.words or request.isa)
    found, weights, isa = request.match, request.weights, request.isa
    types = request.left.type, request.right.type
    by_rows = found.positions[:1] != found.places[3:]
    if weights is None or types != ("i8", "i8") or found.batch or not by_rows:
        return None
    parts = phases(request)
    shapes = [_shape(part) for part in parts]
    if not any(all(kind(shape, isa).pays for shape in shapes) for kind in KINDS):
        return None
    matrix = matrix_of(request, weights)
    bound = sum_bound(matrix, np.zeros(len(matrix), np.int32), *request.zero_points)
    finish = finish_of(request, bound, WinogradSlot.EPILOGUE)
    centred = matrix.astype(np.int64) - request.zero_points[1]
    chosen = _chosen(shapes, isa, centred) if finish else None
    if finish is None or chosen is None:
        return None
    blockings, packed = chosen
    scaled = finish.scaled
    bias = scaled.bias if scaled else np.zeros(len(matrix), np.int32)
    start = start_values(isa, centred, bias, request.zero_points[0], 0, rescale=raised(scaled))
    arrays: dict[str, Array] = {"packed": packed, "start": start}
    arrays |= {"scale": scaled.packed(isa.lanes)} if scaled else {}
    prepared = own_constants(request, made, arrays)
    both = zip(parts, blockings, strict=True)
    return [_done(part, blocking, prepared, bound, made) for part, blocking in both]


def _shape(request: Request) -> Geometry:
    """The shape of a convolution, and how far its pixels are from each other."""
    found = request.match
    steps = out_strides(request.group, found)
    return replace(found.geometry, out_strides=steps, in_strides=found.strides)


def _done(
    request: Request, blocking: WinogradBlocking, prepared: tuple[Access, ...], bound: Array, made: Prepared
) -> Nest:
    """The nest of a convolution without dilation, with its unit."""
    group, found, isa = request.group, request.match, request.isa
    finish = finish_of(request, bound, WinogradSlot.EPILOGUE)
    assert finish is not None
    squares = isinstance(blocking, SquaresBlocking)
    rows = OUTPUTS if squares and found.positions[:1] == found.places[2:3] else 1
    grain = grain_of(group, found, 2 * isa.lanes, rows)
    done = replace(group, prepared=prepared, grain=grain)
    spec = ContractSpec(isa, "winograd squares" if squares else "winograd")
    words = {**blocking.slots(), WinogradSlot.INPUT_ZP: request.zero_points[0]}
    helpers = {int(WinogradSlot.TILE): tile_source(ContractSpec(isa, "convolution"))}
    scratch = blocking.scratch_bytes
    made.units[done] = array_unit(request, done, finish, spec, WinogradSlot, words, helpers, scratch)
    return done


def _chosen(
    shapes: Sequence[Geometry], isa: InstructionSet, matrix: NDArray[np.int64]
) -> tuple[Sequence[WinogradBlocking], Array] | None:
    """How a matrix of weights is multiplied, and what it becomes; None if sums would not be exact."""
    first = shapes[0]
    taps = matrix.reshape(len(matrix), *first.kernel[1:], first.in_channels)
    largest = int(np.abs(matrix).sum(axis=1).max()) * LARGEST
    both, along_x = ([kind(shape, isa) for shape in shapes] for kind in KINDS)
    if all(one.pays and one.holds(largest) for one in both):
        packed = pack_points_of_squares(isa.lanes, taps)
        if packed is not None:
            return both, packed
    if all(one.pays and one.holds(largest) for one in along_x):
        return along_x, pack_points(isa.lanes, taps)
    return None
