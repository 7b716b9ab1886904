"""Tensor elements as the bytes of a file: int4 two to a byte, int48 in six bytes, others as in memory."""

import math
from collections.abc import Sequence

import numpy as np

from tosajit.arrays import Array
from tosajit.dtypes import DType

_INT48_LIMIT = 1 << 47


def stored_size(dtype: DType, shape: Sequence[int]) -> int:
    """Bytes that a tensor takes in a file, without padding."""
    count = math.prod(shape)
    match dtype.name:
        case "INT4":
            return (count + 1) // 2
        case "INT48":
            return 6 * count
        case _:
            return count * dtype.storage.itemsize


def repeats(data: memoryview, dtype: DType) -> bool:
    """Whether bytes hold one element again and again."""
    unit = stored_size(dtype, (1,))
    halves_differ = dtype.name == "INT4" and data[0] % 17 != 0
    return len(data) % unit == 0 and data[unit:] == data[:-unit] and not halves_differ


def unpack(data: memoryview, dtype: DType, shape: Sequence[int]) -> Array:
    """A read-only array of a tensor's bytes; a view of them where the file's form is that of memory."""
    match dtype.name:
        case "INT4":
            array = _unpack_int4(np.frombuffer(data, np.uint8), math.prod(shape))
        case "INT48":
            array = _unpack_int48(np.frombuffer(data, np.uint8))
        case "BOOL":
            array = _unpack_bool(np.frombuffer(data, np.uint8))
        case _:
            array = np.frombuffer(data, dtype.storage)
            if not array.flags.aligned:
                array = array.copy()
    array = array.reshape(tuple(shape))  # ValueError: more dimensions or elements than NumPy has
    array.flags.writeable = False
    return array


def pack(array: Array, dtype: DType) -> bytes | memoryview:
    """The bytes of a tensor in a file: those of the array itself, where the form is that of memory."""
    flat = np.ascontiguousarray(array, dtype.storage).reshape(-1)
    match dtype.name:
        case "INT4":
            return _pack_int4(flat)
        case "INT48":
            return flat.astype("<i8").view(np.uint8).reshape(-1, 8)[:, :6].tobytes()
        case _:
            return flat.view(np.uint8).data


def out_of_range(array: Array, dtype: DType) -> int | None:
    """Index of the first element that the file's form of `dtype` cannot hold."""
    limits = {"INT4": 8, "INT48": _INT48_LIMIT}
    if dtype.name not in limits:
        return None
    limit = limits[dtype.name]
    wrong = np.flatnonzero((array < -limit) | (array >= limit))
    return int(wrong[0]) if wrong.size else None


def _unpack_bool(data: Array) -> Array:
    if (data > 1).any():
        raise ValueError("expected booleans to be 0 or 1")
    return data.view(np.bool_)


def _unpack_int4(data: Array, count: int) -> Array:
    pairs = np.empty((data.size, 2), np.int8)
    pairs[:, 0] = (data << 4).view(np.int8) >> 4
    pairs[:, 1] = data.view(np.int8) >> 4
    return pairs.reshape(-1)[:count]


def _pack_int4(flat: Array) -> bytes:
    nibbles = np.zeros(flat.size + flat.size % 2, np.uint8)
    nibbles[: flat.size] = flat.view(np.uint8) & 15
    packed: bytes = (nibbles[0::2] | nibbles[1::2] << 4).astype(np.uint8).tobytes()
    return packed


def _unpack_int48(data: Array) -> Array:
    wide = np.zeros((data.size // 6, 8), np.uint8)
    wide[:, :6] = data.reshape(-1, 6)
    return (wide.view("<i8").reshape(-1) << 16) >> 16
