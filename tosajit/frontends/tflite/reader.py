"""From the bytes of a TFLite file to records: every offset, count and index is checked."""

from __future__ import annotations

from math import isfinite, prod

import numpy as np

from tiling.records import dataclass
from tosajit.arrays import Array
from tosajit.dtypes import BF16, FP8E4M3, FP8E5M2
from tosajit.files.cursor import Bytes, Source, Table, root
from tosajit.frontends.tflite import schema
from tosajit.frontends.tflite.fields import Options, read_options
from tosajit.frontends.tflite.options import OPTIONS, OPTIONS_2
from tosajit.frontends.tflite.records import (
    Dimension,
    Model,
    Operator,
    Quantization,
    Signature,
    Sparsity,
    Subgraph,
    Tensor,
)
from tosajit.frontends.tflite.schema import OPERATORS, Type
from tosajit.frontends.tflite.sparse import dense

_HIGHEST_RANK = 64  # that of NumPy
_MOST_ELEMENTS = 1 << 40
_LARGEST = 1 << 31  # no extent is this large
_SPARSEST = 4
"""Elements of a sparse constant that cost as much as one visit."""

_STORAGE: dict[Type, np.dtype[np.generic]] = {
    Type.FLOAT32: np.dtype("<f4"), Type.FLOAT16: np.dtype("<f2"), Type.FLOAT64: np.dtype("<f8"),
    Type.INT8: np.dtype("i1"), Type.INT16: np.dtype("<i2"), Type.INT32: np.dtype("<i4"),
    Type.INT64: np.dtype("<i8"), Type.UINT8: np.dtype("u1"), Type.UINT16: np.dtype("<u2"),
    Type.UINT32: np.dtype("<u4"), Type.UINT64: np.dtype("<u8"), Type.BOOL: np.dtype("?"),
    Type.COMPLEX64: np.dtype("<c8"), Type.COMPLEX128: np.dtype("<c16"),
}  # fmt: skip
_LATE = {Type.BFLOAT16: BF16, Type.FLOAT8_E4M3FN: FP8E4M3, Type.FLOAT8_E5M2: FP8E5M2}
_NARROW = {Type.INT4: (4, True), Type.UINT4: (4, False), Type.INT2: (2, True)}
"""Bits and sign of the types whose elements share bytes, the first one in the lowest bits."""


def storage_of(kind: Type) -> np.dtype[np.generic]:
    """The NumPy type of elements of at least a byte."""
    return _LATE[kind].storage if kind in _LATE else _STORAGE[kind]


def read_model(data: Bytes) -> Model:
    """Decode a file; whatever is wrong with its structure is a FileError."""
    source = Source.of(data, schema.NAME)
    table = root(source, schema.IDENTIFIER, schema.MODEL)
    if (version := table.u32("version")) != 3:
        table.fail("version", f"expected version 3, found {version}")
    buffers = tuple(table.tables("buffers", schema.BUFFER))
    codes = tuple(_code(code) for code in table.tables("operator_codes", schema.OPERATOR_CODE))
    reader = _Reader(buffers, codes)
    tables = table.tables("subgraphs", schema.SUBGRAPH)
    subgraphs = tuple(reader.subgraph(place, one) for place, one in enumerate(tables))
    if not subgraphs:
        table.fail("subgraphs", "expected at least one subgraph")
    signatures = tuple(_signature(one, subgraphs) for one in table.tables("signature_defs", schema.SIGNATURE))
    metadata = tuple(one.string("name") for one in table.tables("metadata", schema.METADATA))
    return Model(table.string("description"), subgraphs, signatures, metadata)


@dataclass(frozen=True, slots=True)
class _Code:
    """What the operators of a kind share."""

    name: str
    custom: bool
    version: int


def _code(table: Table) -> _Code:
    short, number = table.number("deprecated_builtin_code", "b"), table.i32("builtin_code")
    number = max(short, number)  # files of older versions have only the short one
    if not 0 <= number < len(OPERATORS):
        table.fail("builtin_code", f"operator {number} is not part of {schema.NAME} as this version knows it")
    name, version = OPERATORS[number], table.i32("version", 1)
    return (
        _Code(table.string("custom_code") or name, True, version)
        if name == "CUSTOM"
        else _Code(name, False, version)
    )


def _signature(table: Table, subgraphs: tuple[Subgraph, ...]) -> Signature:
    place = table.u32("subgraph_index")
    if place >= len(subgraphs):
        table.fail("subgraph_index", f"expected one of {len(subgraphs)} subgraphs, found {place}")
    maps = []
    for field in ("inputs", "outputs"):
        found = []
        for entry in table.tables(field, schema.TENSOR_MAP):
            tensor = entry.u32("tensor_index")
            if tensor >= len(subgraphs[place].tensors):
                count = len(subgraphs[place].tensors)
                entry.fail("tensor_index", f"expected one of {count} tensors, found {tensor}")
            found.append((entry.string("name"), tensor))
        maps.append(tuple(found))
    return Signature(table.string("signature_key"), place, maps[0], maps[1])


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads subgraphs, which refer to what the whole model shares."""

    buffers: tuple[Table, ...]
    codes: tuple[_Code, ...]

    def subgraph(self, place: int, table: Table) -> Subgraph:
        tensors = tuple(
            self.tensor(number, one) for number, one in enumerate(table.tables("tensors", schema.TENSOR))
        )
        operators = tuple(
            self.operator(number, one, len(tensors))
            for number, one in enumerate(table.tables("operators", schema.OPERATOR))
        )
        inputs, outputs = (_places(table, field, len(tensors), 0) for field in ("inputs", "outputs"))
        return Subgraph(place, table.string("name"), tensors, operators, inputs, outputs)

    def operator(self, place: int, table: Table, tensors: int) -> Operator:
        number = table.u32("opcode_index")
        if number >= len(self.codes):
            table.fail("opcode_index", f"expected one of {len(self.codes)} operators, found {number}")
        code = self.codes[number]
        inputs = _places(table, "inputs", tensors, -1)
        outputs = _places(table, "outputs", tensors, 0)
        intermediates = _places(table, "intermediates", tensors, -1)
        return Operator(
            place, code.name, code.custom, code.version, inputs, outputs, _options(table),
            _custom_options(table), intermediates,
        )  # fmt: skip

    def tensor(self, place: int, table: Table) -> Tensor:
        number = table.number("type", "b")
        if number not in Type._value2member_map_:
            table.fail("type", f"type {number} is not part of {schema.NAME} as this version knows it")
        if external := table.u32("external_buffer"):
            table.fail(
                "external_buffer",
                f"the elements of {table.string('name')!r} are in buffer {external} of another file: "
                "write the model with its constants inside",
            )
        kind, shape = Type(number), _shape(table)
        sparsity = _sparsity(table, len(shape))
        data = self.constant(table, kind, shape, sparsity)
        return Tensor(
            place, table.string("name"), kind, shape, table.ints("shape_signature"), data,
            _quantization(table, shape), table.boolean("is_variable"), sparsity,
        )  # fmt: skip

    def constant(
        self, table: Table, kind: Type, shape: tuple[int, ...], sparsity: Sparsity | None
    ) -> Array | None:
        """The elements that a file holds of a tensor, as a view of the file where they lie there as such."""
        number = table.u32("buffer")
        if number >= len(self.buffers):
            table.fail("buffer", f"expected one of {len(self.buffers)} buffers, found {number}")
        start, size = _extent(self.buffers[number])
        if not size or (kind not in _STORAGE and kind not in _LATE and kind not in _NARROW):
            return None
        data = np.frombuffer(table.source.data, np.uint8, size, start)
        count = prod(shape)
        if sparsity is not None:
            table.charge(count // _SPARSEST, "buffer")
            try:
                return dense(_elements(data, kind), shape, sparsity)
            except ValueError as error:
                table.fail("sparsity", str(error))
        expected = _bytes(kind, count)
        if size != expected:
            table.fail("buffer", f"expected {expected} bytes for {kind.label}{list(shape)}, found {size}")
        if kind in _NARROW:
            table.charge(count, "buffer")
        return _elements(data, kind)[:count].reshape(shape)


def _bytes(kind: Type, count: int) -> int:
    if kind in _NARROW:
        return -(-count * _NARROW[kind][0] // 8)
    return count * storage_of(kind).itemsize


def _elements(data: Array, kind: Type) -> Array:
    """Bytes as elements; narrow ones become a byte each."""
    if kind not in _NARROW:
        storage = storage_of(kind)
        return data[: len(data) // storage.itemsize * storage.itemsize].view(storage)
    bits, signed = _NARROW[kind]
    parts = [(data << (8 - bits - shift)) for shift in range(0, 8, bits)]
    whole = np.stack(parts, axis=-1).reshape(-1)
    return (whole.view(np.int8) if signed else whole) >> (8 - bits)


def _extent(buffer: Table) -> tuple[int, int]:
    """First byte and size of a buffer, which may lie behind the flatbuffer."""
    start, size = buffer.blob("data")
    offset = buffer.u64("offset")
    if size or offset <= 1:  # 1 says that a writer had not filled it in
        return start, size
    size, available = buffer.u64("size"), len(buffer.source.data)
    if offset + size > available:
        buffer.fail("offset", f"expected {size} bytes at {offset}, but the file ends at {available}")
    return offset, size


def _places(table: Table, field: str, tensors: int, least: int) -> tuple[int, ...]:
    places = table.ints(field)
    for place in places:
        if not least <= place < tensors:
            table.fail(field, f"expected one of {tensors} tensors, found {place}")
    return places


def _shape(table: Table) -> tuple[int, ...]:
    shape = table.ints("shape")
    if len(shape) > _HIGHEST_RANK:
        table.fail("shape", f"expected at most {_HIGHEST_RANK} dimensions, found {len(shape)}")
    if any(extent < 0 for extent in shape) or prod(shape) > _MOST_ELEMENTS:
        table.fail("shape", f"expected extents from 0 that fit in memory, found {list(shape)}")
    return shape


def _quantization(table: Table, shape: tuple[int, ...]) -> Quantization | None:
    found = table.table("quantization", schema.QUANTIZATION)
    if found is None:
        return None
    kind = found.u8("details_type")
    details = schema.QUANTIZATION_DETAILS.get(kind, f"kind {kind}") if kind else ""
    scale, points = found.numbers("scale", "f"), found.numbers("zero_point", "q")
    if details:
        return Quantization(scale, points, details=details)
    if not scale:
        return None
    axis = found.i32("quantized_dimension")
    if not all(map(isfinite, scale)) or min(scale) < 0:
        found.fail("scale", "expected finite scales from 0")
    if len(scale) > 1 and not (0 <= axis < len(shape) and len(scale) == shape[axis]):
        found.fail("scale", f"expected one scale, or one for each index along a dimension of {list(shape)}, "
                   f"found {len(scale)} along {axis}")  # fmt: skip
    if len(points) not in (0, 1, len(scale)):
        found.fail("zero_point", f"expected {len(scale)} zero points, found {len(points)}")
    if points and not -_LARGEST <= min(points) <= max(points) < _LARGEST:
        found.fail("zero_point", "expected zero points of 32 bits")
    whole = points or (0,)
    return Quantization(scale, whole if len(whole) == len(scale) else whole * len(scale), axis)


def _sparsity(table: Table, rank: int) -> Sparsity | None:
    found = table.table("sparsity", schema.SPARSITY)
    if found is None:
        return None
    order, blocks = found.ints("traversal_order"), found.ints("block_map")
    dimensions = tuple(_dimension(one) for one in found.tables("dim_metadata", schema.DIMENSION))
    if sorted(order) != list(range(rank + len(blocks))) or len(dimensions) != len(order):
        found.fail("traversal_order", f"expected {rank + len(blocks)} dimensions, each once")
    if not all(0 <= one < rank for one in blocks):
        found.fail("block_map", f"expected dimensions below {rank}, found {list(blocks)}")
    return Sparsity(order, blocks, dimensions)


def _dimension(table: Table) -> Dimension:
    if table.number("format", "b") == 0:
        return Dimension(table.i32("dense_size"))
    segments, indices = (_indices(table, field) for field in ("array_segments", "array_indices"))
    return Dimension(0, segments, indices)


def _indices(table: Table, field: str) -> tuple[int, ...]:
    number = table.u8(f"{field}_type")
    if number not in schema.INDEX_CODES:
        table.fail(f"{field}_type", f"expected a vector of indices, found kind {number}")
    vector = table.table(field, schema.INDICES)
    return vector.numbers("values", schema.INDEX_CODES[number]) if vector else ()


def _options(table: Table) -> Options:
    """The attributes; operators whose table has no fields that matter have none."""
    for suffix, known in (("", OPTIONS), ("_2", OPTIONS_2)):
        kind = known.get(table.u8(f"builtin_options{suffix}_type"))
        if kind is None:
            continue
        names = kind.names()
        found = table.table(f"builtin_options{suffix}", names, kind.__name__)
        return kind() if found is None else read_options(kind, found)
    return Options()


def _custom_options(table: Table) -> bytes:
    start, size = table.blob("custom_options")
    if not size:
        start, size = table.u64("large_custom_options_offset"), table.u64("large_custom_options_size")
        available = len(table.source.data)
        if start + size > available:
            table.fail(
                "large_custom_options_offset",
                f"expected {size} bytes at {start}, but the file ends at {available}",
            )
    return bytes(table.source.data[start : start + size])
