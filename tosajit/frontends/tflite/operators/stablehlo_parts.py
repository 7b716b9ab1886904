"""Operators of StableHLO that take parts of tensors: gathered, put at indices, and in windows."""

from __future__ import annotations

from math import prod
from typing import get_args

from tiling.records import replace
from tosajit.frontends.common.addressed import Addresses, gathered_parts, scattered_parts
from tosajit.frontends.common.borders import bordered, spread
from tosajit.frontends.common.layout import reshaped, small
from tosajit.frontends.common.scatter import Combine
from tosajit.frontends.common.taps import windowed
from tosajit.frontends.frame import Refused
from tosajit.frontends.tflite.node import Node
from tosajit.frontends.tflite.operators import operator
from tosajit.frontends.tflite.options import (
    StablehloGatherOptions,
    StablehloReduceWindowOptions,
    StablehloScatterOptions,
)
from tosajit.tracing.tensor import Tensor

_COMBINES: dict[str, Combine] = {
    "ADD": "add", "MUL": "multiply", "STABLEHLO_MULTIPLY": "multiply",
    **{f"{prefix}{name.upper()}": name for name in get_args(Combine) for prefix in ("", "STABLEHLO_")},
}  # fmt: skip


@operator(
    "STABLEHLO_GATHER", StablehloGatherOptions, types="float32 float16 int8 uint8 int16 int32 int64 bool"
)
def gather(node: Node, options: StablehloGatherOptions) -> Tensor:
    """Parts of one size that begin at indices."""
    at = Addresses(
        options.offset_dims, options.collapsed_slice_dims, options.start_index_map, options.index_vector_dim
    )
    return gathered_parts(node[0].tensor, node[1].tensor, at, options.slice_sizes)


@operator("STABLEHLO_SCATTER", StablehloScatterOptions, types="float32 int32 int64")
def scatter(node: Node, options: StablehloScatterOptions) -> Tensor:
    """A tensor with parts that begin at indices replaced, or combined with others."""
    at = Addresses(
        options.update_window_dims,
        options.inserted_window_dims,
        options.scatter_dims_to_operand_dims,
        options.index_vector_dim,
    )
    combine = _combine(node, options.update_computation_subgraph_index)
    return scattered_parts(node[0].tensor, node[1].tensor, node[2].tensor, at, combine)


@operator("STABLEHLO_REDUCE_WINDOW", StablehloReduceWindowOptions, types="float32 int32 int64")
def reduce_window(node: Node, options: StablehloReduceWindowOptions) -> Tensor:
    """What a subgraph makes of the elements of each window, two at a time, and of a first number."""
    value, first = node[0], node[1]
    rank = value.rank

    def combine(one: Tensor, other: Tensor) -> Tensor:
        operands = replace(value, value=one), replace(first, value=other)
        (found,) = node.subgraphs.call(options.body_subgraph_index, operands)
        return found.tensor

    sizes, border = options.window_dimensions, options.padding or (0,) * 2 * rank
    strides, gaps, dilations = (
        one or (1,) * rank
        for one in (options.window_strides, options.base_dilations, options.window_dilations)
    )
    if not len(sizes) == len(strides) == len(gaps) == len(dilations) == len(border) // 2 == rank:
        raise Refused(f"its windows {list(sizes)} are not those of {rank} dimensions")
    if value.is_constant and not small((prod(value.shape), prod(sizes))):
        raise Refused("its operand is a large constant", "reduce it when the model is converted")
    result, number = value.tensor, first.array.reshape(-1)[0]
    for axis, gap in enumerate(gaps):
        result = spread(result, axis, gap, number)
    pairs = list(zip(border[::2], border[1::2], strict=True))
    result = bordered(result, pairs, number)
    result = windowed(result, combine, list(zip(sizes, strides, dilations, strict=True)))
    return combine(result, reshaped(first.tensor, (1,) * rank))


def _combine(node: Node, number: int) -> Combine:
    """What a subgraph of two numbers does: it gives the second one, or what one operator makes of both."""
    body = node.subgraphs.called_subgraph(number)
    names = [one.name for one in body.operators]
    if not names and body.outputs == body.inputs[1:]:
        return "update"
    if len(names) != 1 or names[0] not in _COMBINES:
        told, known = " ".join(names) or "nothing", " or ".join(get_args(Combine)[1:])
        raise Refused(f"it combines numbers by {told}, but must {known} them")
    return _COMBINES[names[0]]
