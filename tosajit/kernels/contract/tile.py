"""Register tiles: rows of A times panels of B, for AVX-512; one body, one functor per pair of types.

A step takes four bytes of each row of A (four int8, two int16, one fp32) and, per panel of 16 columns, the 64
bytes of B that meet them: B is packed as [columns / 16][steps][16][4 bytes].
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tosajit.kernels.contract.code import (
    B64,
    BF32,
    F16,
    H32,
    I16,
    I32,
    W16,
    Builder,
    Value,
    address,
    define,
    instruction,
    load,
    loop,
    number,
    opaque,
    procedure,
    splat,
    store,
)

HEIGHTS, PANELS = (1, 2, 4, 8, 12), 2
"""Sizes of tiles: in the largest, 24 of the 32 registers accumulate."""
CHAINS = 8
"""Independent accumulations that hide the latency of a multiplication (4 cycles, 2 units)."""


@dataclass(frozen=True, slots=True)
class Functor:
    """How a step of a pair of types is computed; `prepare` makes what is combined with all of A by xor."""

    name: str
    lanes: Any
    """The type of a register of operands."""
    prepare: Callable[[Builder], Value | None]
    multiply: Callable[[Builder, Value, Value, Value], Value]
    total: Any = W16
    """The type of a register of sums; those of floating-point numbers start at zero."""


def _flip(b: Builder) -> Value:
    return opaque(b, splat(b, number(-0x7F7F7F80, I32), 16))


def _multiply(name: str) -> Callable[[Builder, Value, Value, Value], Value]:
    def multiply(b: Builder, total: Value, left: Value, right: Value) -> Value:
        return instruction(b, f"llvm.x86.avx512.{name}.512", W16, [total, left, right])

    return multiply


INT8 = Functor("i8", B64, _flip, _multiply("vpdpbusd"))
"""int8 A is read as A + 128, unsigned as vpdpbusd wants it; the columns' start values correct for it."""
INT16 = Functor("i16", H32, lambda b: None, _multiply("vpdpwssd"))


def fused_multiply(b: Builder, total: Value, left: Value, right: Value) -> Value:
    """Return total + left * right, rounded once."""
    return instruction(b, "llvm.fma.v16f32", F16, [left, right, total])


def _pairs(b: Builder, total: Value, left: Value, right: Value) -> Value:
    """Return total + two products; the CPU takes subnormal operands and sums for zero here."""
    return instruction(b, "llvm.x86.avx512bf16.dpbf16ps.512", F16, [total, left, right])


def _two_products(b: Builder, total: Value, left: Value, right: Value) -> Value:
    """Return total + two products, with subnormal numbers."""
    for half in (_upper, _lower):
        total = fused_multiply(b, total, half(b, left), half(b, right))
    return total


def _upper(b: Builder, pairs: Value) -> Value:
    return b.bitcast(b.and_(b.bitcast(pairs, W16), number(-0x10000, W16)), F16)


def _lower(b: Builder, pairs: Value) -> Value:
    return b.bitcast(b.shl(b.bitcast(pairs, W16), number(16, W16)), F16)


FLOAT32 = Functor("f32", F16, lambda b: None, fused_multiply, F16)
BFLOAT16 = Functor("bf16", BF32, lambda b: None, _pairs, F16)
SMALL_BFLOAT16 = Functor("small_bf16", BF32, lambda b: None, _two_products, F16)


def tile(functor: Functor) -> Callable[..., None]:
    """Return `tile(a, a_row, segments, segment, steps, b, b_panel, init, out, rows, panels)`: init + A B.

    A row of A has segments of `steps`; `a_row`, `segment` and `b_panel` are distances in bytes, `init` one
    row of 32-bit words per panel, `out` rows of ROW_BYTES. Accumulation wraps at 32 bits. Steps may be 0.
    """

    def emit(b: Builder, *arguments: Value) -> None:
        *operands, rows, panels = arguments
        default, after = b.append_basic_block("default"), b.append_basic_block("after")
        choice = b.add(b.mul(panels, number(16)), rows)
        cases = b.switch(choice, default)
        for panel_count in range(1, PANELS + 1):
            for row_count in HEIGHTS:
                block = b.append_basic_block("case")
                cases.add_case(number(16 * panel_count + row_count), block)
                b.position_at_end(block)
                name = f"contract_tile_{functor.name}_{row_count}x{panel_count}"
                b.call(
                    define(b.module, name, 9, Body(functor, row_count, panel_count)),
                    operands,
                )
                b.branch(after)
        b.position_at_end(default)
        b.unreachable()
        b.position_at_end(after)

    return procedure(f"tile_{functor.name}", 11, emit)


ROW_BYTES = PANELS * 64


@dataclass(frozen=True, slots=True)
class Body:
    """The loops of one size of tile."""

    functor: Functor
    rows: int
    panels: int

    def __call__(self, b: Builder, *arguments: Value) -> None:
        """Sum, and store the words."""
        *operands, init, out = arguments
        for i, total in enumerate(self.sums(b, operands, init)):
            row, panel = divmod(i, self.panels)
            store(b, total, address(b, out, row * ROW_BYTES + panel * 64))

    def sums(self, b: Builder, operands: Sequence[Value], init: Value) -> list[Value]:
        """Return the sums of (a, a_row, segments, segment, steps, b, b_panel), row by row."""
        a, a_row, segments, segment, steps, right, b_panel = operands
        size = self.rows * self.panels
        chains = max(1, min(4, CHAINS // size))
        zero = number(0, self.functor.total)
        if self.functor.total is F16:
            first = [zero] * size
        else:
            first = [load(b, address(b, init, 64 * (i % self.panels)), W16) for i in range(size)]
        rest = [zero] * (size * (chains - 1))
        twice, flip = b.add(a_row, a_row), self.functor.prepare(b)
        count = -(-self.rows // 3)

        def body(unroll: int) -> Callable[[Value, Sequence[Value]], Sequence[Value]]:
            def steps_of(index: Value, values: Sequence[Value]) -> Sequence[Value]:
                return self._steps(b, values, unroll, (a_row, twice, b_panel, flip))

            return steps_of

        def part(index: Value, values: Sequence[Value]) -> Sequence[Value]:
            groups = [b.add(a, b.mul(index, segment))]
            while len(groups) < count:
                groups.append(b.add(b.add(groups[-1], twice), a_row))
            inner: Sequence[Value] = [values[0], *groups, *values[1:]]
            left = steps
            if chains > 1:
                inner = loop(b, b.udiv(steps, number(chains)), inner, body(chains))
                left = b.urem(steps, number(chains))
            inner = loop(b, left, inner, body(1))
            return [inner[0], *inner[1 + count :]]

        values = loop(b, segments, [right, *first, *rest], part)[1:]
        totals = list(values[:size])
        for i in range(size, len(values)):
            add = b.fadd if self.functor.total is F16 else b.add
            totals[i % size] = add(totals[i % size], values[i])
        return totals

    def _steps(
        self, b: Builder, values: Sequence[Value], unroll: int, fixed: Sequence[Value]
    ) -> Sequence[Value]:
        a_row, twice, b_panel, flip = fixed
        group_count = -(-self.rows // 3)
        right, groups, totals = (
            values[0],
            values[1 : 1 + group_count],
            list(values[1 + group_count :]),
        )
        for step in range(unroll):
            columns = [load(b, address(b, right, 64 * step), self.functor.lanes)]
            for _ in range(1, self.panels):
                columns.append(load(b, b.add(address(b, right, 64 * step), b_panel), self.functor.lanes))
            for row in range(self.rows):
                where = address(b, groups[row // 3], 4 * step)
                where = where if row % 3 == 0 else b.add(where, a_row if row % 3 == 1 else twice)
                left = splat(b, load(b, where, I32), 16)
                left = b.bitcast(b.xor(left, flip) if flip is not None else left, self.functor.lanes)
                for panel, column in enumerate(columns):
                    i = (step * self.rows + row) * self.panels + panel
                    totals[i] = self.functor.multiply(b, totals[i], left, column)
        moved = [address(b, group, 4 * unroll) for group in groups]
        return [address(b, right, 64 * unroll), *moved, *totals]


tile_i8, tile_i16 = tile(INT8), tile(INT16)
tile_f32, tile_bf16, tile_small_bf16 = tile(FLOAT32), tile(BFLOAT16), tile(SMALL_BFLOAT16)


def _least_bf16(b: Builder, source: Value, count: Value, lanes: Value) -> None:
    """Keep the least magnitudes less one: zero wraps round, and counts as large as can be."""

    def least(where: Value, known: Value, type_: Any) -> Value:
        bits = b.and_(load(b, where, type_), number(0x7FFF, type_))
        size = b.sub(bits, number(1, type_))
        return b.select(b.icmp_unsigned("<", size, known), size, known)

    def many(index: Value, values: Sequence[Value]) -> Sequence[Value]:
        return [least(address(b, source, index, 64), values[0], H32)]

    (found,) = loop(b, b.udiv(count, number(32)), [load(b, lanes, H32)], many)
    store(b, found, lanes)
    rest = b.urem(count, number(32))
    start = address(b, source, b.sub(count, rest), 2)

    def single(index: Value, values: Sequence[Value]) -> Sequence[Value]:
        return [least(address(b, start, index, 2), values[0], I16)]

    (found,) = loop(b, rest, [load(b, lanes, I16)], single)
    store(b, found, lanes)


least_bf16 = procedure("least_bf16", 3, _least_bf16)
"""`least_bf16(source, count, lanes)`: 32 magnitudes less one, each at most what it was before."""
