"""Recognising groups that find the greatest of each window, as MAX_POOL2D does: one kernel finds all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf, isnan, prod

import numpy as np

from tiling.expr import BYTES, Expr, acc
from tiling.nest import Access, Affine, Nest
from tiling.records import dataclass
from tosajit.arrays import Array
from tosajit.host.unrolled import MOST
from tosajit.kernels.contract.source import window_source
from tosajit.kernels.contract.windows import Along, Axis, Window
from tosajit.kernels.layout import Layout
from tosajit.kernels.link import Unit, Word
from tosajit.kernels.sets.description import InstructionSet

LEAST = {"i8": -(1 << 7), "i16": -(1 << 15), "f32": -inf}
"""What is less than no element, by the types that there are kernels for."""


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


@dataclass(frozen=True, slots=True)
class Loop:
    """Over neighbours along an axis of results, or once where none of them moves the window; and its taps."""

    axis: int | None
    taps: Taps = Taps()


def windows(group: Nest, constants: Mapping[str, Array], isa: InstructionSet) -> Unit | None:
    """The unit for a group that finds the greatest of windows, if neighbours have windows alike."""
    number = _greatest_of(group)
    if number is None:
        return None
    source, (write,) = group.reads[number], group.writes
    fill = _fill(group, source, constants)
    steps = source.steps(len(group.axes)), write.access.steps(len(group.axes))
    runs = [axis for axis in range(group.outer) if steps[0][axis] == steps[1][axis] == 1]
    tapped = _tapped(group, source, runs[-1]) if runs else None
    if fill is None or not tapped or _is_better_as_map(tapped):
        return None
    moved = {runs[-1], *(loop.axis for loop in tapped)}
    loops = [*(Loop(axis) for axis in range(group.outer) if axis not in moved), *tapped]
    if len(loops) > len(Axis) or not all(loop.taps.meet(_results(group, loop)) for loop in loops):
        return None
    return _unit(group, number, steps, loops, runs[-1], fill, isa)


def _greatest_of(group: Nest) -> int | None:
    """The read of a group that finds its greatest elements and does nothing else."""
    reduction = group.reduction
    if reduction is None or reduction.op != "max" or len(group.writes) != 1 or reduction.value.op != "read":
        return None
    number, (write,) = reduction.value.number, group.writes
    source, type = group.reads[number], group.reads[number].type
    if type not in LEAST or write.access.type != type or source.indirect or group.scatters:
        return None
    same = write.value == acc(type) and reduction.initial == LEAST[type]
    return number if same else None


def _fill(group: Nest, source: Access, constants: Mapping[str, Array]) -> float | None:
    """What is outside of the source, if that is known; what is less than no element if there is nothing."""
    fill = source.fill
    if fill is None:
        return LEAST[source.type]
    value = _known(group, fill, constants)
    return None if value is None or isnan(value) else value


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


def _results(group: Nest, loop: Loop) -> int:
    return 1 if loop.axis is None else group.axes[loop.axis].extent


def _tapped(group: Nest, source: Access, run: int) -> list[Loop] | None:
    """Loops over windows along axes that have some, at most two; None if they are of another form."""
    found, reached = list[Loop](), list[int]()
    for index, extent, stride in zip(source.index, source.shape, source.strides, strict=True):
        assert isinstance(index, Affine)
        reached += (axis for axis in range(group.outer, len(group.axes)) if index.coefficients[axis])
        loops = _along(group, index, extent, stride, run)
        if loops is None:
            return None
        found += loops
    axes = [loop.axis for loop in found if loop.axis is not None]
    once = sorted(reached) == [*range(group.outer, len(group.axes))] and len(set(axes)) == len(axes)
    return found if once and run not in axes and len(found) <= 2 else None


def _is_better_as_map(tapped: Sequence[Loop]) -> bool:
    """Whether all is one window of few points for each row of neighbours, which may be short."""
    return all(loop.axis is None for loop in tapped) and prod(loop.taps.count for loop in tapped) <= MOST


def _along(group: Nest, index: Affine, extent: int, stride: int, run: int) -> list[Loop] | None:
    """The loops over windows along a dimension of the source."""
    axes = [axis for axis, coefficient in enumerate(index.coefficients) if coefficient]
    reduced = [axis for axis in axes if axis >= group.outer]
    steps = [index.coefficients[axis] for axis in axes]
    if len(axes) == 2 and len(reduced) == 1 and steps[1] == 1 <= steps[0] and axes[0] != run:
        taps = Taps(group.axes[reduced[0]].extent, stride, index.offset, steps[0], extent)
        return [Loop(axes[0], taps)]
    first, last = index.span((0,) * len(group.axes), group.extents)
    if first < 0 or last >= extent:
        return None
    loops = []
    for axis in reduced:
        count, tap = group.axes[axis].extent, index.coefficients[axis]
        moving = [one for one in axes if one not in (run, *reduced) and index.coefficients[one] % tap == 0]
        loops.append(Loop(moving[-1] if moving else None, Taps(count, tap * stride, extent=count)))
    return loops


def _unit(
    group: Nest,
    number: int,
    steps: tuple[Sequence[int], Sequence[int]],
    loops: Sequence[Loop],
    run: int,
    fill: float,
    isa: InstructionSet,
) -> Unit:
    """The words for loops in this order, those with windows last, and for rows of neighbours."""
    type = group.reads[number].type
    size, layout = BYTES[type], Layout(len(group.axes), len(group.accesses))
    words = [0] * (Axis.COLUMNS + len(Along))
    words[Window.LEAST], words[Window.FILL] = (_bits(value, type) for value in (LEAST[type], fill))
    derived = [
        Word(slot, 0, ((layout.base + access, 1), (layout.first + run, size)))
        for slot, access in ((Window.SOURCE, number), (Window.TARGET, len(group.reads)))
    ]
    derived.append(Word(Window.SIZE, 0, ((layout.end + run, size), (layout.first + run, -size))))
    for slot in Axis:  # loops that there are not go round once
        words[slot + Along.HIGH] = words[slot + Along.TAPS] = words[slot + Along.EXTENT] = 1
        words[slot + Along.INNER_END] = 1
    for slot, loop in zip([*Axis][-len(loops) :], loops, strict=True):
        taps, axis = loop.taps, loop.axis
        words[slot + Along.TAPS], words[slot + Along.TAP_STEP] = taps.count, size * taps.step
        words[slot + Along.FIRST], words[slot + Along.STRIDE] = taps.first, taps.stride
        words[slot + Along.EXTENT] = taps.extent
        words[slot + Along.INNER_END] = _results(group, loop)
        if taps.stride:
            words[slot + Along.INNER_END] = (taps.extent - taps.first - taps.count) // taps.stride + 1
        if axis is not None:
            words[slot + Along.SOURCE_STEP], words[slot + Along.TARGET_STEP] = (size * s[axis] for s in steps)
            derived.append(Word(slot + Along.LOW, 0, ((layout.first + axis, 1),)))
            derived.append(Word(slot + Along.HIGH, 0, ((layout.end + axis, 1),)))
    text = window_source(isa, type)
    return Unit("greatest", text, {}, tuple(words), tuple(derived), 0)


def _bits(value: float, type: str) -> int:
    """The bits of an element."""
    return int(np.float32(value).view(np.int32)) if type == "f32" else int(value)
