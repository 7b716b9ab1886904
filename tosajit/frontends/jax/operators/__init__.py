"""The primitives of JAX by family: each module here is imported, and declares what it lowers."""

from __future__ import annotations

from tosajit.frontends.frame import Declarations

DECLARATIONS = Declarations(__name__)
operator = DECLARATIONS.operator
refuse = DECLARATIONS.refuse

REAL = "float32 float16 bfloat16"
WHOLE = "int32 int64 uint32 uint64"
NARROW = "int8 int16 uint8 uint16"
"""Integers that are computed as int32."""
BITS = f"{WHOLE} {NARROW}"
NUMBERS = f"{REAL} {WHOLE} {NARROW}"
MOVED = f"{NUMBERS} bool"
"""The types of what is only moved."""
