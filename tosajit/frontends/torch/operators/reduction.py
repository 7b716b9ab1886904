"""Sums, means and their like along dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, prod

from tosajit import ops
from tosajit.dtypes import INT8, INT32
from tosajit.frontends.common.functions import square_root
from tosajit.frontends.common.layout import part, reshaped, transposed
from tosajit.frontends.common.numbers import is_not_zero, number
from tosajit.frontends.common.ordering import greatest as greatest_of
from tosajit.frontends.common.ordering import running_log_sums, running_products, running_sums
from tosajit.frontends.common.pooling import means
from tosajit.frontends.common.reduce import axes_of, place_of_greatest, product, reduced, summed
from tosajit.frontends.frame import Refused
from tosajit.frontends.torch.node import Node, Operand
from tosajit.frontends.torch.operators import NARROW, NUMBERS, REAL, WHOLE, operator
from tosajit.frontends.torch.records import Type
from tosajit.tracing.tensor import Tensor

Dims = int | Sequence[int] | None


def along(dim: Dims, rank: int) -> tuple[int, ...]:
    """The dimensions that an argument names; none means all."""
    if dim is None or dim == ():
        return tuple(range(rank))
    return axes_of([dim] if isinstance(dim, int) else dim, max(rank, 1)) if rank else ()


@operator("aten.mean.default aten.mean.dim", types=NUMBERS)
def mean(
    node: Node, self: Operand, dim: Dims = None, keepdim: bool = False, dtype: Type | None = None
) -> Tensor:
    """The mean along dimensions."""
    value = self.typed(node.type).tensor
    return reshaped(means(value, along(dim, value.ndim), keepdim), node.shape)


@operator("aten.sum.default aten.sum.dim_IntList", types=f"{NUMBERS} {NARROW} bool")
def sum_(
    node: Node, self: Operand, dim: Dims = None, keepdim: bool = False, dtype: Type | None = None
) -> Tensor:
    """The sum along dimensions."""
    value = self.typed(node.type).tensor
    return reshaped(summed(value, along(dim, value.ndim), keepdim), node.shape)


@operator("aten.prod.default aten.prod.dim_int", types=f"{NUMBERS} {NARROW}")
def prod_(
    node: Node, self: Operand, dim: int | None = None, keepdim: bool = False, dtype: Type | None = None
) -> Tensor:
    """The product along a dimension, or of all elements."""
    value = self.typed(node.type).tensor
    return reshaped(reduced(product, value, along(dim, value.ndim), keepdim), node.shape)


def greatest(value: Tensor, axes: Sequence[int], keep: bool) -> Tensor:
    """The greatest elements along dimensions."""
    return reduced(lambda one, axis: ops.reduce_max(one, axis=axis), value, axes, keep)


def least(value: Tensor, axes: Sequence[int], keep: bool) -> Tensor:
    """The least elements along dimensions."""
    return reduced(lambda one, axis: ops.reduce_min(one, axis=axis), value, axes, keep)


@operator("aten.amax.default aten.max.default", types=f"{NUMBERS} int8 int16")
def amax(node: Node, self: Operand, dim: Dims = None, keepdim: bool = False) -> Tensor:
    """The greatest elements along dimensions."""
    return greatest(self.tensor, along(dim, self.rank), keepdim)


@operator("aten.amin.default aten.min.default", types=f"{NUMBERS} int8 int16")
def amin(node: Node, self: Operand, dim: Dims = None, keepdim: bool = False) -> Tensor:
    """The least elements along dimensions."""
    return least(self.tensor, along(dim, self.rank), keepdim)


@operator("aten.aminmax.default", types=NUMBERS)
def aminmax(node: Node, self: Operand, dim: int | None = None, keepdim: bool = False) -> tuple[Tensor, ...]:
    """The least and the greatest elements along a dimension."""
    axes = along(dim, self.rank)
    return least(self.tensor, axes, keepdim), greatest(self.tensor, axes, keepdim)


def _place(value: Tensor, dim: int | None, keep: bool, shape: Sequence[int]) -> Tensor:
    """Where the greatest element along a dimension is."""
    if dim is None or not value.ndim:
        value, dim = reshaped(value, (-1,)), 0
    return reshaped(place_of_greatest(value, dim % value.ndim), shape)


def _opposite(value: Tensor) -> Tensor:
    """Numbers in the opposite order."""
    return -value if value.dtype.is_float else ops.bitwise_not(value)


@operator("aten.argmax.default", types=f"{REAL} {WHOLE} int8 int16")
def argmax(node: Node, self: Operand, dim: int | None = None, keepdim: bool = False) -> Operand:
    """Where the greatest element along a dimension is, the first of them."""
    return node.of(_place(self.tensor, dim, keepdim, node.shape), node.type)


@operator("aten.argmin.default", types=f"{REAL} {WHOLE}")
def argmin(node: Node, self: Operand, dim: int | None = None, keepdim: bool = False) -> Operand:
    """Where the least element along a dimension is, the first of them."""
    return node.of(_place(_opposite(self.tensor), dim, keepdim, node.shape), node.type)


@operator("aten.max.dim", types=f"{REAL} {WHOLE}")
def max_along(node: Node, self: Operand, dim: int, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """The greatest elements along a dimension, and where they are."""
    return greatest(self.tensor, along(dim, self.rank), keepdim), _place(
        self.tensor, dim, keepdim, node.shape
    )


@operator("aten.min.dim", types=f"{REAL} {WHOLE}")
def min_along(node: Node, self: Operand, dim: int, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """The least elements along a dimension, and where they are."""
    place = _place(_opposite(self.tensor), dim, keepdim, node.shape)
    return least(self.tensor, along(dim, self.rank), keepdim), place


@operator("aten.topk.default", types=f"{REAL} {WHOLE}", ignored="sorted")
def topk(node: Node, self: Operand, k: int, dim: int = -1, largest: bool = True) -> tuple[Operand, Operand]:
    """The greatest or least elements along a dimension, and where they are."""
    return _in_order(node, self, k, dim, largest)


@operator("aten.sort.default aten.sort.stable", types=f"{REAL} {WHOLE}", ignored="stable")
def sort(node: Node, self: Operand, dim: int = -1, descending: bool = False) -> tuple[Operand, Operand]:
    """The elements of a dimension in order, and where they are."""
    return _in_order(node, self, self.shape[dim], dim, descending)


@operator("aten.argsort.default aten.argsort.stable", types=f"{REAL} {WHOLE}", ignored="stable")
def argsort(node: Node, self: Operand, dim: int = -1, descending: bool = False) -> Operand:
    """Where the elements of a dimension are in order."""
    return _in_order(node, self, self.shape[dim], dim, descending)[1]


@operator("aten.kthvalue.default", types=f"{REAL} {WHOLE}")
def kth(node: Node, self: Operand, k: int, dim: int = -1, keepdim: bool = False) -> tuple[Operand, ...]:
    """The element of a dimension that is the k-th in order, and where it is."""
    found = _in_order(node, self, k, dim, False)
    last = (part(one.tensor, dim % self.rank, k - 1, 1) for one in found)
    return tuple(
        node.of(reshaped(one, node.shape), other.type) for one, other in zip(last, found, strict=True)
    )


@operator("aten.median.default", types=f"{REAL} {WHOLE}")
def median_of_all(node: Node, self: Operand) -> Operand:
    """The element in the middle of all in order, the lesser of two."""
    flat = node.of(reshaped(self.tensor, (-1,)), self.type)
    middle = (flat.shape[0] - 1) // 2
    values, _ = _in_order(node, flat, middle + 1, 0, False)
    return node.of(reshaped(part(values.tensor, 0, middle, 1), ()), self.type)


def _in_order(node: Node, value: Operand, count: int, dim: int, is_down: bool) -> tuple[Operand, Operand]:
    """The first elements of a dimension in order, and where they are: by float32, where they are shorter."""
    wide = value.typed(Type.FLOAT32) if value.type.is_float else value
    values, places = ordered(wide.tensor, count, dim, is_down)
    return node.of(values, wide.type).typed(value.type), node.of(places, Type.INT64)


def ordered(value: Tensor, count: int, dim: int, is_down: bool) -> tuple[Tensor, Tensor]:
    """The first elements of a dimension in order, and where they are."""
    axis = dim % value.ndim
    order = [*(place for place in range(value.ndim) if place != axis), axis]
    back = [order.index(place) for place in range(value.ndim)]
    turned = transposed(value, order)
    values, places = greatest_of(turned if is_down else _opposite(turned), count)
    values = values if is_down else _opposite(values)
    return transposed(values, back), transposed(places, back)


@operator("aten.cumsum.default", types=f"{NUMBERS} {NARROW} bool")
def cumsum(node: Node, self: Operand, dim: int, dtype: Type | None = None) -> Tensor:
    """The sums of the elements of a dimension up to each of them."""
    value = self.typed(node.type).tensor
    return (
        running_sums(value, dim % max(value.ndim, 1), exclusive=False, reverse=False) if value.ndim else value
    )


@operator("aten.cumprod.default", types=NUMBERS)
def cumprod(node: Node, self: Operand, dim: int, dtype: Type | None = None) -> Tensor:
    """The products of the elements of a dimension up to each of them."""
    value = self.typed(node.type).tensor
    return running_products(value, dim % value.ndim, exclusive=False, reverse=False)


@operator("aten.logcumsumexp.default", types="float32")
def logcumsumexp(node: Node, self: Operand, dim: int) -> Tensor:
    """The logarithms of the sums of exponentials up to each element of a dimension."""
    return running_log_sums(self.tensor, dim % self.rank, exclusive=False, reverse=False)


@operator("aten.logsumexp.default", types=REAL)
def logsumexp(node: Node, self: Operand, dim: Dims, keepdim: bool = False) -> Tensor:
    """The logarithm of the sum of exponentials along dimensions."""
    axes = along(dim, self.rank)
    most = greatest(self.tensor, axes, True)
    total = ops.add(ops.log(summed(ops.exp(ops.sub(self.tensor, most)), axes, True)), most)
    return reshaped(total, node.shape)


def _variance(
    node: Node, self: Operand, dim: Dims, unbiased: bool, correction: float | None, keep: bool
) -> tuple[Tensor, Tensor]:
    """The variance along dimensions, and the mean."""
    axes = along(dim, self.rank)
    count = prod(self.shape[axis] for axis in axes)
    less = (1 if unbiased else 0) if correction is None else correction
    mean = means(self.tensor, axes, True)
    centred = ops.sub(self.tensor, mean)
    total = summed(ops.mul(centred, centred), axes, True)
    found = ops.mul(total, number(total, 1 / (count - less) if count > less else float("nan")))
    return reshaped(found, node.shape), reshaped(mean, node.shape)


@operator("aten.var.default aten.var.dim aten.var.correction", types=REAL)
def var(
    node: Node, self: Operand, dim: Dims = None, unbiased: bool = True, keepdim: bool = False,
    correction: float | None = None,
) -> Tensor:  # fmt: skip
    """The variance along dimensions."""
    return _variance(node, self, dim, unbiased, correction, keepdim)[0]


@operator("aten.std.default aten.std.dim aten.std.correction", types=REAL)
def std(
    node: Node, self: Operand, dim: Dims = None, unbiased: bool = True, keepdim: bool = False,
    correction: float | None = None,
) -> Tensor:  # fmt: skip
    """The deviation along dimensions."""
    return square_root(_variance(node, self, dim, unbiased, correction, keepdim)[0])


@operator("aten.var_mean.correction aten.var_mean.dim aten.var_mean.default", types=REAL)
def var_mean(
    node: Node, self: Operand, dim: Dims = None, unbiased: bool = True, keepdim: bool = False,
    correction: float | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The variance along dimensions, and the mean."""
    return _variance(node, self, dim, unbiased, correction, keepdim)


@operator("aten.std_mean.correction aten.std_mean.dim aten.std_mean.default", types=REAL)
def std_mean(
    node: Node,
    self: Operand,
    dim: Dims = None,
    unbiased: bool = True,
    keepdim: bool = False,
    correction: float | None = None,
) -> tuple[Tensor, Tensor]:
    """The deviation along dimensions, and the mean."""
    variance, average = _variance(node, self, dim, unbiased, correction, keepdim)
    return square_root(variance), average


@operator("aten.median.dim", types=f"{REAL} {WHOLE}")
def median(node: Node, self: Operand, dim: int, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """The lower one of the middle elements of a dimension, and where it is."""
    axis = dim % self.rank
    middle = (self.shape[axis] - 1) // 2
    found = ordered(self.tensor, middle + 1, axis, False)
    values, places = (reshaped(part(one, axis, middle, 1), node.shape) for one in found)
    return values, places


@operator(
    "aten.linalg_vector_norm.default aten.norm.ScalarOpt_dim aten.norm.Scalar aten.norm.ScalarOpt_dim_dtype",
    types=REAL,
)
def norm(node: Node) -> Tensor:
    """A norm along dimensions."""
    value, power = node[0].tensor, node.given("ord", node.given("p", 2))
    axes, keep = along(node.given("dim"), value.ndim), node.given("keepdim", False)
    if not isinstance(power, float | int):
        raise Refused("its order is no number")
    return reshaped(norm_of(value, axes, keep, power), node.shape)


def norm_of(value: Tensor, axes: Sequence[int], keep: bool, power: float) -> Tensor:
    """A norm along dimensions: the greatest size, or a root of a sum of powers."""
    size = ops.abs(value)
    if abs(power) == inf:
        return (greatest if power > 0 else least)(size, axes, keep)
    match power:
        case 2:
            return square_root(summed(ops.mul(value, value), axes, keep))
        case 1:
            return summed(size, axes, keep)
        case 0:
            there = ops.cast(is_not_zero(value), dtype=INT8)
            return summed(ops.cast(there, dtype=value.dtype), axes, keep)
    total = summed(ops.pow(size, number(size, power)), axes, keep)
    return ops.pow(total, number(total, 1 / power))


@operator("aten.count_nonzero.dim_IntList aten.count_nonzero.default", types=f"{NUMBERS} bool")
def count_nonzero(node: Node, self: Operand, dim: Dims = None) -> Operand:
    """How many elements along dimensions are not zero."""
    truths = self.typed(Type.BOOL).tensor
    return node.of(summed(ops.cast(truths, dtype=INT32), along(dim, self.rank), False), node.type)
