"""Broadcasting: operands of several ranks, as TOSA's elementwise operators take them."""

from __future__ import annotations

from collections.abc import Sequence

from tosajit import ops
from tosajit.frontends.common.layout import reshaped
from tosajit.tracing.tensor import Tensor


def aligned(*values: Tensor) -> list[Tensor]:
    """Tensors of one rank: dimensions of one element are put in front."""
    rank = max(value.ndim for value in values)
    return [reshaped(value, (1,) * (rank - value.ndim) + value.shape) for value in values]


def expanded(value: Tensor, shape: Sequence[int]) -> Tensor:
    """A tensor whose dimensions of one element are repeated."""
    raised = reshaped(value, (1,) * (len(shape) - value.ndim) + value.shape)
    multiples = [wanted if extent == 1 else 1 for extent, wanted in zip(raised.shape, shape, strict=True)]
    return raised if all(one == 1 for one in multiples) else ops.tile(raised, multiples)
