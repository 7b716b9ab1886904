"""Legal uses of operators, which tests change in one place."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tosajit.dtypes import (
    BOOL,
    FP32,
    INT8,
    INT16,
    INT32,
    SHAPE,
    DType,
)  # fmt: skip
from tosajit.graph import Block, Graph, Node, Region, Value
from tosajit.graph.operator import OPERATORS

Pair = tuple[DType, tuple[int, ...]]


@dataclass(frozen=True)
class Sample:
    """A legal use: attributes, inputs (a type and a shape, or a constant), outputs."""

    operator: str
    inputs: dict[str, Pair | Constant]
    outputs: dict[str, Pair]
    attributes: dict[str, Any] = field(default_factory=dict)

    def graph(self, **changes: Any) -> Graph:
        """The graph of this use, with attributes, inputs or outputs replaced."""
        attributes = {**self.attributes, **{k: v for k, v in changes.items() if k in self.attributes}}
        values: dict[str, Value] = {}
        nodes: list[Node] = []
        takes: list[str] = []
        for name, given in {**self.inputs, **{k: v for k, v in changes.items() if k in self.inputs}}.items():
            if isinstance(given, Constant):
                values[name] = Value(name, given.dtype, given.data.shape, given.data)
                kind = "CONST_SHAPE" if given.dtype is SHAPE else "CONST"
                nodes.append(Node(OPERATORS[kind](), (), (name,)))
            else:
                values[name] = Value(name, *given)
                takes.append(name)
        outputs = {**self.outputs, **{k: v for k, v in changes.items() if k in self.outputs}}
        values |= {name: Value(name, *given) for name, given in outputs.items()}
        nodes.append(Node(OPERATORS[self.operator](**attributes), tuple(self.inputs), tuple(outputs)))
        return Graph((Region("main", (Block("main", tuple(nodes), values, tuple(takes), tuple(outputs)),)),))


class Constant:
    """The data of an input."""

    def __init__(self, dtype: DType, *elements: float, shape: tuple[int, ...] | None = None) -> None:
        self.dtype = dtype
        self.data = np.array(elements, dtype.storage).reshape((len(elements),) if shape is None else shape)


def zero(dtype: DType) -> Constant:
    return Constant(dtype, 0)


def shape(*extents: int) -> Constant:
    return Constant(SHAPE, *extents)


CONV: dict[str, Any] = dict(pad=(0, 0, 0, 0), stride=(1, 1), dilation=(1, 1), acc_type="INT32")
POOL: dict[str, Any] = dict(kernel=(2, 3), stride=(1, 1), pad=(0, 0, 0, 0))
IMAGE, WEIGHT = (INT8, (1, 6, 6, 3)), (INT8, (4, 3, 3, 3))

SAMPLES = {
    "ARGMAX": Sample("ARGMAX", dict(input=(INT8, (2, 3))), dict(output=(INT32, (2,))), dict(axis=1)),
    "AVG_POOL2D": Sample(
        "AVG_POOL2D",
        dict(input=IMAGE, input_zp=zero(INT8), output_zp=zero(INT8)),
        dict(output=(INT8, (1, 5, 4, 3))),
        dict(POOL, acc_type="INT32"),
    ),
    "MAX_POOL2D": Sample("MAX_POOL2D", dict(input=IMAGE), dict(output=(INT8, (1, 5, 4, 3))), POOL),
    "CONV2D": Sample(
        "CONV2D",
        dict(input=IMAGE, weight=WEIGHT, bias=(INT32, (4,)), input_zp=zero(INT8), weight_zp=zero(INT8)),
        dict(output=(INT32, (1, 4, 4, 4))),
        CONV,
    ),
    "CONV3D": Sample(
        "CONV3D",
        dict(
            input=(INT8, (1, 5, 6, 6, 3)), weight=(INT8, (4, 2, 3, 3, 3)), bias=(INT32, (4,)),
            input_zp=zero(INT8), weight_zp=zero(INT8),
        ),
        dict(output=(INT32, (1, 4, 4, 4, 4))),
        dict(CONV, pad=(0,) * 6, stride=(1, 1, 1), dilation=(1, 1, 1)),
    ),
    "DEPTHWISE_CONV2D": Sample(
        "DEPTHWISE_CONV2D",
        dict(
            input=IMAGE, weight=(INT8, (3, 3, 3, 2)), bias=(INT32, (6,)),
            input_zp=zero(INT8), weight_zp=zero(INT8),
        ),
        dict(output=(INT32, (1, 4, 4, 6))),
        CONV,
    ),
    "TRANSPOSE_CONV2D": Sample(
        "TRANSPOSE_CONV2D",
        dict(input=IMAGE, weight=WEIGHT, bias=(INT32, (4,)), input_zp=zero(INT8), weight_zp=zero(INT8)),
        dict(output=(INT32, (1, 13, 8, 4))),
        dict(out_pad=(0, 0, 0, 0), stride=(2, 1), acc_type="INT32"),
    ),
    "FFT2D": Sample(
        "FFT2D",
        dict(input_real=(FP32, (1, 4, 8)), input_imag=(FP32, (1, 4, 8))),
        dict(output_real=(FP32, (1, 4, 8)), output_imag=(FP32, (1, 4, 8))),
        dict(inverse=False),
    ),
    "RFFT2D": Sample(
        "RFFT2D",
        dict(input_real=(FP32, (1, 4, 8))),
        dict(output_real=(FP32, (1, 4, 5)), output_imag=(FP32, (1, 4, 5))),
    ),
    "MATMUL": Sample(
        "MATMUL",
        dict(A=(INT8, (2, 3, 4)), B=(INT8, (2, 4, 5)), A_zp=zero(INT8), B_zp=zero(INT8)),
        dict(output=(INT32, (2, 3, 5))),
    ),
    "CLAMP": Sample("CLAMP", dict(input=(INT8, ())), dict(output=(INT8, ())), dict(min_val=-1, max_val=1)),
    "ADD": Sample("ADD", dict(input1=(INT32, (2, 1)), input2=(INT32, (1, 3))), dict(output=(INT32, (2, 3)))),
    "SELECT": Sample(
        "SELECT",
        dict(input1=(BOOL, (2, 1)), input2=(INT8, (1, 3)), input3=(INT8, (1, 1))),
        dict(output=(INT8, (2, 3))),
    ),
    "MUL": Sample(
        "MUL",
        dict(input1=(INT32, (2,)), input2=(INT32, (2,)), shift=Constant(INT8, 7)),
        dict(output=(INT32, (2,))),
    ),
    "TABLE": Sample(
        "TABLE", dict(input1=(INT8, (2,)), table=Constant(INT8, *[0] * 256)), dict(output=(INT8, (2,)))
    ),
    "NEGATE": Sample(
        "NEGATE",
        dict(input1=(INT8, (2,)), input1_zp=Constant(INT8, 3), output_zp=Constant(INT8, 4)),
        dict(output=(INT8, (2,))),
    ),
    "REDUCE_SUM": Sample(
        "REDUCE_SUM", dict(input=(INT32, (2, 3))), dict(output=(INT32, (2, 1))), dict(axis=1)
    ),
    "CONCAT": Sample(
        "CONCAT", dict(a=(INT8, (2, 3)), b=(INT8, (2, 1))), dict(output=(INT8, (2, 4))), dict(axis=1)
    ),
    "PAD": Sample(
        "PAD",
        dict(input1=(INT8, (2, 3)), padding=shape(1, 0, 0, 2), pad_const=zero(INT8)),
        dict(output=(INT8, (3, 5))),
    ),
    "RESHAPE": Sample("RESHAPE", dict(input1=(INT8, (2, 3)), shape=shape(6)), dict(output=(INT8, (6,)))),
    "REVERSE": Sample("REVERSE", dict(input1=(INT8, (2, 3))), dict(output=(INT8, (2, 3))), dict(axis=0)),
    "SLICE": Sample(
        "SLICE",
        dict(input1=(INT8, (4, 3)), start=shape(1, 0), size=shape(2, 3)),
        dict(output=(INT8, (2, 3))),
    ),
    "TILE": Sample("TILE", dict(input1=(INT8, (2, 3)), multiples=shape(2, 1)), dict(output=(INT8, (4, 3)))),
    "TRANSPOSE": Sample(
        "TRANSPOSE", dict(input1=(INT8, (2, 3, 4))), dict(output=(INT8, (4, 2, 3))), dict(perms=(2, 0, 1))
    ),
    "GATHER": Sample(
        "GATHER", dict(values=(INT8, (2, 5, 3)), indices=(INT32, (2, 4))), dict(output=(INT8, (2, 4, 3)))
    ),
    "SCATTER": Sample(
        "SCATTER",
        dict(values_in=(INT8, (2, 5, 3)), indices=(INT32, (2, 4)), input=(INT8, (2, 4, 3))),
        dict(values_out=(INT8, (2, 5, 3))),
    ),
    "RESIZE": Sample(
        "RESIZE",
        dict(input=(INT8, (1, 5, 6, 3)), scale=shape(4, 2, 4, 2), offset=shape(0, 0), border=shape(0, 2)),
        dict(output=(INT32, (1, 9, 12, 3))),
        dict(mode="BILINEAR"),
    ),
    "CAST": Sample("CAST", dict(input=(INT8, (2,))), dict(output=(INT16, (2,)))),
    "RESCALE": Sample(
        "RESCALE",
        dict(
            input=(INT32, (2, 3)), multiplier=Constant(INT32, 1 << 30), shift=Constant(INT8, 30),
            input_zp=zero(INT32), output_zp=Constant(INT8, 5),
        ),
        dict(output=(INT8, (2, 3))),
        dict(scale32=True, rounding_mode=1, per_channel=False, input_unsigned=False, output_unsigned=False),
    ),
}  # fmt: skip
