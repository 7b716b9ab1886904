"""Groups done one after another for a few rows at a time: what passes between them stays near the core."""

from __future__ import annotations

from tosajit.kernels.contract.numbered import Numbered, auto
from tosajit.kernels.contract.structure import call, load_i64, store_i64
from tosajit.kernels.layout import BOX


class ByRows(Numbered):
    """The arguments of the kernel; those of `Group` follow them for each group."""

    LOW = auto()
    """The first point of the tile along the first axis of the last group."""
    HIGH = auto()
    POINTS = auto()
    """Points along that axis in a row."""
    ROWS = auto()
    """Rows that are done at a time."""
    MEMORY = auto()
    """Address of memory of the thread's own."""
    GROUPS = auto()


class Group(Numbered):
    """What is known of a group; those of `Passed` follow for some of its operands, then its arguments."""

    KERNEL = auto()
    """Address of its kernel."""
    POINTS = auto()
    """Points along its first axis in a row."""
    END = auto()
    """The argument that has the end along this axis."""
    PASSED = auto()
    """Operands that only these groups see: the thread's own memory holds some rows of them."""
    ARGUMENTS = auto()
    """Bytes from here to the arguments of its kernel."""
    NEXT = auto()
    """Bytes from here to the next group."""


class Passed(Numbered):
    """Where an operand in the thread's own memory is."""

    SLOT = auto()
    """The argument that says so."""
    OFFSET = auto()
    """Bytes from that memory to the element of the group's first point."""
    PITCH = auto()
    """Bytes of a row."""


FIRST, WORDS, WORD = 8 * len(ByRows), 8 * len(Group), 8 * len(Passed)
"""Bytes ahead of the first group, of what is known of a group, and of an operand."""


def blocks(args: int) -> None:
    """Do all groups for some rows, then for the next."""
    points, rows = load_i64(args, ByRows.POINTS), load_i64(args, ByRows.ROWS)
    end = load_i64(args, ByRows.HIGH) // points
    for first in range(load_i64(args, ByRows.LOW) // points, end, rows):
        group = args + FIRST
        for _ in range(load_i64(args, ByRows.GROUPS)):
            arguments = group + load_i64(group, Group.ARGUMENTS)
            width = load_i64(group, Group.POINTS)
            store_i64(arguments, BOX, first * width)
            store_i64(arguments, load_i64(group, Group.END), min(first + rows, end) * width)
            passed = group + WORDS
            for _ in range(load_i64(group, Group.PASSED)):
                place = load_i64(args, ByRows.MEMORY) + load_i64(passed, Passed.OFFSET)
                place -= first * load_i64(passed, Passed.PITCH)
                store_i64(arguments, load_i64(passed, Passed.SLOT), place)
                passed += WORD
            call(load_i64(group, Group.KERNEL), arguments)
            group += load_i64(group, Group.NEXT)
