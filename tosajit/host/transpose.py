"""Recognising groups that do nothing but transpose matrices, which are moved in squares."""

from __future__ import annotations

from textwrap import indent

from tiling.expr import BYTES
from tiling.nest import Nest
from tosajit.kernels.contract.source import vector_imports
from tosajit.kernels.contract.spec import LINE, side_of
from tosajit.kernels.layout import Layout
from tosajit.kernels.link import Unit, Word
from tosajit.kernels.sets.description import InstructionSet

HEAD = '''"""Matrices of {bits} bits, transposed."""

from tosajit.kernels.intrinsics import *
{imports}


def kernel(args):
    source, target = load_i64(args, 0), load_i64(args, 1)
    row0, row1, column0, column1 = load_i64(args, 2), load_i64(args, 3), load_i64(args, 4), load_i64(args, 5)
    source_pitch, target_pitch = load_i64(args, 6), load_i64(args, 7)
'''
"""Addresses, rows, columns, and bytes from row to row; then first, end and steps of each axis outside."""

LOOP = """for a{axis} in range(load_i64(args, {slot}), load_i64(args, {slot} + 1)):
    source{axis} = source{around} + a{axis} * load_i64(args, {slot} + 2)
    target{axis} = target{around} + a{axis} * load_i64(args, {slot} + 3)
"""

MATRIX = """for column in range(column0, column1, {line}):
    last = min(column + {line}, column1)
    for row in range(row0, row1, {side}):
        for part in range(column, last, {side}):
            start = source{around} + row * source_pitch + part * {bytes}
            place = target{around} + part * target_pitch + row * {bytes}
            if row + {side} <= row1 and part + {side} <= last:
                transpose_{bits}(start, place, source_pitch, target_pitch)
            else:
                for i in range(min({side}, row1 - row)):
                    for j in range(min({side}, last - part)):
                        store_i{bits}(place + j * target_pitch, i, load_i{bits}(start + i * source_pitch, j))
"""
"""Whole cache lines of the source at a time, so that each is read once."""

FIRST, EACH = 8, 4
"""The slot of the first axis outside, and how many each has."""


def transpose(group: Nest, isa: InstructionSet) -> Unit | None:
    """The unit for a group that copies an operand whose rows become columns."""
    if group.reduction is not None or len(group.reads) != 1 or len(group.writes) != 1:
        return None
    (source,), (write,) = group.reads, group.writes
    if write.value.op != "read" or source.fill is not None or source.indirect or write.access.indirect:
        return None
    axes, size = len(group.axes), BYTES[source.type]
    steps = source.steps(axes), write.access.steps(axes)
    rows, columns = ([axis for axis in range(axes) if step[axis] == 1] for step in reversed(steps))
    if len(rows) != 1 or len(columns) != 1 or rows == columns or size > 4:
        return None
    if min(group.axes[rows[0]].extent, group.axes[columns[0]].extent) < side_of(isa, size):
        return None
    return _unit([*rows, *columns], steps, size, isa)


def _unit(
    matrix: list[int], steps: tuple[tuple[int, ...], tuple[int, ...]], size: int, isa: InstructionSet
) -> Unit:
    """The words of a group whose matrices have these axes for rows and columns."""
    axes = len(steps[0])
    layout, (row, column) = Layout(axes, 2), matrix
    outside = [axis for axis in range(axes) if axis not in matrix]
    words = [0, 0, 0, 0, 0, 0, steps[0][row] * size, steps[1][column] * size]
    derived = [Word(slot, 0, ((layout.base + slot, 1),)) for slot in range(2)]
    for slot, axis in ((2, row), (4, column), *((FIRST + EACH * n, axis) for n, axis in enumerate(outside))):
        derived += [Word(slot, 0, ((layout.first + axis, 1),)), Word(slot + 1, 0, ((layout.end + axis, 1),))]
    for axis in outside:
        words += [0, 0, *(step[axis] * size for step in steps)]
    return Unit("transpose", _text(len(outside), size, isa), {}, tuple(words), tuple(derived), 0)


def _text(loops: int, size: int, isa: InstructionSet) -> str:
    """The kernel for elements of so many bytes, with loops around the matrices."""
    parts = [LOOP.format(axis=n, slot=FIRST + EACH * n, around=n - 1 if n else "") for n in range(loops)]
    numbers = {"bits": 8 * size, "bytes": size, "side": side_of(isa, size), "line": LINE // size}
    parts.append(MATRIX.format(around=loops - 1 if loops else "", **numbers))
    imports = vector_imports(isa, [f"transpose_{8 * size}"])
    return HEAD.format(imports=imports, **numbers) + "".join(
        indent(part, "    " * n) for n, part in enumerate(parts, 1)
    )
