"""Operators whose bodies have control flow, or shapes that data decide, one step after the other on the host.

Each operator in the body that has formulas has its own general kernel.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tiling.nest import Nest
from tosajit.arrays import Array
from tosajit.frontends.nnef.model import (
    Argument,
    Body,
    Branches,
    Operation,
    Repeat,
    Tensor,
    operations,
    tensors_of,
    tensors_told,
)
from tosajit.frontends.nnef.nests.assignment import Unfit, largest_shape
from tosajit.frontends.nnef.nests.extents import Extents
from tosajit.frontends.nnef.nests.general import DTYPES, General
from tosajit.frontends.nnef.nests.text import written_of

Values = dict[Tensor, Array]


def is_stepped(operation: Operation) -> bool:
    """Whether what is computed in the body of an operation, or how large it is, depends on data."""
    inner = list(operations(operation.body))
    bodies = [one.body for one in (operation, *inner) if one.body is not None]
    flows = any(not isinstance(step, Operation) for body in bodies for step in body.steps)
    return flows or any(one.is_open for one in inner)


@dataclass(frozen=True)
class Stepped:
    """An operation that is computed step by step."""

    name: str
    operation: Operation

    @cached_property
    def _kernels(self) -> dict[Operation, General]:
        leaves = [one for one in operations(self.operation.body) if one.body is None]
        return {one: General(f"{self.name}.{one.label}", one) for one in leaves}

    def compiled(self) -> Stepped:
        """The same with its kernels compiled."""
        for one in operations(self.operation.body):
            if one.variables:
                raise Unfit(f"{one.name} has variables, which only a graph can hold")
        for kernel in self._kernels.values():
            kernel.compiled()
        return self

    def estimates(self) -> list[Nest]:
        """Nests that take as long as each operator in the body once."""
        return [nest for kernel in self._kernels.values() for nest in kernel.estimates()]

    def run(self, given: Mapping[Tensor, Array]) -> Values:
        """The tensors of the operation and of its body."""
        found = dict(given)
        self._operation(self.operation, found)
        return found

    def __call__(self, given: Mapping[Tensor, Array], outputs: Sequence[Tensor]) -> list[Array]:
        """The outputs, of inputs."""
        found = self.run(given)
        return [found[one] for one in outputs]

    def _operation(self, operation: Operation, values: Values) -> None:
        """Compute the outputs of an operation."""
        outputs = tensors_told(operation.outputs.values())
        if operation.body is not None:
            results = self._body(operation.body, values)
            self._keep(operation.outputs.values(), operation.body.results, results, values)
            return
        inputs = {one: _value(one, values) for one in tensors_told(operation.inputs.values())}
        kernel = self._kernels[operation]
        if operation.is_open:
            told = Extents(kernel.name, operation, written_of(operation))
            values.update(zip(outputs, told.run(kernel, inputs, outputs), strict=True))
        else:
            values.update(zip(outputs, kernel(inputs, outputs), strict=True))

    def _body(self, body: Body, values: Values) -> Values:
        """The tensors that are known behind a body."""
        inner = dict(values)
        for step in body.steps:
            match step:
                case Operation():
                    self._operation(step, inner)
                case Branches():
                    self._branches(step, inner)
                case Repeat():
                    self._repeat(step, inner)
        return inner

    def _keep(
        self, outputs: Iterable[Argument], results: Iterable[Argument], found: Values, values: Values
    ) -> None:
        """Results as outputs, which may be larger, with their extents."""
        for output, result in zip(_each(outputs), _each(results), strict=True):
            values[output] = _enlarged(_value(result, found), largest_shape(output))
            if output.extents is not None:
                told = np.array(largest_shape(result), np.int32)
                values[output.extents] = told if result.extents is None else found[result.extents]

    def _branches(self, step: Branches, values: Values) -> None:
        body = step.otherwise
        for condition, then in step.cases:
            if self._holds(condition, values):
                body = then
                break
        self._keep(step.outputs, body.results, self._body(body, values), values)

    def _holds(self, condition: Body, values: Values) -> bool:
        found = self._body(condition, values)
        (truth,) = _each(condition.results)
        return bool(_value(truth, found).reshape(-1)[0])

    def _repeat(self, step: Repeat, values: Values) -> None:
        """A loop; what it packs beyond its last step is 0."""
        width, inner = len(step.carried), dict(values)
        for carried in step.carried:
            inner[carried.tensor] = _value(carried.initial, values)
        packs = [one if isinstance(one, tuple) else () for one in step.outputs[width:]]
        for one in _each(packs):
            values[one] = np.zeros(largest_shape(one), DTYPES[one.type])
        number, limit = 0, self._limit(step, values)
        while limit is None or number < limit:
            self._enter(step, number, inner)
            if step.condition is not None and step.tested_first and not self._holds(step.condition, inner):
                break
            found = self._body(step.body, inner)
            results = list(_each(step.body.results))
            for pack, result in zip(packs, results[width:], strict=True):
                if pack:
                    values[pack[number]] = _value(result, found)
            state = [_value(one, found) for one in results[:width]]
            inner.update(zip((one.tensor for one in step.carried), state, strict=True))
            number += 1
            self._enter(step, number, inner)
            if step.condition is not None and not step.tested_first:
                if not self._holds(step.condition, inner):
                    break
        for output, carried in zip(_each(step.outputs[:width]), step.carried, strict=True):
            values[output] = inner[carried.tensor]

    def _enter(self, step: Repeat, number: int, inner: Values) -> None:
        """What a step takes besides what is carried."""
        if step.index is not None:
            inner[step.index] = np.array(number, np.int32)
        for one in step.scanned:
            inner[one.tensor] = _value(one.pack[min(number, len(one.pack) - 1)], inner)

    def _limit(self, step: Repeat, values: Values) -> int | None:
        if isinstance(step.count, Tensor):
            count = int(_value(step.count, values).reshape(-1)[0])
            return count if step.most is None else min(count, step.most)
        return step.most if step.count is None else step.count


def _each(arguments: Iterable[Argument]) -> Iterator[Tensor]:
    for argument in arguments:
        yield from tensors_of(argument)


def _value(tensor: Tensor, values: Mapping[Tensor, Array]) -> Array:
    """What a tensor holds."""
    found = values.get(tensor)
    return np.array(tensor.value, DTYPES[tensor.type], order="C") if found is None else found


def _enlarged(array: Array, shape: tuple[int, ...]) -> Array:
    """An array with zeros behind its elements, up to a shape."""
    if array.shape == shape:
        return array
    found = np.zeros(shape, array.dtype)
    found[tuple(map(slice, array.shape))] = array
    return found
