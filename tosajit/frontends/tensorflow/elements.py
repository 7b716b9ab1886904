"""The elements of constants: raw bytes, or numbers of which the last one fills what is left."""

from __future__ import annotations

from math import prod

import ml_dtypes
import numpy as np

from tosajit.arrays import Array
from tosajit.files.wire import Message
from tosajit.frontends.tensorflow.records import AnyShape, Shape
from tosajit.frontends.tensorflow.schema import REFERENCE, Type

_MOST_ELEMENTS = 1 << 40

STORAGE: dict[Type, np.dtype[np.generic]] = {
    Type.FLOAT32: np.dtype("<f4"), Type.FLOAT64: np.dtype("<f8"), Type.FLOAT16: np.dtype("<f2"),
    Type.BFLOAT16: np.dtype(ml_dtypes.bfloat16), Type.FLOAT8_E5M2: np.dtype(ml_dtypes.float8_e5m2),
    Type.FLOAT8_E4M3FN: np.dtype(ml_dtypes.float8_e4m3fn), Type.INT8: np.dtype("i1"),
    Type.INT16: np.dtype("<i2"), Type.INT32: np.dtype("<i4"), Type.INT64: np.dtype("<i8"),
    Type.UINT8: np.dtype("u1"), Type.UINT16: np.dtype("<u2"), Type.UINT32: np.dtype("<u4"),
    Type.UINT64: np.dtype("<u8"), Type.BOOL: np.dtype("?"), Type.COMPLEX64: np.dtype("<c8"),
}  # fmt: skip
"""How NumPy has the types."""
_INTEGERS = {
    Type.INT64: "int64_val", Type.UINT32: "uint32_val", Type.UINT64: "uint64_val", Type.BOOL: "bool_val",
    Type.FLOAT16: "half_val", Type.BFLOAT16: "half_val",
}  # fmt: skip


def array_of(message: Message, shape: Shape | AnyShape) -> Array | Type:
    """The elements of a constant, a view of the file where it has their bytes; of texts the type alone."""
    number = message.integer("dtype")
    kind = Type(number % REFERENCE) if number % REFERENCE in Type._value2member_map_ else Type.INVALID
    storage = STORAGE.get(kind)
    if storage is None:
        return kind
    if isinstance(shape, AnyShape) or any(extent < 0 for extent in shape):
        message.refuse("tensor_shape", "expected a shape without open extents")
    count = prod(shape)
    if count > _MOST_ELEMENTS:
        message.refuse("tensor_shape", f"expected up to {_MOST_ELEMENTS} elements, found {count}")
    raw = message.blob("tensor_content")
    if len(raw):
        if len(raw) != count * storage.itemsize:
            text = f"expected {count * storage.itemsize} bytes for {kind.label}{list(shape)}"
            message.refuse("tensor_content", f"{text}, found {len(raw)}")
        return _truths(np.frombuffer(raw, np.uint8 if storage.kind == "b" else storage), storage).reshape(
            shape
        )
    return _filled(message, _listed(message, kind, storage), shape)


def _truths(elements: Array, storage: np.dtype[np.generic]) -> Array:
    return elements != 0 if storage.kind == "b" else elements


def _listed(message: Message, kind: Type, storage: np.dtype[np.generic]) -> Array:
    """The numbers that a constant lists."""
    if kind in (Type.FLOAT32, Type.FLOAT64):
        return message.reals("float_val" if kind is Type.FLOAT32 else "double_val", storage)
    if kind is Type.COMPLEX64:
        return _pairs(message, message.reals("scomplex_val", np.dtype("<f4")))
    name = _INTEGERS.get(kind, "int_val")
    numbers = np.array(message.integers(name), np.int64)
    if name == "half_val":
        return numbers.astype(np.uint16).view(storage)
    return numbers.astype(storage)


def _pairs(message: Message, listed: Array) -> Array:
    """Complex numbers of their real and imaginary parts."""
    if listed.size % 2:
        message.refuse("scomplex_val", f"expected pairs of numbers, found {listed.size} numbers")
    return np.ascontiguousarray(listed, "<f4").view("<c8")


def _filled(message: Message, listed: Array, shape: Shape) -> Array:
    """Numbers in a shape, the last one as often as it takes; those that are left out are 0."""
    count = prod(shape)
    if listed.size == count:
        return listed.reshape(shape)
    if listed.size > count:
        message.refuse("tensor_shape", f"expected {count} elements for {list(shape)}, found {listed.size}")
    if listed.size < 2:
        single = listed if listed.size else np.zeros(1, listed.dtype)
        return np.broadcast_to(single.reshape(()), shape)
    rest = count - listed.size
    if rest > message.end - message.start + (1 << 16):
        message.refuse("tensor_shape", f"expected about {listed.size} elements, found {count}")
    return np.concatenate([listed, np.repeat(listed[-1:], rest)]).reshape(shape)
