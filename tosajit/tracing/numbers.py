"""NumPy arrays and Python numbers as what TOSA has of types."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from tosajit.arrays import Array
from tosajit.dtypes import INT4, INT48, DType, dtype_of
from tosajit.errors import TraceError

_STANDS_FOR = {np.dtype(np.int64): INT48, np.dtype(ml_dtypes.int4): INT4}


def typed(array: Any) -> tuple[Array, DType]:
    """An array as it is stored, and its type."""
    found = np.asarray(array)
    dtype = meant(found.dtype)
    return found.astype(dtype.storage, copy=False), dtype


def meant(dtype: np.dtype[np.generic]) -> DType:
    """The type that a NumPy type stands for: int64 for INT48, `ml_dtypes.int4` for INT4."""
    native = dtype.newbyteorder("=")
    if native in _STANDS_FOR:
        return _STANDS_FOR[native]
    try:
        return dtype_of(native)
    except TypeError as error:
        hint = "; view it as int8 or int16 for RESCALE" if dtype.kind == "u" else ""
        raise TraceError(f"{error}{hint}") from None


def untyped(value: object, storage: str = "") -> str:
    """What to say of a Python number where only what has a type of TOSA can be."""
    usual = "bool_" if isinstance(value, bool) else "float32" if isinstance(value, float) else "int32"
    return f"the Python number {value!r} has no TOSA type: write np.{storage or usual}({value!r})"
