"""Writes ONNX models, so that tests need no ONNX: what a model has is said, nothing is checked."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.tensorflow_cases.files import integer, message, text, varint
from tosajit.frontends.onnx.schema import STORAGE, Type

Array = np.ndarray[Any, Any]
TYPES = {storage: kind for kind, storage in STORAGE.items()}


@dataclass(frozen=True)
class RawValue:
    """An input or output; an extent is a number, or the name of one that is open."""

    name: str
    shape: Sequence[int | str] | None = ()
    kind: Type = Type.FLOAT32

    def bytes(self) -> bytes:
        """The ValueInfo."""
        inner = integer(1, self.kind)
        if self.shape is not None:
            extents = (
                message(1, text(2, one) if isinstance(one, str) else integer(1, one)) for one in self.shape
            )
            inner += message(2, b"".join(extents))
        return text(1, self.name) + message(2, message(1, inner))


@dataclass(frozen=True)
class External:
    """Elements in another file."""

    array: Array
    location: str
    offset: int | str = 0
    length: int | None = None


@dataclass(frozen=True)
class RawNode:
    """A node, with the values of its attributes."""

    op: str
    inputs: Sequence[str]
    outputs: Sequence[str]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    name: str = ""
    domain: str = ""

    def bytes(self) -> bytes:
        """The NodeProto."""
        ends = b"".join(text(1, one) for one in self.inputs) + b"".join(text(2, one) for one in self.outputs)
        pairs = self.attributes.items()
        named = b"".join(message(5, text(1, name) + attribute(value)) for name, value in pairs)
        return ends + text(3, self.name) + text(4, self.op) + named + text(7, self.domain)


@dataclass(frozen=True)
class Reference:
    """An attribute of the function around it, as the value of an attribute."""

    name: str
    kind: int


@dataclass(frozen=True)
class RawGraph:
    """Nodes, and what they begin and end with."""

    nodes: Sequence[RawNode]
    inputs: Sequence[RawValue]
    outputs: Sequence[RawValue]
    constants: Mapping[str, Array | External] = field(default_factory=dict)

    def bytes(self) -> bytes:
        """The GraphProto."""
        nodes = b"".join(message(1, one.bytes()) for one in self.nodes)
        held = b"".join(message(5, tensor(value, name)) for name, value in self.constants.items())
        ends = b"".join(message(11, one.bytes()) for one in self.inputs)
        return (
            nodes + text(2, "main") + held + ends + b"".join(message(12, one.bytes()) for one in self.outputs)
        )


@dataclass(frozen=True)
class RawFunction:
    """A function of the model."""

    domain: str
    name: str
    inputs: Sequence[str]
    outputs: Sequence[str]
    nodes: Sequence[RawNode]
    attributes: Sequence[str] = ()

    def bytes(self) -> bytes:
        """The FunctionProto."""
        ends = b"".join(text(4, one) for one in self.inputs) + b"".join(text(5, one) for one in self.outputs)
        named = b"".join(text(6, one) for one in self.attributes)
        nodes = b"".join(message(7, one.bytes()) for one in self.nodes)
        opset = message(9, integer(2, 18))
        return text(1, self.name) + ends + named + nodes + opset + text(10, self.domain)


def model(graph: RawGraph, opset: int = 18, functions: Sequence[RawFunction] = ()) -> bytes:
    """A whole file."""
    opsets = message(8, text(1, "") + integer(2, opset)) + message(8, text(1, "mine") + integer(2, 1))
    called = b"".join(message(25, one.bytes()) for one in functions)
    return integer(1, 8) + text(2, "tests") + message(7, graph.bytes()) + opsets + called


def single(
    op: str, given: Mapping[str, Array], outputs: int = 1, opset: int = 18, /, **attributes: Any
) -> bytes:
    """A model of one node; names of inputs that begin with `_` are those of constants."""
    inputs = [RawValue(name, one.shape, TYPES[one.dtype]) for name, one in given.items() if name[0] != "_"]
    held = {name: one for name, one in given.items() if name[0] == "_"}
    results = [f"y{place}" for place in range(outputs)]
    node = RawNode(op, list(given), results, attributes, "layer")
    return model(RawGraph([node], inputs, [RawValue(one, None) for one in results], held), opset)


def tensor(value: Array | External, name: str = "") -> bytes:
    """A TensorProto."""
    array = value.array if isinstance(value, External) else value
    dims = b"".join(integer(1, one) for one in array.shape)
    head = dims + integer(2, TYPES[array.dtype]) + (text(8, name) if name else b"")
    if isinstance(value, External):
        entries = {"location": value.location, "offset": str(value.offset)}
        if value.length is not None:
            entries["length"] = str(value.length)
        pairs = b"".join(message(13, text(1, key) + text(2, one)) for key, one in entries.items())
        return head + pairs + integer(14, 1)
    return head + message(9, _raw(array))


def _raw(array: Array) -> bytes:
    """The bytes of elements, of which those of few bits share some."""
    bits = {"int4": 4, "uint4": 4, "float4_e2m1fn": 4, "int2": 2, "uint2": 2}.get(array.dtype.name)
    if bits is None:
        return array.tobytes()
    numbers = array.reshape(-1).view(np.uint8) & (1 << bits) - 1
    total = sum(int(one) << bits * place for place, one in enumerate(numbers))
    return total.to_bytes(-(-bits * array.size // 8), "little")


def attribute(value: Any) -> bytes:
    """The value of an attribute."""
    match value:
        case Reference():
            return text(21, value.name) + integer(20, value.kind)
        case RawGraph():
            return message(6, value.bytes()) + integer(20, 5)
        case np.ndarray():
            return message(5, tensor(value)) + integer(20, 4)
        case str():
            return text(4, value) + integer(20, 3)
        case float():
            return varint(2 << 3 | 5) + struct.pack("<f", value) + integer(20, 1)
        case int():
            return integer(3, value) + integer(20, 2)
        case [float(), *_]:
            return message(7, struct.pack(f"<{len(value)}f", *value)) + integer(20, 6)
        case _:
            return b"".join(integer(8, one) for one in value) + integer(20, 7)
