"""The integers that a quantiser stands for (NNEF 2.0 section 4.6).

Where the text is silent: bytes without sign are INT8, less 128. A range whose 0 lies between two steps is
moved by up to half of one, so that 0 is an integer, as borders and rectifiers need.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from tiling.records import replace
from tosajit.arrays import Array
from tosajit.dtypes import INT8, INT16, INT32, DType
from tosajit.errors import FileError
from tosajit.frontends.frame import Refused
from tosajit.frontends.nnef.model import Operation, tensors_of
from tosajit.frontends.nnef.values.value import Value
from tosajit.operators import RoundingMode

_LINEAR, _RANGE = "quant.zero_point_linear_quantize", "quant.min_max_linear_quantize"
Number = TypeVar("Number", int, float)
QUANTISERS = frozenset({_LINEAR, _RANGE})
_TYPES = (INT8, INT16, INT32)
_SMALLEST = 2.0**-126
_ON_STEP = 2.0**-10
"""How far from a step, in steps, 0 may be so that nobody notices."""


@dataclass(frozen=True, slots=True)
class Form:
    """Which integers there are, and what they stand for: `(integer - zero_point) * scale`.

    There is a scale and a zero point for all, or one for each index along `axis`.
    """

    scales: tuple[float, ...]
    zero_points: tuple[int, ...]
    bounds: tuple[int, int]
    axis: int = 0
    offset: int = 0
    """What is subtracted from integers without sign."""
    shift: float = 0.0
    """How far the range was moved, in steps."""
    factors: tuple[float, ...] = ()
    """What numbers of each channel are multiplied by before, where they are normalised."""
    more: tuple[float, ...] = ()
    """What is added then."""

    @property
    def dtype(self) -> DType:
        """The type that holds the integers."""
        least, most = self.bounds
        return next(one for one in _TYPES if one.minimum <= least and most <= one.maximum)

    @property
    def rounding(self) -> RoundingMode:
        """How sums are rounded to the integers: once, to the next, as the text has it but for halves."""
        return RoundingMode.SINGLE_ROUND

    @property
    def type(self) -> str:
        """What callers call the type."""
        return "uint8" if self.offset else self.dtype.name.lower()

    @property
    def scale(self) -> float:
        """The only scale."""
        if len(self.scales) != 1:
            raise Refused(f"it is quantised with {len(self.scales)} scales, but only weights have several")
        return self.scales[0]

    @property
    def zero_point(self) -> int:
        """The only zero point."""
        if len(self.zero_points) != 1:
            raise Refused("it is quantised with several zero points, and TOSA's tensors have one")
        (zero,) = self.zero_points
        if not self.dtype.minimum <= zero <= self.dtype.maximum:
            raise Refused(f"its zero point is {zero + self.offset}, which is none of its integers")
        return zero

    def integers(self, reals: Array) -> Array:
        """The integers next to real numbers, those farther from zero of two."""
        places: Array = np.asarray(reals / self._along(self.scales, reals.ndim))
        np.add(places, np.copysign(0.5, places), out=places)
        np.trunc(places, out=places)
        np.add(places, self._along(self.zero_points, reals.ndim), out=places)
        np.clip(places, *self.bounds, out=places)
        return places.astype(self.dtype.storage)

    def stored(self, name: str, numbers: Array) -> Array:
        """Integers of a file, as those of a graph."""
        least, most = (end + self.offset for end in self.bounds)
        if numbers.size and not (least <= numbers.min() and numbers.max() <= most):
            raise FileError(
                f"{name} holds {numbers.min()} to {numbers.max()}, but is quantised to {least} to {most}"
            )
        moved = numbers if not self.offset else numbers.astype(np.int32) - self.offset
        found: Array = moved.astype(self.dtype.storage, copy=False)
        return found

    def reals(self, stored: Array) -> Array:
        """The real numbers that integers of a file stand for."""
        return self.unmoved(stored.astype(np.int64) - self.offset)

    def unmoved(self, integers: Array) -> Array:
        """The real numbers that integers of a graph stand for."""
        found: Array = integers.astype(np.float64) - self._along(self.zero_points, integers.ndim)
        return found * self._along(self.scales, integers.ndim)

    def holds(self, reals: Array) -> bool:
        """Whether real numbers are among those that the integers stand for."""
        return bool(np.allclose(self.unmoved(self.integers(reals)), reals, rtol=1e-6, atol=0))

    def along(self, axis: int) -> Array:
        """The scales of weights along a dimension."""
        if len(self.scales) > 1 and self.axis != axis:
            raise Refused(f"its scales are along dimension {self.axis}, but those of results along {axis}")
        return np.array(self.scales, np.float64)

    def whole(self, integer: int) -> Array:
        """One integer, in storage."""
        return np.array([integer], self.dtype.storage)

    def over(self, factor: float) -> Form:
        """The form of numbers that become those of this one when they are multiplied."""
        return replace(self, scales=tuple(one / factor for one in self.scales))

    def _along(self, numbers: tuple[float, ...], rank: int) -> Array:
        shape = [1] * rank
        if len(numbers) > 1:
            shape[self.axis] = len(numbers)
        return np.array(numbers, np.float64).reshape(shape)


def usable(form: Form) -> Form:
    """A form of tensors that are computed: one scale and one zero point that TOSA has."""
    dtype, zero = form.dtype, form.zero_point
    if form.scale and dtype is INT32:
        raise Refused("it is quantised to more than 16 bits, which only biases may have")
    if dtype is INT16 and zero:
        raise Refused(f"it is quantised to 16 bits with the zero point {zero}, and TOSA's have none")
    return form


def form_of(operation: Operation) -> Form:
    """The integers of a quantiser, also of one around which others are composed."""
    quantiser = _innermost(operation)
    if quantiser is None:
        raise Refused(f"{operation.name} is no linear quantisation, and tells no scale")
    symbols = quantiser.symbols
    bits, signed = symbols["bits"], bool(symbols["signed"])
    assert isinstance(bits, int)
    if bits > (32 if signed else 31):
        raise Refused(f"it is quantised to {bits} bits, and TOSA's integers have up to 32")
    most = 2 ** (bits - 1) - 1 if signed else 2**bits - 1
    least = 0 if not signed else -most if symbols["symmetric"] else -most - 1
    offset = 128 if least == 0 and most == 255 else 0
    scales, points, shift = _linear(symbols) if quantiser.name == _LINEAR else _ranged(symbols, least, most)
    if not all(_SMALLEST <= one <= 1 / _SMALLEST for one in scales):
        raise Refused("its scale is no number that TOSA can scale by")
    (tensor,) = tensors_of(next(iter(quantiser.inputs.values())))
    axis = symbols["channel_axis"]
    assert isinstance(axis, int)
    return Form(
        scales, tuple(one - offset for one in points), (least - offset, most - offset),
        axis % tensor.rank if tensor.rank else 0, offset, shift,
    )  # fmt: skip


def _innermost(operation: Operation) -> Operation | None:
    """The standard quantiser that an operation is, or that is all of its body."""
    while not (operation.definition.standard and operation.name in QUANTISERS):
        if operation.body is None or len(operation.body.steps) != 1:
            return None
        (step,) = operation.body.steps
        if not isinstance(step, Operation):
            return None
        given, inner = (tensors_of(next(iter(one.inputs.values()), None)) for one in (operation, step))
        results = [one for argument in operation.body.results for one in tensors_of(argument)]
        made = [one for argument in step.outputs.values() for one in tensors_of(argument)]
        if given != inner or results != made:
            return None
        operation = step
    return operation


def _linear(symbols: Mapping[str, Value]) -> tuple[tuple[float, ...], tuple[int, ...], float]:
    scales, points = _numbers(symbols["scale"]), _numbers(symbols["zero_point"])
    return _once(scales), _once(tuple(int(one) for one in points)), 0.0


def _ranged(
    symbols: Mapping[str, Value], least: int, most: int
) -> tuple[tuple[float, ...], tuple[int, ...], float]:
    """The scales and zero points of ranges, and how far those were moved at most."""
    low, high = (np.array(_numbers(symbols[one]), np.float64) for one in ("min", "max"))
    if np.any(low >= high) or np.any(low > 0) or np.any(high < 0):
        raise Refused("0 is not within its range, and integers that are added up need one for it")
    scales = (high - low) / (most - least)
    exact = least - low / scales
    points = np.floor(exact + 0.5)
    shift = float(np.max(np.abs(exact - points)))
    found = tuple(int(one) for one in np.broadcast_to(points, np.broadcast_shapes(low.shape, high.shape)))
    return _once(tuple(scales.tolist())), _once(found), shift if shift > _ON_STEP else 0.0


def _numbers(value: Value) -> tuple[float, ...]:
    items = value if isinstance(value, tuple) else (value,)
    return tuple(one for one in items if isinstance(one, int | float))


def _once(numbers: tuple[Number, ...]) -> tuple[Number, ...]:
    """One number where all are the same."""
    return numbers[:1] if len(set(numbers)) == 1 else numbers
