"""What a rule sees of an operation: its operands as integers, in their own form or in that of the result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np

from tosajit.arrays import Array
from tosajit.dtypes import INT8, INT16, INT32, INT48, DType
from tosajit.frontends.common.quantized import finished
from tosajit.frontends.common.scale import kept_near
from tosajit.frontends.frame import Refused
from tosajit.frontends.nnef import model
from tosajit.frontends.nnef.integers.form import Form, usable
from tosajit.frontends.nnef.integers.value import Integers, Whole
from tosajit.frontends.nnef.node import Attributes, Given
from tosajit.frontends.nnef.node import Node as Reading
from tosajit.tracing.recorder import Trace, current_trace
from tosajit.tracing.tensor import Tensor

T = TypeVar("T", bound=Attributes)


class Values(Protocol):
    """What knows the tensors of a model."""

    def whole(self, tensor: model.Tensor, /) -> Whole | None:
        """A tensor that needs no floating point."""

    def known(self, tensor: model.Tensor, /) -> Array | None:
        """The real numbers of a constant."""

    def operand(self, tensor: model.Tensor, /) -> Tensor:
        """A tensor in floating point, or as whatever it is."""


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """An operation as its rule sees it."""

    operation: model.Operation
    values: Values

    def attributes(self, kind: type[T]) -> T:
        """The attributes that a class declares."""
        return Reading(self.operation, {}).attributes(kind)

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a result."""
        return Reading(self.operation, {}).shape(name)

    @property
    def extents(self) -> tuple[int, ...]:
        """The shape of the only result."""
        (name,) = self.operation.outputs
        return self.shape(name)

    def tensors(self, name: str) -> tuple[model.Tensor, ...]:
        """The tensors of an operand; none if it is null."""
        return model.tensors_of(self.operation.inputs[name])

    def single(self, name: str) -> float | None:
        """The number that all elements of a constant are."""
        (tensor,) = self.tensors(name)
        numbers = self.values.known(tensor)
        if numbers is None or self.values.whole(tensor) is not None or not numbers.size:
            return None
        first = float(numbers.reshape(-1)[0])
        return first if numbers.size == 1 or np.all(numbers == first) else None

    def integers(self, name: str, dtype: DType = INT8) -> Integers:
        """An operand in its own form; a number stands for itself, in a type."""
        (tensor,) = self.tensors(name)
        found = self.own(tensor)
        number = self.single(name) if found is None else None
        if number is None:
            if found is None:
                raise Refused(f"{tensor.name} is not quantised")
            return found
        form = Form((abs(number) or 1.0,), (0,), (int(dtype.minimum), int(dtype.maximum)))
        ones = np.full((1,) * tensor.rank, np.sign(number), dtype.storage)
        return Integers(trace().constant(ones, dtype), form)

    def own(self, tensor: model.Tensor) -> Integers | None:
        """A tensor in its own form; None if it is not quantised."""
        found = self.values.whole(tensor)
        if found is None:
            return None
        if not isinstance(found, Integers):
            raise Refused(f"{tensor.name} is not quantised")
        return Integers(trace().own(found.tensor), found.form)

    def computed(self, name: str, dtype: DType = INT8) -> Integers:
        """An operand in its own form, with one scale; a number in a type."""
        found = self.integers(name, dtype)
        usable(found.form)
        return found

    def bias(self, name: str, scales: Array, count: int, dtype: DType, form: Form) -> Tensor:
        """Real numbers in the scales of sums; a 0 where they are left out."""
        tensors = self.tensors(name)
        if not tensors and not form.factors:
            return trace().constant(np.zeros(1, dtype.storage), dtype)
        numbers: Array | None = self.values.known(tensors[0]) if tensors else np.zeros(1)
        called = tensors[0].name if tensors else name
        if numbers is None:
            raise Refused(f"{called} is computed, and a bias must be a constant")
        if numbers.size not in (1, count):
            raise Refused(f"{called} has {numbers.size} numbers for {count} channels")
        channels = np.broadcast_to(numbers.reshape(-1), (count,))
        if form.factors:
            channels = channels * np.array(form.factors) + np.array(form.more)
        places = channels / scales
        whole = np.copysign(np.floor(np.abs(places) + 0.5), places)
        if not np.all(np.abs(whole) <= dtype.maximum):
            raise Refused(f"{called} has numbers beyond {dtype.bits} bits in the scale of its sums")
        return trace().constant(whole.astype(dtype.storage), dtype, called)

    def at(self, tensor: model.Tensor, form: Form) -> Tensor:
        """A tensor in a form: numbers as the next integers."""
        found = self.values.whole(tensor)
        if found is not None:
            return trace().own(found.at(form).tensor)
        numbers = self.values.known(tensor)
        if numbers is None:
            raise Refused(f"{tensor.name} is not quantised")
        return trace().constant(form.integers(numbers), form.dtype)

    def given(self, form: Form) -> dict[str, Given]:
        """All operands: real ones in a form, others as they are."""
        return {name: self._given(argument, form) for name, argument in self.operation.inputs.items()}

    def _given(self, argument: model.Argument, form: Form) -> Given:
        def one(tensor: model.Tensor) -> Tensor:
            return self.at(tensor, form) if tensor.type == "real" else self.values.operand(tensor)

        match argument:
            case None:
                return None
            case tuple():
                return tuple(map(one, argument))
        return one(argument)


def sums_of(value: Integers, other: Integers, products: Sequence[tuple[DType, DType]]) -> DType:
    """The type in which products of two operands are added up."""
    if (value.dtype, other.dtype) not in products:
        raise Refused(f"its operands are {value.dtype} and {other.dtype}, which TOSA does not multiply")
    return INT48 if value.dtype is INT16 else INT32


def ending(total: Tensor, scales: Array, most: int, form: Form) -> Tensor:
    """Sums up to some size times scales, in a form."""
    if total.dtype is INT32:
        return finished(kept_near(total, scales, min(most, int(INT32.maximum))), scales, form)
    if most * float(scales.max()) >= INT32.maximum:
        raise Refused("its sums may be beyond 32 bits in the scale of its result")
    return finished(total, scales, form)


def trace() -> Trace:
    """The trace that is being recorded."""
    found = current_trace()
    assert found is not None
    return found
