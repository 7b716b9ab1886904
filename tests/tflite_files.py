"""Writes TFLite files, so that tests need no converter: what a model has is said, nothing is checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import flatbuffers
import numpy as np

from tosajit.frontends.tflite import schema
from tosajit.frontends.tflite.fields import Options, code_of, layout
from tosajit.frontends.tflite.options import OPTIONS, OPTIONS_2
from tosajit.frontends.tflite.schema import OPERATORS, Type

_UNION = {
    "SUB": 28, "MUL": 21, "DIV": 29, "L2_NORMALIZATION": 12, "DEPTH_TO_SPACE": 94, "SPLIT_V": 79,
    "ARG_MIN": 57,
}  # fmt: skip
"""The place in the union of options, where a class has several."""


@dataclass(frozen=True)
class RawTensor:
    name: str
    type: Type
    shape: tuple[int, ...]
    data: bytes | None = None
    scale: tuple[float, ...] = ()
    zero_point: tuple[int, ...] = ()
    axis: int = 0
    variable: bool = False
    signature: tuple[int, ...] = ()


@dataclass(frozen=True)
class RawOperator:
    name: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    options: Options | None = None
    version: int = 1
    custom_options: bytes = b""


@dataclass(frozen=True)
class RawSubgraph:
    tensors: Sequence[RawTensor]
    operators: Sequence[RawOperator]
    inputs: Sequence[int]
    outputs: Sequence[int]
    name: str = ""


@dataclass(frozen=True)
class RawModel:
    subgraphs: Sequence[RawSubgraph]
    signatures: Sequence[tuple[str, int, dict[str, int], dict[str, int]]] = ()
    version: int = 3

    def bytes(self) -> bytes:
        return _Writer().file(self)


@dataclass
class _Writer:
    builder: Any = field(default_factory=lambda: flatbuffers.Builder(1024))
    buffers: list[bytes] = field(default_factory=lambda: [b""])
    codes: list[tuple[str, int]] = field(default_factory=list)

    def file(self, model: RawModel) -> bytes:
        subgraphs = self.offsets([self.subgraph(one) for one in model.subgraphs])
        signatures = self.offsets([self.signature(*one) for one in model.signatures])
        codes = self.offsets([self.code(*one) for one in self.codes])
        buffers = self.offsets([self.buffer(one) for one in self.buffers])
        description, metadata = 0, (("o", 0), ("o", 0))
        tables = (("o", codes), ("o", subgraphs), ("o", description), ("o", buffers))
        root = self.table(("I", model.version), *tables, *metadata, ("o", signatures))
        self.builder.Finish(root, file_identifier=schema.IDENTIFIER)
        return bytes(self.builder.Output())

    def subgraph(self, one: RawSubgraph) -> int:
        tensors = self.offsets([self.tensor(tensor) for tensor in one.tensors])
        inputs, outputs = self.numbers("i", one.inputs), self.numbers("i", one.outputs)
        operators = self.offsets([self.operator(operator) for operator in one.operators])
        name = self.builder.CreateString(one.name)
        return self.table(("o", tensors), ("o", inputs), ("o", outputs), ("o", operators), ("o", name))

    def tensor(self, one: RawTensor) -> int:
        number = 0
        if one.data is not None:
            number = len(self.buffers)
            self.buffers.append(one.data)
        shape, name = self.numbers("i", one.shape), self.builder.CreateString(one.name)
        signature = self.numbers("i", one.signature) if one.signature else 0
        quantization = self.quantization(one) if one.scale else 0
        first = (("o", shape), ("b", one.type), ("I", number), ("o", name), ("o", quantization))
        return self.table(*first, ("?", one.variable), ("o", 0), ("o", signature))

    def quantization(self, one: RawTensor) -> int:
        scale = self.numbers("f", one.scale)
        points = self.numbers("q", one.zero_point or (0,) * len(one.scale))
        bounds, details = (("o", 0), ("o", 0)), (("B", 0), ("o", 0))
        return self.table(*bounds, ("o", scale), ("o", points), *details, ("i", one.axis))

    def operator(self, one: RawOperator) -> int:
        key = (one.name, one.version)
        if key not in self.codes:
            self.codes.append(key)
        inputs, outputs = self.numbers("i", one.inputs), self.numbers("i", one.outputs)
        first, second = (0, 0), (0, 0)
        if one.options is not None and type(one.options) is not Options:
            first, second = self.options(one.name, one.options)
        custom = self.numbers("B", tuple(one.custom_options)) if one.custom_options else 0
        unused = (("b", 0), ("o", 0), ("o", 0), ("Q", 0), ("Q", 0))
        return self.table(
            ("I", self.codes.index(key)),
            *(("o", inputs), ("o", outputs), ("B", first[0]), ("o", first[1]), ("o", custom)),
            *(*unused, ("B", second[0]), ("o", second[1])),
        )

    def options(self, name: str, options: Options) -> tuple[tuple[int, int], tuple[int, int]]:
        written = []
        for field_name, storage, default in layout(type(options)):
            value = getattr(options, field_name)
            if storage is str:
                written.append(("o", self.builder.CreateString(value)))
            elif isinstance(storage, str) and storage[0] == "[":
                written.append(("o", self.numbers(storage[1], value) if value else 0))
            else:
                written.append((storage if isinstance(storage, str) else code_of(storage), value, default))
        table = self.table(*written)
        for union in (OPTIONS, OPTIONS_2):
            numbers = [number for number, kind in union.items() if kind is type(options)]
            if numbers:
                found = (_UNION.get(name, numbers[0]) if union is OPTIONS else numbers[0], table)
                return (found, (0, 0)) if union is OPTIONS else ((0, 0), found)
        raise ValueError(f"{type(options).__name__} is not in the unions of options")

    def code(self, name: str, version: int) -> int:
        number = OPERATORS.index(name) if name in OPERATORS else OPERATORS.index("CUSTOM")
        custom = 0 if name in OPERATORS else self.builder.CreateString(name)
        return self.table(("b", min(number, 127)), ("o", custom), ("i", version, 1), ("i", number))

    def buffer(self, data: bytes) -> int:
        if not data:
            return self.table()
        self.builder.StartVector(1, len(data), 16)
        self.builder.head -= len(data)
        self.builder.Bytes[self.builder.head : self.builder.head + len(data)] = data
        return self.table(("o", self.builder.EndVector()))

    def signature(self, key: str, subgraph: int, inputs: dict[str, int], outputs: dict[str, int]) -> int:
        maps = []
        for ones in (inputs, outputs):
            entries = [(self.builder.CreateString(name), place) for name, place in ones.items()]
            maps.append(self.offsets([self.table(("o", name), ("I", place)) for name, place in entries]))
        text = self.builder.CreateString(key)
        return self.table(("o", maps[0]), ("o", maps[1]), ("o", text), ("o", 0), ("I", subgraph))

    def numbers(self, code: str, values: Sequence[float]) -> int:
        kind = {"i": np.int32, "f": np.float32, "q": np.int64, "B": np.uint8, "I": np.uint32}[code]
        return self.builder.CreateNumpyVector(np.array(values, kind))

    def offsets(self, offsets: list[int]) -> int:
        self.builder.StartVector(4, len(offsets), 4)
        for one in reversed(offsets):
            self.builder.PrependUOffsetTRelative(one)
        return self.builder.EndVector()

    def table(self, *fields: tuple[Any, ...]) -> int:
        write = {
            "o": self.builder.PrependUOffsetTRelativeSlot, "i": self.builder.PrependInt32Slot,
            "I": self.builder.PrependUint32Slot, "b": self.builder.PrependInt8Slot,
            "B": self.builder.PrependUint8Slot, "?": self.builder.PrependBoolSlot,
            "f": self.builder.PrependFloat32Slot, "q": self.builder.PrependInt64Slot,
            "Q": self.builder.PrependUint64Slot,
        }  # fmt: skip
        self.builder.StartObject(len(fields))
        for slot, (code, value, *default) in enumerate(fields):
            write[code](slot, value, default[0] if default else 0)
        return self.builder.EndObject()
