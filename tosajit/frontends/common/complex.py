"""Complex numbers, which TOSA has as two real ones: outside along a last dimension, inside along a first."""

from __future__ import annotations

import numpy as np

from tiling.records import dataclass
from tosajit import ops
from tosajit.frontends.common.broadcast import expanded
from tosajit.frontends.common.layout import joined, reshaped, transposed
from tosajit.tracing.tensor import Tensor


def halves(pairs: Tensor) -> Tensor:
    """All real parts and all imaginary parts, of pairs of both."""
    last = pairs.ndim - 1
    return transposed(pairs, (last, *range(last)))


def pairs(halves: Tensor) -> Tensor:
    """Pairs of real and imaginary parts: the opposite of `halves`."""
    return transposed(halves, (*range(1, halves.ndim), 0))


@dataclass(frozen=True, slots=True)
class Complex:
    """Complex numbers by their parts; those of real ones have no imaginary part."""

    real: Tensor
    imag: Tensor | None

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents."""
        return self.real.shape

    @property
    def imaginary(self) -> Tensor:
        """The imaginary parts, also where they are zeros."""
        if self.imag is not None:
            return self.imag
        zero: Tensor = ops.const(np.zeros((1,) * self.real.ndim, np.float32))
        return expanded(zero, self.shape)

    @property
    def conjugate(self) -> Complex:
        """The numbers with opposite imaginary parts."""
        return Complex(self.real, None if self.imag is None else ops.negate(self.imag))

    @property
    def pairs(self) -> Tensor:
        """Real and imaginary parts along a last dimension."""
        shape = (*self.shape, 1)
        return joined([reshaped(one, shape) for one in (self.real, self.imaginary)], len(self.shape))
