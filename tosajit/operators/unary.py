"""Elementwise operators of one input (TOSA 1.0.1 section 2.6)."""

from __future__ import annotations

from tiling.expr import Expr, apply
from tosajit.graph.operator import read, table, write
from tosajit.operators.forms import Unary, elementwise
from tosajit.operators.lowering import is_float
from tosajit.operators.types import (
    BOOLEAN,
    FLOAT,
    INT32_INTEGER_FLOAT,
    INTEGER,
    no_zero_point,
    zero_point,
)


@elementwise("2.6.1", INT32_INTEGER_FLOAT)
def ABS(input1: Expr) -> Expr:
    """The absolute value."""
    return apply("abs", input1)


@elementwise("2.6.2", INTEGER)
def BITWISE_NOT(input1: Expr) -> Expr:
    """All bits inverted."""
    return ~input1


@elementwise("2.6.3", FLOAT)
def CEIL(input1: Expr) -> Expr:
    """The next integer upwards."""
    return apply("ceil", input1)


@elementwise("2.6.4", table("in_out_t", "PRO-INT | signed 32 | i32"))
def CLZ(input1: Expr) -> Expr:
    """The number of leading zero bits."""
    return apply("clz", input1)


@elementwise("2.6.5", FLOAT)
def COS(input1: Expr) -> Expr:
    """The cosine of an angle in radians."""
    return apply("cos", input1)


@elementwise("2.6.6", FLOAT)
def EXP(input1: Expr) -> Expr:
    """The exponential function."""
    return apply("exp", input1)


@elementwise("2.6.7", FLOAT)
def FLOOR(input1: Expr) -> Expr:
    """The next integer downwards."""
    return apply("floor", input1)


@elementwise("2.6.8", FLOAT)
def LOG(input1: Expr) -> Expr:
    """The natural logarithm."""
    return apply("log", input1)


@elementwise("2.6.9", BOOLEAN)
def LOGICAL_NOT(input1: Expr) -> Expr:
    """True where the input is false."""
    return ~input1


class NEGATE(Unary):
    """The input with its sign changed; 8-bit integers have zero points and saturate."""

    section = "2.6.10"
    modes = table(
        "in_out_t acc_t",
        """
        PRO-FP   | fp16      | fp16 fp16
        PRO-FP   | fp32      | fp32 fp32
        PRO-INT  | signed 16 | i16  i32
        PRO-INT  | signed 32 | i32  i32
        PRO-INT  | signed 8  | i8   i32
        EXT-BF16 | bf16      | bf16 bf16
        """,
    )

    input1 = read("in_out_t", "shape")
    input1_zp = zero_point("in_out_t")
    output_zp = zero_point("in_out_t")
    output = write("in_out_t", "shape")

    misplaced_input1_zp = no_zero_point("in_out_t", "input1_zp")
    misplaced_output_zp = no_zero_point("in_out_t", "output_zp")

    def compute(self, input1: Expr, input1_zp: Expr, output_zp: Expr) -> Expr:
        """The negated difference to one zero point, moved to the other."""
        if is_float(input1):
            return apply("neg", input1)
        return apply("negate", input1, input1_zp, output_zp)


@elementwise("2.6.11", FLOAT)
def RECIPROCAL(input1: Expr) -> Expr:
    """One over the input."""
    return apply("reciprocal", input1)


@elementwise("2.6.12", FLOAT)
def RSQRT(input1: Expr) -> Expr:
    """One over the square root of the input."""
    return apply("rsqrt", input1)


@elementwise("2.6.13", FLOAT)
def SIN(input1: Expr) -> Expr:
    """The sine of an angle in radians."""
    return apply("sin", input1)
