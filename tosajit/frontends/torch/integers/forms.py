"""What becomes of operators whose operands are known by integers; others take real numbers."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, prod
from typing import Any, TypeAlias

import numpy as np

from tiling.records import replace
from tosajit.arrays import Array
from tosajit.frontends.common.layout import reshaped, transposed
from tosajit.frontends.common.matrices import multiplied, weighted
from tosajit.frontends.common.pooling import counts_of
from tosajit.frontends.frame import Declaration
from tosajit.frontends.scaled import Held, Joined, Scaled, Sum, Unsigned, Weights
from tosajit.frontends.scaled import sums as scaled
from tosajit.frontends.scaled.sums import Products, products
from tosajit.frontends.scaled.value import function_of
from tosajit.frontends.torch.integers.functions import FUNCTIONS
from tosajit.frontends.torch.integers.grids import held_of, placed, rebound
from tosajit.frontends.torch.integers.moving import MOVING, moved
from tosajit.frontends.torch.node import Node, Operand
from tosajit.frontends.torch.operators.convolution import conv, conv_transpose
from tosajit.frontends.torch.operators.image import sides_of
from tosajit.frontends.torch.operators.pooling import Windows
from tosajit.frontends.torch.records import Type, Value
from tosajit.tracing.recorder import current_trace
from tosajit.tracing.tensor import Tensor

Plain: TypeAlias = Callable[[], Tensor]
Form: TypeAlias = Callable[[Node, Plain], "Scaled | None"]
_DOMAIN = "quantized_decomposed."
_WHOLE = frozenset("cat concat concatenate embedding index stack tril triu".split())
"""Operators that constants are folded by, but not element by element."""


def on_integers(node: Node, declared: Declaration) -> tuple[Any, ...] | None:
    """The results of a node without real numbers; None where it needs them."""
    target = node.record.target
    if target.startswith(_DOMAIN + "dequantize_per"):
        return _single(node, held_of(node) if node.type is Type.FLOAT32 else None)
    if target.startswith(_DOMAIN + "quantize_per_tensor"):
        if node[0].is_constant or node[0].type is not Type.FLOAT32:
            return None
        return (placed(node, node[0], node.type),)
    if not any(isinstance(one.value, Scaled | Unsigned) for one in node.operands):
        return None
    name = target.split(".")[1].removesuffix("_copy")
    if name in MOVING:
        return moved(node, declared, name)
    if node.type is not Type.FLOAT32 or all(one.is_constant or one.scaled is None for one in node.operands):
        return None
    plain = _plainly(node, declared)
    found: Scaled | None = None if name in _WHOLE else _function(node, declared, name, plain)
    if found is None and name in _FORMS:
        found = _FORMS[name](node, plain)
    return _single(node, found)


def _single(node: Node, value: Scaled | None) -> tuple[Any, ...] | None:
    return None if value is None else (node.of(value, Type.FLOAT32),)


def _plainly(node: Node, declared: Declaration) -> Plain:
    """What writes a node with real numbers, in the region that is being written then."""

    def write() -> Tensor:
        trace = current_trace()
        assert trace is not None
        operands = {place: replace(one, trace=trace) for place, one in enumerate(node.operands)}
        (found,) = declared.results(replace(rebound(node, operands), trace=trace), is_foldable=False)
        assert isinstance(found, Tensor)
        return found

    return write


def _function(node: Node, declared: Declaration, name: str, plain: Plain) -> Scaled | None:
    """An elementwise operator as a function of bytes."""
    values = [one.scaled if not one.is_constant else None for one in node.operands]
    known = FUNCTIONS.get(name)
    if known is None and declared.fold is None:
        return None
    if any(value is None and not (one.is_constant and one.raw.size == 1)
           for value, one in zip(values, node.operands, strict=True)):  # fmt: skip
        return None
    fold, record = declared.fold, node.record

    def compute(arrays: list[Array]) -> Array | None:
        if known is not None:
            return known(arrays[0].astype(np.float64), node)
        operands = {place: replace(node[place], value=array) for place, array in enumerate(arrays)}
        inner = replace(record, outputs=(Value(record.outputs[0].name, Type.FLOAT32, (256,)),))
        assert fold is not None
        found: Array | None = fold(rebound(replace(node, record=inner), operands))
        return found

    given = [one.raw if value is None else value for value, one in zip(values, node.operands, strict=True)]
    return function_of(given, compute, plain) if len(record.outputs) == 1 else None


def _scaled(node: Node, name: str) -> Scaled | None:
    found = node.given(name)
    return found.scaled if isinstance(found, Operand) else None


def _bias(node: Node, name: str = "bias") -> tuple[bool, Weights | Array | None]:
    """Whether a bias is known, and what it is, if there is one."""
    value = node.given(name)
    if value is None:
        return True, None
    if not isinstance(value, Operand) or not value.is_constant:
        return False, None
    return True, value.value if isinstance(value.value, Weights) else value.raw


def _written(node: Node, lower: Callable[..., Tensor], given: Products) -> Tensor:
    """A convolution of integers, by the lowering of that of real numbers."""
    operands = {"input": given.left, "weight": given.right, "bias": given.bias}
    arguments = {
        name: None if value is None else replace(node[0], value=value) for name, value in operands.items()
    }
    return lower(node, **{**node.arguments, **arguments}, sums=given.sums)


def _conv(node: Node, plain: Plain) -> Sum | None:
    image, kernels, (known, bias) = _scaled(node, "input"), _scaled(node, "weight"), _bias(node)
    if image is None or kernels is None or not known:
        return None

    def write(given: Products) -> Tensor:
        return _written(node, conv, given)

    return products(image, kernels, bias, node.shape, prod(kernels.shape[1:]), write, plain)


def _conv_transpose(node: Node, plain: Plain) -> Sum | None:
    image, kernels, (known, bias) = _scaled(node, "input"), _scaled(node, "weight"), _bias(node)
    groups = node.given("groups", 1)
    if image is None or kernels is None or not known:
        return None
    if groups != 1 and isinstance(kernels, Weights) and kernels.scales.size > 1:
        return None

    def write(given: Products) -> Tensor:
        return _written(node, conv_transpose, given)

    depth = kernels.shape[0] * prod(kernels.shape[2:]) // groups
    return products(image, kernels, bias, node.shape, depth, write, plain, channel=1)


def _linear(node: Node, plain: Plain) -> Sum | None:
    left, right, (known, bias) = _scaled(node, "input"), _scaled(node, "weight"), _bias(node)
    if left is None or right is None or not known or len(right.shape) != 2:
        return None
    return _rows(node, left, right, bias, plain, is_turned=True)


def _addmm(node: Node, plain: Plain) -> Sum | None:
    left, right, (known, bias) = _scaled(node, "mat1"), _scaled(node, "mat2"), _bias(node, "self")
    if left is None or right is None or not known or bias is None or len(bias.shape) != 1:
        return None
    if node.given("alpha", 1) != 1 or node.given("beta", 1) != 1:
        return None
    return _rows(node, left, right, bias, plain, is_turned=False)


def _matmul(node: Node, plain: Plain) -> Sum | None:
    left, right = (one.scaled for one in node.operands)
    if left is None or right is None or min(len(left.shape), len(right.shape)) < 2:
        return None
    if isinstance(right, Weights) and len(right.shape) == 2:
        return _rows(node, left, right, None, plain, is_turned=False)

    def write(given: Products) -> Tensor:
        points = [int(one[0]) for one in given.sums.zero_points]
        found = multiplied(
            given.left, given.right, points, lambda total: given.sums.finish(total, slice(None))
        )
        return reshaped(found, node.shape)

    return products(left, right, None, node.shape, left.shape[-1], write, plain, channel=-1)


def _rows(
    node: Node, left: Scaled, right: Scaled, bias: Weights | Array | None, plain: Plain, is_turned: bool
) -> Sum | None:
    """Rows times a matrix of weights, which come by results if they are turned."""
    depth = left.shape[-1]

    def write(given: Products) -> Tensor:
        columns = transposed(given.right, (1, 0)) if is_turned else given.right
        own = None if given.bias is None else reshaped(given.bias, (-1,))
        sums, rows = given.sums, reshaped(given.left, (-1, depth))
        found = weighted(rows, columns, own, sums.zero_points, lambda total: sums.finish(total, slice(None)))
        return reshaped(found, node.shape)

    return products(left, right, bias, node.shape, depth, write, plain, channel=0 if is_turned else 1)


def _add(node: Node, plain: Plain) -> Sum | None:
    return _total(node, plain, is_less=False)


def _sub(node: Node, plain: Plain) -> Sum | None:
    return _total(node, plain, is_less=True)


def _total(node: Node, plain: Plain, is_less: bool) -> Sum | None:
    if node.given("alpha", 1) != 1:
        return None
    first, second = node.operands
    if first.scaled is not None and second.scaled is not None:
        found = scaled.added(first.scaled, second.scaled, node.shape, plain, is_less)
        if found is not None:
            return found
    if first.scaled is not None and second.is_constant and second.is_foldable and first.shape == node.shape:
        return scaled.plus(first.scaled, -second.raw if is_less else second.raw)
    if second.scaled is not None and first.is_constant and first.is_foldable and not is_less:
        return scaled.plus(second.scaled, first.raw) if second.shape == node.shape else None
    return None


def _mul(node: Node, plain: Plain) -> Sum | None:
    first, second = (one.scaled for one in node.operands)
    return None if first is None or second is None else scaled.multiplied(first, second, node.shape)


def _clip(node: Node, plain: Plain) -> Scaled | None:
    value, bounds = node[0].scaled, _bounds(node)
    value = scaled.widened(value) if isinstance(value, Held) else value
    if not isinstance(value, Sum) or bounds is None:
        return None
    return value.clipped(*bounds) if bounds[0] <= bounds[1] else None


def _bounds(node: Node) -> tuple[float, float] | None:
    """The bounds that an operator leaves numbers in."""
    match node.record.target.split(".")[1]:
        case "relu":
            return 0.0, inf
        case "relu6":
            return 0.0, 6.0
        case "hardtanh":
            found = node.given("min_val", -1.0), node.given("max_val", 1.0)
        case _:
            found = node.given("min", -inf), node.given("max", inf)
    return (float(found[0]), float(found[1])) if all(isinstance(one, int | float) for one in found) else None


def _cat(node: Node, plain: Plain) -> Scaled | None:
    values = [one.scaled for one in node.operands]
    parts = [one for one in values if one is not None and not isinstance(one, Joined)]
    if len(parts) != len(values):
        return None
    return Joined.behind(parts, node.given("dim", 0) % len(node.shape))


def _average_pool(node: Node, plain: Plain) -> Sum | None:
    value = node[0].scaled
    count = int(node.record.target.split(".")[1][-2])
    if not isinstance(value, Held) or node[0].rank != count + 2 or node.given("divisor_override") is not None:
        return None
    given = (node.given("stride", ()), node.given("padding", 0), 1, node.given("ceil_mode", False))
    integers, sides, borders = Windows(count, node.arguments["kernel_size"], *given).sides(value.tensor)
    counted = borders if node.given("count_include_pad", True) else [(0, 0)] * len(sides)
    counts = counts_of(integers, sides, counted)
    return scaled.averaged(value.moved(integers), sides, counts, node.shape)


def _upsample(node: Node, plain: Plain) -> Sum | None:
    value, count = node[0].scaled, int(node.record.target.split(".")[1][-2])
    return None if value is None else scaled.between(value, sides_of(node, count), node.shape)


def _adaptive_pool(node: Node, plain: Plain) -> Sum | None:
    rank = node[0].rank
    axes = tuple(range(rank - int(node.record.target.split(".")[1][-2]), rank))
    return _along(node, axes, True, True) if all(node.shape[axis] == 1 for axis in axes) else None


def _mean(node: Node, plain: Plain) -> Sum | None:
    return _reduced(node, is_mean=True)


def _sum(node: Node, plain: Plain) -> Sum | None:
    return _reduced(node, is_mean=False)


def _reduced(node: Node, is_mean: bool) -> Sum | None:
    rank, dims = node[0].rank, node.given("dim")
    dims = tuple(range(rank)) if dims is None or dims == () else dims
    axes = (dims,) if isinstance(dims, int) else dims
    return _along(node, tuple(axis % rank for axis in axes), node.given("keepdim", False), is_mean)


def _along(node: Node, axes: tuple[int, ...], keep: bool, is_mean: bool) -> Sum | None:
    value = node[0].scaled
    return None if value is None else scaled.totalled(value, axes, keep, is_mean)


_FORMS: dict[str, Form] = {
    **dict.fromkeys(("conv1d", "conv2d", "conv3d"), _conv),
    **dict.fromkeys(("conv_transpose1d", "conv_transpose2d", "conv_transpose3d"), _conv_transpose),
    **dict.fromkeys(("matmul", "mm", "bmm"), _matmul),
    **dict.fromkeys(("relu", "relu6", "hardtanh", "clamp"), _clip),
    **dict.fromkeys(("avg_pool1d", "avg_pool2d"), _average_pool),
    **dict.fromkeys(("upsample_linear1d", "upsample_bilinear2d"), _upsample),
    **dict.fromkeys(("adaptive_avg_pool1d", "adaptive_avg_pool2d", "_adaptive_avg_pool2d"), _adaptive_pool),
    **dict.fromkeys(("cat", "concat", "concatenate"), _cat),
    "linear": _linear, "addmm": _addmm, "add": _add, "sub": _sub, "mul": _mul, "mean": _mean, "sum": _sum,
}  # fmt: skip
