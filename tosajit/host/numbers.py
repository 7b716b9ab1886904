"""Numbers of its own for each operation of a group: its kernel does not depend on which of them are equal.

Graphs have each constant once. That two operations share one, such as a shift, is mostly an accident of the
values that a model was quantised to, and each such accident would be another kernel.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from tiling.expr import Expr, read
from tiling.nest import Access, Indirect, Nest, Write
from tiling.records import replace
from tosajit.arrays import Array


def apart_numbers(nest: Nest, constants: Mapping[str, Array]) -> Nest:
    """The nest with its reads in the order of their use, and a read for each use of a number."""
    return nest if nest.verb == "contract" else _Reader(nest, constants).nest()


class _Reader:
    """The reads of a nest so far, by the operations that use them."""

    def __init__(self, old: Nest, constants: Mapping[str, Array]) -> None:
        self._old, self._constants = old, constants
        self._reads: list[Access] = []
        self._made: dict[Expr, Expr] = {}

    def nest(self) -> Nest:
        """The nest with these reads."""
        reduction = self._old.reduction
        if reduction is not None:
            reduction = replace(reduction, value=self._operand(reduction.value))
        writes = tuple([Write(self._access(w.access), self._operand(w.value)) for w in self._old.writes])
        return replace(self._old, reads=tuple(self._reads), writes=writes, reduction=reduction)

    def _operand(self, expr: Expr) -> Expr:
        """What an operation takes."""
        if expr.op == "read" and self._is_number(self._old.reads[expr.number]):
            return self._read(expr)
        if expr not in self._made:
            self._made[expr] = self._read(expr) if expr.op == "read" else self._again(expr)
        return self._made[expr]

    def _again(self, expr: Expr) -> Expr:
        operands = expr.operands
        return Expr(expr.op, tuple(map(self._operand, operands)), expr.type) if operands else expr

    def _read(self, expr: Expr) -> Expr:
        self._reads.append(self._access(self._old.reads[expr.number]))
        return read(len(self._reads) - 1, expr.type)

    def _is_number(self, access: Access) -> bool:
        return prod(access.shape) == 1 and access.operand in self._constants

    def _access(self, access: Access) -> Access:
        if access.fill is None and not access.indirect:
            return access
        index = tuple(
            [Indirect(self._operand(i.value)) if isinstance(i, Indirect) else i for i in access.index]
        )
        fill = None if access.fill is None else self._operand(access.fill)
        return replace(access, index=tuple(index), fill=fill)
