"""Convolutions and fully connected layers."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.tflite_cases import Sketch, case
from tests.tflite_cases.arithmetic import ACTIVATIONS
from tests.tflite_cases.sketch import Quantized
from tosajit.frontends.tflite.fields import Padding
from tosajit.frontends.tflite.options import Conv2DOptions, DepthwiseConv2DOptions, FullyConnectedOptions
from tosajit.frontends.tflite.schema import Type

TYPES = "float32 int8 uint8 int16"


@case("CONV_2D", TYPES)
def convolution(sketch: Sketch, kind: Type) -> None:
    kernel, stride, dilation, padding, image = window(sketch)
    groups = sketch.random.choice([1, 1, 1, 2]) if kind is not Type.UINT8 else 1
    depth, count = sketch.random.randint(1, 5), groups * sketch.random.randint(1, 4)
    options = Conv2DOptions(
        padding, stride[1], stride[0], sketch.random.choice(ACTIVATIONS), dilation[1], dilation[0],
        bias_type(sketch, kind),
    )  # fmt: skip
    size = out_size(image, kernel, stride, dilation, padding)
    weighted(
        sketch, kind, (2, *image, groups * depth), (count, *kernel, depth), (2, *size, count), 0, options,
        {Type.INT8: 3, Type.INT16: 4}.get(kind, 1) if groups == 1 else 6,
    )  # fmt: skip


@case("DEPTHWISE_CONV_2D", TYPES)
def depthwise(sketch: Sketch, kind: Type) -> None:
    kernel, stride, dilation, padding, image = window(sketch)
    stride = (stride[0], stride[0])
    channels, multiplier = sketch.random.randint(1, 5), sketch.random.choice([1, 1, 2, 3])
    options = DepthwiseConv2DOptions(
        padding, stride[1], stride[0], multiplier, sketch.random.choice(ACTIVATIONS), dilation[1], dilation[0]
    )
    size, count = out_size(image, kernel, stride, dilation, padding), channels * multiplier
    weighted(
        sketch, kind, (2, *image, channels), (1, *kernel, count), (2, *size, count), 3, options,
        {Type.INT8: 3, Type.INT16: 5}.get(kind, 2),
    )  # fmt: skip


@case("FULLY_CONNECTED", TYPES)
def fully_connected(sketch: Sketch, kind: Type) -> None:
    depth, count = sketch.random.randint(1, 40), sketch.random.randint(1, 9)
    keep = sketch.chance() and kind is not Type.UINT8
    rows = sketch.shape(1, 2)
    options = FullyConnectedOptions(
        sketch.random.choice(ACTIVATIONS), keep_num_dims=keep, quantized_bias_type=bias_type(sketch, kind)
    )
    shape = (*rows, count) if keep else (int(np.prod(rows)), count)
    # LiteRT's reference kernel rounds once where its optimised ones, and we, round twice.
    sketch.steps = 0 if kind is Type.FLOAT32 else 1
    weighted(
        sketch, kind, (*rows, depth), (count, depth), shape, 0, options,
        {Type.INT8: 5, Type.INT16: 7}.get(kind, 5 if keep else 2),
    )  # fmt: skip


def weighted(
    sketch: Sketch, kind: Type, shape: tuple[int, ...], weights: tuple[int, ...], result: tuple[int, ...],
    axis: int, options: Any, version: int,
) -> None:  # fmt: skip
    """An operator with an input, weights and a bias, whose result has about the range that sums have."""
    value = sketch.operand(kind, shape)
    depth = int(np.prod(weights)) // weights[axis]
    if kind is Type.FLOAT32:
        places = [value, sketch.operand(kind, weights, constant=sketch.chance(0.8))]
        if sketch.name == "CONV_2D" or sketch.chance(0.8):  # LiteRT's CONV_2D wants a bias
            places.append(sketch.operand(kind, (weights[axis],), constant=True))
        sketch.absolute = 1e-5
        sketch.add(places, sketch.result(kind, result), options, version=version)
        return
    scale = sketch.tensors[value].scale[0]
    per_axis = kind is not Type.UINT8 and sketch.chance(0.8)
    scales = tuple(sketch.scale(1e-3, 1e-2) for _ in range(weights[axis] if per_axis else 1))
    narrow = Type.UINT8 if kind is Type.UINT8 else Type.INT8
    points = (sketch.random.randint(0, 255),) if kind is Type.UINT8 else (0,) * len(scales)
    along: Quantized = {"scale": scales, "zero_point": points, "axis": axis if per_axis else 0}
    fewer = few_bits(sketch, kind)
    if fewer is None:
        filters = sketch.constant(narrow, sketch.elements(narrow, weights), **along)
    else:
        filters = sketch.packed(fewer, weights, **along)
    places = [value, filters]
    if sketch.name == "CONV_2D" or sketch.chance(0.8):  # LiteRT's CONV_2D wants a bias
        wide = Type.INT64 if kind is Type.INT16 else Type.INT32
        if kind is Type.INT16 and getattr(options, "quantized_bias_type", None) is Type.INT32:
            wide = Type.INT32
        bias = sketch.numbers.integers(-3000, 3000, weights[axis])
        bias_scales = tuple(float(np.float32(np.float32(scale) * np.float32(one))) for one in scales)
        places.append(sketch.constant(wide, bias, scale=bias_scales, zero_point=(0,) * len(scales)))
    reach = (
        np.sqrt(depth)
        * (100 if narrow is Type.INT8 else 140)
        * max(scales)
        * scale
        * sketch.random.uniform(0.1, 2)
    )
    reach *= 100 if kind is not Type.INT16 else 20000
    output_scale = float(np.float32(reach / (127 if kind is not Type.INT16 else 32767)))
    sketch.add(places, sketch.result(kind, result, scale=(output_scale,)), options, version=version)


def bias_type(sketch: Sketch, kind: Type) -> Type:
    """What sums of int16 are kept in, as models say it."""
    return sketch.random.choice([Type.INT64, Type.INT32]) if kind is Type.INT16 else Type.FLOAT32


def few_bits(sketch: Sketch, kind: Type) -> Type | None:
    """Weights of less than 8 bits, where LiteRT has a kernel for them."""
    known: dict[str, dict[Type, tuple[Type, ...]]] = {
        "FULLY_CONNECTED": {Type.INT8: (Type.INT4, Type.INT2), Type.INT16: (Type.INT4, Type.INT2)},
        "CONV_2D": {Type.INT8: (Type.INT4,), Type.INT16: (Type.INT4,)},
        "DEPTHWISE_CONV_2D": {Type.INT8: (Type.INT4,)},
    }
    found = known.get(sketch.name, {}).get(kind, ())
    return sketch.random.choice(found) if found and sketch.chance(0.3) else None


def window(sketch: Sketch) -> tuple[Any, Any, Any, Padding, Any]:
    """Kernel, stride, dilation, padding and an image that they fit in."""
    kernel = sketch.random.randint(1, 4), sketch.random.randint(1, 4)
    stride = sketch.random.randint(1, 3), sketch.random.randint(1, 3)
    dilation = (1, 1) if sketch.chance(0.7) else (sketch.random.randint(1, 2), sketch.random.randint(1, 3))
    padding = sketch.random.choice(list(Padding))
    least = [(size - 1) * gap + 1 for size, gap in zip(kernel, dilation, strict=True)]
    return kernel, stride, dilation, padding, tuple(one + sketch.random.randint(0, 6) for one in least)


def out_size(image: Any, kernel: Any, stride: Any, dilation: Any, padding: Padding) -> tuple[int, ...]:
    """Extents of a result."""
    return tuple(
        -(-extent // step) if padding is Padding.SAME else (extent - (size - 1) * gap - 1) // step + 1
        for extent, size, step, gap in zip(image, kernel, stride, dilation, strict=True)
    )
