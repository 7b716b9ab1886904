"""The variables of a model: resources, which have names, and tensors that are said to persist."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from tosajit.arrays import Array
from tosajit.frontends.common.state import State, state
from tosajit.frontends.frame import Refused
from tosajit.frontends.tflite.operand import Described, Operand
from tosajit.frontends.tflite.schema import Type
from tosajit.tracing.recorder import Trace, recording
from tosajit.tracing.tensor import Tensor


class Variables:
    """Each is declared in the main region where it is first used, with what CALL_ONCE has assigned to it."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.once = False
        """Whether what is assigned are initial values."""
        self._names: list[str] = []
        self._initial: dict[int, Operand] = {}
        self._declared: dict[object, tuple[State, Type]] = {}

    def handle(self, name: str) -> Array:
        """What stands for the resource of a name."""
        if name not in self._names:
            self._names.append(name)
        return np.array(self._names.index(name), np.int32)

    @contextmanager
    def initialising(self) -> Iterator[None]:
        """What is assigned inside of `with` are initial values."""
        before, self.once = self.once, True
        try:
            yield
        finally:
            self.once = before

    def read(self, handle: Operand, result: Described) -> Tensor:
        """What a resource holds."""
        return self._resource(handle, result, result.record.shape).read()

    def assign(self, handle: Operand, value: Operand) -> None:
        """Let a resource hold a value."""
        if not self.once:
            self._resource(handle, value, value.shape).write(value.tensor)
            return
        place = _place(handle)
        if place in self._declared:
            raise Refused(f"variable {self._names[place]} gets its first value after it has been used")
        if not value.is_constant:
            raise Refused(f"the first value of variable {self._names[place]} is not a constant")
        self._initial[place] = value

    def tensor(self, key: object, name: str, tensor: Described) -> State:
        """A tensor that persists: at first all bytes are its zero point, and all else is zero."""
        first = {Type.INT8: tensor.zero_point if tensor.quantized else 0, Type.UINT8: -128}
        numbers = np.full(tensor.record.shape, first.get(tensor.type, 0), tensor.dtype.storage)
        return self._state(key, name, tensor, tensor.record.shape, numbers)

    def _resource(self, handle: Operand, like: Described, shape: tuple[int, ...]) -> State:
        place = _place(handle)
        value = self._initial.get(place)
        first = None
        if value is not None:
            if (value.type, value.shape) != (like.type, shape):
                raise Refused(_unlike(self._names[place], value.type, value.shape, like.type, shape))
            first = value.array
        return self._state(place, self._names[place], like, shape, first)

    def _state(
        self, key: object, name: str, like: Described, shape: tuple[int, ...], first: Array | None
    ) -> State:
        """A variable as it has been declared, or is declared now."""
        if key not in self._declared:
            with recording(self.trace):
                self._declared[key] = state(name, like.dtype, shape, first), like.type
        found, kind = self._declared[key]
        if (kind, found.shape) != (like.type, shape):
            raise Refused(_unlike(name, kind, found.shape, like.type, shape))
        return found


def _place(handle: Operand) -> int:
    if handle.type is not Type.RESOURCE:
        raise Refused(f"{handle.name} is {handle.type.label}, but must be the handle of a variable")
    return int(handle.raw)


def _unlike(name: str, kind: Type, shape: tuple[int, ...], other: Type, found: tuple[int, ...]) -> str:
    known, used = (f"{one.label}{list(extents)}" for one, extents in ((kind, shape), (other, found)))
    return f"variable {name} is {known}, but is used as {used}"
