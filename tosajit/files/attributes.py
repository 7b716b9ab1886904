"""Attribute tables, as the operators declare them."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from tosajit.dtypes import DType
from tosajit.errors import FileError
from tosajit.files.builder import Builder, Field
from tosajit.files.constants import pack, stored_size, unpack
from tosajit.files.cursor import Table
from tosajit.graph.attributes import Attribute, AttributeFaults
from tosajit.graph.operator import Operator

_PADDED_NUMBER = 8  # CLAMP's bounds may be filled up to this many bytes with zeros
_REGIONS = ("then_graph", "else_graph", "cond_graph", "body_graph")


def field_names(operator: type[Operator]) -> tuple[str, ...]:
    """The fields of an operator's attribute table."""
    return tuple(attribute.name for attribute in operator.attributes)


def read_attributes(operator: type[Operator], table: Table | None, dtype: DType | None) -> dict[str, Any]:
    """The attributes of an operator; `dtype` is the type of its first input."""
    if table is None:
        return {}
    return {attribute.name: _read(attribute, table, dtype) for attribute in operator.attributes}


def construct(operator: type[Operator], fields: Mapping[str, Any], table: Table) -> Operator:
    """An operator with these attributes; what they refuse is a fault of the file."""
    try:
        return operator(**fields)
    except AttributeFaults as error:
        first = error.faults[0]
        table.fail("attribute", f"attribute {first.attribute} of {operator.opcode}: {first.text}")


def called_regions(operator: Operator) -> tuple[str, ...]:
    """The names of the regions that an operator runs."""
    return tuple(getattr(operator, name) for name in _REGIONS if name in operator.fields)


def write_attributes(builder: Builder, operator: Operator, dtype: DType | None) -> int:
    """Append the attribute table of an operator; its offset."""
    fields = [_field(builder, a, getattr(operator, a.name), dtype) for a in type(operator).attributes]
    return builder.table(fields)


def _read(attribute: Attribute, table: Table, dtype: DType | None) -> Any:
    name = attribute.name
    match attribute.encoding:
        case "bool":
            return table.boolean(name)
        case "int32":
            return table.i32(name)
        case "enum":
            return _enum(attribute, table)
        case "int32s":
            return table.ints(name)
        case "string":
            return table.string(name)
        case "bytes":
            start, count = table.blob(name)
            table.charge(count, name)
            return bytes(table.source.data[start : start + count])
        case "number":
            return _number(attribute, table, dtype)


def _enum(attribute: Attribute, table: Table) -> Any:
    number = table.u32(attribute.name)
    assert attribute.enum is not None
    try:
        return attribute.enum(number)
    except ValueError:
        names = ", ".join(f"{member.name} ({member.value})" for member in attribute.enum)
        table.fail(attribute.name, f"{number} is not part of TOSA 1.0.1: expected one of {names}")


def _number(attribute: Attribute, table: Table, dtype: DType | None) -> int | float:
    if dtype is None or not table.find(attribute.name, 4):
        table.fail(attribute.name, "expected the bytes of an element of the operator's first input")
    start, count = table.blob(attribute.name)
    size = stored_size(dtype, ())
    if count not in (size, _PADDED_NUMBER):
        table.fail(
            attribute.name, f"expected {size} or {_PADDED_NUMBER} bytes for {dtype.name}, found {count}"
        )
    if any(table.source.data[start + size : start + count]):
        table.fail(attribute.name, "expected zeros after the element")
    number: int | float = unpack(table.source.data[start : start + size], dtype, ())[()].item()
    return number


def _field(builder: Builder, attribute: Attribute, value: Any, dtype: DType | None) -> Field:
    match attribute.encoding:
        case "bool":
            return "bool", value
        case "int32":
            return "int32", value
        case "enum":
            return "uint32", int(value)
        case "int32s":
            return "offset", builder.ints(value)
        case "string":
            return "offset", builder.text(value)
        case "bytes":
            return "offset", builder.blob(value, alignment=1)
        case "number":
            return "offset", builder.blob(_element(attribute.name, value, dtype))


def _element(name: str, value: int | float, dtype: DType | None) -> bytes:
    if dtype is None:
        raise FileError(f"{name} is stored as an element of the first input, but there is none")
    array = np.asarray(value)
    with np.errstate(over="ignore"):
        element = array.astype(dtype.storage)
    if not dtype.is_float and element != array:
        raise FileError(f"{name} is {value}, which {dtype.name} cannot hold")
    return bytes(pack(element, dtype))
