"""The operators of TOSA 1.0.1 as functions of arrays and traced tensors.

In a function that `tj.jit` or `tj.trace` traces, a call is recorded; outside, on NumPy arrays, it runs at
once. Operands stand in the order of the specification, attributes behind them by name. A vector operand, such
as a zero point, may be given as Python numbers if its type follows from the others; int64 arrays are INT48,
those of `ml_dtypes.int4` INT4. `acc_type`, `scale32` and `per_channel` follow from the operands unless they
are given. A `dtype` is a type of TOSA (`tj.INT8`), its name, or a NumPy type (`np.int8`).

Written by tools/generate_ops.py from the declarations of the operators: do not edit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from tosajit.arrays import Array
from tosajit.operators import (
    OPERATORS,
    AccType,
    NanMode,
    ResizeMode,
    RoundingMode,
)
from tosajit.tracing.apply import apply
from tosajit.tracing.numbers import Type
from tosajit.tracing.structured import (
    Variable,
    cond_if,
    const,
    const_shape,
    custom,
    variable,
    variable_read,
    variable_write,
    while_loop,
)
from tosajit.tracing.tensor import Tensor

Operand = Array | Tensor | np.generic
"""An array, or a traced tensor."""
Vector = Operand | float | Sequence[float]
"""An operand of one dimension, which Python numbers can stand for."""
Shape = Sequence[int] | Array | Tensor

T = TypeVar("T", Array, Tensor)
"""Arrays in, arrays out; traced tensors in, traced tensors out."""


def argmax(input: T, axis: int, *, nan_mode: NanMode | str = NanMode.PROPAGATE) -> T:
    """The index of the largest element along an axis; the first one if there are several.

    ARGMAX, TOSA 1.0.1 section 2.3.1:

    * `input`: in_t, any shape
    * returns `output`: out_t, any shape

    in_t, out_t: FP16 INT32; FP32 INT32; INT8 INT32; BF16 INT32; FP8E4M3 INT32; FP8E5M2 INT32; INT16 INT32
    """
    result: T = apply(OPERATORS["ARGMAX"], [input], {"axis": axis, "nan_mode": nan_mode})
    return result


def avg_pool2d(
    input: T,
    input_zp: Vector | None = None,
    output_zp: Vector | None = None,
    *,
    kernel: Sequence[int],
    stride: Sequence[int] = (1, 1),
    pad: Sequence[int] = (0, 0, 0, 0),
    acc_type: AccType | Type | None = None,
) -> T:
    """The mean of each window; padding does not count.

    AVG_POOL2D, TOSA 1.0.1 section 2.3.2:

    * `input`: in_out_t, [N, IH, IW, C]
    * `input_zp`: in_out_t, [1]
    * `output_zp`: in_out_t, [1]
    * returns `output`: in_out_t, [N, OH, OW, C]

    in_out_t, acc_t: FP16 FP16; FP16 FP32; FP32 FP32; INT8 INT32; BF16 FP32; FP8E4M3 FP16; FP8E5M2 FP16;
    INT16 INT32
    """
    result: T = apply(
        OPERATORS["AVG_POOL2D"],
        [input, input_zp, output_zp],
        {"kernel": kernel, "stride": stride, "pad": pad, "acc_type": acc_type},
    )
    return result


def conv2d(
    input: T,
    weight: Operand,
    bias: Vector | None = None,
    input_zp: Vector | None = None,
    weight_zp: Vector | None = None,
    *,
    pad: Sequence[int] = (0, 0, 0, 0),
    stride: Sequence[int] = (1, 1),
    dilation: Sequence[int] = (1, 1),
    local_bound: bool = False,
    acc_type: AccType | Type | None = None,
) -> T:
    """Convolution of images, with a bias for each output channel.

    CONV2D, TOSA 1.0.1 section 2.3.3:

    * `input`: in_t, [N, IH, IW, IC]
    * `weight`: weight_t, [OC, KH, KW, IC]
    * `bias`: out_t, [BC]
    * `input_zp`: in_t, [1]
    * `weight_zp`: weight_t, [1]
    * returns `output`: out_t, [N, OH, OW, OC]

    in_t, weight_t, out_t, acc_t: FP16 FP16 FP16 FP16; FP16 FP16 FP16 FP32; FP32 FP32 FP32 FP32; INT8 INT8
    INT32 INT32; BF16 BF16 BF16 FP32; FP8E4M3 FP8E4M3 FP16 FP16; FP8E5M2 FP8E5M2 FP16 FP16; INT16 INT8
    INT48 INT48; INT8 INT4 INT32 INT32
    """
    result: T = apply(
        OPERATORS["CONV2D"],
        [input, weight, bias, input_zp, weight_zp],
        {
            "pad": pad,
            "stride": stride,
            "dilation": dilation,
            "local_bound": local_bound,
            "acc_type": acc_type,
        },
    )
    return result


def conv3d(
    input: T,
    weight: Operand,
    bias: Vector | None = None,
    input_zp: Vector | None = None,
    weight_zp: Vector | None = None,
    *,
    pad: Sequence[int] = (0, 0, 0, 0, 0, 0),
    stride: Sequence[int] = (1, 1, 1),
    dilation: Sequence[int] = (1, 1, 1),
    local_bound: bool = False,
    acc_type: AccType | Type | None = None,
) -> T:
    """Convolution of volumes, with a bias for each output channel.

    CONV3D, TOSA 1.0.1 section 2.3.4:

    * `input`: in_t, [N, ID, IH, IW, IC]
    * `weight`: weight_t, [OC, KD, KH, KW, IC]
    * `bias`: out_t, [BC]
    * `input_zp`: in_t, [1]
    * `weight_zp`: weight_t, [1]
    * returns `output`: out_t, [N, OD, OH, OW, OC]

    in_t, weight_t, out_t, acc_t: FP16 FP16 FP16 FP16; FP16 FP16 FP16 FP32; FP32 FP32 FP32 FP32; INT8 INT8
    INT32 INT32; BF16 BF16 BF16 FP32; FP8E4M3 FP8E4M3 FP16 FP16; FP8E5M2 FP8E5M2 FP16 FP16; INT16 INT8
    INT48 INT48; INT8 INT4 INT32 INT32
    """
    result: T = apply(
        OPERATORS["CONV3D"],
        [input, weight, bias, input_zp, weight_zp],
        {
            "pad": pad,
            "stride": stride,
            "dilation": dilation,
            "local_bound": local_bound,
            "acc_type": acc_type,
        },
    )
    return result


def depthwise_conv2d(
    input: T,
    weight: Operand,
    bias: Vector | None = None,
    input_zp: Vector | None = None,
    weight_zp: Vector | None = None,
    *,
    pad: Sequence[int] = (0, 0, 0, 0),
    stride: Sequence[int] = (1, 1),
    dilation: Sequence[int] = (1, 1),
    local_bound: bool = False,
    acc_type: AccType | Type | None = None,
) -> T:
    """Convolution of each channel on its own, with M results a channel.

    DEPTHWISE_CONV2D, TOSA 1.0.1 section 2.3.5:

    * `input`: in_t, [N, IH, IW, C]
    * `weight`: weight_t, [KH, KW, C, M]
    * `bias`: out_t, [BC]
    * `input_zp`: in_t, [1]
    * `weight_zp`: weight_t, [1]
    * returns `output`: out_t, [N, OH, OW, OC]

    in_t, weight_t, out_t, acc_t: FP16 FP16 FP16 FP16; FP16 FP16 FP16 FP32; FP32 FP32 FP32 FP32; INT8 INT8
    INT32 INT32; BF16 BF16 BF16 FP32; FP8E4M3 FP8E4M3 FP16 FP16; FP8E5M2 FP8E5M2 FP16 FP16; INT16 INT8
    INT48 INT48; INT8 INT4 INT32 INT32
    """
    result: T = apply(
        OPERATORS["DEPTHWISE_CONV2D"],
        [input, weight, bias, input_zp, weight_zp],
        {
            "pad": pad,
            "stride": stride,
            "dilation": dilation,
            "local_bound": local_bound,
            "acc_type": acc_type,
        },
    )
    return result


def fft2d(
    input_real: T, input_imag: Operand, *, inverse: bool = False, local_bound: bool = False
) -> tuple[T, T]:
    """The discrete Fourier transform of complex images, forward or inverse.

    FFT2D, TOSA 1.0.1 section 2.3.6:

    * `input_real`: in_out_t, [N, H, W]
    * `input_imag`: in_out_t, [N, H, W]
    * returns `output_real`: in_out_t, [N, H, W]
    * returns `output_imag`: in_out_t, [N, H, W]

    in_out_t: FP32
    """
    result: tuple[T, T] = apply(
        OPERATORS["FFT2D"], [input_real, input_imag], {"inverse": inverse, "local_bound": local_bound}
    )
    return result


def matmul(
    A: T, B: Operand, A_zp: Vector | None = None, B_zp: Vector | None = None, *, dtype: Type | None = None
) -> T:
    """Products of N pairs of matrices.

    MATMUL, TOSA 1.0.1 section 2.3.7:

    * `A`: in_t, [N, H, C]
    * `B`: in_t, [N, C, W]
    * `A_zp`: in_t, [1]
    * `B_zp`: in_t, [1]
    * returns `output`: out_t, [N, H, W]

    in_t, out_t: FP16 FP16; FP16 FP32; FP32 FP32; INT8 INT32; BF16 FP32; FP8E4M3 FP16; FP8E5M2 FP16; INT16
    INT48
    """
    result: T = apply(OPERATORS["MATMUL"], [A, B, A_zp, B_zp], dtype=dtype)
    return result


def max_pool2d(
    input: T,
    kernel: Sequence[int],
    *,
    stride: Sequence[int] = (1, 1),
    pad: Sequence[int] = (0, 0, 0, 0),
    nan_mode: NanMode | str = NanMode.PROPAGATE,
) -> T:
    """The largest element of each window.

    MAX_POOL2D, TOSA 1.0.1 section 2.3.8:

    * `input`: in_out_t, [N, IH, IW, C]
    * returns `output`: in_out_t, [N, OH, OW, C]

    in_out_t: FP16, FP32, INT8, BF16, FP8E4M3, FP8E5M2, INT16
    """
    result: T = apply(
        OPERATORS["MAX_POOL2D"],
        [input],
        {"kernel": kernel, "stride": stride, "pad": pad, "nan_mode": nan_mode},
    )
    return result


def rfft2d(input_real: T, *, local_bound: bool = False) -> tuple[T, T]:
    """The discrete Fourier transform of real images; the half that symmetry does not give.

    RFFT2D, TOSA 1.0.1 section 2.3.9:

    * `input_real`: in_out_t, [N, H, W]
    * returns `output_real`: in_out_t, [N, H, OW]
    * returns `output_imag`: in_out_t, [N, H, OW]

    in_out_t: FP32
    """
    result: tuple[T, T] = apply(OPERATORS["RFFT2D"], [input_real], {"local_bound": local_bound})
    return result


def transpose_conv2d(
    input: T,
    weight: Operand,
    bias: Vector | None = None,
    input_zp: Vector | None = None,
    weight_zp: Vector | None = None,
    *,
    out_pad: Sequence[int] = (0, 0, 0, 0),
    stride: Sequence[int] = (1, 1),
    local_bound: bool = False,
    acc_type: AccType | Type | None = None,
) -> T:
    """The transpose of a convolution: every input element spreads the kernel over the output.

    TRANSPOSE_CONV2D, TOSA 1.0.1 section 2.3.10:

    * `input`: in_t, [N, IH, IW, IC]
    * `weight`: weight_t, [OC, KH, KW, IC]
    * `bias`: out_t, [BC]
    * `input_zp`: in_t, [1]
    * `weight_zp`: weight_t, [1]
    * returns `output`: out_t, [N, OH, OW, OC]

    in_t, weight_t, out_t, acc_t: FP16 FP16 FP16 FP16; FP16 FP16 FP16 FP32; FP32 FP32 FP32 FP32; INT8 INT8
    INT32 INT32; BF16 BF16 BF16 FP32; FP8E4M3 FP8E4M3 FP16 FP16; FP8E5M2 FP8E5M2 FP16 FP16; INT16 INT8
    INT48 INT48; INT8 INT4 INT32 INT32
    """
    result: T = apply(
        OPERATORS["TRANSPOSE_CONV2D"],
        [input, weight, bias, input_zp, weight_zp],
        {"out_pad": out_pad, "stride": stride, "local_bound": local_bound, "acc_type": acc_type},
    )
    return result


def clamp(input: T, min_val: float, max_val: float, *, nan_mode: NanMode | str = NanMode.PROPAGATE) -> T:
    """The input kept between two bounds.

    CLAMP, TOSA 1.0.1 section 2.4.1:

    * `input`: in_out_t, any shape
    * returns `output`: in_out_t, any shape

    in_out_t: FP16, FP32, INT8, BF16, INT16
    """
    result: T = apply(
        OPERATORS["CLAMP"], [input], {"min_val": min_val, "max_val": max_val, "nan_mode": nan_mode}
    )
    return result


def erf(input: T) -> T:
    """The error function.

    ERF, TOSA 1.0.1 section 2.4.2:

    * `input`: in_out_t, any shape
    * returns `output`: in_out_t, any shape

    in_out_t: FP16, FP32, BF16
    """
    result: T = apply(OPERATORS["ERF"], [input])
    return result


def sigmoid(input: T) -> T:
    """The logistic function.

    SIGMOID, TOSA 1.0.1 section 2.4.3:

    * `input`: in_out_t, any shape
    * returns `output`: in_out_t, any shape

    in_out_t: FP16, FP32, BF16
    """
    result: T = apply(OPERATORS["SIGMOID"], [input])
    return result


def tanh(input: T) -> T:
    """The hyperbolic tangent.

    TANH, TOSA 1.0.1 section 2.4.4:

    * `input`: in_out_t, any shape
    * returns `output`: in_out_t, any shape

    in_out_t: FP16, FP32, BF16
    """
    result: T = apply(OPERATORS["TANH"], [input])
    return result


def add(input1: T, input2: Operand) -> T:
    """The sum of two tensors.

    ADD, TOSA 1.0.1 section 2.5.1:

    * `input1`: in_out_t, any shape
    * `input2`: in_out_t, any shape
    * returns `output`: in_out_t, any shape

    in_out_t: FP16, FP32, INT32, BF16
    """
    result: T = apply(OPERATORS["ADD"], [input1, input2])
    return result


def arithmetic_right_shift(input1: T, input2: Operand, *, round: bool = False) -> T:
    """The first tensor shifted right by the second, keeping the sign; rounded to nearest if asked for.

    ARITHMETIC_RIGHT_SHIFT, TOSA 1.0.1 section 2.5.2:

    * `input1`: in_out_t, any shape
    * `input2`: in_out_t, any shape
    * returns `output`: in_out_t, any shape

    in_out_t: INT16, INT32, INT8
    """
    result: T = apply(OPERATORS["ARITHMETIC_RIGHT_SHIFT"], [input1, input2], {"round": round})
    return result


def bitwise_and(input1: T, input2: Operand) -> T:
    """The bits that both tensors have.

    BITWISE_AND, TOSA 1.0.1 section 2.5.3:

    * `input1`: in_out_t, any shape
    * `input2`: in_out_t, any shape
    * returns `output`: in_out_t, any shape

    in_out_t: INT16, INT32, INT8
    """
    result: T = apply(OPERATORS["BITWISE_AND"], [input1, input2])
    return result


def bitwise_or(input1: T, input2: Operand) -> T:
    """The bits that either tensor has.

    BITWISE_OR, TOSA 1.0.1 section 2.5.4:

    * `input1`: in_out_t, any shape
    * `input2`: in_out_t, any shape
    * returns `output`: in_out_t, any shape

    in_out_t: INT16, INT32, INT8
    """
    result: T = apply(OPERATORS["BITWISE_OR"], [input1, input2])
    return result


def bitwise_xor(input1: T, input2: Operand) -> T:
    """The bits that one of the tensors has.

    BITWISE_XOR, TOSA 1.0.1 section 2.5.5:

    * `input1`: in_out_t, any shape
    * `input2`: in_out_t, any shape
    * returns `output`: in_out_t, any shape

    in_out_t: INT16, INT32, INT8
    """
    result: T = apply(OPERATORS["BITWISE_XOR"], [input1, input2])
    return result


def intdiv(input1: T, input2: Operand) -> T:
    """The integer quotient of two tensors, truncated towards zero.

    INTDIV, TOSA 1.0.1 section 2.5.6:

    * `input1`: in_out_t, any shape
    * `input2`: in_out_t, any shape
    * returns `output`: in_out_t, any shape

    in_out_t: INT32
    """
    result: T = apply(OPERATORS["INTDIV"], [input1, input2])
    return result


def logical_and(input1: T, input2: Operand) -> T:
    """Whether both tensors are true.

    LOGICAL_AND, TOSA 1.0.1 section 2.5.7:

    * `input1`: in_out_t, any shape
    * `input2`: in_out_t, any shape
    * returns `output`: in_out_t, any shape

    in_out_t: BOOL
    """
    result: T = apply(OPERATORS["LOGICAL_AND"], [input1, input2])
    return result


def logical_left_shift(input1: T, input2: Operand) -> T:
    """The first tensor shifted left by the second.

    LOGICAL_LEFT_SHIFT, TOSA 1.0.1 section 2.5.8:

    * `input1`: in_out_t, any shape
    * `input2`: in_out_t, any shape
    * returns `output`: in_out_t, any shape

    in_out_t: INT16, INT32, INT8
    """
    result: T = apply(OPERATORS["LOGICAL_LEFT_SHIFT"], [input1, input2])
    return result


def logical_right_shift(input1: T, input2: Operand) -> T:
    """The first tensor shifted right by the second, filling with zeros.

    LOGICAL_RIGHT_SHIFT, TOSA 1.0.1 section 2.5.9:

    * `input1`: in_out_t, any shape
    * `input2`: in_out_t, any shape
    * returns `output`: in_out_t, any shape

    in_out_t: INT16, INT32, INT8
    """
    result: T = apply(OPERATORS["LOGICAL_RIGHT_SHIFT"], [input1, input2])
    return result


def logical_or(input1: T, input2: Operand) -> T:
    """Whether either tensor is true.

    LOGICAL_OR, TOSA 1.0.1 section 2.5.10:

    * `input1`: in_out_t, any shape
    * `input2`: in_out_t, any shape
    * returns `output`: in_out_t, any shape

    in_out_t: BOOL
    """
    result: T = apply(OPERATORS["LOGICAL_OR"], [input1, input2])
    return result


def logical_xor(input1: T, input2: Operand) -> T:
    """Whether just one of the tensors is true.

    LOGICAL_XOR, TOSA 1.0.1 section 2.5.11:

    * `input1`: in_out_t, any shape
    * `input2`: in_out_t, any shape
    * returns `output`: in_out_t, any shape

    in_out_t: BOOL
    """
    result: T = apply(OPERATORS["LOGICAL_XOR"], [input1, input2])
    return result


def maximum(input1: T, input2: Operand, *, nan_mode: NanMode | str = NanMode.PROPAGATE) -> T:
    """The larger element of two tensors.

    MAXIMUM, TOSA 1.0.1 section 2.5.12:

    * `input1`: in_out_t, any shape
    * `input2`: in_out_t, any shape
    * returns `output`: in_out_t, any shape

    in_out_t: FP16, FP32, INT32, BF16
    """
    result: T = apply(OPERATORS["MAXIMUM"], [input1, input2], {"nan_mode": nan_mode})
    return result


def minimum(input1: T, input2: Operand, *, nan_mode: NanMode | str = NanMode.PROPAGATE) -> T:
    """The smaller element of two tensors.

    MINIMUM, TOSA 1.0.1 section 2.5.13:

    * `input1`: in_out_t, any shape
    * `input2`: in_out_t, any shape
    * returns `output`: in_out_t, any shape

    in_out_t: FP16, FP32, INT32, BF16
    """
    result: T = apply(OPERATORS["MINIMUM"], [input1, input2], {"nan_mode": nan_mode})
    return result


def mul(input1: T, input2: Operand, shift: Vector | None = None) -> T:
    """The product of two tensors; 32-bit integers can be shifted right and rounded.

    MUL, TOSA 1.0.1 section 2.5.14:

    * `input1`: in_t, any shape
    * `input2`: in_t, any shape
    * `shift`: i8_t, [1]
    * returns `output`: out_t, any shape

    in_t, out_t: FP16 FP16; FP32 FP32; INT16 INT32; INT32 INT32; INT8 INT32; BF16 BF16
    """
    result: T = apply(OPERATORS["MUL"], [input1, input2, shift])
    return result


def pow(input1: T, input2: Operand) -> T:
    """The first tensor to the power of the second.

    POW, TOSA 1.0.1 section 2.5.15:

    * `input1`: in_out_t, any shape
    * `input2`: in_out_t, any shape
    * returns `output`: in_out_t, any shape

    in_out_t: FP16, FP32, BF16
    """
    result: T = apply(OPERATORS["POW"], [input1, input2])
    return result


def sub(input1: T, input2: Operand) -> T:
    """The difference of two tensors.

    SUB, TOSA 1.0.1 section 2.5.16:

    * `input1`: in_out_t, any shape
    * `input2`: in_out_t, any shape
    * returns `output`: in_out_t, any shape

    in_out_t: FP16, FP32, INT32, BF16
    """
    result: T = apply(OPERATORS["SUB"], [input1, input2])
    return result


def table(input1: T, table: Vector) -> T:
    """The values that a table has for the elements; 16-bit tables are interpolated.

    TABLE, TOSA 1.0.1 section 2.5.17:

    * `input1`: in_t, any shape
    * `table`: table_t, [T]
    * returns `output`: out_t, any shape

    in_t, table_t, out_t: INT8 INT8 INT8; INT16 INT16 INT32
    """
    result: T = apply(OPERATORS["TABLE"], [input1, table])
    return result


def abs(input1: T) -> T:
    """The absolute value.

    ABS, TOSA 1.0.1 section 2.6.1:

    * `input1`: in_out_t, any shape
    * returns `output`: in_out_t, any shape

    in_out_t: FP16, FP32, INT32, BF16
    """
    result: T = apply(OPERATORS["ABS"], [input1])
    return result


def bitwise_not(input1: T) -> T:
    """All bits inverted.

    BITWISE_NOT, TOSA 1.0.1 section 2.6.2:

    * `input1`: in_out_t, any shape
    * returns `output`: in_out_t, any shape

    in_out_t: INT16, INT32, INT8
    """
    result: T = apply(OPERATORS["BITWISE_NOT"], [input1])
    return result


def ceil(input1: T) -> T:
    """The next integer upwards.

    CEIL, TOSA 1.0.1 section 2.6.3:

    * `input1`: in_out_t, any shape
    * returns `output`: in_out_t, any shape

    in_out_t: FP16, FP32, BF16
    """
    result: T = apply(OPERATORS["CEIL"], [input1])
    return result


def clz(input1: T) -> T:
    """The number of leading zero bits.

    CLZ, TOSA 1.0.1 section 2.6.4:

    * `input1`: in_out_t, any shape
    * returns `output`: in_out_t, any shape

    in_out_t: INT32
    """
    result: T = apply(OPERATORS["CLZ"], [input1])
    return result


def cos(input1: T) -> T:
    """The cosine of an angle in radians.

    COS, TOSA 1.0.1 section 2.6.5:

    * `input1`: in_out_t, any shape
    * returns `output`: in_out_t, any shape

    in_out_t: FP16, FP32, BF16
    """
    result: T = apply(OPERATORS["COS"], [input1])
    return result


def exp(input1: T) -> T:
    """The exponential function.

    EXP, TOSA 1.0.1 section 2.6.6:

    * `input1`: in_out_t, any shape
    * returns `output`: in_out_t, any shape

    in_out_t: FP16, FP32, BF16
    """
    result: T = apply(OPERATORS["EXP"], [input1])
    return result


def floor(input1: T) -> T:
    """The next integer downwards.

    FLOOR, TOSA 1.0.1 section 2.6.7:

    * `input1`: in_out_t, any shape
    * returns `output`: in_out_t, any shape

    in_out_t: FP16, FP32, BF16
    """
    result: T = apply(OPERATORS["FLOOR"], [input1])
    return result


def log(input1: T) -> T:
    """The natural logarithm.

    LOG, TOSA 1.0.1 section 2.6.8:

    * `input1`: in_out_t, any shape
    * returns `output`: in_out_t, any shape

    in_out_t: FP16, FP32, BF16
    """
    result: T = apply(OPERATORS["LOG"], [input1])
    return result


def logical_not(input1: T) -> T:
    """True where the input is false.

    LOGICAL_NOT, TOSA 1.0.1 section 2.6.9:

    * `input1`: in_out_t, any shape
    * returns `output`: in_out_t, any shape

    in_out_t: BOOL
    """
    result: T = apply(OPERATORS["LOGICAL_NOT"], [input1])
    return result


def negate(input1: T, input1_zp: Vector | None = None, output_zp: Vector | None = None) -> T:
    """The input with its sign changed; 8-bit integers have zero points and saturate.

    NEGATE, TOSA 1.0.1 section 2.6.10:

    * `input1`: in_out_t, any shape
    * `input1_zp`: in_out_t, [1]
    * `output_zp`: in_out_t, [1]
    * returns `output`: in_out_t, any shape

    in_out_t, acc_t: FP16 FP16; FP32 FP32; INT16 INT32; INT32 INT32; INT8 INT32; BF16 BF16
    """
    result: T = apply(OPERATORS["NEGATE"], [input1, input1_zp, output_zp])
    return result


def reciprocal(input1: T) -> T:
    """One over the input.

    RECIPROCAL, TOSA 1.0.1 section 2.6.11:

    * `input1`: in_out_t, any shape
    * returns `output`: in_out_t, any shape

    in_out_t: FP16, FP32, BF16
    """
    result: T = apply(OPERATORS["RECIPROCAL"], [input1])
    return result


def rsqrt(input1: T) -> T:
    """One over the square root of the input.

    RSQRT, TOSA 1.0.1 section 2.6.12:

    * `input1`: in_out_t, any shape
    * returns `output`: in_out_t, any shape

    in_out_t: FP16, FP32, BF16
    """
    result: T = apply(OPERATORS["RSQRT"], [input1])
    return result


def sin(input1: T) -> T:
    """The sine of an angle in radians.

    SIN, TOSA 1.0.1 section 2.6.13:

    * `input1`: in_out_t, any shape
    * returns `output`: in_out_t, any shape

    in_out_t: FP16, FP32, BF16
    """
    result: T = apply(OPERATORS["SIN"], [input1])
    return result


def select(input1: T, input2: Operand, input3: Operand) -> T:
    """Elements of the second tensor where the first is true, of the third elsewhere.

    SELECT, TOSA 1.0.1 section 2.7.1:

    * `input1`: bool_t, any shape
    * `input2`: in_out_t, any shape
    * `input3`: in_out_t, any shape
    * returns `output`: in_out_t, any shape

    in_out_t: FP16, FP32, BOOL, INT16, INT32, INT8, BF16
    """
    result: T = apply(OPERATORS["SELECT"], [input1, input2, input3])
    return result


def equal(input1: T, input2: Operand) -> T:
    """Whether two tensors are equal.

    EQUAL, TOSA 1.0.1 section 2.8.1:

    * `input1`: in_t, any shape
    * `input2`: in_t, any shape
    * returns `output`: out_t, any shape

    in_t, out_t: FP16 BOOL; FP32 BOOL; INT32 BOOL; BF16 BOOL
    """
    result: T = apply(OPERATORS["EQUAL"], [input1, input2])
    return result


def greater(input1: T, input2: Operand) -> T:
    """Whether the first tensor is greater than the second.

    GREATER, TOSA 1.0.1 section 2.8.2:

    * `input1`: in_t, any shape
    * `input2`: in_t, any shape
    * returns `output`: out_t, any shape

    in_t, out_t: FP16 BOOL; FP32 BOOL; INT32 BOOL; BF16 BOOL
    """
    result: T = apply(OPERATORS["GREATER"], [input1, input2])
    return result


def greater_equal(input1: T, input2: Operand) -> T:
    """Whether the first tensor is greater than or equal to the second.

    GREATER_EQUAL, TOSA 1.0.1 section 2.8.3:

    * `input1`: in_t, any shape
    * `input2`: in_t, any shape
    * returns `output`: out_t, any shape

    in_t, out_t: FP16 BOOL; FP32 BOOL; INT32 BOOL; BF16 BOOL
    """
    result: T = apply(OPERATORS["GREATER_EQUAL"], [input1, input2])
    return result


def reduce_all(input: T, axis: int) -> T:
    """Whether all elements along an axis are true.

    REDUCE_ALL, TOSA 1.0.1 section 2.9.1:

    * `input`: in_out_t, any shape
    * returns `output`: in_out_t, any shape

    in_out_t: BOOL
    """
    result: T = apply(OPERATORS["REDUCE_ALL"], [input], {"axis": axis})
    return result


def reduce_any(input: T, axis: int) -> T:
    """Whether any element along an axis is true.

    REDUCE_ANY, TOSA 1.0.1 section 2.9.2:

    * `input`: in_out_t, any shape
    * returns `output`: in_out_t, any shape

    in_out_t: BOOL
    """
    result: T = apply(OPERATORS["REDUCE_ANY"], [input], {"axis": axis})
    return result


def reduce_max(input: T, axis: int, *, nan_mode: NanMode | str = NanMode.PROPAGATE) -> T:
    """The largest element along an axis.

    REDUCE_MAX, TOSA 1.0.1 section 2.9.3:

    * `input`: in_out_t, any shape
    * returns `output`: in_out_t, any shape

    in_out_t: FP16, FP32, INT16, INT32, INT8, BF16
    """
    result: T = apply(OPERATORS["REDUCE_MAX"], [input], {"axis": axis, "nan_mode": nan_mode})
    return result


def reduce_min(input: T, axis: int, *, nan_mode: NanMode | str = NanMode.PROPAGATE) -> T:
    """The smallest element along an axis.

    REDUCE_MIN, TOSA 1.0.1 section 2.9.4:

    * `input`: in_out_t, any shape
    * returns `output`: in_out_t, any shape

    in_out_t: FP16, FP32, INT16, INT32, INT8, BF16
    """
    result: T = apply(OPERATORS["REDUCE_MIN"], [input], {"axis": axis, "nan_mode": nan_mode})
    return result


def reduce_product(input: T, axis: int) -> T:
    """The product of the elements along an axis.

    REDUCE_PRODUCT, TOSA 1.0.1 section 2.9.5:

    * `input`: in_out_t, any shape
    * returns `output`: in_out_t, any shape

    in_out_t: FP16, FP32, BF16
    """
    result: T = apply(OPERATORS["REDUCE_PRODUCT"], [input], {"axis": axis})
    return result


def reduce_sum(input: T, axis: int) -> T:
    """The sum of the elements along an axis.

    REDUCE_SUM, TOSA 1.0.1 section 2.9.6:

    * `input`: in_out_t, any shape
    * returns `output`: in_out_t, any shape

    in_out_t, acc_t: FP16 FP16; FP32 FP32; INT32 INT32; BF16 FP32
    """
    result: T = apply(OPERATORS["REDUCE_SUM"], [input], {"axis": axis})
    return result


def concat(input1: Sequence[T], axis: int) -> T:
    """Tensors one after the other along an axis.

    CONCAT, TOSA 1.0.1 section 2.10.1:

    * `input1`: tensors of in_out_t, any shape
    * returns `output`: in_out_t, any shape

    in_out_t: FP16, FP32, BOOL, INT32, INT8, BF16, FP8E4M3, FP8E5M2, INT16
    """
    result: T = apply(OPERATORS["CONCAT"], [input1], {"axis": axis})
    return result


def pad(input1: T, padding: Shape, pad_const: Vector | None = None) -> T:
    """The input with a border of a constant.

    PAD, TOSA 1.0.1 section 2.10.2:

    * `input1`: in_out_t, any shape
    * `padding`: a shape, known when tracing
    * `pad_const`: in_out_t, [1]
    * returns `output`: in_out_t, any shape

    in_out_t: FP16, FP32, BOOL, INT16, INT32, INT8, BF16, FP8E4M3, FP8E5M2
    """
    result: T = apply(OPERATORS["PAD"], [input1, padding, pad_const])
    return result


def reshape(input1: T, shape: Shape) -> T:
    """The same elements in another shape.

    RESHAPE, TOSA 1.0.1 section 2.10.3:

    * `input1`: in_out_t, any shape
    * `shape`: a shape, known when tracing
    * returns `output`: in_out_t, any shape

    in_out_t: FP16, FP32, BOOL, INT16, INT32, INT8, BF16, FP8E4M3, FP8E5M2
    """
    result: T = apply(OPERATORS["RESHAPE"], [input1, shape])
    return result


def reverse(input1: T, axis: int) -> T:
    """The elements in reverse along an axis.

    REVERSE, TOSA 1.0.1 section 2.10.4:

    * `input1`: in_out_t, any shape
    * returns `output`: in_out_t, any shape

    in_out_t: FP16, FP32, BOOL, INT16, INT32, INT8, BF16, FP8E4M3, FP8E5M2
    """
    result: T = apply(OPERATORS["REVERSE"], [input1], {"axis": axis})
    return result


def slice(input1: T, start: Shape, size: Shape) -> T:
    """A part of the input.

    SLICE, TOSA 1.0.1 section 2.10.5:

    * `input1`: in_out_t, any shape
    * `start`: a shape, known when tracing
    * `size`: a shape, known when tracing
    * returns `output`: in_out_t, any shape

    in_out_t: FP16, FP32, BOOL, INT16, INT32, INT8, BF16, FP8E4M3, FP8E5M2
    """
    result: T = apply(OPERATORS["SLICE"], [input1, start, size])
    return result


def tile(input1: T, multiples: Shape) -> T:
    """The input repeated along each dimension.

    TILE, TOSA 1.0.1 section 2.10.6:

    * `input1`: in_out_t, any shape
    * `multiples`: a shape, known when tracing
    * returns `output`: in_out_t, any shape

    in_out_t: FP16, FP32, BOOL, INT16, INT32, INT8, BF16, FP8E4M3, FP8E5M2
    """
    result: T = apply(OPERATORS["TILE"], [input1, multiples])
    return result


def transpose(input1: T, perms: Sequence[int]) -> T:
    """The dimensions of the input in another order.

    TRANSPOSE, TOSA 1.0.1 section 2.10.7:

    * `input1`: in_out_t, any shape
    * returns `output`: in_out_t, any shape

    in_out_t: FP16, FP32, BOOL, INT16, INT32, INT8, BF16, FP8E4M3, FP8E5M2
    """
    result: T = apply(OPERATORS["TRANSPOSE"], [input1], {"perms": perms})
    return result


def gather(values: T, indices: Operand) -> T:
    """The rows that indices choose.

    GATHER, TOSA 1.0.1 section 2.11.1:

    * `values`: in_out_t, [N, K, C]
    * `indices`: index_t, [N, W]
    * returns `output`: in_out_t, [N, W, C]

    index_t, in_out_t: INT32 FP16; INT32 FP32; INT32 INT16; INT32 INT32; INT32 INT8; INT32 BF16; INT32
    FP8E4M3; INT32 FP8E5M2
    """
    result: T = apply(OPERATORS["GATHER"], [values, indices])
    return result


def scatter(values_in: T, indices: Operand, input: Operand) -> T:
    """A tensor with the rows that indices choose replaced.

    SCATTER, TOSA 1.0.1 section 2.11.2:

    * `values_in`: in_out_t, [N, K, C]
    * `indices`: index_t, [N, W]
    * `input`: in_out_t, [N, W, C]
    * returns `values_out`: in_out_t, [N, K, C]

    index_t, in_out_t: INT32 FP16; INT32 FP32; INT32 INT16; INT32 INT32; INT32 INT8; INT32 BF16; INT32
    FP8E4M3; INT32 FP8E5M2
    """
    result: T = apply(OPERATORS["SCATTER"], [values_in, indices, input])
    return result


def resize(input: T, scale: Shape, offset: Shape, border: Shape, mode: ResizeMode | str) -> T:
    """Images scaled by rational factors, to the nearest element or by bilinear interpolation.

    RESIZE, TOSA 1.0.1 section 2.12.1:

    * `input`: in_t, [N, IH, IW, C]
    * `scale`: 4 integers, known when tracing
    * `offset`: 2 integers, known when tracing
    * `border`: 2 integers, known when tracing
    * returns `output`: out_t, [N, OH, OW, C]

    resize_t, in_t, out_t: FP16 FP16 FP16; FP32 FP32 FP32; INT16 INT8 INT32; INT16 INT8 INT8; BF16 BF16
    BF16; INT16 INT16 INT48; INT16 INT16 INT16
    """
    result: T = apply(OPERATORS["RESIZE"], [input, scale, offset, border], {"mode": mode})
    return result


def cast(input: T, dtype: Type) -> T:
    """The elements in another type.

    CAST, TOSA 1.0.1 section 2.13.1:

    * `input`: in_t, any shape
    * returns `output`: out_t, any shape

    in_t, out_t: FP16 FP32; FP16 INT16; FP16 INT32; FP16 INT8; FP32 FP16; FP32 INT16; FP32 INT32; FP32
    INT8; INT16 FP16; INT16 FP32; INT32 FP16; INT32 FP32; INT8 FP16; INT8 FP32; BOOL INT16; BOOL INT32;
    BOOL INT8; INT16 BOOL; INT16 INT32; INT16 INT8; INT32 BOOL; INT32 INT16; INT32 INT8; INT8 BOOL; INT8
    INT16; INT8 INT32; BF16 FP32; BF16 INT16; BF16 INT32; BF16 INT8; FP32 BF16; INT16 BF16; INT32 BF16;
    INT8 BF16; BF16 FP8E4M3; FP8E4M3 BF16; BF16 FP8E5M2; FP8E5M2 BF16; FP16 FP8E4M3; FP32 FP8E4M3; FP8E4M3
    FP16; FP8E4M3 FP32; FP16 FP8E5M2; FP32 FP8E5M2; FP8E5M2 FP16; FP8E5M2 FP32
    """
    result: T = apply(OPERATORS["CAST"], [input], dtype=dtype)
    return result


def rescale(
    input: T,
    multiplier: Vector,
    shift: Vector,
    input_zp: Vector | None = None,
    output_zp: Vector | None = None,
    *,
    scale32: bool | None = None,
    rounding_mode: RoundingMode | str = RoundingMode.SINGLE_ROUND,
    per_channel: bool | None = None,
    input_unsigned: bool = False,
    output_unsigned: bool = False,
    dtype: Type | None = None,
) -> T:
    """Integers times a factor, given as multiplier and shift, between types and zero points.

    RESCALE, TOSA 1.0.1 section 2.13.2:

    * `input`: in_t, any shape
    * `multiplier`: mul_t, [NC]
    * `shift`: i8_t, [NC]
    * `input_zp`: in_t, [1]
    * `output_zp`: out_t, [1]
    * returns `output`: out_t, any shape

    in_t, out_t: INT16 INT16; INT16 INT32; INT16 INT8; INT32 INT16; INT32 INT32; INT32 INT8; INT8 INT16;
    INT8 INT32; INT8 INT8; INT48 INT16; INT48 INT32; INT48 INT8
    """
    result: T = apply(
        OPERATORS["RESCALE"],
        [input, multiplier, shift, input_zp, output_zp],
        {
            "scale32": scale32,
            "rounding_mode": rounding_mode,
            "per_channel": per_channel,
            "input_unsigned": input_unsigned,
            "output_unsigned": output_unsigned,
        },
        dtype=dtype,
    )
    return result


def identity(input1: T) -> T:
    """The input as it is.

    IDENTITY, TOSA 1.0.1 section 2.14.2:

    * `input1`: in_out_t, any shape
    * returns `output`: in_out_t, any shape

    in_out_t: FP16, FP32, INT16, INT32, INT8, BOOL, BF16, FP8E4M3, FP8E5M2, INT48, INT4
    """
    result: T = apply(OPERATORS["IDENTITY"], [input1])
    return result


__all__ = [
    "Operand",
    "Tensor",
    "Variable",
    "argmax",
    "avg_pool2d",
    "conv2d",
    "conv3d",
    "depthwise_conv2d",
    "fft2d",
    "matmul",
    "max_pool2d",
    "rfft2d",
    "transpose_conv2d",
    "clamp",
    "erf",
    "sigmoid",
    "tanh",
    "add",
    "arithmetic_right_shift",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "intdiv",
    "logical_and",
    "logical_left_shift",
    "logical_right_shift",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "mul",
    "pow",
    "sub",
    "table",
    "abs",
    "bitwise_not",
    "ceil",
    "clz",
    "cos",
    "exp",
    "floor",
    "log",
    "logical_not",
    "negate",
    "reciprocal",
    "rsqrt",
    "sin",
    "select",
    "equal",
    "greater",
    "greater_equal",
    "reduce_all",
    "reduce_any",
    "reduce_max",
    "reduce_min",
    "reduce_product",
    "reduce_sum",
    "concat",
    "pad",
    "reshape",
    "reverse",
    "slice",
    "tile",
    "transpose",
    "gather",
    "scatter",
    "resize",
    "cast",
    "rescale",
    "const",
    "identity",
    "custom",
    "cond_if",
    "while_loop",
    "variable",
    "variable_write",
    "variable_read",
    "const_shape",
]
