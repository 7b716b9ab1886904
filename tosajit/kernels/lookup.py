"""Looking up bytes in a table of 256: 64 at a time in registers with AVX-512 VBMI."""

from typing import Any

from tosajit.kernels.contract.code import (
    B64,
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
from tosajit.kernels.contract.rows import lanes_below, masked_load, masked_store


def _lookup_i8(b: Builder, *arguments: Value) -> None:
    source, target, table, count = arguments
    # A byte counts as unsigned, so the entries of negative values come last.
    low, middle, high, top = (load(b, address(b, table, 64 * quarter), B64) for quarter in range(4))

    def found(index: Value) -> Value:
        name = "llvm.x86.avx512.vpermi2var.qi.512"
        positive = instruction(b, name, B64, [high, index, top])
        negative = instruction(b, name, B64, [low, index, middle])
        return b.select(b.icmp_signed("<", index, number(0, B64)), negative, positive)

    def whole(block: Value, _: Any) -> list[Value]:
        store(b, found(load(b, address(b, source, block, 64), B64)), address(b, target, block, 64))
        return []

    full = b.lshr(count, number(6))
    loop(b, full, [], whole)
    rest = lanes_below(b, b.and_(count, number(63)), 64)
    done = b.shl(full, number(6))
    index = masked_load(b, b.add(source, done), rest, B64)
    masked_store(b, found(index), b.add(target, done), rest)


lookup_i8 = procedure("lookup_i8", 4, _lookup_i8)
"""`lookup_i8(source, target, table, count)`: the entries at bytes + 128."""
