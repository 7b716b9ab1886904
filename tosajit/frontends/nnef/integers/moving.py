"""What moves or chooses integers, and computes none: written as for real numbers, in another type."""

from __future__ import annotations

from tosajit.frontends.nnef.integers.form import Form
from tosajit.frontends.nnef.integers.node import Node, trace
from tosajit.frontends.nnef.integers.rules import rule
from tosajit.frontends.nnef.node import Node as Reading
from tosajit.frontends.nnef.operators import DECLARATIONS
from tosajit.tracing.tensor import Tensor

_MOVING = """
    layout.reshape layout.flatten layout.unflatten layout.squeeze layout.unsqueeze layout.concat layout.stack
    layout.split layout.unstack layout.tile layout.broadcast layout.slice layout.transpose layout.gather
    layout.gather_nd math.iden math.select math.min_reduce math.max_reduce nn.max_pool
    image.nearest_downsample image.nearest_upsample
"""


@rule(_MOVING, keeps=True)
def moving(node: Node, form: Form) -> Tensor | tuple[Tensor, ...]:
    """The same operators, on integers."""
    return _as_declared(node, form)


@rule("layout.pad", keeps=True)
def pad(node: Node, form: Form) -> Tensor | tuple[Tensor, ...]:
    """A border of the integer that stands for its number."""
    zero = None if node.tensors("value") else form.zero_point
    return _as_declared(node, form, zero)


def _as_declared(node: Node, form: Form, filling: int | None = None) -> Tensor | tuple[Tensor, ...]:
    given = node.given(form)
    if filling is not None:
        given["value"] = trace().constant(form.whole(filling), form.dtype)
    return DECLARATIONS[node.operation.name].results(Reading(node.operation, given), False)
