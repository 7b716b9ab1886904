"""Programs written by hand, as `torch.export` would give them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tosajit.frontends.torch.records import Argument, Graph, Held, Node, Program, Reference, Type, Value

Array = np.ndarray[Any, Any]
REFERENCES = {name: Reference(name) for name in "abcdefghijklmnopqrstuvwxyz"}


def type_of(array: Array) -> Type:
    return Type(array.dtype.name)


def node(name: str, target: str, like: Array, module: str = "", **arguments: Argument) -> Node:
    """A node whose result has the type and shape of an array; letters are the results of that name."""
    given = {key: _argument(one) for key, one in arguments.items()}
    return Node(name, target, given, (Value(name, type_of(like), like.shape),), module)


def _argument(value: Argument) -> Argument:
    if isinstance(value, tuple):
        return tuple(map(_argument, value))
    return REFERENCES.get(value, value) if isinstance(value, str) else value


def program(
    nodes: list[Node],
    results: str,
    inputs: Mapping[str, Array],
    held: Mapping[str, Array] | None = None,
) -> Program:
    """A program: its inputs have the types and shapes of arrays, its results are letters."""
    taken = {**(held or {}), **inputs}
    values = tuple(Value(name, type_of(one), one.shape) for name, one in taken.items())
    graph = Graph(tuple(nodes), values, tuple(REFERENCES[name] for name in results))
    kept = {name: Held(f"layer.{name}", type_of(one), one) for name, one in (held or {}).items()}
    return Program(graph, kept, {place: f"output_{place}" for place in range(len(results))}, size=1000)
