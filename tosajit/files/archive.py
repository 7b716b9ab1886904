"""Zip archives with members that are stored as they are, as PyTorch writes them: nothing expands."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NoReturn

from tosajit.errors import FileError
from tosajit.files.cursor import Bytes

_END, _END_LENGTH = b"PK\x05\x06", 22
_WIDE_END, _WIDE_PLACE, _WIDE_PLACE_LENGTH = b"PK\x06\x06", b"PK\x06\x07", 20
_ENTRY, _ENTRY_LENGTH = b"PK\x01\x02", 46
_MEMBER, _MEMBER_LENGTH = b"PK\x03\x04", 30
_LONGEST_COMMENT = 0xFFFF
_IN_EXTRA = 0xFFFFFFFF  # what a field of 32 bits has if its number is in the extra field
_WIDE_EXTRA = 1
_STORED = 0


def members(data: Bytes) -> Mapping[str, memoryview]:
    """The members of an archive by their names, as views of it."""
    view = memoryview(data).cast("B") if len(data) else memoryview(b"")
    found: dict[str, memoryview] = {}
    for name, start, size in _entries(view):
        if name in found:
            _fail(start, f"expected distinct names, found {name!r} twice")
        found[name] = _stored(view, name, start, size)
    return MappingProxyType(found)


def _entries(view: memoryview) -> Iterator[tuple[str, int, int]]:
    """The name of each member, where it begins and how many bytes it has."""
    count, place = _directory(view)
    for _ in range(count):
        fields = _unpack(view, place, "<4s6H3L5H2L", _ENTRY, "an entry of its directory")
        method, (packed, size) = fields[4], fields[8:10]
        name_length, extra_length, comment_length = fields[10:13]
        start, rest = place + _ENTRY_LENGTH, name_length + extra_length
        if start + rest + comment_length > len(view):
            _fail(place, f"expected an entry inside of the {len(view)} bytes")
        try:
            name = bytes(view[start : start + name_length]).decode()
        except UnicodeDecodeError:
            _fail(start, "expected a name in UTF-8")
        if method != _STORED or fields[3] & 1:
            _fail(place, f"{name} is compressed or encrypted, and PyTorch stores its members as they are")
        extra = view[start + name_length : start + rest]
        size, packed, offset = _wide(extra, (size, packed, fields[16]), place)
        if size != packed:
            _fail(place, f"{name} is stored, but has {size} bytes and takes {packed}")
        yield name, offset, size
        place = start + rest + comment_length


def _directory(view: memoryview) -> tuple[int, int]:
    """How many entries the directory has, and where it begins."""
    tail = max(len(view) - _END_LENGTH - _LONGEST_COMMENT, 0)
    at = bytes(view[tail:]).rfind(_END)
    if at < 0:
        _fail(len(view), "expected the end of a zip archive: it is cut off, or is none")
    end = tail + at
    fields = _unpack(view, end, "<4s4H2LH", _END, "the end of its directory")
    count, place = fields[4], fields[6]
    locator = end - _WIDE_PLACE_LENGTH
    if locator >= 0 and view[locator : locator + 4] == _WIDE_PLACE:
        wide = _unpack(view, locator, "<4sLQL", _WIDE_PLACE, "a locator")[2]
        fields = _unpack(view, wide, "<4sQ2H2L4Q", _WIDE_END, "the end of its directory")
        count, place = fields[7], fields[9]
    if count > len(view) // _ENTRY_LENGTH:
        _fail(end, f"expected a directory in {len(view)} bytes, found {count} entries")
    return count, place


def _wide(extra: memoryview, numbers: tuple[int, int, int], place: int) -> Iterator[int]:
    """Numbers of an entry, those of 64 bits from its extra field."""
    wide = memoryview(b"")
    while len(extra) >= 4:
        kind, length = struct.unpack_from("<2H", extra)
        if kind == _WIDE_EXTRA:
            wide = extra[4 : 4 + length]
        extra = extra[4 + length :]
    for number in numbers:
        if number == _IN_EXTRA:
            if len(wide) < 8:
                _fail(place, f"expected a number of 8 bytes in the extra field, found {len(wide)}")
            number, wide = struct.unpack_from("<Q", wide)[0], wide[8:]
        yield number


def _stored(view: memoryview, name: str, start: int, size: int) -> memoryview:
    fields = _unpack(view, start, "<4s5H3L2H", _MEMBER, name)
    begin = start + _MEMBER_LENGTH + fields[9] + fields[10]
    if begin + size > len(view):
        _fail(start, f"expected {size} bytes of {name} at {begin}, but there are {len(view)}")
    return view[begin : begin + size]


def _unpack(view: memoryview, place: int, form: str, mark: bytes, what: str) -> tuple[int, ...]:
    if not 0 <= place <= len(view) - struct.calcsize(form) or view[place : place + 4] != mark:
        _fail(place, f"expected {what} there, in {len(view)} bytes")
    return struct.unpack_from(form, view, place)


def _fail(place: int, message: str) -> NoReturn:
    raise FileError(f"byte {place}: {message}")
