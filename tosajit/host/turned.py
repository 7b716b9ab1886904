"""Results that lie across what they are made of: computed in rows, and then transposed in squares.

Fusion has transposes go into the nests beside them. Where neighbours of a result then are far apart in what
is read, nothing can be done by vectors. Where only the loops stand in another order, they are exchanged.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tiling.expr import BYTES, read, walk
from tiling.nest import Access, Affine, Axis, Indirect, Nest, Write, along, identity, with_axes
from tiling.normal import normalise
from tiling.records import replace
from tosajit.kernels.contract.spec import side_of
from tosajit.kernels.sets.description import InstructionSet

NEAR = 4
"""Elements between neighbours that vectors are still loaded with."""
WORD = 4
"""Bytes of the widest elements that are transposed in squares."""

SCALARS = 4
"""How many scalars are worth rows of their own where there are too few columns for squares."""


def turned(nest: Nest, isa: InstructionSet | None, number: int) -> tuple[list[Nest], dict[str, Access]]:
    """The nests that compute the same by rows, and the results that only these know."""
    columns = _dense(nest, [write.access for write in nest.writes])
    if isa is None or nest.verb not in ("map", "reduce") or nest.scatters or len(columns) != 1:
        return [nest], {}
    (column,) = columns
    far = [access for access in nest.reads if _is_far(nest, access, column)]
    if not far and (found := _with_rows(nest, column, isa, number)) is not None:
        (before, changed), operands = found
        nests, others = turned(changed, isa, number)
        return [before, *nests], operands | others
    if not far:
        return [nest if column == nest.outer - 1 else ending_in(nest, column)], {}
    rows = [row for row in _dense(nest, far) if all(_near(nest, access, row) for access in nest.reads)]
    sizes = {BYTES[write.access.type] for write in nest.writes}
    if len(rows) != 1 or rows == columns or max(sizes) > WORD:
        return [nest], {}
    side = max(side_of(isa, size) for size in sizes)
    least = 1 if _scalars(nest) >= SCALARS else side
    if nest.axes[rows[0]].extent < side or nest.axes[column].extent < least:
        return [nest], {}
    return _apart(ending_in(nest, rows[0]), number)


def _with_rows(
    nest: Nest, column: int, isa: InstructionSet, number: int
) -> tuple[list[Nest], dict[str, Access]] | None:
    """For a reduction that picks from its operand in steps: this with another last axis, and that nest."""
    steps = [access.steps(len(nest.axes)) for access in nest.reads]
    if nest.verb != "reduce" or len(steps) != 1 or steps[0][column] < 2 or 1 in steps[0][: nest.outer]:
        return None
    (access,) = nest.reads
    size = BYTES[access.type]
    places = [place for place, index in enumerate(access.index) if _follows(index, nest, column)]
    if not places or size > WORD or nest.points < prod(access.shape):
        return None
    place = places[0]
    if access.shape[place] < side_of(isa, size):
        return None
    order = [*(other for other in range(len(access.shape)) if other != place), place]
    shape, count = tuple(access.shape[other] for other in order), len(access.shape)
    whole = tuple(along(order.index(other), count) for other in range(count))
    name = f"{access.operand}.{number}.turned"
    target = Access(name, access.type, shape, identity(count))
    source = replace(access, index=whole, fill=None)
    axes = tuple(Axis(f"i{other}", access.shape[other]) for other in order)
    move = Nest("move", axes, (source,), (Write(target, read(0, access.type)),), members=nest.members[:1])
    turned_read = replace(
        access, operand=name, shape=shape, index=tuple(access.index[other] for other in order)
    )
    return [normalise(move), replace(nest, reads=(turned_read,))], {name: target}


def _scalars(nest: Nest) -> int:
    """How many scalars a point of a nest takes."""
    return sum(not node.is_leaf for node in walk(*(write.value for write in nest.writes)))


def _follows(index: Affine | Indirect, nest: Nest, column: int) -> bool:
    """Whether an index is a kept axis, but for the one of the columns."""
    count = len(nest.axes)
    return any(index == along(axis, count) for axis in range(nest.outer) if axis != column)


def _dense(nest: Nest, accesses: Sequence[Access]) -> list[int]:
    """The kept axes along which all of some accesses meet neighbours."""
    steps = [access.steps(len(nest.axes)) for access in accesses]
    return [axis for axis in range(nest.outer) if all(one[axis] == 1 for one in steps)]


def _is_far(nest: Nest, access: Access, axis: int) -> bool:
    """Whether neighbours along an axis are apart in an operand, or somewhere in one that is no mere table."""
    return (access.indirect and any(access.steps(len(nest.axes)))) or not _near(nest, access, axis)


def _near(nest: Nest, access: Access, axis: int) -> bool:
    """Whether neighbours along an axis are near each other in an operand."""
    return abs(access.steps(len(nest.axes))[axis]) <= NEAR


def ending_in(nest: Nest, last: int) -> Nest:
    """The nest with an axis as the last one that is kept."""
    order = [axis for axis in range(nest.outer) if axis != last] + [last]
    order += range(nest.outer, len(nest.axes))
    old = [along(order.index(axis), len(order)) for axis in range(len(order))]
    return with_axes(nest, tuple(nest.axes[axis] for axis in order), old)


def _apart(nest: Nest, number: int) -> tuple[list[Nest], dict[str, Access]]:
    """The nest with its results in the order of its axes, and the nests that put these in their places."""
    size, writes, moves, rows = nest.outer, [], [], {}
    first, last = (nest.members[:-1], nest.members[-1:]) if len(nest.members) > 1 else (nest.members,) * 2
    shape = nest.extents[:size]
    for write in nest.writes:
        access = write.access
        target = Access(
            f"{access.operand}.{number}.rows", access.type, shape, identity(size, 0, len(nest.axes))
        )
        rows[target.operand] = Access(target.operand, access.type, shape, identity(size))
        writes.append(Write(target, write.value))
        index = [Affine(i.coefficients[:size], i.offset) for i in access.index if isinstance(i, Affine)]
        place = Write(replace(access, index=tuple(index)), read(0, access.type))
        moves.append(Nest("move", nest.axes[:size], (rows[target.operand],), (place,), members=last))
    by_rows = replace(nest, writes=tuple(writes), members=first)
    return [normalise(by_rows) if nest.verb == "map" else by_rows, *map(normalise, moves)], rows
