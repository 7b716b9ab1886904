"""Traced functions: JAX is imported here and in the reader, and makes their jaxprs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tosajit.errors import InputError
from tosajit.frontends.jax.records import Function


@dataclass(frozen=True)
class Traced:
    """A function that has been traced, and what the leaves of its arguments and results are."""

    function: Function
    takes: Any
    gives: Any
    """Both as `jax.tree` has them."""


def traced(function: Callable[..., Any], arguments: Sequence[Any]) -> Traced:
    """The records of a function, traced for arguments of such types and shapes."""
    from tosajit.frontends.jax.reader import read_function

    try:
        import jax
    except ImportError:
        raise InputError("JAX is not installed, and only it traces this: pip install tosajit[jax]") from None
    if not callable(function):
        raise InputError(f"{type(function).__name__} is no function: expected one that JAX can trace")
    closed, results = jax.make_jaxpr(function, return_shape=True)(*arguments)
    paths, takes = jax.tree_util.tree_flatten_with_path(tuple(arguments))
    names = _arguments(function, len(arguments))
    inputs = ["/".join([names[path[0].idx], *map(_key, path[1:])]) for path, _ in paths]
    outputs, gives = jax.tree_util.tree_flatten_with_path(results)
    names = [_result([*map(_key, path)]) for path, _ in outputs]
    return Traced(read_function(closed, inputs, names), takes, gives)


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
