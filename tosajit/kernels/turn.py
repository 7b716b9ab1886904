"""Turning matrices: 16 × 16 elements at a time in registers."""

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from tosajit.kernels.contract.code import Builder, Value, load, number, procedure, store, vector
from tosajit.kernels.contract.interleave import zipped
from tosajit.kernels.contract.spec import SIDE


def _turned(b: Builder, rows: Sequence[Value]) -> list[Value]:
    """The columns of a square: each zip of its halves doubles how many elements of a column are together."""
    turned, half = list(rows), len(rows) // 2
    for _ in range(SIDE.bit_length() - 1):
        pairs = zip(turned[:half], turned[half:], strict=True)
        turned = [register for pair in pairs for register in zipped(b, *pair)]
    return turned


def _procedure(bits: int) -> Any:
    def block(b: Builder, *arguments: Value) -> None:
        source, target, source_pitch, target_pitch = arguments
        type_ = vector(ir.IntType(bits), SIDE)
        starts = [b.add(source, b.mul(source_pitch, number(row))) for row in range(SIDE)]
        for column, register in enumerate(_turned(b, [load(b, start, type_) for start in starts])):
            store(b, register, b.add(target, b.mul(target_pitch, number(column))))

    return procedure(f"turn_{bits}", 4, block)


turn_8, turn_16, turn_32 = (_procedure(bits) for bits in (8, 16, 32))
"""`turn_8(source, target, source_pitch, target_pitch)`: a square of bytes; pitches in bytes."""
