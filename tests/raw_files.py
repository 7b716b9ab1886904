"""Writes TOSA files without any check, so that tests can make wrong ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tosajit.files.builder import Builder


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
        builder = Builder()
        regions = _offsets(builder, [self._region(builder, name) for name in self.regions] * self.repeat)
        major, minor, patch, draft = self.version
        version = builder.table(
            [("int32", major, -1), ("int32", minor, -1), ("int32", patch, -1), ("bool", draft, True)]
        )
        compatibility = builder.table([("offset", 0), ("uint64", self.features)])
        extra = [("uint32", 1)] * self.extra_fields
        fields = [("offset", version), ("offset", regions), ("offset", 0), ("offset", compatibility), *extra]
        return builder.finished(builder.table(fields), b"TOSA")

    def _region(self, builder: Builder, name: str) -> int:
        blocks = _offsets(builder, [self._block(builder) for _ in range(self.blocks)] * self.repeat)
        return builder.table([("offset", builder.text(name)), ("offset", blocks)])

    def _block(self, builder: Builder) -> int:
        fields = [
            builder.text("main"),
            _offsets(builder, [_operator(builder, operator) for operator in self.operators] * self.repeat),
            _offsets(builder, [_tensor(builder, tensor) for tensor in self.tensors]),
            _texts(builder, self.inputs),
            _texts(builder, self.outputs),
            _offsets(builder, [_shape(builder, shape) for shape in self.shapes]),
        ]
        return builder.table([("offset", field) for field in fields])


def _operator(builder: Builder, operator: RawOperator) -> int:
    attribute = 0
    if operator.fields is not None:
        fields = [(form, _stored(builder, value)) for form, value in operator.fields]
        attribute = builder.table(fields)
    number = operator.number if operator.attribute is None else operator.attribute
    inputs, outputs = _texts(builder, operator.inputs), _texts(builder, operator.outputs)
    offsets = [("offset", offset) for offset in (attribute, inputs, outputs)]
    return builder.table([("uint32", operator.number), ("uint8", number & 255), *offsets])


def _stored(builder: Builder, value: Any) -> int:
    match value:
        case str():
            return builder.text(value)
        case bytes():
            return builder.blob(value)
        case tuple():
            return builder.ints(value)
        case int():
            return value
        case _:
            raise TypeError(value)


def _tensor(builder: Builder, tensor: RawTensor) -> int:
    name, shape = builder.text(tensor.name), builder.ints(tensor.shape)
    data = 0 if tensor.data is None else builder.blob(tensor.data)
    variable = builder.text(tensor.variable) if tensor.variable else 0
    offset, size = tensor.external
    fields = [("offset", name), ("offset", shape), ("uint32", tensor.type), ("offset", data)]
    fields += [("bool", bool(variable)), ("bool", False), ("offset", variable)]
    fields += [("uint64", offset), ("uint64", size), ("uint32", tensor.scale_type)]
    return builder.table(fields)


def _shape(builder: Builder, shape: RawShape) -> int:
    name = builder.text(shape.name)
    data = 0 if shape.data is None else builder.blob(shape.data)
    return builder.table([("offset", name), ("uint32", shape.rank), ("offset", data)])


def _texts(builder: Builder, texts: Sequence[str]) -> int:
    return _offsets(builder, [builder.text(text) for text in texts])


def _offsets(builder: Builder, offsets: Sequence[int]) -> int:
    return builder.offsets(offsets)
