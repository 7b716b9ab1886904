"""The types of JAX."""

from __future__ import annotations

from enum import Enum

import ml_dtypes
import numpy as np


class Type(Enum):
    """The types of elements, as JAX calls them."""

    FLOAT32 = "float32"
    FLOAT64 = "float64"
    FLOAT16 = "float16"
    BFLOAT16 = "bfloat16"
    FLOAT8_E4M3FN = "float8_e4m3fn"
    FLOAT8_E5M2 = "float8_e5m2"
    INT8 = "int8"
    INT16 = "int16"
    INT32 = "int32"
    INT64 = "int64"
    UINT8 = "uint8"
    UINT16 = "uint16"
    UINT32 = "uint32"
    UINT64 = "uint64"
    BOOL = "bool"

    @property
    def label(self) -> str:
        """What users call it."""
        return self.value

    @property
    def storage(self) -> np.dtype[np.generic]:
        """What NumPy holds its elements as."""
        return np.dtype(getattr(ml_dtypes, self.value, self.value))


KNOWN = {one.value: one for one in Type}
"""The types by what JAX calls them."""
