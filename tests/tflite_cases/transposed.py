"""Convolutions of volumes, and transposed ones."""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import Any

from litert import Kernels

from tests.tflite_cases import Sketch, case
from tests.tflite_cases.arithmetic import ACTIVATIONS
from tests.tflite_cases.convolution import TYPES, out_size, weighted
from tosajit.frontends.tflite.fields import Activation, Padding
from tosajit.frontends.tflite.options import Conv3DOptions, TransposeConvOptions
from tosajit.frontends.tflite.schema import Type


@case("TRANSPOSE_CONV", TYPES)
def transposed_images(sketch: Sketch, kind: Type) -> None:
    kernel, stride, padding, size = windows(sketch, 2)
    depth, count = sketch.random.randint(1, 5), sketch.random.randint(1, 4)
    image = out_size(size, kernel, stride, (1, 1), padding)
    options = TransposeConvOptions(
        padding, stride[1], stride[0], sketch.random.choice(ACTIVATIONS),
        Type.INT64 if kind is Type.INT16 else Type.FLOAT32,
    )  # fmt: skip
    weighted(
        sketch, kind, (2, *image, depth), (count, *kernel, depth), (2, *size, count), 0, options,
        4 if kind is Type.INT16 else 3,
    )  # fmt: skip
    sized(sketch, (2, *size, count))


@case("Convolution2DTransposeBias", "float32")
def least_transposed_images(sketch: Sketch, kind: Type) -> None:
    sketch.kernels = Kernels.XNNPACK  # the others lack it
    kernel, stride, padding, _ = windows(sketch, 2)
    depth, count = sketch.random.randint(1, 5), sketch.random.randint(1, 4)
    image = sketch.random.randint(1, 6), sketch.random.randint(1, 6)
    same = padding is Padding.SAME
    reach = stride if same else tuple(map(max, kernel, stride))
    size = [(extent - 1) * step + one for extent, step, one in zip(image, stride, reach, strict=True)]
    given = [
        sketch.operand(kind, (1, *image, depth), constant=False),
        sketch.operand(kind, (count, *kernel, depth), constant=True),
        sketch.operand(kind, (count,), constant=True),
    ]
    options = struct.pack("<3i", 1 if same else 2, stride[1], stride[0])
    sketch.add(given, [sketch.result(kind, (1, *size, count))], custom=options)


@case("CONV_3D", "float32")
def volumes(sketch: Sketch, kind: Type) -> None:
    kernel, stride, padding, _ = windows(sketch, 3)
    depth, count = sketch.random.randint(1, 3), sketch.random.randint(1, 3)
    dilation = tuple(sketch.random.choice([1, 1, 2]) for _ in kernel)
    reach = [
        (one - 1) * gap + 1 + sketch.random.randint(0, 4) for one, gap in zip(kernel, dilation, strict=True)
    ]
    result = (1, *out_size(reach, kernel, stride, dilation, padding), count)
    options = volume_options(sketch, padding, stride, dilation)
    weighted(sketch, kind, (1, *reach, depth), (*kernel, depth, count), result, 4, options, 1)


@case("CONV_3D_TRANSPOSE", "float32")
def transposed_volumes(sketch: Sketch, kind: Type) -> None:
    kernel, stride, padding, size = windows(sketch, 3)
    depth, count = sketch.random.randint(1, 3), sketch.random.randint(1, 3)
    volume = out_size(size, kernel, stride, (1, 1, 1), padding)
    options = volume_options(sketch, padding, stride, (1, 1, 1))
    weighted(sketch, kind, (1, *volume, depth), (*kernel, count, depth), (1, *size, count), 3, options, 1)
    sized(sketch, (1, *size, count))


def windows(sketch: Sketch, rank: int) -> tuple[Any, Any, Padding, Any]:
    """Kernel, stride and padding, and extents that have at least one window."""
    kernel = tuple(sketch.random.randint(1, 4) for _ in range(rank))
    stride = tuple(sketch.random.randint(1, 3) for _ in range(rank))
    size = tuple(one + sketch.random.randint(0, 8) for one in kernel)
    return kernel, stride, sketch.random.choice(list(Padding)), size


def volume_options(sketch: Sketch, padding: Padding, stride: Any, dilation: Any) -> Conv3DOptions:
    """Attributes by width before height, as their table has them."""
    activation: Activation = sketch.random.choice(ACTIVATIONS)
    return Conv3DOptions(
        padding, stride[0], stride[2], stride[1], activation, dilation[0], dilation[2], dilation[1]
    )


def sized(sketch: Sketch, shape: tuple[int, ...]) -> None:
    """The shape of the result as the first operand, and weights before the input."""
    last = sketch.operators[-1]
    value, weights, *bias = last.inputs
    inputs = (sketch.constant(Type.INT32, shape), weights, value, *bias)
    sketch.operators[-1] = replace(last, inputs=inputs)
