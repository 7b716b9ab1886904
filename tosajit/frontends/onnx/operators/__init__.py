"""The operators of ONNX by family: each module here is imported, and declares what it lowers."""

from __future__ import annotations

from functools import partial

from tosajit.frontends.frame import Declarations
from tosajit.frontends.onnx.schema import NEWEST

DECLARATIONS = Declarations(__name__)
operator = partial(DECLARATIONS.operator, versions=(1, NEWEST))
refuse = DECLARATIONS.refuse

REAL = "float32 float16 bfloat16"
WHOLE = "int32 int64 uint32 uint64"
NARROW = "int8 int16 uint8 uint16"
"""Integers that are computed as int32."""
NUMBERS = f"{REAL} {WHOLE}"
TINY = "int4 uint4 int2 uint2"
"""Integers that are held as int8."""
MOVED = f"{NUMBERS} {NARROW} {TINY} bool"
"""The types of what is only moved."""
