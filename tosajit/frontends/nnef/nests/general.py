"""Running an operation by its general kernel, and nests that take about as long on a machine."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tiling.nest import Access, Nest, identity
from tosajit.arrays import Array
from tosajit.dtypes import dtype_of
from tosajit.errors import InputError
from tosajit.frontends.nnef.model import Operation, Tensor
from tosajit.frontends.nnef.nests import terms
from tosajit.frontends.nnef.nests.assignment import Assignment, largest_shape
from tosajit.frontends.nnef.nests.loops import LONGEST_LOOP, Kernel, kernel
from tosajit.frontends.nnef.nests.meaning import COMPUTED
from tosajit.frontends.nnef.nests.nest import Body, chosen
from tosajit.frontends.nnef.nests.operation import formulas
from tosajit.frontends.nnef.nests.places import Place
from tosajit.frontends.nnef.nests.terms import Element, Loop, Term
from tosajit.kernels.objects import compile_kernel

DTYPES = {"real": np.float32, "int": np.int32, "bool": np.bool_}


@dataclass(frozen=True)
class General:
    """An operation that is computed one formula after the other."""

    name: str
    operation: Operation

    @cached_property
    def _kernel(self) -> Kernel:
        return kernel(list(formulas(self.operation)))

    @cached_property
    def _address(self) -> int:
        return compile_kernel(self._kernel.source).address

    def compiled(self) -> General:
        """The same with its kernel compiled."""
        assert self._address
        return self

    def run(self, given: Mapping[Tensor, Array]) -> dict[Tensor, Array]:
        """All tensors behind a run: those given in the types of the language, and those computed."""
        found: dict[Tensor, Array] = {}
        for tensor in self._kernel.tensors:
            dtype, shape = DTYPES[tensor.type], largest_shape(tensor)
            array = given.get(tensor, tensor.value)
            found[tensor] = np.zeros(shape, dtype) if array is None else np.array(array, dtype, order="C")
        words = np.zeros(len(found) + 1, np.int64)
        words[: len(found)] = [array.ctypes.data for array in found.values()]
        call = ctypes.CFUNCTYPE(None, ctypes.c_int64)(self._address)
        call(words.ctypes.data)
        limit = int(words[len(found)])
        if limit:
            text = f"a loop has {limit} steps, but data may ask for {LONGEST_LOOP}"
            raise InputError(f"{self.name} (CUSTOM): {text} [NNEF 2.0 section 2.12]")
        return found

    def __call__(self, given: Mapping[Tensor, Array], outputs: Sequence[Tensor]) -> list[Array]:
        """The outputs, of inputs."""
        found = self.run(given)
        return [
            found[one] if one in found else np.zeros(largest_shape(one), DTYPES[one.type]) for one in outputs
        ]

    def estimates(self) -> list[Nest]:
        """For each formula a nest of as many points and scalars, which writes every value.

        That is more than is written, and as if no point depended on another. A loop that data limit is taken
        to be as long as the longest dimension of what is read.
        """
        return [
            _estimate(self.name, number, one)
            for number, one in enumerate(formulas(self.operation))
            if not one.is_count
        ]


class _Tensors:
    """Tensors as operands of the nests that estimate."""

    def __init__(self, name: str) -> None:
        self._name = name

    def place(self, tensor: Tensor) -> Place:
        """Where a tensor is read."""
        return Place(f"{self._name}.{tensor.name}", COMPUTED[tensor.type], largest_shape(tensor))

    def table(self, array: Array) -> Place:
        """Where a constant of our own is."""
        return Place(f"{self._name}.table{array.shape}", dtype_of(array.dtype).compute, array.shape)


def _estimate(name: str, number: int, one: Assignment) -> Nest:
    longest = max((extent for element in one.reads for extent in largest_shape(element.tensor)), default=1)
    known = {loop: Loop(loop.name, longest) for loop in one.loops if not isinstance(loop.extent, int)}

    def leaf(term: Loop | Element) -> Term:
        return known.get(term, term) if isinstance(term, Loop) else term

    value, condition, *skips = terms.replaced([one.values[0], one.condition, *one.skips], leaf)
    loops = tuple(found for loop in one.loops if (found := known.get(loop, loop)).steps > 1)
    elements = frozenset(terms.elements_of(value, condition, *skips))
    body = Body(_Tensors(name), loops, len(loops), free=elements)
    result = body.value(value)
    for guard in (condition, *skips):
        if guard is not True:
            result = chosen(body.value(guard), result, result)
    index = identity(len(loops))
    target = Access(f"{name}.result{number}", result.type, tuple(loop.steps for loop in loops), index)
    return body.nest(name, target, result, None)
