"""Recognising RESCALE of a sum to int8 by constants, for which the array kernels have vector code."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tiling.expr import Expr, walk
from tiling.nest import Nest, access_exprs
from tiling.records import dataclass, replace
from tosajit.arrays import Array
from tosajit.host.match import Match
from tosajit.host.ranges import DOUBLE, SCALES
from tosajit.kernels.contract.float_table import Channels, FloatTable, float_table
from tosajit.kernels.contract.pack import RescaleTable, rescale_table


@dataclass(frozen=True, slots=True)
class Rescale:
    """The expression that the vector code computes, and its parameters."""

    expr: Expr
    table: RescaleTable
    floats: FloatTable | None
    """The parameters of channels that float32 rescale."""
    bias: Array
    low: int
    high: int
    complete: bool
    """Whether this is the only result of the group."""

    def raised(self) -> Array:
        """Tell which columns have sums that start at 2**31."""
        return ~self.floats.there if self.floats else np.ones(len(self.bias), np.bool_)

    def in_one_way(self) -> Rescale:
        """Return the same without the float32 of some channels alone."""
        some = self.floats is not None and not self.floats.there.all()
        return replace(self, floats=None) if some else self

    def packed(self, lanes: int) -> Array:
        """Return the parameters in panels of so many columns, which either table has."""
        words = self.table.packed(lanes)
        if self.floats is None:
            return words
        panels = words.reshape(-1, 4, lanes)
        return np.where(self.floats.there[::lanes, None, None], self.floats.packed(lanes), panels).ravel()


def rescale_of(
    group: Nest,
    found: Match,
    constants: Mapping[str, Array],
    bound: Array,
    together: int = 0,
) -> Rescale | None:
    """The rescale to int8 that every use of the sum goes through; None if there is none that is exact.

    float32 may rescale so many channels, or none of them.
    """
    roots = _roots(group)
    uses = [node for root in roots for node in walk(root) if _is_rescale(node)]
    if not uses:
        return None
    node = uses[0]
    reader = _Reader(group, found, constants)
    inner = node.operands[0]
    value, zero, multiplier, shift, output_zp = inner.operands
    bias = reader.bias(value)
    zero_point, out = reader.number(zero), reader.number(output_zp)
    factors, shifts = reader.channels(multiplier), reader.channels(shift)
    if bias is None or zero_point != 0 or out is None or factors is None or shifts is None:
        return None
    double = inner.op == DOUBLE
    reach = bound + np.abs(bias.astype(np.int64))
    clipped, low, high = reader.clipped(group, node)
    table = rescale_table(factors, shifts, double, out, found.geometry.out_channels, reach, low)
    if table is None or not all(_only_through(root, node) for root in roots):
        return None
    floats = None
    if together:
        multipliers, amounts = (
            np.broadcast_to(array.astype(np.int64), len(reach)) for array in (factors, shifts)
        )
        floats = float_table(Channels(multipliers, amounts, double, out, reach), together, low, high)
    values = [write.value for write in group.writes]
    steps = [write.access.type for write in group.writes]
    return Rescale(clipped, table, floats, bias, low, high, values == [clipped] and steps == ["i8"])


def _roots(group: Nest) -> list[Expr]:
    """All that is computed from the sums: results, and what they are looked up by."""
    roots = [expr for write in group.writes for expr in (write.value, *access_exprs(write.access))]
    return roots + [expr for access in group.reads for expr in access_exprs(access)]


def _is_rescale(node: Expr) -> bool:
    return node.op == "saturate_i8" and node.operands[0].op in SCALES


def _only_through(expr: Expr, node: Expr) -> bool:
    """Whether `acc` reaches `expr` through `node` alone."""
    seen: set[Expr] = set()
    stack = [expr]
    while stack:
        item = stack.pop()
        if item is node or item in seen:
            continue
        seen.add(item)
        if item.op == "acc":
            return False
        stack.extend(item.operands)
    return True


@dataclass(frozen=True, slots=True)
class _Reader:
    group: Nest
    found: Match
    constants: Mapping[str, Array]

    def array(self, expr: Expr) -> Array | None:
        """The constant that an expression reads."""
        if expr.op != "read":
            return None
        return self.constants.get(self.group.reads[expr.number].operand)

    def number(self, expr: Expr) -> int | None:
        """A constant of one element."""
        if expr.op == "const":
            return expr.number
        array = self.array(expr)
        return int(array.item()) if array is not None and array.size == 1 else None

    def channels(self, expr: Expr) -> Array | None:
        """A constant of one element, or of one for each output channel."""
        array = self.array(expr)
        if array is None:
            return None
        if array.size == 1:
            return array.ravel()
        axes = len(self.group.axes)
        steps = self.group.reads[expr.number].steps(axes)
        along = all(step == (axis == self.found.column) for axis, step in enumerate(steps))
        return array.ravel() if along and array.size == self.found.geometry.out_channels else None

    def bias(self, value: Expr) -> Array | None:
        """The constant bias in `acc`, or `acc + bias`."""
        columns = self.found.geometry.out_channels
        if value.op == "acc":
            return np.zeros(columns, np.int32)
        if value.op != "add_i32":
            return None
        first, second = value.operands
        other = second if first.op == "acc" else first if second.op == "acc" else None
        array = self.channels(other) if other is not None else None
        return None if array is None else np.full(columns, array, np.int32)

    def clipped(self, group: Nest, node: Expr) -> tuple[Expr, int, int]:
        """The rescale with the clamp around it if every use has the same one with constant bounds."""
        roots = _roots(group)
        users = {user for root in roots for user in walk(root) if node in user.operands}
        direct = any(root is node for root in roots)
        if len(users) == 1 and not direct:
            (user,) = users
            if user.op == "clip_i8" and user.operands[0] is node:
                low, high = self.number(user.operands[1]), self.number(user.operands[2])
                if low is not None and high is not None and low <= high:
                    return user, low, high
        return node, -128, 127
