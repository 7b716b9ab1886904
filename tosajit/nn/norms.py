"""Elements normalised by statistics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tosajit import ops
from tosajit.arrays import Array
from tosajit.dtypes import FP32
from tosajit.frontends.common import norms
from tosajit.frontends.common.layout import constant_of, reshaped
from tosajit.frontends.common.numbers import number, typed
from tosajit.nn.layer import layer
from tosajit.nn.tensors import alike, axis_of, real, shaped
from tosajit.tracing.tensor import Tensor


@layer("weight", "bias")
def layer_norm(
    x: Any, weight: Any = None, bias: Any = None, *, axis: int | Sequence[int] = -1, epsilon: float = 1e-5
) -> Any:
    """Elements less their mean along axes, over the root of their variance, times `weight`, more by `bias`.

    `weight` and `bias` have the extents of these axes. Numbers of 16 bits are normalised in FP32.
    """
    real("nn.layer_norm x", x)
    axes = sorted({axis_of("nn.layer_norm x", x, one) for one in ([axis] if isinstance(axis, int) else axis)})
    found = typed(norms.normalized(typed(x, FP32), axes, epsilon), x.dtype)
    own = _raised("nn.layer_norm", x, axes, weight=weight, bias=bias)
    if "weight" in own:
        found = ops.mul(found, own["weight"])
    return ops.add(found, own["bias"]) if "bias" in own else found


@layer("mean", "variance", "weight", "bias")
def batch_norm(
    x: Any,
    mean: Any,
    variance: Any,
    weight: Any = None,
    bias: Any = None,
    *,
    axis: int = -1,
    epsilon: float = 1e-5,
) -> Any:
    """Elements normalised by known statistics of their channels, as when a model is not trained.

    `(x - mean) / sqrt(variance + epsilon) * weight + bias`, where all but `x` have an element for each index
    along `axis`. Statistics that are known when the function is traced become one factor and one summand.
    """
    real("nn.batch_norm x", x)
    axes = [axis_of("nn.batch_norm x", x, axis)]
    own = _raised("nn.batch_norm", x, axes, mean=mean, variance=variance, weight=weight, bias=bias)
    known = {name: constant_of(one) for name, one in own.items()}
    arrays = {name: one.astype(np.float64) for name, one in known.items() if one is not None}
    if len(arrays) == len(own):
        factor = arrays.get("weight", 1) / np.sqrt(arrays["variance"] + epsilon)
        summand = arrays.get("bias", 0) - arrays["mean"] * factor
        return ops.add(ops.mul(x, _stored(factor, x)), _stored(summand, x))
    inverse = ops.rsqrt(ops.add(own["variance"], number(x, epsilon)))
    found = ops.mul(ops.sub(x, own["mean"]), inverse)
    if "weight" in own:
        found = ops.mul(found, own["weight"])
    return ops.add(found, own["bias"]) if "bias" in own else found


def _stored(numbers: Array, like: Tensor) -> Array:
    return numbers.astype(like.dtype.storage)


def _raised(where: str, x: Tensor, axes: Sequence[int], **given: Any) -> dict[str, Tensor]:
    """Tensors with the extents of some axes, raised beside the tensor; without those that are left out."""
    extents = [x.shape[axis] for axis in axes]
    shape = [extent if axis in axes else 1 for axis, extent in enumerate(x.shape)]
    found = {}
    for name, one in given.items():
        if one is not None:
            alike(f"{where} {name}", one, x.dtype)
            found[name] = reshaped(shaped(f"{where} {name}", one, extents, "axes of x have"), shape)
    return found
