"""Convolutions of int8 by Winograd's F(4, 3), where an instruction set multiplies int16."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tiling.nest import Nest
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
)
from tosajit.kernels.contract.pack import SCALE, pack_points, start_values, sum_bound
from tosajit.kernels.contract.slots import WinogradSlot
from tosajit.kernels.contract.source import tile_source
from tosajit.kernels.contract.spec import ContractSpec
from tosajit.kernels.contract.winograd_blocking import WinogradBlocking

LARGEST = 128
"""The largest magnitude of an int8."""


def winograd(request: Request, made: Prepared) -> Nest | None:
    """The nest that does a convolution so; None if it cannot, or if that takes longer."""
    found, group, weights = request.match, request.group, request.weights
    shape = replace(found.geometry, out_strides=out_strides(group, found), in_strides=found.strides)
    blocking = WinogradBlocking(shape, request.isa)
    types = request.left.type, request.right.type
    by_rows = found.positions[:1] != found.places[3:]
    if weights is None or types != ("i8", "i8") or found.batch or not by_rows or not blocking.pays:
        return None
    matrix = matrix_of(request, weights)
    none = np.zeros(len(matrix), np.int32)
    bound = sum_bound(matrix, none, *request.zero_points)
    finish = finish_of(request, bound, WinogradSlot.EPILOGUE)
    centred = matrix.astype(np.int64) - request.zero_points[1]
    if finish is None or np.abs(centred).sum(axis=1).max() * LARGEST * SCALE >= 1 << 31:
        return None
    scaled = finish.scaled
    bias = scaled.bias if scaled else none
    start = start_values(request.isa, centred, bias, request.zero_points[0], 0, rescale=scaled is not None)
    taps = centred.reshape(len(matrix), *shape.kernel[1:], shape.in_channels)
    arrays: dict[str, Array] = {"packed": pack_points(request.isa.lanes, taps), "start": start}
    arrays |= {"scale": scaled.packed(request.isa.lanes)} if scaled else {}
    prepared = own_constants(request, made, arrays)
    done = replace(group, prepared=prepared, grain=grain_of(group, found, 2 * request.isa.lanes))
    spec = ContractSpec(request.isa, "winograd")
    words = {int(slot): number for slot, number in blocking.slots().items()}
    words[WinogradSlot.INPUT_ZP] = request.zero_points[0]
    helpers = {int(WinogradSlot.TILE): tile_source(ContractSpec(request.isa, "convolution"))}
    scratch = blocking.scratch_bytes
    made.units[done] = array_unit(request, done, finish, spec, WinogradSlot, words, helpers, scratch)
    return done
