"""Runs composed models and operators in plain NumPy, written from NNEF 2.0 sections 2.10 to 2.12.

An oracle for the compiled ways: `run(operation, {name: array})`. Real numbers are float64, integers int64.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tests.nnef.items import DTYPES, Array
from tests.nnef.lowered import lowered
from tosajit.frontends.nnef.compose import invoke
from tosajit.frontends.nnef.compose.modules import Library
from tosajit.frontends.nnef.model import (
    Argument,
    Body,
    Branches,
    Operation,
    Repeat,
    Step,
    Tensor,
    tensors_of,
)

Given = Array | Sequence[Array] | None
Intrinsic = Callable[[Operation, Mapping[str, Given]], dict[str, Given]]


def run(operation: Operation, library: Library, inputs: Mapping[str, Given]) -> dict[str, Given]:
    """The outputs of an operation, by name."""
    machine = Interpreter(library)
    for name, argument in operation.inputs.items():
        machine.give(argument, inputs.get(name))
    machine.perform(operation)
    return {name: machine.taken(argument) for name, argument in operation.outputs.items()}


class Interpreter:
    """What tensors hold; it outlives a call, so that variables keep what updates gave them."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self.held: dict[Tensor, Array] = {}

    def give(self, argument: Argument, given: Given) -> None:
        """Tensors hold what is given."""
        tensors = tensors_of(argument)
        arrays = [given] if isinstance(given, np.ndarray) else [] if given is None else list(given)
        for tensor, array in zip(tensors, arrays, strict=True):
            self.held[tensor] = np.asarray(array, DTYPES[tensor.type])

    def taken(self, argument: Argument) -> Given:
        """What the tensors of an argument hold."""
        match argument:
            case None:
                return None
            case tuple():
                return [self.array(one) for one in self.there(argument)]
        return self.array(argument)

    def there(self, pack: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """The tensors of a pack that a loop has filled: it may have ended early."""
        return tuple(one for one in pack if one in self.held or one.value is not None)

    def array(self, tensor: Tensor) -> Array:
        """What a tensor holds: a constant its value, a variable at first."""
        if tensor not in self.held:
            assert tensor.value is not None, f"{tensor.name} holds nothing"
            self.held[tensor] = np.asarray(tensor.value, DTYPES[tensor.type])
        return self.held[tensor]

    def perform(self, operation: Operation) -> None:
        """Do an operation: its body or its lowerings, then its updates."""
        if not self._as_composed(operation):
            self._perform_as_it_is(operation)
            return
        if operation.body is not None:
            results = self.body(operation.body)
            for argument, result in zip(operation.outputs.values(), results, strict=True):
                self.give(argument, result)
        else:
            self._lower(operation)
        if operation.update is not None:
            results = self.body(operation.update)
            arrays = [
                one
                for result in results
                for one in ([result] if isinstance(result, np.ndarray) else result or ())
            ]
            for tensor, array in zip(operation.updated, arrays, strict=True):
                self.held[tensor] = array

    def _as_composed(self, operation: Operation) -> bool:
        """Whether inputs have the shapes, and packs the lengths, that were said before there were data."""
        read = [one for argument in operation.inputs.values() for one in tensors_of(argument)]
        return self.there(tuple(read)) == tuple(read) and all(
            self.array(one).shape == one.shape for one in read
        )

    def _perform_as_it_is(self, operation: Operation) -> None:
        """Compose an operation anew for the shapes that its inputs have, now that they are known."""

        def fresh(argument: Argument) -> Argument:
            match argument:
                case None:
                    return None
                case tuple():
                    return tuple(
                        Tensor(one.name, one.type, self.array(one).shape, "input")
                        for one in self.there(argument)
                    )
            return Tensor(argument.name, argument.type, self.array(argument).shape, "input")

        made = invoke(
            operation.definition,
            self.library,
            types=list(operation.types.values()),
            attributes=operation.attributes,
            inputs={name: fresh(one) for name, one in operation.inputs.items()},
        )
        for name, argument in operation.inputs.items():
            self.give(made.inputs[name], self.taken(argument))
        self.perform(made)
        for name, argument in operation.outputs.items():
            self.give(argument, self.taken(made.outputs[name]))

    def body(self, body: Body) -> list[Given]:
        """Do the steps of a body; what it gives."""
        for step in body.steps:
            self._step(step)
        return [self.taken(one) for one in body.results]

    def _step(self, step: Step) -> None:
        match step:
            case Operation():
                self.perform(step)
            case Branches():
                self._branch(step)
            case Repeat():
                self._repeat(step)

    def _holds(self, condition: Body) -> bool:
        (truth,) = self.body(condition)
        assert isinstance(truth, np.ndarray)
        return bool(truth.reshape(()))

    def _branch(self, step: Branches) -> None:
        taken = next((then for condition, then in step.cases if self._holds(condition)), step.otherwise)
        for argument, result in zip(step.outputs, self.body(taken), strict=True):
            self.give(argument, result)

    def _repeat(self, step: Repeat) -> None:
        """A loop (section 2.10.1): what it carries, and a pack of what else each step gives."""
        for one in step.carried:
            self.held[one.tensor] = self.array(one.initial)
        number, count = 0, self._count(step)
        packed: list[list[Array]] = [[] for _ in step.outputs[len(step.carried) :]]
        while count is None or number < count:
            if (
                step.condition is not None
                and (step.tested_first or number)
                and not self._holds(step.condition)
            ):
                break
            for item in step.scanned:
                self.held[item.tensor] = self.array(item.pack[number])
            if step.index is not None:
                self.held[step.index] = np.asarray(number, np.int64)
            results = self.body(step.body)
            for carried, result in zip(step.carried, results, strict=False):
                assert isinstance(result, np.ndarray)
                self.held[carried.tensor] = result
            for pack, result in zip(packed, results[len(step.carried) :], strict=True):
                assert isinstance(result, np.ndarray)
                pack.append(result)
            number += 1
        last: list[Given] = [self.array(one.tensor) for one in step.carried]
        for argument, found in zip(step.outputs, [*last, *packed], strict=True):
            self._give_pack(argument, found)

    def _give_pack(self, argument: Argument, found: Given) -> None:
        """Items of a loop that ended early are fewer than its pack has."""
        if isinstance(argument, tuple) and isinstance(found, list):
            for one in argument[len(found) :]:
                self.held.pop(one, None)
            argument = argument[: len(found)]
        self.give(argument, found)

    def _count(self, step: Repeat) -> int | None:
        if step.count is not None:
            return int(self.array(step.count)) if isinstance(step.count, Tensor) else step.count
        return min((len(one.pack) for one in step.scanned), default=None)

    def _lower(self, operation: Operation) -> None:
        operator = operation.definition.operator
        tensors: dict[str, Array | list[Array] | None] = dict.fromkeys(one.name for one in operator.inputs)
        for name, argument in operation.parameters.items():
            if name in operation.outputs:
                continue
            taken = self.taken(argument)
            tensors[name] = taken if taken is None or isinstance(taken, np.ndarray) else list(taken)
        if operator.lowerings is None:
            found = INTRINSICS[operation.name](operation, tensors)
            for name, argument in operation.outputs.items():
                self.give(argument, found[name])
            return
        symbols = {name: value for name, value in operation.symbols.items() if name not in tensors}
        shapes = {
            name: [bounds(one) for one in tensors_of(argument)]
            for name, argument in operation.outputs.items()
        }
        made = lowered(operator, operation.types, symbols, tensors, shapes)
        for name, argument in operation.outputs.items():
            self.give(argument, made[name] if isinstance(argument, tuple) else made[name][0])


def bounds(tensor: Tensor) -> tuple[int, ...]:
    """The shape of a tensor; where data decide it, as large as it can be."""
    return tuple(extent if isinstance(extent, int) else extent.bound for extent in tensor.shape)


def _top_k(operation: Operation, inputs: Mapping[str, Any]) -> dict[str, Given]:
    """Greatest or least first, of equals the one before (section 4.7 says no more)."""
    attributes, array = operation.attributes, inputs["input"]
    axis, k = int(str(attributes["axis"])), int(str(attributes["k"]))
    order = np.argsort(-array if attributes["largest"] else array, axis, kind="stable")
    indices = np.take(order, range(min(k, array.shape[axis])), axis)
    return {"values": np.take_along_axis(array, indices, axis), "indices": indices}


INTRINSICS: dict[str, Intrinsic] = {"algo.top_k": _top_k}
