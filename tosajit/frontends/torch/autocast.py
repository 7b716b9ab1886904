"""Regions of `torch.autocast`: its operators convert their operands without saying so."""

from __future__ import annotations

from tosajit.frontends.torch.integers.grids import rebound
from tosajit.frontends.torch.node import Node

_CONVERTING = frozenset(
    "addbmm addmm addmv baddbmm bmm conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d "
    "cumprod cumsum exp expm1 gelu group_norm layer_norm linear log log_softmax logsumexp matmul mean mm mv "
    "prelu prod reciprocal rms_norm rsqrt scaled_dot_product_attention softmax softplus sum".split()
)


def converted(node: Node) -> Node:
    """The node with real operands of the type of its result."""
    kind, name = node.output.type, node.record.target.split(".")[1]
    if kind is None or not kind.is_float or name not in _CONVERTING:
        return node
    changed = {
        place: one.typed(kind)
        for place, one in enumerate(node.operands)
        if one.type.is_float and one.type is not kind and not one.is_number
    }
    return rebound(node, changed) if changed else node
