"""One call of a function of `tosajit.ops`: Python arguments become operands and attributes of an operator."""

from __future__ import annotations

import operator as python
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from tiling.records import dataclass
from tosajit.arrays import Array
from tosajit.dtypes import SHAPE, DType
from tosajit.errors import TraceError
from tosajit.graph.attributes import AttributeFaults
from tosajit.graph.operator import TYPES, Mode, Operand, Operator
from tosajit.operators.types import AccType
from tosajit.tracing.numbers import Type, exactly, type_named, typed, untyped
from tosajit.tracing.recorder import Trace, recording
from tosajit.tracing.tensor import Tensor


@dataclass(frozen=True, slots=True, eq=False)
class Given:
    """An operand with its type: an array, or a traced tensor."""

    value: Array | Tensor
    dtype: DType


@dataclass(frozen=True, slots=True)
class Call:
    """An operator with everything that it is applied to."""

    operator: Operator
    operands: tuple[Given, ...]
    dtype: DType | None

    def record(self, trace: Trace) -> tuple[Tensor, ...]:
        """Add it to a trace; arrays become constants."""
        inputs = [_placed(trace, given) for given in self.operands]
        if len(self.operator.operands_written) == 1:
            return (trace.add(self.operator, inputs, self.dtype),)
        return trace.add_all(self.operator, inputs)


def complete(
    operator: type[Operator],
    operands: Sequence[Any],
    attributes: Mapping[str, Any],
    dtype: Type | None = None,
) -> Call:
    """The call with types, constants and attributes that follow from the rest filled in."""
    chosen = type_named(dtype)
    slots = list(_slots(operator, operands))
    known: dict[str, DType] = {}
    if chosen is not None:
        known[operator.operands_written[0].type] = chosen
    given: list[Given | None] = []
    for operand, value in slots:
        found = _given(operand, value)
        given.append(found)
        if found is not None and operand.type and operand.type not in TYPES:
            known.setdefault(operand.type, found.dtype)
    named = {name: _accumulator(value) if name == "acc_type" else value for name, value in attributes.items()}
    sizes = {operand.name: _size(value) for operand, value in slots if not operand.is_list}
    derived, said = operator.completed(named, known, sizes)
    known = {**said, **known}
    filled = tuple(
        _from_numbers(operator, operand, value, known, bool(derived.get(operand.unsigned_if)))
        if found is None
        else found
        for (operand, value), found in zip(slots, given, strict=True)
    )
    return Call(_built(operator, derived), filled, chosen)


def extents(value: Any, where: str) -> tuple[int, ...]:
    """A shape as Python integers."""
    try:
        return tuple(python.index(component) for component in value)
    except TypeError:
        raise TraceError(f"{where}: expected a tuple of integers, got {value!r}") from None


def _slots(operator: type[Operator], operands: Sequence[Any]) -> Iterable[tuple[Operand, Any]]:
    for operand, value in zip(operator.operands_read, operands, strict=True):
        if not operand.is_list:
            yield operand, value
        elif isinstance(value, Tensor | np.ndarray | np.generic):
            raise TraceError(
                f"{operator.opcode} {operand.name}: expected a list of tensors, got a single one"
            )
        else:
            yield from ((operand, one) for one in value)


def _given(operand: Operand, value: Any) -> Given | None:
    """The operand with its type, or None if that follows from others."""
    if isinstance(value, Tensor):
        return Given(value, value.dtype)
    if operand.type == "shape_t":
        return Given(np.array(extents(value, operand.name), np.int64), SHAPE)
    if isinstance(value, np.ndarray | np.generic):
        array, dtype = typed(value)
        return Given(_raised(operand, array), dtype)
    return None


def _raised(operand: Operand, array: Array) -> Array:
    """A number as a tensor of one element, where only vectors are."""
    return (
        array.reshape(1) if operand.dims is not None and len(operand.dims) == 1 and array.ndim == 0 else array
    )


def _from_numbers(
    operator: type[Operator], operand: Operand, value: Any, known: Mapping[str, DType], unsigned: bool
) -> Given:
    """Python numbers (None stands for zero) in the type that the other operands leave."""
    where = f"{operator.opcode} {operand.name}"
    if operand.dims is None or len(operand.dims) != 1:
        is_number = isinstance(value, int | float)
        text = untyped(value) if is_number else f"expected an array, got {type(value).__name__}"
        raise TraceError(f"{where}: {text}")
    dtype = TYPES.get(operand.type) or known.get(operand.type) or _only_type(operator, operand.type, known)
    if dtype is None:
        raise TraceError(
            f"{where}: its type does not follow from the other operands: pass an array, or dtype="
        )
    storage = np.dtype(f"u{dtype.storage.name}") if unsigned else dtype.storage
    array = exactly(0 if value is None else value, storage)
    if array is None:
        raise TraceError(f"{where}: {value!r} is not a number that {storage if unsigned else dtype} can hold")
    return Given(np.atleast_1d(array).view(dtype.storage), dtype)


def _only_type(operator: type[Operator], variable: str, known: Mapping[str, DType]) -> DType | None:
    found = {mode.types.get(variable) for mode in _rows(operator, known)}
    return found.pop() if len(found) == 1 else None


def _rows(operator: type[Operator], known: Mapping[str, DType]) -> list[Mode]:
    return [
        mode
        for mode in operator.modes
        if all(mode.types.get(name, dtype) is dtype for name, dtype in known.items())
    ]


def _accumulator(value: Any) -> Any:
    """The type of an accumulator, also by its name or as a NumPy type."""
    return value if value is None or isinstance(value, AccType) else type_named(value)


def _size(value: Any) -> int:
    return value.size if isinstance(value, Tensor) else np.size(value)


def _built(operator: type[Operator], attributes: Mapping[str, Any]) -> Operator:
    try:
        return operator(**attributes)
    except AttributeFaults as error:
        raise TraceError(str(error)) from None


def _placed(trace: Trace, given: Given) -> Tensor:
    if isinstance(given.value, Tensor):
        return trace.own(given.value)
    if given.dtype.kind == "shape":
        return trace.shape(given.value.tolist())
    return trace.constant(given.value, given.dtype)


def record_alone(function: Callable[[Trace], Sequence[Tensor]]) -> Trace:
    """A trace of its own, whose outputs are what the function returns."""
    trace = Trace()
    with recording(trace):
        trace.builder.output(*trace.names(function(trace)))
    return trace
