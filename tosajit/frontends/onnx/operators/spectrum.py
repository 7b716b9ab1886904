"""Discrete Fourier transforms as products of matrices, and the windows before them."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from tiling.records import dataclass
from tosajit import ops
from tosajit.arrays import Array
from tosajit.frontends.common.borders import padded
from tosajit.frontends.common.layout import part, reshaped, small, transposed
from tosajit.frontends.common.matrices import weighted
from tosajit.frontends.common.reduce import axes_of
from tosajit.frontends.frame import Refused
from tosajit.frontends.frame.attributes import Attributes
from tosajit.frontends.onnx.node import Node
from tosajit.frontends.onnx.operators import operator
from tosajit.frontends.onnx.schema import STORAGE, Type
from tosajit.tracing.tensor import Tensor

_NUMBERS = 1
_PAIRS = 2
"""How many elements the last dimension of real and of complex numbers has."""
_MOST = 1 << 10
"""How many numbers are transformed by a matrix."""
_REALS = (Type.FLOAT32, Type.FLOAT16, Type.BFLOAT16, Type.FLOAT64)


@dataclass(frozen=True, slots=True)
class TransformAttributes(Attributes):
    """Which way, whether half of a spectrum is enough, and the dimension in older versions."""

    axis: int = 1
    inverse: bool = False
    onesided: bool = False


@operator("DFT", TransformAttributes, types="float32")
def dft(node: Node, options: TransformAttributes) -> Tensor:
    """The spectrum of numbers along a dimension, or numbers of a spectrum."""
    value, length, chosen = node[0].tensor, node.optional(1), node.optional(2)
    given = int(chosen.number) if chosen is not None else -2 if node.opset >= 20 else options.axis
    (axis,) = axes_of([given], value.ndim)
    if axis == value.ndim - 1:
        raise Refused("its dimension is that of real and imaginary parts")
    count = None if length is None else int(length.number)
    return _transformed(node, axis, count, options.inverse, options.onesided)


def _transformed(node: Node, axis: int, count: int | None, inverse: bool, onesided: bool) -> Tensor:
    value = node[0].tensor
    parts, extent = value.shape[-1], value.shape[axis]
    is_real = inverse and onesided
    count = count if count is not None else 2 * (extent - 1) if is_real else extent
    used = count // 2 + 1 if is_real else count
    if parts not in (_NUMBERS, _PAIRS) or not 1 <= count <= _MOST:
        raise Refused(f"it transforms {count} numbers of {parts} parts, but may 1 to {_MOST} of one or two")
    value = _fitted(value, axis, used)
    _make(node, parts * used, count, is_real or onesided)
    matrix = _of_reals(used, count) if is_real else _matrix(count, inverse, onesided)
    matrix = matrix[:parts]
    results = matrix.shape[2]
    rest = [place for place in range(value.ndim - 1) if place != axis]
    rows = transposed(value, [*rest, value.ndim - 1, axis])
    extents = [value.shape[place] for place in rest]
    flat = reshaped(rows, (prod(extents), parts * used))
    weights = ops.const(matrix.reshape(parts * used, -1).astype(value.dtype.storage))
    found = reshaped(weighted(flat, weights), (*extents, results, matrix.shape[3]))
    order = [*rest, value.ndim - 1, axis]
    return transposed(found, [order.index(place) for place in range(value.ndim)])


def _make(node: Node, rows: int, count: int, half: bool) -> None:
    """Make room for a matrix: both parts of numbers, or as much in half of them."""
    node.trace.builder.budget.make(
        rows * count * np.dtype(node[0].tensor.dtype.storage).itemsize * (1 if half else 2)
    )


def _fitted(value: Tensor, axis: int, count: int) -> Tensor:
    """A dimension with as many elements: cut, or with zeros behind it."""
    extent = value.shape[axis]
    if count <= extent:
        return part(value, axis, 0, count)
    borders = [(0, 0)] * value.ndim
    borders[axis] = 0, count - extent
    return padded(value, borders)


def _matrix(count: int, inverse: bool, onesided: bool) -> Array:
    """By part and number of the operand, part and number of the result."""
    columns = count // 2 + 1 if onesided else count
    angles = 2 * np.pi * (np.outer(np.arange(count), np.arange(columns)) % count) / count
    cosine, sine = np.cos(angles), np.sin(angles) * (-1 if inverse else 1)
    found = np.array([[cosine, -sine], [sine, cosine]]).transpose(0, 2, 1, 3)
    return found / count if inverse else found


def _of_reals(used: int, count: int) -> Array:
    """The same for the half of a spectrum whose numbers are real."""
    angles = 2 * np.pi * (np.outer(np.arange(used), np.arange(count)) % count) / count
    twice = np.where((np.arange(used) == 0) | (2 * np.arange(used) == count), 1, 2)[:, None] / count
    return np.array([np.cos(angles) * twice, -np.sin(angles) * twice])[:, :, None, :]


@dataclass(frozen=True, slots=True)
class FramesAttributes(Attributes):
    """Whether half of each spectrum is enough."""

    onesided: bool = True


@operator("STFT", FramesAttributes, types="float32")
def stft(node: Node, options: FramesAttributes) -> Tensor:
    """The spectra of frames of a signal, which a window weighs."""
    value, step, window, length = node[0].tensor, int(node[1].number), node.optional(2), node.optional(3)
    count = int(length.number) if length is not None else 0 if window is None else window.shape[0]
    if value.ndim == 2:  # as ONNX Runtime takes it
        value = reshaped(value, (*value.shape, 1))
    frames = 1 + (value.shape[1] - count) // max(step, 1)
    if value.ndim != 3 or not 1 <= count <= _MOST or step < 1 or frames < 1:
        raise Refused(f"its frames of {count} numbers, {step} apart, are none or longer than {_MOST}")
    batch, _, parts = value.shape
    _make(node, parts * count, count, options.onesided)
    matrix = _matrix(count, False, options.onesided)[:parts]
    # A convolution: each part of each frequency is a channel, and its kernel a wave that the window weighs.
    kernels = matrix.transpose(3, 2, 1, 0).reshape(-1, 1, count, parts)
    waves: Tensor = ops.const(kernels.astype(value.dtype.storage))
    if window is not None:
        waves = ops.mul(waves, reshaped(window.tensor, (1, 1, count, 1)))
    reached = part(value, 1, 0, (frames - 1) * step + count)
    rows = reshaped(reached, (batch, 1, *reached.shape[1:]))
    found = ops.conv2d(rows, waves, pad=(0, 0, 0, 0), stride=(1, step), dilation=(1, 1))
    return reshaped(found, (batch, frames, -1, 2))


@dataclass(frozen=True, slots=True)
class WindowAttributes(Attributes):
    """Whether windows follow each other, and the type."""

    output_datatype: int = Type.FLOAT32
    periodic: bool = True


def _window(node: Node, options: WindowAttributes, factors: Sequence[float]) -> Array:
    """Sums of cosines of multiples of an angle that goes round once."""
    size = int(node[0].number)
    kind = options.output_datatype
    if (
        not small((size,))
        or size < 1
        or kind not in (Type.FLOAT32, Type.FLOAT16, Type.BFLOAT16, Type.FLOAT64)
    ):
        raise Refused(f"its {size} numbers are too many or none, or no real ones")
    angles = 2 * np.pi * np.arange(size) / max(size if options.periodic else size - 1, 1)
    total = sum(factor * np.cos(place * angles) for place, factor in enumerate(factors))
    return np.asarray(total, STORAGE[Type(kind)])


@operator("HannWindow", WindowAttributes)
def hann_window(node: Node, options: WindowAttributes) -> Array:
    """Hann's window, which is known when the model is read."""
    return _window(node, options, (0.5, -0.5))


@operator("HammingWindow", WindowAttributes)
def hamming_window(node: Node, options: WindowAttributes) -> Array:
    """Hamming's window, which is known when the model is read."""
    return _window(node, options, (25 / 46, -21 / 46))


@operator("BlackmanWindow", WindowAttributes)
def blackman_window(node: Node, options: WindowAttributes) -> Array:
    """Blackman's window, which is known when the model is read."""
    return _window(node, options, (0.42, -0.5, 0.08))


@dataclass(frozen=True, slots=True)
class MelAttributes(Attributes):
    """The type."""

    output_datatype: int = Type.FLOAT32


@operator("MelWeightMatrix", MelAttributes)
def mel_weight_matrix(node: Node, options: MelAttributes) -> Array:
    """The share of each frequency in bands as wide as they are heard, known when the model is read."""
    bands, length, rate, *edges = (float(node[place].number) for place in range(5))
    count, size = int(bands), int(length) // 2 + 1
    if count < 1 or length < 1 or rate <= 0 or min(edges) < 0 or not small((size, count)):
        raise Refused(f"its {count} bands of {int(length)} numbers are too many or none")
    low, high = (2595 * np.log10(1 + edge / 700) for edge in edges)
    heard = low + np.arange(count + 2) * (high - low) / (count + 2)
    places = (length + 1) * 700 * (10 ** (heard / 2595) - 1) // rate
    below, middle, above = places[:-2], places[1:-1], places[2:]
    bins = np.arange(size)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        rising = np.where(middle > below, (bins - below) / (middle - below), bins == middle)
        falling = (above - bins) / (above - middle)
    shares = np.where(bins <= middle, rising * (bins >= below), 0)
    shares = np.where((bins >= middle) & (bins < above), falling, shares)
    return np.asarray(shares, STORAGE[Type(options.output_datatype)])
