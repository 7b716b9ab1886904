"""Packing a matrix B that is only known at run time, for AVX-512."""

from collections.abc import Sequence
from typing import Any

from tosajit.kernels.contract.code import (
    B64,
    H32,
    W16,
    Builder,
    Value,
    address,
    instruction,
    load,
    loop,
    number,
    procedure,
    store,
)
from tosajit.kernels.contract.interleave import zipped
from tosajit.kernels.contract.rows import lanes_below, masked_load


def _least(b: Builder, first: Value, second: Value) -> Value:
    return b.select(b.icmp_signed("<", first, second), first, second)


def _row(b: Builder, where: Value, mask: Value, exists: Value) -> Value:
    """Load a row, or zeros from past the last one."""
    mask = b.select(exists, mask, number(0, mask.type))
    return masked_load(b, where, mask, B64)


def _steps(
    b: Builder,
    source: Value,
    row_bytes: Value,
    depth: Value,
    group: int,
    width: Value,
    body: Any,
) -> None:
    """Run `body(step, rows, totals) -> totals` over groups of rows; `width` bytes of each are loaded."""
    steps = b.udiv(b.add(depth, number(group - 1)), number(group))
    mask = lanes_below(b, width, 64)

    def step(index: Value, totals: Sequence[Value]) -> Sequence[Value]:
        first = b.mul(index, number(group))
        rows = []
        for tap in range(group):
            row = b.add(first, number(tap))
            rows.append(
                _row(
                    b,
                    b.add(source, b.mul(row, row_bytes)),
                    mask,
                    b.icmp_signed("<", row, depth),
                )
            )
        return body(index, rows, totals)  # type: ignore[no-any-return]

    loop(b, steps, [], step)


def _pack_i8(b: Builder, *arguments: Value) -> None:
    source, row_bytes, depth, columns, out, sums = arguments
    panel_bytes = b.shl(b.udiv(b.add(depth, number(3)), number(4)), number(6))
    ones = number(1, B64)

    def block(index: Value, _: Any) -> list[Value]:
        start = b.shl(index, number(6))
        width = _least(b, b.sub(columns, start), number(64))
        target, totals = (
            b.add(out, b.mul(b.shl(index, number(2)), panel_bytes)),
            address(b, sums, index, 256),
        )
        panels = b.lshr(b.add(width, number(15)), number(4))
        for panel in range(4):
            store(b, number(0, W16), address(b, totals, 64 * panel))

        def step(position: Value, rows: Sequence[Value], _: Any) -> list[Value]:
            first, second, third, fourth = rows
            low, high = zipped(b, first, second), zipped(b, third, fourth)
            registers: list[Value] = []
            for half in range(2):
                registers += zipped(b, b.bitcast(low[half], H32), b.bitcast(high[half], H32))
            for panel, register in enumerate(registers):
                with b.if_then(b.icmp_signed(">", panels, number(panel))):
                    where = address(
                        b,
                        b.add(target, b.mul(panel_bytes, number(panel))),
                        position,
                        64,
                    )
                    store(b, register, where)
                    there = address(b, totals, 64 * panel)
                    sum_ = load(b, there, W16)
                    name = "llvm.x86.avx512.vpdpbusd.512"
                    store(
                        b,
                        instruction(b, name, W16, [sum_, ones, b.bitcast(register, B64)]),
                        there,
                    )
            return []

        _steps(b, b.add(source, start), row_bytes, depth, 4, width, step)
        return []

    loop(b, b.lshr(b.add(columns, number(63)), number(6)), [], block)


def _pack_halves(b: Builder, *arguments: Value) -> None:
    source, row_bytes, depth, columns, out = arguments
    panel_bytes = b.shl(b.udiv(b.add(depth, number(1)), number(2)), number(6))

    def block(index: Value, _: Any) -> list[Value]:
        start = b.shl(index, number(5))
        width = _least(b, b.sub(columns, start), number(32))
        target = b.add(out, b.mul(b.shl(index, number(2)), panel_bytes))
        panels = b.lshr(b.add(width, number(15)), number(4))

        def step(position: Value, rows: Sequence[Value], _: Any) -> list[Value]:
            words = [b.bitcast(row, H32) for row in rows]
            upper = zipped(b, *(b.ashr(word, number(8, H32)) for word in words))
            lower = zipped(b, *(b.and_(word, number(255, H32)) for word in words))
            for panel in range(2):
                with b.if_then(b.icmp_signed(">", panels, number(panel))):
                    for part, register in enumerate((upper[panel], lower[panel])):
                        there = b.add(target, b.mul(panel_bytes, number(2 * panel + part)))
                        store(b, register, address(b, there, position, 64))
            return []

        _steps(
            b,
            address(b, source, start, 2),
            row_bytes,
            depth,
            2,
            b.shl(width, number(1)),
            step,
        )
        return []

    loop(b, b.lshr(b.add(columns, number(31)), number(5)), [], block)


pack_i8 = procedure("pack_i8", 6, _pack_i8)
"""`pack_i8(source, row_bytes, depth, columns, out, sums)`: rows of B to panels of 16 columns, and the sum of
each column; `out` and `sums` hold whole panels, `sums` a multiple of 64 columns."""
pack_halves = procedure("pack_halves", 5, _pack_halves)
"""`pack_halves(source, row_bytes, depth, columns, out)`: as `pack.pack_halves`."""
