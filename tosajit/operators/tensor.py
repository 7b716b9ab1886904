"""Tensor operators (TOSA 1.0.1 section 2.3) but convolutions and Fourier transforms."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np

from tiling.expr import Expr, acc, apply, call, const
from tiling.nest import Access, Nest, Reduction
from tosajit.graph.operator import Dims, Operator, error_if, level_check, read, table, write
from tosajit.operators.forms import with_nan
from tosajit.operators.lowering import (
    Lowering,
    Space,
    access,
    constant,
    contract_nest,
    convert,
    element,
    is_float,
    padded,
    reduce_nest,
    scalar,
    shape_of,
    space,
    zero_of,
)
from tosajit.operators.types import (
    AccType,
    Accumulating,
    Int32,
    NanMode,
    Pair,
    Quad,
    Shape,
    beyond,
    no_zero_point,
    out_of_range,
    steps,
    zero_point,
)
from tosajit.profiles import Level

LEAST_KEY = -((1 << 31) - 1) * (1 << 32)
"""Less than the key of any floating-point number."""


class ARGMAX(Operator):
    """The index of the largest element along an axis; the first one if there are several."""

    section = "2.3.1"
    batched = "first"
    modes = table(
        "in_t out_t",
        """
        PRO-FP      | fp16      | fp16    i32
        PRO-FP      | fp32      | fp32    i32
        PRO-INT     | signed 8  | i8      i32
        EXT-BF16    | bf16      | bf16    i32
        EXT-FP8E4M3 | fp8e4m3   | fp8e4m3 i32
        EXT-FP8E5M2 | fp8e5m2   | fp8e5m2 i32
        EXT-INT16   | signed 16 | i16     i32
        """,
    )
    because = "the input without axis gives"

    input = read("in_t", "shape1", rank=(1, None))
    output = write("out_t", "shape")

    axis: Int32
    nan_mode: NanMode = NanMode.PROPAGATE

    def infer(self, shape1: Shape) -> Dims:
        """The input's shape without the axis."""
        return {"shape": shape1[: self.axis] + shape1[self.axis + 1 :]}

    @error_if("axis")
    def no_such_axis(self, shape1: Shape) -> bool:
        """It is {self.axis}, but the shape of input is {shape1}."""
        return out_of_range(self.axis, shape1)

    def lower(self, use: Lowering) -> list[Nest]:
        """One nest: the greatest of keys that hold an element above its distance from the end."""
        value = use.inputs[0]
        shape = shape_of(value)
        kept = {f"i{axis}": extent for axis, extent in enumerate(shape) if axis != self.axis}
        at = space(kept, {f"i{self.axis}": shape[self.axis]})
        source = access(value, [at(**{f"i{axis}": 1}) for axis in range(len(shape))])
        item, place, top = element(0, value), at.coordinate(f"i{self.axis}"), const((1 << 31) - 1, "i64")
        if is_float(item):
            key = apply(with_nan(self, "key", item), convert(item, "f32"), place, type="i64")
        else:
            key = convert(item, "i64") * const(1 << 32, "i64") + (top - place)
        index = convert(top - (acc("i64") & const((1 << 32) - 1, "i64")), "i32")
        least = LEAST_KEY if is_float(item) else -(1 << 62)
        return [reduce_nest(use, "reduce", at, [source], Reduction("max", least, "i64", key), index)]


class Pool(Operator):
    """What the pooling operators share."""

    batched = "N"

    because = "pad, stride and kernel give"

    input = read("in_out_t", "N,IH,IW,C")
    output = write("in_out_t", "N,OH,OW,C")

    kernel: Pair

    left_out: ClassVar[Mapping[str, Any]] = {"pad": (0,) * 4, "stride": (1, 1)}

    stride: Pair
    pad: Quad

    def infer(self, IH: int, IW: int) -> Dims:
        """The positions of the window."""
        top, bottom, left, right = self.pad
        return {
            "OH": steps("OH", IH + top + bottom - self.kernel[0], self.stride[0]),
            "OW": steps("OW", IW + left + right - self.kernel[1], self.stride[1]),
        }

    @error_if("kernel")
    def kernel_too_small(self) -> bool:
        """It is {self.kernel}, but must be at least 1."""
        return min(self.kernel) < 1

    @error_if("stride")
    def stride_too_small(self) -> bool:
        """It is {self.stride}, but must be at least 1."""
        return min(self.stride) < 1

    @error_if("pad")
    def negative_pad(self) -> bool:
        """It is {self.pad}, but must not be negative."""
        return min(self.pad) < 0

    @error_if("pad")
    def pad_as_large_as_the_kernel(self) -> bool:
        """It is {self.pad}, but must be less than the kernel, which is {self.kernel}."""
        return max(self.pad[:2]) >= self.kernel[0] or max(self.pad[2:]) >= self.kernel[1]

    @level_check()
    def window_limits(self, level: Level) -> Iterator[str]:
        """Kernel, stride and padding within the level."""
        yield from beyond("MAX_KERNEL", level.MAX_KERNEL, kernel=max(self.kernel), pad=max(self.pad))
        yield from beyond("MAX_STRIDE", level.MAX_STRIDE, stride=max(self.stride))

    def _windows(self, use: Lowering, fill: Expr) -> tuple[Space, Access]:
        """The axes, and the input read at each point of each window."""
        N, OH, OW, C = shape_of(use.outputs[0])
        at = space({"n": N, "oy": OH, "ox": OW, "c": C}, {"ky": self.kernel[0], "kx": self.kernel[1]})
        y, x = at(-self.pad[0], oy=self.stride[0], ky=1), at(-self.pad[2], ox=self.stride[1], kx=1)
        return at, padded(use.inputs[0], [at(n=1), y, x, at(c=1)], at, fill)


class AVG_POOL2D(Pool, Accumulating):
    """The mean of each window; padding does not count."""

    section = "2.3.2"
    modes = table(
        "in_out_t acc_t",
        """
        PRO-FP      | fp16 with fp16 accumulate       | fp16    fp16
        PRO-FP      | fp16 with fp32 accumulate       | fp16    fp32
        PRO-FP      | fp32 with fp32 accumulate       | fp32    fp32
        PRO-INT     | signed 8 with int32 accumulate  | i8      i32
        EXT-BF16    | bf16 with fp32 accumulate       | bf16    fp32
        EXT-FP8E4M3 | fp8e4m3 with fp16 accumulate    | fp8e4m3 fp16
        EXT-FP8E5M2 | fp8e5m2 with fp16 accumulate    | fp8e5m2 fp16
        EXT-INT16   | signed 16 with int32 accumulate | i16     i32
        """,
    )

    left_out: ClassVar[Mapping[str, Any]] = {**Pool.left_out, "acc_type": None}

    input_zp = zero_point("in_out_t")
    output_zp = zero_point("in_out_t")

    acc_type: AccType

    misplaced_input_zp = no_zero_point("in_out_t", "input_zp")
    misplaced_output_zp = no_zero_point("in_out_t", "output_zp")

    def lower(self, use: Lowering) -> list[Nest]:
        """One nest that adds up windows; how many elements count is a product of two tables."""
        value, input_zp, output_zp = use.inputs
        floating = value.dtype.is_float
        at, source = self._windows(use, zero_of(use, 1, 1))
        reads = [source]
        if not floating:
            reads += [scalar(input_zp, len(at.axes)), scalar(output_zp, len(at.axes))]
        first = len(reads)
        for name, extent, which in (("oy", shape_of(value)[1], 0), ("ox", shape_of(value)[2], 1)):
            start = np.arange(use.dims[f"O{'HW'[which]}"]) * self.stride[which] - self.pad[2 * which]
            inside = np.minimum(start + self.kernel[which], extent) - np.maximum(start, 0)
            counts = inside.astype(np.float32 if floating else np.int32)
            reads.append(constant(use, f"count_{name}", counts, [at(**{name: 1})]))
        count = element(first, reads[first]) * element(first + 1, reads[first + 1])
        kind = value.dtype.compute
        if floating:
            mean = convert(apply("div", acc("f32"), count), kind)
            total = Reduction("add", 0.0, "f32", convert(element(0, value), "f32"))
            return [reduce_nest(use, "reduce", at, reads, total, mean)]
        factor = call("reciprocal_multiplier", count, type="i32"), call("reciprocal_shift", count, type="i32")
        mean = call("rescale_32", acc("i32"), const(0, "i32"), *factor, element(2, output_zp), type="i32")
        result = call(f"saturate_{kind}", mean, type=kind)
        difference = call("sub_i32", element(0, value), element(1, input_zp), type="i32")
        return [reduce_nest(use, "reduce", at, reads, Reduction("add", 0, "i32", difference), result)]


class MATMUL(Operator):
    """Products of N pairs of matrices."""

    section = "2.3.7"
    batched = "N"
    products = "N H W C"
    modes = table(
        "in_t out_t",
        """
        PRO-FP      | fp16 with fp16 accumulate          | fp16    fp16
        PRO-FP      | fp16 with fp32 accumulate          | fp16    fp32
        PRO-FP      | fp32 with fp32 accumulate          | fp32    fp32
        PRO-INT     | signed 8x8 with int32 accumulate   | i8      i32
        EXT-BF16    | bf16 with fp32 accumulate          | bf16    fp32
        EXT-FP8E4M3 | fp8e4m3 with fp16 accumulate       | fp8e4m3 fp16
        EXT-FP8E5M2 | fp8e5m2 with fp16 accumulate       | fp8e5m2 fp16
        EXT-INT16   | signed 16x16 with int48 accumulate | i16     i48
        """,
    )

    A = read("in_t", "N,H,C")
    B = read("in_t", "N,C,W")
    A_zp = zero_point("in_t")
    B_zp = zero_point("in_t")
    output = write("out_t", "N,H,W")

    misplaced_A_zp = no_zero_point("in_t", "A_zp")
    misplaced_B_zp = no_zero_point("in_t", "B_zp")

    def lower(self, use: Lowering) -> list[Nest]:
        """One contraction."""
        A, B = use.inputs[:2]
        N, H, C = shape_of(A)
        at = space({"n": N, "h": H, "w": shape_of(B)[2]}, {"c": C})
        factors = [access(A, [at(n=1), at(h=1), at(c=1)]), access(B, [at(n=1), at(c=1), at(w=1)])]
        return [contract_nest(use, at, factors)]


class MAX_POOL2D(Pool):
    """The largest element of each window."""

    section = "2.3.8"
    modes = table(
        "in_out_t",
        """
        PRO-FP      | fp16      | fp16
        PRO-FP      | fp32      | fp32
        PRO-INT     | signed 8  | i8
        EXT-BF16    | bf16      | bf16
        EXT-FP8E4M3 | fp8e4m3   | fp8e4m3
        EXT-FP8E5M2 | fp8e5m2   | fp8e5m2
        EXT-INT16   | signed 16 | i16
        """,
    )

    nan_mode: NanMode = NanMode.PROPAGATE

    def lower(self, use: Lowering) -> list[Nest]:
        """One nest that takes the greatest of each window."""
        value = use.inputs[0]
        item, least = element(0, value), value.dtype.minimum
        combines = with_nan(self, "max", item)
        if is_float(item) and combines != "max":
            least = math.nan
        at, source = self._windows(use, const(least, item.type))
        step = convert(item, "f32") if is_float(item) else item
        reduction = Reduction(combines, least, step.type, step)
        return [reduce_nest(use, "reduce", at, [source], reduction, convert(acc(step.type), item.type))]
