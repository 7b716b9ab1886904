"""What is given where a graph belongs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tosajit.errors import CompileError, TosaError
from tosajit.graph.graph import Graph


def as_graph(given: object, wanted: str = "a graph", error: type[TosaError] = CompileError) -> Graph:
    """The graph that was given; raises `error`, with the remedy, for anything else."""
    if isinstance(given, Graph):
        return given
    kind = "a jitted function" if _is_jitted(given) else type(given).__name__
    raise error(f"expected {wanted}, got {kind}: {_remedy(given)}")


def graph_for(
    given: object,
    example_inputs: Sequence[Any] | None,
    wanted: str = "a graph",
    error: type[TosaError] = CompileError,
) -> Graph:
    """The graph that was given; of a jitted function the one for these arguments, or for its only call."""
    if not _is_jitted(given):
        if example_inputs is not None:
            raise error(f"example_inputs are for a jitted function, but {type(given).__name__} is given")
        return as_graph(given, wanted, error)
    function: Any = given
    if example_inputs is not None:
        alone = isinstance(example_inputs, np.ndarray)
        found: Graph = function.graph(*([example_inputs] if alone else example_inputs))
        return found
    known: tuple[Graph, ...] = function.graphs
    if len(known) != 1:
        name = getattr(given, "__name__", "function")
        how = "has not been called" if not known else f"has {len(known)} graphs"
        raise error(f"{name} {how}: give the arguments that are meant, as in example_inputs=(x,)")
    return known[0]


def _remedy(given: object) -> str:
    if _is_jitted(given):
        name = getattr(given, "__name__", "function")
        return f"{name}.graph(*arguments) gives its graph for such arguments"
    if isinstance(getattr(given, "graph", None), Graph):
        return "pass its .graph"
    if callable(given):
        return "compile it with tj.jit, or make a graph of it with tj.trace(function, *arguments)"
    return "get one from tj.trace or tj.load"


def _is_jitted(given: object) -> bool:
    return all(callable(getattr(given, name, None)) for name in ("graph", "executable"))
