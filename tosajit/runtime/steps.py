"""What the executor does between programs, step by step: here variables and CUSTOM."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

import numpy as np

from tiling.records import dataclass
from tosajit import customs
from tosajit.arrays import Array
from tosajit.errors import InputError
from tosajit.graph import Value
from tosajit.runtime.context import Context, Variable


@dataclass(slots=True)
class Frame:
    """One run of a block: its values, its context, and which variables it has declared."""

    values: dict[str, Array]
    constants: Mapping[str, Array]
    context: Context
    declared: set[str]

    def take(self, names: Sequence[str]) -> list[Array]:
        """The arrays of values or constants."""
        return [self.values[name] if name in self.values else self.constants[name] for name in names]


class Step(Protocol):
    """A part of a block that is carried out as a whole."""

    def run(self, frame: Frame) -> None:
        """Carry it out; results go to the frame."""


@dataclass(frozen=True, slots=True)
class Declare:
    """VARIABLE (TOSA 1.0.1 section 2.17.1)."""

    node: str
    """Its name, for messages."""
    variable: str
    value: Value

    def run(self, frame: Frame) -> None:
        """Allocate the variable, or find it again."""
        self.declare(frame.context, frame.declared)

    def declare(self, context: Context, declared: set[str]) -> None:
        """The same, with the variables that this run of the block has declared."""
        name, value = self.variable, self.value
        variable = Variable(name, value.dtype, value.shape or (), value.data)
        context.declare(self.node, variable, name in declared)
        declared.add(name)


@dataclass(frozen=True, slots=True)
class ReadVariable:
    """VARIABLE_READ (TOSA 1.0.1 section 2.17.3)."""

    node: str
    variable: str
    value: Value

    def run(self, frame: Frame) -> None:
        """Give a copy of what the variable holds."""
        value = self.value
        array = frame.context.read(self.node, self.variable, value.dtype, value.shape or ())
        frame.values[value.name] = array


@dataclass(frozen=True, slots=True)
class WriteVariable:
    """VARIABLE_WRITE (TOSA 1.0.1 section 2.17.2)."""

    node: str
    variable: str
    value: Value

    def run(self, frame: Frame) -> None:
        """Store a copy in the variable."""
        value = self.value
        frame.context.write(self.node, self.variable, value.dtype, frame.take([value.name])[0])


@dataclass(frozen=True, slots=True)
class Known:
    """CUSTOM (TOSA 1.0.1 section 2.15.1) whose meaning tosajit knows."""

    node: str
    operator: str
    attributes: bytes
    inputs: tuple[str, ...]
    outputs: tuple[Value, ...]
    is_cut: bool

    def run(self, frame: Frame) -> None:
        """Compute it."""
        function = customs.meaning(self.operator)
        assert function is not None
        call = partial(function, attributes=self.attributes)
        call_custom(frame, self.node, call, self.inputs, self.outputs, self.is_cut)


def call_custom(
    frame: Frame,
    node: str,
    call: Callable[..., Any],
    inputs: Sequence[str],
    outputs: Sequence[Value],
    is_cut: bool,
) -> None:
    """Call a function on copies of the inputs, and check what it gives."""
    given = call(*(array.copy() for array in frame.take(inputs)))
    arrays = list(given) if isinstance(given, tuple | list) else [given]
    if len(arrays) != len(outputs):
        raise InputError(f"{node} (CUSTOM): gave {len(arrays)} arrays, but has {len(outputs)} outputs")
    for value, array in zip(outputs, map(np.asarray, arrays), strict=True):
        if not _fits(array, value, is_cut) or array.dtype != value.dtype.storage:
            raise InputError(
                f"{node} (CUSTOM) {value.name}: gave {array.dtype}{list(array.shape)}, "
                f"but the output is {value.type}"
            )
        frame.values[value.name] = np.array(array, order="C", copy=True)


def _fits(array: Array, value: Value, is_cut: bool) -> bool:
    if array.shape == value.shape:
        return True
    shape = value.shape or ()
    shrinks = all(extent <= most for extent, most in zip(array.shape, shape, strict=False))
    return is_cut and array.ndim == len(shape) and shrinks
