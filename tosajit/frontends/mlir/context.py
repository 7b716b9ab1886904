"""What the blocks of a graph share: the module, its constants and variables, faults, and the regions."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count

import numpy as np

from tiling.records import replace
from tiling.words import plain
from tosajit.arrays import Array
from tosajit.dtypes import SHAPE, DType
from tosajit.errors import Fault, ScriptError
from tosajit.frontends.mlir.attributes import read_attributes
from tosajit.frontends.mlir.elements import elements, resource
from tosajit.frontends.mlir.kinds import STORED, Kind, kind_of, written
from tosajit.frontends.mlir.syntax.records import (
    Attribute,
    Dense,
    Extents,
    Module,
    Operation,
    Plain,
    Resource,
    Span,
    Symbol,
    Tensor,
    Text,
    Type,
)
from tosajit.frontends.text import fault_at
from tosajit.graph import Region, Value
from tosajit.graph.operator import Operator

_MOST_FAULTS = 50
_MOST_FILLED = 1 << 28
"""Bytes of constants that are filled with one number: a short text may ask for any number of them."""


class Refused(Exception):
    """A node has no form in TOSA."""

    def __init__(self, span: Span, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.span, self.message, self.remedy = span, message, remedy


class Faults:
    """What has no form in TOSA, collected."""

    def __init__(self, module: Module) -> None:
        self._module = module
        self._found: list[Fault] = []

    def add(self, span: Span, message: str, remedy: str = "") -> None:
        """Note a fault; `ScriptError` when there are too many."""
        self._found.append(
            fault_at(self._module.name, self._module.text, span.start, span.stop, message, remedy)
        )
        if len(self._found) >= _MOST_FAULTS:
            self.settle()

    def settle(self) -> None:
        """Raise `ScriptError` with all faults, if there are any."""
        if self._found:
            raise ScriptError(self._found)


class Context:
    """What the blocks of a graph share: the module, its variables, and the regions that are done."""

    def __init__(self, module: Module, faults: Faults, narrow: bool = False) -> None:
        self.module, self.faults, self._narrow = module, faults, narrow
        self.regions: list[Region] = []
        self.variables: list[tuple[Operation, Value]] = []
        self._filled = 0
        self._names = {"main"}
        self._operators: dict[object, Operator] = {}

    def declare(self, operation: Operation) -> None:
        """Note a variable of the module."""
        if operation.name != "tosa.variable":
            self.faults.add(operation.span, f"{plain(operation.name)} is not an operator of TOSA")
            return
        try:
            self.variables.append((operation, self._variable(operation)))
        except Refused as fault:
            self.faults.add(fault.span, fault.message, fault.remedy)

    def narrows(self, kind: Kind) -> bool:
        """Whether what computes in a type that TOSA lacks does so in a narrower one, as the user wants it."""
        return self._narrow and bool(kind.wide)

    def operator(
        self, cls: type[Operator], attributes: Mapping[str, Attribute], dtype: DType | None
    ) -> Operator:
        """An operator by its attributes: many of a text are alike."""
        key = (cls, dtype, *attributes.items())
        found = self._operators.get(key)
        if found is None:
            found = self._operators[key] = cls(**read_attributes(cls, attributes, dtype))
        return found

    def declares(self, name: str) -> bool:
        """Whether the module has a variable of a name."""
        return any(one.name == name for _, one in self.variables)

    def region_name(self, name: str) -> str:
        """A name that no region has."""
        found = next(
            one for number in count() if (one := f"{name}.{number}" if number else name) not in self._names
        )
        self._names.add(found)
        return found

    def location(self, operation: Operation) -> str:
        """Where an operation comes from."""
        return self.module.locations.get(operation.location, operation.location)

    def value(self, name: str, type: Type, span: Span) -> tuple[Value, Kind]:
        """A value of a type; what TOSA lacks is refused."""
        if isinstance(type, Extents):
            return Value(name, SHAPE, (type.rank,)), Kind(SHAPE)
        kind = kind_of(type.element.name) if isinstance(type, Tensor) else None
        if not isinstance(type, Tensor) or kind is None:
            raise Refused(span, f"TOSA 1.0.1 has no type {plain(written(type))}")
        return Value(name, kind.dtype, type.shape), kind

    def constant(self, value: Value, kind: Kind, given: Attribute | None, span: Span) -> Array:
        """The elements of a constant, in the type of the text if that is wider than those of TOSA."""
        if not isinstance(given, Dense | Resource):
            raise Refused(span, "values: expected elements, such as dense<…> : tensor<…>")
        if not isinstance(given.type, Tensor) or given.type.shape != value.shape or value.shape is None:
            raise Refused(
                span,
                f"values: their type is {written(given.type)}, but the shape of the result {value.shape}",
            )
        stored = STORED.get(kind.wide, value.dtype.storage)
        found = kind_of(given.type.element.name)
        if (
            given.type.element.name != "index"
            if value.dtype is SHAPE
            else (found is None or found.dtype is not kind.dtype)
        ):
            raise Refused(
                span, f"values: the type of elements {given.type.element.name} is not that of the result"
            )
        try:
            array = self._elements(given, value, stored, span)
        except ValueError as error:
            raise Refused(span, f"values: {error}") from None
        array.flags.writeable = False
        return array

    def _elements(
        self, given: Dense | Resource, value: Value, stored: np.dtype[np.generic], span: Span
    ) -> Array:
        text, shape = self.module.text, value.shape or ()
        if isinstance(given, Resource):
            place = self.module.resources.get(given.key)
            if place is None:
                raise Refused(span, f"values: the text has no resource {plain(given.key)}")
            return resource(text, place, value.dtype, shape, stored)
        array = elements(text, given.span, value.dtype, shape, stored)
        if array.size > 1 and not any(array.strides):
            self._filled += array.nbytes
            if self._filled > _MOST_FILLED:
                raise Refused(
                    span,
                    f"values: constants of one number have {self._filled} bytes, but may have {_MOST_FILLED}",
                )
            array = np.ascontiguousarray(array)
        return array

    def _variable(self, operation: Operation) -> Value:
        attributes = operation.attributes
        name = attributes.get("sym_name", attributes.get("name"))
        if not isinstance(name, Symbol | Text):
            raise Refused(operation.span, "expected a variable to have a name")
        symbol = name.name if isinstance(name, Symbol) else name.text
        type = attributes.get("type")
        if not isinstance(type, Tensor):
            type = self._composed(operation, type)
        value, kind = self.value(symbol, type, operation.span)
        initial = attributes.get("initial_value")
        if initial is None:
            return value
        return replace(value, data=self.constant(value, kind, initial, operation.span))

    def _composed(self, operation: Operation, element: Attribute | None) -> Type:
        """The type of a variable in the generic form, which says its shape and its elements apart."""
        shape = operation.attributes.get("var_shape")
        if (
            not isinstance(element, Plain)
            or not isinstance(shape, Dense)
            or not isinstance(shape.type, Tensor)
        ):
            raise Refused(operation.span, "expected a variable to have a type")
        try:
            extents = elements(self.module.text, shape.span, SHAPE, shape.type.shape or (), SHAPE.storage)
        except ValueError as error:
            raise Refused(operation.span, f"var_shape: {error}") from None
        if extents.ndim != 1 or extents.size > 64:
            raise Refused(operation.span, "var_shape: expected a list of at most 64 extents")
        return Tensor(tuple(max(-1, int(one)) for one in extents), element)
