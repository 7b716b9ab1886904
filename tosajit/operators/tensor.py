"""Tensor operators (TOSA 1.0.1 section 2.3): convolution, pooling, matrix products, Fourier transforms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tiling.expr import Expr, acc, axis, call, const
from tiling.expr import read as read_at
from tiling.nest import Access, Affine, Nest, Reduction, Write
from tosajit.binding import Use
from tosajit.dtypes import DType
from tosajit.graph import Array
from tosajit.lowering import (
    Space,
    access,
    contract_nest,
    convert,
    element,
    integers_only,
    padded,
    reduce_nest,
    scalar,
    shape_of,
    space,
)
from tosajit.lowering import table as number_table
from tosajit.operator import Dims, Mode, Operator, error_if, level_check, read, table, write
from tosajit.operators.types import (
    CTC,
    AccType,
    Int32,
    NanMode,
    Pair,
    Quad,
    Shape,
    Six,
    Triple,
    beyond,
    misplaced,
    out_of_range,
    steps,
)
from tosajit.profiles import Level

CONVOLUTION = table(
    "in_t weight_t out_t acc_t",
    """
    PRO-FP      | fp16 with fp16 accumulate         | fp16    fp16    fp16 fp16
    PRO-FP      | fp16 with fp32 accumulate         | fp16    fp16    fp16 fp32
    PRO-FP      | fp32 with fp32 accumulate         | fp32    fp32    fp32 fp32
    PRO-INT     | signed 8x8 with int32 accumulate  | i8      i8      i32  i32
    EXT-BF16    | bf16 with fp32 accumulate         | bf16    bf16    bf16 fp32
    EXT-FP8E4M3 | fp8e4m3 with fp16 accumulate      | fp8e4m3 fp8e4m3 fp16 fp16
    EXT-FP8E5M2 | fp8e5m2 with fp16 accumulate      | fp8e5m2 fp8e5m2 fp16 fp16
    EXT-INT16   | signed 16x8 with int48 accumulate | i16     i8      i48  i48
    EXT-INT4    | signed 8x4 with int32 accumulate  | i8      i4      i32  i32
    """,
)
FFT = table("in_out_t", "EXT-FFT | fp32 | fp32")


class ARGMAX(Operator):
    """The index of the largest element along an axis; the first one if there are several."""

    section = "2.3.1"
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

    def lower(self, use: Use) -> list[Nest]:
        """One nest: the greatest of keys that hold the element above the distance of its index from the end."""
        integers_only(use)
        value = use.inputs[0]
        shape = shape_of(value)
        kept = {f"i{axis}": extent for axis, extent in enumerate(shape) if axis != self.axis}
        at = space(kept, {f"i{self.axis}": shape[self.axis]})
        source = access(value, [at(**{f"i{axis}": 1}) for axis in range(len(shape))])
        top = const((1 << 31) - 1, "i64")
        key = convert(element(0, value), "i64") * const(1 << 32, "i64") + (top - axis(len(shape) - 1))
        index = convert(top - (acc("i64") & const((1 << 32) - 1, "i64")), "i32")
        return [reduce_nest(use, "reduce", at, [source], Reduction("max", -(1 << 62), "i64", key), index)]


class Pool(Operator):
    """What the pooling operators share."""

    because = "pad, stride and kernel give"

    input = read("in_out_t", "N,IH,IW,C")
    output = write("in_out_t", "N,OH,OW,C")

    kernel: Pair
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

    def _windows(self, use: Use, fill: Expr) -> tuple[Space, Access]:
        """The axes, and the input read at each point of each window."""
        N, OH, OW, C = shape_of(use.outputs[0])
        at = space({"n": N, "oy": OH, "ox": OW, "c": C}, {"ky": self.kernel[0], "kx": self.kernel[1]})
        y, x = at(-self.pad[0], oy=self.stride[0], ky=1), at(-self.pad[2], ox=self.stride[1], kx=1)
        return at, padded(use.inputs[0], [at(n=1), y, x, at(c=1)], at, fill)


class AVG_POOL2D(Pool):
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

    input_zp = read("in_out_t", "1", ctc=CTC)
    output_zp = read("in_out_t", "1", ctc=CTC)

    acc_type: AccType

    def selects(self, mode: Mode) -> bool:
        """The accumulator is the one that was asked for."""
        return mode["acc_t"] is self.acc_type.dtype

    @error_if("input_zp")
    def misplaced_input_zp(self, in_out_t: DType, input_zp: Array) -> bool:
        """It is {input_zp[0]}, but must be 0 for {in_out_t}."""
        return misplaced(input_zp, in_out_t)

    @error_if("output_zp")
    def misplaced_output_zp(self, in_out_t: DType, output_zp: Array) -> bool:
        """It is {output_zp[0]}, but must be 0 for {in_out_t}."""
        return misplaced(output_zp, in_out_t)

    def lower(self, use: Use) -> list[Nest]:
        """One nest that adds up windows; how many elements count is a product of tables by row and by column."""
        integers_only(use)
        value, input_zp, output_zp = use.inputs
        at, source = self._windows(use, element(1, input_zp))
        reads = [source, scalar(input_zp, len(at.axes)), scalar(output_zp, len(at.axes))]
        for name, extent, which in (("oy", shape_of(value)[1], 0), ("ox", shape_of(value)[2], 1)):
            first = np.arange(use.dims[f"O{'HW'[which]}"]) * self.stride[which] - self.pad[2 * which]
            inside = np.minimum(first + self.kernel[which], extent) - np.maximum(first, 0)
            reads.append(number_table(use, f"count_{name}", inside.astype(np.int32), [at(**{name: 1})]))
        count = read_at(3, "i32") * read_at(4, "i32")
        factor = call("reciprocal_multiplier", count, type="i32"), call("reciprocal_shift", count, type="i32")
        kind = output_zp.dtype.compute
        mean = call("rescale_32", acc("i32"), const(0, "i32"), *factor, element(2, output_zp), type="i32")
        result = call(f"saturate_{kind}", mean, type=kind)
        difference = call("sub_i32", element(0, value), element(1, input_zp), type="i32")
        return [reduce_nest(use, "reduce", at, reads, Reduction("add", 0, "i32", difference), result)]


class Convolution(Operator):
    """What the convolutions share; the operands are those of CONV2D."""

    modes = CONVOLUTION
    because = "pad, stride and dilation give"

    input = read("in_t", "N,IH,IW,IC")
    weight = read("weight_t", "OC,KH,KW,IC")
    bias = read("out_t", "BC")
    input_zp = read("in_t", "1", ctc=CTC)
    weight_zp = read("weight_t", "1", ctc=CTC)
    output = write("out_t", "N,OH,OW,OC")

    if TYPE_CHECKING:  # the file format wants it last
        acc_type: AccType

    def selects(self, mode: Mode) -> bool:
        """The accumulator is the one that was asked for."""
        return mode["acc_t"] is self.acc_type.dtype

    @error_if("input_zp")
    def misplaced_input_zp(self, in_t: DType, input_zp: Array) -> bool:
        """It is {input_zp[0]}, but must be 0 for {in_t}."""
        return misplaced(input_zp, in_t)

    @error_if("weight_zp")
    def misplaced_weight_zp(self, weight_t: DType, weight_zp: Array) -> bool:
        """It is {weight_zp[0]}, but must be 0 for {weight_t}."""
        return misplaced(weight_zp, weight_t)

    @error_if("bias")
    def bias_length(self, BC: int, OC: int) -> bool:
        """Its length is {BC}, but must be 1 or OC, which is {OC}."""
        return BC not in (1, OC)

    def _bias(self, use: Use, at: Space, **channels: int) -> Access:
        """A read of the bias, seen as the named axes with their extents."""
        bias = use.inputs[2]
        if shape_of(bias) == (1,):
            return scalar(bias, len(at.axes))
        return access(bias, [at(**{name: 1}) for name in channels], tuple(channels.values()))


class DirectConvolution(Convolution):
    """What the convolutions that walk over their input share."""

    if TYPE_CHECKING:
        pad: tuple[int, ...]
        stride: tuple[int, ...]
        dilation: tuple[int, ...]

    @error_if("pad")
    def negative_pad(self) -> bool:
        """It is {self.pad}, but must not be negative."""
        return min(self.pad) < 0

    @error_if("stride")
    def stride_too_small(self) -> bool:
        """It is {self.stride}, but must be at least 1."""
        return min(self.stride) < 1

    @error_if("dilation")
    def dilation_too_small(self) -> bool:
        """It is {self.dilation}, but must be at least 1."""
        return min(self.dilation) < 1

    @level_check()
    def kernel_limits(self, KH: int, KW: int, level: Level) -> Iterator[str]:
        """The dilated kernel within the level."""
        height, width = KH * self.dilation[-2], KW * self.dilation[-1]
        yield from beyond(
            "MAX_KERNEL", level.MAX_KERNEL, **{"dilation_y * KH": height, "dilation_x * KW": width}
        )

    @level_check()
    def window_limits(self, level: Level) -> Iterator[str]:
        """Padding and stride within the level."""
        yield from beyond("MAX_KERNEL", level.MAX_KERNEL, pad=max(self.pad))
        yield from beyond("MAX_STRIDE", level.MAX_STRIDE, stride=max(self.stride))

    def _extents(self, names: Sequence[str], input: Sequence[int], kernel: Sequence[int]) -> dict[str, int]:
        found = {}
        for axis, name in enumerate(names):
            reach = self.pad[2 * axis] + self.pad[2 * axis + 1] - (kernel[axis] - 1) * self.dilation[axis]
            found[name] = steps(name, input[axis] - 1 + reach, self.stride[axis])
        return found

    def _place(self, at: Space, axis: int, output: str, kernel: str) -> Affine:
        """The position in the input along a spatial axis."""
        return at(-self.pad[2 * axis], **{output: self.stride[axis], kernel: self.dilation[axis]})

    def _lowered(self, use: Use, axes: str) -> list[Nest]:
        """One nest over the spatial axes: `yx` walks `oy`, `ox`, `ky` and `kx`."""
        integers_only(use)
        value, weight = use.inputs[:2]
        N, *outputs, OC = shape_of(use.outputs[0])
        _, *kernel, IC = shape_of(weight)
        out_names, kernel_names = [f"o{axis}" for axis in axes], [f"k{axis}" for axis in axes]
        at = space(
            {"n": N, **dict(zip(out_names, outputs, strict=True)), "oc": OC},
            {**dict(zip(kernel_names, kernel, strict=True)), "ic": IC},
        )
        places = [self._place(at, d, o, k) for d, (o, k) in enumerate(zip(out_names, kernel_names, strict=True))]
        source = padded(value, [at(n=1), *places, at(ic=1)], at, element(3, use.inputs[3]))
        factor = access(weight, [at(oc=1), *(at(**{name: 1}) for name in kernel_names), at(ic=1)])
        return [contract_nest(use, at, [source, factor], self._bias(use, at, oc=OC))]


class CONV2D(DirectConvolution):
    """Convolution of images, with a bias for each output channel."""

    section = "2.3.3"

    pad: Quad
    stride: Pair
    dilation: Pair
    local_bound: bool = False
    acc_type: AccType

    def infer(self, IH: int, IW: int, KH: int, KW: int) -> Dims:
        """The positions of the kernel."""
        return self._extents(("OH", "OW"), (IH, IW), (KH, KW))

    def lower(self, use: Use) -> list[Nest]:
        """One contraction."""
        return self._lowered(use, "yx")


class CONV3D(DirectConvolution):
    """Convolution of volumes, with a bias for each output channel."""

    section = "2.3.4"

    input = read("in_t", "N,ID,IH,IW,IC")
    weight = read("weight_t", "OC,KD,KH,KW,IC")
    output = write("out_t", "N,OD,OH,OW,OC")

    pad: Six
    stride: Triple
    dilation: Triple
    local_bound: bool = False
    acc_type: AccType

    def infer(self, ID: int, IH: int, IW: int, KD: int, KH: int, KW: int) -> Dims:
        """The positions of the kernel."""
        return self._extents(("OD", "OH", "OW"), (ID, IH, IW), (KD, KH, KW))

    def lower(self, use: Use) -> list[Nest]:
        """One contraction."""
        return self._lowered(use, "dyx")

    @level_check()
    def depth_limits(self, KD: int, level: Level) -> Iterator[str]:
        """The dilated kernel's depth within the level."""
        yield from beyond("MAX_KERNEL", level.MAX_KERNEL, **{"dilation_d * KD": KD * self.dilation[0]})


class DEPTHWISE_CONV2D(DirectConvolution):
    """Convolution of each channel on its own, with M results a channel."""

    section = "2.3.5"

    weight = read("weight_t", "KH,KW,C,M")
    input = read("in_t", "N,IH,IW,C")

    pad: Quad
    stride: Pair
    dilation: Pair
    local_bound: bool = False
    acc_type: AccType

    def infer(self, IH: int, IW: int, KH: int, KW: int, C: int, M: int) -> Dims:
        """The positions of the kernel, and all channels."""
        return {**self._extents(("OH", "OW"), (IH, IW), (KH, KW)), "OC": C * M}

    def lower(self, use: Use) -> list[Nest]:
        """One contraction that sees the output's channels as C by M."""
        integers_only(use)
        value, weight = use.inputs[:2]
        N, OH, OW, _ = shape_of(use.outputs[0])
        KH, KW, C, M = shape_of(weight)
        at = space({"n": N, "oy": OH, "ox": OW, "c": C, "m": M}, {"ky": KH, "kx": KW})
        index = [at(n=1), self._place(at, 0, "oy", "ky"), self._place(at, 1, "ox", "kx"), at(c=1)]
        source = padded(value, index, at, element(3, use.inputs[3]))
        factor = access(weight, [at(ky=1), at(kx=1), at(c=1), at(m=1)])
        return [contract_nest(use, at, [source, factor], self._bias(use, at, c=C, m=M))]


class FFT2D(Operator):
    """The discrete Fourier transform of complex images, forward or inverse."""

    section, modes = "2.3.6", FFT

    input_real = read("in_out_t", "N,H,W")
    input_imag = read("in_out_t", "N,H,W")
    output_real = write("in_out_t", "N,H,W")
    output_imag = write("in_out_t", "N,H,W")

    inverse: bool = False
    local_bound: bool = False

    @error_if("input_real")
    def no_power_of_two(self, H: int, W: int) -> bool:
        """H and W are {H} and {W}, but must be powers of two."""
        return H & (H - 1) != 0 or W & (W - 1) != 0

    @level_check()
    def size_limits(self, H: int, W: int, level: Level) -> Iterator[str]:
        """The images within the level."""
        yield from beyond("MAX_KERNEL", level.MAX_KERNEL, H=H, W=W)


class MATMUL(Operator):
    """Products of N pairs of matrices."""

    section = "2.3.7"
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
    A_zp = read("in_t", "1", ctc=CTC)
    B_zp = read("in_t", "1", ctc=CTC)
    output = write("out_t", "N,H,W")

    @error_if("A_zp")
    def misplaced_A_zp(self, in_t: DType, A_zp: Array) -> bool:
        """It is {A_zp[0]}, but must be 0 for {in_t}."""
        return misplaced(A_zp, in_t)

    @error_if("B_zp")
    def misplaced_B_zp(self, in_t: DType, B_zp: Array) -> bool:
        """It is {B_zp[0]}, but must be 0 for {in_t}."""
        return misplaced(B_zp, in_t)

    def lower(self, use: Use) -> list[Nest]:
        """One contraction."""
        integers_only(use)
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

    def lower(self, use: Use) -> list[Nest]:
        """One nest that takes the greatest of each window."""
        integers_only(use)
        value = use.inputs[0]
        least, kind = int(value.dtype.minimum), value.dtype.compute
        at, source = self._windows(use, const(least, kind))
        return [reduce_nest(use, "reduce", at, [source], Reduction("max", least, kind, element(0, value)))]


class RFFT2D(Operator):
    """The discrete Fourier transform of real images; the half that symmetry does not give."""

    section, modes = "2.3.9", FFT
    because = "half of W and one more give"

    input_real = read("in_out_t", "N,H,W")
    output_real = write("in_out_t", "N,H,OW")
    output_imag = write("in_out_t", "N,H,OW")

    local_bound: bool = False

    def infer(self, W: int) -> Dims:
        """The columns that are not mirrored."""
        return {"OW": W // 2 + 1}

    @error_if("input_real")
    def no_power_of_two(self, H: int, W: int) -> bool:
        """H and W are {H} and {W}, but must be powers of two."""
        return H & (H - 1) != 0 or W & (W - 1) != 0

    @level_check()
    def size_limits(self, H: int, W: int, level: Level) -> Iterator[str]:
        """The images within the level."""
        yield from beyond("MAX_KERNEL", level.MAX_KERNEL, H=H, W=W)


class TRANSPOSE_CONV2D(Convolution):
    """The transpose of a convolution: every input element spreads the kernel over the output."""

    section = "2.3.10"
    because = "stride, out_pad and kernel give"

    out_pad: Quad
    stride: Pair
    local_bound: bool = False
    acc_type: AccType

    def infer(self, IH: int, IW: int, KH: int, KW: int) -> Dims:
        """The area that the kernels cover, with the padding."""
        top, bottom, left, right = self.out_pad
        return {
            "OH": (IH - 1) * self.stride[0] + top + bottom + KH,
            "OW": (IW - 1) * self.stride[1] + left + right + KW,
        }

    @error_if("out_pad")
    def removes_the_kernel(self, KH: int, KW: int) -> bool:
        """It is {self.out_pad}, but must be more than the negated kernel, which is {KH} by {KW}."""
        return min(self.out_pad[:2]) <= -KH or min(self.out_pad[2:]) <= -KW

    @error_if("stride")
    def stride_too_small(self) -> bool:
        """It is {self.stride}, but must be at least 1."""
        return min(self.stride) < 1

    @level_check()
    def window_limits(self, KH: int, KW: int, level: Level) -> Iterator[str]:
        """Kernel, padding and stride within the level."""
        yield from beyond("MAX_KERNEL", level.MAX_KERNEL, KH=KH, KW=KW, out_pad=max(self.out_pad))
        yield from beyond("MAX_STRIDE", level.MAX_STRIDE, stride=max(self.stride))

    def lower(self, use: Use) -> list[Nest]:
        """A contraction for each residue of the output's coordinates, whose kernel is each stride-th element."""
        integers_only(use)
        _, OH, OW, _ = shape_of(use.outputs[0])
        _, KH, KW, _ = shape_of(use.inputs[1])
        rows = list(residues(OH, KH, self.stride[0], self.out_pad[0]))
        columns = list(residues(OW, KW, self.stride[1], self.out_pad[2]))
        return [self._residue(use, y, x) for y in rows for x in columns]

    def _residue(self, use: Use, y: Residue, x: Residue) -> Nest:
        value, weight = use.inputs[:2]
        N, _, _, OC = shape_of(use.outputs[0])
        kept = {"n": N, "oy": y.count, "ox": x.count, "oc": OC}
        taps = {"ky": y.taps, "kx": x.taps, "ic": shape_of(weight)[3]} if y.taps and x.taps else {}
        at, (sy, sx) = space(kept, taps), self.stride
        target = access(use.outputs[0], [at(n=1), at(y.first, oy=sy), at(x.first, ox=sx), at(oc=1)])
        bias = self._bias(use, at, oc=OC)
        if not taps:
            return Nest("move", at.axes, (bias,), (Write(target, read_at(0, bias.type)),), None, (use.name,))
        index = [at(n=1), at(y.source, oy=1, ky=-1), at(x.source, ox=1, kx=-1), at(ic=1)]
        source = padded(value, index, at, element(3, use.inputs[3]))
        factor = access(weight, [at(oc=1), at(y.tap, ky=sy), at(x.tap, kx=sx), at(ic=1)])
        return contract_nest(use, at, [source, factor], bias, target)


@dataclass(frozen=True, slots=True)
class Residue:
    """The outputs along an axis of TRANSPOSE_CONV2D that use the same elements of the kernel."""

    first: int
    """The first such output; the next ones are a stride apart."""
    count: int
    tap: int
    """The first element of the kernel."""
    taps: int
    source: int
    """The element of the input that the first output multiplies with the first element of the kernel."""


def residues(outputs: int, kernel: int, stride: int, pad: int) -> Iterator[Residue]:
    """The classes of outputs along an axis, of at most `stride`."""
    for tap in range(stride):
        first = (pad + tap) % stride
        count, taps = len(range(first, outputs, stride)), len(range(tap, kernel, stride))
        if count:
            yield Residue(first, count, tap, taps, (first - pad - tap) // stride)
