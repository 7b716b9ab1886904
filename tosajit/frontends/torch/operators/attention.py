"""Attention."""

from __future__ import annotations

from tosajit.frontends.common.attention import attended, shared_by
from tosajit.frontends.common.layout import reshaped
from tosajit.frontends.frame import Refused
from tosajit.frontends.torch.node import Node, Operand
from tosajit.frontends.torch.operators import REAL, operator
from tosajit.tracing.tensor import Tensor


@operator("aten.scaled_dot_product_attention.default", types=REAL)
def attention(
    node: Node,
    query: Operand,
    key: Operand,
    value: Operand,
    attn_mask: Operand | None = None,
    dropout_p: float = 0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """Values weighted by how much queries agree with keys."""
    if dropout_p:
        raise Refused("it draws random numbers, as in training", "module.eval()")
    keys, values = key.tensor, value.tensor
    if enable_gqa:
        keys, values = (shared_by(one, query.shape[-3]) for one in (keys, values))
    mask = None if attn_mask is None else attn_mask.tensor
    return reshaped(attended(query.tensor, keys, values, mask, is_causal, scale), node.shape)
