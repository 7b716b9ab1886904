"""Convolutions, MATMUL, pooling, ARGMAX and reductions (TOSA 1.0.1 sections 2.3 and 2.9)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from .elementwise import Rule
from .numbers import (
    Call,
    Unpredictable,
    divide_exactly,
    error_if,
    maximum,
    minimum,
    reciprocal_scale,
    require_fits,
    scale_32,
)

# One term of every sum: the values read (with zero where nothing is read) and what they are multiplied by.
Term = tuple[np.ndarray, np.ndarray]


def _zero_points(call: Call, first: int, second: int) -> tuple[int, int]:
    zero_points = call.scalar(first), call.scalar(second)
    for kind, zero_point in zip(call.input_types[:2], zero_points, strict=True):
        error_if(kind != "INT8" and zero_point != 0, "zero points are for INT8 only")
    return zero_points


def _gather(image: np.ndarray, coordinates: Sequence[np.ndarray]) -> np.ndarray:
    """Read an image at the product of coordinates per spatial axis; zero outside of it."""
    for axis, where in enumerate(coordinates, start=1):
        inside = (where >= 0) & (where < image.shape[axis])
        shape = [1] * image.ndim
        shape[axis] = len(where)
        image = np.take(image, np.where(inside, where, 0), axis) * inside.reshape(shape)
    return image


def _accumulate(terms: list[Term], shape: tuple[int, ...], acc_type: str) -> np.ndarray:
    """Add up products in the order of the terms; every partial sum must fit the accumulator."""
    total, reach = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    for value, weight in terms:
        total += (value * weight).sum(axis=-1)
        reach += (np.abs(value) * np.abs(weight)).sum(axis=-1)
    if reach.max() > maximum(acc_type):
        partial = np.concatenate(
            [np.broadcast_to(v * w, (*shape, (v * w).shape[-1])) for v, w in terms], axis=-1
        )
        partial = np.cumsum(partial, axis=-1)
        bad = ((partial < minimum(acc_type)) | (partial > maximum(acc_type))).any(axis=-1)
        if bad.any():
            raise Unpredictable(f"the accumulator leaves the range of {acc_type}", np.argwhere(bad)[0])
    return total


def _add_bias(call: Call, total: np.ndarray) -> np.ndarray:
    bias = call.inputs[2].reshape(-1)
    error_if(bias.size not in (1, total.shape[-1]), "bias must have one element, or one per output channel")
    return require_fits(total + bias, call.output_types[0], "the sum with the bias")


def _taps(kernel: Sequence[int]) -> Iterator[tuple[int, ...]]:
    return itertools.product(*(range(extent) for extent in kernel))


def _convolution_extents(call: Call, extents: Sequence[int], kernel: Sequence[int]) -> list[int]:
    pad, stride, dilation = call.numbers("pad"), call.numbers("stride"), call.numbers("dilation")
    error_if(min(pad) < 0 or min(stride) < 1 or min(dilation) < 1, "pad, stride or dilation is too small")
    result = []
    for axis, (extent, size) in enumerate(zip(extents, kernel, strict=True)):
        reach = extent - 1 + pad[2 * axis] + pad[2 * axis + 1] - (size - 1) * dilation[axis]
        result.append(divide_exactly(reach, stride[axis], "output extent") + 1)
    error_if(min(result) < 1, "the kernel is larger than the padded input")
    return result


def _forward_coordinates(call: Call, extents: Sequence[int], tap: Sequence[int]) -> list[np.ndarray]:
    pad, stride, dilation = call.numbers("pad"), call.numbers("stride"), call.numbers("dilation")
    return [
        np.arange(extent) * stride[axis] - pad[2 * axis] + tap[axis] * dilation[axis]
        for axis, extent in enumerate(extents)
    ]


def convolution(call: Call) -> list[np.ndarray]:
    """CONV2D and CONV3D, sections 2.3.3 and 2.3.4."""
    input_zp, weight_zp = _zero_points(call, 3, 4)
    image, weight = call.inputs[0] - input_zp, call.inputs[1] - weight_zp
    error_if(image.shape[-1] != weight.shape[-1], "input channels of input and weight differ")
    extents = _convolution_extents(call, image.shape[1:-1], weight.shape[1:-1])
    terms = []
    for tap in _taps(weight.shape[1:-1]):
        value = _gather(image, _forward_coordinates(call, extents, tap))
        terms.append((value[..., None, :], np.moveaxis(weight, 0, -2)[tap]))
    shape = (image.shape[0], *extents, weight.shape[0])
    return [_add_bias(call, _accumulate(terms, shape, call.output_types[0]))]


def DEPTHWISE_CONV2D(call: Call) -> list[np.ndarray]:
    """Section 2.3.5."""
    input_zp, weight_zp = _zero_points(call, 3, 4)
    image, weight = call.inputs[0] - input_zp, call.inputs[1] - weight_zp
    error_if(image.shape[-1] != weight.shape[2], "channels of input and weight differ")
    extents = _convolution_extents(call, image.shape[1:-1], weight.shape[:2])
    terms = []
    for tap in _taps(weight.shape[:2]):
        value = _gather(image, _forward_coordinates(call, extents, tap))
        terms.append((value[..., None, None], weight[tap][..., None]))
    shape = (image.shape[0], *extents, *weight.shape[2:])
    total = _accumulate(terms, shape, call.output_types[0])
    return [_add_bias(call, total.reshape(*shape[:-2], -1))]


def TRANSPOSE_CONV2D(call: Call) -> list[np.ndarray]:
    """Section 2.3.10."""
    input_zp, weight_zp = _zero_points(call, 3, 4)
    image, weight = call.inputs[0] - input_zp, call.inputs[1] - weight_zp
    error_if(image.shape[-1] != weight.shape[-1], "input channels of input and weight differ")
    pad, stride, kernel = call.numbers("out_pad"), call.numbers("stride"), weight.shape[1:3]
    error_if(min(stride) < 1, "a stride is below 1")
    extents = []
    for axis in (0, 1):
        error_if(min(pad[2 * axis : 2 * axis + 2]) <= -kernel[axis], "out_pad removes the whole kernel")
        padding = pad[2 * axis] + pad[2 * axis + 1]
        extents.append((image.shape[1 + axis] - 1) * stride[axis] + padding + kernel[axis])
    error_if(min(extents) < 1, "the output is empty")
    terms = []
    for tap in _taps(kernel):
        coordinates = []
        for axis in (0, 1):
            position = np.arange(extents[axis]) - pad[2 * axis] - tap[axis]
            aligned = (position >= 0) & (position % stride[axis] == 0)
            coordinates.append(np.where(aligned, position // stride[axis], -1))
        value = _gather(image, coordinates)
        terms.append((value[..., None, :], np.moveaxis(weight, 0, -2)[tap]))
    shape = (image.shape[0], *extents, weight.shape[0])
    return [_add_bias(call, _accumulate(terms, shape, call.output_types[0]))]


def MATMUL(call: Call) -> list[np.ndarray]:
    """Section 2.3.7."""
    a_zp, b_zp = _zero_points(call, 2, 3)
    a, b = call.inputs[0] - a_zp, call.inputs[1] - b_zp
    error_if(a.shape[0] != b.shape[0] or a.shape[2] != b.shape[1], "the extents of A and B do not match")
    shape = (a.shape[0], a.shape[1], b.shape[2])
    columns = b.transpose(0, 2, 1)[:, None, :, :]
    return [_accumulate([(a[:, :, None, :], columns)], shape, call.output_types[0])]


def _pool_extents(call: Call, image: np.ndarray) -> list[int]:
    kernel, stride, pad = call.numbers("kernel"), call.numbers("stride"), call.numbers("pad")
    error_if(min(kernel) < 1 or min(stride) < 1 or min(pad) < 0, "kernel, stride or pad is too small")
    extents = []
    for axis in (0, 1):
        error_if(max(pad[2 * axis : 2 * axis + 2]) >= kernel[axis], "pad must be smaller than the kernel")
        reach = image.shape[1 + axis] + pad[2 * axis] + pad[2 * axis + 1] - kernel[axis]
        extents.append(divide_exactly(reach, stride[axis], "output extent") + 1)
    error_if(min(extents) < 1, "the kernel is larger than the padded input")
    return extents


def _windows(call: Call, image: np.ndarray) -> Iterator[tuple[tuple[int, int], np.ndarray]]:
    """Yield every output position with the input values under its kernel, as [N, values, C]."""
    kernel, stride, pad = call.numbers("kernel"), call.numbers("stride"), call.numbers("pad")
    for oy, ox in _taps(_pool_extents(call, image)):
        y, x = oy * stride[0] - pad[0], ox * stride[1] - pad[2]
        window = image[:, max(y, 0) : max(y + kernel[0], 0), max(x, 0) : max(x + kernel[1], 0)]
        yield (oy, ox), window.reshape(image.shape[0], -1, image.shape[3])


def AVG_POOL2D(call: Call) -> list[np.ndarray]:
    """Section 2.3.2."""
    image, input_zp, output_zp = call.inputs[0], call.scalar(1), call.scalar(2)
    kind = call.input_types[0]
    error_if(kind != "INT8" and (input_zp != 0 or output_zp != 0), "zero points are for INT8 only")
    result = np.zeros((image.shape[0], *_pool_extents(call, image), image.shape[3]), np.int64)
    for (oy, ox), window in _windows(call, image):
        sums = np.cumsum(window - input_zp, axis=1)
        try:
            require_fits(sums, "INT32", "the accumulator")
            acc = scale_32(sums[:, -1], *reciprocal_scale(window.shape[1]), False)
        except Unpredictable as fault:
            raise Unpredictable(fault.rule, (fault.index[0], oy, ox, fault.index[-1])) from None
        result[:, oy, ox] = np.clip(acc + output_zp, minimum(kind), maximum(kind))
    return [result]


def MAX_POOL2D(call: Call) -> list[np.ndarray]:
    """Section 2.3.8."""
    image = call.inputs[0]
    result = np.zeros((image.shape[0], *_pool_extents(call, image), image.shape[3]), np.int64)
    for (oy, ox), window in _windows(call, image):
        result[:, oy, ox] = window.max(axis=1)
    return [result]


def _axis(call: Call) -> int:
    axis = int(call.attributes["axis"])
    error_if(not 0 <= axis < call.inputs[0].ndim, f"axis {axis} is not one of the input's")
    return axis


def ARGMAX(call: Call) -> list[np.ndarray]:
    """Section 2.3.1: the first of equal values wins."""
    return [np.argmax(call.inputs[0], axis=_axis(call))]


def REDUCE_SUM(call: Call) -> list[np.ndarray]:
    """Section 2.9.6: every partial sum must fit."""
    axis, value = _axis(call), call.inputs[0]
    partial = np.cumsum(value, axis=axis)
    fits = ((partial >= minimum("INT32")) & (partial <= maximum("INT32"))).all(axis=axis, keepdims=True)
    if not fits.all():
        raise Unpredictable("the sum leaves the range of INT32", np.argwhere(~fits)[0])
    return [value.sum(axis=axis, keepdims=True)]


TENSOR: dict[str, Rule] = {
    "ARGMAX": ARGMAX,
    "AVG_POOL2D": AVG_POOL2D,
    "CONV2D": convolution,
    "CONV3D": convolution,
    "DEPTHWISE_CONV2D": DEPTHWISE_CONV2D,
    "MATMUL": MATMUL,
    "MAX_POOL2D": MAX_POOL2D,
    "TRANSPOSE_CONV2D": TRANSPOSE_CONV2D,
    "REDUCE_ALL": lambda call: [call.inputs[0].min(axis=_axis(call), keepdims=True)],
    "REDUCE_ANY": lambda call: [call.inputs[0].max(axis=_axis(call), keepdims=True)],
    "REDUCE_MAX": lambda call: [call.inputs[0].max(axis=_axis(call), keepdims=True)],
    "REDUCE_MIN": lambda call: [call.inputs[0].min(axis=_axis(call), keepdims=True)],
    "REDUCE_SUM": REDUCE_SUM,
}
