"""Convolutions (TOSA 1.0.1 sections 2.3.3 to 2.3.5 and 2.3.10)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from tiling.nest import Access, Affine, Nest, Write
from tiling.records import dataclass
from tosajit.graph import Value
from tosajit.graph.operator import Dims, error_if, level_check, read, table, write
from tosajit.operators.lowering import (
    Lowering,
    Space,
    access,
    contract_nest,
    element,
    move_nest,
    over,
    padded,
    scalar,
    shape_of,
    space,
    zero_of,
)
from tosajit.operators.types import (
    AccType,
    Accumulating,
    Pair,
    Quad,
    Six,
    Triple,
    beyond,
    no_zero_point,
    steps,
    zero_point,
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


class Convolution(Accumulating):
    """What the convolutions share; the operands are those of CONV2D."""

    batched = "N"

    modes = CONVOLUTION
    because = "pad, stride and dilation give"
    left_out: ClassVar[Mapping[str, Any]] = {
        "pad": (0,) * 4,
        "stride": (1, 1),
        "dilation": (1, 1),
        "acc_type": None,
    }

    input = read("in_t", "N,IH,IW,IC")
    weight = read("weight_t", "OC,KH,KW,IC")
    bias = read("out_t", "BC", or_zero=True)
    input_zp = zero_point("in_t")
    weight_zp = zero_point("weight_t")
    output = write("out_t", "N,OH,OW,OC")

    misplaced_input_zp = no_zero_point("in_t", "input_zp")
    misplaced_weight_zp = no_zero_point("weight_t", "weight_zp")

    @error_if("bias")
    def bias_length(self, BC: int, OC: int) -> bool:
        """Its length is {BC}, but must be 1 or OC, which is {OC}."""
        return BC not in (1, OC)

    def _bias(self, use: Lowering, at: Space, **channels: int) -> Access:
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
        local_bound: bool

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

    def _lowered(self, use: Lowering, axes: str) -> list[Nest]:
        """One nest over the spatial axes: `yx` walks `oy`, `ox`, `ky` and `kx`."""
        value, weight = use.inputs[:2]
        N, *outputs, OC = shape_of(use.outputs[0])
        _, *kernel, IC = shape_of(weight)
        out_names, kernel_names = [f"o{axis}" for axis in axes], [f"k{axis}" for axis in axes]
        at = space(
            {"n": N, **dict(zip(out_names, outputs, strict=True)), "oc": OC},
            {**dict(zip(kernel_names, kernel, strict=True)), "ic": IC},
        )
        places = [self._place(at, d, out_names[d], kernel_names[d]) for d in range(len(axes))]
        source = padded(value, [at(n=1), *places, at(ic=1)], at, zero_of(use, 3, 3))
        factor = access(weight, [at(oc=1), *(at(**{name: 1}) for name in kernel_names), at(ic=1)])
        bias = self._bias(use, at, oc=OC)
        return [contract_nest(use, at, [source, factor], bias, by_transforms=not self.local_bound)]


class CONV2D(DirectConvolution):
    """Convolution of images, with a bias for each output channel."""

    section = "2.3.3"
    products = "N OH OW OC KH KW IC"

    pad: Quad
    stride: Pair
    dilation: Pair
    local_bound: bool = False
    acc_type: AccType

    def infer(self, IH: int, IW: int, KH: int, KW: int) -> Dims:
        """The positions of the kernel."""
        return self._extents(("OH", "OW"), (IH, IW), (KH, KW))

    def lower(self, use: Lowering) -> list[Nest]:
        """One contraction."""
        return self._lowered(use, "yx")


class CONV3D(DirectConvolution):
    """Convolution of volumes, with a bias for each output channel."""

    section = "2.3.4"
    products = "N OD OH OW OC KD KH KW IC"
    left_out: ClassVar[Mapping[str, Any]] = {
        "pad": (0,) * 6,
        "stride": (1,) * 3,
        "dilation": (1,) * 3,
        "acc_type": None,
    }

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

    def lower(self, use: Lowering) -> list[Nest]:
        """One contraction."""
        return self._lowered(use, "dyx")

    @level_check()
    def depth_limits(self, KD: int, level: Level) -> Iterator[str]:
        """The dilated kernel's depth within the level."""
        yield from beyond("MAX_KERNEL", level.MAX_KERNEL, **{"dilation_d * KD": KD * self.dilation[0]})


class DEPTHWISE_CONV2D(DirectConvolution):
    """Convolution of each channel on its own, with M results a channel."""

    section = "2.3.5"
    products = "N OH OW C M KH KW"

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

    def lower(self, use: Lowering) -> list[Nest]:
        """One contraction that sees the output's channels as C by M."""
        value, weight = use.inputs[:2]
        N, OH, OW, _ = shape_of(use.outputs[0])
        KH, KW, C, M = shape_of(weight)
        at = space({"n": N, "oy": OH, "ox": OW, "c": C, "m": M}, {"ky": KH, "kx": KW})
        index = [at(n=1), self._place(at, 0, "oy", "ky"), self._place(at, 1, "ox", "kx"), at(c=1)]
        source = padded(value, index, at, zero_of(use, 3, 3))
        factor = access(weight, [at(ky=1), at(kx=1), at(c=1), at(m=1)])
        return [contract_nest(use, at, [source, factor], self._bias(use, at, c=C, m=M))]


class TRANSPOSE_CONV2D(Convolution):
    """The transpose of a convolution: every input element spreads the kernel over the output."""

    section = "2.3.10"
    products = "N IH IW OC KH KW IC"
    because = "stride, out_pad and kernel give"
    left_out: ClassVar[Mapping[str, Any]] = {"out_pad": (0,) * 4, "stride": (1, 1), "acc_type": None}

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

    def lower(self, use: Lowering) -> list[Nest]:
        """Contractions that have each output once, and the bias for outputs that no tap reaches."""
        N, OH, OW, OC = shape_of(use.outputs[0])
        _, IH, IW, _ = shape_of(use.inputs[0])
        _, KH, KW, _ = shape_of(use.inputs[1])
        (sy, sx), (top, _, left, _) = self.stride, self.out_pad
        rows, columns = ways(OH, IH, KH, sy, top), ways(OW, IW, KW, sx, left)
        y0, x0 = rows[0], columns[0]
        shape = (N, y0.extent(OH), x0.extent(OW), OC)
        output = use.outputs[0]
        cut = shape != shape_of(output) or any((y0.shift(top), x0.shift(left)))
        whole = Value(f"{use.name}.whole", output.dtype, shape) if cut else output
        tapped = [(y, x) for y in rows for x in columns if y.taps and x.taps]
        covered = len(tapped) == len(rows) * len(columns) and not any(isinstance(w, Spread) for w in (y0, x0))
        nests = [] if covered else [self._bias_everywhere(use, whole)]
        nests += [self._part(use, whole, y, x) for y, x in tapped]
        return [*nests, self._cut(use, whole, y0.shift(top), x0.shift(left))] if cut else nests

    def _bias_everywhere(self, use: Lowering, output: Value) -> Nest:
        """What outputs without taps keep: they can be most, if the stride is larger than the kernel."""
        N, OH, OW, OC = shape_of(output)
        at = space({"n": N, "oy": OH, "ox": OW, "oc": OC}, {})
        bias = self._bias(use, at, oc=OC)
        return Nest("move", at.axes, (bias,), (Write(at.write(output), element(0, bias)),), None, (use.name,))

    def _part(self, use: Lowering, whole: Value, y: Residue | Spread, x: Residue | Spread) -> Nest:
        """The outputs of one way along each axis."""
        value, weight = use.inputs[:2]
        N, _, _, OC = shape_of(whole)
        sides = [(y, "y", self.stride[0]), (x, "x", self.stride[1])]
        kept = {"n": N} | {name: size for way, axis, _ in sides for name, size in way.kept(axis).items()}
        taps = {name: size for way, axis, _ in sides for name, size in way.reduced(axis).items()}
        at = space(kept | {"oc": OC}, taps | {"ic": shape_of(weight)[3]})
        source, factor, target = (
            [way.index(at, axis, stride)[which] for way, axis, stride in sides] for which in range(3)
        )
        read_input = padded(value, [at(n=1), *source, at(ic=1)], at, zero_of(use, 3, 3))
        read_weight = access(weight, [at(oc=1), *factor, at(ic=1)])
        write = access(whole, [at(n=1), *target, at(oc=1)])
        return contract_nest(use, at, [read_input, read_weight], self._bias(use, at, oc=OC), write)

    def _cut(self, use: Lowering, whole: Value, top: int, left: int) -> Nest:
        """The outputs that are asked for, of those that there would be without padding."""
        at = over(shape_of(use.outputs[0]))
        index = [at(i0=1), at(-top, i1=1), at(-left, i2=1), at(i3=1)]
        bias = self._bias(use, at, i3=shape_of(whole)[3])
        return move_nest(use, padded(whole, index, at, element(1, bias)), fill=[bias])


@dataclass(frozen=True, slots=True)
class Spread:
    """An axis of TRANSPOSE_CONV2D along which taps stay apart: each input position and tap has an output."""

    inputs: int
    taps: int
    stride: int

    def extent(self, outputs: int) -> int:
        """Outputs without padding."""
        return (self.inputs - 1) * self.stride + self.taps

    def shift(self, pad: int) -> int:
        """How far the padding moves the outputs."""
        return pad

    def kept(self, axis: str) -> dict[str, int]:
        """Axes that outputs walk."""
        return {f"i{axis}": self.inputs, f"k{axis}": self.taps}

    def reduced(self, axis: str) -> dict[str, int]:
        """Axes that sums walk."""
        return {}

    def index(self, at: Space, axis: str, stride: int) -> tuple[Affine, Affine, Affine]:
        """Where input, weight and output are."""
        position, tap = f"i{axis}", f"k{axis}"
        return at(**{position: 1}), at(**{tap: 1}), at(**{position: stride, tap: 1})


MANY_RESIDUES = 16
"""Beyond this a nest for each residue of a coordinate would cost more than it saves."""


@dataclass(frozen=True, slots=True)
class Residue:
    """The outputs along an axis of TRANSPOSE_CONV2D that use the same elements of the kernel."""

    first: int
    """The first such output; the next ones are a stride apart."""
    count: int
    tap: int
    """The last element of the kernel; the others are a stride apart."""
    taps: int
    source: int
    """The element of the input that the first output multiplies with the last element of the kernel."""

    def extent(self, outputs: int) -> int:
        """Outputs as they are asked for."""
        return outputs

    def shift(self, pad: int) -> int:
        """No shift: `first` has the padding."""
        return 0

    def kept(self, axis: str) -> dict[str, int]:
        """Axes that outputs walk."""
        return {f"o{axis}": self.count}

    def reduced(self, axis: str) -> dict[str, int]:
        """Axes that sums walk."""
        return {f"k{axis}": self.taps}

    def index(self, at: Space, axis: str, stride: int) -> tuple[Affine, Affine, Affine]:
        """Where input, weight and output are."""
        position, tap = f"o{axis}", f"k{axis}"
        source, factor = at(self.source, **{position: 1, tap: 1}), at(self.tap, **{tap: -stride})
        return source, factor, at(self.first, **{position: stride})


def ways(outputs: int, inputs: int, kernel: int, stride: int, pad: int) -> list[Residue | Spread]:
    """How to walk an axis: by residues, or spread out if these would be many and taps stay apart."""
    if MANY_RESIDUES < kernel <= stride:
        return [Spread(inputs, kernel, stride)]
    return list(residues(outputs, kernel, stride, pad))


def residues(outputs: int, kernel: int, stride: int, pad: int) -> Iterator[Residue]:
    """The classes of outputs along an axis, of at most `stride`."""
    for tap in range(stride):
        first = (pad + tap) % stride
        count, taps = len(range(first, outputs, stride)), len(range(tap, kernel, stride))
        if count:
            last = tap + (taps - 1) * stride
            yield Residue(first, count, last, taps, (first - pad - last) // stride)
