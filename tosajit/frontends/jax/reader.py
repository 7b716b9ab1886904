"""From a jaxpr to records: the only place that knows what JAX's own objects look like."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from tosajit.arrays import Array
from tosajit.frontends.jax.records import Equation, Function, Jaxpr, Parameter, Value

_OURS = str(Path(__file__).parent)


def read_function(closed: Any, inputs: Sequence[str], outputs: Sequence[str]) -> Function:
    """The records of a closed jaxpr, whose arguments and results have names."""
    reader = _Reader()
    body = reader.closed(closed)
    return Function(body, tuple(inputs), tuple(outputs), reader.size, reader.equations)


class _Reader:
    """Reads each jaxpr once, however often it is called."""

    def __init__(self) -> None:
        import jax
        from jax.extend import core

        self.core = core
        self.libraries = tuple(str(Path(one).parent) for one in (jax.__file__, *_flax()))
        self.size = self.equations = 0
        self._numbers = count()
        self._values: dict[Any, Value] = {}
        self._arrays: dict[int, Array] = {}
        self._read: dict[int, Jaxpr] = {}
        self._kept: list[Any] = []
        """What `id` has been taken of: it lives as long as the numbers are used."""

    def closed(self, closed: Any) -> Jaxpr:
        """A jaxpr with its constants."""
        return self._once(closed, closed.jaxpr, closed.consts)

    def _once(self, key: Any, jaxpr: Any, constants: Sequence[Any]) -> Jaxpr:
        found = self._read.get(id(key))
        if found is None:
            self._kept.append(key)
            found = self._read[id(key)] = self._jaxpr(jaxpr, constants)
        return found

    def _jaxpr(self, jaxpr: Any, constants: Sequence[Any]) -> Jaxpr:
        pairs = zip(jaxpr.constvars, constants, strict=True)
        known = {self._value(variable).number: self._array(held) for variable, held in pairs}
        inputs = tuple(map(self._value, jaxpr.invars))
        equations = tuple(map(self._equation, jaxpr.eqns))
        return Jaxpr(inputs, known, equations, tuple(map(self._atom, jaxpr.outvars)))

    def _equation(self, equation: Any) -> Equation:
        self.equations += 1
        return Equation(
            equation.primitive.name,
            tuple(map(self._atom, equation.invars)),
            tuple(map(self._value, equation.outvars)),
            {name: self._parameter(value) for name, value in equation.params.items()},
            str(equation.source_info.name_stack),
            self._source(equation.source_info.traceback),
        )

    def _atom(self, atom: Any) -> Value | Array:
        if isinstance(atom, self.core.Literal):
            return np.asarray(atom.val, atom.aval.dtype)
        return self._value(atom)

    def _value(self, variable: Any) -> Value:
        found = self._values.get(variable)
        if found is None:
            aval = variable.aval
            kind, shape = str(getattr(aval, "dtype", aval)), getattr(aval, "shape", ())
            found = self._values[variable] = Value(next(self._numbers), kind, tuple(map(int, shape)))
        return found

    def _array(self, held: Any) -> Array:
        """The elements of what a function holds: those of JAX where they lie on this machine, as a view."""
        found = self._arrays.get(id(held))
        if found is None:
            self._kept.append(held)
            found = self._arrays[id(held)] = np.asarray(held)
            self.size += found.nbytes
        return found

    def _parameter(self, value: Any) -> Parameter:
        match value:
            case Enum():
                return value.name
            case None | bool() | int() | float() | str():
                return value
            case np.bool_() | np.integer() | np.floating():
                found: bool | int | float = value.item()
                return found
            case np.ndarray():
                return value
            case self.core.ClosedJaxpr():
                return self.closed(value)
            case self.core.Jaxpr():
                return self._once(value, value, ())
            case Mapping():
                return {str(name): self._parameter(one) for name, one in value.items()}
            case tuple() | list():
                names = getattr(value, "_fields", None)
                each = tuple(map(self._parameter, value))
                return each if names is None else dict(zip(names, each, strict=True))
        return str(value) if isinstance(value, np.dtype) or _is_type(value) else None

    def _source(self, traceback: Any) -> str:
        """Where the user's code was when it asked for an equation."""
        for frame in () if traceback is None else traceback.frames:
            path = frame.file_name
            if not path.startswith(("<", *self.libraries, _OURS)):
                return f"{Path(path).name}:{frame.line_num} ({frame.function_name})"
        return ""


def _is_type(value: Any) -> bool:
    """Whether something is a type of elements that NumPy does not know, such as that of keys."""
    return hasattr(value, "itemsize") and hasattr(value, "name") and not hasattr(value, "shape")


def _flax() -> tuple[str, ...]:
    """The file of Flax, where it is in use."""
    from sys import modules

    found = getattr(modules.get("flax"), "__file__", None)
    return () if found is None else (found,)
