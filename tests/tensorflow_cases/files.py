"""Writes GraphDefs, so that tests need no TensorFlow: what a graph has is said, nothing is checked."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tosajit.frontends.tensorflow.elements import STORAGE
from tosajit.frontends.tensorflow.schema import Type

Array = np.ndarray[Any, Any]

TYPES = {storage: kind for kind, storage in STORAGE.items()}


@dataclass(frozen=True)
class Shape:
    """A shape as the value of an attribute; None is one of which nothing is known."""

    extents: Sequence[int] | None


@dataclass(frozen=True)
class Called:
    """A function as the value of an attribute."""

    name: str


@dataclass(frozen=True)
class RawNode:
    """A node, with the values of its attributes."""

    name: str
    op: str
    inputs: Sequence[str] = ()
    attributes: dict[str, Any] = field(default_factory=dict)

    def bytes(self) -> bytes:
        """The NodeDef."""
        attributes = b"".join(
            message(5, text(1, name) + message(2, attribute(value)))
            for name, value in self.attributes.items()
        )
        return (
            text(1, self.name) + text(2, self.op) + b"".join(text(3, one) for one in self.inputs) + attributes
        )


@dataclass(frozen=True)
class RawFunction:
    """A function: its arguments, and what its results are."""

    name: str
    arguments: Sequence[str]
    results: dict[str, str]
    nodes: Sequence[RawNode]

    def bytes(self) -> bytes:
        """The FunctionDef."""
        signature = text(1, self.name)
        signature += b"".join(message(2, text(1, one)) for one in self.arguments)
        signature += b"".join(message(3, text(1, one)) for one in self.results)
        returned = (message(4, text(1, name) + text(2, value)) for name, value in self.results.items())
        nodes = (message(3, node.bytes()) for node in self.nodes)
        return message(1, signature) + b"".join(nodes) + b"".join(returned)


@dataclass
class RawGraph:
    """A graph that is being written."""

    nodes: list[RawNode] = field(default_factory=list)
    functions: list[RawFunction] = field(default_factory=list)

    def input(self, name: str, shape: Sequence[int] | None, kind: Type = Type.FLOAT32) -> str:
        """A placeholder."""
        return self.node(name, "Placeholder", dtype=kind, shape=Shape(shape))

    def const(self, name: str, values: Any, kind: type[Any] | None = None) -> str:
        """A constant."""
        array = np.asarray(values, kind)
        return self.node(name, "Const", dtype=TYPES[array.dtype], value=array)

    def node(self, name: str, op: str, *inputs: str, **attributes: Any) -> str:
        """A node; its name is what others refer to."""
        self.nodes.append(RawNode(name, op, inputs, attributes))
        return name

    def bytes(self) -> bytes:
        """The GraphDef."""
        library = b"".join(message(1, one.bytes()) for one in self.functions)
        nodes = b"".join(message(1, node.bytes()) for node in self.nodes)
        return nodes + (message(2, library) if library else b"")


def varint(number: int) -> bytes:
    """An integer."""
    number, found = number % (1 << 64), bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*found, number])


def integer(number: int, value: int) -> bytes:
    """A field that is an integer."""
    return varint(number << 3) + varint(int(value))


def message(number: int, data: bytes) -> bytes:
    """A field that is a message, or bytes."""
    return varint(number << 3 | 2) + varint(len(data)) + data


def text(number: int, value: str) -> bytes:
    """A field that is a text."""
    return message(number, value.encode())


def attribute(value: Any) -> bytes:
    """The AttrValue of a Python value."""
    match value:
        case Type():
            return integer(6, value)
        case bool():
            return integer(5, value)
        case int():
            return integer(3, value)
        case float():
            return varint(4 << 3 | 5) + struct.pack("<f", value)
        case str():
            return text(2, value)
        case Shape():
            return message(7, shape_of(value.extents))
        case Called():
            return message(10, text(1, value.name))
        case np.ndarray():
            return message(8, tensor(value))
    return message(1, b"".join(map(item, value)))


def item(value: Any) -> bytes:
    """An item of a list: functions have another number there."""
    return message(9, text(1, value.name)) if isinstance(value, Called) else attribute(value)


def shape_of(extents: Sequence[int] | None) -> bytes:
    """A TensorShapeProto."""
    if extents is None:
        return integer(3, 1)
    return b"".join(message(2, integer(1, extent)) for extent in extents)


def tensor(array: Array) -> bytes:
    """A TensorProto with raw elements."""
    raw = message(4, array.tobytes()) if array.size else b""
    return integer(1, TYPES[array.dtype]) + message(2, shape_of(array.shape)) + raw
