"""What a GraphDef says, as frozen records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from tosajit.arrays import Array
from tosajit.frontends.tensorflow.schema import Type

Shape: TypeAlias = tuple[int, ...]
"""Extents; -1 is one that is left open."""


@dataclass(frozen=True, slots=True)
class AnyShape:
    """A shape of which not even the rank is known."""


@dataclass(frozen=True, slots=True)
class FunctionName:
    """The name of a function, as the value of an attribute."""

    name: str


Single: TypeAlias = str | int | float | bool | Type | AnyShape | FunctionName
Attribute: TypeAlias = Single | Array | tuple[Single, ...] | tuple[Shape, ...] | tuple[Array, ...] | None
"""The value of an attribute; a shape is a tuple of integers, as a list of those is; None is a placeholder."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A result of a node, or an argument of a function."""

    node: str
    place: int = 0

    def __str__(self) -> str:
        return f"{self.node}:{self.place}" if self.place else self.node


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A use of an operator."""

    name: str
    op: str
    inputs: tuple[Reference, ...]
    after: tuple[str, ...]
    """Nodes that have to run before this one."""
    attributes: Mapping[str, Attribute]
    place: int


@dataclass(frozen=True, slots=True, eq=False)
class Function:
    """A graph that nodes call."""

    name: str
    arguments: tuple[str, ...]
    results: tuple[Reference, ...]
    after: tuple[str, ...]
    """Nodes that do something beside giving results."""
    nodes: tuple[Node, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """A whole file."""

    nodes: tuple[Node, ...]
    functions: Mapping[str, Function]
    size: int
    """How many bytes it has."""
