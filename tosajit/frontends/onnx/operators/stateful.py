"""Operators of language models that keep a state beside their results."""

from __future__ import annotations

from math import sqrt

import numpy as np

from tiling.records import dataclass
from tosajit import ops
from tosajit.dtypes import FP32
from tosajit.frontends.common.borders import padded
from tosajit.frontends.common.layout import joined, part, reshaped, transposed
from tosajit.frontends.common.matrices import multiplied
from tosajit.frontends.common.numbers import number, typed
from tosajit.frontends.common.sampling import repeated
from tosajit.frontends.frame import Refused
from tosajit.frontends.frame.attributes import Attributes
from tosajit.frontends.onnx.node import Node, Operand
from tosajit.frontends.onnx.operators import REAL, operator
from tosajit.frontends.onnx.operators.convolution import ConvAttributes, convolution
from tosajit.tracing.tensor import Tensor


@dataclass(frozen=True, slots=True)
class CausalAttributes(Attributes):
    """The function behind the convolution."""

    activation: str = "none"


@operator("CausalConvWithState", CausalAttributes, types=REAL)
def causal_convolution(node: Node, options: CausalAttributes) -> tuple[Tensor, Tensor]:
    """A convolution of each channel with what came before, and the last elements for the next time."""
    value, kernels, bias, state = node[0].tensor, node[1].tensor, node.optional(2), node.optional(3)
    before = kernels.shape[2] - 1
    if options.activation not in ("none", "silu", "swish"):
        raise Refused(f"its function {options.activation!r} is not known")
    if before == 0:
        raise Refused("its state has no elements, and TOSA's tensors have some")
    if state is None:
        wide = padded(value, [(0, 0), (0, 0), (before, 0)])
    else:
        wide = ops.concat([state.tensor, value], axis=2)
    groups = ConvAttributes(group=value.shape[1])
    found = convolution(wide, kernels, None if bias is None else bias.tensor, groups)
    if options.activation != "none":
        real = typed(found, FP32)
        found = typed(ops.mul(real, ops.sigmoid(real)), found.dtype)
    return found, part(wide, 2, wide.shape[2] - before, before)


@dataclass(frozen=True, slots=True)
class LinearAttributes(Attributes):
    """The heads, the factor of queries, and how states follow each other."""

    q_num_heads: int
    kv_num_heads: int
    scale: float = 0.0
    update_rule: str = "gated_delta"
    chunk_size: int = 64

    @property
    def decays(self) -> bool:
        """Whether states are multiplied before."""
        return self.update_rule in ("gated", "gated_delta")

    @property
    def corrects(self) -> bool:
        """Whether what a state says already is taken from values."""
        return self.update_rule in ("delta", "gated_delta")


@operator("LinearAttention", LinearAttributes, types=REAL)
def linear_attention(node: Node, options: LinearAttributes) -> tuple[Tensor, Tensor]:
    """Attention by a state that each element adds to: written step by step."""
    _check(node, options)
    heads, count = options.kv_num_heads, node[0].shape[1]
    queries = _apart(node[0], options.q_num_heads)
    keys, values = _apart(node[1], heads), _apart(node[2], heads)
    decay, beta = node.optional(4), node.optional(5)
    size, width = keys.shape[3], values.shape[3]
    steps = None if decay is None else ops.exp(_apart(decay, heads))
    rates = None if beta is None else _apart(beta, beta.shape[2])
    past = node.optional(3)
    shape = (node[0].shape[0], heads, size, width)
    state = ops.const(np.zeros(shape, np.float32)) if past is None else typed(past.tensor, FP32)
    scale = options.scale or 1 / sqrt(size)
    results = []
    for place in range(count):
        key, value, query = (part(one, 2, place, 1) for one in (keys, values, queries))
        if steps is not None:
            state = ops.mul(state, transposed(part(steps, 2, place, 1), (0, 1, 3, 2)))
        if rates is not None:
            rate = part(rates, 2, place, 1)
            value = ops.mul(ops.sub(value, multiplied(key, state)), rate)
        state = ops.add(state, ops.mul(transposed(key, (0, 1, 3, 2)), value))
        wide = repeated(state, 1, options.q_num_heads // heads)
        results.append(multiplied(query, wide))
    found = joined(results, 2)
    found = ops.mul(found, number(found, scale))
    turned = reshaped(transposed(found, (0, 2, 1, 3)), (node[0].shape[0], count, -1))
    kind = node[0].dtype
    return typed(turned, kind), typed(state, kind if past is None else past.dtype)


def _check(node: Node, options: LinearAttributes) -> None:
    """Refuse what the rules of updates do not fit."""
    decay, beta = node.optional(4), node.optional(5)
    if options.update_rule not in ("linear", "gated", "delta", "gated_delta"):
        raise Refused(f"its rule {options.update_rule!r} is not known")
    if (decay is None) is options.decays or (beta is None) is options.corrects:
        raise Refused(f"its operands do not fit its rule {options.update_rule!r}")
    if min(options.kv_num_heads, options.q_num_heads) < 1 or options.q_num_heads % options.kv_num_heads:
        raise Refused(f"its {options.q_num_heads} heads of queries do not fit {options.kv_num_heads}")


def _apart(value: Operand, heads: int) -> Tensor:
    """Heads as a dimension behind that of batches."""
    batch, count, width = value.shape
    apart = reshaped(typed(value.tensor, FP32), (batch, count, heads, width // heads))
    return transposed(apart, (0, 2, 1, 3))
