"""Activation functions (TOSA 1.0.1 section 2.4)."""

from __future__ import annotations

import math

from tiling.expr import Expr, apply
from tiling.nest import Nest
from tosajit.dtypes import DType
from tosajit.graph.operator import error_if, read, table, write
from tosajit.operators.forms import Unary, elementwise, with_nan
from tosajit.operators.lowering import Lowering, element, map_nest, number, repeated, shape_of
from tosajit.operators.types import FLOAT, NanMode


class CLAMP(Unary):
    """The input kept between two bounds."""

    section = "2.4.1"
    modes = table(
        "in_out_t",
        """
        PRO-FP    | fp16      | fp16
        PRO-FP    | fp32      | fp32
        PRO-INT   | signed 8  | i8
        EXT-BF16  | bf16      | bf16
        EXT-INT16 | signed 16 | i16
        """,
    )

    input = read("in_out_t", "shape")
    output = write("in_out_t", "shape")

    min_val: int | float
    max_val: int | float
    nan_mode: NanMode = NanMode.PROPAGATE

    @error_if("max_val")
    def empty_range(self) -> bool:
        """It is {self.max_val}, but min_val is {self.min_val}."""
        return self.max_val < self.min_val

    @error_if("min_val")
    def bound_is_nan(self) -> bool:
        """The bounds are {self.min_val} and {self.max_val}, but must be numbers."""
        return math.isnan(self.min_val) or math.isnan(self.max_val)

    @error_if("min_val")
    def bound_outside_the_type(self, in_out_t: DType) -> bool:
        """The bounds are {self.min_val} and {self.max_val}, which {in_out_t} does not hold."""
        whole = in_out_t.is_float or (self.min_val == int(self.min_val) and self.max_val == int(self.max_val))
        return not whole or self.min_val < in_out_t.minimum or self.max_val > in_out_t.maximum

    def lower(self, use: Lowering) -> list[Nest]:
        """One nest that reads the bounds as numbers."""
        value = use.inputs[0]
        shape, dtype = shape_of(value), value.dtype.storage
        reads = [repeated(value, shape)]
        reads += [number(use, "min_val", self.min_val, dtype, len(shape))]
        reads += [number(use, "max_val", self.max_val, dtype, len(shape))]
        elements = [element(number, value) for number in range(3)]
        return [map_nest(use, reads, apply(with_nan(self, "clip", elements[0]), *elements))]


@elementwise("2.4.2", FLOAT)
def ERF(input: Expr) -> Expr:
    """The error function."""
    return apply("erf", input)


@elementwise("2.4.3", FLOAT)
def SIGMOID(input: Expr) -> Expr:
    """The logistic function."""
    return apply("sigmoid", input)


@elementwise("2.4.4", FLOAT)
def TANH(input: Expr) -> Expr:
    """The hyperbolic tangent."""
    return apply("tanh", input)
