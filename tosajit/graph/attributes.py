"""Attributes of operators: how a class body declares them, and what they take.

An annotation says what an attribute is (`stride: Pair`, `nan_mode: NanMode = NanMode.PROPAGATE`). Values are
converted where nothing is lost: names and numbers to members of enumerations, lists to tuples, numbers of
NumPy to those of Python.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from functools import cache
from inspect import get_annotations
from typing import Any, ClassVar, Literal, get_args, get_origin

from tiling.records import dataclass
from tiling.words import plain

Encoding = Literal["bool", "int32", "enum", "int32s", "bytes", "string", "number"]

REQUIRED: Any = object()
"""The default of an attribute that has none."""


@dataclass(frozen=True, slots=True)
class Fault:
    """An attribute, and what is wrong with it."""

    attribute: str
    text: str

    def __str__(self) -> str:
        return f"{self.attribute}: {self.text}"


class AttributeFaults(ValueError):
    """Raised where an operator is made of what is not its attributes."""

    def __init__(self, opcode: str, faults: Sequence[Fault]) -> None:
        super().__init__(opcode, faults)
        self.opcode, self.faults = opcode, tuple(faults)

    def __str__(self) -> str:
        return f"{self.opcode} {'; '.join(map(str, self.faults))}"


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute, in the order of its table in files."""

    name: str
    encoding: Encoding
    annotation: Any
    enum: type[IntEnum] | None = None
    length: int | None = None
    """How many int32s there are, None for any number."""
    default: Any = REQUIRED

    def converted(self, value: Any) -> Any:
        """Return a value as the operator keeps it; ValueError says what is wrong with it."""
        match self.encoding:
            case "enum":
                return _member(self.enum, value)
            case "int32s":
                return _integers(value, self.length)
        return CONVERTED[self.encoding](value)


def declared(cls: type) -> Mapping[str, Attribute]:
    """Return the attributes that a class and its bases declare, those of the bases first."""
    return {name: one for base in reversed(cls.__mro__) for name, one in _own(base).items()}


@cache
def _own(base: type) -> Mapping[str, Attribute]:
    """Return the attributes that a class declares itself; most classes share their bases."""
    found = {}
    for name, annotation in get_annotations(base, eval_str=True).items():
        origin: object = get_origin(annotation)
        if origin is not ClassVar:
            found[name] = _attribute(name, annotation, vars(base).get(name, REQUIRED))
    return found


def checked(opcode: str, attributes: Mapping[str, Attribute], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of all attributes; AttributeFaults has every fault."""
    values, faults = (
        {},
        [Fault(name, "there is no such attribute") for name in given if name not in attributes],
    )
    for name, attribute in attributes.items():
        value = given.get(name, attribute.default)
        try:
            values[name] = value if name not in given else attribute.converted(value)
        except ValueError as error:
            faults.append(Fault(name, str(error)))
        if value is REQUIRED:
            faults.append(Fault(name, "it is missing"))
    if faults:
        raise AttributeFaults(opcode, faults)
    return values


_ENCODINGS: dict[object, Encoding] = {bool: "bool", int: "int32", str: "string", bytes: "bytes"}


def _attribute(name: str, annotation: Any, default: Any) -> Attribute:
    if get_origin(annotation) is tuple:
        extents = get_args(annotation)
        length = None if Ellipsis in extents else len(extents)
        return Attribute(name, "int32s", annotation, length=length, default=default)
    if isinstance(annotation, type) and issubclass(annotation, IntEnum):
        return Attribute(name, "enum", annotation, annotation, default=default)
    encoding = "number" if get_args(annotation) else _ENCODINGS[annotation]
    return Attribute(name, encoding, annotation, default=default)


def _integer(value: Any) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise ValueError(f"{plain(repr(value))} is not an integer") from None
    if not -(1 << 31) <= number < 1 << 31:
        raise ValueError(f"{number} is not an int32")
    return number


def _integers(values: Any, length: int | None) -> tuple[int, ...]:
    if isinstance(values, str | bytes) or not isinstance(values, Sequence):
        raise ValueError(f"{plain(repr(values))} is not a sequence of integers")
    if length is not None and len(values) != length:
        raise ValueError(f"there are {len(values)} integers, but must be {length}")
    return tuple(map(_integer, values))


def _member(enum: type[IntEnum] | None, value: Any) -> IntEnum:
    assert enum is not None
    try:
        return enum(value)
    except ValueError:
        names = ", ".join(member.name for member in enum)
        raise ValueError(f"{plain(repr(value))} is none of {names}") from None


def _boolean(value: Any) -> bool:
    if value not in (0, 1):
        raise ValueError(f"{plain(repr(value))} is neither true nor false")
    return bool(value)


def _number(value: Any) -> int | float:
    try:
        return operator.index(value)
    except TypeError:
        pass
    if isinstance(value, str | bytes) or not hasattr(value, "__float__"):
        raise ValueError(f"{plain(repr(value))} is not a number")
    return float(value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{plain(repr(value))} is not a text")
    return value


def _bytes(value: Any) -> bytes:
    if not isinstance(value, str | bytes | bytearray):
        raise ValueError(f"{plain(repr(value))} is not bytes")
    return value.encode() if isinstance(value, str) else bytes(value)


CONVERTED: Mapping[str, Callable[[Any], Any]] = {
    "bool": _boolean,
    "int32": _integer,
    "string": _text,
    "bytes": _bytes,
    "number": _number,
}
