"""Data nodes, custom operators and shape operators (TOSA 1.0.1 sections 2.14, 2.15, 2.18)."""

from __future__ import annotations

from tiling.nest import Nest
from tosajit.graph.operator import Operator, read, reads, table, write, writes
from tosajit.operators.forms import Unary
from tosajit.operators.lowering import Lowering, move_nest, repeated, shape_of

_ROWS = """
    PRO-FP            | fp16    | fp16
    PRO-FP            | fp32    | fp32
    PRO-INT or PRO-FP | 16-bit  | i16
    PRO-INT or PRO-FP | 32-bit  | i32
    PRO-INT or PRO-FP | 8-bit   | i8
    PRO-INT or PRO-FP | Boolean | bool
    EXT-BF16          | bf16    | bf16
    EXT-FP8E4M3       | fp8e4m3 | fp8e4m3
    EXT-FP8E5M2       | fp8e5m2 | fp8e5m2
    EXT-INT16         | 48-bit  | i48
    EXT-INT4          | 4-bit   | i4
    """


class CONST(Operator):
    """A constant tensor; its elements are the data of the output."""

    section, modes = "2.14.1", table("out_t", _ROWS)
    holds_data = True

    output = write("out_t", "shape")


class IDENTITY(Unary):
    """The input as it is."""

    section, modes = "2.14.2", table("in_out_t", _ROWS)

    input1 = read("in_out_t", "shape")
    output = write("in_out_t", "shape")

    def lower(self, use: Lowering) -> list[Nest]:
        """One nest that copies."""
        return [move_nest(use, repeated(use.inputs[0], shape_of(use.outputs[0])))]


class CUSTOM(Operator):
    """An operator of the user's own, found by its domain and name."""

    section, modes = "2.15.1", table("", "PRO-INT or PRO-FP | All")

    input_list = reads()
    output_list = writes()

    operator_name: str
    domain_name: str
    implementation_attrs: bytes = b""


class CONST_SHAPE(Operator):
    """A constant shape; its components are the data of the output."""

    section, modes = "2.18.1", table("", "PRO-INT or PRO-FP | shape")
    holds_data = True

    output = write("shape_t", "R")
