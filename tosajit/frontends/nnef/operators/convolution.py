"""Convolutions, and products of matrices (NNEF 2.0 sections 4.3 and 4.4.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tosajit import ops
from tosajit.frontends.common.convolution import REAL, Operands, Sums, convolved, transposed_convolved
from tosajit.frontends.common.layout import constant_of, reshaped, transposed
from tosajit.frontends.common.matrices import multiplied, weighted
from tosajit.frontends.common.windows import inside
from tosajit.frontends.frame import Refused
from tosajit.frontends.nnef.node import Attributes, Node, each
from tosajit.frontends.nnef.operators import operator
from tosajit.frontends.nnef.windows import Layout, Windows
from tosajit.tracing.tensor import Tensor


@dataclass(frozen=True, slots=True)
class Convolution(Windows):
    """Where windows are, and where the channels."""

    groups: int
    data_format: str
    filter_format: str


@operator("nn.conv", Convolution)
def conv(node: Node, options: Convolution) -> Tensor:
    """Convolution along one to three dimensions, also by groups of channels."""
    return convolution(node["input"], node["filter"], node.optional("bias"), options)


def convolution(
    image: Tensor, kernels: Tensor, bias: Tensor | None, options: Convolution, sums: Sums = REAL
) -> Tensor:
    """A convolution in the layout that its attributes say."""
    count = image.ndim - 2
    layout = Layout.of(options.data_format, count)
    image = transposed(image, layout.order)
    kernels = transposed(kernels, Layout.of(options.filter_format, count).order)
    found = options.spans(image.shape[1:-1], kernels.shape[1:-1])
    image, found = inside(image, found, 1)
    given = Operands(
        image, kernels, bias, options.groups or image.shape[-1],
        each(options.stride, count), each(options.dilation, count), sums,
    )  # fmt: skip
    return transposed(convolved(given, found), layout.back)


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
    return deconvolution(node["input"], node["filter"], node.optional("bias"), options, node.shape("output"))


def deconvolution(
    image: Tensor,
    kernels: Tensor,
    bias: Tensor | None,
    options: Transposed,
    shape: Sequence[int],
    sums: Sums = REAL,
) -> Tensor:
    """A transposed convolution in the layout that its attributes say, whose result has a shape."""
    count = image.ndim - 2
    if not 1 <= count <= 3:
        raise Refused(f"its windows have {count} dimensions, but TOSA's have 1 to 3")
    layout = Layout.of(options.data_format, count)
    image = transposed(image, layout.order)
    kernels = transposed(kernels, Layout.of(options.filter_format, count).order)
    extents = [shape[place] for place in layout.order[1:-1]]
    steps, gaps = each(options.stride, count), each(options.dilation, count)
    reaches = [(size - 1) * gap + 1 for size, gap in zip(kernels.shape[1:-1], gaps, strict=True)]
    before = options.before(image.shape[1:-1], reaches)
    groups = options.groups or image.shape[-1]
    given = Operands(image, kernels, bias, groups, steps, gaps, sums)
    return transposed(transposed_convolved(given, extents, before), layout.back)


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
    first, second = matrix(node["A"], options.transA), matrix(node["B"], options.transB)
    bias = node.optional("C")
    if constant_of(second) is not None and second.ndim == 2:
        whole = bias is None or (bias.ndim == 1 and constant_of(bias) is not None)
        return _more(weighted(first, second, bias if whole else None), None if whole else bias)
    return _more(multiplied(first, second), bias)


def matrix(value: Tensor, is_turned: bool) -> Tensor:
    """Matrices, turned or not."""
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
    product = multiplied(matrix(node["A"], options.transA), reshaped(node["x"], (-1, 1)))
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
