"""Where a unit finds the operands of a tile, and in which order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tiling.program import Operand


class Site(NamedTuple):
    """Where an access finds its operand."""

    far: bool = False
    """Whether that is the off-chip memory: there is no copy in the scratchpad."""
    plain: bool = False
    """Whether it is as the network's user has it: compilers may keep all else in bricks of channels."""


Sites = tuple[Site, ...]
"""By access of a nest, reads first."""
NEAR = Site()


def sites_of(operands: Sequence[Operand], copied: Sequence[bool]) -> Sites:
    """Those of operands, of which some are copied to the scratchpad."""
    return tuple(
        Site(operand.place == "offchip" and not copy, operand.kind in ("input", "output"))
        for operand, copy in zip(operands, copied, strict=False)
    )
