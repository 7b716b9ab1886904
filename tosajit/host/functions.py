"""Which expressions are functions of one value, and what they are for each value of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from tiling.expr import Expr
from tiling.nest import Access, Indirect
from tosajit.arrays import Array
from tosajit.host.ranges import Ranges
from tosajit.kernels.scalars import vectorised

DTYPE = {"bool": np.dtype(np.bool_), "u8": np.dtype(np.uint8), "u16": np.dtype(np.uint16)} | {
    f"i{bits}": np.dtype(f"int{bits}") for bits in (8, 16, 32, 64)
}


class Functions:
    """The expressions of one nest; `access` finds a read, `opaque` tells what counts as one value."""

    def __init__(
        self,
        ranges: Ranges,
        constants: Mapping[str, Array],
        access: Callable[[Expr], Access],
        opaque: Callable[[Expr], bool],
    ) -> None:
        self.ranges, self.constants = ranges, constants
        self._access, self._opaque = access, opaque
        self._roots: dict[Expr, Expr | None] = {}
        self._lookups: dict[Expr, bool] = {}

    def lookup(self, expr: Expr) -> Expr | None:
        """The index of a read of a constant table of one dimension."""
        if expr.op != "read":
            return None
        access = self._access(expr)
        known = access.operand in self.constants and access.fill is None and len(access.index) == 1
        index = access.index[0] if known else None
        return index.value if isinstance(index, Indirect) else None

    def _number(self, expr: Expr) -> np.generic | None:
        """The only value of an expression as kernels have it, where narrow real numbers are float32."""
        if expr.type in DTYPE:
            found = self.ranges.number(expr)
            return None if found is None else DTYPE[expr.type].type(found)
        if expr.op == "const":
            (value,) = expr.args
            return None if isinstance(value, Expr) else np.float32(value)
        access = self._access(expr) if expr.op == "read" else None
        array = None if access is None or access.fill is not None else self.constants.get(access.operand)
        return None if array is None or array.size != 1 else np.float32(array.item())

    def root(self, expr: Expr) -> Expr | None:
        """The one value that an expression is a function of, itself if of several; None for a number."""
        if expr not in self._roots:
            index = self.lookup(expr)
            if index is not None:
                found = self.root(index)
            elif expr.is_leaf or self._opaque(expr):
                found = None if self._number(expr) is not None else expr
            else:
                roots = {root for arg in expr.operands if (root := self.root(arg)) is not None}
                found = roots.pop() if len(roots) == 1 else expr if roots else None
            self._roots[expr] = found
        return self._roots[expr]

    def roots(self, expr: Expr) -> list[Expr]:
        """The values that an expression is a function of, in the order of its leaves."""
        return [*dict.fromkeys(root for leaf in expr.leaves if (root := self.root(leaf)) is not None)]

    def looks_up(self, expr: Expr, root: Expr) -> bool:
        """Whether a table is read on the way from a value to a function of it."""
        if expr not in self._lookups:
            inner = expr is not root and any(self.looks_up(arg, root) for arg in expr.operands)
            self._lookups[expr] = inner or (expr is not root and self.lookup(expr) is not None)
        return self._lookups[expr]

    def evaluated(self, expr: Expr, values: Mapping[Expr, Array]) -> Array:
        """An expression for many values of what it depends on."""
        known = dict(values)
        shape = next(iter(known.values())).shape

        def value(item: Expr) -> Array:
            if item not in known:
                known[item] = compute(item)
            return known[item]

        def compute(item: Expr) -> Array:
            index = self.lookup(item)
            if index is not None:
                table = self.constants[self._access(item).operand].ravel()
                return np.take(table, np.clip(value(index), 0, table.size - 1))
            number = self._number(item)
            if number is not None:
                return np.full(shape, number)
            computed: Array = vectorised(item.op)(*map(value, item.operands))
            return computed

        return value(expr)
