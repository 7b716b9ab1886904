"""Programs with their inputs and results as JSON, so that operators are tested where there is no `torch`.

    PYTHONPATH=. .venv-torch/bin/python tests/torch_cases/running.py golden 1

writes them again: one case for each operator, of those in `cases.py`.
"""

from __future__ import annotations

import base64
import json
import lzma
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tosajit.frontends.torch.records import Argument, Graph, Held, Node, Program, Reference, Type, Value

Array = np.ndarray[Any, Any]
PATH = Path(__file__).parents[1] / "data" / "torch_programs.json.xz"


@dataclass(frozen=True)
class Golden:
    """A program with what it takes and gives."""

    name: str
    program: Program
    inputs: tuple[Array, ...]
    results: tuple[Array, ...]


def load() -> tuple[Golden, ...]:
    """All of them."""
    rows = json.loads(lzma.decompress(PATH.read_bytes()))
    return tuple(
        Golden(
            name, _program(row["program"]), *(tuple(map(_array, row[key])) for key in ("inputs", "results"))
        )
        for name, row in rows.items()
    )


def save(found: Sequence[Golden]) -> None:
    """Write them."""
    rows = {
        one.name: {
            "program": _of_program(one.program),
            "inputs": [_of_array(array) for array in one.inputs],
            "results": [_of_array(array) for array in one.results],
        }
        for one in found
    }
    PATH.write_bytes(lzma.compress(json.dumps(rows).encode(), preset=9))


def _of_array(array: Array) -> list[Any]:
    kept = Type(array.dtype.name)
    return [kept.label, list(array.shape), base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()]


def _array(row: Sequence[Any]) -> Array:
    label, shape, data = row
    return np.frombuffer(base64.b64decode(data), Type(label).storage).reshape(shape)


def _of_value(value: Value) -> list[Any]:
    return [value.name, value.type and value.type.label, value.shape]


def _value(row: Sequence[Any]) -> Value:
    name, label, shape = row
    return Value(name, Type(label) if label else None, tuple(shape))


def _of_argument(argument: Argument) -> Any:
    match argument:
        case tuple():
            return [_of_argument(one) for one in argument]
        case Reference(name):
            return {"tensor": name}
        case Type():
            return {"type": argument.label}
        case complex():
            return {"parts": [argument.real, argument.imag]}
        case Graph():
            return {"graph": _of_graph(argument)}
    return argument


def _argument(row: Any) -> Argument:
    match row:
        case list():
            return tuple(map(_argument, row))
        case {"tensor": str(name)}:
            return Reference(name)
        case {"type": str(label)}:
            return Type(label)
        case {"parts": [real, imag]}:
            return complex(real, imag)
        case {"graph": graph}:
            return _graph(graph)
    return row  # type: ignore[no-any-return]


def _of_graph(graph: Graph) -> dict[str, Any]:
    nodes = [
        [one.name, one.target, {key: _of_argument(value) for key, value in one.arguments.items()},
         [_of_value(value) for value in one.outputs], one.module, one.place]
        for one in graph.nodes
    ]  # fmt: skip
    ends = [_of_value(one) for one in graph.inputs], [_of_argument(one) for one in graph.outputs]
    return {"nodes": nodes, "inputs": ends[0], "outputs": ends[1]}


def _graph(row: Mapping[str, Any]) -> Graph:
    nodes = tuple(
        Node(name, target, {key: _argument(one) for key, one in given.items()},
             tuple(map(_value, outputs)), module, place)
        for name, target, given, outputs, module, place in row["nodes"]
    )  # fmt: skip
    return Graph(nodes, tuple(map(_value, row["inputs"])), tuple(map(_argument, row["outputs"])))


def _of_program(program: Program) -> dict[str, Any]:
    held = {name: [one.label, _of_array(one.elements)] for name, one in program.held.items()}
    pairs = [[list(one.items()) for one in (program.results, program.mutations)], program.size]
    return {"graph": _of_graph(program.graph), "held": held, "ends": pairs}


def _program(row: Mapping[str, Any]) -> Program:
    held = {}
    for name, (label, given) in row["held"].items():
        elements = _array(given)
        held[name] = Held(label, Type(elements.dtype.name), elements)
    (results, mutations), size = row["ends"]
    return Program(_graph(row["graph"]), held, dict(results), dict(mutations), size=size)
