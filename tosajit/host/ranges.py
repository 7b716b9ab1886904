"""Which values an expression can have, from the types and the constants that it reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product
from math import prod

from tiling.expr import Expr
from tiling.nest import Nest
from tosajit.arrays import Array

Range = tuple[int, int]

TYPES: Mapping[str, Range] = {
    "bool": (0, 1),
    **{f"i{bits}": (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) for bits in (8, 16, 32, 64)},
    **{f"u{bits}": (0, (1 << bits) - 1) for bits in (8, 16)},
}


class Ranges:
    """The values of the expressions of one nest; `known` has those of operands that earlier nests wrote."""

    def __init__(self, nest: Nest, constants: Mapping[str, Array], known: Mapping[str, Range]) -> None:
        self.nest, self.constants, self.known = nest, constants, known
        self._memo: dict[Expr, Range] = {}

    def of(self, expr: Expr) -> Range:
        """Limits of the values; those of its type for what is unknown."""
        if expr not in self._memo:
            full = TYPES.get(expr.type, TYPES["i64"])
            low, high = self._of(expr, full) if expr.type in TYPES else full
            self._memo[expr] = (low, high) if full[0] <= low <= high <= full[1] else full
        return self._memo[expr]

    def learn(self, expr: Expr, values: Range) -> None:
        """Take it that an expression has only these values."""
        low, high = self._memo.get(expr, values)
        self._memo[expr] = max(low, values[0]), min(high, values[1])

    def number(self, expr: Expr) -> int | None:
        """The only value of an expression."""
        low, high = self.of(expr)
        return low if low == high else None

    def _of(self, expr: Expr, full: Range) -> Range:
        match expr.op:
            case "const":
                return expr.number, expr.number
            case "axis":
                return 0, self.nest.axes[expr.number].extent - 1
            case "read":
                return self._read(expr.number, full)
            case "acc":
                return self._sum(full)
        numbers = {expr.type, *(arg.type for arg in expr.operands)}
        return self._function(expr, full) if numbers <= TYPES.keys() else full

    def _function(self, expr: Expr, full: Range) -> Range:
        base = expr.scalar.base
        ranges = [self.of(arg) for arg in expr.operands]
        if base == "saturate":
            (low, high), (least, most) = ranges[0], TYPES[expr.type]
            return min(max(low, least), most), min(max(high, least), most)
        if expr.op in SCALES:
            return _scaled(ranges, expr.op == DOUBLE, full)
        if expr.op == "clz_i32":
            return 0, 32
        rule = CORNERS.get(base) or CORNERS.get(expr.op)
        if rule is None or (base in AMOUNTS and not 0 <= ranges[-1][0] == ranges[-1][1] <= 31):
            return full
        results = [rule(*corner) for corner in product(*ranges)]
        return min(results), max(results)

    def _read(self, number: int, full: Range) -> Range:
        access = self.nest.reads[number]
        array = self.constants.get(access.operand)
        if array is None:
            low, high = self.known.get(access.operand, full)
        elif array.size == 0 or array.dtype.kind not in "biu":
            return full
        else:
            low, high = (int(array.item()),) * 2 if array.size == 1 else (int(array.min()), int(array.max()))
        if access.fill is not None:
            outside = self.of(access.fill)
            low, high = min(low, outside[0]), max(high, outside[1])
        return low, high

    def _sum(self, full: Range) -> Range:
        nest = self.nest
        reduction = nest.reduction
        if reduction is None or reduction.type not in TYPES:
            return full
        low, high = self.of(reduction.value)
        first = int(reduction.initial)
        count = prod(axis.extent for axis in nest.axes if axis.reduced)
        match reduction.op:
            case "add":
                return first + count * min(low, 0), first + count * max(high, 0)
            case "max":
                return max(first, low), max(first, high)
            case "min":
                return min(first, low), min(first, high)
        return full


DOUBLE = "rescale_32_double"
SCALES = frozenset({"rescale_32", DOUBLE})
CORNERS: Mapping[str, Callable[..., int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "neg": lambda a: -a,
    "max": max,
    "min": min,
    "clip": lambda value, low, high: min(max(value, low), high),
    "shl": lambda a, b: a << b,
    "ashr": lambda a, b: a >> b,
    "ashr_round": lambda a, b: (((a << 1) >> b) + 1) >> 1,
    "mul_shift": lambda a, b, shift: (a * b + (1 << shift >> 1)) >> shift,
    "to": lambda a: a,
    "table_index_i8": lambda a: a + 128,
    "table_index_i16": lambda a: (a >> 7) + 256,
    "select": lambda condition, a, b: a if condition else b,
    "resize_blend": lambda a, b, c, d, y, x, unit_y, unit_x: (
        (a * (unit_x - x) + b * x) * (unit_y - y) + (c * (unit_x - x) + d * x) * y
    ),
}
"""Functions whose extremes are at extremes of their arguments, as long as nothing wraps."""

AMOUNTS = frozenset({"shl", "ashr", "ashr_round", "mul_shift"})
"""Those whose last operand is how far to shift."""


def _scaled(ranges: list[Range], double: bool, full: Range) -> Range:
    """What RESCALE gives for ranges of its operands; it rises with the value, the limits are at corners."""
    (low, high), zero, multiplier, shift, out = ranges
    if multiplier[0] < 0 or not 2 <= shift[0] <= shift[1] <= 62:
        return full
    corners = [
        apply_scale(value, m, s, double)
        for value in (low - zero[1], high - zero[0])
        for m in multiplier
        for s in shift
    ]
    return min(corners) + out[0] - (shift[0] != shift[1]), max(corners) + out[1] + (shift[0] != shift[1])


def apply_scale(value: int, multiplier: int, shift: int, double: bool) -> int:
    """Scaling (TOSA 1.0.1 section 4.5.5) in exact integers."""
    half = 1 << (shift - 1)
    if double and shift > 31:
        half += 1 << 30 if value >= 0 else -(1 << 30)
    return (value * multiplier + half) >> shift
