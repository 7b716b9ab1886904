"""The integer rows of the specification's type tables, by hand (TOSA 1.0.1 sections 2.3 to 2.14)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mode:
    """One row: the types of all inputs and outputs, in the order of the arguments."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    variant: str = ""

    def __str__(self) -> str:
        """Return a name for test ids."""
        words = (*self.inputs[:2], "to", *self.outputs) + ((self.variant,) if self.variant else ())
        return "-".join(words).lower()


def _same(*types: str, count: int = 1) -> tuple[Mode, ...]:
    return tuple(Mode((t,) * count, (t,)) for t in types)


def _with_shapes(shapes: int, *tail: bool) -> tuple[Mode, ...]:
    types = ("BOOL", "INT8", "INT16", "INT32")
    return tuple(Mode((t, *("SHAPE",) * shapes, *(t for _ in tail)), (t,)) for t in types)


_LAYOUT = ("BOOL", "INT8", "INT16", "INT32")
_INTEGERS = ("INT8", "INT16", "INT32")
_CONVOLUTION = (
    Mode(("INT8", "INT8", "INT32", "INT8", "INT8"), ("INT32",)),
    Mode(("INT16", "INT8", "INT48", "INT16", "INT8"), ("INT48",)),
    Mode(("INT8", "INT4", "INT32", "INT8", "INT4"), ("INT32",)),
)
_COMPARE = (Mode(("INT32", "INT32"), ("BOOL",)),)
_CASTS = [(a, b) for a in _LAYOUT for b in _LAYOUT if a != b]
_RESCALES = [(a, b) for a in ("INT8", "INT16", "INT32", "INT48") for b in _INTEGERS]


def _rescale_variants(in_t: str, out_t: str) -> list[str]:
    scales = ["scale16", "scale16-inexact"]
    if in_t != "INT48":
        scales += ["scale32", "scale32-inexact", "scale32-double"]
    signs = [""]
    if in_t in ("INT8", "INT16") and out_t != "INT32":
        signs.append("-unsigned-in")
    if out_t in ("INT8", "INT16") and in_t in ("INT8", "INT16"):
        signs.append("-unsigned-out")
    return [scale + sign for scale in scales for sign in signs]


MODES: dict[str, tuple[Mode, ...]] = {
    "ARGMAX": (Mode(("INT8",), ("INT32",)), Mode(("INT16",), ("INT32",))),
    "AVG_POOL2D": _same("INT8", "INT16", count=3),
    "CONV2D": _CONVOLUTION,
    "CONV3D": _CONVOLUTION,
    "DEPTHWISE_CONV2D": _CONVOLUTION,
    "MATMUL": (Mode(("INT8",) * 4, ("INT32",)), Mode(("INT16",) * 4, ("INT48",))),
    "MAX_POOL2D": _same("INT8", "INT16"),
    "TRANSPOSE_CONV2D": _CONVOLUTION,
    "CLAMP": _same("INT8", "INT16"),
    "ADD": _same("INT32", count=2),
    "ARITHMETIC_RIGHT_SHIFT": _same(*_INTEGERS, count=2),
    "BITWISE_AND": _same(*_INTEGERS, count=2),
    "BITWISE_OR": _same(*_INTEGERS, count=2),
    "BITWISE_XOR": _same(*_INTEGERS, count=2),
    "INTDIV": _same("INT32", count=2),
    "LOGICAL_AND": _same("BOOL", count=2),
    "LOGICAL_LEFT_SHIFT": _same(*_INTEGERS, count=2),
    "LOGICAL_RIGHT_SHIFT": _same(*_INTEGERS, count=2),
    "LOGICAL_OR": _same("BOOL", count=2),
    "LOGICAL_XOR": _same("BOOL", count=2),
    "MAXIMUM": _same("INT32", count=2),
    "MINIMUM": _same("INT32", count=2),
    "MUL": tuple(Mode((t, t, "INT8"), ("INT32",)) for t in _INTEGERS),
    "SUB": _same("INT32", count=2),
    "TABLE": (Mode(("INT8", "INT8"), ("INT8",)), Mode(("INT16", "INT16"), ("INT32",))),
    "ABS": _same("INT32"),
    "BITWISE_NOT": _same(*_INTEGERS),
    "CLZ": _same("INT32"),
    "LOGICAL_NOT": _same("BOOL"),
    "NEGATE": _same(*_INTEGERS, count=3),
    "SELECT": tuple(Mode(("BOOL", t, t), (t,)) for t in _LAYOUT),
    "EQUAL": _COMPARE,
    "GREATER": _COMPARE,
    "GREATER_EQUAL": _COMPARE,
    "REDUCE_ALL": _same("BOOL"),
    "REDUCE_ANY": _same("BOOL"),
    "REDUCE_MAX": _same(*_INTEGERS),
    "REDUCE_MIN": _same(*_INTEGERS),
    "REDUCE_SUM": _same("INT32"),
    "CONCAT": _same(*_LAYOUT),
    "PAD": _with_shapes(1, True),
    "RESHAPE": _with_shapes(1),
    "REVERSE": _same(*_LAYOUT),
    "SLICE": _with_shapes(2),
    "TILE": _with_shapes(1),
    "TRANSPOSE": _same(*_LAYOUT),
    "GATHER": tuple(Mode((t, "INT32"), (t,)) for t in _INTEGERS),
    "SCATTER": tuple(Mode((t, "INT32", t), (t,)) for t in _INTEGERS),
    "RESIZE": (
        Mode(("INT8", "SHAPE", "SHAPE", "SHAPE"), ("INT32",), "bilinear"),
        Mode(("INT8", "SHAPE", "SHAPE", "SHAPE"), ("INT8",), "nearest"),
        Mode(("INT16", "SHAPE", "SHAPE", "SHAPE"), ("INT48",), "bilinear"),
        Mode(("INT16", "SHAPE", "SHAPE", "SHAPE"), ("INT16",), "nearest"),
    ),
    "CAST": tuple(Mode((a,), (b,)) for a, b in _CASTS),
    "RESCALE": tuple(
        Mode((a, "INT32" if "scale32" in variant else "INT16", "INT8", a, b), (b,), variant)
        for a, b in _RESCALES
        for variant in _rescale_variants(a, b)
    ),
    "IDENTITY": _same("BOOL", "INT4", "INT8", "INT16", "INT32", "INT48"),
}
