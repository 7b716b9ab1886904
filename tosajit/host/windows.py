"""Recognising groups that make something of windows, such as MAX_POOL2D: one kernel for all of a kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from tiling.expr import BYTES
from tiling.nest import Access, Affine, Nest
from tosajit.arrays import Array
from tosajit.host.unrolled import MOST
from tosajit.host.window_work import Loop, Taps, Work, greatest_of, mean_of
from tosajit.kernels.contract.source import window_source
from tosajit.kernels.contract.windows import Along, Axis, Window
from tosajit.kernels.layout import Layout
from tosajit.kernels.link import Unit, Word
from tosajit.kernels.sets.description import InstructionSet


def windows(group: Nest, constants: Mapping[str, Array], isa: InstructionSet) -> Unit | None:
    """The unit for a group that makes something of windows, if neighbours have windows alike."""
    work = greatest_of(group, constants) or mean_of(group, constants)
    if work is None or group.reads[work.read].indirect or group.scatters:
        return None
    source, (write,) = group.reads[work.read], group.writes
    steps = source.steps(len(group.axes)), write.access.steps(len(group.axes))
    runs = [axis for axis in range(group.outer) if steps[0][axis] == steps[1][axis] == 1]
    tapped = _tapped(group, source, runs[-1]) if runs else None
    if not tapped or _is_better_as_map(tapped):
        return None
    moved = {runs[-1], *(loop.axis for loop in tapped)}
    loops = [*(Loop(axis) for axis in range(group.outer) if axis not in moved), *tapped]
    if len(loops) > len(Axis) or not all(loop.taps.meet(loop.results(group)) for loop in loops):
        return None
    numbers = work.numbers(group, loops)
    return None if numbers is None else _unit(group, work, numbers, steps, loops, runs[-1], isa)


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
    work: Work,
    numbers: Mapping[Window, int],
    steps: tuple[Sequence[int], Sequence[int]],
    loops: Sequence[Loop],
    run: int,
    isa: InstructionSet,
) -> Unit:
    """The words for loops in this order, those with windows last, and for rows of neighbours."""
    type = group.reads[work.read].type
    size, layout = BYTES[type], Layout(len(group.axes), len(group.accesses))
    words = [0] * (Axis.COLUMNS + len(Along))
    for place, number in numbers.items():
        words[place] = number
    derived = [
        Word(slot, 0, ((layout.base + access, 1), (layout.first + run, size)))
        for slot, access in ((Window.SOURCE, work.read), (Window.TARGET, len(group.reads)))
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
        words[slot + Along.INNER_END] = loop.results(group)
        if taps.stride:
            words[slot + Along.INNER_END] = (taps.extent - taps.first - taps.count) // taps.stride + 1
        if axis is not None:
            words[slot + Along.SOURCE_STEP], words[slot + Along.TARGET_STEP] = (size * s[axis] for s in steps)
            derived.append(Word(slot + Along.LOW, 0, ((layout.first + axis, 1),)))
            derived.append(Word(slot + Along.HIGH, 0, ((layout.end + axis, 1),)))
    text = window_source(isa, type, work.name == "mean")
    return Unit(work.name, text, {}, tuple(words), tuple(derived), 0)
