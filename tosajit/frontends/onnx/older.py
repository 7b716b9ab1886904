"""What nodes of operator sets before 7 say otherwise, in the words of those behind."""

from __future__ import annotations

from typing import Any

import numpy as np

from tiling.records import replace
from tosajit.frontends.common.layout import reshaped
from tosajit.frontends.frame import Refused
from tosajit.frontends.onnx.node import Node, Operand
from tosajit.frontends.onnx.schema import Type
from tosajit.tracing.tensor import Tensor

FIRST_NEW = 7
"""The set since which operands are broadcast as NumPy's are."""
_BROADCAST = frozenset("Add And Div Equal Greater Less Mul Or Pow Sub Xor".split())
_OTHERWISE = {"Tile": 6, "Upsample": 7}
"""Operators whose operands were others before a set."""
_TRAINED = frozenset({"BatchNormalization", "Dropout"})
_NAMES = {"FLOAT": "FLOAT32", "DOUBLE": "FLOAT64"}


def renewed(node: Node) -> Node:
    """A node as the newer sets have it."""
    op, attributes = node.record.op, dict(node.record.attributes)
    if node.opset < _OTHERWISE.get(op, 0):
        raise Refused(
            f"its operands were others before set {_OTHERWISE[op]}", "convert it with onnx.version_converter"
        )
    if op in _TRAINED and not attributes.pop("is_test", 0) and op == "BatchNormalization":
        raise Refused("it is for training", "export the model for inference")
    if op in _BROADCAST:
        return _along(node, attributes.get("axis"))
    if op == "PRelu":
        return _along(node, 1 if node[1].rank == 1 and node[1].shape[0] > 1 else None)
    if op == "Concat" and node.opset < 4:
        attributes.setdefault("axis", 1)
    if op == "Pad" and "paddings" in attributes:
        attributes["pads"] = attributes.pop("paddings")
    if op == "Cast" and isinstance(attributes.get("to"), str):
        name = str(attributes["to"])
        attributes["to"] = int(Type[_NAMES.get(name, name)])
    found = replace(node, record=replace(node.record, attributes=attributes))
    if op == "Reshape" and "shape" in attributes:
        shape = Operand(node.trace, np.array(attributes["shape"], np.int64), Type.INT64, "shape")
        return replace(found, operands=(node[0], shape))
    return found


def _along(node: Node, axis: Any) -> Node:
    """The second operand beside the dimensions of the first one that begin somewhere."""
    first, second = node[0], node[1]
    if not isinstance(axis, int) or not second.rank:
        return node
    behind = first.rank - axis % max(first.rank, 1) - second.rank
    if behind < 0:
        raise Refused(f"its operand 1 does not fit beside dimension {axis}")
    value = second.raw if second.is_constant else second.tensor
    shape = (*second.shape, *(1,) * behind)
    moved = reshaped(value, shape) if isinstance(value, Tensor) else value.reshape(shape)
    return replace(node, operands=(first, replace(second, value=moved), *node.operands[2:]))
