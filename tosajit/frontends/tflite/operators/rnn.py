"""Plain recurrent layers, and filters of a sequence of which each has two vectors (SVDF)."""

from __future__ import annotations

import numpy as np

from tosajit import ops
from tosajit.arrays import Array
from tosajit.dtypes import INT8, INT16, INT32
from tosajit.frontends.common.layout import part, reshaped
from tosajit.frontends.common.scale import rescale
from tosajit.frontends.frame import Refused
from tosajit.frontends.tflite.fields import Activation
from tosajit.frontends.tflite.node import Node
from tosajit.frontends.tflite.operators import operator
from tosajit.frontends.tflite.options import (
    BidirectionalSequenceRNNOptions,
    RNNOptions,
    SequenceRNNOptions,
    SVDFOptions,
)
from tosajit.frontends.tflite.quantized import activated, finished
from tosajit.frontends.tflite.recurrent import (
    States,
    byte_products,
    given_back,
    products,
    reals,
    time_first,
    unrolled,
)
from tosajit.tracing.tensor import Tensor


@operator("RNN", RNNOptions, types="float32", versions=3)
def rnn(node: Node, options: RNNOptions) -> Tensor:
    """One step of a layer that takes what it has given out before."""
    sequence = time_first(node[0].tensor, time_major=True)
    return given_back(_walked(node, sequence, 1, options.fused_activation_function), node, time_major=True)


@operator("UNIDIRECTIONAL_SEQUENCE_RNN", SequenceRNNOptions, types="float32", versions=3)
def unidirectional_sequence_rnn(node: Node, options: SequenceRNNOptions) -> Tensor:
    """The steps of such a layer."""
    sequence = time_first(node[0].tensor, options.time_major)
    return given_back(_walked(node, sequence, 1, options.fused_activation_function), node, options.time_major)


@operator("BIDIRECTIONAL_SEQUENCE_RNN", BidirectionalSequenceRNNOptions, types="float32", versions=3)
def bidirectional_sequence_rnn(node: Node, options: BidirectionalSequenceRNNOptions) -> tuple[Tensor, ...]:
    """Two such layers, one from the first step on and one from the last."""
    first = time_first(node[0].tensor, options.time_major)
    aux = node.optional(9)
    second = None if aux is None else time_first(aux.tensor, options.time_major)
    has_weights = node.optional(10) is not None
    is_other = second is not None and not has_weights and options.time_major  # else LiteRT forgets it
    sequences = (first, second) if second is not None and is_other else (first, first)
    results = [
        _walked(
            node,
            sequence,
            place,
            options.fused_activation_function,
            (second, weights) if second is not None and has_weights else None,
            backwards,
        )
        for sequence, place, weights, backwards in zip(
            sequences, (1, 5), (10, 11), (False, True), strict=True
        )
    ]
    if options.merge_outputs:
        return (given_back(ops.concat(results, axis=2), node, options.time_major),)
    return tuple(given_back(one, node, options.time_major, place) for place, one in enumerate(results))


def _walked(
    node: Node,
    sequence: Tensor,
    place: int,
    activation: Activation,
    aux: tuple[Tensor, int] | None = None,
    backwards: bool = False,
) -> Tensor:
    """The results of all steps, by weights, recurrent weights, bias and state from a place on."""
    given = products(sequence, reals(node, place), reals(node, place + 2))
    if aux is not None:
        given = ops.add(given, products(aux[0], reals(node, aux[1])))
    recurrent = reals(node, place + 1)

    def step(row: Tensor, states: States) -> tuple[Tensor, States]:
        found = activated(ops.add(row, products(states[0], recurrent)), activation)
        return found, (found,)

    found, kept = unrolled(given, step, (node[place + 3].tensor,), backwards)
    node.keep(place + 3, kept[0])
    return found


@operator("SVDF", SVDFOptions, types="float32 int8", versions=4)
def svdf(node: Node, options: SVDFOptions) -> Tensor:
    """Filters that each have a vector for a row and one for the last rows, which are kept."""
    value, state = node[0], node[4]
    count, memory = node[2].shape
    batch = value.shape[0]
    if options.rank < 1 or count % options.rank:
        raise Refused(f"its {count} filters are not in groups of {options.rank}")
    newest = _features(node) if value.dtype is INT8 else products(value.tensor, reals(node, 1))
    held = reshaped(state.tensor, (batch, count, memory))
    rows = reshaped(newest, (batch, count, 1))
    moved = rows if memory == 1 else ops.concat([part(held, 2, 1, memory - 1), rows], axis=2)
    node.keep(4, reshaped(moved, state.shape))
    if value.dtype is INT8:
        total = _filtered(ops.cast(moved, dtype=INT32), node[2].array.astype(np.int32), options.rank)
        if node.optional(3) is not None:
            total = ops.add(total, node[3].array.reshape(1, -1))
        return finished(total, _ratio(state.scale, node[2].scale, node.result.scale), node.result)
    found = _filtered(moved, node[2].real, options.rank)
    if node.optional(3) is not None:
        found = ops.add(found, node[3].real.reshape(1, -1))
    return activated(found, options.fused_activation_function)


def _filtered(rows: Tensor, times: Array, rank: int) -> Tensor:
    """The last rows times a vector for each filter, in groups of filters that are added."""
    batch, count, memory = rows.shape
    seen = ops.reduce_sum(ops.mul(rows, times.reshape(1, count, memory)), axis=2)
    total = ops.reduce_sum(reshaped(seen, (batch, -1, rank)), axis=2)
    return reshaped(total, (batch, count // rank))


def _features(node: Node) -> Tensor:
    """A row of bytes times a vector for each filter, in 16 bits."""
    value, weight, state = node[0], node[1], node[4]
    if (node[2].dtype, state.dtype) != (INT16, INT16):
        raise Refused(f"what it keeps is {state.type.label}, but must be int16")
    total = byte_products(value.tensor, weight.array, None, value.zero_point)
    return rescale(total, _ratio(value.scale, weight.scale, state.scale), INT16)


def _ratio(first: float, second: float, result: float) -> float:
    """The scale of products over that of a result, counted in float32 as TFLite does."""
    return float(np.float32(first) * np.float32(second) / np.float32(result))
