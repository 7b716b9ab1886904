"""Type tables, enumerations and attribute forms that several operators share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from tiling.records import replace
from tosajit.arrays import Array
from tosajit.dtypes import DTYPES, INT8, DType
from tosajit.graph.operator import Mode, Operand, Operator, Rule, ShapeFault, read, table


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


ACCUMULATORS = (AccType.INT32, AccType.INT48, AccType.FP32, AccType.FP16)
"""The accumulators that are chosen if there is no `acc_type`, the first that the type table has."""


class Accumulating(Operator):
    """What adds up in a type that an attribute names."""

    if TYPE_CHECKING:  # the file format wants it last
        acc_type: AccType

    def selects(self, mode: Mode) -> bool:
        """The accumulator is the one that was asked for."""
        return mode["acc_t"] is self.acc_type.dtype

    @classmethod
    def completed(
        cls, attributes: Mapping[str, Any], types: Mapping[str, DType], sizes: Mapping[str, int]
    ) -> tuple[dict[str, Any], dict[str, DType]]:
        """The first accumulator that the types leave, if none is given."""
        found = dict(attributes)
        if found["acc_type"] is None:
            rows = [mode for mode in cls.modes if all(mode.types.get(n, t) is t for n, t in types.items())]
            there = {mode["acc_t"] for mode in rows}
            found["acc_type"] = next((one for one in ACCUMULATORS if one.dtype in there), AccType.INT32)
        chosen = found["acc_type"]
        dtype = chosen.dtype if isinstance(chosen, AccType) else chosen
        return found, {} if dtype is None else {"acc_t": dtype}


Int32 = int
"""What files keep in 32 bits; attributes are held to that."""
Pair = tuple[Int32, Int32]
Triple = tuple[Int32, Int32, Int32]
Quad = tuple[Int32, Int32, Int32, Int32]
Six = tuple[Int32, Int32, Int32, Int32, Int32, Int32]
Shape = tuple[int, ...]

CTC = ("PRO-INT", "PRO-FP")
"""An operand that is a compile-time constant in both profiles."""

FLOAT = table(
    "in_out_t",
    """
    PRO-FP   | fp16 | fp16
    PRO-FP   | fp32 | fp32
    EXT-BF16 | bf16 | bf16
    """,
)
INT32_FLOAT = table(
    "in_out_t",
    """
    PRO-FP            | fp16      | fp16
    PRO-FP            | fp32      | fp32
    PRO-INT or PRO-FP | signed 32 | i32
    EXT-BF16          | bf16      | bf16
    """,
)
INT32_INTEGER_FLOAT = table(
    "in_out_t",
    """
    PRO-FP   | fp16      | fp16
    PRO-FP   | fp32      | fp32
    PRO-INT  | signed 32 | i32
    EXT-BF16 | bf16      | bf16
    """,
)
BOOLEAN = table("in_out_t", "PRO-INT or PRO-FP | Boolean | bool")
INTEGER = table(
    "in_out_t",
    """
    PRO-INT | signed 16 | i16
    PRO-INT | signed 32 | i32
    PRO-INT | signed 8  | i8
    """,
)
LAYOUT = table(
    "in_out_t",
    """
    PRO-FP            | fp16      | fp16
    PRO-FP            | fp32      | fp32
    PRO-INT or PRO-FP | Boolean   | bool
    PRO-INT           | signed 16 | i16
    PRO-INT           | signed 32 | i32
    PRO-INT           | signed 8  | i8
    EXT-BF16          | bf16      | bf16
    EXT-FP8E4M3       | fp8e4m3   | fp8e4m3
    EXT-FP8E5M2       | fp8e5m2   | fp8e5m2
    """,
)


def broadcast(shapes: Mapping[str, Shape]) -> Shape:
    """The shape that operands are broadcast to (TOSA 1.0.1 section 1.11.3)."""
    (first, shape), *others = shapes.items()
    for name, other in others:
        if len(other) != len(shape):
            raise ShapeFault(name, f"its rank is {len(other)}, but that of {first} is {len(shape)}")
        for axis, (extent, wanted) in enumerate(zip(other, shape, strict=True)):
            if extent != wanted and 1 not in (extent, wanted):
                raise ShapeFault(name, f"dimension {axis} is {extent}, but {wanted} in {first}")
        shape = tuple(b if a == 1 else a for a, b in zip(shape, other, strict=True))
    return shape


def steps(extent: str, path: int, stride: int) -> int:
    """How many positions of a window there are on a `path` that `stride` has to divide."""
    if stride < 1:
        raise ShapeFault("output", f"{extent} is not defined for a stride of {stride}")
    if path % stride:
        raise ShapeFault(
            "output", f"{extent} is not defined: the stride is {stride}, which does not divide {path}"
        )
    return path // stride + 1


def beyond(limit: str, most: int, **values: int) -> Iterator[str]:
    """Messages for the values that are greater than a limit of the level."""
    for name, value in values.items():
        if value > most:
            yield f"{name} is {value}, but {limit} is {most}"


def out_of_range(axis: int, shape: Shape) -> bool:
    """Whether there is no such axis."""
    return not 0 <= axis < len(shape)


def zero_point(type: str, ctc: tuple[str, ...] = CTC, *, unsigned_if: str = "") -> Operand:
    """An input that is a zero point of elements of a type."""
    return replace(read(type, "1", ctc=ctc, or_zero=True), unsigned_if=unsigned_if)


def no_zero_point(type: str, operand: str) -> Rule:
    """An ERROR_IF: the zero point must be 0 where the elements are not INT8."""

    def misplaced(operator: Operator, dtype: DType, zero_point: Array) -> bool:
        return dtype is not INT8 and bool(zero_point.any())

    message = f"it is {{{operand}[0]}}, but must be 0 for {{{type}}}"
    return Rule("error_if", operand, misplaced, f"misplaced_{operand}", (type, operand), message)
