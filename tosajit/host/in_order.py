"""Reductions that take elements as they lie in memory: transposes leave their order to readers."""

from __future__ import annotations

from tiling.expr import reads_of
from tiling.nest import Affine, Nest, with_axes
from tiling.normal import normalise
from tosajit.host.folded import INTEGERS

OPS = frozenset({"add", "max", "min"})
"""What combines values in any order: to the same bits, or the specification leaves it open."""
FREE = INTEGERS | {"f32"}


def in_order(nest: Nest) -> Nest:
    """The nest with the reduced axis along which neighbours lie as its last one."""
    reduction, count = nest.reduction, len(nest.axes)
    if nest.verb != "reduce" or reduction is None or count - nest.outer < 2:
        return nest
    if reduction.op not in OPS or reduction.type not in FREE:
        return nest
    steps = [nest.reads[number].steps(count) for number in reads_of(reduction.value)]
    reduced = range(nest.outer, count)
    if (
        not steps
        or any(step[-1] == 1 for step in steps)
        or not any(1 in step[nest.outer :] for step in steps)
    ):
        return nest
    first = max(steps, key=lambda step: sum(map(bool, step)))
    order = [*range(nest.outer), *sorted(reduced, key=lambda number: -first[number])]
    old = [Affine(tuple(int(order[place] == number) for place in range(count))) for number in range(count)]
    return normalise(with_axes(nest, tuple(nest.axes[number] for number in order), old))
