"""Recognising groups that copy rows of neighbours, for which there is one kernel: its loops are numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tiling.expr import BYTES, reads_of
from tiling.nest import Access, Affine, Indirect, Nest
from tiling.records import dataclass
from tosajit.kernels.contract.moves import Along, Axis, Move
from tosajit.kernels.contract.source import move_source
from tosajit.kernels.layout import Layout
from tosajit.kernels.link import Unit, Word
from tosajit.kernels.sets.description import InstructionSet

FILLED = 4
"""Bytes of the widest elements that are filled."""
MANY = 8
"""Rows that are worth being copied together, wherever others are."""
NEAR_BYTES = 1 << 14
"""Bytes that are written before the next row of a short loop."""
FAR = 1 << 48
"""Further than any coordinate."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Which coordinates along an axis are inside of the source, and the table of their places there."""

    first: int = -FAR
    end: int = FAR
    table: int | None = None
    """The read that has it."""
    step: int = 0
    """Elements between the places, if there is a table."""
    limit: int = 0


def moves(group: Nest, isa: InstructionSet) -> Unit | None:
    """The unit for a group that copies an operand, in rows that are longer than an element."""
    if group.reduction is not None or len(group.writes) != 1 or group.scatters:
        return None
    (write,) = group.writes
    if write.value.op != "read" or group.reads[write.value.number].type != write.access.type:
        return None
    source = group.reads[write.value.number]
    bounds = _bounds(group, source)
    axes = len(group.axes)
    steps = source.steps(axes), write.access.steps(axes)
    runs = [axis for axis in range(axes) if steps[0][axis] == steps[1][axis] == 1]
    if bounds is None or not runs or axes > len(Axis) or (source.fill and BYTES[source.type] > FILLED):
        return None
    run = runs[-1]
    if group.axes[run].extent < 2 or (run in bounds and bounds[run].table is not None):
        return None
    return _unit(group, source, steps, bounds, [*_loops(group, run), run], isa)


def _loops(group: Nest, run: int) -> list[int]:
    """The other axes, rows last: the innermost of many, or the longest."""
    others = [axis for axis in range(len(group.axes)) if axis != run]
    extents = [min(group.axes[axis].extent, MANY) for axis in others]
    if not others:
        return []
    _, rows = max(zip(extents, others, strict=True))
    return [*(axis for axis in others if axis != rows), rows]


def _bounds(group: Nest, source: Access) -> Mapping[int, Bounds] | None:
    """What limits the axes; None if that is not said of each alone."""
    found: dict[int, Bounds] = {}
    used = {axis for axis, step in enumerate(source.steps(len(group.axes))) if step}
    for index, extent, stride in zip(source.index, source.shape, source.strides, strict=True):
        if isinstance(index, Indirect):
            table = _table(group, index)
            if table is None or table[1] in found or table[1] in used:
                return None
            found[table[1]] = Bounds(table=table[0], step=stride, limit=extent - 1)
        elif not _is_inside(index, extent, group):
            axes = [axis for axis, coefficient in enumerate(index.coefficients) if coefficient]
            if len(axes) != 1 or index.coefficients[axes[0]] < 0 or axes[0] in found:
                return None
            step = index.coefficients[axes[0]]
            found[axes[0]] = Bounds(-(index.offset // step), -((index.offset - extent) // step))
    return found if source.fill is None or _fill(group, source) is not None else None


def _is_inside(index: Affine, extent: int, group: Nest) -> bool:
    low, high = index.span((0,) * len(group.axes), group.extents)
    return low >= 0 and high < extent


def _table(group: Nest, index: Indirect) -> tuple[int, int] | None:
    """The read whose elements are the places along an axis, and that axis."""
    if index.value.op != "read":
        return None
    number = index.value.number
    table = group.reads[number]
    steps = table.steps(len(group.axes))
    axes = [axis for axis, step in enumerate(steps) if step]
    if table.type != "i32" or table.indirect or table.fill is not None or len(axes) != 1:
        return None
    return (number, axes[0]) if steps[axes[0]] == 1 else None


def _fill(group: Nest, source: Access) -> int | None:
    """The read of one element that is found outside."""
    fill = source.fill
    if fill is None or fill.op != "read":
        return None
    (number,) = reads_of(fill)
    access = group.reads[number]
    plain = not any(access.steps(len(group.axes))) and not access.indirect and access.fill is None
    return number if plain and access.type == source.type else None


def _unit(
    group: Nest,
    source: Access,
    steps: tuple[Sequence[int], Sequence[int]],
    bounds: Mapping[int, Bounds],
    order: Sequence[int],
    isa: InstructionSet,
) -> Unit:
    """The words for the axes in this order: loops, the last of them over rows, and the run."""
    size, layout = BYTES[source.type], Layout(len(group.axes), len(group.accesses))
    words = [0] * (Axis.RUN + len(Along))
    words[Move.ELEMENT], words[Move.PART] = size, _part(group, order, size)
    for slot in Axis:  # loops that there are not go round once
        words[slot + Along.HIGH], words[slot + Along.FIRST], words[slot + Along.END] = 1, -FAR, FAR
    derived = [Word(slot, 0, ((layout.base + number, 1),)) for slot, number in _bases(group, source)]
    for slot, axis in zip([*Axis][-len(order) :], order, strict=True):
        known = bounds.get(axis, Bounds())
        words[slot + Along.FIRST], words[slot + Along.END] = known.first, known.end
        words[slot + Along.SOURCE_STEP] = size * (steps[0][axis] if known.table is None else known.step)
        words[slot + Along.TARGET_STEP], words[slot + Along.LIMIT] = size * steps[1][axis], known.limit
        derived.append(Word(slot + Along.LOW, 0, ((layout.first + axis, 1),)))
        derived.append(Word(slot + Along.HIGH, 0, ((layout.end + axis, 1),)))
        if known.table is not None:
            derived.append(Word(slot + Along.TABLE, 0, ((layout.base + known.table, 1),)))
    return Unit("move", move_source(isa), {}, tuple(words), tuple(derived), 0)


def _part(group: Nest, order: Sequence[int], size: int) -> int:
    """How many rows are copied before the next of a short loop around them: what is near is done soon."""
    around = group.axes[order[-3]].extent if len(order) > 2 else MANY
    return FAR if around >= MANY else max(MANY, NEAR_BYTES // (group.axes[order[-1]].extent * size * around))


def _bases(group: Nest, source: Access) -> Iterator[tuple[int, int]]:
    """The slots of addresses, and the operands whose they are."""
    yield Move.SOURCE, group.writes[0].value.number
    yield Move.TARGET, len(group.reads)
    if source.fill is not None:
        fill = _fill(group, source)
        assert fill is not None
        yield Move.FILL, fill
