"""Bounds-checked reading of protocol buffers: no tag, length or count of a file is trusted.

A message is declared by the numbers of its fields, and read when it is asked for; what is not declared is
skipped, as the format wants it. Memory grows with the file: nothing in it can be referred to twice.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any, Never

import numpy as np

from tiling.records import dataclass
from tosajit.arrays import Array
from tosajit.errors import FileError

Fields = Mapping[str, int]
"""The number of each field of a message."""

_VARINT, _WORD, _BYTES, _HALF_WORD = 0, 1, 2, 5
_FIXED = {_WORD: 8, _HALF_WORD: 4}
_LONGEST_VARINT = 10
_LONGEST_LABEL = 200
_MASK = (1 << 64) - 1


@dataclass(slots=True)
class Message:
    """A message of the file: for each field that it has, where its values are."""

    data: memoryview
    start: int
    end: int
    fields: Fields
    label: str
    """The way to this message from the root, for errors."""
    _found: dict[int, array[int]] = field(default_factory=dict)
    """Kind, first byte and end of each value of a field; a varint has its value in place of the end."""

    def __post_init__(self) -> None:
        known, position = set(self.fields.values()), self.start
        while position < self.end:
            begin = position
            tag, position = self._varint(position)
            number, kind = tag >> 3, tag & 7
            match kind:
                case 0:
                    last, position = self._varint(position)
                    last = last - (1 << 64) if last >> 63 else last
                case 1 | 5:
                    last = position = self._inside(begin, position, _FIXED[kind])
                    begin = position - _FIXED[kind]
                case 2:
                    length, begin = self._varint(position)
                    last = position = self._inside(position, begin, length)
                case _:
                    self.fail(begin, f"expected a field of wire type 0, 1, 2 or 5, found {kind}")
            if number in known:
                self._found.setdefault(number, array("q")).extend((kind, begin, last))

    def fail(self, position: int, message: str) -> Never:
        """Refuse the file."""
        raise FileError(f"byte {position} ({self.label}): {message}")

    def refuse(self, name: str, message: str) -> Never:
        """Refuse the file because of a field."""
        values = self._found.get(self.fields[name])
        raise FileError(f"byte {values[-2] if values else self.start} ({self.label}.{name}): {message}")

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.fields[name] in self._found

    def integer(self, name: str, default: int = 0) -> int:
        """An integer, a truth or an enumeration, the last one that is there."""
        for _, value in self._values(name, _VARINT):
            default = value
        return default

    def integers(self, name: str) -> tuple[int, ...]:
        """Integers, packed or not."""
        return tuple(self._ints(name))

    def reals(self, name: str, storage: Any) -> Array:
        """Numbers of 4 or 8 bytes, packed or not."""
        size = np.dtype(storage).itemsize
        kinds = (_HALF_WORD if size == 4 else _WORD, _BYTES)
        parts = [
            np.frombuffer(self.data[begin:end], storage) for begin, end in self._spans(name, kinds, size)
        ]
        return parts[0] if len(parts) == 1 else np.concatenate([np.empty(0, storage), *parts])

    def real(self, name: str) -> float:
        """A number of 4 bytes, the last one that is there."""
        found = self.reals(name, "<f4")
        return float(found[-1]) if found.size else 0.0

    def blob(self, name: str) -> memoryview:
        """Bytes, the last ones that are there."""
        found = memoryview(b"")
        for begin, end in self._values(name, _BYTES):
            found = self.data[begin:end]
        return found

    def text(self, name: str) -> str:
        """A text, the last one that is there."""
        found = ""
        for begin, end in self._values(name, _BYTES):
            found = self._text(name, begin, end)
        return found

    def texts(self, name: str) -> tuple[str, ...]:
        """Texts."""
        return tuple(self._text(name, begin, end) for begin, end in self._values(name, _BYTES))

    def message(self, name: str, fields: Fields) -> Message | None:
        """A message, the last one that is there."""
        return next(iter([*self.messages(name, fields)][-1:]), None)

    def messages(self, name: str, fields: Fields) -> Iterator[Message]:
        """Messages."""
        for number, (begin, end) in enumerate(self._values(name, _BYTES)):
            label = f"{self.label}.{name}[{number}]"
            yield Message(self.data, begin, end, fields, label[:_LONGEST_LABEL])

    def _values(self, name: str, wanted: int) -> Iterator[tuple[int, int]]:
        values = self._found.get(self.fields[name], array("q"))
        for kind, begin, end in zip(values[::3], values[1::3], values[2::3], strict=True):
            if kind != wanted:
                self.refuse(name, f"expected wire type {wanted}, found {kind}")
            yield begin, end

    def _spans(self, name: str, kinds: tuple[int, int], size: int) -> Iterator[tuple[int, int]]:
        values = self._found.get(self.fields[name], array("q"))
        for kind, begin, end in zip(values[::3], values[1::3], values[2::3], strict=True):
            if kind not in kinds or (end - begin) % size:
                self.refuse(
                    name, f"expected numbers of {size} bytes, found {end - begin} of wire type {kind}"
                )
            yield begin, end

    def _ints(self, name: str) -> Iterator[int]:
        values = self._found.get(self.fields[name], array("q"))
        for kind, begin, end in zip(values[::3], values[1::3], values[2::3], strict=True):
            if kind == _VARINT:
                yield end
                continue
            if kind != _BYTES:
                self.refuse(name, f"expected integers, found wire type {kind}")
            while begin < end:
                value, begin = self._varint(begin, end)
                yield value - (1 << 64) if value >> 63 else value

    def _text(self, name: str, begin: int, end: int) -> str:
        try:
            return str(self.data[begin:end], "utf-8")
        except UnicodeDecodeError:
            self.refuse(name, "expected UTF-8")

    def _varint(self, position: int, end: int | None = None) -> tuple[int, int]:
        """A number of seven bits in each byte, and where the next field begins."""
        stop = self.end if end is None else end
        value, data = 0, self.data
        for place in range(position, min(position + _LONGEST_VARINT, stop)):
            byte = data[place]
            value |= (byte & 0x7F) << 7 * (place - position)
            if byte < 0x80:
                return value & _MASK, place + 1
        self.fail(position, f"expected a number of up to {_LONGEST_VARINT} bytes before byte {stop}")

    def _inside(self, position: int, begin: int, length: int) -> int:
        """The end of a value, which has to be inside of the message."""
        if length > self.end - begin:
            self.fail(position, f"expected a value up to byte {self.end}, found {length} bytes at {begin}")
        return begin + length


def message_of(data: Any, fields: Fields, label: str) -> Message:
    """The message that a whole file is."""
    view = memoryview(data).cast("B") if len(data) else memoryview(b"")
    return Message(view, 0, len(view), fields, label)
