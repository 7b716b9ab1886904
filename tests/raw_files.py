"""Writes TOSA files without any check, so that tests can make wrong ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import flatbuffers

from tosajit.files.builder import append_bytes, append_ints, append_offsets, append_table


@dataclass(frozen=True)
class RawTensor:
    name: str = "x"
    type: int = 3
    shape: tuple[int, ...] = (2,)
    data: bytes | None = None
    variable: str = ""
    external: tuple[int, int] = (0, 0)
    scale_type: int = 0


@dataclass(frozen=True)
class RawShape:
    name: str
    rank: int
    data: bytes | None = None


@dataclass(frozen=True)
class RawOperator:
    """`fields` is the attribute table; None leaves it out."""

    number: int
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    fields: tuple[tuple[str, Any], ...] | None = ()
    attribute: int | None = None


@dataclass(frozen=True)
class RawFile:
    tensors: tuple[RawTensor, ...] = (RawTensor(),)
    shapes: tuple[RawShape, ...] = ()
    operators: tuple[RawOperator, ...] = ()
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    version: tuple[int, int, int, bool] = (1, 0, 1, False)
    features: int = 0
    regions: tuple[str, ...] = ("main",)
    blocks: int = 1
    extra_fields: int = 0
    repeat: int = 1
    """How often each operator, block and region is listed, without being stored again."""

    def bytes(self) -> bytes:
        builder = flatbuffers.Builder(256)
        regions = _offsets(builder, [self._region(builder, name) for name in self.regions] * self.repeat)
        major, minor, patch, draft = self.version
        version = append_table(
            builder, [("int32", major, -1), ("int32", minor, -1), ("int32", patch, -1), ("bool", draft, True)]
        )
        compatibility = append_table(builder, [("offset", 0), ("uint64", self.features)])
        extra = [("uint32", 1)] * self.extra_fields
        fields = [("offset", version), ("offset", regions), ("offset", 0), ("offset", compatibility), *extra]
        builder.Finish(append_table(builder, fields), file_identifier=b"TOSA")
        return bytes(builder.Output())

    def _region(self, builder: flatbuffers.Builder, name: str) -> int:
        blocks = _offsets(builder, [self._block(builder) for _ in range(self.blocks)] * self.repeat)
        return append_table(builder, [("offset", builder.CreateString(name)), ("offset", blocks)])

    def _block(self, builder: flatbuffers.Builder) -> int:
        fields = [
            builder.CreateString("main"),
            _offsets(builder, [_operator(builder, operator) for operator in self.operators] * self.repeat),
            _offsets(builder, [_tensor(builder, tensor) for tensor in self.tensors]),
            _texts(builder, self.inputs),
            _texts(builder, self.outputs),
            _offsets(builder, [_shape(builder, shape) for shape in self.shapes]),
        ]
        return append_table(builder, [("offset", field) for field in fields])


def _operator(builder: flatbuffers.Builder, operator: RawOperator) -> int:
    attribute = 0
    if operator.fields is not None:
        fields = [(form, _stored(builder, value)) for form, value in operator.fields]
        attribute = append_table(builder, fields)
    number = operator.number if operator.attribute is None else operator.attribute
    inputs, outputs = _texts(builder, operator.inputs), _texts(builder, operator.outputs)
    offsets = [("offset", offset) for offset in (attribute, inputs, outputs)]
    return append_table(builder, [("uint32", operator.number), ("uint8", number & 255), *offsets])


def _stored(builder: flatbuffers.Builder, value: Any) -> int:
    match value:
        case str():
            return builder.CreateString(value)
        case bytes():
            return append_bytes(builder, value)
        case tuple():
            return append_ints(builder, value)
        case _:
            return value


def _tensor(builder: flatbuffers.Builder, tensor: RawTensor) -> int:
    name, shape = builder.CreateString(tensor.name), append_ints(builder, tensor.shape)
    data = 0 if tensor.data is None else append_bytes(builder, tensor.data)
    variable = builder.CreateString(tensor.variable) if tensor.variable else 0
    offset, size = tensor.external
    fields = [("offset", name), ("offset", shape), ("uint32", tensor.type), ("offset", data)]
    fields += [("bool", bool(variable)), ("bool", False), ("offset", variable)]
    fields += [("uint64", offset), ("uint64", size), ("uint32", tensor.scale_type)]
    return append_table(builder, fields)


def _shape(builder: flatbuffers.Builder, shape: RawShape) -> int:
    name = builder.CreateString(shape.name)
    data = 0 if shape.data is None else append_bytes(builder, shape.data)
    return append_table(builder, [("offset", name), ("uint32", shape.rank), ("offset", data)])


def _texts(builder: flatbuffers.Builder, texts: Sequence[str]) -> int:
    return _offsets(builder, [builder.CreateString(text) for text in texts])


def _offsets(builder: flatbuffers.Builder, offsets: Sequence[int]) -> int:
    return append_offsets(builder, offsets)
