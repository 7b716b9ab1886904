"""A file of a header and arrays, with a digest of all of it: what lies around a stored executable.

64 bytes: a mark, the size of the header and of the file, a digest of everything else. Then the header, which
is JSON, and the blobs, each at a multiple of 64 bytes, so that they can be used where they are.

The digest tells of damage, not of intent: it is SHA-256 of sums, one of the words of each page. No word can
change alone, and sums take an eighth of the time that SHA-256 takes for all of a model's weights.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Sequence
from dataclasses import field
from itertools import accumulate
from typing import Any

import numpy as np

from tiling.records import dataclass
from tosajit.arrays import Array

MARK = b"\x89tosajit code\r\n\x1a"
_START = struct.Struct("<16sQQ")
_DIGEST = 32
PREFIX = _START.size + _DIGEST
ALIGNMENT = 64
_WORD, _PAGE = 8, 4096
"""Bytes."""


class ArchiveError(ValueError):
    """An archive is damaged, or is none."""


@dataclass(slots=True)
class Blobs:
    """Arrays on their way into an archive, each of them once."""

    parts: list[memoryview] = field(default_factory=list)
    _known: dict[int, tuple[int, object]] = field(default_factory=dict)

    def add(self, data: Array | bytes) -> int:
        """Take an array or bytes; return the number of the blob."""
        if id(data) not in self._known:
            self._known[id(data)] = len(self.parts), data  # which lives as long as its number is taken
            self.parts.append(memoryview(data) if isinstance(data, bytes) else bytes_of(data))
        return self._known[id(data)][0]


def packed(header: dict[str, Any], blobs: Sequence[memoryview]) -> list[bytes | memoryview]:
    """The parts of an archive, one behind the other."""
    places, end = [], 0
    for blob in blobs:
        places.append([end, blob.nbytes])
        end += _padded(blob.nbytes)
    text = json.dumps({**header, "blobs": places}, separators=(",", ":"), sort_keys=True).encode()
    parts: list[bytes | memoryview] = [text, *blobs]
    body = [piece for part in parts for piece in (part, bytes(_padded(_size(part)) - _size(part)))]
    start = _START.pack(MARK, len(text), PREFIX + sum(map(_size, body)))
    return [start, _digest(start, parts), *body]


def unpacked(data: memoryview) -> tuple[dict[str, Any], list[memoryview]]:
    """The header and the blobs of an archive, which are views of it; `ArchiveError` if it is damaged."""
    if data.nbytes < PREFIX or bytes(data[: len(MARK)]) != MARK:
        raise ArchiveError("it does not begin as an executable does")
    start, body = data[: _START.size], data[PREFIX:]
    _, length, size = _START.unpack(start)
    if size != data.nbytes:
        raise ArchiveError(f"it has {data.nbytes} bytes, but begins like one of {size}")
    if bytes(data[_START.size : PREFIX]) != _digest(start, [body]):
        raise ArchiveError("its contents have another digest than they had when it was written")
    header = json.loads(bytes(body[:length]))
    blobs = body[_padded(length) :]
    return header, [blobs[start : start + size] for start, size in header["blobs"]]


def bytes_of(array: Array) -> memoryview:
    """The elements of an array in order, without a copy if that is how they are."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


def _digest(start: bytes | memoryview, parts: Sequence[bytes | memoryview]) -> bytes:
    """Of what a file begins with, and of all the parts behind it, whose padding is zero."""
    places = [0, *accumulate(_padded(_size(part)) for part in parts)]
    sums = np.zeros(-(-places[-1] // _PAGE), np.uint64)
    for place, part in zip(places, parts, strict=False):
        whole, rest = divmod(_size(part), _WORD)
        tail = bytes(part[_WORD * whole :]) + bytes(-rest % _WORD)
        _add(sums, place, np.frombuffer(part, np.uint64, whole))
        _add(sums, place + _WORD * whole, np.frombuffer(tail, np.uint64))
    return hashlib.sha256(bytes(start) + sums.tobytes()).digest()


def _add(sums: Array, place: int, words: Array) -> None:
    """Add words that begin at a place to the sums of their pages."""
    if words.size:
        starts = np.arange(-(place % _PAGE) // _WORD, words.size, _PAGE // _WORD)
        starts[0] = 0
        found = np.add.reduceat(words, starts)
        sums[place // _PAGE :][: found.size] += found


def _padded(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


def _size(part: bytes | memoryview) -> int:
    return part.nbytes if isinstance(part, memoryview) else len(part)
