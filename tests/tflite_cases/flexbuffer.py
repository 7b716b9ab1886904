"""Writes the attributes of custom operators as converters do: a flexbuffer with a map of numbers."""

from __future__ import annotations

import struct
from collections.abc import Mapping

INT, FLOAT, BOOL, MAP = 1, 3, 26, 9
WIDE = 3
"""Numbers of eight bytes, as a power of two."""


def flexbuffer(values: Mapping[str, float | bool]) -> bytes:
    names = sorted(values)
    data, places = bytearray(), []
    for name in names:
        places.append(len(data))
        data += name.encode() + b"\0"
    data += bytes(-len(data) % 8)
    data += struct.pack("<Q", len(names))
    keys = len(data)
    for place in places:
        data += struct.pack("<Q", len(data) - place)
    data += struct.pack("<QQQ", len(data) - keys, 8, len(names))
    vector = len(data)
    for name in names:
        form = "<d" if type(values[name]) is float else "<q"
        data += struct.pack(form, values[name])
    kinds = {float: FLOAT, bool: BOOL, int: INT}
    data += bytes(kinds[type(values[name])] << 2 | WIDE for name in names)
    data += struct.pack("<Q", len(data) - vector) + bytes([MAP << 2 | WIDE, 8])
    return bytes(data)
