"""Rows times matrices, rows of matrices, and rows that are turned by their positions."""

from __future__ import annotations

from typing import Any

import numpy as np

from tosajit import ops
from tosajit.dtypes import FP32, INT32
from tosajit.errors import TraceError
from tosajit.frontends.common.gather import gathered
from tosajit.frontends.common.layout import constant_of, part, reshaped
from tosajit.frontends.common.numbers import typed
from tosajit.nn.layer import layer
from tosajit.nn.tensors import alike, ranked, real, shaped
from tosajit.tracing.tensor import Tensor


@layer("weight", "bias")
def dense(x: Any, weight: Any, bias: Any = None) -> Any:
    """Rows times a matrix: `x @ weight.T + bias`.

    `weight` has a row for each output, `[outputs, inputs]`, as PyTorch and TFLite have it; `bias` is
    `[outputs]`. It becomes a CONV2D of pixels, which compilers and NPUs know.
    """
    real("nn.dense x", x)
    rows, matrix = rows_and_matrix("nn.dense", x, alike("nn.dense weight", weight, x.dtype))
    if bias is not None:
        shaped("nn.dense bias", alike("nn.dense bias", bias, x.dtype), weight.shape[:1], "weight has")
    return reshaped(ops.conv2d(rows, matrix, bias), (*x.shape[:-1], weight.shape[0]))


def rows_and_matrix(where: str, x: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """Rows as pixels, and a matrix as kernels of one element."""
    count, depth = ranked(f"{where} weight", weight, 2, "[outputs, inputs]").shape
    if x.ndim == 0 or x.shape[-1] != depth:
        turned = ": transpose it, as in weight.T" if x.shape[-1:] == (count,) else ""
        raise TraceError(
            f"{where} weight: its rows have {depth} elements, but {x.value.type} has rows of "
            f"{x.shape[-1] if x.ndim else 'none'}{turned}"
        )
    return reshaped(x, (x.size // depth, 1, 1, depth)), reshaped(weight, (count, 1, 1, depth))


@layer("weight", indices="indices")
def embedding(indices: Any, weight: Any) -> Any:
    """Rows of a matrix at indices: `weight[indices]`, for `weight` of `[rows, elements]` and any indices."""
    if indices.dtype.kind != "int":
        raise TraceError(f"nn.embedding indices: {indices.value.type} does not hold integers")
    count, _ = ranked("nn.embedding weight", weight, 2, "[rows, elements]").shape
    known = constant_of(indices)
    if known is not None and known.size and not 0 <= known.min() <= known.max() < count:
        raise TraceError(
            f"nn.embedding indices: from {known.min()} to {known.max()}, but weight has {count} rows"
        )
    return gathered(weight, typed(indices, INT32), 0)


@layer(indices="positions")
def rope(x: Any, positions: Any = None, *, base: float = 10000.0, interleaved: bool = False) -> Any:
    """Rows turned by their positions: rotary embedding, for `x` of `[…, positions, elements]`.

    Element `i` of the first half of a row and of the second one are turned by `position * base ** (-2 i /
    elements)`; neighbours are with `interleaved`. `positions` are integers, and 0, 1, 2, … if left out; those
    known when the function is traced are computed in float64.
    """
    real("nn.rope x", x)
    if x.ndim < 2 or x.shape[-1] % 2:
        raise TraceError(
            f"nn.rope x: {x.value.type} must be [positions, elements], with an even number of elements"
        )
    count, half = x.shape[-2], x.shape[-1] // 2
    if positions is not None:
        shaped("nn.rope positions", positions, (count,), "x has positions")
    cosine, sine = _turns(x, positions, base ** (-np.arange(half) / half))
    if interleaved:
        pairs = reshaped(x, (*x.shape[:-1], half, 2))
        first, second = (reshaped(part(pairs, x.ndim, place, 1), (*x.shape[:-1], half)) for place in (0, 1))
    else:
        first, second = (part(x, x.ndim - 1, start, half) for start in (0, half))
    turned = (
        ops.sub(ops.mul(first, cosine), ops.mul(second, sine)),
        ops.add(ops.mul(second, cosine), ops.mul(first, sine)),
    )
    if not interleaved:
        return ops.concat(turned, axis=x.ndim - 1)
    apart = [reshaped(one, (*one.shape, 1)) for one in turned]
    return reshaped(ops.concat(apart, axis=x.ndim), x.shape)


def _turns(x: Tensor, positions: Tensor | None, frequencies: Any) -> tuple[Tensor, Tensor]:
    """The cosine and the sine of each element's angle, as high as a tensor has dimensions."""
    shape = (*(1,) * (x.ndim - 2), x.shape[-2], len(frequencies))
    known = np.arange(x.shape[-2]) if positions is None else constant_of(positions)
    if known is not None:
        angles = known.reshape(-1, 1) * frequencies
        cosine, sine = (
            np.asarray(one, x.dtype.storage).reshape(shape) for one in (np.cos(angles), np.sin(angles))
        )
        return ops.const(cosine), ops.const(sine)
    assert positions is not None
    column = typed(reshaped(positions, (x.shape[-2], 1)), FP32)
    computed = ops.mul(column, frequencies.astype(np.float32).reshape(1, -1))
    return tuple(reshaped(typed(one, x.dtype), shape) for one in (ops.cos(computed), ops.sin(computed)))  # type: ignore[return-value]
