"""Complex numbers, which TOSA has as two real ones: outside along a last dimension, inside along a first."""

from __future__ import annotations

from tosajit.frontends.common.layout import transposed
from tosajit.tracing.tensor import Tensor


def halves(pairs: Tensor) -> Tensor:
    """All real parts and all imaginary parts, of pairs of both."""
    last = pairs.ndim - 1
    return transposed(pairs, (last, *range(last)))


def pairs(halves: Tensor) -> Tensor:
    """Pairs of real and imaginary parts: the opposite of `halves`."""
    return transposed(halves, (*range(1, halves.ndim), 0))
