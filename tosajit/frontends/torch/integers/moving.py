"""Operators that move elements, or choose among them: on the integers that stand for numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from tiling.records import replace
from tosajit.arrays import Array
from tosajit.dtypes import INT8, INT16
from tosajit.frontends.frame import Declaration
from tosajit.frontends.scaled import Held, Scaled, Unsigned, Weights
from tosajit.frontends.torch.integers.grids import rebound
from tosajit.frontends.torch.node import Node, Operand
from tosajit.frontends.torch.records import Type
from tosajit.tracing.tensor import Tensor

_SAME = frozenset("alias clone contiguous detach dropout lift_fresh".split())
_PADDED = frozenset(("constant_pad_nd", "pad"))
MOVING = _SAME | _PADDED | frozenset(
    "_unsafe_view adaptive_max_pool1d adaptive_max_pool2d amax amin atleast_1d broadcast_to channel_shuffle "
    "chunk expand expand_as flatten flip max_pool1d max_pool2d max_pool2d_with_indices max_pool3d movedim "
    "narrow permute pixel_shuffle pixel_unshuffle ravel reflection_pad1d reflection_pad2d repeat "
    "replication_pad1d replication_pad2d reshape reshape_as roll select slice split split_with_sizes squeeze "
    "swapaxes t tile transpose unbind unflatten unsqueeze upsample_nearest1d upsample_nearest2d view "
    "view_as".split()
)  # fmt: skip
"""Without the `_copy` that some of their names have."""


def moved(node: Node, declared: Declaration, name: str) -> tuple[Any, ...] | None:
    """The results of a node that moves the elements of its first operand."""
    match node[0].value:
        case Scaled() if name in _SAME:
            return (node[0],)
        case Weights() as known:
            return _of_weights(node, declared, known, name)
        case Held() | Unsigned() as held:
            return _of_held(node, declared, held, name)
    return None


def _of_weights(node: Node, declared: Declaration, known: Weights, name: str) -> tuple[Any, ...] | None:
    """Constants, of one scale or turned."""
    axis, rank = known.axis, len(known.shape)
    if known.scales.size * known.zero_points.size != 1:
        order = _order(node, name, rank)
        if order is None:
            return None
        axis = order.index(axis)
    if declared.fold is None or not node[0].is_foldable:
        return None
    integers = replace(node[0], value=known.integers, type=Type(known.integers.dtype.name))
    found: Array | None = declared.fold(rebound(node, {0: integers}, integers.type))
    if not isinstance(found, np.ndarray):
        return None
    return (node.of(replace(known, integers=found, shape=found.shape, axis=axis), Type.FLOAT32),)


def _order(node: Node, name: str, rank: int) -> list[int] | None:
    """Which dimension comes to which place."""
    order = list(range(rank))
    if name == "permute":
        return [int(one) % rank for one in node.arguments["dims"]]
    if name not in ("transpose", "swapaxes", "t") or rank < 2:
        return None
    one, other = node.given("dim0", 0) % rank, node.given("dim1", 1) % rank
    order[one], order[other] = order[other], order[one]
    return order


def _of_held(node: Node, declared: Declaration, held: Held | Unsigned, name: str) -> tuple[Any, ...] | None:
    """Integers of the graph."""
    tensor, before = held.tensor, node[0].type
    kind = Type.INT8 if tensor.dtype is INT8 else Type.INT16 if tensor.dtype is INT16 else Type.INT32
    if declared.types and kind.label not in declared.types:
        return None
    inner = rebound(node, {0: replace(node[0], value=tensor, type=kind)}, kind)
    if name in _PADDED:
        filling = _filling(node, held)
        if filling is None:
            return None
        inner = replace(inner, arguments={**inner.arguments, "value": filling})
    found = declared.results(inner, is_foldable=False)
    return tuple(_as_before(node, one, held, before) for one in found)


def _as_before(node: Node, value: Any, held: Held | Unsigned, kind: Type) -> Any:
    found = value.value if isinstance(value, Operand) else value
    if not isinstance(found, Tensor):
        return value
    return node.of(held.moved(found) if isinstance(held, Held) else Unsigned.of(found), kind)


def _filling(node: Node, held: Held | Unsigned) -> int | None:
    """The integer of the number that a border has, if there is one."""
    number = float(node.given("value", 0.0))
    if node.given("mode", "constant") != "constant":
        return 0
    if isinstance(held, Unsigned):
        return int(number) - held.offset
    found = int(held.affine.nearest(number))
    is_exact = (found - held.zero_point) * np.float32(held.scale) == np.float32(number)
    return found if is_exact else None
