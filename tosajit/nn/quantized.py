"""Layers of integers that stand for real numbers: `(integer - zero_point) * scale`.

```python
x = nn.quantized.quantize(real, 0.02, 3)
y = nn.quantized.dense(x, weight, bias, x_scale=0.02, x_zero_point=3, weight_scale=scales, out_scale=0.1)
```

They give the integer operators and rescales of TOSA that a converter writes, and the bits of TFLite. Tensors
are INT8 or INT16, whose zero point is 0; weights are INT8, sums INT32 or INT48. Scales are float32, and
rescales round twice, as TFLite's do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import Any

from tosajit import ops
from tosajit.dtypes import FP32, INT48
from tosajit.errors import TraceError
from tosajit.frontends.common.convolution import Operands, Sums, convolved
from tosajit.frontends.common.layout import constant_of, reshaped
from tosajit.frontends.common.numbers import number, typed
from tosajit.frontends.common.quantized import (
    combined,
    integers_of,
    moved,
    multiplied,
    quantized_bounds,
    tabled,
)
from tosajit.frontends.common.scale import rescale
from tosajit.frontends.common.softmax import softmax_bytes, softmax_words
from tosajit.nn.images import BY_CHANNEL, IMAGES, KERNELS, covered
from tosajit.nn.integers import Integers, Scaling, activated, meant, narrow, narrow_type, operand
from tosajit.nn.layer import layer
from tosajit.nn.linear import rows_and_matrix
from tosajit.nn.tensors import Padding, Pair, axis_of, pair, ranked, real, windows
from tosajit.tracing.numbers import Type
from tosajit.tracing.tensor import Tensor

__all__ = [
    "add", "avg_pool2d", "conv2d", "dense", "depthwise_conv2d", "dequantize", "max_pool2d", "mul", "quantize",
    "relu", "relu6", "requantize", "softmax", "sub", "table",
]  # fmt: skip

Scales = float | Sequence[float]
"""A scale, or one for each output."""

_layer = layer("weight", "bias", group="nn.quantized")


@_layer
def dense(
    x: Any,
    weight: Any,
    bias: Any = None,
    *,
    x_scale: float,
    x_zero_point: int = 0,
    weight_scale: Scales,
    weight_zero_point: int = 0,
    out_scale: float,
    out_zero_point: int = 0,
    activation: str | None = None,
) -> Any:
    """Rows times a matrix of `[outputs, inputs]`, as TFLite's FULLY_CONNECTED.

    * `bias` has the product of the scales of `x` and `weight`: it is INT32 beside INT8, INT48 (int64 arrays)
      beside INT16.
    * `weight_scale` is a number, or one for each output.
    * `activation` is `"relu"`, `"relu6"`, `"relu_n1_to_1"` or None.
    """
    where = "nn.quantized.dense"
    value = operand(f"{where} x", x, x_scale, x_zero_point)
    rows, matrix = rows_and_matrix(where, x, weight)
    result = meant(f"{where} out", x.dtype, out_scale, out_zero_point)
    sums = Scaling.of(
        where, value, weight, weight_scale, weight_zero_point, bias, len(weight), result, activation
    )
    total = ops.conv2d(rows, matrix, bias, *sums.zero_points)
    return reshaped(sums.finish(total), (*x.shape[:-1], len(weight)))


@_layer
def conv2d(
    x: Any,
    weight: Any,
    bias: Any = None,
    *,
    x_scale: float,
    x_zero_point: int = 0,
    weight_scale: Scales,
    weight_zero_point: int = 0,
    out_scale: float,
    out_zero_point: int = 0,
    activation: str | None = None,
    stride: Pair = 1,
    padding: Padding = "valid",
    dilation: Pair = 1,
    groups: int = 1,
) -> Any:
    """Convolution of images, as TFLite's CONV_2D; windows are as for `nn.conv2d`, the rest as for `dense`."""
    where = "nn.quantized.conv2d"
    value = operand(f"{where} x", ranked(f"{where} x", x, 4, IMAGES), x_scale, x_zero_point)
    count, *kernel, depth = ranked(f"{where} weight", weight, 4, KERNELS).shape
    if groups < 1 or x.shape[3] != groups * depth or count % groups:
        raise TraceError(
            f"{where} weight: {count} outputs of {depth} inputs do not fit {x.shape[3]} channels "
            f"in {groups} groups"
        )
    if groups > 1 and bias is not None and bias.dtype is INT48 and constant_of(bias) is None:
        raise TraceError(
            f"{where} bias: TOSA cannot split INT48 for groups: capture it as a constant of a traced function"
        )
    result = meant(f"{where} out", x.dtype, out_scale, out_zero_point)
    sums = Scaling.of(where, value, weight, weight_scale, weight_zero_point, bias, count, result, activation)
    image, _, found = windows(where, x, kernel, stride, dilation, padding)
    steps, gaps = pair("stride", stride), pair("dilation", dilation)
    given = Operands(image, weight, bias, groups, steps, gaps, Sums(sums.zero_points, sums.finish))
    return convolved(given, found)


@_layer
def depthwise_conv2d(
    x: Any,
    weight: Any,
    bias: Any = None,
    *,
    x_scale: float,
    x_zero_point: int = 0,
    weight_scale: Scales,
    weight_zero_point: int = 0,
    out_scale: float,
    out_zero_point: int = 0,
    activation: str | None = None,
    stride: Pair = 1,
    padding: Padding = "valid",
    dilation: Pair = 1,
) -> Any:
    """Convolution of each channel on its own, as TFLite's DEPTHWISE_CONV_2D; otherwise like `conv2d`.

    `weight` is `[rows, columns, channels, outputs of each]`.
    """
    where = "nn.quantized.depthwise_conv2d"
    value = operand(f"{where} x", ranked(f"{where} x", x, 4, IMAGES), x_scale, x_zero_point)
    *kernel, channels, many = ranked(f"{where} weight", weight, 4, BY_CHANNEL).shape
    if channels != x.shape[3]:
        raise TraceError(f"{where} weight: it has {channels} channels, but x has {x.shape[3]}")
    count, result = channels * many, meant(f"{where} out", x.dtype, out_scale, out_zero_point)
    sums = Scaling.of(where, value, weight, weight_scale, weight_zero_point, bias, count, result, activation)
    image, pads, _ = windows(where, x, kernel, stride, dilation, padding)
    steps, gaps = pair("stride", stride), pair("dilation", dilation)
    total = ops.depthwise_conv2d(
        image, weight, bias, *sums.zero_points, pad=pads, stride=steps, dilation=gaps
    )
    return sums.finish(total)


@layer("y", group="nn.quantized")
def add(
    x: Any,
    y: Any,
    *,
    x_scale: float,
    x_zero_point: int = 0,
    y_scale: float,
    y_zero_point: int = 0,
    out_scale: float,
    out_zero_point: int = 0,
    activation: str | None = None,
) -> Any:
    """The sum of two tensors, which are broadcast."""
    where = "nn.quantized.add"
    terms = _terms(where, (x, x_scale, x_zero_point), (y, y_scale, y_zero_point))
    result = meant(f"{where} out", x.dtype, out_scale, out_zero_point)
    return activated(where, combined(terms, result, ops.add), result, activation)


@layer("y", group="nn.quantized")
def sub(
    x: Any,
    y: Any,
    *,
    x_scale: float,
    x_zero_point: int = 0,
    y_scale: float,
    y_zero_point: int = 0,
    out_scale: float,
    out_zero_point: int = 0,
    activation: str | None = None,
) -> Any:
    """The difference of two tensors, which are broadcast."""
    where = "nn.quantized.sub"
    terms = _terms(where, (x, x_scale, x_zero_point), (y, y_scale, y_zero_point))
    result = meant(f"{where} out", x.dtype, out_scale, out_zero_point)
    return activated(where, combined(terms, result, ops.sub), result, activation)


@layer("y", group="nn.quantized")
def mul(
    x: Any,
    y: Any,
    *,
    x_scale: float,
    x_zero_point: int = 0,
    y_scale: float,
    y_zero_point: int = 0,
    out_scale: float,
    out_zero_point: int = 0,
    activation: str | None = None,
) -> Any:
    """The product of two tensors, which are broadcast."""
    where = "nn.quantized.mul"
    terms = _terms(where, (x, x_scale, x_zero_point), (y, y_scale, y_zero_point))
    result = meant(f"{where} out", x.dtype, out_scale, out_zero_point)
    return activated(where, multiplied(*terms, result), result, activation)


def _terms(where: str, x: tuple[Tensor, Any, Any], y: tuple[Tensor, Any, Any]) -> tuple[Integers, Integers]:
    first, second = operand(f"{where} x", *x), operand(f"{where} y", *y)
    if first.dtype is not second.dtype:
        raise TraceError(f"{where} y: {second.dtype} and {first.dtype} do not mix; requantize one of them")
    return first, second


@layer(group="nn.quantized")
def relu(
    x: Any,
    *,
    x_scale: float,
    x_zero_point: int = 0,
    out_scale: float | None = None,
    out_zero_point: int | None = None,
) -> Any:
    """Numbers from 0 on, others as 0; the result has the scale and zero point of `x` if they are left out."""
    return _limited("relu", inf, x, x_scale, x_zero_point, out_scale, out_zero_point)


@layer(group="nn.quantized")
def relu6(
    x: Any,
    *,
    x_scale: float,
    x_zero_point: int = 0,
    out_scale: float | None = None,
    out_zero_point: int | None = None,
) -> Any:
    """Numbers from 0 to 6, others as the nearest of them; otherwise like `relu`."""
    return _limited("relu6", 6.0, x, x_scale, x_zero_point, out_scale, out_zero_point)


def _limited(
    name: str, high: float, x: Tensor, scale: float, point: int, out: float | None, out_point: int | None
) -> Tensor:
    where = f"nn.quantized.{name}"
    value = operand(f"{where} x", x, scale, point)
    given = (scale if out is None else out, point if out_point is None else out_point)
    result = meant(f"{where} out", x.dtype, *given)
    least, most = quantized_bounds(result, 0.0, high)
    return ops.clamp(moved(value, result), min_val=least, max_val=most)


@layer(group="nn.quantized")
def softmax(x: Any, *, x_scale: float, axis: int = -1, beta: float = 1.0) -> Any:
    """Exponentials over their sum along an axis, by the fixed-point arithmetic of TFLite.

    The result has scale 1 / 256 and zero point -128 for INT8, scale 1 / 32768 for INT16.
    """
    where = "nn.quantized.softmax"
    value = operand(f"{where} x", x, x_scale, 0)
    place = axis_of(f"{where} x", x, axis)
    if x.dtype.bits == 16:
        return softmax_words(x, place, value.scale * beta)
    return softmax_bytes(x, place, value.scale * beta, x.dtype)


@layer(group="nn.quantized")
def table(
    x: Any,
    function: Callable[[float], float],
    *,
    x_scale: float,
    x_zero_point: int = 0,
    out_scale: float,
    out_zero_point: int = 0,
) -> Any:
    """Any function of a real number: a table of all bytes, or for INT16 of 513 samples with lines between."""
    where = "nn.quantized.table"
    value = operand(f"{where} x", x, x_scale, x_zero_point)
    return tabled(value, meant(f"{where} out", x.dtype, out_scale, out_zero_point), function)


@layer(group="nn.quantized")
def avg_pool2d(x: Any, kernel: Pair, stride: Pair | None = None, padding: Padding = "valid") -> Any:
    """The mean of each window of images, with the scale and zero point of `x`; padding does not count."""
    where = "nn.quantized.avg_pool2d"
    image, pads, steps = _pool(where, x, kernel, stride, padding)
    return ops.avg_pool2d(image, kernel=pair("kernel", kernel), stride=steps, pad=pads)


@layer(group="nn.quantized")
def max_pool2d(x: Any, kernel: Pair, stride: Pair | None = None, padding: Padding = "valid") -> Any:
    """The greatest number of each window of images, with the scale and zero point of `x`."""
    where = "nn.quantized.max_pool2d"
    image, pads, steps = _pool(where, x, kernel, stride, padding)
    return ops.max_pool2d(image, kernel=pair("kernel", kernel), stride=steps, pad=pads)


def _pool(
    where: str, x: Tensor, kernel: Pair, stride: Pair | None, padding: Padding
) -> tuple[Tensor, tuple[int, ...], tuple[int, int]]:
    """The images, their padding and the steps of a pool."""
    steps = pair(f"{where} stride", kernel if stride is None else stride)
    images = ranked(f"{where} x", narrow(f"{where} x", x), 4, IMAGES)
    image, pads, _ = windows(where, images, kernel, steps, 1, padding)
    return image, covered(where, kernel, pads), steps


@layer(group="nn.quantized")
def quantize(x: Any, scale: float, zero_point: int = 0, dtype: Type = "int8") -> Any:
    """Real numbers as integers of a scale, rounded to the nearest and saturated."""
    where = "nn.quantized.quantize"
    result = meant(where, narrow_type(where, dtype), scale, zero_point)
    value = typed(real(f"{where} x", x), FP32)
    return integers_of(value, number(value, result.scale), result.zero_point, result.dtype)


@layer(group="nn.quantized")
def dequantize(x: Any, scale: float, zero_point: int = 0) -> Any:
    """The real numbers that integers stand for, in FP32."""
    value = operand("nn.quantized.dequantize x", x, scale, zero_point)
    wide = typed(x, FP32)
    if value.zero_point:
        wide = ops.sub(wide, number(wide, value.zero_point))
    return ops.mul(wide, number(wide, value.scale))


@layer(group="nn.quantized")
def requantize(
    x: Any,
    *,
    x_scale: float,
    x_zero_point: int = 0,
    out_scale: float,
    out_zero_point: int = 0,
    dtype: Type | None = None,
) -> Any:
    """Integers of one scale as those of another one, and of another type if one is given."""
    where = "nn.quantized.requantize"
    value = operand(f"{where} x", x, x_scale, x_zero_point)
    chosen = x.dtype if dtype is None else narrow_type(where, dtype)
    result = meant(f"{where} out", chosen, out_scale, out_zero_point)
    points = value.zero_point, result.zero_point
    return rescale(x, value.scale / result.scale, chosen, input_zp=points[0], output_zp=points[1])
