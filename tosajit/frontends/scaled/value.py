"""What real numbers are known by while they are not written: integers, functions of bytes, and sums."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import field
from math import inf
from typing import Any, TypeAlias

import numpy as np

from tiling.records import dataclass, replace
from tosajit import ops
from tosajit.arrays import Array
from tosajit.dtypes import FP32, INT8, DType
from tosajit.frontends.common.layout import joined
from tosajit.frontends.common.numbers import number
from tosajit.frontends.scaled.affine import Affine, clamped, dequantized, finished, quantized
from tosajit.operators import RoundingMode
from tosajit.tracing.recorder import Trace, current_trace
from tosajit.tracing.tensor import Tensor

Finish: TypeAlias = Callable[[Tensor, slice], Tensor]
"""What becomes of the sums of some channels, which are last."""
_DEEPEST = 24
"""How many functions of functions are put off."""


class Once:
    """A tensor that is written where it is first needed, once in each region, but named where it was made."""

    def __init__(self, write: Callable[[], Tensor]) -> None:
        trace = _recorded()
        self._write, self._place = write, trace.builder.place
        self._written: dict[Trace, Tensor] = {}

    def __call__(self) -> Tensor:
        """The tensor in the region that is being written."""
        trace = _recorded()
        found = self._written.get(trace)
        if found is None or not trace.builder.holds(found.value):
            found = self.anew(self._write)
            self._written[trace] = found
        return found

    def anew(self, write: Callable[[], Tensor]) -> Tensor:
        """Another tensor at that place."""
        with _recorded().builder.at(*self._place):
            return write()


def _recorded() -> Trace:
    trace = current_trace()
    assert trace is not None
    return trace


@dataclass(frozen=True, slots=True, eq=False)
class Scaled(ABC):
    """A tensor of real numbers that is not written."""

    shape: tuple[int, ...]

    @abstractmethod
    def onto(self, affine: Affine) -> Tensor:
        """The nearest integers of a grid."""

    @abstractmethod
    def real(self) -> Tensor:
        """The real numbers, in float32."""

    @property
    def bytes(self) -> tuple[Held, Array] | None:
        """Bytes that the numbers are a function of, and what all 256 of them stand for."""
        return None

    @property
    def depth(self) -> int:
        """How many functions of functions it is."""
        return 0


@dataclass(frozen=True, slots=True, eq=False)
class Held(Scaled):
    """Integers that are in the graph."""

    held: Tensor
    affine: Affine
    written: Once

    @classmethod
    def of(cls, integers: Tensor, affine: Affine) -> Held:
        """A tensor whose integers stand for real numbers."""
        return cls(integers.shape, integers, affine, Once(lambda: dequantized(_own(integers), affine)))

    @property
    def tensor(self) -> Tensor:
        """The integers, in the region that is being written."""
        return _own(self.held)

    @property
    def dtype(self) -> DType:
        """Their type."""
        return self.affine.dtype

    @property
    def scale(self) -> float:
        """The real number that one more stands for."""
        return self.affine.scale

    @property
    def zero_point(self) -> int:
        """The integer that stands for 0."""
        return self.affine.zero_point

    @property
    def bounds(self) -> tuple[int, int]:
        """The least and the greatest of them."""
        return self.affine.bounds

    @property
    def rounding(self) -> RoundingMode:
        """How sums are rounded to them."""
        return self.affine.rounding

    @property
    def farthest(self) -> int:
        """How far from the zero point they may be."""
        return max(abs(bound - self.zero_point) for bound in self.bounds)

    @property
    def bytes(self) -> tuple[Held, Array] | None:
        """The bytes themselves."""
        return (self, self.affine.reals) if self.dtype is INT8 else None

    def onto(self, affine: Affine) -> Tensor:
        """The same integers, those of a table, or those that RESCALE gives."""
        same = (self.scale, self.zero_point, self.dtype) == (affine.scale, affine.zero_point, affine.dtype)
        if same:
            low, high = affine.bounds
            is_inside = low <= self.bounds[0] and self.bounds[1] <= high
            return self.tensor if is_inside else clamped(self.tensor, affine)
        if self.dtype is INT8 and affine.dtype is INT8:
            return looked_up(self.tensor, affine.nearest(self.affine.reals))
        return quantized(self.real(), affine)

    def real(self) -> Tensor:
        """The integers less the zero point, times the scale."""
        return self.written()

    def moved(self, integers: Tensor) -> Held:
        """The same numbers at other places."""
        return Held.of(integers, self.affine)


def _own(tensor: Tensor) -> Tensor:
    return _recorded().own(tensor)


def looked_up(index: Tensor, table: Array) -> Tensor:
    """The bytes that a table has for others: these themselves, or clamped, where it is such a table."""
    low, high = int(table.min()), int(table.max())
    numbers = np.arange(-128, 128)
    if np.array_equal(table, numbers):
        return index
    if np.array_equal(table, np.clip(numbers, low, high)):
        return ops.clamp(index, min_val=low, max_val=high)
    return ops.table(index, table.astype(np.int8))


@dataclass(frozen=True, slots=True, eq=False)
class Function(Scaled):
    """A function of bytes."""

    held: Held
    reals: Array
    """Its values for all 256 of them, in float32."""
    written: Once
    deep: int

    @property
    def bytes(self) -> tuple[Held, Array] | None:
        """The bytes, and the values."""
        return self.held, self.reals

    @property
    def depth(self) -> int:
        """How many functions of functions it is."""
        return self.deep

    def onto(self, affine: Affine) -> Tensor:
        """Bytes of a table; others are the nearest to the real numbers."""
        if affine.dtype is INT8:
            return self.written.anew(lambda: looked_up(self.held.tensor, affine.nearest(self.reals)))
        return quantized(self.real(), affine)

    def real(self) -> Tensor:
        """The function of the real numbers, as floating point."""
        return self.written()


def function_of(
    values: Sequence[Scaled | Array], compute: Callable[[list[Any]], Any], write: Callable[[], Tensor]
) -> Function | None:
    """An elementwise function, if all its operands are those of the same bytes, or single numbers.

    `compute` is the function of arrays of float32; `write` writes it where real numbers are needed.
    """
    found = [one.bytes if isinstance(one, Scaled) else None for one in values]
    held = next((one[0] for one in found if one is not None), None)
    deep = 1 + max((one.depth for one in values if isinstance(one, Scaled)), default=0)
    if held is None or deep > _DEEPEST:
        return None
    arrays: list[Any] = []
    for value, pair in zip(values, found, strict=True):
        if pair is not None and pair[0].held.name == held.held.name and pair[0].shape == held.shape:
            arrays.append(pair[1])
        elif not isinstance(value, Scaled) and value.size == 1 and value.ndim <= len(held.shape):
            arrays.append(value.reshape(()))
        else:
            return None
    with np.errstate(all="ignore"):
        reals = compute(arrays)
    if reals is None or np.shape(reals) != (256,):
        return None
    return Function(held.shape, held, np.asarray(reals, np.float32), Once(write), deep)


@dataclass(frozen=True, slots=True, eq=False)
class Sum(Scaled):
    """Sums of integers, which are scaled when they are written."""

    write: Callable[[Finish], Tensor]
    """Writes them, with what becomes of them."""
    scales: Array
    """What one more of a sum stands for: one for all, or one for each channel."""
    most: int
    """How far from 0 a sum may be."""
    written: Once = field(init=False)
    low: float = -inf
    high: float = inf
    """The real numbers that are left of them."""
    plain: Callable[[], Tensor] | None = None
    """Writes the real numbers otherwise."""
    has_halves: bool = True
    """Whether sums are exact, so that some are halves of a result's steps; others only come near."""
    point: int = 0
    """The sum that stands for 0, where all have one scale."""
    deep: int = 0
    direct: tuple[Affine, Callable[[], Tensor]] | None = None
    """A grid whose integers an operator gives at once, and what writes that."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "written", Once(self._real))

    def onto(self, affine: Affine) -> Tensor:
        """Sums as integers of a grid."""
        if self.direct is not None and affine == self.direct[0]:
            return clamped(self.written.anew(self.direct[1]), affine, self.low, self.high)

        def finish(total: Tensor, channels: slice) -> Tensor:
            near, result = self._centred(total, affine)
            return clamped(
                finished(near, self._of(channels), result, self.most, self.has_halves),
                affine, self.low, self.high,
            )  # fmt: skip

        return self.written.anew(lambda: self.write(finish))

    def real(self) -> Tensor:
        """Sums times their scales."""
        return self.written()

    @property
    def depth(self) -> int:
        """How many sums of sums it is."""
        return self.deep

    @property
    def is_clipped(self) -> bool:
        """Whether some numbers are not left."""
        return (self.low, self.high) != (-inf, inf)

    def clipped(self, low: float, high: float) -> Sum:
        """What is left of them inside of bounds."""
        return replace(self, low=min(max(self.low, low), high), high=max(min(self.high, high), low))

    def _centred(self, total: Tensor, affine: Affine) -> tuple[Tensor, Affine]:
        """Sums of which 0 stands for 0, or a grid with a zero point for the others."""
        if not self.point:
            return total, affine
        offset = self.point * float(self.scales[0]) / affine.scale
        moved = affine.zero_point - round(offset)
        if affine.dtype is INT8 and abs(offset - round(offset)) < 1e-9 and -128 <= moved <= 127:
            return total, replace(affine, zero_point=moved)
        return ops.sub(total, number(total, self.point)), affine

    def _of(self, channels: slice) -> Array:
        return self.scales if self.scales.size == 1 else self.scales[channels]

    def _real(self) -> Tensor:
        def finish(total: Tensor, channels: slice) -> Tensor:
            near = ops.sub(total, number(total, self.point)) if self.point else total
            real = ops.cast(near, dtype=FP32)
            row = (*(1,) * (total.ndim - 1), -1)
            return ops.mul(real, self._of(channels).astype(np.float32).reshape(row))

        found = self.write(finish) if self.plain is None else self.plain()
        return ops.clamp(found, min_val=self.low, max_val=self.high) if self.is_clipped else found


@dataclass(frozen=True, slots=True, eq=False)
class Joined(Scaled):
    """Tensors one behind the other."""

    parts: tuple[Scaled, ...]
    axis: int
    written: Once

    @classmethod
    def of(cls, parts: Sequence[Scaled], axis: int) -> Joined:
        """Tensors one behind the other along a dimension."""
        shape = list(parts[0].shape)
        shape[axis] = sum(one.shape[axis] for one in parts)
        write = Once(lambda: joined([one.real() for one in parts], axis))
        return cls(tuple(shape), tuple(parts), axis, write)

    @staticmethod
    def behind(parts: Sequence[Scaled], axis: int) -> Scaled:
        """The same as integers, where all have one grid."""
        held = [one.held() if isinstance(one, Weights) else one for one in parts]
        same = [one for one in held if isinstance(one, Held)]
        if len(same) == len(parts) and len({one.affine for one in same}) == 1:
            return Held.of(joined([one.tensor for one in same], axis), same[0].affine)
        return Joined.of(parts, axis)

    def onto(self, affine: Affine) -> Tensor:
        """The integers of each."""
        return self.written.anew(lambda: joined([one.onto(affine) for one in self.parts], self.axis))

    def real(self) -> Tensor:
        """The numbers of each."""
        return self.written()


@dataclass(frozen=True, slots=True, eq=False)
class Weights(Scaled):
    """Integers that are known, with one scale or one for each index of a dimension."""

    integers: Array
    """As they are in the source, of any type."""
    scales: Array
    zero_points: Array
    axis: int
    name: str = ""

    @property
    def reals(self) -> Array:
        """The real numbers."""
        row = [-1 if place == self.axis else 1 for place in range(self.integers.ndim)]
        scales, points = (
            one if one.size == 1 else one.reshape(row) for one in (self.scales, self.zero_points)
        )
        centred = self.integers.astype(np.int64) - points.astype(np.int64)
        found: Array = centred.astype(np.float32) * scales.astype(np.float32)
        return found.reshape(self.integers.shape)

    def onto(self, affine: Affine) -> Tensor:
        """The integers of another grid."""
        return _recorded().constant(
            affine.nearest(self.reals).astype(affine.dtype.storage), affine.dtype, self.name
        )

    def real(self) -> Tensor:
        """A constant."""
        return _recorded().constant(self.reals, FP32, self.name)

    def held(self) -> Held | None:
        """A constant of bytes of one scale."""
        if self.scales.size != 1 or self.zero_points.size != 1:
            return None
        low, high = (int(one) for one in (self.integers.min(), self.integers.max()))
        offset = 128 if high > 127 else 0
        if low - offset < -128 or high - offset > 127:
            return None
        affine = Affine.of((low, high), self.scales.item(), int(self.zero_points.item()), offset)
        numbers = (self.integers.astype(np.int64) - offset).astype(np.int8)
        return Held.of(_recorded().constant(numbers, INT8, self.name), affine)
