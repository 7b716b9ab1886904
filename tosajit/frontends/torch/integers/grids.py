"""Grids of PyTorch: the arguments of `quantized_decomposed`, and integers of such."""

from __future__ import annotations

import numpy as np

from tiling.records import replace
from tosajit.arrays import Array
from tosajit.dtypes import INT8, INT16, INT32
from tosajit.frontends.frame import Refused
from tosajit.frontends.scaled import Affine, Held, Scaled, Unsigned, Weights
from tosajit.frontends.scaled.affine import quantized
from tosajit.frontends.torch.node import Node, Operand
from tosajit.frontends.torch.records import Type
from tosajit.tracing.tensor import Tensor

OFFSETS = {Type.UINT8: 128, Type.UINT16: 32768}
_HELD = {
    Type.INT8: INT8, Type.UINT8: INT8, Type.INT16: INT16, Type.UINT16: INT16, Type.INT32: INT32,
}  # fmt: skip
"""The types that computed integers have inside of a graph."""


def grid_of(node: Node, kind: Type | None) -> Affine:
    """The grid of a node that has one scale."""
    scale, point = (_numbers(node, name) for name in ("scale", "zero_point"))
    if kind not in _HELD:
        raise Refused(f"TOSA has no grid of {'this type' if kind is None else kind.label}")
    if scale.size != 1 or point.size != 1 or not 1e-30 < scale.item() < 1e30:
        raise Refused(f"its scale is {scale.tolist()}, but must be one number above 0")
    bounds = int(node.arguments["quant_min"]), int(node.arguments["quant_max"])
    return Affine.of(bounds, scale.item(), int(point.item()), OFFSETS.get(kind, 0))


def held_of(node: Node) -> Scaled | None:
    """What the integers of a node stand for; None where they are written otherwise."""
    value = node[0]
    if value.is_constant and value.is_foldable:
        return _weights(node, value)
    if "per_channel" in node.record.target or value.type not in _HELD:
        return None
    affine = grid_of(node, value.type)
    integers = signed(value)
    return None if integers is None else Held.of(integers, affine)


def _weights(node: Node, value: Operand) -> Weights | None:
    """Integers that are known, with one scale or one for each index of a dimension."""
    is_single = "per_tensor" in node.record.target
    scales, points = (_numbers(node, name + "s" * (not is_single)) for name in ("scale", "zero_point"))
    axis = 0 if is_single else int(node.arguments["axis"]) % max(value.rank, 1)
    extent = value.shape[axis] if value.rank else 1
    if value.raw.size == 0 or not {scales.size, points.size} <= {1, extent}:
        return None
    if not np.all((scales > 1e-30) & (scales < 1e30)):
        return None
    return Weights(value.shape, value.raw, scales, points, axis, value.name)


def _numbers(node: Node, name: str) -> Array:
    """A scale or zero points, which are numbers or known tensors."""
    given = node.given(name)
    if isinstance(given, Operand):
        if not given.is_constant:
            raise Refused("its grid is computed when the model runs", "quantize with scales that are known")
        given = given.raw
    found = np.zeros(1, np.int64) if given is None else np.asarray(given).reshape(-1)
    return found.astype(np.float32) if name.startswith("scale") else found


def signed(value: Operand) -> Tensor | None:
    """The integers of an operand as TOSA's operators take them: those without sign less an offset."""
    if isinstance(value.value, Unsigned):
        return value.value.tensor
    return None if value.type in OFFSETS or value.scaled is not None else value.tensor


def placed(node: Node, value: Operand, kind: Type) -> Operand:
    """Real numbers as integers of a grid."""
    affine = grid_of(node, kind)
    found = quantized(value.tensor, affine) if value.scaled is None else value.scaled.onto(affine)
    return node.of(Unsigned.of(found) if kind in OFFSETS else found, kind)


def rebound(node: Node, changed: dict[int, Operand], kind: Type | None = None) -> Node:
    """A node with other operands, by their places, and with results of another type."""

    def again(argument: object) -> object:
        if isinstance(argument, Operand):
            place = next(at for at, one in enumerate(node.operands) if one is argument)
            return changed.get(place, argument)
        return tuple(map(again, argument)) if isinstance(argument, tuple) else argument

    record = node.record
    if kind is not None:
        record = replace(record, outputs=tuple(replace(one, type=kind) for one in record.outputs))
    return replace(
        node, record=record, arguments={name: again(one) for name, one in node.arguments.items()},
        operands=tuple(changed.get(place, one) for place, one in enumerate(node.operands)),
    )  # fmt: skip
