"""Reading and writing .npy files with the conventions of TOSA's tools for types that NumPy lacks.

int4 is kept as int8, int48 as int64, bf16 as V2, fp8e4m3 as V1, fp8e5m2 as uint8. Nothing is unpickled or
evaluated, and the file must be as long as its header says before memory is taken.
"""

import io
import math
import os
import re
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Never

import ml_dtypes
import numpy as np

from tosajit.arrays import Array
from tosajit.dtypes import DType
from tosajit.errors import FileError
from tosajit.storage import file_errors, write_file

Type = np.dtype[Any]

_MAGIC = b"\x93NUMPY"
_LONGEST_HEADER = 1 << 16
_HIGHEST_RANK = 32
_LARGEST = (1 << 63) - 1

_BF16, _E4M3, _E5M2 = (
    np.dtype(t) for t in (ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2)
)
_RAW = {"V2": _BF16, "V1": _E4M3, "f1": _E5M2}
_INT4 = np.dtype(ml_dtypes.int4)
# How NumPy itself writes the arrays of ml_dtypes, but for fp8e5m2, which it could not read back.
_STORED = {_BF16: ("V2", "<V2"), _E4M3: ("V1", "<V1"), _E5M2: ("u1", "|u1"), _INT4: ("i1", "|i1")}
_READABLE = {"b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", *_RAW}
_ACCEPTED = {"BF16": {"V2"}, "FP8E4M3": {"V1", "u1"}, "FP8E5M2": {"u1", "V1", "f1"}}

_ENTRY = re.compile(
    r"\s*(?P<quote>['\"])(?P<key>descr|fortran_order|shape)(?P=quote)\s*:\s*"
    r"(?:(?P<q>['\"])(?P<text>[<>|=]?[a-zA-Z?][0-9]{0,3})(?P=q)"
    r"|(?P<flag>True|False)"
    r"|\((?P<shape>\s*(?:[0-9]+L?\s*,\s*)*(?:[0-9]+L?\s*)?)\))\s*(?:,|(?=\}))"
)


class Header(NamedTuple):
    """What a header says about the elements that follow it."""

    code: str
    big_endian: bool
    fortran: bool
    shape: tuple[int, ...]

    @property
    def stored(self) -> Type:
        """Type of the elements in the file."""
        return self.native.newbyteorder(">") if self.big_endian else self.native

    @property
    def native(self) -> Type:
        """The same in the machine's byte order."""
        return _RAW[self.code] if self.code in _RAW else np.dtype(self.code)


def load_npy(source: str | Path | bytes, expected: DType | None = None) -> Array:
    """Read an array; `expected` says what raw bits stand for and which elements are allowed."""
    if isinstance(source, bytes):
        return _read(io.BytesIO(source), len(source), expected)
    from sim.files import open_regular

    with file_errors(source):
        with open_regular(source) as file:
            return _read(file, os.fstat(file.fileno()).st_size, expected)


def save_npy(path: str | Path, array: Array) -> None:
    """Write an array in C order; types that NumPy lacks are written as their bits."""
    if array.dtype.hasobject or array.dtype.fields is not None:
        raise FileError(f"{path}: expected numbers, found elements of type {array.dtype}")
    stored, descr = _STORED.get(array.dtype, (array.dtype, array.dtype.str))
    array = np.asarray(array.astype(stored) if array.dtype == _INT4 else array.view(stored), order="C")
    header = {"descr": descr, "fortran_order": False, "shape": array.shape}
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, header)
    write_file(path, file.getvalue() + array.tobytes())


def _read(file: BinaryIO, size: int, expected: DType | None) -> Array:
    header, start = _header(file, size)
    count = math.prod(header.shape)
    need = count * header.stored.itemsize
    if size - start != need:
        _fail(start, f"expected {need} bytes for shape {header.shape}, found {size - start}")
    if math.prod(extent for extent in header.shape if extent) * header.stored.itemsize > _LARGEST:
        _fail(start, f"shape {header.shape} is too large")
    target = _type(header, expected)
    flat = np.empty(count, header.stored)
    if need and file.readinto(flat.view(np.uint8)) != need:  # type: ignore[attr-defined]
        _fail(start, f"expected {need} bytes, but the file became shorter")
    if header.code == "b1":
        _check(flat.view(np.uint8) <= 1, start, 1, "0 or 1")
    if header.big_endian:
        flat = flat.byteswap().view(header.native)
    if target != flat.dtype:
        flat = flat.view(target)
    if expected is not None and expected.name in ("INT4", "INT48"):
        low, high = int(expected.minimum), int(expected.maximum)
        _check((flat >= low) & (flat <= high), start, flat.itemsize, f"{expected.name} from {low} to {high}")
    order = flat.reshape(header.shape, order="F" if header.fortran else "C")
    return order.copy(order="C") if header.fortran else order


def _header(file: BinaryIO, size: int) -> tuple[Header, int]:
    start = file.read(8)
    if start[:6] != _MAGIC:
        _fail(0, f"expected a .npy file, which starts with {_MAGIC!r}, found {start[:6]!r}")
    if len(start) < 8 or start[6] not in (1, 2, 3) or start[7] != 0:
        _fail(6, f"expected version 1.0, 2.0 or 3.0, found {'.'.join(map(str, start[6:8]))}")
    width = 2 if start[6] == 1 else 4
    length = int.from_bytes(file.read(width), "little")
    offset = 8 + width
    if length > _LONGEST_HEADER or offset + length > size:
        longest = min(_LONGEST_HEADER, max(0, size - offset))
        _fail(8, f"expected a header of at most {longest} bytes, found {length}")
    try:
        text = file.read(length).decode("latin1" if start[6] < 3 else "utf-8")
    except UnicodeDecodeError as error:
        _fail(offset + error.start, "expected UTF-8")
    return _parse(text, offset), offset + length


def _parse(text: str, offset: int) -> Header:
    body = text.strip()
    shift = offset + len(text) - len(text.lstrip())
    if not (body.startswith("{") and body.endswith("}")):
        _fail(shift, "expected a dictionary of descr, fortran_order and shape")
    found: dict[str, re.Match[str]] = {}
    position = 1
    while body[position:-1].strip():
        entry = _ENTRY.match(body, position)
        if entry is None or entry["key"] in found:
            _fail(shift + position, "expected descr (one plain type), fortran_order or shape, each once")
        found[entry["key"]] = entry
        position = entry.end()
    if len(found) != 3:
        _fail(shift, f"expected descr, fortran_order and shape, found {', '.join(found) or 'none'}")
    descr, fortran, shape = (
        found[k][g] for k, g in (("descr", "text"), ("fortran_order", "flag"), ("shape", "shape"))
    )
    if descr is None or fortran is None or shape is None:
        _fail(shift, "expected descr to be a type, fortran_order True or False, shape a tuple of integers")
    return Header(*_code(descr, shift), fortran == "True", _shape(shape, shift))


def _code(descr: str, position: int) -> tuple[str, bool]:
    code = descr.lstrip("<>|=")
    code = "b1" if code == "?" else code
    if code not in _READABLE:
        _fail(position, f"elements of type {descr!r} are not read: expected numbers, V1 or V2")
    big_endian = descr[0] == ">" and code[1:] != "1"
    if big_endian and code in _RAW:
        _fail(position, f"raw bits are read in little-endian order only, found {descr!r}")
    return code, big_endian


def _shape(text: str, position: int) -> tuple[int, ...]:
    numbers = [number.strip().rstrip("L") for number in text.split(",") if number.strip()]
    if len(numbers) > _HIGHEST_RANK or any(len(number) > 18 for number in numbers):
        _fail(position, f"expected at most {_HIGHEST_RANK} extents below 10^18")
    if len(numbers) == 1 and "," not in text:
        _fail(position, "expected shape to be a tuple")
    return tuple(int(number) for number in numbers)


def _type(header: Header, expected: DType | None) -> Type:
    """The type of the resulting elements, in the machine's byte order."""
    if expected is None:
        return header.native
    storage = np.dtype(expected.storage)
    accepted = _ACCEPTED.get(expected.name, {storage.str[1:]})
    if header.code not in accepted:
        types = " or ".join(sorted(accepted))
        _fail(0, f"expected elements of type {types} for {expected.name}, found {header.code}")
    return storage


def _check(good: Array, start: int, item: int, what: str) -> None:
    wrong = np.flatnonzero(~good)
    if wrong.size:
        _fail(start + item * int(wrong[0]), f"element {int(wrong[0])} is not {what}")


def _fail(position: int, message: str) -> Never:
    raise FileError(f"byte {position}: {message}")
