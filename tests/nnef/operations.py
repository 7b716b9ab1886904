"""Models of one operation, made by hand: what composing a text would give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

import tosajit as tj
from tests.tflite_cases.running import by_arm, listed
from tosajit.frontends.nnef.lowering import graph_of
from tosajit.frontends.nnef.model import Argument, Body, Definition, Model, Operation, Step, Tensor
from tosajit.frontends.nnef.syntax import tree
from tosajit.frontends.nnef.syntax.source import Source, Span
from tosajit.frontends.nnef.values.value import Value

Array = np.ndarray[Any, Any]
Shape: TypeAlias = tuple[int, ...]
Operand: TypeAlias = "Array | Sequence[Array] | Constant | None"

TYPES = {"f": "real", "i": "int", "b": "bool"}
STORAGE = {"real": np.float32, "int": np.int32, "bool": np.bool_}


class Constant:
    """An operand that is in the model."""

    def __init__(self, array: Array) -> None:
        self.array = array


def tensor(name: str, array: Array, kind: Any = "local", *, held: bool = False) -> Tensor:
    """A tensor like an array."""
    value = np.asarray(array) if held else None
    return Tensor(name, TYPES[array.dtype.kind], array.shape, kind, value)


def definition(name: str, *, standard: bool = True) -> Definition:
    """An operator of which nothing but the name is known."""
    module, _, called = name.rpartition(".")
    return Definition(module, tree.Operator(Span(0, 0), called, False, False), Source(module, ""), standard)


def operation(
    name: str, inputs: Mapping[str, Argument], outputs: Mapping[str, Argument], **attributes: Value
) -> Operation:
    """A use of a standard operator."""
    first = next((one for one in outputs.values() if isinstance(one, Tensor)), None)
    return Operation(definition(name), first.name if first else "", {}, attributes, inputs, outputs)


def model(inputs: Sequence[Tensor], steps: Sequence[Step], outputs: Sequence[Tensor], **more: Any) -> Model:
    """A graph of steps."""
    root = Operation(
        definition("main.main", standard=False), "", {}, {},
        {one.name: one for one in inputs}, {one.name: one for one in outputs},
        body=Body(tuple(steps), tuple(outputs)), **more,
    )  # fmt: skip
    return Model("main", root)


def of_one(
    name: str,
    operands: Mapping[str, Operand],
    results: Mapping[str, Any],
    **attributes: Value,
) -> tuple[Model, list[Array]]:
    """A model of one operation, and the arrays that it takes."""
    taken: list[tuple[Tensor, Array]] = []
    inputs = {key: _argument(key, one, taken) for key, one in operands.items()}
    outputs: dict[str, Argument] = {}
    for key, found in results.items():
        if isinstance(found, np.ndarray):
            outputs[key] = tensor(key, found, "output")
        else:
            outputs[key] = tuple(tensor(f"{key}{place}", one, "output") for place, one in enumerate(found))
    flat = [one for given in outputs.values() for one in (given if isinstance(given, tuple) else (given,))]
    step = operation(name, inputs, outputs, **attributes)
    given = [one for one, _ in taken]
    return model(given, [step], [one for one in flat if one]), [array for _, array in taken]


def _argument(name: str, operand: Operand, taken: list[tuple[Tensor, Array]]) -> Argument:
    match operand:
        case None:
            return None
        case Constant():
            return tensor(name, operand.array, "constant", held=True)
        case np.ndarray():
            found = tensor(name, operand, "input")
            taken.append((found, operand))
            return found
    items = [tensor(f"{name}{place}", one, "input") for place, one in enumerate(operand)]
    taken += zip(items, operand, strict=True)
    return tuple(items)


def run(made: Model, arrays: Sequence[Array], *, ours: bool = False) -> list[Array]:
    """What the graph of a model gives, by Arm's reference model or by ours."""
    graph = graph_of(made)
    assert tj.validate(graph) == ()
    written = any(node.operator.opcode == "CUSTOM" for node in graph.nodes)  # Arm's model knows none
    call = tj.compile(graph, checked=True) if ours or written else by_arm(graph)
    stored: list[Array] = [
        np.ascontiguousarray(one, STORAGE[TYPES[one.dtype.kind]]).reshape(one.shape) for one in arrays
    ]
    return list(listed(call(*stored)))
