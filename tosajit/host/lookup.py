"""Recognising groups that do nothing but look up bytes in a table, for which there is vector code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tiling.nest import Access, Indirect, Nest
from tosajit.arrays import Array
from tosajit.host.lines import Lines, lines_of
from tosajit.kernels.contract.source import vector_imports
from tosajit.kernels.layout import Layout
from tosajit.kernels.link import Unit, Word
from tosajit.kernels.sets.description import InstructionSet

TEXT = '''"""Bytes of one operand looked up in another."""

from tosajit.kernels.intrinsics import *
{imports}


def kernel(args):
    first = load_i64(args, 0)
    source, target, table = load_i64(args, 2) + first, load_i64(args, 3) + first, load_i64(args, 4)
    lookup_i8(source, target, table, load_i64(args, 1) - first)
'''
"""First place and end, then the addresses of bytes, results and table."""

LINES = '''"""Bytes replaced by those of two lines."""

from tosajit.kernels.intrinsics import *
{imports}


def kernel(args):
    first = load_i64(args, 0)
    source, target, count = load_i64(args, 2) + first, load_i64(args, 3) + first, load_i64(args, 1) - first
    one, other, low = load_i64(args, 5), load_i64(args, 7), load_i64(args, 4)
    {name}(source, target, count, low, one, load_i64(args, 6), other, load_i64(args, 8))
'''
"""The same without a table, then what is below each byte, and both slopes with their offsets."""


def lookup(group: Nest, constants: Mapping[str, Array], isa: InstructionSet) -> Unit | None:
    """The unit for a group whose only result is a table's entries for the bytes of an operand in order."""
    if len(group.axes) != 1 or group.reduction is not None or len(group.writes) != 1:
        return None
    (write,) = group.writes
    if write.value.op != "read" or not _dense(write.access):
        return None
    table = group.reads[write.value.number]
    place = table.index[0] if len(table.index) == 1 else None
    if (
        not isinstance(place, Indirect)
        or table.type != "i8"
        or table.shape != (256,)
        or table.operand not in constants
    ):
        return None
    if place.value.op != "table_index_i8" or place.value.operands[0].op != "read":
        return None
    source = group.reads[place.value.operands[0].number]
    if not _dense(source):
        return None
    layout = Layout(1, len(group.reads) + 1)
    bases = [place.value.operands[0].number, len(group.reads), write.value.number]
    words = [Word(0, 0, ((layout.first, 1),)), Word(1, 0, ((layout.end, 1),))]
    words += [Word(slot, 0, ((layout.base + base, 1),)) for slot, base in enumerate(bases, 2)]
    known = np.ascontiguousarray(constants[table.operand]).tobytes()
    if isa.byte_lines and (lines := lines_of(known)) is not None:
        return _by_lines(lines, words[:4], isa)
    text = TEXT.format(imports=vector_imports(isa, ["lookup_i8"]))
    return Unit("table lookup", text, {}, (0,) * 5, tuple(words), 0)


def _by_lines(lines: Lines, words: Sequence[Word], isa: InstructionSet) -> Unit:
    """The unit for a table that is two lines."""
    name = "greatest_line_i8" if lines.greatest else "least_line_i8"
    text = LINES.format(imports=vector_imports(isa, [name]), name=name)
    return Unit("lines", text, {}, (0, 0, 0, 0, lines.low, *lines.first, *lines.second), tuple(words), 0)


def _dense(access: Access) -> bool:
    return access.type == "i8" and access.fill is None and not access.indirect and access.steps(1) == (1,)
