"""Register tiles of floating-point numbers for any CPU: LLVM splits their vectors into registers."""

from tosajit.kernels.contract.code import F16, Builder, Value, define, instruction, number, procedure
from tosajit.kernels.contract.interleave import depthwise
from tosajit.kernels.contract.tile import Body, Functor

HEIGHTS = (1, 2, 4)
"""Sixteen columns of four rows are eight registers of 256 bits: enough sums to hide a latency."""


def _multiply(b: Builder, total: Value, left: Value, right: Value) -> Value:
    """Return total + left * right, rounded once where the CPU does so at once."""
    return instruction(b, "llvm.fmuladd.v16f32", F16, [left, right, total])


GENERIC = Functor("generic_f32", F16, lambda b: None, _multiply, F16)


def _rows(b: Builder, *arguments: Value) -> None:
    *operands, rows = arguments
    default, after = b.append_basic_block("default"), b.append_basic_block("after")
    cases = b.switch(rows, default)
    for count in HEIGHTS:
        block = b.append_basic_block("case")
        cases.add_case(number(count), block)
        b.position_at_end(block)
        b.call(define(b.module, f"contract_rows_{count}", 9, Body(GENERIC, count, 1)), operands)
        b.branch(after)
    b.position_at_end(default)
    b.unreachable()
    b.position_at_end(after)


tile_rows_f32 = procedure("tile_rows_f32", 10, _rows)
"""`tile_rows_f32(a, a_row, segments, segment, steps, b, b_panel, init, out, rows)`: 1, 2 or 4 rows of A times
a panel of B."""

depthwise_f32 = procedure("depthwise_f32", 10, depthwise(GENERIC, (4, 2)))
"""The namesake of `avx512`."""
