"""Complex numbers and spectra, whose extents are powers of two."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from tosajit import ops
from tosajit.frontends.common.angles import angle as angle_of
from tosajit.frontends.common.borders import padded
from tosajit.frontends.common.broadcast import aligned, expanded
from tosajit.frontends.common.functions import square_root
from tosajit.frontends.common.layout import part, reshaped, sliced, transposed
from tosajit.frontends.common.numbers import number
from tosajit.frontends.frame import Refused
from tosajit.frontends.tensorflow.node import Complex, Node
from tosajit.frontends.tensorflow.operators import operator
from tosajit.tracing.tensor import Tensor


@operator("Complex", types="float32")
def complex_(node: Node) -> Complex:
    """Complex numbers of their real and imaginary parts."""
    values = node.aligned
    shape = np.broadcast_shapes(*(one.shape for one in values))
    return Complex(*(expanded(one, shape) for one in values))


@operator("Real", types="complex64", fold=lambda node: node[0].raw.real)
def real(node: Node) -> Tensor:
    """The real parts of complex numbers."""
    return node[0].halves[0]


@operator("Imag", types="complex64", fold=lambda node: node[0].raw.imag)
def imag(node: Node) -> Tensor:
    """The imaginary parts of complex numbers."""
    return node[0].halves[1]


@operator("Conj", types="complex64", fold=lambda node: node[0].raw.conj())
def conj(node: Node) -> Complex:
    """Complex numbers with the opposite imaginary parts."""
    found, turned = node[0].halves
    return Complex(found, -turned)


@operator("ComplexAbs", types="complex64", fold=lambda node: np.abs(node[0].raw))
def complex_abs(node: Node) -> Tensor:
    """How far complex numbers are from zero."""
    return square_root(ops.add(*(ops.mul(half, half) for half in node[0].halves)))


@operator("Angle", types="complex64", fold=lambda node: np.angle(node[0].raw))
def angle(node: Node) -> Tensor:
    """The angles of complex numbers."""
    found, turned = node[0].halves
    return angle_of(*aligned(turned, found))


@operator("FFT", types="complex64")
def fft(node: Node) -> Complex:
    """The spectrum along the last dimension."""
    return _transformed(*node[0].halves, 1, inverse=False)


@operator("FFT2D", types="complex64")
def fft2d(node: Node) -> Complex:
    """The spectrum along the last two dimensions."""
    return _transformed(*node[0].halves, 2, inverse=False)


@operator("IFFT", types="complex64")
def ifft(node: Node) -> Complex:
    """What has a spectrum along the last dimension."""
    return _transformed(*node[0].halves, 1, inverse=True)


@operator("IFFT2D", types="complex64")
def ifft2d(node: Node) -> Complex:
    """What has a spectrum along the last two dimensions."""
    return _transformed(*node[0].halves, 2, inverse=True)


def _transformed(found: Tensor, turned: Tensor, count: int, *, inverse: bool) -> Complex:
    """The transform along the last dimensions; the inverse is over how many numbers there are."""
    shape = found.shape
    size = prod(_powers(shape[len(shape) - count :], count))
    results = ops.fft2d(_images(found, count), _images(turned, count), inverse=inverse)
    scaled = [ops.mul(one, number(one, 1 / size)) for one in results] if inverse else results
    return Complex(*(reshaped(one, shape) for one in scaled))


def _powers(extents: Sequence[int], count: int) -> Sequence[int]:
    if len(extents) != count or any(one < 1 or one & (one - 1) for one in extents):
        raise Refused(f"its extents {list(extents)} are not powers of two")
    return extents


def _images(value: Tensor, count: int) -> Tensor:
    """What is transformed together: rows are images of one row."""
    inner = value.shape[value.ndim - count :]
    return reshaped(value, (prod(value.shape[: value.ndim - count]), *(1,) * (2 - count), *inner))


def _cut(value: Tensor, extents: Sequence[int]) -> Tensor:
    """The last dimensions, cut or filled with zeros."""
    leading = value.shape[: value.ndim - len(extents)]
    inside = [min(pair) for pair in zip(value.shape[len(leading) :], extents, strict=True)]
    kept = sliced(value, (0,) * value.ndim, (*leading, *inside))
    missing = [(0, extent - one) for extent, one in zip(extents, inside, strict=True)]
    return padded(kept, [*((0, 0) for _ in leading), *missing])


@operator("RFFT", types="float32")
def rfft(node: Node) -> Complex:
    """The spectrum of real numbers along the last dimension, as far as symmetry does not give it."""
    return _of_reals(node, 1)


@operator("RFFT2D", types="float32")
def rfft2d(node: Node) -> Complex:
    """The spectrum of real numbers along the last two dimensions, as far as symmetry does not give it."""
    return _of_reals(node, 2)


def _of_reals(node: Node, count: int) -> Complex:
    extents = _powers(node[1].ints, count)
    value = _cut(node[0].tensor, extents)
    results = ops.rfft2d(_images(value, count))
    shape = (*value.shape[:-1], extents[-1] // 2 + 1)
    return Complex(*(reshaped(one, shape) for one in results))


@operator("IRFFT", types="complex64")
def irfft(node: Node) -> Tensor:
    """The real numbers that have a spectrum along the last dimension."""
    return _to_reals(node, 1)


@operator("IRFFT2D", types="complex64")
def irfft2d(node: Node) -> Tensor:
    """The real numbers that have a spectrum along the last two dimensions."""
    return _to_reals(node, 2)


def _to_reals(node: Node, count: int) -> Tensor:
    """The other dimension first: along the last one, symmetry says what half of the spectrum leaves out."""
    *others, last = _powers(node[1].ints, count)
    found, turned = (_cut(one, (*others, last // 2 + 1)) for one in node[0].halves)
    if others:
        order = (*range(found.ndim - 2), found.ndim - 1, found.ndim - 2)
        first = _transformed(transposed(found, order), transposed(turned, order), 1, inverse=True)
        found, turned = (transposed(one, order) for one in (first.real, first.imag))
    if last == 1:
        return found
    return _transformed(_whole(found, last, 1), _whole(turned, last, -1), 1, inverse=True).real


def _whole(half: Tensor, extent: int, sign: int) -> Tensor:
    """All of a spectrum along the last dimension: what is left out are those before, the last one first."""
    inner, axis = extent // 2 - 1, half.ndim - 1
    if not inner:
        return half
    behind = ops.reverse(part(half, axis, 1, inner), axis=axis)
    return ops.concat([half, behind if sign > 0 else -behind], axis=axis)
