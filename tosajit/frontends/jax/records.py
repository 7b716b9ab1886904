"""What a jaxpr says, as frozen records that know no JAX."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from tosajit.arrays import Array

Parameter: TypeAlias = (
    "bool | int | float | str | Array | Jaxpr | tuple[Parameter, ...] | Mapping[str, Parameter] | None"
)
"""A parameter of an equation; types are texts, and None stands for what says nothing of results."""


@dataclass(frozen=True, slots=True)
class Value:
    """A variable: its number, and the type and shape of what it holds."""

    number: int
    type: str
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Equation:
    """A use of a primitive."""

    primitive: str
    inputs: tuple[Value | Array, ...]
    """Variables, and numbers that are written in their places."""
    outputs: tuple[Value, ...]
    parameters: Mapping[str, Parameter]
    scope: str
    """The modules that it is in, such as `MLP/Dense_0`."""
    source: str
    """Where the user's own code asks for it."""


@dataclass(frozen=True, slots=True, eq=False)
class Jaxpr:
    """Equations in order, and what they begin with."""

    inputs: tuple[Value, ...]
    constants: Mapping[int, Array]
    """The elements of variables that are known, by their numbers."""
    equations: tuple[Equation, ...]
    outputs: tuple[Value | Array, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Function:
    """A whole function with the names of its arguments and results."""

    body: Jaxpr
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    size: int
    """How many bytes its constants have."""
    equations: int
    """How many equations it has, those of all jaxprs inside of it."""
