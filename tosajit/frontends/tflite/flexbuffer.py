"""The attributes of custom operators: numbers by name in a flexbuffer, read within its bounds."""

from __future__ import annotations

import struct
from collections.abc import Mapping

from tosajit.errors import FileError

Number = int | float | bool

_INT, _UINT, _FLOAT, _MAP, _BOOL = 1, 2, 3, 9, 26
_FORMS = {_INT: "bhiq", _UINT: "BHIQ", _FLOAT: " efd", _BOOL: "BHIQ"}
_MOST = 256
_LONGEST = 64


def read_map(data: bytes) -> Mapping[str, Number]:
    """The numbers of a map; what is no number is left out. No offset or count is trusted."""
    try:
        return _Reader(data).map()
    except (struct.error, ValueError, IndexError):
        raise FileError("expected custom options that are a flexbuffer with a map") from None


class _Reader:
    """The bytes of a flexbuffer: its root is told by the last of them."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def map(self) -> dict[str, Number]:
        """Keys are in a vector of their own; behind the values, a byte says what each is."""
        width, kind = self.data[-1], self.data[-2]
        if kind >> 2 != _MAP:
            raise FileError(f"expected custom options that are a map, found type {kind >> 2} of flexbuffers")
        root = len(self.data) - 2 - width
        place, width = self.target(root, width), 1 << (kind & 3)
        count = self.number(place - width, width, _UINT)
        if count > _MOST:
            raise FileError(f"expected at most {_MOST} custom options, found {count}")
        keys, key_width = (
            self.target(place - 3 * width, width),
            int(self.number(place - 2 * width, width, _UINT)),
        )
        found: dict[str, Number] = {}
        for entry in range(int(count)):
            name = self.key(self.target(keys + entry * key_width, key_width))
            packed = self.data[place + int(count) * width + entry]
            if packed >> 2 in _FORMS:
                number = self.number(place + entry * width, width, packed >> 2)
                found[name] = bool(number) if packed >> 2 == _BOOL else number
        return found

    def number(self, place: int, width: int, kind: int) -> int | float:
        """A number of one, two, four or eight bytes."""
        form = _FORMS[kind][(1, 2, 4, 8).index(width)]
        if place < 0:
            raise IndexError(place)
        number: int | float = struct.unpack_from(f"<{form}", self.data, place)[0]
        return number

    def target(self, place: int, width: int) -> int:
        """Where an offset points, which is always to what is before it."""
        found = place - int(self.number(place, width, _UINT))
        if found < 0:
            raise IndexError(found)
        return found

    def key(self, place: int) -> str:
        """A name that ends with a zero."""
        end = self.data.index(0, place, place + _LONGEST + 1)
        return self.data[place:end].decode()
