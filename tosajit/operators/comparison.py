"""Comparison operators (TOSA 1.0.1 section 2.8)."""

from __future__ import annotations

from tiling.expr import Expr, apply
from tosajit.graph.operator import table
from tosajit.operators.forms import elementwise

COMPARISON = table(
    "in_t out_t",
    """
    PRO-FP   | fp16      | fp16 bool
    PRO-FP   | fp32      | fp32 bool
    PRO-INT  | signed 32 | i32  bool
    EXT-BF16 | bf16      | bf16 bool
    """,
)


@elementwise("2.8.1", COMPARISON, "in_t", "out_t")
def EQUAL(input1: Expr, input2: Expr) -> Expr:
    """Whether two tensors are equal."""
    return apply("eq", input1, input2, type="bool")


@elementwise("2.8.2", COMPARISON, "in_t", "out_t")
def GREATER(input1: Expr, input2: Expr) -> Expr:
    """Whether the first tensor is greater than the second."""
    return apply("gt", input1, input2, type="bool")


@elementwise("2.8.3", COMPARISON, "in_t", "out_t")
def GREATER_EQUAL(input1: Expr, input2: Expr) -> Expr:
    """Whether the first tensor is greater than or equal to the second."""
    return apply("ge", input1, input2, type="bool")
