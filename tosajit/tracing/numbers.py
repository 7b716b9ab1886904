"""NumPy arrays and Python numbers as what TOSA has of types."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from tosajit.arrays import Array
from tosajit.dtypes import BOOL, DTYPES, FP32, INT4, INT32, INT48, DType, dtype_of
from tosajit.errors import TraceError

Type = DType | np.dtype[np.generic] | type[Any] | str
"""A type of TOSA, its name, or the NumPy or Python type that stands for it."""

_PYTHON: dict[object, DType] = {bool: BOOL, int: INT32, float: FP32}
_STANDS_FOR = {"int64": INT48, "int4": INT4}
"""By their names, so that `ml_dtypes` is not imported for one that nobody may have."""


def typed(array: Any) -> tuple[Array, DType]:
    """An array as it is stored, and its type."""
    found = np.asarray(array)
    dtype = meant(found.dtype)
    return found.astype(dtype.storage, copy=False), dtype


@lru_cache(maxsize=1 << 7)
def meant(dtype: np.dtype[np.generic]) -> DType:
    """The type that a NumPy type stands for: int64 for INT48, `ml_dtypes.int4` for INT4."""
    native = dtype.newbyteorder("=")
    if native.name in _STANDS_FOR:
        return _STANDS_FOR[native.name]
    try:
        return dtype_of(native)
    except TypeError as error:
        hint = {"u": "; view it as int8 or int16 for RESCALE", "f": "; cast it, as in x.astype(np.float32)"}
        raise TraceError(f"{error}{hint.get(dtype.kind, '')}") from None


def type_named(dtype: Type | None) -> DType | None:
    """A type by itself, by its name, or by the type of NumPy or Python that stands for it."""
    if dtype is None or isinstance(dtype, DType):
        return dtype
    found = _PYTHON.get(dtype) or DTYPES.get(str(dtype).upper())
    if found is not None:
        return found
    try:
        return meant(np.dtype(dtype))
    except (TypeError, TraceError):
        raise TraceError(f"there is no type {dtype!r}; there are {', '.join(DTYPES)}") from None


def untyped(value: object, storage: str = "") -> str:
    """What to say of a Python number where only what has a type of TOSA can be."""
    usual = "bool_" if isinstance(value, bool) else "float32" if isinstance(value, float) else "int32"
    return f"the Python number {value!r} has no TOSA type: write np.{storage or usual}({value!r})"


def exactly(value: Any, storage: np.dtype[np.generic]) -> Array | None:
    """Numbers as an array of a type, or None if it does not hold them."""
    try:
        numbers = np.asarray(value)
        with np.errstate(invalid="ignore", over="ignore"):
            array = numbers.astype(storage)
    except (TypeError, ValueError, OverflowError):
        return None
    return array if numbers.dtype.kind in "biuf" and np.array_equal(array, numbers) else None


def weak(value: Any, dtype: DType) -> Array:
    """Python numbers, or lists of them, in the type of the tensor beside them; only floats are rounded."""
    try:
        numbers = np.asarray(value)
    except ValueError:
        raise TraceError(f"{value!r} is no array: its lists have different lengths") from None
    if (numbers.dtype.kind == "b") != (dtype is BOOL) or numbers.dtype.kind not in "biuf":
        raise TraceError(f"{value!r} beside {dtype}: write a number, or an array of that type")
    if dtype.is_float:
        with np.errstate(over="ignore"):
            rounded: Array = numbers.astype(dtype.storage)
        if np.array_equal(np.isfinite(rounded.astype(np.float64)), np.isfinite(numbers)):
            return rounded
    elif numbers.dtype.kind != "f" and (exact := exactly(numbers, dtype.storage)) is not None:
        if exact.size == 0 or (exact.min() >= dtype.minimum and exact.max() <= dtype.maximum):
            return exact
    how = "x.astype(np.float32)" if numbers.dtype.kind == "f" else "x.astype(np.int32)"
    raise TraceError(f"{value!r} is no {dtype}: cast the tensor first, as in {how}")
