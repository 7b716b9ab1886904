"""Recognising groups that find the greatest of each window, as MAX_POOL2D does: one kernel finds all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf

from tiling.expr import BYTES, acc, const, read
from tiling.nest import Affine, Nest
from tiling.records import dataclass
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


def windows(group: Nest, isa: InstructionSet) -> Unit | None:
    """The unit for a group that finds the greatest of windows, if neighbours have windows alike."""
    if not _is_greatest(group):
        return None
    (source,), (write,), taps = group.reads, group.writes, _taps(group)
    steps = source.steps(len(group.axes)), write.access.steps(len(group.axes))
    kept = [axis for axis in range(group.outer) if axis not in (taps or {})]
    runs = [axis for axis in kept if steps[0][axis] == steps[1][axis] == 1]
    if not taps or not runs:
        return None
    order = [*(axis for axis in kept if axis != runs[-1]), *taps]
    if len(order) > len(Axis) or not all(found.meet(group.axes[axis].extent) for axis, found in taps.items()):
        return None
    return _unit(group, steps, taps, order, runs[-1], isa)


def _is_greatest(group: Nest) -> bool:
    """Whether a group finds greatest elements of its operand and does nothing else."""
    reduction = group.reduction
    if reduction is None or reduction.op != "max" or len(group.reads) != 1 or len(group.writes) != 1:
        return False
    (source,), (write,), type = group.reads, group.writes, group.reads[0].type
    if type not in LEAST or write.access.type != type or source.indirect or group.scatters:
        return False
    same = reduction.value == read(0, type) and write.value == acc(type)
    return same and reduction.initial == LEAST[type] and source.fill in (None, const(LEAST[type], type))


def _taps(group: Nest) -> Mapping[int, Taps] | None:
    """The windows along axes that have some, at most two; None if they are of another form."""
    (source,), outer, found = group.reads, group.outer, dict[int, Taps]()
    low = (0,) * len(group.axes)
    for index, extent, stride in zip(source.index, source.shape, source.strides, strict=True):
        assert isinstance(index, Affine)
        axes = [axis for axis, coefficient in enumerate(index.coefficients) if coefficient]
        reduced = [axis for axis in axes if axis >= outer]
        if not reduced:
            first, last = index.span(low, group.extents)
            if first < 0 or last >= extent:
                return None
            continue
        if len(axes) != 2 or len(reduced) != 1 or index.coefficients[reduced[0]] != 1 or axes[0] in found:
            return None
        step = index.coefficients[axes[0]]
        if step < 1:
            return None
        found[axes[0]] = Taps(group.axes[reduced[0]].extent, stride, index.offset, step, extent)
    return found if len(found) == len(group.axes) - outer <= 2 else None


def _unit(
    group: Nest,
    steps: tuple[Sequence[int], Sequence[int]],
    taps: Mapping[int, Taps],
    order: Sequence[int],
    run: int,
    isa: InstructionSet,
) -> Unit:
    """The words for axes in this order, those with windows last, and for rows of neighbours."""
    size, layout = BYTES[group.reads[0].type], Layout(len(group.axes), len(group.accesses))
    words = [0] * (Axis.COLUMNS + len(Along))
    derived = [
        Word(slot, 0, ((layout.base + number, 1), (layout.first + run, size)))
        for number, slot in enumerate((Window.SOURCE, Window.TARGET))
    ]
    derived.append(Word(Window.SIZE, 0, ((layout.end + run, size), (layout.first + run, -size))))
    for slot in Axis:  # loops that there are not go round once
        words[slot + Along.HIGH] = words[slot + Along.TAPS] = words[slot + Along.EXTENT] = 1
        words[slot + Along.INNER_END] = 1
    for slot, axis in zip([*Axis][-len(order) :], order, strict=True):
        known = taps.get(axis, Taps())
        words[slot + Along.SOURCE_STEP], words[slot + Along.TARGET_STEP] = (size * one[axis] for one in steps)
        words[slot + Along.TAPS], words[slot + Along.TAP_STEP] = known.count, size * known.step
        words[slot + Along.FIRST], words[slot + Along.STRIDE] = known.first, known.stride
        words[slot + Along.EXTENT] = known.extent
        words[slot + Along.INNER_END] = group.axes[axis].extent
        if axis in taps:
            words[slot + Along.INNER_END] = (known.extent - known.first - known.count) // known.stride + 1
        derived.append(Word(slot + Along.LOW, 0, ((layout.first + axis, 1),)))
        derived.append(Word(slot + Along.HIGH, 0, ((layout.end + axis, 1),)))
    text = window_source(isa, group.reads[0].type)
    return Unit("greatest", text, {}, tuple(words), tuple(derived), 0)
