"""The normal form of a nest: no unit axes, no unused reads, neighbouring axes merged where all agree."""

from __future__ import annotations

from collections.abc import Sequence

from tiling.expr import Expr, axis, read
from tiling.nest import (
    Access,
    Affine,
    Axis,
    Indirect,
    Nest,
    Write,
    along,
    fixed,
    map_accesses,
    nest_exprs,
    rewrite_access,
    rewrite_nest,
    rewrite_reduction,
    rewrite_write,
    used_reads,
    with_axes,
)
from tiling.records import replace


def normalise(nest: Nest) -> Nest:
    """The same computation with as few axes and reads as it needs."""
    nest = drop_unit_axes(share_reads(nest))
    nest = map_accesses(nest, drop_unit_dimensions)
    position = 0
    while position + 1 < len(nest.axes):
        merged = merge_axes(nest, position)
        nest, position = (nest, position + 1) if merged is None else (merged, max(position - 1, 0))
    return map_accesses(nest, lambda access: split_dimensions(access, nest))


def share_reads(nest: Nest) -> Nest:
    """The nest without unused reads, equal reads as one."""
    used = used_reads(nest)
    plain = all([access.fill is None and not access.indirect for access in nest.reads])
    if plain and len(used) == len(nest.reads) and _are_distinct(nest.reads):
        return nest
    numbers: dict[int, int] = {}
    kept: list[Access] = []
    known: dict[str, list[int]] = {}  # by operands, which are mostly distinct and compared at once

    def leaf(expr: Expr) -> Expr:
        if expr.op != "read":
            return expr
        number = place(expr.number)
        return expr if number == expr.number else read(number, expr.type)

    def place(number: int) -> int:
        found = numbers.get(number)
        if found is None:
            access = rewrite_access(nest.reads[number], leaf)
            alike = known.setdefault(access.operand, [])
            found = next((place for place in alike if kept[place] == access), len(kept))
            if found == len(kept):
                kept.append(access)
                alike.append(found)
            numbers[number] = found
        return found

    for number in sorted(used):
        place(number)
    writes = tuple([rewrite_write(write, leaf) for write in nest.writes])
    reduction = rewrite_reduction(nest.reduction, leaf)
    return replace(nest, reads=tuple(kept), writes=writes, reduction=reduction)


def _are_distinct(reads: Sequence[Access]) -> bool:
    """Whether no two reads are equal."""
    return len({access.operand for access in reads}) == len(reads) or len({*reads}) == len(reads)


def drop_unit_axes(nest: Nest) -> Nest:
    """The nest without the axes of one step."""
    kept = [number for number, axis in enumerate(nest.axes) if axis.extent != 1]
    if len(kept) == len(nest.axes):
        return nest
    axes = tuple(nest.axes[number] for number in kept)
    old = [Affine(tuple(int(number == k) for k in kept)) for number in range(len(nest.axes))]
    return with_axes(nest, axes, old)


def drop_unit_dimensions(access: Access) -> Access:
    """The access without dimensions of one element that it cannot miss."""
    kept = [d for d, extent in enumerate(access.shape) if extent != 1 or not _constant_zero(access, d)]
    if len(kept) == len(access.shape):
        return access
    return replace(
        access, shape=tuple(access.shape[d] for d in kept), index=tuple(access.index[d] for d in kept)
    )


def _constant_zero(access: Access, dimension: int) -> bool:
    index = access.index[dimension]
    if isinstance(index, Indirect):
        return False
    return index.offset == 0 and not any(index.coefficients)


def split_dimensions(access: Access, nest: Nest, mixed: bool = False) -> Access:
    """The access with a dimension for each of the axes that share one, where they walk blocks of it.

    `mixed`: also where a reduced axis takes the longest steps and others are kept.
    """
    found = [
        _blocks(size, item, nest, mixed) if isinstance(item, Affine) else None
        for size, item in zip(access.shape, access.index, strict=True)
    ]
    if access.fill is not None or not any(found):
        return access
    shape: list[int] = []
    index: list[Affine | Indirect] = []
    for size, item, pieces in zip(access.shape, access.index, found, strict=True):
        shape += [size] if pieces is None else pieces[0]
        index += [item] if pieces is None else pieces[1]
    return Access(access.operand, access.type, tuple(shape), tuple(index))


def _blocks(size: int, item: Affine, nest: Nest, mixed: bool) -> tuple[list[int], list[Affine]] | None:
    """A dimension as blocks of blocks; None if it is walked otherwise, or by kept and reduced axes."""
    if len(item.coefficients) - item.coefficients.count(0) < 2:
        return None
    used = sorted(((c, number) for number, c in enumerate(item.coefficients) if c), reverse=True)
    if used[-1][0] < 0:
        return None
    kinds = {nest.axes[number].reduced for _, number in used}
    if len(kinds) > 1 and not (mixed and nest.axes[used[0][1]].reduced):
        return None
    shape, index, block, rest = [], [], size, item.offset
    for coefficient, number in used:
        count, first = block // coefficient, rest // coefficient
        if block % coefficient or not 0 <= first <= count - nest.axes[number].extent:
            return None
        shape.append(count)
        index.append(along(number, len(nest.axes), offset=first))
        block, rest = coefficient, rest % coefficient
    if block > 1:
        shape.append(block)
        index.append(fixed(rest, len(nest.axes)))
    return shape, index


def merge_axes(nest: Nest, position: int) -> Nest | None:
    """The nest with axes `position` and the next as one, or None if some access needs both."""
    first, second = nest.axes[position], nest.axes[position + 1]
    if first.reduced != second.reduced or _uses_axis(nest, position) or _uses_axis(nest, position + 1):
        return None
    accesses: list[Access] = []
    for access in (*nest.reads, *(write.access for write in nest.writes)):
        merged = _merge_in_access(access, position, second.extent)
        if merged is None:
            return None
        accesses.append(merged)
    merged_axis = Axis(first.name + second.name, first.extent * second.extent, first.reduced)
    count = len(nest.reads)
    merged_nest = replace(
        nest,
        axes=(*nest.axes[:position], merged_axis, *nest.axes[position + 2 :]),
        reads=tuple(accesses[:count]),
        writes=tuple(Write(a, w.value) for a, w in zip(accesses[count:], nest.writes, strict=True)),
    )

    def leaf(expr: Expr) -> Expr:
        return axis(expr.number - 1) if expr.op == "axis" and expr.number > position else expr

    return rewrite_nest(merged_nest, leaf)


def _uses_axis(nest: Nest, position: int) -> bool:
    leaves = (leaf for expr in nest_exprs(nest) for leaf in expr.leaves)
    return any(leaf.op == "axis" and leaf.number == position for leaf in leaves)


def _merge_in_access(access: Access, position: int, extent: int) -> Access | None:
    """The access over merged axes: same dimension, or a full inner dimension joined to its outer one."""
    users = [
        d
        for d, item in enumerate(access.index)
        if isinstance(item, Affine) and any(item.coefficients[position : position + 2])
    ]
    joined = _join_dimensions(access, users, position, extent)
    if joined is None:
        return None
    index = list(joined.index)
    for d, item in enumerate(index):
        if isinstance(item, Affine):
            high, low = item.coefficients[position : position + 2]
            if high != low * extent:
                return None
            rest = (*item.coefficients[:position], low, *item.coefficients[position + 2 :])
            index[d] = Affine(rest, item.offset)
    return replace(joined, index=tuple(index))


def _join_dimensions(access: Access, users: Sequence[int], position: int, extent: int) -> Access | None:
    """The access with its two dimensions that walk the axes as one; None if that is not the same."""
    if len(users) < 2:
        return access
    outer, inner = users[:2]
    a, b = access.index[outer], access.index[inner]
    assert isinstance(a, Affine)
    assert isinstance(b, Affine)
    whole = b == along(position + 1, len(a.coefficients)) and access.shape[inner] == extent
    if len(users) > 2 or inner != outer + 1 or not whole or access.fill is not None:
        return None
    shape = (*access.shape[:outer], access.shape[outer] * extent, *access.shape[inner + 1 :])
    index = (*access.index[:outer], a * extent + b, *access.index[inner + 1 :])
    return replace(access, shape=shape, index=index)
