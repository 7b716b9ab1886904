"""Jaxprs that are called: written in the place of their callers; and what stands for its operand."""

from __future__ import annotations

from tosajit.frontends.frame import Refused
from tosajit.frontends.jax.node import Node, Operand
from tosajit.frontends.jax.operators import operator
from tosajit.frontends.jax.records import Jaxpr

_BODIES = ("jaxpr", "call_jaxpr", "fun_jaxpr")


@operator(
    "jit pjit closed_call core_call remat remat2 checkpoint custom_jvp_call custom_vjp_call "
    "custom_vjp_call_jaxpr custom_vmap_call custom_lin composite"
)
def call(node: Node) -> tuple[Operand, ...]:
    """A function of its own, without what it says of derivatives."""
    for name in _BODIES:
        body = node.record.parameters.get(name)
        if isinstance(body, Jaxpr):
            return node.jaxprs.inside(body, node.operands, str(node.record.parameters.get("name") or ""))
    raise Refused("it does not say what it calls")


@operator(
    "stop_gradient copy copy_p name sharding_constraint reshard layout_constraint optimization_barrier "
    "reduced_vary_cast_p pvary device_put"
)
def identity(node: Node) -> tuple[Operand, ...]:
    """The operands as they are."""
    return node.operands
