"""Simplifying the expressions of groups by what is known of values: constants, ranges, tables of few entries.

Every new expression gives the same bits for all values that can occur and that the specification allows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import field

import numpy as np

from tiling.expr import Expr, call, read, walk
from tiling.nest import Access, Affine, Indirect, Nest, Write, rewrite_nest
from tiling.normal import normalise
from tiling.records import dataclass, replace
from tiling.scalars import scalar
from tosajit.arrays import Array
from tosajit.host.functions import Functions
from tosajit.host.numbers import apart_numbers
from tosajit.host.ranges import DOUBLE, SCALES, TYPES, Range, Ranges
from tosajit.host.scale import LIMIT, Scale, Term, scale_of, scaled
from tosajit.host.sums import BYTES, plane_of

SHORT = 8
"""Expressions that are at most so long are as fast as a table."""
PAIRS, LONG = 1 << 16, 32
"""The entries of a table for two bytes, which are looked up one by one; what is no longer is as fast."""
LARGEST_EXPONENT = 20
"""Of powers of two whose products with some others are ordinary numbers for certain, and one over these."""
ENTRIES = 1024
"""The largest table that stands for a function of one value."""
CHEAP = frozenset({"add_i32", "sub_i32", "shl_i32", "to_i32"})
"""Functions of a value and a number that cost less than the memory for their result."""
NARROW = ("i8", "i16")
SIGNED = {"i8", "i16", "i32"}
"""Types between which a table stands for a function."""


@dataclass
class Simplified:
    """Groups that compute the same, and the constants that they read besides."""

    groups: list[Nest] = field(default_factory=list)
    constants: dict[str, Array] = field(default_factory=dict)
    narrow: dict[str, Narrow] = field(default_factory=dict)
    """Results in memory as narrower values, from which their readers compute them."""


@dataclass(frozen=True, slots=True)
class Narrow:
    """A result as another one: where that is, and the functions of it and numbers that give the result."""

    access: Access
    steps: tuple[tuple[str, int], ...]
    """Functions and their second operands, if they have one; innermost first."""


def simplify(
    groups: Sequence[Nest], constants: Mapping[str, Array], kept: Collection[str], tables: bool
) -> Simplified:
    """The groups with cheaper expressions; what one writes tells the ranges of what later ones read.

    Values in `kept` stay; with `tables` there is vector code that looks up bytes.
    """
    made = Simplified()
    known: dict[str, Range] = {}
    every = dict(constants)
    plain = _only_elementwise(groups) - set(kept)
    for number, group in enumerate(groups):
        rewriter = _Rewriter(group, every, known, made, number, plain, tables)
        made.groups.append(apart_numbers(rewriter.rewritten(), every))
        for write in rewriter.nest.writes:
            low, high = rewriter.ranges.of(write.value)
            before = known.get(write.access.operand, (low, high))
            known[write.access.operand] = min(low, before[0]), max(high, before[1])
    return made


def _only_elementwise(groups: Sequence[Nest]) -> set[str]:
    """Values that one group writes and that others read where nothing depends on how they lie in memory."""
    writers = Counter(write.access.operand for group in groups for write in group.writes)
    bound = {
        access.operand
        for group in groups
        for access in group.reads
        if group.verb == "contract" or access.fill is not None or access.indirect
    }
    return {name for name, count in writers.items() if count == 1} - bound


class _Rewriter:
    """Rewrites the expressions of one nest, operands first; new constants become reads behind its own."""

    def __init__(
        self,
        nest: Nest,
        constants: dict[str, Array],
        known: dict[str, Range],
        made: Simplified,
        number: int,
        plain: Collection[str],
        tables: bool,
    ) -> None:
        self.nest, self.known, self.made, self.plain, self.tables = nest, known, made, plain, tables
        self.constants = constants
        self.name = f"{nest.writes[0].access.operand}.{number}"
        self.extra: list[Access] = []
        self._numbers: dict[int, Expr] = {}
        self.ranges = Ranges(nest, self.constants, known)
        self.nest = self.ranges.nest = self._widened(nest)
        self._memo: dict[Expr, Expr] = {}
        self.functions = Functions(self.ranges, self.constants, self._read, self._kept)

    def rewritten(self) -> Nest:
        """The nest with new expressions."""
        nest = self.nest
        writes = tuple(self._write(write) for write in nest.writes)
        reduction = nest.reduction
        if reduction is not None and nest.verb != "contract":
            reduction = replace(reduction, value=self.new(reduction.value))
        reads = tuple(map(self._access, nest.reads))
        if not self.extra and writes == nest.writes and reads == nest.reads and reduction == nest.reduction:
            return nest
        return normalise(replace(nest, reads=(*reads, *self.extra), writes=writes, reduction=reduction))

    def _widened(self, nest: Nest) -> Nest:
        """The nest computing from narrower values what it reads."""
        known = {
            n: self.made.narrow[a.operand] for n, a in enumerate(nest.reads) if a.operand in self.made.narrow
        }
        if not known:
            return nest

        def leaf(expr: Expr) -> Expr:
            if expr.op != "read" or expr.number not in known:
                return expr
            narrow = known[expr.number]
            found = read(expr.number, narrow.access.type)
            for op, number in narrow.steps:
                found = call(op, found, *([self.number(number)] if len(scalar(op).operands) > 1 else []))
            return found

        nest = rewrite_nest(nest, leaf)
        reads = list(nest.reads)
        for number, narrow in known.items():
            reads[number] = replace(reads[number], operand=narrow.access.operand, type=narrow.access.type)
        return replace(nest, reads=tuple(reads))

    def _write(self, write: Write) -> Write:
        """A result by cheaper expressions; in memory as a narrower value if it is next to that."""
        access, value = self._access(write.access), self.new(write.value)
        if access.operand in self.plain and access.type == "i32":
            access, value = self._narrowed(access, value)
        found = self._bytes_of_bytes(value) if self.tables else None
        found = self._of_pairs(value) if found is None else found
        return Write(access, value if found is None else found)

    def _narrowed(self, access: Access, value: Expr) -> tuple[Access, Expr]:
        """The narrower value from which readers can compute a result at no cost, if there is one."""
        whole = value
        steps: list[tuple[str, int]] = []
        options: list[tuple[str, Expr, tuple[tuple[str, int], ...]]] = []
        while True:
            kind = value.type if value.type in NARROW else self._narrowest(value)
            if kind:
                options.append((kind, value, tuple(steps)))
            number = self.ranges.number(value.operands[1]) if len(value.operands) == 2 else 0
            if value.op not in CHEAP or number is None:
                break
            steps.insert(0, (value.op, number))
            value = value.operands[0]
        if not options:
            return access, whole
        kind, value, after = min(options, key=lambda option: (NARROW.index(option[0]), len(option[2])))
        if value.type != kind:
            value, after = call(f"to_{kind}", value, type=kind), (("to_i32", 0), *after)
        narrow = replace(access, operand=f"{access.operand}.narrow", type=kind)
        self.made.narrow[access.operand] = Narrow(narrow, after)
        self.known[narrow.operand] = self.ranges.of(value)
        return narrow, value

    def _narrowest(self, value: Expr) -> str:
        """The narrowest type that has all values of an int32 expression; empty if it needs 32 bits."""
        low, high = self.ranges.of(value)
        return next((kind for kind in NARROW if TYPES[kind][0] <= low and high <= TYPES[kind][1]), "")

    def _bytes_of_bytes(self, value: Expr) -> Expr | None:
        """A table for a long way from one int8 value to another, for results that are nothing else."""
        root = self.functions.root(value)
        long = self.nest.reduction is None and value.type == "i8" and len(list(walk(value))) > SHORT
        if not long or root is None or root.op != "read" or root.type != "i8" or len(self.nest.axes) != 1:
            return None
        return None if self._read(root).indirect else self._tabled(value, root)

    def _of_pairs(self, value: Expr) -> Expr | None:
        """A table for a long way from two int8 values to another, if it is no larger than the results."""
        roots = self.functions.roots(value)
        few = self.nest.verb != "map" or self.nest.points < PAIRS or len(list(walk(value))) <= LONG
        if few or value.type != "i8" or len(roots) != 2:
            return None
        if any(root.op != "read" or root.type != "i8" or self._read(root).indirect for root in roots):
            return None
        every = np.repeat(bytes := BYTES.astype(np.int8), bytes.size), np.tile(bytes, bytes.size)
        with np.errstate(all="ignore"):
            entries = self.functions.evaluated(value, dict(zip(roots, every, strict=True)))
        first, second = (call("to_i32", root, type="i32") for root in roots)
        row = call("mul_i32", first, self.number(bytes.size), type="i32")
        place = call("add_i32", row, second, type="i32")
        middle = self.number(PAIRS // 2 + bytes.size // 2)
        return self._constant(
            entries.astype(np.int8), (Indirect(call("add_i32", place, middle, type="i32")),)
        )

    def _read(self, expr: Expr) -> Access:
        """The access of a read, of our own too."""
        return (*self.nest.reads, *self.extra)[expr.number]

    def _access(self, access: Access) -> Access:
        if not access.indirect:
            return access
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
        if self._kept(expr):
            return expr
        entries = self._table(expr)
        if entries is not None:
            return entries
        if expr.is_leaf:
            return expr
        match expr.scalar.base:
            case "saturate":
                return self._saturated(expr)
            case "clip":
                return self._clipped(expr)
            case "add" | "sub" if self.ranges.number(expr.operands[1]) == 0:
                return self.new(expr.operands[0])
            case "div" if self.nest.verb == "map" and (over := self._over(expr.operands[1])) is not None:
                return call(f"mul_{expr.type}", self.new(expr.operands[0]), over, type=expr.type)
            case "pow" if expr.type == "f32" and self._is_never_zero(expr.operands[1]):
                base, exponent = map(self.new, expr.operands)
                product = call("mul_f32", exponent, call("log_f32", base, type="f32"), type="f32")
                return call("exp_f32", product, type="f32")
        found = self._scaling(expr)
        return self._again(expr) if found is None else found

    def _scaling(self, expr: Expr) -> Expr | None:
        """A cheaper form of what scales a value, if it does and there is one."""
        if expr.op in SCALES:
            return self._rescaled(expr)
        return self._multiplied(expr) if expr.op == "mul_shift_i32" else None

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
        needless = least <= low and high <= most and not self._is_shifted(self.new(value))
        return self.new(value) if needless else self._again(expr)

    def _is_shifted(self, value: Expr) -> bool:
        """Whether a value is scaled by numbers of a model: that it fits a type may be an accident of these.

        Saturation costs next to nothing, and without it a group would have another kernel.
        """
        return self.nest.verb != "contract" and value.op == "ashr_i32"

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
        if value.scalar.base == "saturate" and value.operands[0].type == "i32" and not self._kept(value):
            return call(
                "clip_i32", self.new(value.operands[0]), self.number(least), self.number(most), type="i32"
            )
        return self._again(expr)

    def _rescaled(self, expr: Expr) -> Expr | None:
        value = expr.operands[0]
        zero, multiplier, shift, out = map(self.ranges.number, expr.operands[1:])
        if zero is None or multiplier is None or shift is None or out is None:
            return None
        if multiplier <= 0 or not 2 <= shift <= 62:
            return None
        double = expr.op == DOUBLE
        plane = self._of_two_bytes(value, scale_of(multiplier, shift, double, out, 0)) if not zero else None
        if plane is not None:
            return plane
        term, ahead = self._term(value, zero)
        if term is None:
            return None
        if shift < 32:
            term = _required(term, shift - 1 - ahead)
        found = scaled(term, scale_of(multiplier, shift, double, out, ahead), self.number)
        if found is None and out == 0 and ahead == 0:
            name = "apply_scale_32_double" if double else "apply_scale_32"
            return call(name, term.plain(self.number), *map(self.new, expr.operands[2:4]), type="i32")
        return found

    def _of_two_bytes(self, value: Expr, scale: Scale) -> Expr | None:
        """A sum or difference of functions of two bytes, scaled, as one product of each byte."""
        if value.op not in ("add_i32", "sub_i32"):
            return None
        roots = [self.functions.root(operand) for operand in value.operands]
        first, second = roots
        if first is None or second is None or first is second or {first.type, second.type} != {"i8"}:
            return None
        both, bytes = (first, second), BYTES.astype(np.int8)
        a, b = (
            self.functions.evaluated(of, {root: bytes}) for of, root in zip(value.operands, both, strict=True)
        )
        plane = plane_of(a, b.astype(np.int64) * (1 if value.op == "add_i32" else -1), scale)
        if plane is None:
            return None
        products = (
            call("mul_i32", self.new(root), self.number(factor), type="i32")
            for root, factor in zip(both, (plane.first, plane.second), strict=True)
        )
        total = call("add_i32", call("add_i32", *products, type="i32"), self.number(plane.addend), type="i32")
        return call("ashr_i32", total, self.number(plane.shift), type="i32")

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

    def _over(self, expr: Expr) -> Expr | None:
        """One over a product of powers of two that are constants: to multiply by it rounds as to divide."""
        if expr.op == "mul_f32":
            first, second = map(self._over, expr.operands)
            return None if first is None or second is None else call("mul_f32", first, second, type="f32")
        access = self._read(expr) if expr.op == "read" and expr.type == "f32" else None
        array = None if access is None or access.fill is not None else self.constants.get(access.operand)
        if access is None or access.indirect or array is None or array.dtype != np.float32:
            return None
        fraction, exponent = np.frexp(array)
        exact = (np.abs(fraction) == 0.5) & (np.abs(exponent) <= LARGEST_EXPONENT)
        if not exact.all():
            return None
        if (array == array.flat[0]).all():
            array, access = array.ravel()[:1], replace(access, shape=(), index=())
        return self._added(1 / array, access)

    def _is_never_zero(self, expr: Expr) -> bool:
        """Whether an exponent is of constants other than zero: nothing then has to be chosen for its power.

        Where all exponents are the same, LLVM would branch at that, and do nothing beside other numbers.
        """
        access = self._read(expr) if expr.op == "read" else None
        array = None if access is None or access.fill is not None else self.constants.get(access.operand)
        return array is not None and bool((array != 0).all())

    def _term(self, value: Expr, less: int) -> tuple[Term | None, int]:
        """`value - less` as a term that is shifted left: what does not wrap is taken apart."""
        expr, ahead = self.new(value), 0
        while True:
            inner = expr.operands[0] if expr.operands else expr
            low, high = self.ranges.of(inner)
            step = self.ranges.number(expr.operands[1]) if len(expr.operands) == 2 else None
            if expr.scalar.family == "cast" and inner.type == "i32" and self.ranges.of(expr) == (low, high):
                expr = inner
            elif expr.op in ("add_i32", "sub_i32") and step is not None:
                step = step if expr.op == "sub_i32" else -step
                if not _fits(low - step, high - step):
                    break
                expr, less = inner, less + step
            elif expr.op == "shl_i32" and step is not None and 0 <= step < 31 and less % (1 << step) == 0:
                if not _fits(low << step, high << step):
                    break
                expr, less, ahead = inner, less >> step, ahead + step
            else:
                break
        low, high = (limit - less for limit in self.ranges.of(expr))
        known = _fits(low, high) and _fits(less, less)
        return (Term(expr, less, (low, high)) if known else None), ahead

    def number(self, value: int) -> Expr:
        """A read of a number of 32 bits of our own."""
        if value not in self._numbers:
            self._numbers[value] = self._constant(np.array([value], np.int32), ())
            self.ranges.learn(self._numbers[value], (value, value))
        return self._numbers[value]

    def _constant(self, array: Array, index: tuple[Affine | Indirect, ...]) -> Expr:
        return self._added(array, Access("", f"i{8 * array.itemsize}", (array.size,) if index else (), index))

    def _added(self, array: Array, access: Access) -> Expr:
        """A read of a constant of our own."""
        name = f"{self.name}.{len(self.extra)}"
        self.made.constants[name] = self.constants[name] = array
        self.extra.append(replace(access, operand=name))
        return read(len(self.nest.reads) + len(self.extra) - 1, access.type)

    # Functions of one value that can be few, as tables.

    def _table(self, expr: Expr) -> Expr | None:
        """A table of an expression that looks up constants by a function of one value of few."""
        root = self.functions.root(expr)
        if (
            root is None
            or root is expr
            or {root.type, expr.type} - SIGNED
            or not self.functions.looks_up(expr, root)
        ):
            return None
        if expr.op == "read" and _byte(self._read(expr)) is root:
            return None
        return self._tabled(expr, root)

    def _tabled(self, expr: Expr, root: Expr) -> Expr | None:
        """What an expression is for each value of its root."""
        low, high = TYPES["i8"] if root.type == "i8" else self.ranges.of(root)
        if high - low >= ENTRIES:
            return None
        every = np.arange(low, high + 1, dtype=np.int64).astype(f"int{root.type[1:]}")
        with np.errstate(all="ignore"):
            values = np.broadcast_to(self.functions.evaluated(expr, {root: every}), every.shape)
        first = self.new(root)
        place = (
            call("table_index_i8", first, type="i64")
            if root.type == "i8"
            else call("sub_i32", first, self.number(low), type="i32")
        )
        return self._constant(values.astype(f"int{expr.type[1:]}"), (Indirect(place),))


def _required(term: Term, bits: int) -> Term:
    """The term with the values that apply_scale_32 may have (TOSA 1.0.1 section 4.5.5)."""
    limit = 1 << max(bits, 0)
    low, high = max(term.values[0], -limit), min(term.values[1], limit - 1)
    return replace(term, values=(low, high)) if low <= high else term


def _fits(low: int, high: int) -> bool:
    """Whether a range is one of int32."""
    return -LIMIT <= low and high < LIMIT


def _byte(table: Access) -> Expr | None:
    """The int8 value that a table is looked up by as TABLE does it."""
    index = table.index[0]
    plain = isinstance(index, Indirect) and index.value.op == "table_index_i8"
    return index.value.operands[0] if plain and isinstance(index, Indirect) else None
