"""The elements of constants: raw bytes, numbers in a list, or a part of another file beside the model."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from pathlib import Path, PurePosixPath

import numpy as np

from tosajit.arrays import Array
from tosajit.errors import FileError
from tosajit.files.wire import Message
from tosajit.frontends.onnx import schema
from tosajit.frontends.onnx.records import Elements
from tosajit.frontends.onnx.schema import PACKED, STORAGE, Type
from tosajit.storage import file_errors

_MOST_ELEMENTS = 1 << 40
_HIGHEST_RANK = 64  # that of NumPy
_REALS = {Type.FLOAT32: "float_data", Type.FLOAT64: "double_data"}
_INTEGERS = {Type.INT64: "int64_data", Type.UINT32: "uint64_data", Type.UINT64: "uint64_data"}
_BITS = (
    Type.FLOAT16, Type.BFLOAT16, Type.FLOAT8E4M3FN, Type.FLOAT8E5M2, Type.FLOAT8E4M3FNUZ, Type.FLOAT8E5M2FNUZ,
)  # fmt: skip
"""Types of floating point that are listed as the integers of their bits."""


class Beside:
    """The files beside a model, each mapped into memory once."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self._mapped: dict[str, Array] = {}
        self.bytes = 0
        """How many bytes they have together."""

    def part(self, message: Message, entries: Mapping[str, str]) -> Array:
        """The bytes that a constant names."""
        location = entries.get("location", "")
        whole = self._mapped.get(location)
        if whole is None:
            whole = self._mapped[location] = self._open(message, location)
            self.bytes += whole.size
        start, length = (_number(message, entries, name) for name in ("offset", "length"))
        end = whole.size if length is None else (start or 0) + length
        if not 0 <= (start or 0) <= end <= whole.size:
            message.refuse(
                "external_data", f"expected bytes inside of {location!r}, which has {whole.size}, found {end}"
            )
        return whole[start or 0 : end]

    def _open(self, message: Message, location: str) -> Array:
        path = PurePosixPath(location)
        if not location or path.is_absolute() or ".." in path.parts or "\\" in location or "\0" in location:
            message.refuse("external_data", f"expected a file beside the model, found {location[:80]!r}")
        if self.folder is None:
            raise FileError(
                f"its constants are in the file {location!r}: load the model by its path, not by its bytes"
            )
        found = self.folder / location
        with file_errors(found):
            if not found.resolve().is_relative_to(self.folder.resolve()):
                raise FileError("expected a file inside of the folder of the model")
            if not found.is_file():
                raise FileError("expected the file that has the constants of the model")
            return np.memmap(found, np.uint8, "r") if found.stat().st_size else np.empty(0, np.uint8)


def _number(message: Message, entries: Mapping[str, str], name: str) -> int | None:
    text = entries.get(name)
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        message.refuse("external_data", f"expected {name} to be a number, found {text[:40]!r}")
    return int(text)


def elements_of(message: Message, beside: Beside) -> Elements:
    """The elements of a tensor, a view of the file where it has their bytes."""
    number = message.integer("data_type")
    kind = Type(number) if number in Type._value2member_map_ else Type.UNDEFINED
    storage = STORAGE.get(kind)
    if storage is None:
        return kind
    shape = message.integers("dims")
    if len(shape) > _HIGHEST_RANK:
        message.refuse("dims", f"expected up to {_HIGHEST_RANK} dimensions, found {len(shape)}")
    count = prod(shape)
    if min(shape, default=0) < 0 or count > _MOST_ELEMENTS:
        message.refuse("dims", f"expected extents of up to {_MOST_ELEMENTS} elements, found {list(shape)}")
    found = _raw(message, beside)
    if found is None:
        return _listed(message, kind, storage, count).reshape(shape)
    wanted = -(-count * PACKED[kind] // 8) if kind in PACKED else count * storage.itemsize
    if found.size != wanted:
        name = "external_data" if message.integer("data_location") == schema.EXTERNAL else "raw_data"
        text = f"expected {wanted} bytes for {kind.label}{list(shape)}, found {found.size}"
        message.refuse(name, text)
    return _typed(found, kind, storage, count).reshape(shape)


def _raw(message: Message, beside: Beside) -> Array | None:
    """The bytes of a tensor, if it has them."""
    if message.integer("data_location") == schema.EXTERNAL:
        pairs = message.messages("external_data", schema.ENTRY)
        return beside.part(message, {one.text("key"): one.text("value") for one in pairs})
    if "raw_data" in message:
        return np.frombuffer(message.blob("raw_data"), np.uint8)
    return None


def _typed(raw: Array, kind: Type, storage: np.dtype[np.generic], count: int) -> Array:
    if kind in PACKED:
        return _unpacked(raw, kind, count)
    if kind is Type.BOOL:
        return np.not_equal(raw, 0)
    found: Array = raw.view(storage)
    return found


def _unpacked(raw: Array, kind: Type, count: int) -> Array:
    """The elements that are parts of bytes."""
    bits = PACKED[kind]
    parts = np.stack([raw >> shift & (1 << bits) - 1 for shift in range(0, 8, bits)], axis=-1)
    numbers = parts.reshape(-1)[:count].astype(np.uint8)
    found: Array = numbers.view(STORAGE[kind]) if kind is Type.FLOAT4E2M1 else numbers.astype(STORAGE[kind])
    return found


def _listed(message: Message, kind: Type, storage: np.dtype[np.generic], count: int) -> Array:
    """The numbers that a tensor lists."""
    if kind in _REALS:
        found = message.reals(_REALS[kind], storage)
    else:
        numbers = np.array(message.integers(_INTEGERS.get(kind, "int32_data")), np.int64)
        if kind in PACKED:
            found = _unpacked(numbers.astype(np.uint8), kind, count)
        elif kind in _BITS:
            found = numbers.astype(np.uint16 if storage.itemsize == 2 else np.uint8).view(storage)
        else:
            found = numbers.astype(storage)
    if found.size != count:
        message.refuse("dims", f"expected {count} elements of {kind.label}, found {found.size}")
    return found
