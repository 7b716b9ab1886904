"""Scalar expressions: what a nest computes at one point, as a small tree of declared scalars."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import ClassVar
from weakref import WeakValueDictionary

from tiling.scalars import LEAVES, Scalar, ScalarError, scalar

BYTES = {
    "bool": 1, "i8": 1, "u8": 1, "i16": 2, "u16": 2, "i32": 4, "i64": 8,
    "f16": 2, "bf16": 2, "f32": 4, "f64": 8, "f8e4m3": 1, "f8e5m2": 1,
}  # fmt: skip


class Expr:
    """One value: a leaf (`read`, `const`, `acc`, `axis`) or a scalar of `tiling.scalars`, of other values.

    Equal expressions are one object, so that comparing, hashing and sharing cost nothing. What no row of the
    vocabulary allows cannot be made.
    """

    __slots__ = ("__weakref__", "_inner_leaves", "_order", "args", "op", "operands", "scalar", "type")
    scalar: Scalar
    op: str
    """The name of the scalar."""
    args: tuple[Expr | int | float, ...]
    type: str
    operands: tuple[Expr, ...]
    """The expressions that this one is a function of."""
    _inner_leaves: tuple[Expr, ...]
    _order: tuple[Expr, ...]
    """What `walk` gives, once it has been asked; empty before."""
    _known: ClassVar[WeakValueDictionary[Hashable, Expr]] = WeakValueDictionary()

    def __new__(cls, op: str, args: tuple[Expr | int | float, ...], type: str) -> Expr:
        """The expression, made now or before."""
        key: Hashable = (op, type, args)
        if op == "const" and isinstance(args[0], float):
            key = (op, type, args[0].hex())
        found = cls._known.get(key)
        if found is None:
            found = super().__new__(cls)
            operands = tuple([arg for arg in args if isinstance(arg, Expr)])
            leaves = dict.fromkeys([leaf for operand in operands for leaf in operand.leaves])
            declared = _declared(op, tuple([operand.type for operand in operands]), type)
            if operands and len(operands) != len(args):
                raise ScalarError(f"{op} takes expressions alone, not {args}")
            values = (declared, op, args, type, operands, tuple(leaves), ())
            for name, value in zip(_FIELDS, values, strict=True):
                object.__setattr__(found, name, value)
            found = cls._known.setdefault(key, found)
        return found

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"Expr is immutable: cannot set {name}")

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return Expr, (self.op, self.args, self.type)

    def __add__(self, other: Expr) -> Expr:
        return apply("add", self, other)

    def __sub__(self, other: Expr) -> Expr:
        return apply("sub", self, other)

    def __mul__(self, other: Expr) -> Expr:
        return apply("mul", self, other)

    def __and__(self, other: Expr) -> Expr:
        return apply("and", self, other)

    def __or__(self, other: Expr) -> Expr:
        return apply("or", self, other)

    def __xor__(self, other: Expr) -> Expr:
        return apply("xor", self, other)

    def __invert__(self) -> Expr:
        return apply("not", self)

    def __str__(self) -> str:
        match self.op:
            case "read":
                return f"r{self.args[0]}"
            case "const":
                return str(self.args[0])
            case "acc":
                return "acc"
            case "axis":
                return f"a{self.args[0]}"
        return f"{self.op}({', '.join(map(str, self.args))})"

    @property
    def is_leaf(self) -> bool:
        """Whether nothing is computed: every scalar has an operand."""
        return not self.operands

    @property
    def leaves(self) -> tuple[Expr, ...]:
        """The distinct leaves below this expression, in order; of a leaf, it alone."""
        return self._inner_leaves if self.operands else (self,)

    @property
    def number(self) -> int:
        """Which read or axis a leaf stands for, or the value of an integer constant."""
        number = self.args[0]
        assert isinstance(number, int)
        return number


_FIELDS = ("scalar", "op", "args", "type", "operands", "_inner_leaves", "_order")


@lru_cache(maxsize=1 << 12)
def _declared(op: str, operands: tuple[str, ...], type: str) -> Scalar:
    """The scalar of an expression; ScalarError if there is none for operands and a result of such types."""
    leaf = LEAVES.get(op)
    if leaf is None:
        found = scalar(op)
        found.check(operands, type)
        return found
    if type not in BYTES:
        raise ScalarError(f"{op}: {type} is not a type; types are {', '.join(BYTES)}")
    return leaf


def apply(base: str, *args: Expr, type: str | None = None) -> Expr:
    """The scalar that does `base` for the type of its first argument, such as `add_i32`."""
    return call(f"{base}_{args[0].type}", *args, type=type)


def call(name: str, *args: Expr, type: str | None = None) -> Expr:
    """The scalar called exactly `name`; `type` is checked against that of its result."""
    return Expr(name, args, scalar(name).result if type is None else type)


@lru_cache(maxsize=1 << 12)
def read(number: int, type: str) -> Expr:
    """The value that read `number` of the nest finds at this point."""
    return Expr("read", (number,), type)


def const(value: int | float, type: str) -> Expr:
    """A literal."""
    return Expr("const", (value,), type)


def acc(type: str) -> Expr:
    """The result of the nest's reduction."""
    return Expr("acc", (), type)


def axis(number: int) -> Expr:
    """The coordinate of this point along an axis."""
    return Expr("axis", (number,), "i64")


Parts = Callable[[Expr], Sequence[Expr]]


def walk(*roots: Expr, parts: Parts | None = None) -> Iterator[Expr]:
    """Every distinct expression that the roots need, and they themselves, parts first: operands if unsaid."""
    if parts is not None:
        return _walked(roots, parts)
    if len(roots) == 1:
        return iter(_ordered(roots[0]))
    return iter(dict.fromkeys([node for root in roots for node in _ordered(root)]))


def _ordered(root: Expr) -> tuple[Expr, ...]:
    if not root._order:
        object.__setattr__(root, "_order", tuple(_walked((root,), attrgetter("operands"))))
    return root._order


def _walked(roots: Sequence[Expr], parts: Parts) -> Iterator[Expr]:
    seen: set[Expr] = set()
    stack = list(reversed(roots))
    while stack:
        node = stack[-1]
        missing = () if node in seen else [part for part in parts(node) if part not in seen]
        if missing:
            stack += reversed(missing)
            continue
        stack.pop()
        if node not in seen:
            seen.add(node)
            yield node


def rewrite(expr: Expr, leaf: Callable[[Expr], Expr]) -> Expr:
    """`expr` with every leaf replaced by `leaf(it)`; equal subtrees stay shared."""
    changed = {old: new for old in expr.leaves if (new := leaf(old)) is not old}
    return replaced(expr, changed) if changed else expr


def replaced(expr: Expr, changed: Mapping[Expr, Expr]) -> Expr:
    """`expr` with others in the place of some of its parts; equal subtrees stay shared."""
    done = dict(changed)
    for node in walk(expr):
        operands = node.operands
        if operands and node not in done:
            args = tuple([done.get(operand, operand) for operand in operands])
            if args != operands:
                done[node] = Expr(node.op, args, node.type)
    return done.get(expr, expr)


def reads_of(expr: Expr) -> frozenset[int]:
    """The numbers of the reads that `expr` uses."""
    return frozenset(leaf.number for leaf in expr.leaves if leaf.op == "read")
