"""Recognising groups that do nothing but transpose matrices: in squares, or as a whole if they are narrow."""

from __future__ import annotations

from textwrap import indent

from tiling.expr import BYTES
from tiling.nest import Nest
from tosajit.kernels.contract.agreed import FEW
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

MATRIX = """if row1 - row0 < {side} or column1 - column0 < {side}:
    for row in range(row0, row1):
        for column in range(column0, column1):
            value = load_i{bits}(source{around} + row * source_pitch, column)
            store_i{bits}(target{around} + column * target_pitch, row, value)
else:
    for column in range(column0, column1, {line}):
        for row in range(row0, row1, {side}):
            for part in range(column, min(column + {line}, column1), {side}):
                top, left = min(row, row1 - {side}), min(part, column1 - {side})
                start = source{around} + top * source_pitch + left * {bytes}
                place = target{around} + left * target_pitch + top * {bytes}
                transpose_{bits}(start, place, source_pitch, target_pitch)
"""
"""Whole cache lines of the source at a time, so that each is read once; the last squares lie over others."""

FEW_ROWS = """if row1 - row0 == {few} and column1 - column0 >= {lanes}:
    start, place = source{around} + column0 * {bytes}, target{around} + column0 * target_pitch
    {name}(start, place, column1 - column0, source_pitch)
else:
    for row in range(row0, row1):
        for column in range(column0, column1):
            value = load_i{bits}(source{around} + row * source_pitch, column)
            store_i{bits}(target{around} + column * target_pitch, row, value)
"""
FEW_COLUMNS = """if column1 - column0 == {few} and row1 - row0 >= {lanes}:
    start, place = source{around} + row0 * source_pitch, target{around} + row0 * {bytes}
    {name}(start, place, row1 - row0, target_pitch)
else:
    for column in range(column0, column1):
        for row in range(row0, row1):
            value = load_i{bits}(source{around} + row * source_pitch, column)
            store_i{bits}(target{around} + column * target_pitch, row, value)
"""
"""Matrices that are dense where their rows are short; a tile may have a part of them."""

SIZES = 1, 2, 4
"""Bytes of the elements."""
Form = tuple[str, str]
"""What moves matrices, and the text that calls it."""

FIRST, EACH = 8, 4
"""The slot of the first axis outside, and how many each has."""
LOOPS = 3
"""Axes outside that every kernel has, so that few kernels do most groups; what is not there is one long."""
NONE = 0, 1, 0, 0
"""The numbers of such an axis."""


def texts(isa: InstructionSet) -> tuple[str, ...]:
    """The kernels of all groups but those with many axes."""
    forms = [(size, form) for size in SIZES for form in _forms(size)]
    return tuple(_text(LOOPS, size, form, isa) for size, form in forms)


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
    if len(rows) != 1 or len(columns) != 1 or rows == columns or size not in SIZES:
        return None
    (row,), (column,) = rows, columns
    extents = group.axes[row].extent, group.axes[column].extent
    pitches = steps[0][row], steps[1][column]
    form = _form(extents, pitches, size, isa)
    return None if form is None else _unit((row, column), steps, size, form, isa)


def _form(extents: tuple[int, int], pitches: tuple[int, int], size: int, isa: InstructionSet) -> Form | None:
    """How matrices of so many rows and columns are moved."""
    (rows, columns), lanes = extents, isa.register_bytes // size
    squares, *few = _forms(size)
    if min(extents) >= side_of(isa, size):
        return squares
    if rows in FEW and pitches[1] == rows and columns >= lanes:
        return few[FEW.index(rows)]
    if columns in FEW and pitches[0] == columns and rows >= lanes:
        return few[len(FEW) + FEW.index(columns)]
    return None


def _forms(size: int) -> list[Form]:
    """All ways to move elements of so many bytes: by squares, few rows, few columns."""
    rows = [(f"interleave_rows_{few}_{8 * size}", FEW_ROWS) for few in FEW]
    columns = [(f"part_columns_{few}_{8 * size}", FEW_COLUMNS) for few in FEW]
    return [(f"transpose_{8 * size}", MATRIX), *rows, *columns]


def _unit(
    matrix: tuple[int, int],
    steps: tuple[tuple[int, ...], tuple[int, ...]],
    size: int,
    form: Form,
    isa: InstructionSet,
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
    words += NONE * (LOOPS - len(outside))
    return Unit(
        "transpose", _text(max(LOOPS, len(outside)), size, form, isa), {}, tuple(words), tuple(derived), 0
    )


def _text(loops: int, size: int, form: Form, isa: InstructionSet) -> str:
    """The kernel for elements of so many bytes, with loops around the matrices."""
    parts = [LOOP.format(axis=n, slot=FIRST + EACH * n, around=n - 1 if n else "") for n in range(loops)]
    name, matrix = form
    numbers = {"bits": 8 * size, "bytes": size, "around": loops - 1}
    numbers |= {"side": side_of(isa, size), "line": LINE // size, "lanes": isa.register_bytes // size}
    few = name.split("_")[-2]
    parts.append(matrix.format(name=name, few=few, **numbers))
    return HEAD.format(imports=vector_imports(isa, [name]), **numbers) + "".join(
        indent(part, "    " * n) for n, part in enumerate(parts, 1)
    )
