"""What an exported program says, as frozen records that know neither `torch` nor TOSA."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

import ml_dtypes
import numpy as np

from tosajit.arrays import Array


class Type(Enum):
    """The types of elements, as `torch` calls them."""

    FLOAT32 = "float32"
    FLOAT64 = "float64"
    FLOAT16 = "float16"
    BFLOAT16 = "bfloat16"
    FLOAT8E4M3FN = "float8_e4m3fn"
    FLOAT8E5M2 = "float8_e5m2"
    BOOL = "bool"
    INT8 = "int8"
    INT16 = "int16"
    INT32 = "int32"
    INT64 = "int64"
    UINT8 = "uint8"
    UINT16 = "uint16"
    UINT32 = "uint32"
    UINT64 = "uint64"
    COMPLEX64 = "complex64"
    COMPLEX128 = "complex128"

    @property
    def label(self) -> str:
        """What users call it."""
        return self.value

    @property
    def storage(self) -> np.dtype[np.generic]:
        """How NumPy has it."""
        special = _SPECIAL.get(self.value)
        return np.dtype(self.value) if special is None else np.dtype(special)

    @property
    def is_float(self) -> bool:
        """Whether it has fractions."""
        return "float" in self.value

    @property
    def is_complex(self) -> bool:
        """Whether it has imaginary parts."""
        return "complex" in self.value


_SPECIAL = {
    "bfloat16": ml_dtypes.bfloat16,
    "float8_e4m3fn": ml_dtypes.float8_e4m3fn,
    "float8_e5m2": ml_dtypes.float8_e5m2,
}


@dataclass(frozen=True, slots=True)
class Reference:
    """A tensor by its name: an input of the graph, a parameter or a result of a node."""

    name: str


Argument: TypeAlias = "Reference | Graph | Type | str | bool | int | float | complex | Arguments | None"
Arguments: TypeAlias = "tuple[Argument, ...]"
"""Values of lists; devices, layouts and memory formats are texts; symbolic sizes are the numbers they had."""


@dataclass(frozen=True, slots=True)
class Value:
    """A tensor; what is none, such as a size, has no type. An extent that depends on elements is -1."""

    name: str
    type: Type | None = None
    shape: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A use of an operator."""

    name: str
    target: str
    """The operator with its overload, such as `aten.conv2d.default`."""
    arguments: Mapping[str, Argument]
    """By the names that the operator's schema has, in its order; those that are not given are left out."""
    outputs: tuple[Value, ...]
    """Its results; the elements of a list are results of their own."""
    module: str = ""
    """The path of the module that it belongs to."""
    place: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Graph:
    """Nodes in order, and what they begin with."""

    nodes: tuple[Node, ...]
    inputs: tuple[Value, ...]
    outputs: tuple[Argument, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Held:
    """A parameter, buffer or constant of the module."""

    label: str
    """Its path in the module."""
    type: Type
    elements: Array


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """A whole exported program."""

    graph: Graph
    held: Mapping[str, Held]
    """What inputs of the graph are that users do not give, by their names in it."""
    results: Mapping[int, str]
    """The places of outputs of the graph that users get, with what they are called."""
    mutations: Mapping[int, str] = field(default_factory=dict)
    """The places of outputs of the graph that buffers hold from then on: inputs of the graph, by names."""
    fixed: tuple[str, ...] = ()
    """What is said to be dynamic, and is as it was in the example: `x.shape[0]`, say."""
    trees: tuple[str, str] = ("", "")
    """How inputs and outputs are nested, in the JSON that `torch` writes."""
    size: int = 0
    """How many bytes it has."""
