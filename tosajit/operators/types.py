"""Type tables, enumerations and attribute forms that several operators share."""

from __future__ import annotations

import operator
from enum import IntEnum
from typing import Annotated, Any

import numpy as np
from pydantic import BeforeValidator, Field

from tosajit.dtypes import DTYPES, DType
from tosajit.operator import ShapeFault, table


class _Named(IntEnum):
    """An enumeration of the file format; members can be given by name."""

    @classmethod
    def _missing_(cls, value: object) -> _Named | None:
        return cls.__members__.get(value.upper()) if isinstance(value, str) else None


class NanMode(_Named):
    """What happens to NaN (TOSA 1.0.1 section 3.4)."""

    UNKNOWN = 0
    PROPAGATE = 1
    IGNORE = 2


class RoundingMode(_Named):
    """How RESCALE rounds (TOSA 1.0.1 section 3.5)."""

    UNKNOWN = 0
    SINGLE_ROUND = 1
    INEXACT_ROUND = 2
    DOUBLE_ROUND = 3


class ResizeMode(_Named):
    """How RESIZE samples (TOSA 1.0.1 section 3.1)."""

    UNKNOWN = 0
    NEAREST = 1
    BILINEAR = 2


class AccType(_Named):
    """Types of accumulators, numbered as in files; the type tables say which of them are legal."""

    UNKNOWN = 0
    BOOL = 1
    INT4 = 2
    INT8 = 3
    INT16 = 4
    INT32 = 5
    INT48 = 6
    FP32 = 7
    FP16 = 8
    BF16 = 9
    SHAPE = 10
    FP8E4M3 = 11
    FP8E5M2 = 12

    @classmethod
    def _missing_(cls, value: object) -> _Named | None:
        return super()._missing_(value.name if isinstance(value, DType) else value)

    @property
    def dtype(self) -> DType | None:
        """The type with this number."""
        return DTYPES.get(self.name)


def _index(value: Any) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise ValueError(f"{value!r} is not an integer") from None


Int32 = Annotated[int, BeforeValidator(_index), Field(ge=-(1 << 31), lt=1 << 31)]
Pair = tuple[Int32, Int32]
Triple = tuple[Int32, Int32, Int32]
Quad = tuple[Int32, Int32, Int32, Int32]
Six = tuple[Int32, Int32, Int32, Int32, Int32, Int32]
