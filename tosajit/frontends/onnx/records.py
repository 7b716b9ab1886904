"""What an ONNX model says, as frozen records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from tiling.records import dataclass
from tosajit.arrays import Array
from tosajit.frontends.onnx.schema import Type

Shape: TypeAlias = "tuple[int | str, ...]"
"""Extents; a text is the name of one that is left open, empty if it has none."""

Elements: TypeAlias = "Array | Type"
"""The elements of a constant; of what NumPy has no type for, such as texts, the type alone."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """The name of an attribute of the function, as the value of an attribute of one of its nodes."""

    name: str


Attribute: TypeAlias = (
    "str | int | float | Array | Type | Graph | Parameter | "
    "tuple[str, ...] | tuple[int, ...] | tuple[float, ...] | None"
)


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A use of an operator."""

    name: str
    op: str
    domain: str
    inputs: tuple[str, ...]
    """The names of its operands; one that is left out has none."""
    outputs: tuple[str, ...]
    attributes: Mapping[str, Attribute]
    place: int


@dataclass(frozen=True, slots=True)
class Value:
    """An input or output: its type and shape are None where the file does not say them."""

    name: str
    type: Type | None
    shape: Shape | None


@dataclass(frozen=True, slots=True, eq=False)
class Graph:
    """Nodes in order, and what they begin with."""

    nodes: tuple[Node, ...]
    constants: Mapping[str, Elements]
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Function:
    """Nodes that other nodes call by a name of a domain."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Attribute]
    """What nodes may give, and the values of those that they need not."""
    nodes: tuple[Node, ...]
    opsets: Mapping[str, int]


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """A whole file."""

    graph: Graph
    functions: Mapping[tuple[str, str], Function]
    """By domain and name."""
    opsets: Mapping[str, int]
    """The version of each domain; that of ONNX itself is empty."""
    size: int
    """How many bytes it has."""
    operators: int
    """How many nodes it has, those of all graphs and functions."""
