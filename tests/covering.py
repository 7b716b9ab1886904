"""A part of all pairs of parameters, in which each occurs: all of them would take minutes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import cycle, islice
from typing import TypeVar

A = TypeVar("A")
B = TypeVar("B")


def in_turn(first: Iterable[A], second: Sequence[B], each: int = 1) -> list[tuple[A, B]]:
    """Each of the first with `each` of the second, which take turns."""
    turns = cycle(second)
    return [(one, other) for one in first for other in islice(turns, each)]
