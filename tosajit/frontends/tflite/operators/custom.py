"""Custom operators of which the file says no more than a name: the user says what they compute."""

from __future__ import annotations

from tosajit.frontends.common.custom import custom
from tosajit.frontends.tflite.inside import entered, left
from tosajit.frontends.tflite.node import Node
from tosajit.frontends.tflite.operators import operator
from tosajit.tracing.tensor import Tensor

DOMAIN = "tflite"
"""That of CUSTOM operators whose names and attributes are those of the file."""


@operator("CUSTOM", versions=(0, (1 << 31) - 1), kind="custom")
def of_the_user(node: Node) -> tuple[Tensor, ...]:
    """What a function of yours computes: `tj.register_custom("tflite", name, function)`."""
    operands = [left(one.tensor, one.type) for one in node.inputs]
    results = [(one.dtype, one.outside) for one in node.results]
    found = custom(node.record.name, operands, results, node.record.custom_options, DOMAIN)
    return tuple(entered(one, result.type) for one, result in zip(found, node.results, strict=True))
