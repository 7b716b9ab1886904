"""Bounds-checked reading of flatbuffers: no offset, length or count of a file is trusted."""

import mmap
import struct
from dataclasses import field
from functools import lru_cache
from typing import Any, Never, TypeAlias

from tiling.records import dataclass
from tosajit.errors import FileError

Bytes: TypeAlias = bytes | bytearray | memoryview | mmap.mmap

_U16, _U32, _I32, _U64 = (struct.Struct(form) for form in ("<H", "<I", "<i", "<Q"))
_DIRECTORY = struct.Struct("<HH")
_TABLE_COST = 64  # bytes charged for a table, about what its Python object takes
_ITEM_COST = 8
_LONGEST_MESSAGE = 300  # names in a file may be of any length
_FREE_BUDGET, _LARGEST_BUDGET = 1 << 20, 64 << 20


@dataclass(slots=True)
class Source:
    """The bytes of a file, and how much more of its structure may be visited.

    Offsets may point at the same table many times, so that a small file can describe a huge graph. Every
    visit is charged against a budget that grows with the file; raw tensor data are viewed, not visited.
    """

    data: memoryview
    budget: int
    schema: str
    """What defines the tables, for messages."""
    strings: dict[int, str] = field(default_factory=dict)

    @classmethod
    def of(cls, data: Bytes, schema: str = "TOSA 1.0.1") -> "Source":
        """Start reading `data`."""
        view = memoryview(data).cast("B") if len(data) else memoryview(b"")
        return cls(view, _FREE_BUDGET + min(4 * len(view), _LARGEST_BUDGET), schema)


@dataclass(slots=True)
class Table:
    """A table of the file whose extent, and that of its field directory, have been checked."""

    source: Source
    position: int
    length: int
    offsets: tuple[int, ...]
    """Of the fields inside the table; 0 where the file leaves a field out."""
    names: tuple[str, ...]
    parent: "Table | None"
    label: str

    @property
    def where(self) -> str:
        """The way to this table from the root, for messages."""
        return f"{self.parent.where}.{self.label}" if self.parent else self.label

    def fail(self, name: str, message: str) -> Never:
        """Refuse the file because of a field."""
        slot = self.names.index(name)
        offset = self.offsets[slot] if slot < len(self.offsets) else 0
        self.fail_at(self.position + offset, name, message)

    def fail_at(self, position: int, name: str, message: str) -> Never:
        """Refuse the file because of what a field refers to."""
        raise FileError(f"byte {position} ({self.where}.{name}): {_cut(message)}")

    def charge(self, cost: int, name: str) -> None:
        """Pay for a visit; a file whose offsets share too much is refused."""
        self.source.budget -= cost
        if self.source.budget < 0:
            self.fail(name, "expected a graph in proportion to its file, but its offsets repeat too much")

    def find(self, name: str, size: int) -> int:
        """Position of the inline part of a field, or 0 where the file leaves it out."""
        slot = self.names.index(name)
        offset = self.offsets[slot] if slot < len(self.offsets) else 0
        if not offset:
            return 0
        if not 4 <= offset <= self.length - size:
            self.fail_at(
                self.position, name, f"expected the field inside {self.length} bytes, found it at {offset}"
            )
        return self.position + offset

    def boolean(self, name: str, default: bool = False) -> bool:
        """A byte that is 0 or 1."""
        value = self.u8(name, default)
        if value > 1:
            self.fail(name, f"expected 0 or 1, found {value}")
        return value == 1

    def u8(self, name: str, default: int = 0) -> int:
        """An unsigned byte."""
        position = self.find(name, 1)
        return self.source.data[position] if position else default

    def u32(self, name: str, default: int = 0) -> int:
        """An unsigned 32-bit integer or an enumeration."""
        return self._scalar(_U32, name, default)

    def i32(self, name: str, default: int = 0) -> int:
        """A signed 32-bit integer."""
        return self._scalar(_I32, name, default)

    def u64(self, name: str, default: int = 0) -> int:
        """An unsigned 64-bit integer."""
        return self._scalar(_U64, name, default)

    def number(self, name: str, code: str, default: float = 0) -> Any:
        """A number that is stored as `struct` codes it."""
        form = _form(code)
        position = self.find(name, form.size)
        return form.unpack_from(self.source.data, position)[0] if position else default

    def numbers(self, name: str, code: str) -> tuple[Any, ...]:
        """A vector of numbers that are stored as `struct` codes them."""
        position = self._target(name)
        if not position:
            return ()
        start, count = self._vector(position, _form(code).size, name)
        self.charge(_ITEM_COST * (1 + count), name)
        return struct.unpack_from(f"<{count}{code}", self.source.data, start)

    def string(self, name: str) -> str:
        """A text; empty where it is left out."""
        position = self._target(name)
        return self._text(position, name) if position else ""

    def strings(self, name: str) -> tuple[str, ...]:
        """A vector of texts."""
        return tuple([self._text(position, name) for position in self._targets(name)])

    def blob(self, name: str) -> tuple[int, int]:
        """First byte and count of a vector of bytes."""
        position = self._target(name)
        return self._vector(position, 1, name) if position else (0, 0)

    def ints(self, name: str) -> tuple[int, ...]:
        """A vector of signed 32-bit integers."""
        return self.numbers(name, "i")

    def table(self, name: str, names: tuple[str, ...], label: str = "") -> "Table | None":
        """A table; None where it is left out."""
        position = self._target(name)
        return table_at(self.source, position, names, self, label or name) if position else None

    def tables(self, name: str, names: tuple[str, ...]) -> "list[Table]":
        """A vector of tables."""
        return [
            table_at(self.source, position, names, self, f"{name}[{i}]")
            for i, position in enumerate(self._targets(name))
        ]

    def _scalar(self, form: struct.Struct, name: str, default: int) -> int:
        position = self.find(name, form.size)
        if not position:
            return default
        value: int = form.unpack_from(self.source.data, position)[0]
        return value

    def _target(self, name: str) -> int:
        position = self.find(name, 4)
        return self._follow(position, name) if position else 0

    def _targets(self, name: str) -> list[int]:
        position = self._target(name)
        if not position:
            return []
        start, count = self._vector(position, 4, name)
        self.charge(_ITEM_COST * (1 + count), name)
        return [self._follow(entry, name) for entry in range(start, start + 4 * count, 4)]

    def _follow(self, position: int, name: str) -> int:
        """Where the forward offset at `position`, which is in the file, leads: four bytes are there."""
        offset: int = _U32.unpack_from(self.source.data, position)[0]
        if not 4 <= offset <= len(self.source.data) - position - 4:
            size = len(self.source.data)
            self.fail_at(position, name, f"expected an offset into the file of {size} bytes, found {offset}")
        return position + offset

    def _vector(self, position: int, item: int, name: str) -> tuple[int, int]:
        count: int = _U32.unpack_from(self.source.data, position)[0]
        if count * item > len(self.source.data) - position - 4:
            size = len(self.source.data)
            self.fail_at(
                position, name, f"expected a vector inside the file of {size} bytes, found {count} items"
            )
        return position + 4, count

    def _text(self, position: int, name: str) -> str:
        start, length = self._vector(position, 1, name)
        self.charge(_ITEM_COST + length, name)
        known = self.source.strings.get(position)
        if known is not None:
            return known
        data = self.source.data[start : start + length + 1]
        if len(data) != length + 1 or data[length]:
            self.fail_at(start + length, name, "expected a zero byte at the end of the string")
        try:
            text = str(data[:length], "utf-8")
        except UnicodeDecodeError as error:
            self.fail_at(start + error.start, name, "expected UTF-8")
        self.source.strings[position] = text
        return text


def table_at(
    source: Source, position: int, names: tuple[str, ...], parent: Table | None, label: str
) -> Table:
    """Check the table at `position`, whose fields are `names` in the order of the schema."""
    table = Table(source, position, 4, (), names, parent, label)
    source.budget -= _TABLE_COST
    if source.budget < 0:
        _fail(table, position, "expected a graph in proportion to its file, but its offsets repeat too much")
    available = len(source.data)
    directory: int = position - _I32.unpack_from(source.data, position)[0]
    if not 0 <= directory <= available - 4:
        _fail(
            table, position, f"expected a field directory in the file of {available} bytes, found {directory}"
        )
    size, length = _DIRECTORY.unpack_from(source.data, directory)
    if size < 4 or size % 2 or directory + size > available:
        _fail(table, directory, f"expected an even size in the file of {available} bytes, found {size}")
    if length < 4 or position + length > available:
        _fail(table, directory + 2, f"expected a table inside the file of {available} bytes, found {length}")
    table.length = length
    table.offsets = _shorts(size // 2 - 2).unpack_from(source.data, directory + 4)
    for slot, offset in enumerate(table.offsets[len(names) :], len(names)):
        if offset:
            _fail(table, directory + 4 + 2 * slot, f"field {slot} is not part of {source.schema}")
    return table


def root(source: Source, identifier: bytes, names: tuple[str, ...]) -> Table:
    """The root table of a file that carries `identifier`."""
    header = bytes(source.data[:8])
    if len(source.data) < 12:
        raise FileError(f"byte 0 (file): expected a flatbuffer, found {len(source.data)} bytes")
    if header[4:] != identifier:
        raise FileError(f"byte 4 (file): expected the identifier {identifier!r}, found {header[4:]!r}")
    position = _U32.unpack_from(header)[0]
    if not 4 <= position <= len(source.data) - 4:
        raise FileError(f"byte 0 (file): expected an offset into {len(source.data)} bytes, found {position}")
    return table_at(source, position, names, None, "graph")


@lru_cache(maxsize=64)
def _form(code: str) -> struct.Struct:
    return struct.Struct(f"<{code}")


@lru_cache(maxsize=64)
def _shorts(count: int) -> struct.Struct:
    return struct.Struct(f"<{count}H")


def _fail(table: Table, position: int, message: str) -> Never:
    raise FileError(f"byte {position} ({table.where}): {message}")


def _cut(message: str) -> str:
    return message if len(message) <= _LONGEST_MESSAGE else f"{message[:_LONGEST_MESSAGE]} …"
