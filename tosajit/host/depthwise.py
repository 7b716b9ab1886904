"""Depthwise convolutions for the array kernels."""

from __future__ import annotations

import numpy as np

from tiling.nest import Access, Nest
from tiling.records import replace
from tosajit.arrays import Array
from tosajit.host import reasons
from tosajit.host.epilogue import output_steps
from tosajit.host.match import Match
from tosajit.host.reasons import Reason
from tosajit.host.unit import (
    Finish,
    Prepared,
    Request,
    arranged,
    array_unit,
    columns_apart,
    finish_of,
    grain_of,
    own_constants,
    raised,
)
from tosajit.kernels.contract.blocking import DepthwiseBlocking, PixelBlocking
from tosajit.kernels.contract.geometry import DepthwiseGeometry
from tosajit.kernels.contract.pack import pack_depthwise, start_values, sum_bound
from tosajit.kernels.contract.slots import DepthwiseSlot, PixelSlot
from tosajit.kernels.contract.source import depthwise_gather_source
from tosajit.kernels.contract.spec import ContractSpec


def depthwise(request: Request, made: Prepared) -> list[Nest] | Reason:
    """The nest that does a depthwise convolution with the array kernel, or why it cannot."""
    found, weights = request.match, request.weights
    shape = _geometry(found)
    if weights is None:
        return reasons.RUN_TIME
    if shape is None:
        return reasons.DIMENSIONS
    if found.geometry.floating:
        return _of_floats(request, made, weights, shape)
    if request.right.type != "i8":
        return reasons.types(request.left.type, request.right.type)
    taps = _taps(request, weights, shape)
    columns = shape.out_channels
    matrix = np.ascontiguousarray(taps.reshape(-1, columns).T)
    narrow, none = request.left.type == "i8", np.zeros(columns, np.int32)
    bound = sum_bound(matrix, none, *request.zero_points) if narrow else None
    zero, weight_zero = request.zero_points
    is_pixel = narrow and weight_zero == 0 and shape.is_pixel
    finish = finish_of(request, bound, PixelSlot.EPILOGUE if is_pixel else DepthwiseSlot.EPILOGUE)
    if finish is None:
        return reasons.EPILOGUE
    scaled = finish.scaled
    width = max(shape.element_bytes, request.isa.byte_width)
    if narrow:
        centred, bias = matrix.astype(np.int64) - weight_zero, scaled.bias if scaled else none
        start = start_values(request.isa, centred, bias, zero, 0, rescale=raised(scaled))
    else:
        start = np.zeros(request.isa.padded(columns), np.int64)
    packed, parts = pack_depthwise(request.isa.lanes, taps[..., np.newaxis], weight_zero, width)
    arrays = {"packed": packed, "start": start} | (
        {"scale": scaled.packed(request.isa.lanes)} if scaled else {}
    )
    prepared = own_constants(request, made, arrays)
    if is_pixel:
        return [_pixel(request, made, prepared, shape, finish)]
    return [_finished(request, made, prepared, replace(shape, parts=parts), finish)]


def _of_floats(
    request: Request, made: Prepared, weights: Array, shape: DepthwiseGeometry
) -> list[Nest] | Reason:
    """The depthwise convolution of float32 with its constant weights of any floating-point type."""
    finish = finish_of(request, None, DepthwiseSlot.EPILOGUE, ends=True)
    if request.left.type != "f32":
        return reasons.types(request.left.type, request.right.type)
    if finish is None:
        return reasons.EPILOGUE
    taps = _taps(request, weights.astype(np.float32), shape)
    packed, _ = pack_depthwise(request.isa.lanes, taps[..., np.newaxis], 0, shape.element_bytes)
    prepared = own_constants(request, made, {"packed": packed.view(np.int32)})
    return [_finished(request, made, prepared, shape, finish)]


def _geometry(found: Match) -> DepthwiseGeometry | None:
    """The two-dimensional shape; None if there are three dimensions."""
    shape = found.geometry
    if shape.kernel[0] != 1 or shape.input[1] != 1 or found.places[1] is not None:
        return None
    return DepthwiseGeometry(
        input=(shape.input[0], *shape.input[2:]),
        output=(shape.output[0], *shape.output[2:]),
        in_channels=shape.out_channels,
        kernel=shape.kernel[1:],
        stride=shape.stride[1:],
        pad=shape.pad[1:],
        dilation=shape.dilation[1:],
        element_bytes=shape.element_bytes,
    )


def _taps(request: Request, weights: Array, shape: DepthwiseGeometry) -> Array:
    """The weights as [KH][KW][C]."""
    found = request.match
    assert found.column is not None
    taps = np.ascontiguousarray(arranged(weights, request.right, request.group, [*found.depth, found.column]))
    return taps.reshape(*shape.kernel, -1)


def _pixel(
    request: Request, made: Prepared, prepared: tuple[Access, ...], shape: DepthwiseGeometry, finish: Finish
) -> Nest:
    """The group of a single pixel, and its unit."""
    done = _prepared(request, prepared)
    down, across = (
        step * apart for step, apart in zip(request.match.strides[2:], shape.dilation, strict=True)
    )
    blocking, spec = PixelBlocking(shape, request.isa, (down, across)), ContractSpec(request.isa, "pixel")
    words, scratch = blocking.slots(), blocking.scratch_bytes
    made.units[done] = array_unit(request, done, finish, spec, PixelSlot, words, {}, scratch)
    return done


def _prepared(request: Request, prepared: tuple[Access, ...]) -> Nest:
    """The group with its prepared operands."""
    grain = grain_of(request.group, request.match, columns_apart(request, 4))
    return replace(request.group, prepared=prepared, grain=grain)


def _finished(
    request: Request, made: Prepared, prepared: tuple[Access, ...], shape: DepthwiseGeometry, finish: Finish
) -> Nest:
    """The group with its prepared operands, and its unit."""
    found, slots = request.match, DepthwiseSlot
    done = _prepared(request, prepared)
    blocking = DepthwiseBlocking(shape, request.isa)
    words = {**blocking.slots()}
    steps = output_steps(request.group)
    for slot, place in ((slots.OUT_N, 0), (slots.OUT_Y, 2), (slots.OUT_X, 3)):
        axis = found.places[place]
        words[slot] = steps[axis] if axis is not None else 0
    for slot, place in ((slots.IN_N, 0), (slots.IN_Y, 2), (slots.IN_X, 3)):
        words[slot] = found.strides[place] * shape.element_bytes
    words[slots.BLANK_BYTE] = request.zero_points[0] + request.isa.bias if shape.element_bytes == 1 else 0
    right = "f32" if shape.floating else "i8"
    spec = ContractSpec(request.isa, "depthwise", request.left.type, right)
    helpers = {int(slots.GATHER): depthwise_gather_source(spec)}
    made.units[done] = array_unit(request, done, finish, spec, slots, words, helpers, blocking.scratch_bytes)
    return done
