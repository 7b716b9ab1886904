"""Writes TFLite files, so that tests need no converter: what a model has is said, nothing is checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tosajit.files.builder import Builder
from tosajit.frontends.tflite import schema
from tosajit.frontends.tflite.fields import Options, code_of, layout
from tosajit.frontends.tflite.options import OPTIONS, OPTIONS_2
from tosajit.frontends.tflite.schema import OPERATORS, Type

_UNION = {
    "SUB": 28, "MUL": 21, "DIV": 29, "L2_NORMALIZATION": 12, "DEPTH_TO_SPACE": 94, "SPLIT_V": 79,
    "ARG_MIN": 57,
}  # fmt: skip
"""The place in the union of options, where a class has several."""


_FORMS = {
    "o": "offset", "i": "int32", "I": "uint32", "b": "int8", "B": "uint8", "?": "bool", "f": "float32",
    "q": "int64", "Q": "uint64",
}  # fmt: skip


@dataclass(frozen=True)
class RawSparsity:
    order: tuple[int, ...]
    blocks: tuple[int, ...]
    dimensions: tuple[int | tuple[Sequence[int], Sequence[int]], ...]
    """A size, or segments and indices, for each dimension in order."""


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
    sparsity: RawSparsity | None = None


@dataclass(frozen=True)
class RawOperator:
    name: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    options: Options | None = None
    version: int = 1
    custom_options: bytes = b""
    custom: bool = False
    """Whether it is a custom operator, as those of unknown names are."""
    intermediates: tuple[int, ...] = ()


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
    builder: Builder = field(default_factory=Builder)
    buffers: list[bytes] = field(default_factory=lambda: [b""])
    codes: list[tuple[str, int, bool]] = field(default_factory=list)

    def file(self, model: RawModel) -> bytes:
        subgraphs = self.builder.offsets([self.subgraph(one) for one in model.subgraphs])
        signatures = self.builder.offsets([self.signature(*one) for one in model.signatures])
        codes = self.builder.offsets([self.code(*one) for one in self.codes])
        buffers = self.builder.offsets([self.buffer(one) for one in self.buffers])
        description, metadata = 0, (("o", 0), ("o", 0))
        tables = (("o", codes), ("o", subgraphs), ("o", description), ("o", buffers))
        root = self.table(("I", model.version), *tables, *metadata, ("o", signatures))
        return self.builder.finished(root, schema.IDENTIFIER)

    def subgraph(self, one: RawSubgraph) -> int:
        tensors = self.builder.offsets([self.tensor(tensor) for tensor in one.tensors])
        inputs, outputs = self.builder.numbers("i", one.inputs), self.builder.numbers("i", one.outputs)
        operators = self.builder.offsets([self.operator(operator) for operator in one.operators])
        name = self.builder.text(one.name)
        return self.table(("o", tensors), ("o", inputs), ("o", outputs), ("o", operators), ("o", name))

    def tensor(self, one: RawTensor) -> int:
        number = 0
        if one.data is not None:
            number = len(self.buffers)
            self.buffers.append(one.data)
        shape, name = self.builder.numbers("i", one.shape), self.builder.text(one.name)
        signature = self.builder.numbers("i", one.signature) if one.signature else 0
        quantization = self.quantization(one) if one.scale else 0
        first = (("o", shape), ("b", one.type), ("I", number), ("o", name), ("o", quantization))
        sparsity = self.sparsity(one.sparsity) if one.sparsity else 0
        return self.table(*first, ("?", one.variable), ("o", sparsity), ("o", signature))

    def sparsity(self, one: RawSparsity) -> int:
        order, blocks = self.builder.numbers("i", one.order), self.builder.numbers("i", one.blocks)
        dimensions = self.builder.offsets([self.dimension(dimension) for dimension in one.dimensions])
        return self.table(("o", order), ("o", blocks), ("o", dimensions))

    def dimension(self, one: int | tuple[Sequence[int], Sequence[int]]) -> int:
        if isinstance(one, int):
            return self.table(("b", 0), ("i", one))
        vectors = [self.table(("o", self.builder.numbers("i", tuple(numbers)))) for numbers in one]
        return self.table(("b", 1), ("i", 0), ("B", 1), ("o", vectors[0]), ("B", 1), ("o", vectors[1]))

    def quantization(self, one: RawTensor) -> int:
        scale = self.builder.numbers("f", one.scale)
        points = self.builder.numbers("q", one.zero_point or (0,) * len(one.scale))
        bounds, details = (("o", 0), ("o", 0)), (("B", 0), ("o", 0))
        return self.table(*bounds, ("o", scale), ("o", points), *details, ("i", one.axis))

    def operator(self, one: RawOperator) -> int:
        key = one.name, one.version, one.custom or one.name not in OPERATORS
        if key not in self.codes:
            self.codes.append(key)
        inputs, outputs = self.builder.numbers("i", one.inputs), self.builder.numbers("i", one.outputs)
        first, second = (0, 0), (0, 0)
        if one.options is not None and type(one.options) is not Options:
            first, second = self.options(one.name, one.options)
        custom = self.builder.numbers("B", tuple(one.custom_options)) if one.custom_options else 0
        inner = self.builder.numbers("i", one.intermediates) if one.intermediates else 0
        unused = (("b", 0), ("o", 0), ("o", inner), ("Q", 0), ("Q", 0))
        return self.table(
            ("I", self.codes.index(key)),
            *(("o", inputs), ("o", outputs), ("B", first[0]), ("o", first[1]), ("o", custom)),
            *(*unused, ("B", second[0]), ("o", second[1])),
        )

    def options(self, name: str, options: Options) -> tuple[tuple[int, int], tuple[int, int]]:
        written: list[tuple[Any, ...]] = []
        declared: Any = type(options)
        for field_name, storage, default in layout(declared):
            value = getattr(options, field_name)
            if storage is str:
                written.append(("o", self.builder.text(value)))
            elif isinstance(storage, str) and storage[0] == "[":
                written.append(("o", self.builder.numbers(storage[1], value) if value else 0))
            else:
                written.append((storage if isinstance(storage, str) else code_of(storage), value, default))
        table = self.table(*written)
        for union in (OPTIONS, OPTIONS_2):
            numbers = [number for number, kind in union.items() if kind is type(options)]
            if numbers:
                found = (_UNION.get(name, numbers[0]) if union is OPTIONS else numbers[0], table)
                return (found, (0, 0)) if union is OPTIONS else ((0, 0), found)
        raise ValueError(f"{type(options).__name__} is not in the unions of options")

    def code(self, name: str, version: int, custom: bool) -> int:
        number = OPERATORS.index("CUSTOM" if custom else name)
        text = self.builder.text(name) if custom else 0
        return self.table(("b", min(number, 127)), ("o", text), ("i", version, 1), ("i", number))

    def buffer(self, data: bytes) -> int:
        return self.table(("o", self.builder.blob(data, 16))) if data else self.table()

    def signature(self, key: str, subgraph: int, inputs: dict[str, int], outputs: dict[str, int]) -> int:
        maps = []
        for ones in (inputs, outputs):
            entries = [(self.builder.text(name), place) for name, place in ones.items()]
            maps.append(
                self.builder.offsets([self.table(("o", name), ("I", place)) for name, place in entries])
            )
        text = self.builder.text(key)
        return self.table(("o", maps[0]), ("o", maps[1]), ("o", text), ("o", 0), ("I", subgraph))

    def table(self, *fields: tuple[Any, ...]) -> int:
        return self.builder.table([(_FORMS[code], *rest) for code, *rest in fields])
