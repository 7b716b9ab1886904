"""Arrays of a model on disk: `.dat` files, a header of 128 bytes and the items, row by row.

Items have 1 to 64 bits. Those of whole bytes are little-endian and stay where they are in the mapped file;
others are packed, the most significant bit first.
"""

from __future__ import annotations

import math
import mmap
import os
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Never

import numpy as np

from tosajit.arrays import Array
from tosajit.errors import FileError
from tosajit.files.cursor import Bytes
from tosajit.storage import file_errors, write_file

_MAGIC = b"\x4e\xef\x01\x00"
_HEADER = struct.Struct("<4sII8III19I")
_HIGHEST_RANK = 8
_MOST = (1 << 32) - 1
_FLOAT, _UNSIGNED, _QUANTIZED_UNSIGNED, _QUANTIZED_SIGNED, _SIGNED, _BOOL = range(6)
_NAMES = ("float", "unsigned", "quantised unsigned", "quantised signed", "signed", "bool")
_AT_ONCE = 1 << 16
"""How many packed items are spread out at a time: each takes 64 bytes meanwhile."""


@dataclass(frozen=True, slots=True, eq=False)
class Stored:
    """What a file holds."""

    array: Array
    quantized: bool = False
    """Whether the numbers stand for others, which only a quantisation tells."""


@dataclass(frozen=True, slots=True)
class _Header:
    """What the first 128 bytes say."""

    length: int
    shape: tuple[int, ...]
    bits: int
    kind: int

    @property
    def count(self) -> int:
        return math.prod(self.shape)

    @property
    def signed(self) -> bool:
        return self.kind in (_SIGNED, _QUANTIZED_SIGNED)


def load_dat(path: str | Path) -> Stored:
    """The array of a file, mapped into memory where its items are those of a NumPy type."""
    from sim.files import open_regular

    with file_errors(path):
        with open_regular(path) as file:
            if os.fstat(file.fileno()).st_size < _HEADER.size:
                _fail(f"expected a header of {_HEADER.size} bytes")
            return read_dat(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def read_dat(data: Bytes) -> Stored:
    """The array of the bytes of a file."""
    header = _header(data)
    if math.prod(extent for extent in header.shape if extent) > _MOST:
        _fail(f"shape {list(header.shape)} is too large")
    if (found := len(data) - _HEADER.size) != header.length:
        _fail(f"the header says {header.length} bytes of data, but {found} follow it")
    need = (header.count * header.bits + 7) // 8
    if header.length != need:
        _fail(f"shape {list(header.shape)} of {header.bits} bits takes {need} bytes, not {header.length}")
    body = memoryview(data)[_HEADER.size :]
    array = _whole(body, header) if header.bits % 8 == 0 else _packed(body, header)
    return Stored(array.reshape(header.shape), header.kind in (_QUANTIZED_UNSIGNED, _QUANTIZED_SIGNED))


def save_dat(path: str | Path, array: Array) -> None:
    """Write an array of numbers or truths."""
    write_file(path, written_dat(array))


def written_dat(array: Array) -> bytes:
    """An array as the bytes of a file."""
    kinds = {"f": _FLOAT, "u": _UNSIGNED, "i": _SIGNED, "b": _BOOL}
    if array.dtype.kind not in kinds or array.dtype.itemsize > 8:
        _fail(f"expected numbers of at most 64 bits, found elements of type {array.dtype}")
    if array.ndim > _HIGHEST_RANK or array.nbytes > _MOST:
        most = f"at most rank {_HIGHEST_RANK} and {_MOST} bytes fit"
        _fail(f"an array of rank {array.ndim} and {array.nbytes} bytes; {most}")
    truths = array.dtype.kind == "b"
    body = np.packbits(array).tobytes() if truths else array.astype(array.dtype.newbyteorder("<")).tobytes()
    bits = 1 if truths else 8 * array.dtype.itemsize
    extents = (*array.shape, *([0] * (_HIGHEST_RANK - array.ndim)))
    kind = kinds[array.dtype.kind]
    return _HEADER.pack(_MAGIC, len(body), array.ndim, *extents, bits, kind, *([0] * 19)) + body


def _header(data: Bytes) -> _Header:
    if len(data) < _HEADER.size:
        _fail(f"expected a header of {_HEADER.size} bytes, found {len(data)} bytes")
    magic, length, rank, *rest = _HEADER.unpack_from(data)
    extents, (bits, kind, first) = rest[:_HIGHEST_RANK], rest[_HIGHEST_RANK : _HIGHEST_RANK + 3]
    if magic != _MAGIC:
        _fail(
            f"expected a .dat file of NNEF 2.0, which begins with {_MAGIC.hex(' ')}, found {magic.hex(' ')}"
        )
    if rank > _HIGHEST_RANK:
        _fail(f"rank {rank} is above {_HIGHEST_RANK}")
    if kind > _BOOL:
        _fail(f"item type {kind} is not known; types are 0 to {_BOOL}")
    if not _fits(kind, bits):
        _fail(f"there are no {_NAMES[kind]} items of {bits} bits")
    if kind == _UNSIGNED and first:
        kind = _SIGNED
    return _Header(length, tuple(extents[:rank]), bits, kind)


def _fits(kind: int, bits: int) -> bool:
    match kind:
        case 0:
            return bits in (16, 32, 64)
        case 5:
            return bits in (1, 8)
    return 1 <= bits <= 64


def _whole(body: memoryview, header: _Header) -> Array:
    """Items of whole bytes."""
    size = header.bits // 8
    if header.kind == _BOOL:
        found = np.frombuffer(body, np.uint8)
        if (found > 1).any():
            _fail(f"element {int(np.flatnonzero(found > 1)[0])} is neither 0 nor 1")
        return found.view(np.bool_)
    if header.kind == _FLOAT:
        return np.frombuffer(body, f"<f{size}")
    letter = "i" if header.signed else "u"
    if size in (1, 2, 4, 8):
        return np.frombuffer(body, f"<{letter}{size}")
    width = _width(header.bits) // 8
    spread = np.zeros((header.count, width), np.uint8)
    spread[:, :size] = np.frombuffer(body, np.uint8).reshape(header.count, size)
    return _extended(spread.view(f"<u{width}")[:, 0], header)


def _packed(body: memoryview, header: _Header) -> Array:
    """Items that begin inside of bytes."""
    bits, width = header.bits, _width(header.bits)
    found = np.empty(header.count, f"u{width // 8}")
    weights = np.left_shift(np.uint64(1), np.arange(bits, dtype=np.uint64)[::-1])
    packed = np.frombuffer(body, np.uint8)
    for start in range(0, header.count, _AT_ONCE):
        stop = min(start + _AT_ONCE, header.count)
        first = start * bits
        part = np.unpackbits(packed[first // 8 : -(-stop * bits // 8)])[first % 8 :][: (stop - start) * bits]
        found[start:stop] = part.reshape(stop - start, bits) @ weights
    return found.astype(np.bool_) if header.kind == _BOOL else _extended(found, header)


def _width(bits: int) -> int:
    """The bits of the smallest type of NumPy that has so many."""
    return next(width for width in (8, 16, 32, 64) if bits <= width)


def _extended(found: Array, header: _Header) -> Array:
    """Numbers whose sign bit counts if they are signed."""
    if not header.signed:
        return found
    above = 8 * found.dtype.itemsize - header.bits
    return np.asarray((found << above).view(f"i{found.dtype.itemsize}") >> above)


def _fail(message: str) -> Never:
    raise FileError(message)
