"""Bounds-checked reading of flatbuffers: no offset, length or count of a file is trusted."""

import mmap
import struct
from dataclasses import dataclass, field
from typing import Never, TypeAlias

from ..errors import FileError

Bytes: TypeAlias = bytes | bytearray | memoryview | mmap.mmap

_U8, _U16, _U32, _I32, _U64 = (struct.Struct(f) for f in ("<B", "<H", "<I", "<i", "<Q"))
_TABLE_COST = 64  # bytes charged for a table, about what its Python object takes
_FREE_BUDGET, _LARGEST_BUDGET = 1 << 20, 64 << 20


@dataclass(slots=True)
class Source:
    """The bytes of a file, and how much more of its structure may be visited.

    Offsets may point at the same table many times, so that a small file can describe a huge graph. Every
    visit is charged against a budget that grows with the file; raw tensor data are viewed, not visited.
    """

    data: memoryview
    budget: int
    strings: dict[int, str] = field(default_factory=dict)

    @classmethod
    def of(cls, data: Bytes) -> "Source":
        """Start reading `data`."""
        view = memoryview(data).cast("B") if len(data) else memoryview(b"")
        return cls(view, _FREE_BUDGET + min(4 * len(view), _LARGEST_BUDGET))

    def need(self, position: int, size: int, where: str, what: str) -> None:
        """Refuse a range that is not inside the file."""
        if position < 0 or size < 0 or position + size > len(self.data):
            fail(position, where, f"expected {what} of {size} bytes, but the file has {len(self.data)} bytes")

    def charge(self, cost: int, position: int, where: str) -> None:
        """Pay for a visit; a file whose offsets share too much is refused."""
        self.budget -= cost
        if self.budget < 0:
            fail(
                position,
                where,
                "expected a graph in proportion to its file, but its offsets share or repeat too much",
            )

    def u8(self, position: int, where: str) -> int:
        """Read an unsigned byte."""
        return self._scalar(_U8, position, where)

    def u16(self, position: int, where: str) -> int:
        """Read an unsigned 16-bit integer."""
        return self._scalar(_U16, position, where)

    def u32(self, position: int, where: str) -> int:
        """Read an unsigned 32-bit integer."""
        return self._scalar(_U32, position, where)

    def i32(self, position: int, where: str) -> int:
        """Read a signed 32-bit integer."""
        return self._scalar(_I32, position, where)

    def u64(self, position: int, where: str) -> int:
        """Read an unsigned 64-bit integer."""
        return self._scalar(_U64, position, where)

    def _scalar(self, form: struct.Struct, position: int, where: str) -> int:
        self.need(position, form.size, where, "a number")
        value: int = form.unpack_from(self.data, position)[0]
        return value

    def target(self, position: int, where: str) -> int:
        """Follow the forward offset stored at `position`."""
        offset = self.u32(position, where)
        if not 4 <= offset <= len(self.data) - position - 4:
            fail(
                position, where, f"expected an offset into the file of {len(self.data)} bytes, found {offset}"
            )
        return position + offset

    def vector(self, position: int, item: int, where: str) -> tuple[int, int]:
        """First byte and count of the vector at `position`, whose items have `item` bytes."""
        count = self.u32(position, where)
        if position + 4 + count * item > len(self.data):
            fail(
                position,
                where,
                f"expected {count} items of {item} bytes, but the file has {len(self.data)} bytes",
            )
        return position + 4, count

    def string(self, position: int, where: str) -> str:
        """The text at `position`: a length, UTF-8 and a closing zero."""
        known = self.strings.get(position)
        if known is not None:
            self.charge(8, position, where)
            return known
        start, length = self.vector(position, 1, where)
        self.charge(8 + length, position, where)
        if self.u8(start + length, where) != 0:
            fail(start + length, where, "expected a zero byte at the end of the string")
        try:
            text = str(self.data[start : start + length], "utf-8")
        except UnicodeDecodeError as error:
            fail(start + error.start, where, "expected UTF-8")
        self.strings[position] = text
        return text


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the file whose extent, and that of its field directory, have been checked."""

    source: Source
    position: int
    directory: int
    slots: int
    length: int
    names: tuple[str, ...]
    where: str

    @classmethod
    def at(cls, source: Source, position: int, names: tuple[str, ...], where: str) -> "Table":
        """Check the table at `position`, whose fields are `names` in the order of the schema."""
        source.charge(_TABLE_COST, position, where)
        directory = position - source.i32(position, where)
        source.need(directory, 4, where, "a field directory")
        size, length = source.u16(directory, where), source.u16(directory + 2, where)
        if size < 4 or size % 2:
            fail(directory, where, f"expected an even directory size of at least 4, found {size}")
        if length < 4:
            fail(directory + 2, where, f"expected a table size of at least 4, found {length}")
        source.need(directory, size, where, "a field directory")
        source.need(position, length, where, "a table")
        table = cls(source, position, directory, size // 2 - 2, length, names, where)
        for slot in range(len(names), table.slots):
            if source.u16(directory + 4 + 2 * slot, where):
                fail(directory + 4 + 2 * slot, where, f"field {slot} is not part of TOSA 1.0.1")
        return table

    def find(self, name: str, size: int) -> int:
        """Position of the inline part of a field, or 0 where the file leaves it out."""
        slot = self.names.index(name)
        if slot >= self.slots:
            return 0
        entry = self.directory + 4 + 2 * slot
        offset = self.source.u16(entry, self.where)
        if offset and not 4 <= offset <= self.length - size:
            fail(
                entry,
                self.at_field(name),
                f"expected an offset into a table of {self.length} bytes, found {offset}",
            )
        return self.position + offset if offset else 0

    def at_field(self, name: str) -> str:
        """Where a field is, for messages."""
        return f"{self.where}.{name}"

    def has(self, name: str) -> bool:
        """Whether the file stores the field."""
        return self.find(name, 1) != 0

    def fail(self, name: str, message: str) -> Never:
        """Refuse the file because of a field."""
        fail(self.find(name, 0) or self.position, self.at_field(name), message)

    def u8(self, name: str, default: int = 0) -> int:
        """An unsigned byte."""
        position = self.find(name, 1)
        return self.source.u8(position, self.where) if position else default

    def u32(self, name: str, default: int = 0) -> int:
        """An unsigned 32-bit integer or an enumeration."""
        position = self.find(name, 4)
        return self.source.u32(position, self.where) if position else default

    def i32(self, name: str, default: int = 0) -> int:
        """A signed 32-bit integer."""
        position = self.find(name, 4)
        return self.source.i32(position, self.where) if position else default

    def u64(self, name: str, default: int = 0) -> int:
        """An unsigned 64-bit integer."""
        position = self.find(name, 8)
        return self.source.u64(position, self.where) if position else default

    def boolean(self, name: str, default: bool = False) -> bool:
        """A byte that is 0 or 1."""
        value = self.u8(name, int(default))
        if value > 1:
            self.fail(name, f"expected 0 or 1, found {value}")
        return value == 1

    def target(self, name: str) -> int:
        """Position of what an offset field refers to, or 0."""
        position = self.find(name, 4)
        return self.source.target(position, self.at_field(name)) if position else 0

    def string(self, name: str) -> str:
        """A text; empty where it is left out."""
        position = self.target(name)
        return self.source.string(position, self.at_field(name)) if position else ""

    def blob(self, name: str) -> tuple[int, int] | None:
        """First byte and count of a vector of bytes."""
        position = self.target(name)
        return self.source.vector(position, 1, self.at_field(name)) if position else None

    def count(self, name: str) -> int:
        """Length of a vector of bytes."""
        return (self.blob(name) or (0, 0))[1]

    def ints(self, name: str) -> tuple[int, ...]:
        """A vector of signed 32-bit integers."""
        position = self.target(name)
        if not position:
            return ()
        start, count = self.source.vector(position, 4, self.at_field(name))
        self.source.charge(8 + 8 * count, position, self.where)
        return struct.unpack_from(f"<{count}i", self.source.data, start)

    def strings(self, name: str) -> tuple[str, ...]:
        """A vector of texts."""
        position = self.target(name)
        if not position:
            return ()
        where = self.at_field(name)
        source = self.source
        return tuple(
            source.string(source.target(entry, where), where) for entry in self._entries(name, position)
        )

    def table(self, name: str, names: tuple[str, ...], label: str = "") -> "Table | None":
        """A table; None where it is left out."""
        position = self.target(name)
        return Table.at(self.source, position, names, label or self.at_field(name)) if position else None

    def tables(self, name: str, names: tuple[str, ...]) -> "list[Table]":
        """A vector of tables."""
        position = self.target(name)
        if not position:
            return []
        where, source = self.at_field(name), self.source
        return [
            Table.at(source, source.target(entry, where), names, f"{where}[{i}]")
            for i, entry in enumerate(self._entries(name, position))
        ]

    def _entries(self, name: str, position: int) -> range:
        start, count = self.source.vector(position, 4, self.at_field(name))
        self.source.charge(8 + 8 * count, position, self.where)
        return range(start, start + 4 * count, 4)


def root(source: Source, identifier: bytes, names: tuple[str, ...]) -> Table:
    """The root table of a file that carries `identifier`."""
    source.need(0, 12, "file", "a flatbuffer header")
    found = bytes(source.data[4:8])
    if found != identifier:
        fail(4, "file", f"expected the file identifier {identifier!r}, found {found!r}")
    return Table.at(source, source.target(0, "file"), names, "graph")


def fail(position: int, where: str, message: str) -> Never:
    """Refuse the file: byte position, place in the graph, what was expected."""
    raise FileError(f"byte {position} ({where}): {message}")
