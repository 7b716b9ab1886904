"""What groups make of windows: their greatest elements, or their means, and the numbers of that."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from math import inf, isnan, prod
from typing import ClassVar

import numpy as np

from tiling.expr import Expr, acc, call, const
from tiling.nest import Access, Nest
from tiling.records import dataclass
from tosajit.arrays import Array
from tosajit.host.unrolled import MOST
from tosajit.kernels.contract.windows import Window

LEAST = {"i8": -(1 << 7), "i16": -(1 << 15), "f32": -inf}
"""What is less than no element, by the types that there are kernels for."""
MOST_TAPS = {"i8": 255, "i16": 64, "f32": 1 << 20}
"""Of means: so that sums fit, and that the nearest integer to float32 is the specification's."""


@dataclass(frozen=True, slots=True)
class Taps:
    """How windows lie along an axis of results: a tap each for some neighbours in the source."""

    count: int = 1
    step: int = 0
    """Elements of memory between neighbours."""
    first: int = 0
    """Where the first tap of the first result is; it may be before the source."""
    stride: int = 0
    extent: int = 1
    """Of the source."""

    def meet(self, results: int) -> bool:
        """Whether each of so many windows has a tap inside of the source."""
        return self.first + self.count > 0 and (results - 1) * self.stride + self.first < self.extent

    def inside(self, results: int) -> Array:
        """How many taps of each window are inside of the source."""
        places = np.arange(results) * self.stride + self.first
        return np.minimum(self.count, self.extent - places) - np.maximum(0, -places)


@dataclass(frozen=True, slots=True)
class Loop:
    """Over neighbours along an axis of results, or once where none of them moves the window; and its taps."""

    axis: int | None
    taps: Taps = Taps()

    def results(self, group: Nest) -> int:
        """How many there are along it."""
        return 1 if self.axis is None else group.axes[self.axis].extent


@dataclass(frozen=True, slots=True)
class Work(ABC):
    """What is made of windows."""

    name: ClassVar[str]
    read: int
    """The elements."""

    @abstractmethod
    def numbers(self, group: Nest, loops: Sequence[Loop]) -> Mapping[Window, int] | None:
        """The kernel's numbers, where windows lie so; None if it cannot do that."""


@dataclass(frozen=True, slots=True)
class Greatest(Work):
    """The greatest elements."""

    name: ClassVar[str] = "greatest"
    fill: float
    """What is outside of the source."""

    def numbers(self, group: Nest, loops: Sequence[Loop]) -> Mapping[Window, int]:
        """What there is before any tap, and outside."""
        type = group.reads[self.read].type
        return {Window.LEAST: _bits(LEAST[type], type), Window.FILL: _bits(self.fill, type)}


@dataclass(frozen=True, slots=True)
class Mean(Work):
    """Sums, divided by the product of some constants."""

    name: ClassVar[str] = "mean"
    counts: Mapping[int | None, Array]
    """The factors of what is divided by, along axes of results, and those alike for all."""
    input_zp: int = 0
    output_zp: int = 0

    def numbers(self, group: Nest, loops: Sequence[Loop]) -> Mapping[Window, int] | None:
        """The divisor, if it is a number or how many taps are inside, and both zero points."""
        taps = prod(loop.taps.count for loop in loops)
        axes = [loop.axis for loop in loops if loop.axis is not None]
        type = group.reads[self.read].type
        if type == "f32" and taps <= MOST:
            return None  # maps do them in as much time or less
        if taps > MOST_TAPS[type] or not {*self.counts} <= {None, *axes}:
            return None
        inside: dict[int | None, Array] = {}
        for loop in loops:
            inside[loop.axis] = inside.get(loop.axis, 1) * loop.taps.inside(loop.results(group))
        divisors, points = (_product(factors, axes) for factors in (self.counts, inside))
        divisor = int(divisors.flat[0])
        if bool((divisors == points).all()):
            divisor = 0
        elif not bool((divisors == divisor).all()) or divisor < taps:
            return None
        return {Window.DIVISOR: divisor, Window.INPUT_ZP: self.input_zp, Window.OUTPUT_ZP: self.output_zp}


def greatest_of(group: Nest, constants: Mapping[str, Array]) -> Greatest | None:
    """The work of a group that finds greatest elements and does nothing else."""
    reduction = group.reduction
    if reduction is None or reduction.op != "max" or len(group.writes) != 1 or reduction.value.op != "read":
        return None
    number, (write,) = reduction.value.number, group.writes
    source, type = group.reads[number], group.reads[number].type
    if type not in LEAST or write.value != acc(type) or reduction.initial != LEAST[type]:
        return None
    fill = LEAST[type] if source.fill is None else _known(group, source.fill, constants)
    return None if fill is None or isnan(fill) else Greatest(number, fill)


def mean_of(group: Nest, constants: Mapping[str, Array]) -> Mean | None:
    """The work of a group that finds means as AVG_POOL2D does."""
    reduction = group.reduction
    if reduction is None or reduction.op != "add" or group.verb != "reduce" or len(group.writes) != 1:
        return None
    element, zero = _term(reduction.value)
    input_zp = 0.0 if zero is None else _known(group, zero, constants)
    type = element.type
    if element.op != "read" or type not in MOST_TAPS or reduction.initial != 0 or input_zp is None:
        return None
    fill = group.reads[element.number].fill
    if fill is not None and _known(group, fill, constants) != input_zp:
        return None
    found = _quotient(group.writes[0].value, type)
    output_zp = None if found is None else _known(group, found[1], constants)
    counts = None if found is None else _factors(group, found[0], constants)
    if counts is None or output_zp is None:
        return None
    return Mean(element.number, counts, int(input_zp), int(output_zp))


def _term(value: Expr) -> tuple[Expr, Expr | None]:
    """The element that is added, and its zero point if it has one."""
    if value.op == "sub_i32":
        return value.operands[0], value.operands[1]
    return (value.operands[0] if value.op == "to_i32" else value), None


def _quotient(value: Expr, type: str) -> tuple[Expr, Expr] | None:
    """What sums are divided by, as the specification does it, and what is added to the result."""
    if type == "f32":
        divided = value.op == "div_f32" and value.operands[0] == acc("f32")
        return (value.operands[1], const(0, "i32")) if divided else None
    inner = value.operands[0] if value.op == f"saturate_{type}" else value
    if inner.op != "rescale_32" or inner.operands[2].op != "reciprocal_multiplier":
        return None
    (count,), zero_point = inner.operands[2].operands, inner.operands[4]
    factor = (call(f"reciprocal_{part}", count, type="i32") for part in ("multiplier", "shift"))
    mean = call("rescale_32", acc("i32"), const(0, "i32"), *factor, zero_point, type="i32")
    return (count, zero_point) if value == call(f"saturate_{type}", mean, type=type) else None


def _factors(group: Nest, value: Expr, constants: Mapping[str, Array]) -> Mapping[int | None, Array] | None:
    """The factors of a product of constants, each of which moves along one axis or none."""
    found: dict[int | None, Array] = {}
    for factor in value.operands if value.scalar.base == "mul" else (value,):
        access = group.reads[factor.number] if factor.op == "read" else None
        if access is None or access.operand not in constants or access.fill is not None or access.indirect:
            return None
        axis, values = _along(group, access, constants[access.operand])
        if values is None:
            return None
        found[axis] = found.get(axis, 1) * values
    return found


def _along(group: Nest, access: Access, values: Array) -> tuple[int | None, Array | None]:
    """The axis that a constant moves along, and its values there; none if there are several."""
    steps = access.steps(len(group.axes))
    moving = [axis for axis, step in enumerate(steps) if step]
    if not moving:
        return None, values.reshape(-1)[access.start()]
    (axis, *others) = moving
    places = access.start() + steps[axis] * np.arange(group.axes[axis].extent)
    return axis, None if others or axis >= group.outer else values.reshape(-1)[places]


def _product(factors: Mapping[int | None, Array], axes: Sequence[int]) -> Array:
    """All products of factors along some axes."""
    total = np.ones((1,) * len(axes), np.int64)
    for axis, values in factors.items():
        shape = [values.size if one == axis else 1 for one in axes]
        total = total * np.asarray(values, np.int64).reshape(shape)
    return total


def _known(group: Nest, expr: Expr, constants: Mapping[str, Array]) -> float | None:
    """The number that an expression is, if it is one."""
    if expr.op == "const":
        (value,) = expr.args
        return None if isinstance(value, Expr) else float(value)
    access = group.reads[expr.number] if expr.op == "read" else None
    if access is None or access.fill is not None or access.indirect or any(access.steps(len(group.axes))):
        return None
    values = constants.get(access.operand)
    return None if values is None else float(values.reshape(-1)[access.start()])


def _bits(value: float, type: str) -> int:
    """The bits of an element."""
    return int(np.float32(value).view(np.int32)) if type == "f32" else int(value)
