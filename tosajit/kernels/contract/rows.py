"""Runs of bytes: copying, filling and summing rows of A, for AVX-512."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from llvmlite import ir

from tosajit.kernels.contract.code import (
    B64,
    I1,
    I8,
    I32,
    I64,
    Q8,
    VOID,
    W16,
    Builder,
    Value,
    address,
    instruction,
    load,
    loop,
    number,
    procedure,
    splat,
    store,
    vector,
)

RUN_SLACK = 64
"""How far `copy_run` and `fill_run` may write past the end of a run."""


def lanes_below(b: Builder, count: Value, lanes: int) -> Value:
    """Return the mask of the lanes below `count`, 0 to `lanes`."""
    shift = b.sub(number(64), count)
    ones = b.select(
        b.icmp_signed(">", count, number(0)),
        b.lshr(number(-1), b.and_(shift, number(63))),
        number(0),
    )
    integer = ones if lanes == 64 else b.trunc(ones, ir.IntType(lanes))
    return b.bitcast(integer, vector(I1, lanes))


def _suffix(type_: Any) -> str:
    return f"v{type_.count}i{type_.element.width}.p0"


def masked_load(b: Builder, where: Value, mask: Value, type_: Any, other: Value | None = None) -> Value:
    """Load the lanes of `mask` and touch no other byte; the other lanes are 0, or those of `other`."""
    pointer = b.inttoptr(where, type_.as_pointer())
    other = number(0, type_) if other is None else other
    return instruction(
        b,
        f"llvm.masked.load.{_suffix(type_)}",
        type_,
        [pointer, number(1, I32), mask, other],
    )


def masked_store(b: Builder, value: Value, where: Value, mask: Value) -> None:
    """Store the lanes of `mask` and touch no other byte."""
    pointer = b.inttoptr(where, value.type.as_pointer())
    name = f"llvm.masked.store.{_suffix(value.type)}"
    instruction(b, name, VOID, [value, pointer, number(1, I32), mask])


def _copy_run(b: Builder, target: Value, source: Value, size: Value) -> None:
    def whole(index: Value, _: Any) -> list[Value]:
        store(
            b,
            load(b, address(b, source, index, 64), B64),
            address(b, target, index, 64),
        )
        return []

    full = b.lshr(size, number(6))
    loop(b, full, [], whole)
    done = b.shl(full, number(6))
    mask = lanes_below(b, b.sub(size, done), 64)
    store(b, masked_load(b, b.add(source, done), mask, B64), b.add(target, done))


def _clamped(b: Builder, value: Value, limit: Value) -> Value:
    """Return value within 0 and limit."""
    value = b.select(b.icmp_signed(">", value, number(0)), value, number(0))
    return b.select(b.icmp_signed("<", value, limit), value, limit)


RUN_ENTRY = 24
"""Bytes of an entry of the table of runs: address of its first byte for input column 0, column of its first
tap, and -1 or, for a run in the padding, 0."""


def _between(b: Builder, low: Value, high: Value) -> Value:
    """Return the bits from low, below 64, and below high."""
    ones = b.lshr(number(-1), b.and_(b.sub(number(64), high), number(63)))
    ones = b.select(b.icmp_signed(">", high, number(0)), ones, number(0))
    return b.and_(ones, b.shl(number(-1), low))


def _copy_part(b: Builder, to: Value, where: Value, bits: Value, zeros: Value) -> None:
    """Copy a register, with zero points where the bits are 0."""
    lanes = zeros.type.count
    bits = bits if lanes == 64 else b.trunc(bits, ir.IntType(lanes))
    mask = b.bitcast(bits, vector(I1, lanes))
    store(b, masked_load(b, where, mask, zeros.type, zeros), to)


@dataclass(frozen=True, slots=True)
class _Runs:
    """The runs of one position: where their table is, and what they have in common."""

    table: Value
    count: Value
    size: Value
    stride: Value
    shift: Value
    zeros: Value

    def each(self, b: Builder, target: Value, copy: Callable[[Value, Value, Value], None]) -> None:
        """Run `copy(to, entry, known bits)` for each."""

        def run(index: Value, to: Sequence[Value]) -> Sequence[Value]:
            entry = b.add(self.table, b.mul(index, number(RUN_ENTRY)))
            copy(to[0], entry, load(b, address(b, entry, 16), I64))
            return [b.add(to[0], self.stride)]

        loop(b, self.count, [target], run)

    def within(self, b: Builder, target: Value, bits: Value, lanes: int) -> None:
        """Copy runs that fit a register, of which the same bits exist in all."""
        zeros = splat(b, b.extract_element(self.zeros, number(0, I32)), lanes)

        def copy(to: Value, entry: Value, known: Value) -> None:
            where = b.add(load(b, entry, I64), self.shift)
            _copy_part(b, to, where, b.and_(bits, known), zeros)

        self.each(b, target, copy)

    def whole(self, b: Builder, target: Value) -> None:
        """Copy long runs that exist, but for those in the padding above and below."""
        full, rest = b.lshr(self.size, number(6)), b.and_(self.size, number(63))
        tail = _between(b, number(0), rest)

        def copy(to: Value, entry: Value, known: Value) -> None:
            where = b.add(load(b, entry, I64), self.shift)

            def chunk(position: Value, _: Any) -> list[Value]:
                done = b.shl(position, number(6))
                _copy_part(b, b.add(to, done), b.add(where, done), known, self.zeros)
                return []

            loop(b, full, [], chunk)
            with b.if_then(b.icmp_signed("!=", rest, number(0))):
                done = b.shl(full, number(6))
                _copy_part(b, b.add(to, done), b.add(where, done), b.and_(tail, known), self.zeros)

        self.each(b, target, copy)

    def clipped(self, b: Builder, target: Value, bounds: Callable[[Value], tuple[Value, Value]]) -> None:
        """Copy runs of which only the bytes within bounds(entry) exist."""
        chunks = b.lshr(b.add(self.size, number(63)), number(6))

        def copy(to: Value, entry: Value, known: Value) -> None:
            where = b.add(load(b, entry, I64), self.shift)
            low, high = bounds(entry)

            def chunk(position: Value, _: Any) -> list[Value]:
                done = b.shl(position, number(6))
                last, first = b.sub(high, done), b.sub(low, done)
                all_ = b.and_(b.icmp_signed(">=", last, number(64)), b.icmp_signed("<=", first, number(0)))
                before = b.block
                with b.if_then(b.not_(all_), likely=False):
                    last, first = _clamped(b, last, number(64)), _clamped(b, first, number(64))
                    some = b.select(b.icmp_signed("<", first, last), _between(b, first, last), number(0))
                    clipping = b.block
                bits = b.phi(I64)
                bits.add_incoming(number(-1), before)
                bits.add_incoming(some, clipping)
                _copy_part(b, b.add(to, done), b.add(where, done), b.and_(bits, known), self.zeros)
                return []

            loop(b, chunks, [], chunk)

        self.each(b, target, copy)


def _gather_rows(b: Builder, *arguments: Value) -> None:
    (
        target,
        row_bytes,
        count,
        table,
        runs,
        run_bytes,
        run_taps,
        tap_bytes,
        column,
        stride,
        width,
        reach,
        in_x,
        zero,
    ) = arguments
    size, zeros = b.mul(run_taps, tap_bytes), splat(b, b.trunc(zero, I8), 64)
    joined = b.icmp_signed("==", run_taps, reach)
    every = _between(b, number(0), size)

    def position(index: Value, _: Any) -> list[Value]:
        first = b.add(column, b.mul(index, stride))
        to = b.add(target, b.mul(index, row_bytes))
        row = _Runs(table, runs, size, run_bytes, b.mul(first, in_x), zeros)
        last = b.add(first, reach)
        inside = b.and_(b.icmp_signed(">=", first, number(0)), b.icmp_signed("<=", last, width))

        def bounds(start: Value) -> tuple[Value, Value]:
            low = _clamped(b, b.sub(number(0), start), run_taps)
            high = _clamped(b, b.sub(width, start), run_taps)
            return b.mul(low, tap_bytes), b.mul(high, tap_bytes)

        def of_entry(entry: Value) -> tuple[Value, Value]:
            return bounds(b.add(first, load(b, address(b, entry, 8), I64)))

        with b.if_else(b.and_(joined, b.icmp_signed("<=", size, number(64)))) as (short, long):
            with short:
                before = b.block
                with b.if_then(b.not_(inside), likely=False):
                    low, high = bounds(first)
                    some = b.select(b.icmp_signed("<", low, high), _between(b, low, high), number(0))
                    clipping = b.block
                bits = b.phi(I64)
                bits.add_incoming(every, before)
                bits.add_incoming(some, clipping)
                with b.if_else(b.icmp_signed("<=", size, number(16))) as (least, most):
                    with least:
                        row.within(b, to, bits, 16)
                    with most:
                        row.within(b, to, bits, 64)
            with long, b.if_else(inside) as (interior, edge):
                with interior:
                    row.whole(b, to)
                with edge:
                    row.clipped(b, to, of_entry)
        return []

    loop(b, count, [], position)


def _fill_run(b: Builder, target: Value, value: Value, size: Value) -> None:
    register = splat(b, b.trunc(value, I8), 64)

    def whole(index: Value, _: Any) -> list[Value]:
        store(b, register, address(b, target, index, 64))
        return []

    loop(b, b.lshr(b.add(size, number(63)), number(6)), [], whole)


def _add_row_sums(
    b: Builder,
    a: Value,
    a_row: Value,
    size: Value,
    factor: Value,
    out: Value,
    rows: Value,
) -> None:
    """Add factor * (sum of int8 along the row of A) to every word of the row of `out`, 128 bytes."""

    def row(index: Value, _: Any) -> list[Value]:
        start, words = b.add(a, b.mul(index, a_row)), address(b, out, index, 128)

        def part(position: Value, totals: Any) -> list[Value]:
            offset = b.shl(position, number(6))
            left = b.sub(size, offset)
            count = b.select(b.icmp_signed("<", left, number(64)), left, number(64))
            some = masked_load(b, b.add(start, offset), lanes_below(b, count, 64), B64)
            name = "llvm.x86.avx512.vpdpbusd.512"
            return [instruction(b, name, W16, [totals[0], number(1, B64), some])]

        parts = b.lshr(b.add(size, number(63)), number(6))
        total = loop(b, parts, [number(0, W16)], part)[0]
        sum_ = instruction(b, "llvm.vector.reduce.add.v16i32", I32, [total])
        term = splat(b, b.mul(sum_, b.trunc(factor, I32)), 16)
        for offset in (0, 64):
            store(
                b,
                b.add(load(b, address(b, words, offset), W16), term),
                address(b, words, offset),
            )
        return []

    loop(b, rows, [], row)


def widen_add(b: Builder, words: Value, where: Value) -> None:
    """Add 16 words to the 16 quad words at an address."""
    for half in range(2):
        lanes = ir.Constant(vector(I32, 8), [number(8 * half + lane, I32) for lane in range(8)])
        part = b.sext(b.shuffle_vector(words, words, lanes), Q8)
        there = address(b, where, 64 * half)
        store(b, b.add(load(b, there, Q8), part), there)


def _widen_add_rows(b: Builder, sums: Value, words: Value, rows: Value, panels: Value, split: Value) -> None:
    def row(index: Value, _: Any) -> list[Value]:
        source, target = address(b, sums, index, 128), address(b, words, index, 256)
        first, second = load(b, source, W16), load(b, address(b, source, 64), W16)
        with b.if_else(b.icmp_signed("!=", split, number(0))) as (halves, columns):
            with halves:
                for half in range(2):
                    lanes = ir.Constant(
                        vector(I32, 8),
                        [number(8 * half + lane, I32) for lane in range(8)],
                    )
                    upper, lower = (
                        b.sext(b.shuffle_vector(part, part, lanes), Q8) for part in (first, second)
                    )
                    there = address(b, target, 64 * half)
                    total = b.add(b.shl(upper, number(8, Q8)), lower)
                    store(b, b.add(load(b, there, Q8), total), there)
            with columns:
                widen_add(b, first, target)
                with b.if_then(b.icmp_signed(">", panels, number(1))):
                    widen_add(b, second, address(b, target, 128))
        return []

    loop(b, rows, [], row)


widen_add_rows = procedure("widen_add_rows", 5, _widen_add_rows)
"""`widen_add_rows(sums, words, rows, panels, split)`: rows of 32 words are added to rows of 32 quad words; if
`split`, the two panels are the upper and the lower bytes of the same 16 columns."""
copy_run = procedure("copy_run", 3, _copy_run, inline=True)
"""`copy_run(target, source, size)` copies bytes; it may write RUN_SLACK bytes past the end."""
fill_run = procedure("fill_run", 3, _fill_run, inline=True)
"""`fill_run(target, value, size)` fills bytes; it may write RUN_SLACK bytes past the end."""
gather_rows = procedure("gather_rows", 14, _gather_rows)
"""`gather_rows(target, row_bytes, count, table, runs, run_bytes, run_taps, tap_bytes, column, stride, width,
reach, in_x, zero)`: `count` rows of A for outputs along x, the first starting at input `column`, from a
table of runs (see RUN_ENTRY) of `run_taps` taps; taps outside of the input are `zero`. May write up to
RUN_SLACK bytes past the end."""
add_row_sums = procedure("add_row_sums", 6, _add_row_sums)
