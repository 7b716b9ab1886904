"""Operators that move elements, or choose among them: on the integers that stand for numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from tiling.records import replace
from tosajit.dtypes import INT8, INT16
from tosajit.frontends.frame import Declaration
from tosajit.frontends.onnx.node import Node, Operand
from tosajit.frontends.onnx.operators.image import ResizeAttributes
from tosajit.frontends.onnx.operators.parts import PadAttributes
from tosajit.frontends.onnx.operators.shape import TransposeAttributes
from tosajit.frontends.onnx.schema import Type
from tosajit.frontends.scaled import Held, Scaled, Unsigned, Weights
from tosajit.tracing.tensor import Tensor

MOVING = frozenset(
    "CenterCropPad DepthToSpace Dropout Expand Flatten Gather GatherElements GatherND GlobalMaxPool Identity "
    "MaxPool Pad ReduceMax ReduceMin Reshape Resize ReverseSequence Slice SpaceToDepth Split Squeeze Tile "
    "Transpose Unsqueeze Upsample".split()
)
_OF_ZEROS = ("CenterCropPad", "Pad")
"""Operators that put zeros around elements."""


def moved(node: Node, declared: Declaration) -> tuple[Any, ...] | None:
    """The results of a node that moves the elements of its first operand."""
    match node[0].value:
        case Weights() as known:
            return _of_weights(node, declared, known)
        case Held() | Unsigned() as held:
            return _of_held(node, declared, held)
        case Scaled() if node.record.op == "Identity":
            return (node[0],)
    return None


def _of_weights(node: Node, declared: Declaration, known: Weights) -> tuple[Any, ...] | None:
    """Constants, of one scale or turned."""
    is_turned = node.record.op == "Transpose"
    if declared.fold is None or not all(one.is_foldable for one in node.given):
        return None
    if known.scales.size * known.zero_points.size != 1 and not is_turned:
        return None
    axis = known.axis
    if is_turned:
        order = node.attributes(TransposeAttributes).perm or tuple(range(node[0].rank))[::-1]
        axis = [one % node[0].rank for one in order].index(axis) if axis < len(order) else axis
    integers = replace(node[0], value=known.integers)
    found = declared.fold(replace(node, operands=(integers, *node.operands[1:])))
    if not isinstance(found, np.ndarray):
        return None
    return (node.of(replace(known, integers=found, shape=found.shape, axis=axis), node[0].type),)


def _of_held(node: Node, declared: Declaration, held: Held | Unsigned) -> tuple[Any, ...] | None:
    """Integers of the graph."""
    tensor = held.tensor
    kind = Type.INT8 if tensor.dtype is INT8 else Type.INT16 if tensor.dtype is INT16 else Type.INT32
    if declared.types and kind.label not in declared.types:
        return None
    operands = [replace(node[0], value=tensor, type=kind), *node.operands[1:]]
    if node.record.op in _OF_ZEROS and not _filled(node, held, operands, kind):
        return None
    if node.record.op in ("Resize", "Upsample") and node.attributes(ResizeAttributes).mode != "nearest":
        return None
    found = declared.results(replace(node, operands=tuple(operands)), is_foldable=False)
    return tuple(_as_before(node, one, held, kind) for one in found)


def _as_before(node: Node, value: Any, held: Held | Unsigned, kind: Type) -> Any:
    """What is moved as what it was; results of another type, such as places, as they are."""
    if isinstance(value, Operand) and value.type is not kind:
        return value
    found = value.value if isinstance(value, Operand) else value
    if not isinstance(found, Tensor):
        return value
    return node.of(held.moved(found) if isinstance(held, Held) else Unsigned.of(found), node[0].type)


def _filled(node: Node, held: Held | Unsigned, operands: list[Operand | None], kind: Type) -> bool:
    """Put the integer of a filling in its place, if there is one."""
    if node.record.op != "Pad":
        return False
    options, given = node.attributes(PadAttributes), node.optional(2)
    if options.mode != "constant":
        return True
    if given is not None and not given.is_constant:
        return False
    number = float(options.value if given is None else given.number)
    if isinstance(held, Unsigned):
        filling = int(number) - held.offset
    else:
        filling = int(held.affine.nearest(number))
        if (filling - held.zero_point) * np.float32(held.scale) != np.float32(number):
            return False
    while len(operands) < 3:
        operands.append(None)
    operands[2] = Operand(node.trace, np.array(filling, kind.label), kind, "")
    return True
