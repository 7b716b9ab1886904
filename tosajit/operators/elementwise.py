"""Elementwise operators of two and three inputs (TOSA 1.0.1 sections 2.5, 2.7)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from tiling.expr import Expr, apply, call, const
from tiling.nest import Indirect, Nest
from tosajit.arrays import Array
from tosajit.dtypes import INT32, DType
from tosajit.graph.operator import error_if, read, require, table, write
from tosajit.operators.forms import Binary, Ternary, Unary, elementwise, with_nan
from tosajit.operators.lowering import Lowering, access, element, is_float, map_nest, repeated, shape_of
from tosajit.operators.types import BOOLEAN, CTC, FLOAT, INT32_FLOAT, INT32_INTEGER_FLOAT, INTEGER, NanMode

SHIFT = table(
    "in_out_t",
    """
    PRO-INT or PRO-FP | signed 16 | i16
    PRO-INT or PRO-FP | signed 32 | i32
    PRO-INT or PRO-FP | signed 8  | i8
    """,
)


@elementwise("2.5.1", INT32_FLOAT)
def ADD(input1: Expr, input2: Expr) -> Expr:
    """The sum of two tensors."""
    return input1 + input2


class ARITHMETIC_RIGHT_SHIFT(Binary):
    """The first tensor shifted right by the second, keeping the sign; rounded to nearest if asked for."""

    section, modes = "2.5.2", INTEGER

    left_out: ClassVar[Mapping[str, Any]] = {"round": False}

    round: bool

    def compute(self, input1: Expr, input2: Expr) -> Expr:
        """A shift of either kind."""
        return apply("ashr_round" if self.round else "ashr", input1, input2)


@elementwise("2.5.3", INTEGER)
def BITWISE_AND(input1: Expr, input2: Expr) -> Expr:
    """The bits that both tensors have."""
    return input1 & input2


@elementwise("2.5.4", INTEGER)
def BITWISE_OR(input1: Expr, input2: Expr) -> Expr:
    """The bits that either tensor has."""
    return input1 | input2


@elementwise("2.5.5", INTEGER)
def BITWISE_XOR(input1: Expr, input2: Expr) -> Expr:
    """The bits that one of the tensors has."""
    return input1 ^ input2


@elementwise("2.5.6", table("in_out_t", "PRO-INT or PRO-FP | signed 32 | i32"))
def INTDIV(input1: Expr, input2: Expr) -> Expr:
    """The integer quotient of two tensors, truncated towards zero."""
    return apply("intdiv", input1, input2)


@elementwise("2.5.7", BOOLEAN)
def LOGICAL_AND(input1: Expr, input2: Expr) -> Expr:
    """Whether both tensors are true."""
    return input1 & input2


@elementwise("2.5.8", SHIFT)
def LOGICAL_LEFT_SHIFT(input1: Expr, input2: Expr) -> Expr:
    """The first tensor shifted left by the second."""
    return apply("shl", input1, input2)


@elementwise("2.5.9", SHIFT)
def LOGICAL_RIGHT_SHIFT(input1: Expr, input2: Expr) -> Expr:
    """The first tensor shifted right by the second, filling with zeros."""
    return apply("lshr", input1, input2)


@elementwise("2.5.10", BOOLEAN)
def LOGICAL_OR(input1: Expr, input2: Expr) -> Expr:
    """Whether either tensor is true."""
    return input1 | input2


@elementwise("2.5.11", BOOLEAN)
def LOGICAL_XOR(input1: Expr, input2: Expr) -> Expr:
    """Whether just one of the tensors is true."""
    return input1 ^ input2


class MAXIMUM(Binary):
    """The larger element of two tensors."""

    section, modes = "2.5.12", INT32_INTEGER_FLOAT

    nan_mode: NanMode = NanMode.PROPAGATE

    def compute(self, input1: Expr, input2: Expr) -> Expr:
        """The larger one."""
        return apply(with_nan(self, "max", input1), input1, input2)


class MINIMUM(Binary):
    """The smaller element of two tensors."""

    section, modes = "2.5.13", INT32_INTEGER_FLOAT

    nan_mode: NanMode = NanMode.PROPAGATE

    def compute(self, input1: Expr, input2: Expr) -> Expr:
        """The smaller one."""
        return apply(with_nan(self, "min", input1), input1, input2)


class MUL(Binary):
    """The product of two tensors; 32-bit integers can be shifted right and rounded."""

    section = "2.5.14"
    modes = table(
        "in_t out_t",
        """
        PRO-FP            | fp16      | fp16 fp16
        PRO-FP            | fp32      | fp32 fp32
        PRO-INT           | signed 16 | i16  i32
        PRO-INT or PRO-FP | signed 32 | i32  i32
        PRO-INT           | signed 8  | i8   i32
        EXT-BF16          | bf16      | bf16 bf16
        """,
    )

    input1 = read("in_t", "shape1")
    input2 = read("in_t", "shape2")
    shift = read("i8_t", "1", ctc=CTC, or_zero=True)
    output = write("out_t", "shape")

    @require("shift")
    def shift_range(self, in_t: DType, shift: Array) -> bool:
        """It is {shift[0]}, but must be 0, or up to 63 for INT32."""
        return not 0 <= shift[0] <= (63 if in_t is INT32 else 0)

    def compute(self, input1: Expr, input2: Expr, shift: Expr) -> Expr:
        """The product of two narrow integers fits into 32 bits without a shift."""
        if is_float(input1):
            return input1 * input2
        if input1.type != "i32":
            return call("mul_i32", input1, input2, type="i32")
        return apply("mul_shift", input1, input2, shift)


@elementwise("2.5.15", FLOAT)
def POW(input1: Expr, input2: Expr) -> Expr:
    """The first tensor to the power of the second."""
    return apply("pow", input1, input2)


@elementwise("2.5.16", INT32_FLOAT)
def SUB(input1: Expr, input2: Expr) -> Expr:
    """The difference of two tensors."""
    return input1 - input2


class TABLE(Unary):
    """The values that a table has for the elements; 16-bit tables are interpolated."""

    section = "2.5.17"
    modes = table(
        "in_t table_t out_t TABLE_SIZE",
        """
        PRO-INT   | signed 8  | i8  i8  i8  256
        EXT-INT16 | signed 16 | i16 i16 i32 513
        """,
    )

    input1 = read("in_t", "shape")
    table = read("table_t", "T", ctc=("PRO-INT",))
    output = write("out_t", "shape")

    @error_if("table")
    def table_length(self, T: int, TABLE_SIZE: int) -> bool:
        """Its length is {T}, but must be {TABLE_SIZE}."""
        return T != TABLE_SIZE

    def lower(self, use: Lowering) -> list[Nest]:
        """One look into the table, or two that are interpolated."""
        value, table = use.inputs
        shape = shape_of(value)
        found = element(0, value)
        place = call(f"table_index_{found.type}", found, type="i64")
        reads = [repeated(value, shape), access(table, [Indirect(place)])]
        result = element(1, table)
        if found.type == "i16":
            reads.append(access(table, [Indirect(place + const(1, "i64"))]))
            result = call("table_interpolate", result, element(2, table), found, type="i32")
        return [map_nest(use, reads, result)]


class SELECT(Ternary):
    """Elements of the second tensor where the first is true, of the third elsewhere."""

    section = "2.7.1"
    modes = table(
        "in_out_t",
        """
        PRO-FP            | fp16      | fp16
        PRO-FP            | fp32      | fp32
        PRO-INT or PRO-FP | Boolean   | bool
        PRO-INT           | signed 16 | i16
        PRO-INT           | signed 32 | i32
        PRO-INT           | signed 8  | i8
        EXT-BF16          | bf16      | bf16
        """,
    )

    input1 = read("bool_t", "shape1")

    def compute(self, input1: Expr, input2: Expr, input3: Expr) -> Expr:
        """One of two elements."""
        return call(f"select_{input2.type}", input1, input2, input3, type=input2.type)
