"""Convolutions and their transposes."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from tiling.records import dataclass
from tosajit import ops
from tosajit.frontends.common.convolution import REAL as SUMS_OF_REALS
from tosajit.frontends.common.convolution import Operands, Sums, convolved, transposed_convolved
from tosajit.frontends.common.layout import reshaped, small, transposed
from tosajit.frontends.common.windows import Span, inside
from tosajit.frontends.frame import Refused
from tosajit.frontends.frame.attributes import Attributes
from tosajit.frontends.onnx.node import Node
from tosajit.frontends.onnx.operators import REAL, operator
from tosajit.tracing.tensor import Tensor

Border = tuple[int, int]


def last(rank: int) -> tuple[int, ...]:
    """The order that puts channels behind the dimensions of windows."""
    return (0, *range(2, rank), 1)


def first(rank: int) -> tuple[int, ...]:
    """The order that puts them before these again."""
    return (0, rank - 1, *range(1, rank - 1))


def each(given: Sequence[int] | None, count: int, default: int = 1) -> tuple[int, ...]:
    """An attribute for each of some dimensions."""
    if given is None:
        return (default,) * count
    if len(given) != count:
        raise Refused(f"an attribute has {len(given)} numbers for {count} dimensions")
    return tuple(given)


def missing(
    scheme: str, extents: Sequence[int], steps: Sequence[int], reaches: Sequence[int]
) -> list[Border]:
    """What is missing before and behind each dimension, so that there are as many windows as steps."""
    borders = []
    for extent, step, reach in zip(extents, steps, reaches, strict=True):
        total = max((-(-extent // step) - 1) * step + reach - extent, 0)
        before = total // 2 if scheme == "SAME_UPPER" else -(-total // 2)
        borders.append((before, total - before))
    return borders


def borders_of(
    pads: Sequence[int] | None,
    scheme: str,
    extents: Sequence[int],
    steps: Sequence[int],
    reaches: Sequence[int],
) -> list[Border]:
    """The border of each dimension, by numbers or by a scheme."""
    count = len(extents)
    if scheme in ("SAME_UPPER", "SAME_LOWER"):
        return missing(scheme, extents, steps, reaches)
    if scheme == "VALID":
        return [(0, 0)] * count
    if scheme != "NOTSET":
        raise Refused(f"its padding scheme {scheme!r} is not known")
    given = each(pads, 2 * count, 0)
    return list(zip(given[:count], given[count:], strict=True))


@dataclass(frozen=True, slots=True)
class ConvAttributes(Attributes):
    """Where windows are, and how many groups of channels there are."""

    auto_pad: str = "NOTSET"
    dilations: tuple[int, ...] | None = None
    group: int = 1
    pads: tuple[int, ...] | None = None
    strides: tuple[int, ...] | None = None
    kernel_shape: tuple[int, ...] | None = None

    def borders(self, extents: Sequence[int], kernel: Sequence[int]) -> list[Border]:
        """The border of each dimension."""
        count = len(extents)
        sizes = zip(kernel, each(self.dilations, count), strict=True)
        reaches = [(size - 1) * gap + 1 for size, gap in sizes]
        return borders_of(self.pads, self.auto_pad, extents, each(self.strides, count), reaches)

    def spans(self, extents: Sequence[int], kernel: Sequence[int]) -> list[Span]:
        """The windows along each dimension."""
        steps, gaps = each(self.strides, len(extents)), each(self.dilations, len(extents))
        sizes = zip(extents, kernel, steps, gaps, self.borders(extents, kernel), strict=True)
        return [Span.within(*one) for one in sizes]


@operator("Conv", ConvAttributes, types=REAL)
def conv(node: Node, options: ConvAttributes) -> Tensor:
    """Convolution along one to three dimensions, also by groups of channels."""
    bias = node.optional(2)
    return convolution(node[0].tensor, node[1].tensor, None if bias is None else bias.tensor, options)


def convolution(
    image: Tensor, kernels: Tensor, bias: Tensor | None, options: ConvAttributes, sums: Sums = SUMS_OF_REALS
) -> Tensor:
    """A convolution whose channels are first."""
    rank = image.ndim
    if not 3 <= rank <= 5 or kernels.ndim != rank:
        raise Refused(f"its windows have {rank - 2} dimensions, but TOSA's have 1 to 3")
    image, kernels = transposed(image, last(rank)), transposed(kernels, last(rank))
    image, found = inside(image, options.spans(image.shape[1:-1], kernels.shape[1:-1]), 1)
    given = Operands(
        image, kernels, bias, options.group,
        each(options.strides, rank - 2), each(options.dilations, rank - 2), sums,
    )  # fmt: skip
    return transposed(convolved(given, found), first(rank))


@dataclass(frozen=True, slots=True)
class TransposeAttributes(Attributes):
    """Where windows of the result are, and how many groups of channels there are."""

    auto_pad: str = "NOTSET"
    dilations: tuple[int, ...] | None = None
    group: int = 1
    output_padding: tuple[int, ...] | None = None
    output_shape: tuple[int, ...] | None = None
    pads: tuple[int, ...] | None = None
    strides: tuple[int, ...] | None = None

    def extents(
        self, extents: Sequence[int], steps: Sequence[int], reaches: Sequence[int]
    ) -> tuple[list[int], list[int]]:
        """The extents of the result, and how much of the windows is before them."""
        count = len(extents)
        more = each(self.output_padding, count, 0)
        whole = [
            (extent - 1) * step + reach + extra
            for extent, step, reach, extra in zip(extents, steps, reaches, more, strict=True)
        ]
        if self.output_shape is not None:
            wanted = list(self.output_shape[-count:])
        elif self.auto_pad in ("SAME_UPPER", "SAME_LOWER"):
            wanted = [extent * step for extent, step in zip(extents, steps, strict=True)]
        else:
            pads = each(self.pads, 2 * count, 0)
            before, behind = pads[:count], pads[count:]
            sizes = zip(whole, before, behind, strict=True)
            return [size - one - other for size, one, other in sizes], list(before)
        totals = [max(size - one, 0) for size, one in zip(whole, wanted, strict=True)]
        is_upper = self.auto_pad == "SAME_UPPER"
        return wanted, [total // 2 if is_upper else total - total // 2 for total in totals]


@dataclass(frozen=True, slots=True)
class ColumnAttributes(Attributes):
    """Where blocks are."""

    dilations: tuple[int, ...] | None = None
    pads: tuple[int, ...] | None = None
    strides: tuple[int, ...] | None = None


@operator("Col2Im", ColumnAttributes, types=REAL)
def col2im(node: Node, options: ColumnAttributes) -> Tensor:
    """Images from columns of blocks, whose elements are added where they overlap."""
    value, image, block = node[0].tensor, node[1].ints, node[2].ints
    count, size = len(image), prod(block)
    steps, gaps = each(options.strides, count), each(options.dilations, count)
    pads = each(options.pads, 2 * count, 0)
    reaches = [(one - 1) * gap + 1 for one, gap in zip(block, gaps, strict=True)]
    room = [
        extent + before + behind - reach
        for extent, before, behind, reach in zip(image, pads[:count], pads[count:], reaches, strict=True)
    ]
    counts = [one // step + 1 for one, step in zip(room, steps, strict=True)]
    channels = value.shape[1] // max(size, 1)
    if value.shape[1:] != (channels * size, prod(counts)) or not small((channels, size, size)):
        raise Refused(f"its columns {list(value.shape)} do not fit blocks {list(block)} of {list(image)}")
    kernels = np.tile(np.eye(size).reshape(size, 1, *block), (channels, *(1,) * (count + 1)))
    windows = TransposeAttributes(
        dilations=gaps, group=channels, pads=pads, strides=steps,
        output_padding=tuple(one % step for one, step in zip(room, steps, strict=True)),
    )  # fmt: skip
    columns = reshaped(value, (*value.shape[:2], *counts))
    return transposed_convolution(columns, ops.const(kernels.astype(value.dtype.storage)), None, windows)


@operator("ConvTranspose", TransposeAttributes, types=REAL)
def conv_transpose(node: Node, options: TransposeAttributes) -> Tensor:
    """Transposed convolution along one to three dimensions, also by groups of channels."""
    bias = node.optional(2)
    return transposed_convolution(
        node[0].tensor, node[1].tensor, None if bias is None else bias.tensor, options
    )


def transposed_convolution(
    image: Tensor,
    kernels: Tensor,
    bias: Tensor | None,
    options: TransposeAttributes,
    sums: Sums = SUMS_OF_REALS,
) -> Tensor:
    """A transposed convolution whose channels are first."""
    rank, count = image.ndim, image.ndim - 2
    if not 1 <= count <= 3:
        raise Refused(f"its windows have {count} dimensions, but TOSA's have 1 to 3")
    steps, gaps = each(options.strides, count), each(options.dilations, count)
    reaches = [(size - 1) * gap + 1 for size, gap in zip(kernels.shape[2:], gaps, strict=True)]
    extents, before = options.extents(image.shape[2:], steps, reaches)
    given = Operands(
        transposed(image, last(rank)), transposed(kernels, last(rank)),
        bias, options.group, steps, gaps, sums,
    )  # fmt: skip
    return transposed(transposed_convolved(given, extents, before), first(rank))
