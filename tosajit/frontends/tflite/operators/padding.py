"""Borders around tensors."""

from __future__ import annotations

import numpy as np

from tosajit.arrays import Array
from tosajit.frontends.common.borders import Border, mirrored, padded
from tosajit.frontends.common.layout import small
from tosajit.frontends.frame import Refused
from tosajit.frontends.tflite.fields import MirrorPadMode
from tosajit.frontends.tflite.node import Node
from tosajit.frontends.tflite.operand import Operand
from tosajit.frontends.tflite.operators import operator
from tosajit.frontends.tflite.options import MirrorPadOptions
from tosajit.tracing.tensor import Tensor

_TYPES = "float32 float16 int8 uint8 int16 int32 int64 bool"


def _folded(node: Node) -> Array | None:
    """Plain numbers with a border of zeros, such as a shape."""
    if node[0].quantized or len(node.operands) > 2:
        return None
    borders = borders_of(node[1], node[0].rank)
    whole = [extent + sum(border) for extent, border in zip(node[0].shape, borders, strict=True)]
    return np.pad(node[0].raw, borders) if small(whole) else None


@operator("PAD", types=_TYPES, versions=6, fold=_folded)
def pad(node: Node) -> Tensor:
    """A border of zeros."""
    zero = node.result.zero_point if node.result.quantized else 0
    return padded(node[0].tensor, borders_of(node[1], node[0].rank), zero)


@operator("PADV2", types=_TYPES, versions=6, fold=_folded)
def pad_v2(node: Node) -> Tensor:
    """A border of one number."""
    if node.optional(2) is None:
        return pad(node)
    return padded(node[0].tensor, borders_of(node[1], node[0].rank), node[2].array.reshape(-1)[0])


@operator("MIRROR_PAD", MirrorPadOptions, types=_TYPES, versions=3)
def mirror_pad(node: Node, options: MirrorPadOptions) -> Tensor:
    """A border that mirrors the elements inside of it, with or without those at the edge."""
    value, edge = node[0].tensor, options.mode is MirrorPadMode.SYMMETRIC
    for axis, border in enumerate(borders_of(node[1], value.ndim)):
        most = value.shape[axis] - (0 if edge else 1)
        if max(border) > most:
            raise Refused(
                f"its border of dimension {axis} is {max(border)} wide, but only {most} can be mirrored"
            )
        value = mirrored(value, axis, border, edge=edge)
    return value


def borders_of(operand: Operand, count: int) -> list[Border]:
    """The borders that a matrix of two columns says."""
    numbers = operand.ints
    if len(numbers) != 2 * count or any(number < 0 for number in numbers):
        raise Refused(
            f"its borders {list(numbers)} are not two numbers from 0 for each of {count} dimensions"
        )
    return list(zip(numbers[::2], numbers[1::2], strict=True))
