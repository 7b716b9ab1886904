"""Reduction operators (TOSA 1.0.1 section 2.9)."""

from __future__ import annotations

from tosajit.graph.operator import table
from tosajit.operators.forms import AxisReduction
from tosajit.operators.types import BOOLEAN, FLOAT, NanMode

EXTREMUM = table(
    "in_out_t",
    """
    PRO-FP   | fp16      | fp16
    PRO-FP   | fp32      | fp32
    PRO-INT  | signed 16 | i16
    PRO-INT  | signed 32 | i32
    PRO-INT  | signed 8  | i8
    EXT-BF16 | bf16      | bf16
    """,
)


class REDUCE_ALL(AxisReduction):
    """Whether all elements along an axis are true."""

    section, modes, combines = "2.9.1", BOOLEAN, "and"


class REDUCE_ANY(AxisReduction):
    """Whether any element along an axis is true."""

    section, modes, combines = "2.9.2", BOOLEAN, "or"


class REDUCE_MAX(AxisReduction):
    """The largest element along an axis."""

    section, modes, combines = "2.9.3", EXTREMUM, "max"

    nan_mode: NanMode = NanMode.PROPAGATE


class REDUCE_MIN(AxisReduction):
    """The smallest element along an axis."""

    section, modes, combines = "2.9.4", EXTREMUM, "min"

    nan_mode: NanMode = NanMode.PROPAGATE


class REDUCE_PRODUCT(AxisReduction):
    """The product of the elements along an axis."""

    section, modes, combines = "2.9.5", FLOAT, "mul"


class REDUCE_SUM(AxisReduction):
    """The sum of the elements along an axis."""

    section, combines = "2.9.6", "add"
    modes = table(
        "in_out_t acc_t",
        """
        PRO-FP   | fp16      | fp16 fp16
        PRO-FP   | fp32      | fp32 fp32
        PRO-INT  | signed 32 | i32  i32
        EXT-BF16 | bf16      | bf16 fp32
        """,
    )
