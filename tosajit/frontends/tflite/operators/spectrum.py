"""Spectra, whose complex numbers have their real and imaginary parts along one more, first dimension."""

from __future__ import annotations

from math import prod

from tosajit import ops
from tosajit.frontends.common.borders import padded
from tosajit.frontends.common.layout import part, reshaped, sliced
from tosajit.frontends.frame import Refused
from tosajit.frontends.tflite.node import Node
from tosajit.frontends.tflite.operand import Operand
from tosajit.frontends.tflite.operators import operator
from tosajit.tracing.tensor import Tensor


@operator("RFFT2D", types="float32")
def rfft2d(node: Node) -> Tensor:
    """The spectrum of images of real numbers, cut or filled with zeros to extents that are powers of two."""
    value, extents = node[0], node[1].ints
    if value.rank < 2 or len(extents) != 2 or any(one < 1 or one & (one - 1) for one in extents):
        raise Refused(f"its extents {list(extents)} are not two powers of two")
    leading, inside = value.shape[:-2], [min(pair) for pair in zip(value.shape[-2:], extents, strict=True)]
    images = reshaped(value.tensor, (prod(leading), *value.shape[-2:]))
    kept = sliced(images, (0, 0, 0), (images.shape[0], *inside))
    missing = [(0, extent - one) for extent, one in zip(extents, inside, strict=True)]
    halves = ops.rfft2d(padded(kept, [(0, 0), *missing]))
    shape = (1, *leading, extents[0], extents[1] // 2 + 1)
    return ops.concat([reshaped(half, shape) for half in halves], axis=0)


@operator("REAL", types="complex64", fold=lambda node: node[0].raw.real)
def real(node: Node) -> Tensor:
    """The real parts of complex numbers."""
    return half(node[0], 0)


@operator("IMAG", types="complex64", fold=lambda node: node[0].raw.imag)
def imag(node: Node) -> Tensor:
    """The imaginary parts of complex numbers."""
    return half(node[0], 1)


@operator("COMPLEX_ABS", types="complex64", fold=lambda node: abs(node[0].raw))
def complex_abs(node: Node) -> Tensor:
    """How far complex numbers are from zero."""
    squares = (ops.mul(one, one) for one in (half(node[0], number) for number in (0, 1)))
    return ops.reciprocal(ops.rsqrt(ops.add(*squares)))


def half(value: Operand, number: int) -> Tensor:
    """The real or the imaginary parts of complex numbers."""
    return reshaped(part(value.tensor, 0, number, 1), value.shape)
