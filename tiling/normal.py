"""The normal form of a nest: no unit axes, no unused reads, neighbouring axes merged where all agree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tiling.expr import Expr, axis, read, rewrite, walk
from tiling.nest import (
    Access,
    Affine,
    Axis,
    Indirect,
    Nest,
    Write,
    access_exprs,
    rewrite_access,
    rewrite_nest,
    used_reads,
    with_axes,
)


def normalise(nest: Nest) -> Nest:
    """The same computation with as few axes and reads as it needs."""
    nest = drop_unit_axes(share_reads(nest))
    nest = map_accesses(nest, drop_unit_dimensions)
    position = 0
    while position + 1 < len(nest.axes):
        merged = merge_axes(nest, position)
        nest, position = (nest, position + 1) if merged is None else (merged, max(position - 1, 0))
    return map_accesses(nest, lambda access: split_dimensions(access, nest))


def map_accesses(nest: Nest, change: Callable[[Access], Access]) -> Nest:
    """The nest with `change` applied to every access."""
    reads = tuple(change(access) for access in nest.reads)
    writes = tuple(Write(change(write.access), write.value) for write in nest.writes)
    return replace(nest, reads=reads, writes=writes)


def share_reads(nest: Nest) -> Nest:
    """The nest without unused reads, equal reads as one."""
    used = used_reads(nest)
    numbers: dict[int, int] = {}
    kept: list[Access] = []
    known: dict[Access, int] = {}

    def leaf(expr: Expr) -> Expr:
        return read(place(int(expr.args[0])), expr.type) if expr.op == "read" else expr  # type: ignore[arg-type]

    def place(number: int) -> int:
        if number not in numbers:
            access = renumber(nest.reads[number])
            if access not in known:
                known[access] = len(kept)
                kept.append(access)
            numbers[number] = known[access]
        return numbers[number]

    def renumber(access: Access) -> Access:
        return rewrite_access(access, leaf)

    for number in sorted(used):
        place(number)
    reduction = nest.reduction
    if reduction is not None:
        reduction = replace(reduction, value=rewrite(reduction.value, leaf))
    writes = tuple(Write(renumber(w.access), rewrite(w.value, leaf)) for w in nest.writes)
    return replace(nest, reads=tuple(kept), writes=writes, reduction=reduction)


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


def split_dimensions(access: Access, nest: Nest) -> Access:
    """The access with a dimension for each of the axes that share one, where they walk blocks of it."""
    if access.fill is not None:
        return access
    shape: list[int] = []
    index: list[Affine | Indirect] = []
    for size, item in zip(access.shape, access.index, strict=True):
        pieces = _blocks(size, item, nest) if isinstance(item, Affine) else None
        shape += [size] if pieces is None else pieces[0]
        index += [item] if pieces is None else pieces[1]
    return replace(access, shape=tuple(shape), index=tuple(index))


def _blocks(size: int, item: Affine, nest: Nest) -> tuple[list[int], list[Affine]] | None:
    """A dimension as blocks of blocks; None if it is walked otherwise, or as by windows: by kept and reduced axes."""
    used = sorted(((c, axis) for axis, c in enumerate(item.coefficients) if c), reverse=True)
    if len(used) < 2 or used[-1][0] < 0 or len({nest.axes[axis].reduced for _, axis in used}) > 1:
        return None
    shape, index, block, rest = [], [], size, item.offset
    for coefficient, axis in used:
        count, first = block // coefficient, rest // coefficient
        if block % coefficient or not 0 <= first <= count - nest.axes[axis].extent:
            return None
        shape.append(count)
        index.append(Affine(tuple(int(axis == other) for other in range(len(nest.axes))), first))
        block, rest = coefficient, rest % coefficient
    if block > 1:
        shape.append(block)
        index.append(Affine((0,) * len(nest.axes), rest))
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
        axes=nest.axes[:position] + (merged_axis,) + nest.axes[position + 2 :],
        reads=tuple(accesses[:count]),
        writes=tuple(Write(a, w.value) for a, w in zip(accesses[count:], nest.writes, strict=True)),
    )

    def leaf(expr: Expr) -> Expr:
        moved = expr.op == "axis" and int(expr.args[0]) > position  # type: ignore[arg-type]
        return axis(int(expr.args[0]) - 1) if moved else expr  # type: ignore[arg-type]

    return rewrite_nest(merged_nest, leaf)


def _uses_axis(nest: Nest, position: int) -> bool:
    exprs = [write.value for write in nest.writes]
    exprs += [expr for access in nest.reads for expr in access_exprs(access)]
    exprs += [expr for write in nest.writes for expr in access_exprs(write.access)]
    if nest.reduction is not None:
        exprs.append(nest.reduction.value)
    return any(node.op == "axis" and node.args[0] == position for expr in exprs for node in walk(expr))


def _merge_in_access(access: Access, position: int, extent: int) -> Access | None:
    """The access over merged axes: same dimension, or a full inner dimension joined to its outer one."""
    shape, index = list(access.shape), list(access.index)
    users = [
        d
        for d, i in enumerate(index)
        if isinstance(i, Affine) and any(i.coefficients[position : position + 2])
    ]
    if len(users) == 2:
        outer, inner = users
        a, b = index[outer], index[inner]
        assert isinstance(a, Affine) and isinstance(b, Affine)
        alone = b.offset == 0 and sum(map(bool, b.coefficients)) == 1 and b.coefficients[position + 1] == 1
        if inner != outer + 1 or not alone or shape[inner] != extent or access.fill is not None:
            return None
        joined = tuple(x * extent + y for x, y in zip(a.coefficients, b.coefficients, strict=True))
        shape[outer : inner + 1] = [shape[outer] * extent]
        index[outer : inner + 1] = [Affine(joined, a.offset * extent)]
    elif len(users) > 2:
        return None
    for d, item in enumerate(index):
        if isinstance(item, Affine):
            high, low = item.coefficients[position : position + 2]
            if high != low * extent:
                return None
            rest = item.coefficients[:position] + (low,) + item.coefficients[position + 2 :]
            index[d] = Affine(rest, item.offset)
    return replace(access, shape=tuple(shape), index=tuple(index))
