"""Simplifying the expressions of groups by what is known of values: constants, ranges, tables of few entries.

Every new expression gives the same bits for all values that can occur and that the specification allows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tiling.expr import LEAVES, Expr, call, read
from tiling.nest import Access, Affine, Indirect, Nest, Write
from tiling.normal import normalise
from tosajit.host.ranges import SCALES, TYPES, Range, Ranges
from tosajit.host.scale import LIMIT, Scale, Term, scale_of, scaled
from tosajit.kernels.scalars import vectorised

Array = np.ndarray[Any, Any]
DTYPE = {"bool": np.bool_, "u8": np.uint8, "u16": np.uint16} | {f"i{b}": np.dtype(f"int{b}") for b in (8, 16, 32, 64)}
ENTRIES = 1024
"""The largest table that stands for a function of one value."""
SIGNED = {"i8", "i16", "i32"}
"""Types between which a table stands for a function."""


@dataclass
class Simplified:
    """Groups that compute the same, and the constants that they read besides."""

    groups: list[Nest] = field(default_factory=list)
    constants: dict[str, Array] = field(default_factory=dict)


def simplify(groups: Sequence[Nest], constants: Mapping[str, Array]) -> Simplified:
    """The groups with cheaper expressions; what one writes tells the ranges of what later ones read."""
    made = Simplified()
    known: dict[str, Range] = {}
    for number, group in enumerate(groups):
        rewriter = _Rewriter(group, {**constants, **made.constants}, known, made.constants, number)
        made.groups.append(rewriter.rewritten())
        for write in group.writes:
            low, high = rewriter.ranges.of(write.value)
            before = known.get(write.access.operand, (low, high))
            known[write.access.operand] = min(low, before[0]), max(high, before[1])
    return made


class _Rewriter:
    """Rewrites the expressions of one nest, operands first; new constants become reads behind its own."""

    def __init__(
        self,
        nest: Nest,
        constants: Mapping[str, Array],
        known: Mapping[str, Range],
        made: dict[str, Array],
        number: int,
    ) -> None:
        self.nest, self.constants, self.made = nest, constants, made
        self.name = f"{nest.writes[0].access.operand}.{number}"
        self.ranges = Ranges(nest, constants, known)
        self.extra: list[Access] = []
        self._numbers: dict[int, Expr] = {}
        self._memo: dict[Expr, Expr] = {}
        self._roots: dict[Expr, Expr | None] = {}
        self._lookups: dict[Expr, bool] = {}

    def rewritten(self) -> Nest:
        """The nest with new expressions."""
        nest = self.nest
        writes = tuple(Write(self._access(w.access), self.new(w.value)) for w in nest.writes)
        reduction = nest.reduction
        if reduction is not None and nest.verb != "contract":
            reduction = replace(reduction, value=self.new(reduction.value))
        reads = tuple(map(self._access, nest.reads))
        if not self.extra and writes == nest.writes and reads == nest.reads and reduction == nest.reduction:
            return nest
        return normalise(replace(nest, reads=(*reads, *self.extra), writes=writes, reduction=reduction))

    def _access(self, access: Access) -> Access:
        index = tuple(Indirect(self.new(i.value)) if isinstance(i, Indirect) else i for i in access.index)
        return access if index == access.index else replace(access, index=index)

    def new(self, expr: Expr) -> Expr:
        """The cheaper form of an expression."""
        if expr not in self._memo:
            found = self._new(expr)
            if found.type != expr.type:
                found = call(f"to_{expr.type}", found, type=expr.type)
            self.ranges.learn(found, self.ranges.of(expr))
            self._memo[expr] = found
        return self._memo[expr]

    def _new(self, expr: Expr) -> Expr:
        if expr.op in LEAVES or self._kept(expr):
            return expr
        entries = self._table(expr)
        if entries is not None:
            return entries
        match expr.op.rpartition("_")[0]:
            case "saturate":
                return self._saturated(expr)
            case "clip":
                return self._clipped(expr)
            case "add" | "sub" if self.ranges.number(expr.operands[1]) == 0:
                return self.new(expr.operands[0])
        found = None
        if expr.op in SCALES:
            found = self._rescaled(expr)
        elif expr.op == "mul_shift_i32":
            found = self._multiplied(expr)
        return self._again(expr) if found is None else found

    def _again(self, expr: Expr) -> Expr:
        """The same function of cheaper operands."""
        args = tuple(self.new(arg) if isinstance(arg, Expr) else arg for arg in expr.args)
        return expr if args == expr.args else Expr(expr.op, args, expr.type)

    def _kept(self, expr: Expr) -> bool:
        """Whether the array kernels do this themselves: sums of a contraction to int8, and a clamp around."""
        if self.nest.verb != "contract" or expr.op not in ("saturate_i8", "clip_i8"):
            return False
        inner = expr.operands[0]
        if expr.op == "clip_i8":
            return self._kept(inner)
        if inner.op not in SCALES:
            return False
        value = inner.operands[0]
        return value.op == "acc" or (value.op == "add_i32" and any(arg.op == "acc" for arg in value.operands))

    def _saturated(self, expr: Expr) -> Expr:
        value = expr.operands[0]
        low, high = self.ranges.of(value)
        least, most = TYPES[expr.type]
        return self.new(value) if least <= low and high <= most else self._again(expr)

    def _clipped(self, expr: Expr) -> Expr:
        """Without a clamp that changes nothing; saturation goes into one that is narrower."""
        value, *bounds = expr.operands
        low, high = self.ranges.of(value)
        limits = [self.ranges.number(bound) for bound in bounds]
        least, most = limits
        if least is None or most is None or least > most:
            return self._again(expr)
        if least <= low and high <= most:
            return self.new(value)
        if value.op == f"saturate_{value.type}" and value.operands[0].type == "i32" and not self._kept(value):
            return call("clip_i32", self.new(value.operands[0]), self.number(least), self.number(most), type="i32")
        return self._again(expr)

    def _rescaled(self, expr: Expr) -> Expr | None:
        value = expr.operands[0]
        zero, multiplier, shift, out = map(self.ranges.number, expr.operands[1:])
        if zero is None or multiplier is None or shift is None or out is None:
            return None
        if multiplier <= 0 or not 2 <= shift <= 62:
            return None
        double = expr.op.endswith("double")
        term, ahead = self._term(value, zero)
        if term is None:
            return None
        found = scaled(term, scale_of(multiplier, shift, double, out, ahead), self.number)
        if found is None and out == 0 and ahead == 0:
            name = f"apply_scale_32{'_double' * double}"
            return call(name, term.plain(self.number), *map(self.new, expr.operands[2:4]), type="i32")
        return found

    def _multiplied(self, expr: Expr) -> Expr | None:
        """MUL without its shift if that is zero, as scaling if a factor is a number."""
        value, factor, shift = expr.operands
        amount, number = self.ranges.number(shift), self.ranges.number(factor)
        if amount == 0:
            return call("mul_i32", self.new(value), self.new(factor), type="i32")
        if amount is None or number is None or number <= 0:
            return None
        term, ahead = self._term(value, 0)
        scale = Scale(number << ahead, 1 << (amount - 1), 0, amount)
        return None if term is None else scaled(term, scale, self.number)

    def _term(self, value: Expr, less: int) -> tuple[Term | None, int]:
        """`value - less` as a term that is shifted left: shifts and numbers that do not wrap are taken apart."""
        expr, ahead = self.new(value), 0
        if less == 0 and expr.op == "shl_i32":
            inner, amount = expr.operands
            bits = self.ranges.number(amount) or 0
            low, high = self.ranges.of(inner)
            if 0 < bits < 31 and -LIMIT <= low << bits and high << bits < LIMIT:
                expr, ahead = inner, bits
        if expr.op in ("add_i32", "sub_i32"):
            inner, other = expr.operands
            number = self.ranges.number(other)
            low, high = self.ranges.of(inner)
            if number is not None:
                step = number if expr.op == "sub_i32" else -number
                if -LIMIT <= low - step and high - step < LIMIT:
                    expr, less = inner, less + step
        low, high = (limit - less for limit in self.ranges.of(expr))
        known = -LIMIT <= low and high < LIMIT and -LIMIT <= less < LIMIT
        return (Term(expr, less, (low, high)) if known else None), ahead

    def number(self, value: int) -> Expr:
        """A read of a number of 32 bits of our own."""
        if value not in self._numbers:
            self._numbers[value] = self._constant(np.array([value], np.int32), ())
            self.ranges.learn(self._numbers[value], (value, value))
        return self._numbers[value]

    def _constant(self, array: Array, index: tuple[Affine | Indirect, ...]) -> Expr:
        name = f"{self.name}.{len(self.extra)}"
        type_ = f"i{8 * array.itemsize}"
        self.made[name] = array
        self.extra.append(Access(name, type_, (array.size,) if index else (), index))
        return read(len(self.nest.reads) + len(self.extra) - 1, type_)

    # Functions of one value that can be few, as tables.

    def _table(self, expr: Expr) -> Expr | None:
        """A table of an expression that looks up constants by a function of one value with few possibilities."""
        root = self._root(expr)
        if root is None or root is expr or {root.type, expr.type} - SIGNED or not self._looks_up(expr, root):
            return None
        if expr.op == "read" and self._table_of_bytes(expr) is root:
            return None
        low, high = TYPES["i8"] if root.type == "i8" else self.ranges.of(root)
        if high - low >= ENTRIES:
            return None
        every = np.arange(low, high + 1, dtype=np.int64).astype(f"int{root.type[1:]}")
        with np.errstate(all="ignore"):
            values = np.broadcast_to(self._evaluated(expr, root, every), every.shape)
        first = self.new(root)
        place = (
            call("table_index_i8", first, type="i64")
            if root.type == "i8"
            else call("sub_i32", first, self.number(low), type="i32")
        )
        return self._constant(values.astype(f"int{expr.type[1:]}"), (Indirect(place),))

    def _table_of_bytes(self, expr: Expr) -> Expr | None:
        """The int8 value that a read of a table is looked up by, if it needs no other table."""
        index = self.nest.reads[int(expr.args[0])].index[0]  # type: ignore[arg-type]
        plain = isinstance(index, Indirect) and index.value.op == "table_index_i8"
        return index.value.operands[0] if plain and isinstance(index, Indirect) else None

    def _lookup(self, expr: Expr) -> Expr | None:
        """The index of a read of a constant table of one dimension."""
        if expr.op != "read" or int(expr.args[0]) >= len(self.nest.reads):  # type: ignore[arg-type]
            return None
        access = self.nest.reads[int(expr.args[0])]  # type: ignore[arg-type]
        known = access.operand in self.constants and access.fill is None and len(access.index) == 1
        index = access.index[0] if known else None
        return index.value if isinstance(index, Indirect) else None

    def _root(self, expr: Expr) -> Expr | None:
        """The one value that an expression is a function of, itself if there are several; None for a number."""
        if expr not in self._roots:
            index = self._lookup(expr)
            if index is not None:
                found = self._root(index)
            elif expr.op in LEAVES or self._kept(expr):
                found = None if self.ranges.number(expr) is not None else expr
            else:
                roots = {root for arg in expr.operands if (root := self._root(arg)) is not None}
                found = roots.pop() if len(roots) == 1 else expr if roots else None
            self._roots[expr] = found
        return self._roots[expr]

    def _looks_up(self, expr: Expr, root: Expr) -> bool:
        """Whether a table is read on the way from a value to a function of it."""
        if expr not in self._lookups:
            inner = expr is not root and any(self._looks_up(arg, root) for arg in expr.operands)
            self._lookups[expr] = inner or (expr is not root and self._lookup(expr) is not None)
        return self._lookups[expr]

    def _evaluated(self, expr: Expr, root: Expr, values: Array) -> Array:
        """An expression for many values of what it depends on."""
        known: dict[Expr, Array] = {root: values}

        def value(item: Expr) -> Array:
            if item not in known:
                known[item] = compute(item)
            return known[item]

        def compute(item: Expr) -> Array:
            index = self._lookup(item)
            if index is not None:
                table = self.constants[self.nest.reads[int(item.args[0])].operand].reshape(-1)  # type: ignore[arg-type]
                return table[np.clip(value(index), 0, table.size - 1)]  # type: ignore[no-any-return]
            number = self.ranges.number(item)
            if number is not None:
                return np.full(values.shape, number, DTYPE[item.type])
            computed: Array = vectorised(item.op)(*map(value, item.operands))
            return computed

        return value(expr)
