"""Convolutions, and products of matrices (NNEF 2.0 sections 4.3 and 4.4.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tosajit import ops
from tosajit.frontends.common.borders import padded, spread
from tosajit.frontends.common.layout import constant_of, like, part, reshaped, split, transposed
from tosajit.frontends.common.matrices import multiplied, weighted
from tosajit.frontends.common.windows import Span, padding
from tosajit.frontends.frame import Refused
from tosajit.frontends.nnef.node import Attributes, Node, each
from tosajit.frontends.nnef.operators import operator
from tosajit.frontends.nnef.windows import Layout, Windows, inside
from tosajit.tracing.tensor import Tensor

_MOST_WEIGHTS = 1 << 26
_MOST_GROUPS = 64
"""How many convolutions stand for one of groups."""


@dataclass(frozen=True, slots=True)
class Convolution(Windows):
    """Where windows are, and where the channels."""

    groups: int
    data_format: str
    filter_format: str


@dataclass(frozen=True, slots=True)
class Operands:
    """A convolution in TOSA's order: channels last; kernels by output channels, windows, input channels."""

    image: Tensor
    kernels: Tensor
    bias: Tensor | None
    groups: int
    stride: tuple[int, ...]
    dilation: tuple[int, ...]

    @property
    def rank(self) -> int:
        """How many dimensions windows have."""
        return self.image.ndim - 2


@operator("nn.conv", Convolution)
def conv(node: Node, options: Convolution) -> Tensor:
    """Convolution along one to three dimensions, also by groups of channels."""
    image, kernels = node["input"], node["filter"]
    count = image.ndim - 2
    layout = Layout.of(options.data_format, count)
    image = transposed(image, layout.order)
    kernels = transposed(kernels, Layout.of(options.filter_format, count).order)
    found = options.spans(image.shape[1:-1], kernels.shape[1:-1])
    image, found = inside(image, found, 1)
    given = Operands(
        image, kernels, node.optional("bias"), options.groups or image.shape[-1],
        each(options.stride, count), each(options.dilation, count),
    )  # fmt: skip
    return transposed(convolved(given, found), layout.back)


def convolved(given: Operands, found: Sequence[Span]) -> Tensor:
    """A convolution, channel by channel, by groups, or whole."""
    if given.rank == 1:
        flat = Operands(
            _raised(given.image), _raised(given.kernels), given.bias, given.groups,
            (1, *given.stride), (1, *given.dilation),
        )  # fmt: skip
        result = convolved(flat, (Span(0, 0, 1), *found))
        return reshaped(result, (result.shape[0], *result.shape[2:]))
    if given.rank not in (2, 3):
        raise Refused(f"its windows have {given.rank} dimensions, but TOSA's have 1 to 3")
    channels, depth = given.image.shape[-1], given.kernels.shape[-1]
    if given.rank == 2 and depth == 1 and given.groups == channels:
        return _by_channel(given, found)
    return _grouped(given, found)


def _raised(value: Tensor) -> Tensor:
    """Rows as images of one line."""
    return reshaped(value, (value.shape[0], 1, *value.shape[1:]))


def _by_channel(given: Operands, found: Sequence[Span]) -> Tensor:
    count, height, width, _ = given.kernels.shape
    channels = given.image.shape[-1]
    apart = reshaped(given.kernels, (channels, count // channels, height, width))
    return ops.depthwise_conv2d(
        given.image, transposed(apart, (2, 3, 0, 1)), given.bias,
        pad=padding(found), stride=given.stride, dilation=given.dilation,
    )  # fmt: skip


def _grouped(given: Operands, found: Sequence[Span]) -> Tensor:
    groups, axis = given.groups, given.image.ndim - 1
    if groups > _MOST_GROUPS:
        raise Refused(f"it has {groups} groups, of which TOSA knows nothing; {_MOST_GROUPS} are written out")
    images, kernels = split(given.image, axis, groups), split(given.kernels, 0, groups)
    biases = [None] * groups if given.bias is None else split(given.bias, 0, groups)
    convolve = ops.conv2d if given.rank == 2 else ops.conv3d
    results = [
        convolve(image, kernel, bias, pad=padding(found), stride=given.stride, dilation=given.dilation)
        for image, kernel, bias in zip(images, kernels, biases, strict=True)
    ]
    return results[0] if groups == 1 else ops.concat(results, axis=axis)


@dataclass(frozen=True, slots=True)
class Transposed(Attributes):
    """Where windows of the result are, and where the channels."""

    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    padding: tuple[int, ...] | None
    padding_align: str
    groups: int
    data_format: str
    filter_format: str

    def before(self, extents: Sequence[int], reaches: Sequence[int]) -> list[int]:
        """How much of the windows is before each dimension of the result."""
        count = len(extents)
        if self.padding is not None:
            return list(each(self.padding, 2 * count)[:count])
        totals = [reach - step for reach, step in zip(reaches, each(self.stride, count), strict=True)]
        return [one // 2 if self.padding_align == "UPPER" else -(-one // 2) for one in totals]


@operator("nn.deconv", Transposed)
def deconv(node: Node, options: Transposed) -> Tensor:
    """Transposed convolution along one to three dimensions, also by groups of channels."""
    image, kernels = node["input"], node["filter"]
    count = image.ndim - 2
    if not 1 <= count <= 3:
        raise Refused(f"its windows have {count} dimensions, but TOSA's have 1 to 3")
    layout = Layout.of(options.data_format, count)
    image = transposed(image, layout.order)
    kernels = transposed(kernels, Layout.of(options.filter_format, count).order)
    for axis, gap in enumerate(each(options.dilation, count), 1):
        kernels = _spread(kernels, axis, gap)
    extents = [node.shape("output")[place] for place in layout.order[1:-1]]
    before = options.before(image.shape[1:-1], kernels.shape[1:-1])
    groups, last = options.groups or image.shape[-1], image.ndim - 1
    if groups > _MOST_GROUPS:
        raise Refused(f"it has {groups} groups, of which TOSA knows nothing; {_MOST_GROUPS} are written out")
    bias = node.optional("bias")
    biases = [None] * groups if bias is None else split(bias, 0, groups)
    parts = zip(split(image, last, groups), split(kernels, 0, groups), biases, strict=True)
    steps = each(options.stride, count)
    results = [_spread_out(*one, extents, steps, before) for one in parts]
    return transposed(results[0] if groups == 1 else ops.concat(results, axis=last), layout.back)


def _spread(kernels: Tensor, axis: int, gap: int) -> Tensor:
    """Kernels with zeros between their elements."""
    data = constant_of(kernels)
    if data is None or gap == 1:
        return spread(kernels, axis, gap)
    if data.size * gap > _MOST_WEIGHTS:
        raise Refused(f"its weights with gaps of {gap} are too many")
    wide = np.zeros(
        (*data.shape[:axis], (data.shape[axis] - 1) * gap + 1, *data.shape[axis + 1 :]), data.dtype
    )
    wide[(slice(None),) * axis + (slice(None, None, gap),)] = data
    return like(kernels, wide)


def _spread_out(
    image: Tensor,
    kernels: Tensor,
    bias: Tensor | None,
    extents: Sequence[int],
    steps: Sequence[int],
    before: Sequence[int],
) -> Tensor:
    """A transposed convolution whose result has given extents; kernels come by input channels."""
    if len(extents) == 1:
        result = _spread_out(_raised(image), _raised(kernels), bias, (1, *extents), (1, *steps), (0, *before))
        return reshaped(result, (result.shape[0], *result.shape[2:]))
    kernel = kernels.shape[1:-1]
    sizes = zip(extents, image.shape[1:-1], steps, kernel, before, strict=True)
    behind = [
        wanted - (extent - 1) * step - reach + skipped for wanted, extent, step, reach, skipped in sizes
    ]
    if len(extents) == 2 and all(
        -skipped > -reach and left > -reach
        for skipped, left, reach in zip(before, behind, kernel, strict=True)
    ):
        pads = [one for pair in zip(before, behind, strict=True) for one in (-pair[0], pair[1])]
        weights = transposed(kernels, (3, 1, 2, 0))
        return ops.transpose_conv2d(image, weights, bias, out_pad=pads, stride=steps)
    for axis, step in enumerate(steps, 1):
        image = spread(image, axis, step)
    ends = zip(before, behind, kernel, strict=True)
    borders = [(reach - 1 - skipped, reach - 1 + left) for skipped, left, reach in ends]
    image = padded(image, [(0, 0), *((max(one, 0), max(other, 0)) for one, other in borders), (0, 0)])
    for axis, (one, other) in enumerate(borders, 1):
        start, end = max(-one, 0), max(-other, 0)
        image = part(image, axis, start, image.shape[axis] - start - end)
    places = range(1, kernels.ndim - 1)
    flipped = kernels
    for axis in places:
        flipped = _turned(flipped, axis)
    turned = transposed(flipped, (kernels.ndim - 1, *places, 0))
    ones = (1,) * len(extents)
    return _grouped(Operands(image, turned, bias, 1, ones, ones), [Span(0, 0, one) for one in extents])


def _turned(value: Tensor, axis: int) -> Tensor:
    data = constant_of(value)
    return (
        ops.reverse(value, axis=axis)
        if data is None
        else like(value, np.ascontiguousarray(np.flip(data, axis)))
    )


@operator("nn.linear")
def linear(node: Node) -> Tensor:
    """Rows times a matrix of weights, and a bias."""
    kernel = node["filter"]
    bias = node.optional("bias")
    if constant_of(kernel) is not None:
        return weighted(node["input"], transposed(kernel, (1, 0)), bias)
    return _more(multiplied(node["input"], transposed(kernel, (1, 0))), bias)


@dataclass(frozen=True, slots=True)
class Turns(Attributes):
    """Which operands are turned."""

    transA: bool
    transB: bool


@operator("linalg.matmul", Turns)
def matmul(node: Node, options: Turns) -> Tensor:
    """The products of matrices, one for each index of the other dimensions, and a bias."""
    first, second = _matrix(node["A"], options.transA), _matrix(node["B"], options.transB)
    bias = node.optional("C")
    if constant_of(second) is not None and second.ndim == 2:
        whole = bias is None or (bias.ndim == 1 and constant_of(bias) is not None)
        return _more(weighted(first, second, bias if whole else None), None if whole else bias)
    return _more(multiplied(first, second), bias)


def _matrix(value: Tensor, is_turned: bool) -> Tensor:
    last = value.ndim - 1
    return transposed(value, (*range(last - 1), last, last - 1)) if is_turned else value


def _more(value: Tensor, bias: Tensor | None) -> Tensor:
    if bias is None:
        return value
    return ops.add(value, reshaped(bias, (*(1,) * (value.ndim - bias.ndim), *bias.shape)))


@dataclass(frozen=True, slots=True)
class Turn(Attributes):
    """Whether the matrix is turned."""

    transA: bool


@operator("linalg.matvec", Turn)
def matvec(node: Node, options: Turn) -> Tensor:
    """A matrix times a vector, and a bias."""
    product = multiplied(_matrix(node["A"], options.transA), reshaped(node["x"], (-1, 1)))
    return _more(reshaped(product, product.shape[:1]), node.optional("b"))


@operator("linalg.dot")
def dot(node: Node) -> Tensor:
    """The product of two vectors, and a bias."""
    product = multiplied(reshaped(node["x"], (1, -1)), reshaped(node["y"], (-1, 1)))
    return _more(reshaped(product, ()), node.optional("b"))


@operator("linalg.outer")
def outer(node: Node) -> Tensor:
    """The products of all elements of two tensors."""
    first, second = node["x"], node["y"]
    return ops.mul(
        reshaped(first, (*first.shape, *(1,) * second.ndim)),
        reshaped(second, (*(1,) * first.ndim, *second.shape)),
    )
