"""A reduction apart from the work on its results: two nests, whose kernels are there whatever it is."""

from __future__ import annotations

from collections.abc import Callable

from tiling.expr import Expr, read
from tiling.nest import Access, Nest, Write, along, fixed, identity, rewrite_nest, with_axes
from tiling.normal import share_reads
from tiling.records import replace
from tosajit.host.epilogue import output_steps
from tosajit.host.unit import Prepared


def apart(group: Nest, number: int) -> tuple[Nest, Nest] | None:
    """The nest of a reduction's sums, and that of its results; None if the sums are its results.

    `number` is that of the group in its program.
    """
    reduction = group.reduction
    if reduction is None or all(write.value.op == "acc" for write in group.writes):
        return None
    sums = _sums(group, f"{group.writes[0].access.operand}.{number}.sums", reduction.type)
    total = Write(sums, Expr("acc", (), reduction.type))
    return share_reads(replace(group, writes=(total,))), _results(group, sums)


def rows_apart(made: Prepared, waits: Callable[[Nest], bool]) -> None:
    """Do each group apart that `waits` for a kernel of its own, where its sums alone do not."""
    for number, group in enumerate(made.groups):
        if group in made.units or not waits(group):
            continue
        parts = apart(group, number)
        if parts is not None and not waits(parts[0]):
            access = parts[0].writes[0].access
            made.temporaries[access.operand] = access
            made.apart.append(([group], [*parts]))


def _sums(group: Nest, name: str, type: str) -> Access:
    """Where the sums are: dense, and in the order of the first result."""
    steps, count = output_steps(group), len(group.axes)
    order = sorted(range(group.outer), key=lambda axis: -steps[axis])
    extents = tuple(group.axes[axis].extent for axis in order)
    return Access(name, type, extents, tuple(along(axis, count) for axis in order))


def _results(group: Nest, sums: Access) -> Nest:
    """The results over the kept axes, of sums that are read."""
    reads, outer = len(group.reads), group.outer

    def leaf(expr: Expr) -> Expr:
        return read(reads, sums.type) if expr.op == "acc" else expr

    made = rewrite_nest(replace(group, verb="map", reduction=None), leaf)
    made = share_reads(replace(made, reads=(*made.reads, sums)))
    reduced = [fixed(0, outer)] * (len(group.axes) - outer)
    return with_axes(made, group.axes[:outer], [*identity(outer), *reduced])
