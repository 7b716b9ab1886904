"""A number that is added to all sums of floating-point numbers, as one for each channel, as other biases are.

A layer without a bias, or whose biases are equal, then has the kernel of layers with biases.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import numpy as np

from tiling.expr import walk
from tiling.nest import Access, Nest, along, nest_exprs
from tiling.records import replace
from tosajit.arrays import Array
from tosajit.host.match import match
from tosajit.host.unit import Prepared


def spread(group: Nest, made: Prepared, constants: Mapping[str, Array], place: int) -> Nest:
    """The group with a bias for each channel, if it adds a number to its sums, and that nowhere else."""
    found = match(group)
    column = None if found is None else found.column
    number = _bias(group)
    access = group.reads[number] if number is not None else None
    if column is None or number is None or access is None or not _is_number(access, constants):
        return group
    columns = group.axes[column].extent
    values = np.full(columns, constants[access.operand].reshape(-1)[0])
    name = made.keep(f"{group.writes[0].access.operand}.{place}.bias", values)
    reads = list(group.reads)
    reads[number] = Access(name, access.type, (columns,), (along(column, len(group.axes)),))
    return replace(group, reads=tuple(reads))


def _bias(group: Nest) -> int | None:
    """The read that is added to the sums and used for nothing else."""
    nodes = list(walk(*nest_exprs(group)))
    added = [node for node in nodes if node.op == "add_f32" and node.operands[0].op == "acc"]
    if len(added) != 1 or added[0].operands[1].op != "read":
        return None
    bias = added[0].operands[1]
    users = [node for node in nodes if bias in node.operands]
    return bias.number if users == added else None


def _is_number(access: Access, constants: Mapping[str, Array]) -> bool:
    """Whether a read finds the same number of a constant everywhere."""
    known = access.operand in constants and prod(access.shape) == 1
    return known and access.fill is None and not access.indirect
