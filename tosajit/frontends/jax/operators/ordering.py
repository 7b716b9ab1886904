"""Elements in order, and the greatest of them."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from tosajit import ops
from tosajit.dtypes import BOOL, FP32, INT32
from tosajit.frontends.common.gather import gathered
from tosajit.frontends.common.layout import transposed
from tosajit.frontends.common.numbers import typed
from tosajit.frontends.common.ordering import PAIRS, greatest
from tosajit.frontends.frame import Refused
from tosajit.frontends.frame.attributes import Attributes
from tosajit.frontends.jax.node import Node, dtype_of, type_of
from tosajit.frontends.jax.operators import MOVED, NUMBERS, REAL, operator
from tosajit.tracing.tensor import Tensor


@dataclass(frozen=True, slots=True)
class SortAttributes(Attributes):
    """The dimension, and how many operands say what comes first."""

    dimension: int
    num_keys: int = 1


@operator("sort", SortAttributes, types=MOVED)
def sort(node: Node, options: SortAttributes) -> tuple[Tensor, ...]:
    """Tensors in the order of the first of them, the least first: by how many elements come before each."""
    axis, extent = options.dimension, node[0].shape[options.dimension]
    if prod(node[0].shape) * extent > PAIRS:
        raise Refused(
            f"it sorts {extent} elements, and compares {prod(node[0].shape) * extent} pairs of them, "
            f"but {PAIRS} are the most",
            "sort fewer, or take lax.top_k",
        )
    order = [*(place for place in range(node[0].rank) if place != axis), axis]
    values = [transposed(one, order) for one in node.tensors]
    for number in reversed(range(options.num_keys)):
        _, places = greatest(_falling(values[number]), extent)
        rank = values[number].ndim - 1
        values = [gathered(one, places, rank, rank) for one in values]
    back = [order.index(place) for place in range(len(order))]
    return tuple(transposed(one, back) for one in values)


def _wide(value: Tensor) -> Tensor:
    """Numbers that can be compared."""
    return typed(value, FP32 if value.dtype.is_float else INT32)


def _falling(value: Tensor) -> Tensor:
    """What is greatest where numbers are least."""
    if value.dtype is BOOL:
        value = ops.logical_not(value)
        return _wide(value)
    wide = _wide(value)
    return -wide if wide.dtype.is_float else ops.bitwise_not(wide)


@dataclass(frozen=True, slots=True)
class TopAttributes(Attributes):
    """How many, and the dimension."""

    k: int
    axis: int = -1


@operator("top_k", TopAttributes, types=NUMBERS)
def top_k(node: Node, options: TopAttributes) -> tuple[Tensor, ...]:
    """The greatest elements along a dimension, and where they are; of equal ones the first."""
    return _top(node, options.k, options.axis)


@dataclass(frozen=True, slots=True)
class ApproximateAttributes(Attributes):
    """How many, the dimension, and whether it is the greatest that are taken."""

    k: int
    reduction_dimension: int = -1
    is_max_k: bool = True
    aggregate_to_topk: bool = True


@operator("approx_top_k", ApproximateAttributes, types=REAL)
def approx_top_k(node: Node, options: ApproximateAttributes) -> tuple[Tensor, ...]:
    """The greatest or least elements along a dimension, and where they are: all of them are found."""
    if not options.aggregate_to_topk:
        raise Refused("it gives more than it is asked for, as a device finds it", "aggregate_to_topk=True")
    return _top(node, options.k, options.reduction_dimension, is_least=not options.is_max_k)


def _top(node: Node, count: int, along: int, *, is_least: bool = False) -> tuple[Tensor, ...]:
    value, rank = node[0].tensor, node[0].rank
    axis = along % rank
    order = [*(place for place in range(rank) if place != axis), axis]
    wide = _wide(value)
    values, places = greatest(transposed(-wide if is_least else wide, order), count)
    back = [order.index(place) for place in range(rank)]
    kind = dtype_of(type_of(node.record.outputs[1].type))
    found = -values if is_least else values
    return typed(transposed(found, back), value.dtype), typed(transposed(places, back), kind)
