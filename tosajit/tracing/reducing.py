"""Reductions and products of traced tensors, by the names that NumPy has."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Self

import numpy as np

from tosajit.dtypes import BOOL
from tosajit.errors import TraceError
from tosajit.graph.operator import Operator
from tosajit.operators import (
    ARGMAX,
    MATMUL,
    REDUCE_ALL,
    REDUCE_ANY,
    REDUCE_MAX,
    REDUCE_MIN,
    REDUCE_PRODUCT,
    REDUCE_SUM,
)
from tosajit.tracing.shaping import Shaping

Axes = int | Sequence[int] | None


class Reducing(Shaping):
    """A tensor that can be summed up, and multiplied as a matrix."""

    __slots__ = ()

    def sum(self, axis: Axes = None, *, keepdims: bool = False) -> Self:
        """The sum along axes, or of all elements."""
        return self._reduced(REDUCE_SUM, axis, keepdims)

    def prod(self, axis: Axes = None, *, keepdims: bool = False) -> Self:
        """The product along axes, or of all elements."""
        return self._reduced(REDUCE_PRODUCT, axis, keepdims)

    def max(self, axis: Axes = None, *, keepdims: bool = False) -> Self:
        """The largest element along axes, or of all."""
        return self._reduced(REDUCE_MAX, axis, keepdims)

    def min(self, axis: Axes = None, *, keepdims: bool = False) -> Self:
        """The smallest element along axes, or of all."""
        return self._reduced(REDUCE_MIN, axis, keepdims)

    def any(self, axis: Axes = None, *, keepdims: bool = False) -> Self:
        """Whether any element along axes is true, or not zero."""
        return self.astype(BOOL)._reduced(REDUCE_ANY, axis, keepdims)

    def all(self, axis: Axes = None, *, keepdims: bool = False) -> Self:
        """Whether all elements along axes are true, or not zero."""
        return self.astype(BOOL)._reduced(REDUCE_ALL, axis, keepdims)

    def mean(self, axis: Axes = None, *, keepdims: bool = False) -> Self:
        """The mean of floating-point numbers along axes, or of all."""
        if not self.dtype.is_float:
            raise TraceError(f"the mean of {self!r} has fractions: cast it first, as in x.astype(np.float32)")
        return self.sum(axis, keepdims=keepdims) / prod(self.shape[one] for one in self._axes(axis))

    def var(self, axis: Axes = None, *, keepdims: bool = False) -> Self:
        """The variance of floating-point numbers along axes, or of all."""
        away = self - self.mean(axis, keepdims=True)
        return (away * away).mean(axis, keepdims=keepdims)

    def std(self, axis: Axes = None, *, keepdims: bool = False) -> Self:
        """The standard deviation of floating-point numbers along axes, or of all."""
        return self.var(axis, keepdims=keepdims).sqrt()

    def argmax(self, axis: int | None = None) -> Self:
        """The index of the largest element along an axis, or of all."""
        if axis is None:
            return self.flatten().argmax(0)
        return self._apply(ARGMAX(axis=self._axis(axis)))

    def clip(self, low: object = None, high: object = None) -> Self:
        """The elements within limits, either of which may be left out."""
        above = self if low is None else self._binary("maximum", self, low)
        return above if high is None else above._binary("minimum", above, high)

    def _axes(self, axis: Axes) -> list[int]:
        if axis is None:
            return list(range(self.ndim))
        axes = [self._axis(one) for one in ((axis,) if isinstance(axis, int | np.integer) else axis)]
        if len(set(axes)) < len(axes):
            raise TraceError(f"{self!r}: an axis of {axis} is there twice")
        return axes

    def _reduced(self, operator: type[Operator], axis: Axes, keepdims: bool) -> Self:
        found, axes = self, self._axes(axis)
        for one in axes:
            found = found._apply(operator(axis=one))
        if keepdims:
            return found
        return found._reshaped([extent for one, extent in enumerate(self.shape) if one not in axes])

    def __matmul__(self, other: object) -> Self:
        return self._multiplied(self, self._of(other))

    def __rmatmul__(self, other: object) -> Self:
        return self._multiplied(self._of(other), self)

    def _multiplied(self, left: Self, right: Self) -> Self:
        """The product of matrices, or of stacks of them; a vector on the left is a row, else a column."""
        if not left.ndim or not right.ndim:
            raise TraceError(f"{left!r} @ {right!r}: numbers are multiplied by *")
        rows = left._reshaped((1, *left.shape)) if left.ndim == 1 else left
        columns = right._reshaped((*right.shape, 1)) if right.ndim == 1 else right
        if rows.dtype is not columns.dtype or rows.shape[-1] != columns.shape[-2]:
            raise TraceError(f"{left!r} @ {right!r}: types and inner extents have to be the same")
        try:
            stack = np.broadcast_shapes(rows.shape[:-2], columns.shape[:-2])
        except ValueError:
            raise TraceError(f"{left!r} @ {right!r}: the stacks of matrices have different extents") from None
        if columns.ndim == 2:
            first = rows._reshaped((1, prod(rows.shape[:-1]), rows.shape[-1]))
            second = columns._reshaped((1, *columns.shape))
        else:
            first, second = (one._stacked(stack) for one in (rows, columns))
        zeros = self._constant(np.zeros(1, left.dtype.storage), left.dtype)
        found = first._apply(MATMUL(), second, zeros, zeros)
        shape = [*stack, *[rows.shape[-2]] * (left.ndim > 1), *[columns.shape[-1]] * (right.ndim > 1)]
        return found._reshaped(shape)

    def _stacked(self, stack: tuple[int, ...]) -> Self:
        """Matrices one behind the other."""
        whole = self.broadcast_to((*stack, *self.shape[-2:]))
        return whole._reshaped((prod(stack), *self.shape[-2:]))
