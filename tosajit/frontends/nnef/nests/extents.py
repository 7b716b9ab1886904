"""Shapes that data decide, when a model runs (NNEF 2.0 sections 2.6.1 and 3.1).

A tensor is as large as its bound, and its extents come with it. Before an operator runs, it is bound once
more, on the shapes that its operands have: so its symbols get their values, extents that must agree and
assertions are checked, and its results get theirs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from tiling.records import replace
from tosajit.arrays import Array
from tosajit.errors import InputError, ScriptError
from tosajit.frontends.nnef.model import Operation, Tensor, tensors_of
from tosajit.frontends.nnef.nests.assignment import largest_shape
from tosajit.frontends.nnef.nests.bound import Form, operation_of
from tosajit.frontends.nnef.nests.text import Written


class Runs(Protocol):
    """What computes an operation."""

    def run(self, given: Mapping[Tensor, Array], /) -> dict[Tensor, Array]:
        """All tensors behind a run."""


@dataclass(frozen=True, slots=True)
class Extents:
    """A use of an operator on shapes that data decide."""

    name: str
    operation: Operation
    written: Written

    def run(self, kernel: Runs, given: Mapping[Tensor, Array], outputs: Sequence[Tensor]) -> list[Array]:
        """The outputs, and their extents."""
        operands = [one for argument in self.operation.inputs.values() for one in tensors_of(argument)]
        operands = [one for one in operands if one in given]
        forms = tuple(self._form(one, given) for one in operands)
        concrete = self._bound(forms)
        symbols = {
            one.tensor: np.array(concrete.symbols[name]) for name, one in self.operation.opened.items()
        }
        found = kernel.run({**given, **symbols})
        for argument, other in zip(self.operation.outputs.values(), concrete.outputs.values(), strict=True):
            for tensor, actual in zip(tensors_of(argument), tensors_of(other), strict=True):
                if tensor.extents is not None:
                    found[tensor.extents] = _told(actual, found.get(tensor.extents))
        return [found[one] if one in found else np.zeros(largest_shape(one), np.int32) for one in outputs]

    def _form(self, tensor: Tensor, given: Mapping[Tensor, Array]) -> Form:
        """The shape that an operand has."""
        if tensor.extents is None:
            return tensor.type, largest_shape(tensor)
        extents = tuple(map(int, given[tensor.extents]))
        for place, (extent, most) in enumerate(zip(extents, largest_shape(tensor), strict=True)):
            if not 0 <= extent <= most:
                text = f"extent {place} of {tensor.name} is {extent}, but must be from 0 to {most}"
                raise InputError(f"{self.name} (CUSTOM): {text} [NNEF 2.0 section 2.6.1]")
        return tensor.type, extents

    def _bound(self, forms: tuple[Form, ...]) -> Operation:
        try:
            return operation_of(replace(self.written, opened=None), forms)
        except ScriptError as error:
            operator = self.operation.name
            raise InputError(f"{self.name} ({operator}): its data do not fit it: {error}") from error


def _told(actual: Tensor, counted: Array | None) -> Array:
    """The extents of a result: those that follow from operands, and those that have been counted."""
    found: Array = np.array(largest_shape(actual), np.int32)
    for place, extent in enumerate(actual.shape):
        if not isinstance(extent, int) and counted is not None:
            found[place] = counted[place]
    return found
