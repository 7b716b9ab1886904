"""What a tensor is while it is recorded, and what records it."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from math import prod
from typing import Any, Protocol, Self, cast

import numpy as np

from tosajit.arrays import Array
from tosajit.dtypes import DType
from tosajit.errors import TraceError
from tosajit.graph import Value
from tosajit.graph.operator import Operator
from tosajit.operators import CAST, RESHAPE
from tosajit.tracing.builder import GraphBuilder
from tosajit.tracing.numbers import typed, weak


class Recorder(Protocol):
    """What records the operators that are applied to tensors: a trace."""

    builder: GraphBuilder

    def constant(self, array: Array, dtype: DType, name: str = "") -> Traced:
        """A constant; equal ones are stored once."""

    def shape(self, extents: Sequence[int]) -> Traced:
        """A constant shape."""

    def add(self, operator: Operator, inputs: Sequence[Any], dtype: DType | None = None) -> Traced:
        """Record an operator with one output."""

    def own(self, tensor: Any) -> Traced:
        """The tensor in this region."""


class _Current(threading.local):
    """What this thread records with; other threads do not see it."""

    recorder: Recorder | None = None


current = _Current()


class Traced:
    """A tensor of a graph that is being recorded: its value there, and how operators are applied to it."""

    __slots__ = ("trace", "value")

    def __init__(self, trace: Recorder, value: Value) -> None:
        self.trace, self.value = trace, value

    @property
    def name(self) -> str:
        """What the graph calls it."""
        return self.value.name

    @property
    def dtype(self) -> DType:
        """Its type."""
        return self.value.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """Its extents."""
        return self.value.shape or ()

    @property
    def ndim(self) -> int:
        """Its rank."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """How many elements it has."""
        return prod(self.shape)

    def __repr__(self) -> str:
        return f"Tensor({self.value})"

    def __hash__(self) -> int:
        return id(self)

    def _apply(self, operator: Operator, *others: Traced, dtype: DType | None = None) -> Self:
        """What an operator makes of this and other tensors."""
        return cast("Self", active(self).add(operator, [self, *others], dtype))

    def _constant(self, array: Array, dtype: DType | None = None) -> Self:
        return cast("Self", active(self).constant(array, dtype or self.dtype))

    def _extents(self, extents: Sequence[int]) -> Traced:
        return active(self).shape(extents)

    def _reshaped(self, shape: Sequence[int]) -> Self:
        """The same elements in another shape of the same size."""
        if tuple(shape) == self.shape:
            return self
        if self.value.data is not None:
            return self._constant(self.value.data.reshape(tuple(shape)))
        return self._apply(RESHAPE(), self._extents(shape))

    def _cast(self, dtype: DType) -> Self:
        return self if dtype is self.dtype else self._apply(CAST(), dtype=dtype)

    def _of(self, value: object, rank: int = 0) -> Self:
        """An operand beside this tensor, with leading dimensions of one up to a rank."""
        if isinstance(value, Traced):
            return cast("Self", value)._reshaped((1,) * (rank - value.ndim) + value.shape)
        array, dtype = self._given(value)
        return self._constant(array.reshape((1,) * (rank - array.ndim) + array.shape), dtype)

    def _given(self, value: object) -> tuple[Array, DType]:
        """An array with its type; Python numbers take that of this tensor."""
        match value:
            case bool() | int() | float() | list() | tuple():
                return weak(value, self.dtype), self.dtype
            case np.generic() if value.dtype == np.int64:  # as sizes that NumPy has counted are
                return weak(value, self.dtype), self.dtype
            case np.ndarray() | np.generic():
                return typed(value)
        raise TraceError(f"expected a traced tensor or an array, got {type(value).__name__}")

    def _axis(self, axis: int) -> int:
        """An axis, counted from the first."""
        if not -self.ndim <= axis < self.ndim:
            raise TraceError(f"{self!r} has no axis {axis}: it has {self.ndim}")
        return axis % self.ndim


def active(tensor: Traced) -> Recorder:
    """The trace that this thread records, which has to be that of the tensor or inside of it."""
    trace = current.recorder
    if trace is None:
        raise TraceError(f"{tensor!r} is used outside its trace")
    trace.own(tensor)
    return trace


def rank_of(value: Any) -> int:
    """How many dimensions an operand has."""
    if isinstance(value, Traced):
        return value.ndim
    try:
        return np.ndim(value)
    except ValueError:  # it is no array, which is said where it would become one
        return 0
