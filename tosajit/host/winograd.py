"""Convolutions of int8 by Winograd's F(4, 3), along x or both axes, where a set multiplies int16."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tiling.nest import Nest
from tiling.records import replace
from tosajit.arrays import Array
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


def winograd(request: Request, made: Prepared) -> Nest | None:
    """The nest that does a convolution so; None if it cannot, or if that takes longer."""
    request = replace(request, isa=request.isa.words or request.isa)
    found, group, weights, isa = request.match, request.group, request.weights, request.isa
    shape = replace(found.geometry, out_strides=out_strides(group, found), in_strides=found.strides)
    types = request.left.type, request.right.type
    by_rows = found.positions[:1] != found.places[3:]
    pays = WinogradBlocking(shape, isa).pays or SquaresBlocking(shape, isa).pays
    if weights is None or types != ("i8", "i8") or found.batch or not by_rows or not pays:
        return None
    matrix = matrix_of(request, weights)
    none = np.zeros(len(matrix), np.int32)
    finish = finish_of(request, sum_bound(matrix, none, *request.zero_points), WinogradSlot.EPILOGUE)
    centred = matrix.astype(np.int64) - request.zero_points[1]
    chosen = _chosen(shape, isa, centred) if finish else None
    if finish is None or chosen is None:
        return None
    blocking, packed = chosen
    scaled = finish.scaled
    bias = scaled.bias if scaled else none
    start = start_values(isa, centred, bias, request.zero_points[0], 0, rescale=raised(scaled))
    arrays: dict[str, Array] = {"packed": packed, "start": start}
    arrays |= {"scale": scaled.packed(isa.lanes)} if scaled else {}
    squares = isinstance(blocking, SquaresBlocking)
    rows = OUTPUTS if squares and found.positions[:1] == found.places[2:3] else 1
    grain = grain_of(group, found, 2 * isa.lanes, rows)
    done = replace(group, prepared=own_constants(request, made, arrays), grain=grain)
    spec = ContractSpec(isa, "winograd squares" if squares else "winograd")
    words = {**blocking.slots(), WinogradSlot.INPUT_ZP: request.zero_points[0]}
    helpers = {int(WinogradSlot.TILE): tile_source(ContractSpec(isa, "convolution"))}
    scratch = blocking.scratch_bytes
    made.units[done] = array_unit(request, done, finish, spec, WinogradSlot, words, helpers, scratch)
    return done


def _chosen(
    shape: Geometry, isa: InstructionSet, matrix: NDArray[np.int64]
) -> tuple[WinogradBlocking, Array] | None:
    """How a matrix of weights is multiplied, and what it becomes; None if sums would not be exact."""
    taps = matrix.reshape(len(matrix), *shape.kernel[1:], shape.in_channels)
    largest = int(np.abs(matrix).sum(axis=1).max()) * LARGEST
    both, along_x = SquaresBlocking(shape, isa), WinogradBlocking(shape, isa)
    packed = pack_points_of_squares(isa.lanes, taps) if both.pays and both.holds(largest) else None
    if packed is not None:
        return both, packed
    return (along_x, pack_points(isa.lanes, taps)) if along_x.pays and along_x.holds(largest) else None
