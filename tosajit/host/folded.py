"""Reductions to few neighbours as those to many, and of these: short rows leave most of a register empty.

Where rows lie one behind the other in memory, several of them are a longer one. Integers may be combined in
any order to the same bits; sums of float32 come nearer to the exact ones.
"""

from __future__ import annotations

from math import prod

from tiling.expr import acc, read, reads_of, walk
from tiling.nest import Access, Affine, Axis, Nest, Write, identity
from tiling.normal import normalise
from tiling.records import replace

WIDE = 128
"""Elements of a row from which on it is wide enough, and to which shorter ones are joined."""
WIDE_SUM = 32
"""The same of sums of float32: with fewer, each addition would wait for the one before."""
INTEGERS = frozenset({"i8", "i16", "i32"})
MANY = 8
"""Longer rows that there have to be."""
LEAST = 1 << 14
"""Elements that are worth a nest more."""


def folded(nest: Nest, number: int) -> tuple[list[Nest], dict[str, Access]]:
    """The nests that reduce to longer rows and these to the results, and the rows that only these know."""
    moving = _dense_rows(nest)
    joined = 0 if moving is None else _joined(nest)
    if moving is None or not joined:
        return [nest], {}
    reduction, others, column = nest.reduction, nest.axes[: nest.outer - 1], nest.axes[nest.outer - 1]
    assert reduction is not None
    width, (*_, rows) = joined * column.extent, nest.axes
    access, count = nest.reads[moving], len(nest.axes)
    steps = access.steps(count)
    index = Affine((*steps[: nest.outer - 1], 1, width), access.start())
    source = replace(access, shape=(prod(access.shape),), index=(index,))
    name = f"{nest.writes[0].access.operand}.{number}.wide"
    shape = (*(axis.extent for axis in others), width)
    target = Access(name, reduction.type, shape, identity(nest.outer, 0, count))
    axes = (*others, Axis(column.name, width), Axis(rows.name, rows.extent // joined, True))
    reads = tuple(source if place == moving else one for place, one in enumerate(nest.reads))
    first = replace(
        nest,
        axes=axes,
        reads=reads,
        writes=(Write(target, acc(reduction.type)),),
        members=nest.members[:-1] or nest.members,
    )
    last = Affine((*(0,) * (nest.outer - 1), 1, column.extent), 0)
    found = Access(name, reduction.type, shape, (*identity(nest.outer - 1, 0, count), last))
    second = replace(
        nest,
        axes=(*nest.axes[:-1], Axis(rows.name, joined, True)),
        reads=tuple(found if place == moving else one for place, one in enumerate(nest.reads)),
        reduction=replace(reduction, value=read(moving, reduction.type)),
        members=nest.members[-1:],
    )
    known = Access(name, reduction.type, shape, identity(nest.outer))
    return [normalise(first), normalise(second)], {name: known}


def _dense_rows(nest: Nest) -> int | None:
    """The read of a reduction that walks over rows of all kept neighbours, one behind the other."""
    reduction, column = nest.reduction, nest.outer - 1
    if nest.verb != "reduce" or reduction is None or column < 0 or len(nest.axes) - nest.outer != 1:
        return None
    exact = reduction.op in ("add", "max", "min") and reduction.type in INTEGERS
    free = exact or (reduction.op, reduction.type) == ("add", "f32")
    if not free or any(node.op == "axis" for node in walk(reduction.value)):
        return None
    steps = {number: nest.reads[number].steps(len(nest.axes)) for number in reads_of(reduction.value)}
    moving = [number for number, step in steps.items() if step[column] or step[-1]]
    if len(moving) != 1 or any(nest.reads[number].indirect for number in steps):
        return None
    step, access = steps[moving[0]], nest.reads[moving[0]]
    dense = step[column] == 1 and step[-1] == nest.axes[column].extent and access.fill is None
    return moving[0] if dense else None


def _joined(nest: Nest) -> int:
    """How many rows are joined to one; 0 if that does not pay."""
    width, rows = nest.axes[nest.outer - 1].extent, nest.axes[-1].extent
    assert nest.reduction is not None
    wide = WIDE if nest.reduction.type in INTEGERS else WIDE_SUM
    if width >= wide or nest.points < LEAST:
        return 0
    counts = range(-(-WIDE // width), rows // MANY + 1)
    return next((count for count in counts if rows % count == 0), 0)
