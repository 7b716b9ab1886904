"""Variables that persist between the runs of a graph."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import field
from sys import getrefcount
from typing import Any, Protocol

import numpy as np

from tiling.records import dataclass
from tiling.words import plain
from tosajit.arrays import Array
from tosajit.dtypes import DType
from tosajit.errors import InputError, RequireError


class Keeper(Protocol):
    """What knows better than some variables which arrays they hold."""

    def settle(self) -> None:
        """Give these variables their arrays, and keep them no longer."""


class Variable:
    """A variable tensor; `data` is None until it is written."""

    __slots__ = ("_array", "dtype", "keeper", "name", "shape")

    def __init__(self, name: str, dtype: DType, shape: tuple[int, ...], array: Array | None = None) -> None:
        self.name, self.dtype, self.shape = name, dtype, shape
        self._array, self.keeper = array, None

    _array: Array | None
    keeper: Keeper | None

    @property
    def array(self) -> Array | None:
        """The array that it holds."""
        if self.keeper is not None:
            self.keeper.settle()
        return self._array

    @array.setter
    def array(self, given: Array) -> None:
        if self.keeper is not None:
            self.keeper.settle()
        self._array = given

    def take(self, array: Array) -> None:
        """Hold what its keeper gives it."""
        self._array = array

    @property
    def data(self) -> Array | None:
        """What it holds, not copied; what is assigned is copied, as programs will write to it."""
        return self.array

    @data.setter
    def data(self, given: Any) -> None:
        what = f"{given.dtype}{list(given.shape)}" if isinstance(given, np.ndarray) else type(given).__name__
        if what != f"{self.dtype.storage}{list(self.shape)}":
            form = f"{self.dtype.name}{list(self.shape)}, stored as {self.dtype.storage}"
            raise InputError(f"variable {self.name}: it is {form}, but is given {what}")
        self.array = np.array(given, order="C")

    def copy(self) -> Variable:
        """A variable that holds the same, apart from this one."""
        return Variable(self.name, self.dtype, self.shape, None if self.array is None else self.array.copy())


class Room:
    """Arrays that a program writes to, and the parts of them that variables hold then."""

    __slots__ = ("_references", "every", "holds", "made")

    def __init__(self, made: list[Array], holds: list[Array]) -> None:
        self.made, self.holds = made, holds
        self.every = [*made, *(one for one, whole in zip(holds, made, strict=True) if one is not whole)]
        self._references = self.references()

    def references(self) -> list[int]:
        """How often each of the arrays is referred to."""
        return [*map(getrefcount, self.every)]

    @property
    def is_free(self) -> bool:
        """Whether nobody else has the arrays; without the interpreter's lock no number says that."""
        return COUNTED and self.references() == self._references


COUNTED = bool(getattr(sys, "_is_gil_enabled", lambda: True)())
"""Whether numbers of references say who has an object."""


@dataclass(frozen=True, slots=True)
class Held:
    """The variables that a program reads, and those that it writes."""

    read: list[Variable]
    written: list[Variable]
    spare: list[Room] = field(default_factory=list)
    """What calls have written to, the latest last; each is here once, so that one call has it at a time."""

    def contents(self) -> list[Array]:
        """What those that are read hold, not copied."""
        return [variable.array for variable in self.read]  # type: ignore[misc]  # they have been written

    def room(self) -> Room | None:
        """Arrays for what is to be written, that nobody else has; nothing if there are none."""
        try:
            room = self.spare.pop(0)
        except IndexError:
            return None
        if room.is_free:
            return room
        if len(self.spare) < 2:
            self.spare.append(room)
        return None

    def hold(self, room: Room) -> None:
        """Give the variables that are written their arrays."""
        for variable, array in zip(self.written, room.holds):  # noqa: B905  (as many; strict= costs its time)
            variable.array = array


@dataclass(frozen=True, slots=True)
class Call:
    """What a program has been run on at first, and how often it has been run."""

    arrays: Sequence[Array]
    times: int


@dataclass(repr=False)
class Context:
    """The variables of one environment: only runs in the same context see them."""

    variables: dict[str, Variable] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)
    """Variables that the execution at hand has declared."""
    held: dict[object, Held] = field(default_factory=dict)
    """The variables of programs that are all of a block, once these have been checked."""
    log: dict[Any, Call] | None = None
    """If there is one, which programs run."""

    def execution(self) -> Context:
        """The same variables for one execution, which has declared none of them yet."""
        return Context(self.variables, log=self.log)

    def recording(self) -> Context:
        """Copies of the variables, with a log."""
        return Context({name: one.copy() for name, one in self.variables.items()}, log={})

    def note(self, runner: object, arrays: Sequence[Array]) -> None:
        """Log that a program runs on these arrays."""
        if self.log is not None:
            before = self.log.get(runner)
            self.log[runner] = Call(arrays, 1) if before is None else Call(before.arrays, before.times + 1)

    def __getitem__(self, name: str) -> Array:
        """A copy of what a variable holds."""
        data = self.variables[name].data
        if data is None:
            raise KeyError(f"variable {name} has not been written")
        return data.copy()

    def __repr__(self) -> str:
        held = ", ".join(
            f"{plain(v.name)}: {v.dtype.name}{list(v.shape)}{'' if v.data is not None else ' (not written)'}"
            for v in self.variables.values()
        )
        return f"<Context with {held or 'no variables'}>"

    def declare(self, node: str, variable: Variable, again: bool) -> None:
        """Carry out VARIABLE (TOSA 1.0.1 section 2.17.1)."""
        if again:
            text = f"{variable.name} is declared twice [TOSA 1.0.1 section 2.17.1]"
            raise RequireError(f"{node} (VARIABLE): {text}")
        if variable.name not in self.variables:
            self.variables.setdefault(variable.name, variable.copy())
        self.seen.add(variable.name)

    def write(self, node: str, name: str, dtype: DType, array: Array) -> None:
        """Carry out VARIABLE_WRITE (TOSA 1.0.1 section 2.17.2)."""
        self.writable(node, name, dtype, array.shape).array = array.copy()

    def writable(self, node: str, name: str, dtype: DType, shape: tuple[int, ...]) -> Variable:
        """The variable to write such a tensor to."""
        where = f"{node} (VARIABLE_WRITE)"
        if name not in self.seen:
            raise RequireError(
                f"{where}: {name} is written before it is declared [TOSA 1.0.1 section 2.17.2]"
            )
        return self._match(where, name, dtype, shape, "2.17.2")

    def read(self, node: str, name: str, dtype: DType, shape: tuple[int, ...]) -> Array:
        """Carry out VARIABLE_READ (TOSA 1.0.1 section 2.17.3)."""
        data = self.readable(node, name, dtype, shape).data
        assert data is not None
        return data.copy()

    def readable(
        self, node: str, name: str, dtype: DType, shape: tuple[int, ...], will_hold: bool = False
    ) -> Variable:
        """The variable to read such a tensor from; `will_hold` says that it is written before that."""
        where = f"{node} (VARIABLE_READ)"
        if name not in self.variables:
            raise RequireError(f"{where}: {name} is read before it is declared [TOSA 1.0.1 section 2.17.3]")
        variable = self._match(where, name, dtype, shape, "2.17.3")
        if variable.data is None and not will_hold:
            raise RequireError(f"{where}: {name} is read before it is written [TOSA 1.0.1 section 2.17.3]")
        return variable

    def _match(self, where: str, name: str, dtype: DType, shape: tuple[int, ...], section: str) -> Variable:
        variable = self.variables[name]
        if variable.shape != shape or variable.dtype is not dtype:
            raise RequireError(
                f"{where}: {dtype.name}{list(shape)} does not fit {name}, which is "
                f"{variable.dtype.name}{list(variable.shape)} [TOSA 1.0.1 section {section}]"
            )
        return variable


def check_context(given: object) -> None:
    """Raise `InputError` for what is no context."""
    if not isinstance(given, Context):
        text = f"context is of type {type(given).__name__}, but must be a tj.Context"
        raise InputError(f"{text}: executable.context() makes one")
