"""Type conversion (TOSA 1.0.1 section 2.13)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from tiling.expr import Expr, call
from tiling.nest import Nest, along, fixed
from tosajit.arrays import Array
from tosajit.dtypes import INT8, INT16, INT32, INT48, DType
from tosajit.graph.operator import error_if, read, require, table, type_check, write
from tosajit.operators.forms import Unary
from tosajit.operators.lowering import (
    Lowering,
    access,
    convert,
    element,
    map_nest,
    repeated,
    scalar,
    shape_of,
)
from tosajit.operators.types import RoundingMode, Shape, zero_point

_CTC = ("PRO-INT",)


class CAST(Unary):
    """The elements in another type."""

    section = "2.13.1"
    modes = table(
        "in_t out_t",
        """
        PRO-FP                   | fp16 to fp32           | fp16    fp32
        PRO-FP                   | fp16 to signed 16      | fp16    i16
        PRO-FP                   | fp16 to signed 32      | fp16    i32
        PRO-FP                   | fp16 to signed 8       | fp16    i8
        PRO-FP                   | fp32 to fp16           | fp32    fp16
        PRO-FP                   | fp32 to signed 16      | fp32    i16
        PRO-FP                   | fp32 to signed 32      | fp32    i32
        PRO-FP                   | fp32 to signed 8       | fp32    i8
        PRO-FP                   | signed 16 to fp16      | i16     fp16
        PRO-FP                   | signed 16 to fp32      | i16     fp32
        PRO-FP                   | signed 32 to fp16      | i32     fp16
        PRO-FP                   | signed 32 to fp32      | i32     fp32
        PRO-FP                   | signed 8 to fp16       | i8      fp16
        PRO-FP                   | signed 8 to fp32       | i8      fp32
        PRO-INT                  | bool to signed 16      | bool    i16
        PRO-INT                  | bool to signed 32      | bool    i32
        PRO-INT                  | bool to signed 8       | bool    i8
        PRO-INT                  | signed 16 to bool      | i16     bool
        PRO-INT                  | signed 16 to signed 32 | i16     i32
        PRO-INT                  | signed 16 to signed 8  | i16     i8
        PRO-INT                  | signed 32 to bool      | i32     bool
        PRO-INT                  | signed 32 to signed 16 | i32     i16
        PRO-INT                  | signed 32 to signed 8  | i32     i8
        PRO-INT                  | signed 8 to bool       | i8      bool
        PRO-INT                  | signed 8 to signed 16  | i8      i16
        PRO-INT                  | signed 8 to signed 32  | i8      i32
        EXT-BF16                 | bf16 to fp32           | bf16    fp32
        EXT-BF16                 | bf16 to signed 16      | bf16    i16
        EXT-BF16                 | bf16 to signed 32      | bf16    i32
        EXT-BF16                 | bf16 to signed 8       | bf16    i8
        EXT-BF16                 | fp32 to bf16           | fp32    bf16
        EXT-BF16                 | signed 16 to bf16      | i16     bf16
        EXT-BF16                 | signed 32 to bf16      | i32     bf16
        EXT-BF16                 | signed 8 to bf16       | i8      bf16
        EXT-BF16 and EXT-FP8E4M3 | bf16 to fp8e4m3        | bf16    fp8e4m3
        EXT-BF16 and EXT-FP8E4M3 | fp8e4m3 to bf16        | fp8e4m3 bf16
        EXT-BF16 and EXT-FP8E5M2 | bf16 to fp8e5m2        | bf16    fp8e5m2
        EXT-BF16 and EXT-FP8E5M2 | fp8e5m2 to bf16        | fp8e5m2 bf16
        EXT-FP8E4M3              | fp16 to fp8e4m3        | fp16    fp8e4m3
        EXT-FP8E4M3              | fp32 to fp8e4m3        | fp32    fp8e4m3
        EXT-FP8E4M3              | fp8e4m3 to fp16        | fp8e4m3 fp16
        EXT-FP8E4M3              | fp8e4m3 to fp32        | fp8e4m3 fp32
        EXT-FP8E5M2              | fp16 to fp8e5m2        | fp16    fp8e5m2
        EXT-FP8E5M2              | fp32 to fp8e5m2        | fp32    fp8e5m2
        EXT-FP8E5M2              | fp8e5m2 to fp16        | fp8e5m2 fp16
        EXT-FP8E5M2              | fp8e5m2 to fp32        | fp8e5m2 fp32
        """,
    )

    input = read("in_t", "shape")
    output = write("out_t", "shape")

    def lower(self, use: Lowering) -> list[Nest]:
        """One nest; narrower integers keep the low bits."""
        value, output = use.inputs[0], use.outputs[0]
        result = convert(element(0, value), output.dtype.compute)
        return [map_nest(use, [repeated(value, shape_of(output))], result)]


class RESCALE(Unary):
    """Integers times a factor, given as multiplier and shift, between types and zero points."""

    section = "2.13.2"
    modes = table(
        "in_t out_t",
        """
        PRO-INT   | 16-bit to 16-bit | i16 i16
        PRO-INT   | 16-bit to 32-bit | i16 i32
        PRO-INT   | 16-bit to 8-bit  | i16 i8
        PRO-INT   | 32-bit to 16-bit | i32 i16
        PRO-INT   | 32-bit to 32-bit | i32 i32
        PRO-INT   | 32-bit to 8-bit  | i32 i8
        PRO-INT   | 8-bit to 16-bit  | i8  i16
        PRO-INT   | 8-bit to 32-bit  | i8  i32
        PRO-INT   | 8-bit to 8-bit   | i8  i8
        EXT-INT16 | 48-bit to 16-bit | i48 i16
        EXT-INT16 | 48-bit to 32-bit | i48 i32
        EXT-INT16 | 48-bit to 8-bit  | i48 i8
        """,
    )
    optional = "EXT-DOUBLEROUND", "EXT-INEXACTROUND"

    input = read("in_t", "shape")
    multiplier = read("mul_t", "NC", ctc=_CTC)
    shift = read("i8_t", "NC", ctc=_CTC)
    input_zp = zero_point("in_t", _CTC, unsigned_if="input_unsigned")
    output_zp = zero_point("out_t", _CTC, unsigned_if="output_unsigned")
    output = write("out_t", "shape")

    left_out: ClassVar[Mapping[str, Any]] = {"scale32": None, "per_channel": None}

    scale32: bool
    rounding_mode: RoundingMode = RoundingMode.SINGLE_ROUND
    per_channel: bool = False
    input_unsigned: bool = False
    output_unsigned: bool = False

    @classmethod
    def completed(
        cls, attributes: Mapping[str, Any], types: Mapping[str, DType], sizes: Mapping[str, int]
    ) -> tuple[dict[str, Any], dict[str, DType]]:
        """Multipliers have 16 bits for INT48, or as they are given; several are for channels."""
        found = dict(attributes)
        if found["scale32"] is None:
            found["scale32"] = types.get("mul_t") is not INT16 and types.get("in_t") is not INT48
        if found["per_channel"] is None:
            found["per_channel"] = sizes["multiplier"] > 1
        return found, {"mul_t": INT32 if found["scale32"] else INT16}

    def needs(self) -> frozenset[str]:
        """Two of the rounding modes are extensions."""
        match self.rounding_mode:
            case RoundingMode.DOUBLE_ROUND:
                return frozenset(self.optional[:1])
            case RoundingMode.INEXACT_ROUND:
                return frozenset(self.optional[1:])
        return frozenset()

    @type_check("multiplier")
    def multiplier_type(self, mul_t: DType) -> bool:
        """Is {mul_t}, but scale32 is {self.scale32}."""
        return mul_t is not (INT32 if self.scale32 else INT16)

    @error_if("input_zp")
    def misplaced_input_zp(self, in_t: DType, input_zp: Array) -> str | None:
        """Zero points are for 8 bits, and for unsigned 16 bits."""
        return _zero_point_fault(in_t, self.input_unsigned, input_zp)

    @error_if("output_zp")
    def misplaced_output_zp(self, out_t: DType, output_zp: Array) -> str | None:
        """Zero points are for 8 bits, and for unsigned 16 bits."""
        return _zero_point_fault(out_t, self.output_unsigned, output_zp)

    @error_if("scale32")
    def wide_multiplier(self, in_t: DType) -> bool:
        """It is true, but must be false for {in_t}."""
        return self.scale32 and in_t is INT48

    @error_if("rounding_mode")
    def double_round_of_16_bits(self) -> bool:
        """It is DOUBLE_ROUND, but scale32 is false."""
        return not self.scale32 and self.rounding_mode is RoundingMode.DOUBLE_ROUND

    @error_if("input_unsigned")
    def both_unsigned(self) -> bool:
        """input_unsigned and output_unsigned are both true, but one at most can be."""
        return self.input_unsigned and self.output_unsigned

    @error_if("input_unsigned")
    def unsigned_input(self, in_t: DType, out_t: DType) -> bool:
        """It is true, but {in_t} to {out_t} has no unsigned input."""
        return self.input_unsigned and (in_t in (INT32, INT48) or out_t is INT32)

    @error_if("output_unsigned")
    def unsigned_output(self, in_t: DType, out_t: DType) -> bool:
        """It is true, but {in_t} to {out_t} has no unsigned output."""
        return self.output_unsigned and (in_t in (INT32, INT48) or out_t is INT32)

    @error_if("per_channel")
    def no_channels(self, shape: Shape) -> bool:
        """It is true, but the rank of input is 0."""
        return self.per_channel and not shape

    @error_if("multiplier")
    def multiplier_length(self, NC: int, shape: Shape) -> bool | str:
        """One factor, or one a channel."""
        wanted = shape[-1] if self.per_channel and shape else 1
        return wanted != NC and f"its length is {NC}, but must be {wanted}"

    @require("multiplier")
    def negative_multiplier(self, multiplier: Array) -> bool | str:
        """Multipliers are not negative."""
        return bool((multiplier < 0).any()) and f"it is {multiplier.min()}, but must not be negative"

    @require("shift")
    def shift_range(self, shift: Array) -> bool | str:
        """Shifts are from 2 to 62."""
        wrong = shift[(shift < 2) | (shift > 62)]
        return wrong.size > 0 and f"it is {wrong[0]}, but must be from 2 to 62"

    def lower(self, use: Lowering) -> list[Nest]:
        """One nest that reads the factors along the channels, or one factor."""
        value, multiplier, shift, input_zp, output_zp = use.inputs
        shape = shape_of(value)
        axes = len(shape)
        channel = [along(axes - 1, axes) if self.per_channel else fixed(0, axes)]
        reads = [repeated(value, shape), access(multiplier, channel), access(shift, channel)]
        reads += [scalar(input_zp, axes), scalar(output_zp, axes)]
        return [map_nest(use, reads, self._scaled(*(element(k, v) for k, v in enumerate(use.inputs))))]

    def _scaled(self, value: Expr, multiplier: Expr, shift: Expr, input_zp: Expr, output_zp: Expr) -> Expr:
        kind = output_zp.type
        if self.input_unsigned:
            value, input_zp = unsigned(value), unsigned(input_zp)
        if self.output_unsigned:
            output_zp = unsigned(output_zp)
        double = self.rounding_mode is RoundingMode.DOUBLE_ROUND
        name = "rescale_16" if not self.scale32 else "rescale_32_double" if double else "rescale_32"
        result = call(name, value, input_zp, multiplier, shift, output_zp, type="i32")
        if kind != "i32":
            result = call(f"saturate_{output_zp.type}", result, type=output_zp.type)
        return convert(result, kind)


def unsigned(expr: Expr) -> Expr:
    """The bits of an integer as an unsigned number."""
    return convert(expr, f"u{expr.type[1:]}")


def _zero_point_fault(dtype: DType, unsigned: bool, zero_point: Array) -> str | None:
    value = int(zero_point[0])
    if value == 0 or dtype is INT8:
        return None
    if dtype is INT16 and unsigned:
        value &= 0xFFFF
        return None if value == 0x8000 else f"it is {value}, but must be 0 or 32768 for unsigned INT16"
    return f"it is {value}, but must be 0 for {dtype}"
