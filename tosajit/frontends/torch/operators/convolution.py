"""Convolutions and their transposes."""

from __future__ import annotations

from collections.abc import Sequence

from tosajit.frontends.common.convolution import REAL as SUMS_OF_REALS
from tosajit.frontends.common.convolution import Operands, Sums, convolved, transposed_convolved
from tosajit.frontends.common.layout import reshaped, transposed
from tosajit.frontends.common.windows import Span, inside
from tosajit.frontends.frame import Refused
from tosajit.frontends.torch.node import Node, Operand
from tosajit.frontends.torch.operators import REAL, operator
from tosajit.tracing.tensor import Tensor

Ints = int | Sequence[int]


def each(given: Ints, count: int) -> tuple[int, ...]:
    """A number for each of some dimensions; one stands for all."""
    numbers = (given,) if isinstance(given, int) else tuple(given)
    if len(numbers) not in (1, count):
        raise Refused(f"an argument has {len(numbers)} numbers for {count} dimensions")
    return numbers * count if len(numbers) == 1 else numbers


def last(rank: int) -> tuple[int, ...]:
    """The order that puts channels behind the dimensions of windows."""
    return (0, *range(2, rank), 1)


def first(rank: int) -> tuple[int, ...]:
    """The order that puts them before these again."""
    return (0, rank - 1, *range(1, rank - 1))


def batched(value: Tensor, count: int) -> tuple[Tensor, bool]:
    """A tensor with a dimension of batches, and whether it had one."""
    if value.ndim == count + 2:
        return value, True
    if value.ndim != count + 1:
        raise Refused(f"its operand has {value.ndim} dimensions for windows of {count}")
    return reshaped(value, (1, *value.shape)), False


@operator("aten.conv1d.default aten.conv2d.default aten.conv3d.default", types=REAL)
@operator("aten.conv1d.padding aten.conv2d.padding aten.conv3d.padding", types=REAL)
def conv(
    node: Node,
    input: Operand,
    weight: Operand,
    bias: Operand | None = None,
    stride: Ints = 1,
    padding: Ints | str = 0,
    dilation: Ints = 1,
    groups: int = 1,
    sums: Sums = SUMS_OF_REALS,
) -> Tensor:
    """Convolution along one to three dimensions, also by groups of channels."""
    count = weight.rank - 2
    image, is_batched = batched(input.tensor, count)
    kernels = weight.turned(last(weight.rank))
    steps, gaps, sizes = each(stride, count), each(dilation, count), weight.shape[2:]
    reaches = [(size - 1) * gap for size, gap in zip(sizes, gaps, strict=True)]
    borders = _borders(padding, reaches)
    image = transposed(image, last(image.ndim))
    spans = [
        Span.within(extent, size, step, gap, border)
        for extent, size, step, gap, border in zip(
            image.shape[1:-1], sizes, steps, gaps, borders, strict=True
        )
    ]
    image, found = inside(image, spans, 1)
    given = Operands(image, kernels, None if bias is None else bias.tensor, groups, steps, gaps, sums)
    result = transposed(convolved(given, found), first(image.ndim))
    return result if is_batched else reshaped(result, result.shape[1:])


def _borders(padding: Ints | str, reaches: Sequence[int]) -> list[tuple[int, int]]:
    """The border of each dimension, by numbers or by a scheme."""
    if padding == "same":
        return [(reach // 2, reach - reach // 2) for reach in reaches]
    if padding == "valid":
        return [(0, 0)] * len(reaches)
    if isinstance(padding, str):
        raise Refused(f"its padding {padding!r} is not known")
    return [(one, one) for one in each(padding, len(reaches))]


@operator("aten.conv_transpose1d.default aten.conv_transpose2d.input aten.conv_transpose3d.input", types=REAL)
def conv_transpose(
    node: Node,
    input: Operand,
    weight: Operand,
    bias: Operand | None = None,
    stride: Ints = 1,
    padding: Ints = 0,
    output_padding: Ints = 0,
    groups: int = 1,
    dilation: Ints = 1,
    sums: Sums = SUMS_OF_REALS,
) -> Tensor:
    """Transposed convolution along one to three dimensions, also by groups of channels."""
    count = weight.rank - 2
    image, is_batched = batched(input.tensor, count)
    before = each(padding, count)
    extents = node.shape[2:] if is_batched else node.shape[1:]
    given = Operands(
        transposed(image, last(image.ndim)), weight.turned(last(weight.rank)),
        None if bias is None else bias.tensor, groups, each(stride, count), each(dilation, count),
        sums,
    )  # fmt: skip
    result = transposed(transposed_convolved(given, extents, before), first(image.ndim))
    return result if is_batched else reshaped(result, result.shape[1:])


@operator("aten.convolution.default", types=REAL)
def convolution(
    node: Node,
    input: Operand,
    weight: Operand,
    bias: Operand | None,
    stride: Ints,
    padding: Ints,
    dilation: Ints,
    transposed: bool,
    output_padding: Ints,
    groups: int,
) -> Tensor:
    """Convolution or its transpose."""
    if transposed:
        return conv_transpose(node, input, weight, bias, stride, padding, output_padding, groups, dilation)
    return conv(node, input, weight, bias, stride, padding, dilation, groups)
