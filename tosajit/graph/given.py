"""What is given where a graph belongs."""

from __future__ import annotations

from tosajit.errors import CompileError, TosaError
from tosajit.graph.graph import Graph


def as_graph(given: object, wanted: str = "a graph", error: type[TosaError] = CompileError) -> Graph:
    """The graph that was given; raises `error`, with the remedy, for anything else."""
    if isinstance(given, Graph):
        return given
    kind = "a jitted function" if _is_jitted(given) else type(given).__name__
    raise error(f"expected {wanted}, got {kind}: {_remedy(given)}")


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
