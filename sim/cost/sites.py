"""Where a unit finds the operands of a tile, and in which order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, get_args

from sim.machine.arrays import MacArray
from tiling.program import Operand
from tiling.target import Home

Stream = Literal["weights", "maps", "scales", "results"]
"""What units may have channels for. Maps are all that is read and none of the others."""
STREAMS: tuple[Stream, ...] = get_args(Stream)


class Site(NamedTuple):
    """Where an access finds its operand."""

    place: Home = "scratchpad"
    """The memory, which is another than the scratchpad where that has no copy."""
    plain: bool = False
    """Whether it is as the network's user has it: compilers may keep all else in bricks of channels."""


Sites = tuple[Site, ...]
"""By access of a nest, reads first."""
NEAR = Site()


def sites_of(operands: Sequence[Operand], copied: Sequence[bool]) -> Sites:
    """Those of operands, of which some are copied to the scratchpad."""
    return tuple(
        Site("scratchpad" if copy else operand.place, operand.kind in ("input", "output"))
        for operand, copy in zip(operands, copied, strict=False)
    )


def taken(array: MacArray | None, operand: Operand, size: int, near: bool) -> int:
    """Bytes that a unit takes for so many of an operand's: coded ones, and of the scratchpad no filling."""
    stored = operand.stored(size)
    return min(size, stored) if near and array is not None and not array.takes_filling else stored
