"""TOSA's own operators, with which its graphs are written (module `tosa`): they are what they were.

Their integers have 32 bits in NNEF. They are cast to those of TOSA, and back; `casts.py` drops what cancels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tosajit import ops
from tosajit.dtypes import INT4, INT8, INT16, INT32, DType
from tosajit.frontends.common.layout import constant_of, reshaped
from tosajit.frontends.frame import Refused
from tosajit.frontends.nnef.node import Attributes, Node
from tosajit.frontends.nnef.operators import operator
from tosajit.tracing.tensor import Tensor

_DTYPES: Mapping[int, DType] = {4: INT4, 8: INT8, 16: INT16, 32: INT32}


@dataclass(frozen=True, slots=True)
class Bits(Attributes):
    """How many bits numbers have in TOSA."""

    bits: int


def narrow(value: Tensor, bits: int) -> Tensor:
    """Integers of TOSA, which NNEF has with 32 bits."""
    dtype = _DTYPES.get(bits)
    if dtype is None:
        raise Refused(f"TOSA has no integers of {bits} bits")
    data = constant_of(value)
    if data is not None:
        if data.size and not (dtype.minimum <= data.min() and data.max() <= dtype.maximum):
            raise Refused(f"{value.name} has numbers beyond {bits} bits")
        found: Tensor = ops.const(data.astype(dtype.storage), dtype)
        return found
    if dtype is INT4:
        raise Refused("its weights of 4 bits are computed, and TOSA casts nothing to INT4")
    return value if value.dtype is dtype else ops.cast(value, dtype=dtype)


def wide(value: Tensor) -> Tensor:
    """Integers of NNEF."""
    return value if value.dtype is INT32 else ops.cast(value, dtype=INT32)


def number(value: Tensor, bits: int) -> Tensor:
    """One number, as TOSA has it."""
    return narrow(reshaped(value, (1,)), bits)


@dataclass(frozen=True, slots=True)
class Sums(Attributes):
    """How many bits the factors of products have."""

    input_bits: int
    weight_bits: int


@dataclass(frozen=True, slots=True)
class Window(Sums):
    """Where the windows of a convolution are."""

    pad: tuple[int, ...]
    stride: tuple[int, ...]
    dilation: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Spread(Sums):
    """Where the windows of a transposed convolution are."""

    out_pad: tuple[int, ...]
    stride: tuple[int, ...]


def _operands(node: Node, options: Sums) -> list[Tensor]:
    _require_bytes(options.input_bits)
    bits = options.input_bits, options.weight_bits
    values = [narrow(node[name], size) for name, size in zip(("input", "weight"), bits, strict=True)]
    zeros = [number(node[name], size) for name, size in zip(("input_zp", "weight_zp"), bits, strict=True)]
    return [*values, node["bias"], *zeros]


def _require_bytes(bits: int) -> None:
    if bits != 8:
        raise Refused(f"its inputs have {bits} bits, and TOSA has sums of 32 bits for those of 8 bits")


def _convolution(name: str, summary: str) -> None:
    function = getattr(ops, name)

    def lower(node: Node, options: Window) -> Tensor:
        found: Tensor = function(
            *_operands(node, options), pad=options.pad, stride=options.stride, dilation=options.dilation
        )
        return found

    lower.__doc__ = summary
    operator(f"tosa.{name}", Window)(lower)


_convolution("conv2d", "A convolution of images.")
_convolution("conv3d", "A convolution of volumes.")
_convolution("depthwise_conv2d", "A convolution of each channel on its own.")


@operator("tosa.transpose_conv2d", Spread)
def transpose_conv2d(node: Node, options: Spread) -> Tensor:
    """The transpose of a convolution."""
    return ops.transpose_conv2d(*_operands(node, options), out_pad=options.out_pad, stride=options.stride)


@dataclass(frozen=True, slots=True)
class Inputs(Attributes):
    """How many bits both inputs have."""

    input_bits: int


@operator("tosa.matmul", Inputs)
def matmul(node: Node, options: Inputs) -> Tensor:
    """Products of pairs of matrices."""
    bits = options.input_bits
    _require_bytes(bits)
    values = [narrow(node[name], bits) for name in ("a", "b")]
    return ops.matmul(*values, *(number(node[name], bits) for name in ("a_zp", "b_zp")))


@dataclass(frozen=True, slots=True)
class Pool(Bits):
    """Where the windows of a pool are."""

    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    pad: tuple[int, ...]


@operator("tosa.avg_pool2d", Pool)
def avg_pool2d(node: Node, options: Pool) -> Tensor:
    """The mean of each window; padding does not count."""
    zeros = [number(node[name], options.bits) for name in ("input_zp", "output_zp")]
    value = narrow(node["input"], options.bits)
    kernel, stride, pad = options.kernel, options.stride, options.pad
    return wide(ops.avg_pool2d(value, *zeros, kernel=kernel, stride=stride, pad=pad))


@operator("tosa.max_pool2d", Pool)
def max_pool2d(node: Node, options: Pool) -> Tensor:
    """The greatest of each window."""
    value = narrow(node["input"], options.bits)
    return wide(ops.max_pool2d(value, kernel=options.kernel, stride=options.stride, pad=options.pad))


@dataclass(frozen=True, slots=True)
class Along(Bits):
    """The axis."""

    axis: int


@operator("tosa.argmax", Along)
def argmax(node: Node, options: Along) -> Tensor:
    """Where the greatest along an axis is."""
    return ops.argmax(narrow(node["input"], options.bits), axis=options.axis)


@dataclass(frozen=True, slots=True)
class Scaling(Attributes):
    """How numbers are rounded, and their types."""

    rounding: str
    scale32: bool
    input_bits: int
    output_bits: int
    input_unsigned: bool
    output_unsigned: bool


@operator("tosa.rescale", Scaling)
def rescale(node: Node, options: Scaling) -> Tensor:
    """Integers times multipliers, divided by powers of two, between zero points and types."""
    factors = [reshaped(node[name], (-1,)) for name in ("multiplier", "shift")]
    multiplier, shift = narrow(factors[0], 32 if options.scale32 else 16), narrow(factors[1], 8)
    per_channel = node["multiplier"].ndim == 1 and (
        multiplier.shape[0] > 1 or node["input"].shape[-1:] == (1,)
    )
    found = ops.rescale(
        narrow(node["input"], options.input_bits), multiplier, shift,
        number(node["input_zp"], options.input_bits), number(node["output_zp"], options.output_bits),
        scale32=options.scale32, rounding_mode=options.rounding, per_channel=per_channel,
        input_unsigned=options.input_unsigned, output_unsigned=options.output_unsigned,
        dtype=_DTYPES[options.output_bits],
    )  # fmt: skip
    return wide(found)


@operator("tosa.mul")
def mul(node: Node) -> Tensor:
    """Products, shifted right and rounded."""
    return ops.mul(node["a"], node["b"], number(node["shift"], 8))


@operator("tosa.intdiv")
def intdiv(node: Node) -> Tensor:
    """A quotient without its fraction."""
    return ops.intdiv(node["a"], node["b"])


def _bitwise(name: str, function: Callable[..., Any], summary: str, operands: tuple[str, ...]) -> None:
    def lower(node: Node, options: Bits) -> Tensor:
        found: Tensor = function(*(narrow(node[one], options.bits) for one in operands))
        return wide(found)

    lower.__doc__ = summary
    operator(f"tosa.{name}", Bits)(lower)


_bitwise("bitwise_and", ops.bitwise_and, "The bits that both have.", ("a", "b"))
_bitwise("bitwise_or", ops.bitwise_or, "The bits that either has.", ("a", "b"))
_bitwise("bitwise_xor", ops.bitwise_xor, "The bits that one of them has.", ("a", "b"))
_bitwise("bitwise_not", ops.bitwise_not, "All bits the other way round.", ("input",))
_bitwise("logical_left_shift", ops.logical_left_shift, "The bits moved left.", ("a", "b"))
_bitwise("logical_right_shift", ops.logical_right_shift, "The bits moved right.", ("a", "b"))


@dataclass(frozen=True, slots=True)
class Shift(Bits):
    """Whether quotients are rounded to the nearest."""

    round: bool


@operator("tosa.arithmetic_right_shift", Shift)
def arithmetic_right_shift(node: Node, options: Shift) -> Tensor:
    """A number divided by a power of two."""
    operands = [narrow(node[name], options.bits) for name in ("a", "b")]
    return wide(ops.arithmetic_right_shift(*operands, round=options.round))


@operator("tosa.clz")
def clz(node: Node) -> Tensor:
    """How many bits are zero before the first one that is not."""
    return ops.clz(node["input"])


@operator("tosa.negate", Bits)
def negate(node: Node, options: Bits) -> Tensor:
    """The other sign, between zero points."""
    zeros = [number(node[name], options.bits) for name in ("input_zp", "output_zp")]
    return wide(ops.negate(narrow(node["input"], options.bits), *zeros))


@operator("tosa.table")
def table(node: Node) -> Tensor:
    """What a table has for numbers of 8 bits."""
    return wide(ops.table(narrow(node["input"], 8), narrow(node["table"], 8)))


@operator("tosa.table16")
def table16(node: Node) -> Tensor:
    """What a table has for numbers of 16 bits."""
    return ops.table(narrow(node["input"], 16), narrow(node["table"], 16))


@operator("tosa.cast_to_int", Bits)
def cast_to_int(node: Node, options: Bits) -> Tensor:
    """Real numbers as the nearest integers, of two the even one."""
    return wide(ops.cast(node["input"], dtype=_DTYPES[options.bits]))


@operator("tosa.narrow", Bits)
def narrowed(node: Node, options: Bits) -> Tensor:
    """Integers of which only the lowest bits are kept."""
    return wide(ops.cast(node["input"], dtype=_DTYPES[options.bits]))


@dataclass(frozen=True, slots=True)
class Places(Attributes):
    """Where each output is in the input."""

    scale: tuple[int, ...]
    offset: tuple[int, ...]
    border: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Integers(Places):
    """The same of integers; none of 0 bits."""

    bits: int


def _resized(value: Tensor, options: Places, mode: str) -> Tensor:
    return ops.resize(value, options.scale, options.offset, options.border, mode=mode)


@operator("tosa.resize_nearest", Integers)
def resize_nearest(node: Node, options: Integers) -> Tensor:
    """The nearest element."""
    value = node["input"]
    if value.dtype is INT32:
        return wide(_resized(narrow(value, options.bits), options, "NEAREST"))
    return _resized(value, options, "NEAREST")


@operator("tosa.resize_bilinear", Integers)
def resize_bilinear(node: Node, options: Integers) -> Tensor:
    """Integers between four elements."""
    return _resized(narrow(node["input"], options.bits), options, "BILINEAR")


@operator("tosa.resize_linear", Places)
def resize_linear(node: Node, options: Places) -> Tensor:
    """Real numbers between four elements."""
    return _resized(node["input"], options, "BILINEAR")


@dataclass(frozen=True, slots=True)
class Transform(Attributes):
    """Which way a Fourier transform goes."""

    inverse: bool


@operator("tosa.fft2d", Transform)
def fft2d(node: Node, options: Transform) -> tuple[Tensor, Tensor]:
    """A Fourier transform of complex images."""
    real, imag = ops.fft2d(node["input_real"], node["input_imag"], inverse=options.inverse)
    return real, imag


@operator("tosa.rfft2d")
def rfft2d(node: Node) -> tuple[Tensor, Tensor]:
    """A Fourier transform of real images."""
    real, imag = ops.rfft2d(node["input_real"])
    return real, imag
