"""The number formats of TOSA: their bits, how the host stores them, what kernels compute with."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tiling.records import dataclass

Family = Literal["bool", "int", "float", "shape"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DType:
    """One number format; there is a single instance of each (TOSA 1.0.1 section 1.9)."""

    name: str
    bits: int
    storage: np.dtype[np.generic]
    kind: Family
    minimum: int | float
    maximum: int | float
    compute: str
    """The scalar type of kernels."""
    number: int
    """Its place in the DType enumeration of files; -1 if it has none."""

    @property
    def is_float(self) -> bool:
        """Whether this is one of the floating-point formats."""
        return self.kind == "float"

    @property
    def bytes(self) -> int:
        """Size of an element in a tensor, at least 1 (TOSA 1.0.1 section 1.11.1)."""
        return (self.bits + 7) // 8

    if not TYPE_CHECKING:

        def __getattr__(self, name):
            """How NumPy stores a type of `ml_dtypes`, which is imported when somebody asks."""
            if name != "storage":
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            import ml_dtypes

            found = np.dtype(getattr(ml_dtypes, NAMED[self.name]))
            object.__setattr__(self, name, found)
            return found

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return dtype_named, (self.name,)


def _integer(name: str, bits: int, storage: str, compute: str, number: int, low: int, high: int) -> DType:
    return DType(name, bits, np.dtype(storage), "int", low, high, compute, number)


def _float(name: str, bits: int, storage: type[Any] | None, compute: str, number: int, top: float) -> DType:
    made = DType(name, bits, np.dtype(storage), "float", -top, top, compute, number)
    if storage is None:
        object.__delattr__(made, "storage")
    return made


NAMED = {"BF16": "bfloat16", "FP8E4M3": "float8_e4m3fn", "FP8E5M2": "float8_e5m2"}
"""What `ml_dtypes` calls the types that NumPy does not have; nothing imports it before one is stored."""
_INFINITY = float("inf")

BOOL = DType("BOOL", 8, np.dtype(np.bool_), "bool", 0, 1, "bool", 1)
INT4 = _integer("INT4", 4, "int8", "i8", 2, -7, 7)
INT8 = _integer("INT8", 8, "int8", "i8", 3, -(1 << 7), (1 << 7) - 1)
INT16 = _integer("INT16", 16, "int16", "i16", 4, -(1 << 15), (1 << 15) - 1)
INT32 = _integer("INT32", 32, "int32", "i32", 5, -(1 << 31), (1 << 31) - 1)
INT48 = _integer("INT48", 48, "int64", "i64", 6, -(1 << 47), (1 << 47) - 1)
FP32 = _float("FP32", 32, np.float32, "f32", 7, _INFINITY)
FP16 = _float("FP16", 16, np.float16, "f16", 8, _INFINITY)
BF16 = _float("BF16", 16, None, "bf16", 9, _INFINITY)
SHAPE = DType("SHAPE", 64, np.dtype(np.int64), "shape", -(1 << 63), (1 << 63) - 1, "i64", 10)
FP8E4M3 = _float("FP8E4M3", 8, None, "f8e4m3", 11, 448.0)
FP8E5M2 = _float("FP8E5M2", 8, None, "f8e5m2", 12, _INFINITY)
# Only as the interpretation of RESCALE's operands: no tensor has these types.
UINT8 = _integer("UINT8", 8, "uint8", "u8", -1, 0, (1 << 8) - 1)
UINT16 = _integer("UINT16", 16, "uint16", "u16", -1, 0, (1 << 16) - 1)

DTYPES: dict[str, DType] = {
    dtype.name: dtype
    for dtype in (BOOL, INT4, INT8, INT16, INT32, INT48, FP32, FP16, BF16, SHAPE, FP8E4M3, FP8E5M2)
}
"""Every type that a tensor or a shape can have, by name, in the order of the file format."""

_ALL = DTYPES | {"UINT8": UINT8, "UINT16": UINT16}
_BY_STORAGE = {dtype.storage: dtype for dtype in (BOOL, INT8, INT16, INT32, FP32, FP16)}


def dtype_named(name: str) -> DType:
    """The type called `name`."""
    return _ALL[name]


def dtype_of(storage: object) -> DType:
    """The type whose tensors NumPy stores as `storage`; INT4, INT48 and SHAPE have to be named."""
    with suppress(KeyError, TypeError):
        return _BY_STORAGE[np.dtype(storage)]  # type: ignore[call-overload]
    with suppress(KeyError, TypeError):
        return _late()[np.dtype(storage)]  # type: ignore[call-overload]
    raise TypeError(f"TOSA has no type that is stored as {storage!r}")


@cache
def _late() -> dict[np.dtype[np.generic], DType]:
    return {dtype.storage: dtype for dtype in (BF16, FP8E4M3, FP8E5M2)}
