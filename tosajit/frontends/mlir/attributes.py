"""Attributes of operators: what a text says, as the declarations of the operators want it, and back."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tosajit.dtypes import BOOL, DType
from tosajit.frontends.mlir.elements import scalar
from tosajit.frontends.mlir.kinds import NAMES, kind_of
from tosajit.frontends.mlir.syntax.records import (
    Attribute,
    Foreign,
    Many,
    Number,
    Plain,
    Symbol,
    Text,
    Word,
)
from tosajit.graph.attributes import Attribute as Declared
from tosajit.graph.operator import Operator
from tosajit.operators import AccType

MEMBERS = {"NEAREST_NEIGHBOR": "NEAREST"}
"""Members of enumerations that MLIR calls by another name than the specification."""
_FORMER = frozenset({("TRANSPOSE_CONV2D", "out_shape")})
"""Attributes of earlier versions that say what the types say."""
_BOOLEANS = {"true": True, "false": False, "1": True, "0": False}


class AttributeFault(Exception):
    """An attribute is not what its operator declares."""


def read_attributes(
    operator: type[Operator], given: Mapping[str, Attribute], dtype: DType | None
) -> dict[str, Any]:
    """The attributes of an operator; `dtype` is the type of its first input.

    What a dialect adds to operations, such as `tosa.tensor_name`, has a dot in its name and is no attribute.
    """
    found: dict[str, Any] = {}
    for name, value in given.items():
        if "." in name or (operator.opcode, name) in _FORMER:
            continue
        declared = operator.fields.get(name)
        if declared is None or name in operator.regions:
            raise AttributeFault(f"{name}: TOSA 1.0.1 has no such attribute of {operator.opcode}")
        try:
            found[name] = _value(declared, value, dtype)
        except ValueError as error:
            raise AttributeFault(f"{name}: {error}") from None
    return found


def _value(declared: Declared, value: Attribute, dtype: DType | None) -> Any:
    match declared.encoding, value:
        case "bool", Word(text) | Number(text) if text in _BOOLEANS:
            return _BOOLEANS[text]
        case "int32", Number(text):
            return _integer(text)
        case "int32s", Many(items):
            return tuple(_integer(one.text) if isinstance(one, Number) else _integer("") for one in items)
        case "enum", _:
            return _member(declared, value)
        case "string", Text():
            return value.text
        case "string", Symbol(name):
            return name
        case "bytes", Text(data):
            return data
        case "number", Word(name) if name in _BOOLEANS and dtype is BOOL:
            return _BOOLEANS[name]
        case "number", Number(text, type):
            return _number(text, type, dtype)
    raise ValueError(f"expected {_EXPECTED[declared.encoding]}")


_EXPECTED = {
    "bool": "true or false",
    "int32": "an integer",
    "int32s": "a list of integers, such as array<i64: 1, 1>",
    "enum": "a member of its enumeration",
    "string": "a text between quotes",
    "bytes": "a text between quotes",
    "number": "a number and its type, such as 0 : i8",
}


def _integer(text: str) -> int:
    if re.fullmatch(r"-?[0-9]{1,19}", text) is None:
        raise ValueError(f"expected an integer, but found `{text[:40]}`")
    return int(text)


def _member(declared: Declared, value: Attribute) -> Any:
    """`SINGLE_ROUND`, `"SINGLE_ROUND"`, `#tosa.rounding_mode<SINGLE_ROUND>`; a type for an accumulator."""
    match value:
        case Plain(name) if declared.enum is AccType:
            kind = kind_of(name)
            word = "" if kind is None else kind.dtype.name
        case Word(word):
            pass
        case Text():
            word = value.text
        case Foreign(_, body):
            word = body.split()[-1] if body.split() else ""
        case _:
            word = ""
    return declared.converted(MEMBERS.get(word, word))


def _number(text: str, type: object, dtype: DType | None) -> int | float:
    """A number of the type of the first input; bits of real numbers are hexadecimal."""
    kind = kind_of(type.name) if isinstance(type, Plain) else None
    chosen = kind.dtype if kind is not None else dtype
    if chosen is None:
        raise ValueError("expected a number and its type")
    if dtype is not None and chosen.is_float is not dtype.is_float:
        raise ValueError(f"expected a number of the type {NAMES[dtype]}, but found {NAMES[chosen]}")
    found: int | float = scalar(text, chosen, chosen.storage).item()
    return found
