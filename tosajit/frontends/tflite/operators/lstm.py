"""Long short-term memory: one step, sequences, and sequences in both directions."""

from __future__ import annotations

from tosajit import ops
from tosajit.dtypes import INT8
from tosajit.frontends.frame import Refused
from tosajit.frontends.tflite.basic_lstm import byte_step, real_step
from tosajit.frontends.tflite.fields import LSTMKernel
from tosajit.frontends.tflite.integer_lstm import IntegerCell
from tosajit.frontends.tflite.lstm import Options, Places, RealCell
from tosajit.frontends.tflite.node import Node
from tosajit.frontends.tflite.operators import operator
from tosajit.frontends.tflite.options import (
    BidirectionalSequenceLSTMOptions,
    LSTMOptions,
    UnidirectionalSequenceLSTMOptions,
)
from tosajit.frontends.tflite.recurrent import given_back, time_first, unrolled
from tosajit.frontends.tflite.schema import Type
from tosajit.tracing.tensor import Tensor


@operator("LSTM", LSTMOptions, types="float32 int8 uint8", versions=4)
def lstm(node: Node, options: LSTMOptions) -> tuple[Tensor, ...]:
    """A long short-term memory: one step for each run, or steps of a sequence."""
    if options.kernel_type is LSTMKernel.BASIC:
        return _basic(node)
    if node[0].type is Type.UINT8:
        raise Refused("it is the full kernel, which takes float32 and int8, but not uint8")
    return (_sequence(node, options, time_major=True),)


@operator("UNIDIRECTIONAL_SEQUENCE_LSTM", UnidirectionalSequenceLSTMOptions, types="float32 int8", versions=4)
def unidirectional_sequence_lstm(node: Node, options: UnidirectionalSequenceLSTMOptions) -> Tensor:
    """A long short-term memory over the steps of a sequence."""
    return _sequence(node, options, options.time_major)


@operator("BIDIRECTIONAL_SEQUENCE_LSTM", BidirectionalSequenceLSTMOptions, types="float32", versions=3)
def bidirectional_sequence_lstm(node: Node, options: BidirectionalSequenceLSTMOptions) -> tuple[Tensor, ...]:
    """Two long short-term memories, one from the first step on and one from the last."""
    both = Places(1, 35, None, 40), Places(18, 37, None, 44)
    first = time_first(node[0].tensor, options.time_major)
    aux = node.optional(39)
    second = None if aux is None else time_first(aux.tensor, options.time_major)
    has_weights = node.optional(41) is not None
    sequences = (first, second) if second is not None and not has_weights else (first, first)
    results = [
        _walked(node, options, places, sequence, second if has_weights else None, backwards)
        for places, sequence, backwards in zip(both, sequences, (False, True), strict=True)
    ]
    if options.merge_outputs:
        return (given_back(ops.concat(results, axis=2), node, options.time_major),)
    return tuple(given_back(one, node, options.time_major, place) for place, one in enumerate(results))


def _sequence(node: Node, options: Options, time_major: bool) -> Tensor:
    sequence = time_first(node[0].tensor, time_major)
    return given_back(_walked(node, options, Places(), sequence), node, time_major)


def _walked(
    node: Node,
    options: Options,
    places: Places,
    sequence: Tensor,
    aux: Tensor | None = None,
    backwards: bool = False,
) -> Tensor:
    """The results of all steps; what is kept is written behind the last one."""
    states = node[places.state].tensor, node[places.state + 1].tensor
    if sequence.dtype is INT8:
        integers = IntegerCell(node, places, options)
        found, kept = unrolled(integers.given(sequence), integers.step, states)
    else:
        cell = RealCell(node, places, options)
        found, kept = unrolled(cell.given(sequence, aux), cell.step, states, backwards)
    for number, one in enumerate(kept):
        node.keep(places.state + number, one)
    return found


def _basic(node: Node) -> tuple[Tensor, ...]:
    """The kernel with one matrix of weights: its state comes and goes with its operands."""
    match node[0].type:
        case Type.FLOAT32:
            results = real_step(node)
        case Type.UINT8:
            results = byte_step(node)
        case other:
            raise Refused(f"it is the basic kernel, which takes float32 and uint8, but not {other.label}")
    for place, one in ((1, results[0]), (4, results[1])):
        if node[place].record.is_variable:
            node.keep(place, one)
    return results
