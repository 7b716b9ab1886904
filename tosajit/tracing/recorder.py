"""Recording: the graph that a Python function builds while it runs on traced tensors."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import cast

import numpy as np

from tosajit.arrays import Array
from tosajit.dtypes import DType
from tosajit.errors import TraceError
from tosajit.graph.operator import Operator
from tosajit.tracing.builder import GraphBuilder
from tosajit.tracing.tensor import Tensor
from tosajit.tracing.traced import current

Shape = tuple[int, ...]

_SMALL, _SAMPLED, _ALIKE = 1 << 8, 1 << 10, 4
"""Constants of so many bytes are told apart by these, larger ones by up to as many of theirs; where as many
have these in common, by all."""


class Trace:
    """The main region of a graph, or one that control flow runs, while it is recorded."""

    def __init__(self, builder: GraphBuilder | None = None, parent: Trace | None = None) -> None:
        self.builder = GraphBuilder() if builder is None else builder
        self.parent = parent
        self.captured: dict[str, Tensor] = {}
        """What was taken from the enclosing region, by its name there: inputs of this one."""
        self._constants: dict[object, list[Tensor]] = {}

    def region(self, name: str) -> Trace:
        """A new region inside of this one."""
        return Trace(self.builder.region(name), self)

    def input(self, name: str, dtype: DType, shape: Shape) -> Tensor:
        """A new input, called `name` if nothing else is."""
        return self._tensor(self.builder.input(self._unused(name), dtype, shape))

    def constant(self, array: Array, dtype: DType, name: str = "") -> Tensor:
        """A constant; equal ones are stored once."""
        if array.nbytes <= _SMALL:
            known = self._constants.setdefault((dtype, array.shape, array.tobytes()), [])
            if not known:
                known.append(self._stored(np.ascontiguousarray(array).reshape(array.shape), dtype, name))
            return known[0]
        dense = np.ascontiguousarray(array).reshape(array.shape)
        bits = dense.reshape(-1).view(np.uint8)
        key = dtype, array.shape, zlib.crc32(bits[:: bits.size // _SAMPLED | 1].tobytes())
        found = self._constants.setdefault(key, [])
        for tensor in found:
            if _has(tensor, bits):
                return tensor
        if len(found) == _ALIKE:
            found = self._constants.setdefault((*key, zlib.crc32(bits.data)), [])
            for tensor in found:
                if _has(tensor, bits):
                    return tensor
        found.append(self._stored(dense, dtype, name))
        return found[-1]

    def _stored(self, dense: Array, dtype: DType, name: str) -> Tensor:
        return self._tensor(self.builder.const(dense, dtype, self._unused(name) if name else ""))

    def shape(self, extents: Sequence[int]) -> Tensor:
        """A constant shape."""
        known = self._constants.setdefault(("shape", *extents), [])
        if not known:
            known.append(self._tensor(self.builder.shape(extents)))
        return known[0]

    def add(self, operator: Operator, inputs: Sequence[Tensor], dtype: DType | None = None) -> Tensor:
        """Record an operator with one output."""
        return self._tensor(self.builder.add(operator, self.names(inputs), dtype=dtype))

    def add_all(
        self,
        operator: Operator,
        inputs: Sequence[Tensor],
        outputs: Sequence[tuple[DType, Shape]] | None = None,
    ) -> tuple[Tensor, ...]:
        """Record an operator with any number of outputs."""
        return tuple(map(self._tensor, self.builder.add_all(operator, self.names(inputs), outputs)))

    def names(self, tensors: Sequence[Tensor]) -> list[str]:
        """What tensors are called in this region."""
        return [self.own(tensor).name for tensor in tensors]

    def own(self, tensor: Tensor) -> Tensor:
        """The tensor in this region; one of an enclosing region becomes an input."""
        if tensor.trace is self:
            return tensor
        if self.parent is None:
            raise TraceError(
                f"{tensor!r} belongs to another trace: tensors are used only while the function runs "
                "that they were made in"
            )
        outer = self.parent.own(tensor)
        if outer.value.data is not None:
            return self._copied(outer)
        if outer.name not in self.captured:
            self.captured[outer.name] = self.input(outer.name, outer.dtype, outer.shape)
        return self.captured[outer.name]

    def _copied(self, constant: Tensor) -> Tensor:
        data = constant.value.data
        assert data is not None
        if constant.dtype.kind == "shape":
            return self.shape(data.tolist())
        return self.constant(data, constant.dtype)

    def _tensor(self, name: str) -> Tensor:
        return Tensor(self, self.builder.value(name))

    def _unused(self, name: str) -> str:
        number, free = 1, name
        while free in self.builder:
            number, free = number + 1, f"{name}_{number}"
        return free


def _has(tensor: Tensor, bits: Array) -> bool:
    """Whether a constant consists of some bytes."""
    data = tensor.value.data
    return data is not None and np.array_equal(data.reshape(-1).view(np.uint8), bits)


def current_trace() -> Trace | None:
    """The trace that is being recorded by this thread."""
    return cast("Trace | None", current.recorder)


@contextmanager
def recording(trace: Trace) -> Iterator[Trace]:
    """Record what is done inside of `with`."""
    before, current.recorder = current.recorder, trace
    try:
        yield trace
    finally:
        current.recorder = before
