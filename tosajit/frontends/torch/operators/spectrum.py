"""Complex numbers, made of real ones and made real, and spectra."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from tosajit import ops
from tosajit.arrays import Array
from tosajit.frontends.common.broadcast import aligned, expanded
from tosajit.frontends.common.complex import Complex
from tosajit.frontends.common.layout import joined, part, reshaped, transposed
from tosajit.frontends.common.matrices import weighted
from tosajit.frontends.frame import Refused
from tosajit.frontends.torch.complexes import halves
from tosajit.frontends.torch.node import Node, Operand
from tosajit.frontends.torch.operators import operator
from tosajit.tracing.tensor import Tensor

_MOST = 1 << 10
"""How many numbers are transformed by a matrix; above, where they are a power of two, by FFT2D."""
_SCALES = (0.0, -0.5, -1.0)
"""Powers of how many numbers are transformed, by how they are to be normalised."""


@operator(
    "aten.view_as_real.default aten.real.default aten.imag.default aten._conj.default "
    "aten.conj_physical.default aten._conj_physical.default aten.angle.default",
    types="complex64",
)
def parts(node: Node) -> Tensor:
    """Parts of complex numbers."""
    raise Refused("its operand is known when the model is read, but its result is not")


@operator("aten.view_as_complex.default", types="float32", fold=lambda node: _viewed(node))
def view_as_complex(node: Node, self: Operand) -> Complex:
    """Complex numbers of pairs of real ones."""
    value, last = self.tensor, self.rank - 1
    return Complex(*(reshaped(part(value, last, place, 1), node.shape) for place in range(2)))


def _viewed(node: Node) -> Array:
    return np.ascontiguousarray(node[0].raw).view(np.complex64).reshape(node.shape)


@operator("aten.complex.default", types="float32", fold=lambda node: _joined(node))
def complex_(node: Node, real: Operand, imag: Operand) -> Complex:
    """Complex numbers of their real and imaginary parts."""
    return Complex(*(expanded(one.tensor, node.shape) for one in (real, imag)))


@operator("aten.polar.default", types="float32", fold=lambda node: _polar(node))
def polar(node: Node, abs: Operand, angle: Operand) -> Complex:
    """Complex numbers of their distances from zero and their angles."""
    size, turn = aligned(abs.tensor, angle.tensor)
    found = (ops.mul(size, ops.cos(turn)), ops.mul(size, ops.sin(turn)))
    return Complex(*(expanded(one, node.shape) for one in found))


def _joined(node: Node) -> Array:
    pairs = np.stack(np.broadcast_arrays(node[0].raw, node[1].raw), -1)
    return np.ascontiguousarray(pairs).view(np.complex64)[..., 0]


def _polar(node: Node) -> Array:
    size, turn = node[0].raw, node[1].raw
    return (size * np.cos(turn) + 1j * (size * np.sin(turn))).astype(np.complex64)


@operator("aten._fft_c2c.default")
def from_complex(node: Node, self: Operand, dim: Sequence[int], normalization: int, forward: bool) -> Complex:
    """The spectrum of complex numbers, or numbers of a spectrum."""
    value = _along(halves(self), [one % self.rank for one in dim], forward)
    return _normalised(value, [self.shape[one] for one in dim], normalization)


@operator("aten._fft_r2c.default", types="float32")
def from_real(node: Node, self: Operand, dim: Sequence[int], normalization: int, onesided: bool) -> Complex:
    """The spectrum of real numbers, also as far as symmetry does not give it."""
    *others, last = (one % self.rank for one in dim)
    columns = self.shape[last] // 2 + 1 if onesided else self.shape[last]
    value = _transformed(Complex(self.tensor, None), last, columns, forward=True)
    return _normalised(_along(value, others, True), [self.shape[one] for one in dim], normalization)


@operator("aten._fft_c2r.default")
def to_real(node: Node, self: Operand, dim: Sequence[int], normalization: int, last_dim_size: int) -> Tensor:
    """The real numbers that have a spectrum, as far as symmetry does not give that."""
    *others, last = (one % self.rank for one in dim)
    value = _along(halves(self), others, False)
    if last_dim_size > _MOST:
        raise Refused(f"it gives {last_dim_size} numbers, but up to {_MOST} are transformed so")
    rows = last_dim_size // 2 + 1
    value = Complex(part(value.real, last, 0, rows), part(value.imaginary, last, 0, rows))
    places = np.arange(rows)
    twice = np.where((places == 0) | (2 * places == last_dim_size), 1, 2)[:, None]
    cosine, sine = _waves(last_dim_size, rows)
    matrix = np.concatenate([twice * cosine.T, twice * -sine.T])
    found = _multiplied(value, last, matrix)
    extents = [*(self.shape[one] for one in others), last_dim_size]
    return _normalised(Complex(found, None), extents, normalization).real


def _waves(count: int, columns: int) -> tuple[Array, Array]:
    angles = 2 * np.pi * (np.outer(np.arange(count), np.arange(columns)) % count) / count
    return np.cos(angles), np.sin(angles)


def _along(value: Complex, axes: Sequence[int], forward: bool) -> Complex:
    """Transforms along several dimensions."""
    for axis in axes:
        value = _transformed(value, axis, value.shape[axis], forward)
    return value


def _transformed(value: Complex, axis: int, columns: int, forward: bool) -> Complex:
    """As many numbers as are asked for of the spectrum along a dimension."""
    count = value.shape[axis]
    if count > _MOST:
        return _fast(value, axis, columns, forward)
    cosine, sine = _waves(count, columns)
    sine = sine if forward else -sine
    matrix = np.concatenate([cosine, -sine], 1)
    if value.imag is not None:
        matrix = np.concatenate([matrix, np.concatenate([sine, cosine], 1)])
    found = _multiplied(value, axis, matrix)
    return Complex(*(part(found, axis, start, columns) for start in (0, columns)))


def _multiplied(value: Complex, axis: int, matrix: Array) -> Tensor:
    """The rows along a dimension, real and imaginary parts in one, times a matrix."""
    weights = matrix.astype(np.float32)
    value.real.trace.builder.budget.make(weights.nbytes)
    whole = value.real if value.imag is None else joined([value.real, value.imag], axis)
    order = [*(place for place in range(whole.ndim) if place != axis), axis]
    rows = transposed(whole, order)
    flat = reshaped(rows, (prod(rows.shape[:-1]), rows.shape[-1]))
    found = reshaped(weighted(flat, ops.const(weights)), (*rows.shape[:-1], matrix.shape[1]))
    return transposed(found, [order.index(place) for place in range(whole.ndim)])


def _fast(value: Complex, axis: int, columns: int, forward: bool) -> Complex:
    count = value.shape[axis]
    if count & (count - 1):
        raise Refused(f"it transforms {count} numbers, but beyond {_MOST} powers of two only", "pad them")
    order = [*(place for place in range(len(value.shape)) if place != axis), axis]
    rows = [transposed(one, order) for one in (value.real, value.imaginary)]
    images = (reshaped(one, (-1, 1, count)) for one in rows)
    results = ops.fft2d(*images, inverse=not forward)
    back = [order.index(place) for place in range(len(order))]
    turned = (transposed(reshaped(one, rows[0].shape), back) for one in results)
    return Complex(*(part(one, axis, 0, columns) for one in turned))


def _normalised(value: Complex, extents: Sequence[int], normalization: int) -> Complex:
    factor = prod(extents) ** _SCALES[normalization]
    if factor == 1:
        return value
    single = np.full((1,) * len(value.shape), factor, np.float32)
    turned = None if value.imag is None else ops.mul(value.imag, single)
    return Complex(ops.mul(value.real, single), turned)
