"""`tj.from_jax`: JAX traces a function, and its jaxpr becomes a graph."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from tosajit.errors import InputError
from tosajit.frontends.jax.records import Function
from tosajit.graph import Graph


def from_jax(function: Callable[..., Any], *example_arguments: Any) -> Graph:
    """Make a graph of a function of JAX, by its jaxpr for arguments of such types and shapes.

    Arguments are arrays of JAX or NumPy, `jax.ShapeDtypeStruct`, or dictionaries, lists and tuples of them;
    each leaf is an input, called by its argument and its keys (`params/dense/kernel`), and results are called
    by their keys or places. What the function closes over is a constant: `tj.from_jax(lambda x:
    model.apply(params, x), x)`. It needs JAX (`pip install tosajit[jax]`).

    Raises `ModelError` with everything that has no form in TOSA.
    """
    from tosajit.frontends.jax.lowering import lowered

    return lowered(traced(function, example_arguments))


def traced(function: Callable[..., Any], arguments: Sequence[Any]) -> Function:
    """The records of a function."""
    from tosajit.frontends.jax.reader import read_function

    try:
        import jax
    except ImportError:
        raise InputError("JAX is not installed, and only it traces this: pip install tosajit[jax]") from None
    if not callable(function):
        raise InputError(f"{type(function).__name__} is no function: expected one that JAX can trace")
    closed, results = jax.make_jaxpr(function, return_shape=True)(*arguments)
    paths, _ = jax.tree_util.tree_flatten_with_path(tuple(arguments))
    names = _arguments(function, len(arguments))
    inputs = ["/".join([names[path[0].idx], *map(_key, path[1:])]) for path, _ in paths]
    outputs, _ = jax.tree_util.tree_flatten_with_path(results)
    return read_function(closed, inputs, [_result([*map(_key, path)]) for path, _ in outputs])


def _arguments(function: Callable[..., Any], count: int) -> list[str]:
    """What the arguments of a function are called."""
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        found = {}.values()
    names = [one.name for one in found if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    return [*names[:count], *(f"argument_{number}" for number in range(len(names), count))]


def _key(entry: Any) -> str:
    """A step of a path through dictionaries, sequences and other structures."""
    for name in ("key", "idx", "name"):
        if hasattr(entry, name):
            return str(getattr(entry, name))
    return str(entry)


def _result(path: list[str]) -> str:
    """What a result is called: by its keys; behind `output`, if these begin with a place."""
    return "/".join(path if path and not path[0].isdigit() else ["output", *path])
