"""What the executor does between programs, step by step: here variables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from tosajit.arrays import Array
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
        name, value = self.variable, self.value
        variable = Variable(name, value.dtype, value.shape or (), value.data)
        frame.context.declare(self.node, variable, name in frame.declared)
        frame.declared.add(name)


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
