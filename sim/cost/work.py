"""The cost of one compute command: a tile of a nest on a unit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

Unit = Literal["array", "vector", "reduction", "dma"]


class Command(NamedTuple):
    """A part of a tile's work, which waits for memories by itself."""

    cycles: int
    accesses: frozenset[int]
    """Those of the nest that it uses."""


ELEMENT_BYTES, ARRAY_BYTES, SPARED_MACS = "element_bytes", "array_bytes", "spared_macs"
"""Details that take energy or save it: what elements of an array read and write in their own memories, what
comes to them or goes from one to the next, and products that take their time but are not done."""


@dataclass(frozen=True, slots=True)
class Work:
    """Cycles and bytes of a tile, as far as its extents say.

    `cycles` is how long the unit is busy when no memory holds it up, `fill` the part of it in which a
    pipeline fills or drains. `traffic` has for each access of the nest (its reads, then its writes) the bytes
    between the unit and the memory that the operand is in, repeated reads included.
    """

    unit: Unit
    cycles: int
    fill: int
    macs: int
    operations: int
    traffic: tuple[int, ...]
    detail: tuple[tuple[str, int], ...] = ()
    """Parts of the estimate worth showing, such as `mac_cycles` and `output_cycles`."""
    ahead: int = 0
    """Cycles that a table takes to come, while the last command in front is at work."""
    hides: int = 0
    """Cycles of the last command in which tables of what follows come."""
    pays_latencies: bool = False
    """Whether the cycles have the latencies of the memories in them."""
    commands: tuple[Command, ...] = ()
    """What is done one after another, each with accesses of its own, if it is more than one command."""
