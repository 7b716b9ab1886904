"""What the integers of a tensor stand for, as the layers of `nn.quantized` say it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np

from tosajit import ops
from tosajit.arrays import Array
from tosajit.dtypes import INT4, INT8, INT16, INT32, INT48, DType
from tosajit.errors import TraceError
from tosajit.frontends.common.quantized import ACTIVATIONS, finished, quantized_bounds
from tosajit.frontends.common.scale import zero_point
from tosajit.operators import RoundingMode
from tosajit.tracing.numbers import Type, type_named
from tosajit.tracing.tensor import Tensor


@dataclass(frozen=True, slots=True)
class Meaning:
    """`(integer - zero_point) * scale`: the scale is a float32, as converters store it."""

    dtype: DType
    scale: float
    zero_point: int

    @property
    def bounds(self) -> tuple[int, int]:
        """The least and the greatest integer."""
        return int(self.dtype.minimum), int(self.dtype.maximum)

    @property
    def rounding(self) -> RoundingMode:
        """How numbers are rounded to the integers."""
        return RoundingMode.DOUBLE_ROUND


@dataclass(frozen=True, slots=True)
class Integers(Meaning):
    """A tensor of such integers."""

    tensor: Tensor


def meant(where: str, dtype: DType, scale: Any, zero_point: Any) -> Meaning:
    """What integers of a type stand for, checked."""
    return Meaning(
        dtype, scales_of(f"{where}_scale", scale)[0], point_of(f"{where}_zero_point", zero_point, dtype)
    )


def operand(where: str, value: Tensor, scale: Any, zero_point: Any) -> Integers:
    """A tensor of INT8 or INT16 with what it stands for."""
    found = meant(where, narrow(where, value).dtype, scale, zero_point)
    return Integers(found.dtype, found.scale, found.zero_point, value)


def narrow(where: str, value: Tensor) -> Tensor:
    """A tensor of INT8 or INT16."""
    if value.dtype not in (INT8, INT16):
        raise TraceError(
            f"{where}: {value.value.type} is not of INT8 or INT16: nn.quantized.quantize makes such"
        )
    return value


def point_of(where: str, zero_point: Any, dtype: DType) -> int:
    """A zero point that a type holds; INT16 has none."""
    least, most = (0, 0) if dtype is INT16 else (int(dtype.minimum), int(dtype.maximum))
    if isinstance(zero_point, bool) or not isinstance(zero_point, int) or not least <= zero_point <= most:
        what = "0, as INT16 has no other" if dtype is INT16 else f"an integer from {least} to {most}"
        raise TraceError(f"{where} is {zero_point!r}, but must be {what}")
    return zero_point


def scales_of(where: str, scale: Any, count: int = 1) -> tuple[float, ...]:
    """One scale, or one for each of some channels."""
    given = scale if isinstance(scale, Sequence) else (scale,)
    many = "" if count == 1 else f", or {count} of them, one for each output"
    try:
        found = tuple(float(np.float32(one)) for one in given)
    except (TypeError, ValueError):
        found = ()
    if len(found) not in {1, count} or not all(isfinite(one) and one > 0 for one in found):
        shown = f"{len(found)} numbers" if len(found) not in {0, 1, count} else repr(scale)
        raise TraceError(f"{where} is {shown}, but must be a number above 0{many}")
    return found


def narrow_type(where: str, dtype: Type) -> DType:
    """INT8 or INT16."""
    found = type_named(dtype)
    if found not in (INT8, INT16):
        raise TraceError(f"{where} dtype is {dtype!r}, but must be INT8 or INT16")
    return found


@dataclass(frozen=True, slots=True)
class Scaling:
    """How sums of products become the integers of a result."""

    where: str
    zero_points: tuple[Array, Array]
    """Of both operands."""
    scales: Array
    """Of the sums over that of the result: one, or one for each output."""
    result: Meaning
    activation: str | None

    @classmethod
    def of(
        cls,
        where: str,
        value: Integers,
        weight: Tensor,
        weight_scale: Any,
        weight_zero_point: Any,
        bias: Tensor | None,
        count: int,
        result: Meaning,
        activation: str | None,
    ) -> Scaling:
        """The scaling of so many outputs, whose operands are checked."""
        if weight.dtype not in (INT8, INT4):
            raise TraceError(f"{where} weight: {weight.value.type} is not of INT8")
        sums = INT48 if value.dtype is INT16 else INT32
        if bias is not None and (bias.dtype is not sums or bias.shape != (count,)):
            how = f"np.round(bias / (x_scale * weight_scale)).astype(np.{sums.storage})"
            raise TraceError(
                f"{where} bias: {bias.value.type} must be {sums}[{count}], of the product of the scales of x "
                f"and weight, as in {how}"
            )
        own = scales_of(f"{where} weight_scale", weight_scale, count)
        point = point_of(f"{where} weight_zero_point", weight_zero_point, weight.dtype)
        points = zero_point(value.zero_point, value.dtype), zero_point(point, weight.dtype)
        scales = np.array(own) * value.scale / result.scale
        return cls(where, points, scales, result, activation)

    def finish(self, total: Tensor, channels: slice = slice(None)) -> Tensor:
        """The sums of some outputs, scaled and activated."""
        scales = self.scales[channels] if len(self.scales) > 1 else self.scales
        return activated(self.where, finished(total, scales, self.result), self.result, self.activation)


def activated(where: str, value: Tensor, result: Meaning, activation: str | None) -> Tensor:
    """Integers of a result after an activation, which is a clamp."""
    if (activation or "none") not in ACTIVATIONS:
        raise TraceError(
            f"{where} activation is {activation!r}, but must be None or one of {', '.join(ACTIVATIONS)}"
        )
    low, high = quantized_bounds(result, *ACTIVATIONS[activation or "none"])
    if low > high:
        raise TraceError(
            f"{where} activation: {activation} leaves none of the numbers that the result stands for"
        )
    return value if (low, high) == result.bounds else ops.clamp(value, min_val=low, max_val=high)
