"""What the lowering of an NNEF operator sees: its operands and attributes, in the words of TOSA."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from types import NoneType
from typing import Any, TypeAlias, TypeVar, get_args, get_origin, get_type_hints

import numpy as np

from tosajit.arrays import Array
from tosajit.dtypes import BOOL, FP32, INT32, DType
from tosajit.frontends.common.broadcast import expanded
from tosajit.frontends.common.layout import small
from tosajit.frontends.frame import Refused
from tosajit.frontends.nnef import model
from tosajit.frontends.nnef.values.value import text_of
from tosajit.tracing.recorder import Trace
from tosajit.tracing.tensor import Tensor

DTYPES = {"real": FP32, "int": INT32, "bool": BOOL}
"""The types of TOSA that stand for those of NNEF."""

_INT32 = np.iinfo(np.int32)

Given: TypeAlias = Tensor | tuple[Tensor, ...] | None


@dataclass(frozen=True, slots=True)
class Attributes:
    """The attributes of an operator; a field is called as NNEF calls the attribute."""


T = TypeVar("T", bound=Attributes)


def dtype_of(type: str) -> DType:
    """The type of TOSA that stands for one of NNEF."""
    found = DTYPES.get(type)
    if found is None:
        raise Refused(f"TOSA has no type for {type}")
    return found


def shape_of(tensor: model.Tensor) -> tuple[int, ...]:
    """The extents of a tensor, which TOSA has to know."""
    extents = []
    for extent in tensor.shape:
        if isinstance(extent, model.Open):
            raise Refused(f"data decide an extent of {tensor.name}, and TOSA's are known before a run")
        extents.append(extent)
    return tuple(extents)


def elements_of(tensor: model.Tensor) -> Array:
    """The elements of a constant, or of a variable at first, in the storage of TOSA's type."""
    if tensor.value is None:
        raise Refused(f"{tensor.name} has no elements", "put its .dat file beside the text")
    raw, storage = tensor.value, dtype_of(tensor.type).storage
    if raw.dtype.kind == "i" and raw.size and not (_INT32.min <= raw.min() and raw.max() <= _INT32.max):
        raise Refused(f"{tensor.name} has numbers beyond 32 bits: TOSA has no int64")
    single = raw.size and not any(raw.strides)
    dense = raw[(slice(0, 1),) * raw.ndim].astype(storage) if single else raw.astype(storage, copy=False)
    return np.broadcast_to(dense, shape_of(tensor))


def constant(trace: Trace, tensor: model.Tensor) -> Tensor:
    """A constant of the model in a graph."""
    elements, dtype = elements_of(tensor), dtype_of(tensor.type)
    if elements.size > 1 and not any(elements.strides) and not small(elements.shape):
        single = elements[(slice(0, 1),) * elements.ndim]
        return expanded(trace.constant(single, dtype), elements.shape)
    return trace.constant(elements, dtype, tensor.name)


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A use of an operator, as its lowering sees it."""

    operation: model.Operation
    operands: Mapping[str, Given]

    def __getitem__(self, name: str) -> Tensor:
        """An operand that must be there."""
        found = self.operands.get(name)
        if not isinstance(found, Tensor):
            raise Refused(f"its operand {name} is missing")
        return found

    def optional(self, name: str) -> Tensor | None:
        """An operand that may be null."""
        return None if self.operands.get(name) is None else self[name]

    def pack(self, name: str) -> list[Tensor]:
        """The items of an operand that is a pack of them."""
        found = self.operands.get(name)
        if not isinstance(found, tuple) or not found:
            raise Refused(f"its operand {name} has no items")
        return list(found)

    def result(self, name: str) -> model.Tensor:
        """The declaration of a result."""
        (found,) = model.tensors_of(self.operation.outputs[name])
        return found

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a result."""
        return shape_of(self.result(name))

    def attributes(self, kind: type[T]) -> T:
        """The attributes that a class declares."""
        symbols = self.operation.symbols
        given = {}
        for name, hint in _declared(kind):  # type: ignore[arg-type]
            called = name.removesuffix("_")
            given[name] = _checked(called, symbols.get(called), hint)
        return kind(**given)


def each(numbers: Sequence[Any], count: int) -> tuple[Any, ...]:
    """An attribute for each of some dimensions; a single number is for all."""
    if len(numbers) == 1:
        return (numbers[0],) * count
    if len(numbers) != count:
        raise Refused(f"an attribute has {len(numbers)} items for {count} dimensions")
    return tuple(numbers)


@lru_cache(maxsize=256)
def _declared(kind: type[Attributes]) -> tuple[tuple[str, Any], ...]:
    hints = get_type_hints(kind)
    return tuple((one.name, hints[one.name]) for one in fields(kind))


def _checked(name: str, value: Any, hint: Any) -> Any:
    """The value of an attribute, if it is of its type: a single one is also a pack, an integer also real."""
    kinds = get_args(hint) if get_origin(hint) is not tuple else (hint,)
    kinds = kinds or (hint,)
    if value is None and NoneType in kinds:
        return None
    for kind in kinds:
        if get_origin(kind) is tuple:
            items = value if isinstance(value, tuple) else (value,)
            if all(_fits(one, get_args(kind)[0]) for one in items):
                return items
        elif _fits(value, kind):
            return value
    raise Refused(f"its attribute {name} is {text_of(value):.60}, but must be of another type")


def _fits(value: Any, kind: Any) -> bool:
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    return isinstance(value, kind) and not (kind is int and isinstance(value, bool))
