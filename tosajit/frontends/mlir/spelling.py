"""How attributes and elements are written."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Literal, TypeAlias

import numpy as np

from tosajit.arrays import Array
from tosajit.dtypes import BOOL, INT4, DType
from tosajit.files.constants import pack
from tosajit.frontends.mlir.attributes import MEMBERS
from tosajit.frontends.mlir.kinds import NAMES
from tosajit.graph.attributes import Attribute
from tosajit.graph.operator import Operator
from tosajit.operators import AccType

Form: TypeAlias = Literal["tosa", "llvm", "generic"]
"""Attributes in braces, as arguments, or as the properties of operations in their generic form."""

_LISTED = 16
"""Constants of more elements are written as hexadecimal digits."""
_PIECE = 1 << 20
_SPELT = {member: name for name, member in MEMBERS.items()}
_NARROW = frozenset({"perms"})
"""Lists of integers that MLIR keeps in 32 bits; all others in 64."""


def properties(operator: Operator, dtype: DType | None) -> str:
    """The attributes of an operator in its generic form; `dtype` is the type of its first input."""
    return ", ".join(
        f"{one.name} = {spelled(one, value, dtype, 'generic')}" for one, value in _written(operator)
    )


def plain_form(operator: Operator, dtype: DType | None, extra: str, form: Form) -> str:
    """What stands behind the operands: attributes, and what else there is to keep."""
    if form == "tosa":
        parts = [f"{one.name} = {spelled(one, value, dtype, form)}" for one, value in _written(operator)]
        parts += [extra] if extra else []
        return f" {{{', '.join(parts)}}}" if parts else ""
    # Attributes that may be left out stand behind the others.
    written = sorted(_written(operator), key=lambda pair: pair[0].name == "local_bound")
    parts = [f" {one.name}{_enclosed(one, spelled(one, value, dtype, form))}" for one, value in written]
    return "".join([*parts, f" {{{extra}}}" if extra else ""])


def spelled(attribute: Attribute, value: Any, dtype: DType | None, form: Form) -> str:
    """The value of an attribute."""
    match attribute.encoding:
        case "bool":
            return "true" if value else "false"
        case "int32":
            return str(value) if form == "llvm" else f"{value} : i32"
        case "int32s":
            items = ", ".join(map(str, value))
            if form == "llvm":
                return f"[{items}]"
            width = "i32" if attribute.name in _NARROW else "i64"
            return f"array<{width}: {items}>" if items else f"array<{width}>"
        case "enum":
            return _member(value, form)
        case "string" | "bytes":
            return quoted(value)
    assert dtype is not None  # a number is of the type of the first input
    with np.errstate(over="ignore"):
        return f"{number(np.asarray(value).astype(dtype.storage), dtype)} : {NAMES[dtype]}"


def quoted(value: str | bytes) -> str:
    """A text between quotes; what is no plain letter is written out."""
    data = value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value
    return (
        '"'
        + re.sub(rb"[^ !#-\[\]-~]", lambda one: b"\\" + one[0].hex().upper().encode(), data).decode()
        + '"'
    )


def dense(data: Array, dtype: DType) -> Iterator[str]:
    """The elements of a constant."""
    flat = np.ascontiguousarray(data).reshape(-1)
    if flat.size == 0:
        yield "dense<>"
    elif flat.size > 1 and not (flat.view(np.uint8).reshape(flat.size, -1) != flat[:1].view(np.uint8)).any():
        yield f"dense<{number(flat[0], dtype)}>"
    elif flat.size > _LISTED and dtype is not BOOL:  # how many bits a Boolean has differs from tool to tool
        yield 'dense<"0x'
        packed = (flat & 15).view(np.uint8).data if dtype is INT4 else memoryview(pack(flat, dtype))
        for start in range(0, len(packed), _PIECE):
            yield packed[start : start + _PIECE].hex().upper()
        yield '">'
    else:
        yield f"dense<{_listed(data, dtype)}>"


def number(value: Any, dtype: DType) -> str:
    """An element: bits are written of what has no digits."""
    if dtype is BOOL:
        return "true" if value else "false"
    if not dtype.is_float:
        return str(int(value))
    real = float(value)
    if not np.isfinite(real):
        stored = np.asarray(value, dtype.storage).reshape(1)
        return f"0x{int.from_bytes(stored.tobytes(), 'little'):0{2 * stored.itemsize}X}"
    digits: str
    digits, _, exponent = repr(real).partition("e")
    return digits + ("" if "." in digits else ".0") + (f"e{exponent}" if exponent else "")


def _listed(data: Array, dtype: DType) -> str:
    if data.ndim == 0:
        return number(data[()], dtype)
    return f"[{', '.join(_listed(one, dtype) for one in data)}]"


def _written(operator: Operator) -> list[tuple[Attribute, Any]]:
    return [
        (one, getattr(operator, one.name)) for one in operator.attributes if one.name not in operator.regions
    ]


def _member(value: Any, form: Form) -> str:
    if isinstance(value, AccType):
        return NAMES[value.dtype] if value.dtype is not None else "none"
    name: str = _SPELT.get(value.name, value.name)
    if form != "generic":
        return name
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(value).__name__).lower()
    return f"#tosa.{words}<{name}>"


def _enclosed(attribute: Attribute, text: str) -> str:
    return f"<{text}>" if attribute.encoding == "enum" and attribute.enum is not AccType else f"({text})"
