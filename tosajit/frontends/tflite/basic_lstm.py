"""One step of TFLite's basic LSTM kernel, which has one matrix of weights, in floating point and in bytes."""

from __future__ import annotations

from math import log2

from tosajit import ops
from tosajit.dtypes import INT8, INT16, INT32
from tosajit.frontends.common.fixed import divided, times
from tosajit.frontends.common.layout import split
from tosajit.frontends.common.scale import multiplier_of, number_like
from tosajit.frontends.common.tables import saturated
from tosajit.frontends.frame import Refused
from tosajit.frontends.tflite.node import Node
from tosajit.frontends.tflite.recurrent import byte_products, products, reals
from tosajit.frontends.tflite.words import sigmoid, tangent
from tosajit.tracing.tensor import Tensor

Results = tuple[Tensor, ...]
"""What is given out, the state, and what the kernel keeps for itself: its rows and the sums of its gates."""

_STATE_BITS = 4
"""Integer bits of the state; gates have 3."""
_GATE = 4096


def real_step(node: Node) -> Results:
    """In floating point."""
    rows = ops.concat([node[0].tensor, node[1].tensor], axis=1)
    total = products(rows, reals(node, 2), reals(node, 3))
    taken, content, forget, output = split(total, 1, 4)
    kept = ops.mul(ops.sigmoid(forget), node[4].tensor)
    state = ops.add(ops.mul(ops.sigmoid(taken), ops.tanh(content)), kept)
    return ops.mul(ops.sigmoid(output), ops.tanh(state)), state, rows, total


def byte_step(node: Node) -> Results:
    """In bytes without sign that stand for numbers from -1 to 1, with a state of 16 bits."""
    weights, state = node[2], node[4]
    if state.dtype is not INT16 or log2(state.scale) != _STATE_BITS - 15:
        raise Refused(
            f"its state is {state.type.label}, but must be int16 with the scale 2^{_STATE_BITS - 15}"
        )
    rows = ops.concat([node[0].tensor, node[1].tensor], axis=1)
    total = byte_products(rows, weights.array, node[3].array, 0, weights.zero_point)
    sums = saturated(_scaled(total, _GATE * node[3].scale))
    taken, content, forget, output = split(sums, 1, 4)
    new = divided(_product(sigmoid(taken), tangent(content, 3)), _STATE_BITS)
    kept = _product(sigmoid(forget), ops.cast(state.tensor, dtype=INT32))
    after = saturated(ops.add(new, kept))
    result = _product(sigmoid(output), tangent(after, _STATE_BITS))
    return saturated(divided(result, 8), INT8), after, rows, sums


def _scaled(total: Tensor, scale: float) -> Tensor:
    """Sums times a scale, rounded twice as matrix products of LiteRT are: halves go up both times."""
    multiplier, shift = multiplier_of(scale)
    if shift < 31:
        total = ops.logical_left_shift(total, number_like(total, 31 - shift))
    found = times(total, multiplier)
    return (
        ops.arithmetic_right_shift(found, number_like(found, shift - 31), round=True) if shift > 31 else found
    )


def _product(first: Tensor, second: Tensor) -> Tensor:
    """The product of numbers of which one has 15 bits of fraction; halves go up."""
    product = ops.mul(first, second)
    return ops.arithmetic_right_shift(product, number_like(product, 15), round=True)
