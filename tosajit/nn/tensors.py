"""What layers ask of their tensors, and what they say if it is not so."""

from __future__ import annotations

from collections.abc import Sequence

from tosajit.dtypes import BF16, FP16, FP32, DType
from tosajit.errors import TraceError
from tosajit.frontends.common.windows import Span, inside, padding, spans
from tosajit.tracing.tensor import Tensor

REAL = (FP32, FP16, BF16)
Pair = int | Sequence[int]
"""A number for rows and columns, or one for each."""
Padding = str | int | Sequence[int] | Sequence[Sequence[int]]
"""`"same"`, `"valid"`, or how much is before and behind rows and columns."""


def real(where: str, value: Tensor) -> Tensor:
    """A tensor of floating-point numbers."""
    if value.dtype not in REAL:
        raise TraceError(
            f"{where}: {value.value.type} is not of FP32, FP16 or BF16: cast it, as in x.astype(np.float32); "
            "nn.quantized takes integers that stand for real numbers"
        )
    return value


def alike(where: str, value: Tensor, dtype: DType) -> Tensor:
    """A tensor of the same type as another one."""
    if value.dtype is not dtype:
        text = f"{value.dtype} and {dtype} do not mix; cast one of them, as in x.astype(tj.{dtype})"
        raise TraceError(f"{where}: {text}")
    return value


def shaped(where: str, value: Tensor, shape: Sequence[int], why: str) -> Tensor:
    """A tensor of a shape that follows from something."""
    if value.shape != tuple(shape):
        raise TraceError(f"{where}: its shape is {list(value.shape)}, but {why} {list(shape)}")
    return value


def ranked(where: str, value: Tensor, rank: int, dims: str) -> Tensor:
    """A tensor of so many dimensions."""
    if value.ndim != rank:
        raise TraceError(f"{where}: {value.value.type} has {value.ndim} dimensions, but must be {dims}")
    return value


def axis_of(where: str, value: Tensor, axis: int) -> int:
    """An axis, counted from the first."""
    if not -value.ndim <= axis < value.ndim:
        raise TraceError(f"{where}: {value.value.type} has no axis {axis}")
    return axis % value.ndim


def pair(where: str, value: Pair, least: int = 1) -> tuple[int, int]:
    """Two integers that are large enough."""
    found = (value, value) if isinstance(value, int) else tuple(value)
    if len(found) != 2 or not all(isinstance(one, int) and one >= least for one in found):
        raise TraceError(f"{where} is {value!r}, but must be an integer from {least} on, or two of them")
    return found[0], found[1]


def windows(
    where: str, image: Tensor, kernel: Pair, stride: Pair, dilation: Pair, pad: Padding
) -> tuple[Tensor, tuple[int, ...], tuple[Span, ...]]:
    """The part of images that windows reach, the padding of it, and the windows along rows and columns."""
    sizes, steps, gaps = (
        pair(f"{where} kernel", kernel),
        pair(f"{where} stride", stride),
        pair(f"{where} dilation", dilation),
    )
    extents = image.shape[1:3]
    if isinstance(pad, str):
        if pad not in ("same", "valid"):
            raise TraceError(f"{where} padding is {pad!r}, but must be 'same', 'valid' or numbers")
        found = spans(extents, sizes, steps, gaps, pad == "same")
    else:
        ones = zip(extents, sizes, steps, gaps, _borders(where, pad), strict=True)
        found = tuple(Span.within(*one) for one in ones)
    for place, span in enumerate(found):
        if span.count < 1:
            raise TraceError(
                f"{where}: windows of {sizes[place]} elements, {gaps[place]} apart, do not fit into "
                f"{extents[place]} with padding {pad!r}"
            )
    reached, whole = inside(image, found, 1)
    return reached, padding(whole), whole


def _borders(where: str, pad: int | Sequence[int] | Sequence[Sequence[int]]) -> list[tuple[int, int]]:
    """How much is before and behind rows and columns."""
    both = (pad, pad) if isinstance(pad, int) else pad
    if len(both) != 2:
        raise TraceError(f"{where} padding is {pad!r}, but must be an integer or two of them")
    return [pair(f"{where} padding", one, 0) for one in both]
