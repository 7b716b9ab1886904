"""The records of a function as JSON: so a jaxpr can be kept, and lowered where there is no JAX."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import ml_dtypes
import numpy as np

from tosajit.frontends.jax.records import Equation, Function, Jaxpr, Parameter, Value

Array = np.ndarray[Any, Any]


def from_array(array: Array) -> dict[str, Any]:
    """The elements of an array."""
    data = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
    return {"array": data, "type": array.dtype.name, "shape": list(array.shape)}


def to_array(written: Mapping[str, Any]) -> Array:
    """The opposite of `from_array`."""
    kind = np.dtype(getattr(ml_dtypes, written["type"], written["type"]))
    return np.frombuffer(base64.b64decode(written["array"]), kind).reshape(written["shape"])


def from_function(function: Function) -> dict[str, Any]:
    """A function."""
    return {
        "inputs": function.inputs, "outputs": function.outputs, "size": function.size,
        "equations": function.equations, "body": _from_jaxpr(function.body),
    }  # fmt: skip


def to_function(written: Mapping[str, Any]) -> Function:
    """The opposite of `from_function`."""
    return Function(
        _to_jaxpr(written["body"]), tuple(written["inputs"]), tuple(written["outputs"]),
        written["size"], written["equations"],
    )  # fmt: skip


def _from_jaxpr(jaxpr: Jaxpr) -> dict[str, Any]:
    return {
        "inputs": [_from_atom(one) for one in jaxpr.inputs],
        "constants": {number: from_array(array) for number, array in jaxpr.constants.items()},
        "equations": [_from_equation(one) for one in jaxpr.equations],
        "outputs": [_from_atom(one) for one in jaxpr.outputs],
    }


def _to_jaxpr(written: Mapping[str, Any]) -> Jaxpr:
    return Jaxpr(
        tuple(_to_value(one) for one in written["inputs"]),
        {int(number): to_array(one) for number, one in written["constants"].items()},
        tuple(map(_to_equation, written["equations"])),
        tuple(map(_to_atom, written["outputs"])),
    )


def _from_equation(one: Equation) -> dict[str, Any]:
    return {
        "primitive": one.primitive, "inputs": [_from_atom(atom) for atom in one.inputs],
        "outputs": [_from_atom(atom) for atom in one.outputs],
        "parameters": {name: _from_parameter(value) for name, value in one.parameters.items()},
        "scope": one.scope, "source": one.source,
    }  # fmt: skip


def _to_equation(written: Mapping[str, Any]) -> Equation:
    parameters = {name: _to_parameter(value) for name, value in written["parameters"].items()}
    return Equation(
        written["primitive"], tuple(map(_to_atom, written["inputs"])),
        tuple(map(_to_value, written["outputs"])), parameters, written["scope"], written["source"],
    )  # fmt: skip


def _from_atom(atom: Value | Array) -> Any:
    return [atom.number, atom.type, list(atom.shape)] if isinstance(atom, Value) else from_array(atom)


def _to_atom(written: Any) -> Value | Array:
    return to_array(written) if isinstance(written, dict) else _to_value(written)


def _to_value(written: Any) -> Value:
    number, kind, shape = written
    return Value(number, kind, tuple(shape))


def _from_parameter(value: Parameter) -> Any:
    match value:
        case Jaxpr():
            return {"jaxpr": _from_jaxpr(value)}
        case np.ndarray():
            return from_array(value)
        case tuple():
            return [_from_parameter(one) for one in value]
        case Mapping():
            return {"names": {name: _from_parameter(one) for name, one in value.items()}}
    return value


def _to_parameter(written: Any) -> Parameter:
    match written:
        case {"jaxpr": jaxpr}:
            return _to_jaxpr(jaxpr)
        case {"names": names}:
            return {name: _to_parameter(one) for name, one in names.items()}
        case dict():
            return to_array(written)
        case list():
            return tuple(map(_to_parameter, written))
    found: Parameter = written
    return found
