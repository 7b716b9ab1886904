"""Changes that make a legal use illegal, with the operand and the message; and changes that do not."""

from math import nan
from typing import Any

import numpy as np

from tests.validate_samples import IMAGE, WEIGHT, Constant, shape, zero
from tosajit.dtypes import BF16, FP8E4M3, FP16, FP32, INT4, INT8, INT16, INT32, INT48, SHAPE

I16: dict[str, Any] = dict(
    input=(INT16, (2, 3)), output=(INT16, (2, 3)), input_zp=zero(INT16), output_zp=zero(INT16)
)
I16_CONV: dict[str, Any] = dict(input=(INT16, IMAGE[1]), acc_type="INT48", input_zp=Constant(INT16, 1))
WIDE: dict[str, Any] = dict(
    input=(INT48, (2, 3)), input_zp=zero(INT48), multiplier=Constant(INT16, 1), scale32=False
)

CASES: list[tuple[str, dict[str, Any], str, str]] = [
    ("ARGMAX", dict(axis=2), "axis", "it is 2, but the shape of input is [2, 3]"),
    ("ARGMAX", dict(axis=-1), "axis", "it is -1, but the shape of input is [2, 3]"),
    ("ARGMAX", dict(output=(INT32, (3,))), "output", "its shape is [3], but the input without axis gives"),
    ("ARGMAX", dict(input=(INT8, ()), output=(INT32, ())), "input", "its rank is 0, but must be at least 1"),
    ("ARGMAX", dict(output=(INT8, (2,))), "", "no mode has in_t INT8, out_t INT8; the nearest are"),
    *[
        (pool, change, operand, text)
        for pool in ("AVG_POOL2D", "MAX_POOL2D")
        for change, operand, text in (
            (dict(kernel=(0, 3)), "kernel", "it is [0, 3], but must be at least 1"),
            (dict(stride=(1, 0)), "stride", "it is [1, 0], but must be at least 1"),
            (dict(pad=(0, -1, 0, 0)), "pad", "it is [0, -1, 0, 0], but must not be negative"),
            (dict(pad=(2, 0, 0, 0)), "pad", "it is [2, 0, 0, 0], but must be less than the kernel, which is"),
            (dict(pad=(0, 0, 0, 3)), "pad", "must be less than the kernel"),
            (dict(stride=(3, 1)), "output", "OH is not defined: the stride is 3, which does not divide 4"),
            (dict(output=(INT8, (1, 5, 5, 3))), "output", "OW is 5, but pad, stride and kernel give 4"),
            (dict(output=(INT8, (2, 5, 4, 3))), "output", "N is 2, but 1 in input"),
            (dict(input=(INT8, (6, 6, 3))), "input", "its rank is 3, but must be 4"),
            (
                dict(kernel=(8193, 3), input=(INT8, (1, 8197, 6, 3))), "", "kernel is 8193, but MAX_KERNEL",
            ),
            (
                dict(stride=(8193, 1), output=(INT8, (1, 2, 4, 3)), input=(INT8, (1, 8195, 6, 3))), "",
                "stride is 8193, but MAX_STRIDE is 8192",
            ),
        )
    ],
    ("AVG_POOL2D", dict(acc_type="FP32"), "", "no mode has in_out_t INT8 with kernel [2, 3]"),
    *[
        (
            "AVG_POOL2D",
            {"input": (INT16, IMAGE[1]), "output": (INT16, (1, 5, 4, 3)), "input_zp": zero(INT16),
             "output_zp": zero(INT16), name: Constant(INT16, 2)},
            name,
            "it is 2, but must be 0 for INT16",
        )
        for name in ("input_zp", "output_zp")
    ],
    *[
        (conv, change, operand, text)
        for conv in ("CONV2D", "DEPTHWISE_CONV2D")
        for change, operand, text in (
            (dict(pad=(0, 0, -1, 0)), "pad", "it is [0, 0, -1, 0], but must not be negative"),
            (dict(stride=(0, 1)), "stride", "it is [0, 1], but must be at least 1"),
            (dict(dilation=(1, 0)), "dilation", "it is [1, 0], but must be at least 1"),
            (dict(bias=(INT32, (2,))), "bias", "its length is 2, but must be 1 or OC, which is"),
            (dict(bias=(INT16, (1,))), "output", "is INT32, but bias is INT16"),
            (dict(input_zp=Constant(INT8, 0, 0)), "input_zp", "its length is 2, but must be 1"),
            (dict(stride=(2, 1)), "output", "OH is not defined: the stride is 2, which does not divide 3"),
            (dict(dilation=(1, 5000)), "", "dilation_x * KW is 15000, but MAX_KERNEL is 8192"),
            (dict(pad=(8193, 0, 0, 0)), "", "pad is 8193, but MAX_KERNEL is 8192"),
            (dict(stride=(1, 8193)), "", "stride is 8193, but MAX_STRIDE is 8192"),
            (dict(acc_type="INT48"), "", "no mode has in_t INT8, weight_t INT8, out_t INT32 with pad"),
        )
    ],
    ("CONV2D", dict(output=(INT32, (1, 4, 5, 4))), "output", "OW is 5, but pad, stride and dilation give 4"),
    ("CONV2D", dict(output=(INT32, (1, 4, 4, 5))), "output", "OC is 5, but 4 in weight"),
    ("CONV2D", dict(input=(INT8, (1, 6, 6, 2))), "weight", "IC is 3, but 2 in input"),
    ("CONV2D", dict(I16_CONV, bias=(INT48, (4,)), output=(INT48, (1, 4, 4, 4))), "input_zp", "must be 0"),
    (
        "CONV2D", dict(weight=(INT4, WEIGHT[1]), weight_zp=Constant(INT4, 1)), "weight_zp",
        "it is 1, but must be 0 for INT4",
    ),
    ("DEPTHWISE_CONV2D", dict(output=(INT32, (1, 4, 4, 5)), bias=(INT32, (1,))), "output", "OC is 5, but"),
    (
        "DEPTHWISE_CONV2D", dict(I16_CONV, bias=(INT48, (6,)), output=(INT48, (1, 4, 4, 6))), "input_zp",
        "but must be 0 for INT16",
    ),
    (
        "DEPTHWISE_CONV2D", dict(weight=(INT4, (3, 3, 3, 2)), weight_zp=Constant(INT4, 1)), "weight_zp",
        "it is 1, but must be 0 for INT4",
    ),
    ("CONV3D", dict(pad=(-1, 0, 0, 0, 0, 0)), "pad", "but must not be negative"),
    ("CONV3D", dict(stride=(0, 1, 1)), "stride", "but must be at least 1"),
    ("CONV3D", dict(dilation=(0, 1, 1)), "dilation", "but must be at least 1"),
    ("CONV3D", dict(bias=(INT32, (3,))), "bias", "its length is 3, but must be 1 or OC, which is 4"),
    ("CONV3D", dict(output=(INT32, (1, 3, 4, 4, 4))), "output", "OD is 3, but pad, stride and dilation give"),
    ("CONV3D", dict(dilation=(5000, 1, 1)), "", "dilation_d * KD is 10000, but MAX_KERNEL is 8192"),
    ("CONV3D", dict(dilation=(1, 5000, 1)), "", "dilation_y * KH is 15000, but MAX_KERNEL is 8192"),
    ("CONV3D", dict(stride=(8193, 1, 1)), "", "stride is 8193, but MAX_STRIDE is 8192"),
    (
        "CONV3D",
        dict(
            input=(INT16, (1, 5, 6, 6, 3)), input_zp=Constant(INT16, 1), bias=(INT48, (4,)), acc_type="INT48",
            output=(INT48, (1, 4, 4, 4, 4)),
        ),
        "input_zp", "it is 1, but must be 0 for INT16",
    ),
    (
        "CONV3D", dict(weight=(INT4, (4, 2, 3, 3, 3)), weight_zp=Constant(INT4, -1)), "weight_zp",
        "it is -1, but must be 0 for INT4",
    ),
    ("TRANSPOSE_CONV2D", dict(out_pad=(-3, 0, 0, 0)), "out_pad", "more than the negated kernel, which is"),
    ("TRANSPOSE_CONV2D", dict(stride=(2, 0)), "stride", "it is [2, 0], but must be at least 1"),
    ("TRANSPOSE_CONV2D", dict(bias=(INT32, (3,))), "bias", "its length is 3, but must be 1 or OC"),
    ("TRANSPOSE_CONV2D", dict(out_pad=(1, 0, 0, 0)), "output", "OH is 13, but stride, out_pad and kernel"),
    ("TRANSPOSE_CONV2D", dict(out_pad=(8193, 0, 0, 0)), "", "out_pad is 8193, but MAX_KERNEL is 8192"),
    (
        "TRANSPOSE_CONV2D", dict(I16_CONV, bias=(INT48, (4,)), output=(INT48, (1, 13, 8, 4))), "input_zp",
        "but must be 0 for INT16",
    ),
    (
        "TRANSPOSE_CONV2D", dict(weight=(INT4, WEIGHT[1]), weight_zp=Constant(INT4, 1)), "weight_zp",
        "but must be 0 for INT4",
    ),
    *[
        (name, {operand: (FP32, given) for operand, given in given.items()}, "input_real", text)
        for name, given, text in (
            ("FFT2D", dict.fromkeys(("input_real", "input_imag", "output_real", "output_imag"), (1, 6, 8)),
             "H and W are 6 and 8, but must be powers of two"),
            ("RFFT2D", dict(input_real=(1, 4, 12), output_real=(1, 4, 7), output_imag=(1, 4, 7)),
             "H and W are 4 and 12, but must be powers of two"),
        )
    ],
    (
        "FFT2D",
        {name: (FP32, (1, 16384, 1)) for name in ("input_real", "input_imag", "output_real", "output_imag")},
        "", "H is 16384, but MAX_KERNEL is 8192",
    ),
    ("RFFT2D", dict(input_real=(FP32, (1, 1, 16384))), "", "W is 16384, but MAX_KERNEL is 8192"),
    ("RFFT2D", dict(output_imag=(FP32, (1, 4, 8))), "output_imag", "OW is 8, but 5 in output_real"),
    ("MATMUL", dict(B=(INT8, (2, 3, 5))), "B", "C is 3, but 4 in A"),
    *[
        (
            "MATMUL",
            {"A": (INT16, (2, 3, 4)), "B": (INT16, (2, 4, 5)), "output": (INT48, (2, 3, 5)),
             "A_zp": zero(INT16), "B_zp": zero(INT16), name: Constant(INT16, -7)},
            name, "it is -7, but must be 0 for INT16",
        )
        for name in ("A_zp", "B_zp")
    ],
    ("CLAMP", dict(max_val=-2), "max_val", "it is -2, but min_val is -1"),
    ("CLAMP", dict(max_val=200), "min_val", "the bounds are -1 and 200, which INT8 does not hold"),
    ("CLAMP", dict(min_val=0.5), "min_val", "which INT8 does not hold"),
    ("CLAMP", dict(min_val=nan, input=(FP16, ()), output=(FP16, ())), "min_val", "but must be numbers"),
    ("ADD", dict(input2=(INT32, (3, 3))), "input2", "dimension 0 is 3, but 2 in input1"),
    ("ADD", dict(input2=(INT32, (3,))), "input2", "its rank is 1, but that of input1 is 2"),
    ("ADD", dict(output=(INT32, (2, 1))), "output", "its shape is [2, 1], but broadcasting gives [2, 3]"),
    ("ADD", dict(input2=(FP32, (1, 3))), "input2", "is FP32, but input1 is INT32"),
    ("SELECT", dict(input1=(INT8, (2, 1))), "input1", "is INT8, but must be BOOL"),
    ("SELECT", dict(input3=(INT8, (4, 1))), "input3", "dimension 0 is 4, but 2 in input1"),
    ("MUL", dict(shift=Constant(INT8, 64)), "shift", "it is 64, but must be 0, or up to 63 for INT32"),
    ("MUL", dict(input1=(INT8, (2,)), input2=(INT8, (2,))), "shift", "it is 7, but must be 0"),
    ("TABLE", dict(table=Constant(INT8, *[0] * 255)), "table", "its length is 255, but must be 256"),
    *[
        (
            "NEGATE",
            {"input1": (INT16, (2,)), "output": (INT16, (2,)), "input1_zp": zero(INT16),
             "output_zp": zero(INT16), name: Constant(INT16, 3)},
            name, "it is 3, but must be 0 for INT16",
        )
        for name in ("input1_zp", "output_zp")
    ],
    ("REDUCE_SUM", dict(axis=2), "axis", "it is 2, but the shape of input is [2, 3]"),
    ("REDUCE_SUM", dict(output=(INT32, (2, 3))), "output", "its shape is [2, 3], but reducing the axis"),
    ("CONCAT", dict(axis=2), "axis", "it is 2, but the first shape is [2, 3]"),
    ("CONCAT", dict(b=(INT8, (3, 1))), "input1", "shape 1 is [3, 1], but shape 0 is [2, 3]"),
    ("CONCAT", dict(b=(INT8, (2,))), "input1", "shape 1 is [2], but shape 0 is [2, 3]"),
    ("CONCAT", dict(output=(INT8, (2, 5))), "output", "its shape is [2, 5], but the inputs give [2, 4]"),
    ("PAD", dict(padding=shape(1, 0)), "padding", "its length is 2, but must be twice the rank of the shape"),
    ("PAD", dict(padding=shape(1, -1, 0, 2)), "padding", "it is [1, -1, 0, 2], but must not be negative"),
    ("PAD", dict(output=(INT8, (3, 4))), "output", "its shape is [3, 4], but input and padding give [3, 5]"),
    ("RESHAPE", dict(shape=shape(7), output=(INT8, (7,))), "output", "it has 7 elements, but input1 has 6"),
    ("RESHAPE", dict(output=(INT8, (1, 6))), "output", "its shape is [1, 6], but the operand shape gives"),
    ("REVERSE", dict(axis=-1), "axis", "it is -1, but the shape of input1 is [2, 3]"),
    ("SLICE", dict(start=shape(1)), "start", "start and size have 1 and 2 components"),
    ("SLICE", dict(start=shape(-1, 0)), "start", "it is [-1, 0], but must not be negative"),
    ("SLICE", dict(size=shape(0, 3)), "size", "it is [0, 3], but must be positive"),
    ("SLICE", dict(size=shape(4, 3)), "size", "start [1, 0] and size [4, 3] reach beyond input1"),
    ("SLICE", dict(output=(INT8, (2, 2))), "output", "its shape is [2, 2], but size gives [2, 3]"),
    ("TILE", dict(multiples=shape(2)), "multiples", "it has 1 components, but the shape of input1 is [2, 3]"),
    ("TILE", dict(output=(INT8, (2, 3))), "output", "its shape is [2, 3], but input and multiples give [4"),
    ("TRANSPOSE", dict(perms=(2, 0, 0)), "perms", "it is [2, 0, 0], which is not a permutation of 3 axes"),
    ("TRANSPOSE", dict(perms=(1, 0)), "perms", "it is [1, 0], which is not a permutation of 3 axes"),
    ("TRANSPOSE", dict(perms=(2, 0, -2)), "perms", "which is not a permutation"),
    ("TRANSPOSE", dict(output=(INT8, (2, 3, 4))), "output", "but input and perms give [4, 2, 3]"),
    ("GATHER", dict(indices=(INT32, (1, 4))), "indices", "N is 1, but 2 in values"),
    ("GATHER", dict(indices=(INT8, (2, 4))), "", "no mode has index_t INT8, in_out_t INT8; the nearest are"),
    (
        "SCATTER", dict(indices=(INT32, (2, 6)), input=(INT8, (2, 6, 3))), "indices",
        "there are 6 in a batch, but only 5 rows",
    ),
    ("RESIZE", dict(scale=shape(4, 0, 4, 2)), "scale", "it is [4, 0, 4, 2], but must be positive"),
    ("RESIZE", dict(scale=shape(2049, 2, 4, 2)), "scale", "its numerators are 2049 and 4, but must not"),
    ("RESIZE", dict(scale=shape(4, 64, 4, 2)), "scale", "but the factors must be greater than 1/16"),
    ("RESIZE", dict(offset=shape(-5, 0)), "offset", "it is [-5, 0], but must be from -1 to less than 16"),
    ("RESIZE", dict(offset=shape(0, 64)), "offset", "it is [0, 64]"),
    ("RESIZE", dict(border=shape(4, 2)), "border", "it is [4, 2], but must be from -16 to less than 1 times"),
    ("RESIZE", dict(border=shape(0, -65)), "border", "it is [0, -65]"),
    ("RESIZE", dict(border=shape(1, 2)), "output", "OH is not defined: the stride is 2, which does not"),
    ("RESIZE", dict(output=(INT32, (1, 9, 11, 3))), "output", "OW is 11, but scale, offset and border give"),
    ("RESIZE", dict(input=(INT8, (1, 16384, 6, 3))), "output", "but must be less than 16384"),
    ("RESIZE", dict(scale=shape(1028, 4, 4, 2)), "scale", "scale_y is 1028/4, but MAX_SCALE is 256"),
    ("RESIZE", dict(mode="NEAREST"), "", "no mode has in_t INT8, out_t INT32 with mode NEAREST; there are"),
    ("CAST", dict(output=(INT8, (2,))), "", "no mode has in_t INT8, out_t INT8; the nearest are"),
    ("RESCALE", dict(multiplier=Constant(INT16, 1)), "multiplier", "is INT16, but scale32 is true"),
    ("RESCALE", dict(input_zp=Constant(INT32, 4)), "input_zp", "it is 4, but must be 0 for INT32"),
    ("RESCALE", dict(I16, output_zp=Constant(INT16, 4)), "output_zp", "it is 4, but must be 0 for INT16"),
    (
        "RESCALE", dict(I16, input_zp=Constant(INT16, -4), input_unsigned=True), "input_zp",
        "it is 65532, but must be 0 or 32768 for unsigned INT16",
    ),
    ("RESCALE", dict(WIDE, scale32=True, multiplier=Constant(INT32, 1)), "scale32", "but must be false for"),
    (
        "RESCALE", dict(scale32=False, multiplier=Constant(INT16, 1), rounding_mode="DOUBLE_ROUND"),
        "rounding_mode", "it is DOUBLE_ROUND, but scale32 is false",
    ),
    ("RESCALE", dict(I16, input_unsigned=True, output_unsigned=True), "input_unsigned", "are both true"),
    ("RESCALE", dict(input_unsigned=True), "input_unsigned", "INT32 to INT8 has no unsigned input"),
    ("RESCALE", dict(WIDE, input_unsigned=True), "input_unsigned", "INT48 to INT8 has no unsigned input"),
    ("RESCALE", dict(output_unsigned=True), "output_unsigned", "INT32 to INT8 has no unsigned output"),
    ("RESCALE", dict(WIDE, output_unsigned=True), "output_unsigned", "INT48 to INT8 has no unsigned output"),
    (
        "RESCALE", dict(input=(INT32, ()), output=(INT8, ()), per_channel=True), "per_channel",
        "it is true, but the rank of input is 0",
    ),
    ("RESCALE", dict(per_channel=True), "multiplier", "its length is 1, but must be 3"),
    (
        "RESCALE", dict(multiplier=Constant(INT32, 1, 1), shift=Constant(INT8, 9, 9)), "multiplier",
        "its length is 2, but must be 1",
    ),
    ("RESCALE", dict(shift=Constant(INT8, 9, 9)), "shift", "NC is 2, but 1 in multiplier"),
    ("RESCALE", dict(multiplier=Constant(INT32, -2)), "multiplier", "it is -2, but must not be negative"),
    ("RESCALE", dict(shift=Constant(INT8, 1)), "shift", "it is 1, but must be from 2 to 62"),
    ("RESCALE", dict(shift=Constant(INT8, 63)), "shift", "it is 63, but must be from 2 to 62"),
    ("RESCALE", dict(rounding_mode="UNKNOWN"), "rounding_mode", "it is UNKNOWN, but must be one of SINGLE"),
]  # fmt: skip


LEGAL: list[tuple[str, dict[str, Any]]] = [
    ("RESCALE", dict(I16, input_zp=Constant(INT16, -32768), input_unsigned=True)),
    ("RESCALE", dict(I16, output_zp=Constant(INT16, -32768), output_unsigned=True)),
    ("RESCALE", WIDE),
    ("RESCALE", dict(per_channel=True, multiplier=Constant(INT32, 1, 2, 3), shift=Constant(INT8, 2, 9, 62))),
    ("RESCALE", dict(input=(INT32, ()), output=(INT8, ()))),
    ("CLAMP", dict(min_val=-np.inf, max_val=1e30, input=(FP32, ()), output=(FP32, ()))),
    ("ADD", dict(input1=(INT32, ()), input2=(INT32, ()), output=(INT32, ()))),
    ("ADD", dict(input1=(BF16, (2, 1)), input2=(BF16, (1, 3)), output=(BF16, (2, 3)))),
    ("CONV2D", dict(bias=(INT32, (1,)))),
    ("CONV2D", dict(weight=(INT4, WEIGHT[1]), weight_zp=zero(INT4))),
    ("CONV2D", dict(I16_CONV, input_zp=zero(INT16), bias=(INT48, (4,)), output=(INT48, (1, 4, 4, 4)))),
    ("CONV2D", dict(input_zp=Constant(INT8, -128), weight_zp=Constant(INT8, 127))),
    ("RESHAPE", dict(input1=(FP8E4M3, (1, 1)), shape=Constant(SHAPE), output=(FP8E4M3, ()))),
    ("RESIZE", dict(mode="NEAREST", output=(INT8, (1, 9, 12, 3)))),
    ("TABLE", dict(table=(INT8, (256,)))),
    ("MUL", dict(shift=(INT8, (1,)))),
    ("CONCAT", dict(axis=0, b=(INT8, (4, 3)), output=(INT8, (6, 3)))),
    ("TRANSPOSE", dict(perms=(0, 1, 2), output=(INT8, (2, 3, 4)))),
]
