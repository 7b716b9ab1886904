"""The types of elements: what MLIR calls them, and what they are in TOSA."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from tosajit.dtypes import (
    BF16,
    BOOL,
    FP8E4M3,
    FP8E5M2,
    FP16,
    FP32,
    INT4,
    INT8,
    INT16,
    INT32,
    INT48,
    SHAPE,
    DType,
)
from tosajit.frontends.mlir.syntax.records import Extents, Plain, Tensor, Type

NAMES = {
    BOOL: "i1", INT4: "i4", INT8: "i8", INT16: "i16", INT32: "i32", INT48: "i48", FP32: "f32", FP16: "f16",
    BF16: "bf16", FP8E4M3: "f8E4M3FN", FP8E5M2: "f8E5M2", SHAPE: "index",
}  # fmt: skip
"""What MLIR calls the types of TOSA; integers have no sign of their own."""

_TYPES = {name: dtype for dtype, name in NAMES.items() if dtype is not SHAPE}
_QUANTISED = re.compile(r"!quant\.(?:uniform|any)<\s*([usi]+)([0-9]+)")
_SCALE = re.compile(
    r"!quant\.uniform<\s*i[0-9]+(?:<[^>]*>)?\s*:\s*f32\s*,\s*([-+0-9.eE]+)(?:\s*:\s*(-?[0-9]+))?\s*>$"
)


@dataclass(frozen=True, slots=True)
class Kind:
    """A type of elements in TOSA, and what it was in the text where TOSA lacks that."""

    dtype: DType
    outside: str = ""
    """The type of NumPy that arrays of inputs and outputs have, if it is another one."""
    wide: str = ""
    """The name of a type with more bits than TOSA has: `i64` or `f64`."""
    unsigned: bool = False


_WIDE = {
    "i64": Kind(INT32, "int64", "i64"),
    "si64": Kind(INT32, "int64", "i64"),
    "f64": Kind(FP32, "", "f64"),
}
STORED = {"i64": np.dtype(np.int64), "f64": np.dtype(np.float64)}


@lru_cache(1024)
def kind_of(name: str) -> Kind | None:
    """What elements are in TOSA; None if there is no such type."""
    quantised = _QUANTISED.match(name)
    if quantised is not None:
        name = f"{quantised[1].replace('s', '').replace('u', 'ui').replace('uii', 'ui')}{quantised[2]}"
    if name in _WIDE:
        return _WIDE[name]
    plain = name.removeprefix("u").removeprefix("s") if re.fullmatch(r"[us]i[0-9]+", name) else name
    if plain not in _TYPES:
        return None
    return Kind(_TYPES[plain], "uint8" if name == "ui8" else "", unsigned=name.startswith("u"))


def scale_of(type: Type) -> tuple[float, int] | None:
    """The scale and the zero point that the type of elements says."""
    found = _SCALE.match(type.element.name) if isinstance(type, Tensor) else None
    try:
        return (float(found[1]), int(found[2] or 0)) if found is not None else None
    except ValueError:
        return None


def written(type: Type) -> str:
    """A type as it is written."""
    match type:
        case Plain(name):
            return name
        case Extents(rank):
            return f"!tosa.shape<{rank}>"
        case Tensor(shape, element):
            extents = "*x" if shape is None else "".join("?x" if one < 0 else f"{one}x" for one in shape)
            return f"tensor<{extents}{element.name}>"
    return f"({', '.join(map(written, type.inputs))}) -> ({', '.join(map(written, type.results))})"
