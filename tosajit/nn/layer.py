"""What makes a function of traced tensors a layer: it takes arrays, too, and its faults have its name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import lru_cache, wraps
from typing import Any, ParamSpec

import numpy as np

from tosajit.arrays import Array
from tosajit.dtypes import INT32
from tosajit.errors import TraceError
from tosajit.frontends.frame import Refused
from tosajit.tracing.compiled import Jitted, Settings
from tosajit.tracing.numbers import exactly, typed, weak
from tosajit.tracing.recorder import Trace, current_trace
from tosajit.tracing.tensor import Tensor

P = ParamSpec("P")
KEPT = 256
"""How many layers with their settings are kept compiled for arrays."""

Statics = tuple[tuple[str, Any], ...]


def layer(
    *others: str, indices: str = "", group: str = "nn"
) -> Callable[[Callable[P, Any]], Callable[P, Any]]:
    """Let a function of a tensor take arrays; `others` and `indices` name further tensors that it takes.

    Lists and numbers among them take the type of the first, indices become INT32. The rest are settings.
    Outside of a trace, the function is compiled for its settings, and run.
    """

    def decorate(function: Callable[P, Any]) -> Callable[P, Any]:
        signature = inspect.signature(function)
        name = f"{group}.{function.__name__}"
        names = (next(iter(signature.parameters)), *others, *([indices] if indices else []))

        @wraps(function)
        def called(*args: P.args, **kwargs: P.kwargs) -> Any:
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            given = {key: bound.arguments.pop(key) for key in dict.fromkeys(names)}
            settings = {key: _frozen(one) for key, one in bound.arguments.items()}
            tensors = _tensors(name, given, indices)
            trace = current_trace()
            if trace is not None:
                placed = {key: _placed(trace, one) for key, one in tensors.items()}
                return _said(name, function, {**given, **placed, **settings})
            statics = tuple(settings.items())
            missing = tuple(key for key in given if key not in tensors)
            run = _compiled(name, function, (*tensors,), missing, statics, repr(statics))
            return run(*tensors.values())

        return called

    return decorate


@lru_cache(KEPT)
def _compiled(
    name: str,
    function: Callable[..., Tensor],
    given: tuple[str, ...],
    missing: tuple[str, ...],
    statics: Statics,
    _: str,
) -> Jitted[Any]:
    """A layer with its settings; their text is part of the key, since 1, 1.0 and True are equal."""

    def run(*tensors: Tensor) -> Tensor:
        named = dict(zip(given, tensors, strict=True))
        return _said(name, function, {**dict.fromkeys(missing), **named, **dict(statics)})

    run.__name__ = name
    return Jitted(run, Settings())


def _said(name: str, function: Callable[..., Tensor], arguments: Mapping[str, Any]) -> Tensor:
    """What a function gives; what a part that front ends share refuses is the fault of the layer."""
    try:
        return function(**arguments)
    except Refused as refused:
        remedy = f"; {refused.remedy}" if refused.remedy else ""
        raise TraceError(f"{name}: {refused.reason}{remedy}") from None


def _tensors(name: str, given: Mapping[str, Any], indices: str) -> dict[str, Array | Tensor]:
    """The tensors that are given, by the names of parameters: traced ones, and arrays."""
    first = next(iter(given))
    found: dict[str, Array | Tensor] = {}
    for key, value in given.items():
        match value:
            case None if key != first:
                continue
            case Tensor():
                found[key] = value
            case _ if key == indices:
                found[key] = _whole(f"{name} {key}", value)
            case np.ndarray() | np.generic():
                found[key] = np.asarray(value)
            case list() | tuple() | bool() | int() | float() if key != first:
                found[key] = _beside(value, found[first])
            case _:
                raise TraceError(f"{name} {key}: expected an array, got {type(value).__name__}")
    return found


def _whole(where: str, value: Any) -> Array:
    """Indices of any integers as those of 32 bits."""
    array = np.asarray(value)
    found = exactly(array, INT32.storage) if array.dtype.kind in "iu" else None
    if found is None:
        raise TraceError(f"{where}: expected integers of 32 bits, got {array.dtype}{list(array.shape)}")
    return found


def _beside(value: Any, first: Array | Tensor) -> Array:
    """Numbers and lists in the type of the first tensor; truths stay what they are."""
    if np.asarray(value, object).size and all(
        isinstance(one, bool) for one in np.ravel(np.asarray(value, object))
    ):
        return np.asarray(value, np.bool_)
    return weak(value, first.dtype if isinstance(first, Tensor) else typed(first)[1])


def _placed(trace: Trace, value: Array | Tensor) -> Tensor:
    return trace.own(value) if isinstance(value, Tensor) else trace.constant(*typed(value))


def _frozen(value: Any) -> Any:
    """A setting that can be a key: arrays and lists become tuples."""
    match value:
        case np.ndarray() | np.generic():
            return _frozen(value.tolist())
        case list() | tuple():
            return tuple(_frozen(one) for one in value)
    return value
