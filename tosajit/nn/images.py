"""Convolutions and pools of images, whose channels are last: `[images, rows, columns, channels]`."""

from __future__ import annotations

from typing import Any

from tosajit import ops
from tosajit.errors import TraceError
from tosajit.frontends.common.convolution import Operands, convolved
from tosajit.nn.layer import layer
from tosajit.nn.tensors import Padding, Pair, alike, pair, ranked, real, shaped, windows

IMAGES = "[images, rows, columns, channels]"
KERNELS = "[outputs, rows, columns, inputs]"
BY_CHANNEL = "[rows, columns, channels, outputs of each]"


@layer("weight", "bias")
def conv2d(
    x: Any,
    weight: Any,
    bias: Any = None,
    *,
    stride: Pair = 1,
    padding: Padding = "valid",
    dilation: Pair = 1,
    groups: int = 1,
) -> Any:
    """Convolution of images.

    * `x` is `[images, rows, columns, channels]`, `weight` `[outputs, rows, columns, inputs]`.
    * `padding` is `"same"`, with as many windows as strides fit, `"valid"`, only windows inside of the image,
      a number, two for rows and columns, or `((before, behind), (before, behind))`.
    * `groups` of channels are convolved on their own; `inputs` are those of one group.
    """
    where = "nn.conv2d"
    ranked(f"{where} x", real(f"{where} x", x), 4, IMAGES)
    count, *kernel, depth = ranked(
        f"{where} weight", alike(f"{where} weight", weight, x.dtype), 4, KERNELS
    ).shape
    if groups < 1 or x.shape[3] != groups * depth or count % groups:
        raise TraceError(
            f"{where} weight: {count} outputs of {depth} inputs do not fit {x.shape[3]} channels "
            f"in {groups} groups"
        )
    if bias is not None:
        shaped(f"{where} bias", alike(f"{where} bias", bias, x.dtype), (count,), "weight has outputs")
    image, _, found = windows(where, x, kernel, stride, dilation, padding)
    steps, gaps = pair("stride", stride), pair("dilation", dilation)
    return convolved(Operands(image, weight, bias, groups, steps, gaps), found)


@layer("weight", "bias")
def depthwise_conv2d(
    x: Any,
    weight: Any,
    bias: Any = None,
    *,
    stride: Pair = 1,
    padding: Padding = "valid",
    dilation: Pair = 1,
) -> Any:
    """Convolution of each channel of images on its own, otherwise like `conv2d`.

    `weight` is `[rows, columns, channels, outputs of each]`.
    """
    where = "nn.depthwise_conv2d"
    ranked(f"{where} x", real(f"{where} x", x), 4, IMAGES)
    alike(f"{where} weight", weight, x.dtype)
    *kernel, channels, many = ranked(f"{where} weight", weight, 4, BY_CHANNEL).shape
    if channels != x.shape[3]:
        raise TraceError(f"{where} weight: it has {channels} channels, but x has {x.shape[3]}")
    if bias is not None:
        shaped(
            f"{where} bias", alike(f"{where} bias", bias, x.dtype), (channels * many,), "weight has outputs"
        )
    image, pads, _ = windows(where, x, kernel, stride, dilation, padding)
    steps, gaps = pair("stride", stride), pair("dilation", dilation)
    return ops.depthwise_conv2d(image, weight, bias, pad=pads, stride=steps, dilation=gaps)


@layer()
def max_pool2d(x: Any, kernel: Pair, stride: Pair | None = None, padding: Padding = "valid") -> Any:
    """The greatest element of each window of images; `stride` is the windows' size if left out."""
    where = "nn.max_pool2d"
    ranked(f"{where} x", real(f"{where} x", x), 4, IMAGES)
    steps = pair(f"{where} stride", kernel if stride is None else stride)
    image, pads, _ = windows(where, x, kernel, steps, 1, padding)
    return ops.max_pool2d(
        image, kernel=pair("kernel", kernel), stride=steps, pad=covered(where, kernel, pads)
    )


@layer()
def avg_pool2d(x: Any, kernel: Pair, stride: Pair | None = None, padding: Padding = "valid") -> Any:
    """The mean of each window; padding does not count. `stride` is the windows' size if left out."""
    where = "nn.avg_pool2d"
    ranked(f"{where} x", real(f"{where} x", x), 4, IMAGES)
    steps = pair(f"{where} stride", kernel if stride is None else stride)
    image, pads, _ = windows(where, x, kernel, steps, 1, padding)
    return ops.avg_pool2d(
        image, kernel=pair("kernel", kernel), stride=steps, pad=covered(where, kernel, pads)
    )


def covered(where: str, kernel: Pair, pads: tuple[int, ...]) -> tuple[int, ...]:
    """The padding of a pool, each of whose windows has an element."""
    rows, columns = pair("kernel", kernel)
    if max(pads[:2]) >= rows or max(pads[2:]) >= columns:
        raise TraceError(f"{where} padding: {list(pads)} is not less than the windows, {[rows, columns]}")
    return pads
