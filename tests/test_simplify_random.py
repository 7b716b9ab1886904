"""Chains of integer functions drawn by chance give the same when they are simplified."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np
import pytest

from tiling.expr import Expr, call, const, read, walk
from tiling.nest import Access, Affine, Axis, Indirect, Nest, Write, identity
from tosajit.host.ranges import TYPES, apply_scale
from tosajit.host.simplify import simplify
from tosajit.kernels.scalars import scalar

Arrays = dict[str, Any]
LOW, HIGH = TYPES["i32"]


def evaluated(nest: Nest, arrays: Mapping[str, Any]) -> dict[str, Any]:
    """What a nest of one axis writes, point by point in plain Python."""
    results: dict[str, list[Any]] = {write.access.operand: [] for write in nest.writes}
    with np.errstate(all="ignore"):
        for point in range(nest.axes[0].extent):
            for write in nest.writes:
                kind = np.dtype(f"int{write.access.type[1:]}").type
                results[write.access.operand].append(kind(value_at(nest, write.value, point, arrays)))
    return {name: np.array(values) for name, values in results.items()}


def value_at(nest: Nest, expr: Expr, point: int, arrays: Mapping[str, Any]) -> Any:
    """The value of an expression at a point."""
    if expr.op == "const":
        return np.dtype(f"int{expr.type[1:]}").type(expr.number)
    if expr.op == "read":
        access = nest.reads[expr.number]
        place = []
        for index, extent in zip(access.index, access.shape, strict=True):
            if isinstance(index, Indirect):
                place.append(min(max(int(value_at(nest, index.value, point, arrays)), 0), extent - 1))
            else:
                place.append(index.offset + sum(one * point for one in index.coefficients))
        return np.asarray(arrays[access.operand]).reshape(access.shape)[tuple(place)]
    return scalar(expr.op)(*(value_at(nest, one, point, arrays) for one in expr.operands))


@dataclass
class Chain:
    """An expression of one byte or half word, what it is for each of its values, and what it reads."""

    random: Random
    kind: str
    values: list[int]
    reads: list[Access] = field(default_factory=list)
    constants: Arrays = field(default_factory=dict)
    used: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.inputs = list(self.values)
        self.reads.append(Access("x", self.kind, (len(self.values),), identity(1)))
        self.expr = read(0, self.kind)

    def number(self, value: int, kind: str = "i32") -> Expr:
        """A number: a literal, or a constant of the graph."""
        if self.random.random() < 0.3:
            return const(value, kind)
        name = f"c{len(self.reads)}"
        self.constants[name] = np.array([value], f"int{kind[1:]}")
        self.reads.append(Access(name, kind, (1,), (Affine((0,), 0),)))
        return read(len(self.reads) - 1, kind)

    def grown(self, steps: int) -> Chain:
        """After some steps that the specification allows."""
        makers = (self.rescale, self.rescale, self.multiply, self.add, self.subtract, self.clip, self.shift,
                  self.narrow, self.look_up)  # fmt: skip
        for _ in range(steps):
            self.random.choice(makers)()
        return self

    def take(self, name: str, expr: Callable[[], Expr], values: list[int]) -> None:
        """A step whose results fit 32 bits."""
        if LOW <= min(values) and max(values) <= HIGH:
            self.expr, self.values = expr(), values
            self.used.append(name)

    def rescale(self) -> None:
        zero, out = self.random.choice((0, 0, 3, -128)), self.random.choice((0, 0, 5, -7))
        multiplier = self.random.choice((1 << 30, 1 << 20, 1, 0, self.random.randrange(1 << 30, 1 << 31)))
        shift, double = self.random.choice((2, 3, 11, 20, 31, 33, 38, 45, 61, 62)), self.random.random() < 0.5
        less = [value - zero for value in self.values]
        limit = 1 << (shift - 1)
        if min(less) < max(LOW, -limit) or max(less) >= min(HIGH, limit):
            return
        found = [apply_scale(value, multiplier, shift, double) for value in less]
        if LOW <= min(found) and max(found) <= HIGH:
            name = "rescale_32_double" if double else "rescale_32"
            numbers = (zero, multiplier, shift, out)
            self.take(
                name, lambda: call(name, self.expr, *map(self.number, numbers)), [one + out for one in found]
            )

    def multiply(self) -> None:
        factor = self.random.choice((1, 2, 3, 1000, 1 << 20, -5, 0))
        amount = self.random.choice((0, 0, 1, 4, 31, 33))
        products = [value * factor for value in self.values]
        rounded = [(one + (1 << amount >> 1)) >> amount for one in products]

        def made() -> Expr:
            return call("mul_shift_i32", self.expr, self.number(factor), self.number(amount, "i8"))

        self.take("mul_shift", made, rounded)

    def add(self) -> None:
        other = self.random.choice((0, 1, -100, 70_000, 1 << 30))
        self.take(
            "add",
            lambda: call("add_i32", self.expr, self.number(other)),
            [one + other for one in self.values],
        )

    def subtract(self) -> None:
        other = self.random.choice((0, 1, -100, 128, 1 << 30))
        self.take(
            "sub",
            lambda: call("sub_i32", self.expr, self.number(other)),
            [one - other for one in self.values],
        )

    def shift(self) -> None:
        amount = self.random.choice((0, 1, 5, 8, 20, 23))
        self.take(
            "shl",
            lambda: call("shl_i32", self.expr, self.number(amount)),
            [one << amount for one in self.values],
        )

    def clip(self) -> None:
        ends = (-(1 << 20), -200, -128, -5, 0, 3, 100, 127, 128, 255, 1 << 18)
        least, most = sorted(self.random.choice(ends) for _ in range(2))
        found = [min(max(one, least), most) for one in self.values]
        self.take("clip", lambda: call("clip_i32", self.expr, self.number(least), self.number(most)), found)

    def narrow(self) -> None:
        kind = self.random.choice(("i8", "i8", "i16"))
        least, most = TYPES[kind]
        bounds = sorted(self.random.randrange(-128, 128) for _ in range(2))

        def made() -> Expr:
            value = call(f"saturate_{kind}", self.expr)
            return (
                value
                if kind == "i16"
                else call("clip_i8", value, *(self.number(one, "i8") for one in bounds))
            )

        found = [min(max(one, least), most) for one in self.values]
        self.take(
            "narrow", made, found if kind == "i16" else [min(max(one, bounds[0]), bounds[1]) for one in found]
        )

    def look_up(self) -> None:
        entries = [self.random.randrange(-128, 128) for _ in range(256)]
        name = f"t{len(self.reads)}"

        def made() -> Expr:
            place = Indirect(call("table_index_i8", call("saturate_i8", self.expr), type="i64"))
            self.constants[name] = np.array(entries, np.int8)
            self.reads.append(Access(name, "i8", (256,), (place,)))
            return read(len(self.reads) - 1, "i8")

        self.take("table", made, [entries[min(max(one, -128), 127) + 128] for one in self.values])

    def nest(self, name: str) -> Nest:
        """The chain as a nest."""
        kind = self.random.choice(("i8", "i32"))
        value = call("saturate_i8", self.expr) if kind == "i8" else call("to_i32", self.expr)
        write = Write(Access(name, kind, (len(self.inputs),), identity(1)), value)
        return Nest("map", (Axis("i", len(self.inputs)),), tuple(self.reads), (write,))


def drawn(seed: int) -> Chain:
    random = Random(seed)
    kind = random.choice(("i8", "i8", "i16", "i32"))
    least, most = TYPES[kind] if kind != "i32" else (-(1 << 30), (1 << 30) - 1)
    ends = {least, least + 1, -1, 0, 1, most - 1, most}
    return Chain(random, kind, sorted(ends | {random.randint(least, most) for _ in range(6)})).grown(
        random.randint(1, 7)
    )


SEEDS = range(240)


@pytest.mark.parametrize("tables", [False, True])
def test_chains_give_what_they_give_without_being_simplified(tables: bool) -> None:
    changed: Counter[bool] = Counter()
    for seed in SEEDS:
        chain = drawn(seed)
        nest = chain.nest("y")
        given = np.array(chain.inputs, f"int{chain.kind[1:]}")
        made = simplify([nest], chain.constants, {"y"}, tables)
        (simple,) = made.groups
        (found,) = evaluated(simple, {"x": given, **chain.constants, **made.constants}).values()
        expected = chain.values
        if nest.writes[0].access.type == "i8":
            expected = [min(max(one, -128), 127) for one in expected]
        assert found.tolist() == expected, (seed, chain.used)
        changed[simple != nest] += 1
    assert changed[True] > len(SEEDS) // 2


def test_chains_have_every_step() -> None:
    used = Counter(step for seed in SEEDS for step in drawn(seed).used)
    assert min(used.values()) > 20
    assert len(used) == 9


def test_forms_of_chains_are_the_ones_that_were_chosen(golden: Callable[[str, str], None]) -> None:
    lines = []
    for seed in SEEDS[:120]:
        chain = drawn(seed)
        made = simplify([chain.nest("y")], chain.constants, {"y"}, seed % 2 == 0)
        (simple,) = made.groups
        ops = [part.op for part in walk(simple.writes[0].value) if not part.is_leaf]
        numbers = {
            name.rpartition(".")[2]: array.reshape(-1)[:3].tolist() for name, array in made.constants.items()
        }
        lines.append(f"{' '.join(chain.used)}: {' '.join(ops)} {numbers}")
    golden("chains", "\n".join(lines))
