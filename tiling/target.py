"""What a planner knows of the machine it plans for: capacities, nothing about time."""

from __future__ import annotations

from typing import Literal

from tiling.records import dataclass

Place = Literal["scratchpad", "offchip"]
"""Where a kind of operand may be said to live."""
Home = Literal["scratchpad", "level2", "offchip"]
"""Where an operand lives."""
Holds = Literal["constants", "values", "both"]
Copied = Literal["all", "weights"]


@dataclass(frozen=True, slots=True)
class Target:
    """A machine's capacities.

    `scratch_bytes` None means that operands are used where they are, as on a CPU whose scratchpad is its
    cache; then `tile_points` says how much work a tile should have, so that `cores` can share a group.
    """

    name: str
    scratch_bytes: int | None = None
    alignment: int = 16
    cores: int = 1
    tile_points: int = 1 << 11
    weights: Place = "offchip"
    """Where the constant factors of contractions live."""
    constants: Place = "offchip"
    """Where other constants live."""
    values: Place = "offchip"
    """Where inputs, outputs and temporaries live; off-chip temporaries may still be kept between groups."""
    level2_bytes: int = 0
    """Of a memory between the scratchpad and the off-chip one; 0 if there is none."""
    level2_holds: Holds = "both"
    """What may live there of all that else were off-chip."""
    kept: bool = True
    """Whether they may be: otherwise each group reads and writes where `values` says."""
    kept_weights: bool = True
    """Whether copies of weights that several groups read may be kept between these, too."""
    direct: bool = False
    """Whether units can use operands where they are in the off-chip memory."""
    copied: Copied = "all"
    """What gets boxes in the scratchpad if units can do without: all operands, or weights alone."""
    strided: bool = False
    """Whether transfers can leave gaps between elements."""
    double_buffering: bool = True
    """Whether boxes may have second copies, to be filled while the first ones are used."""
    cascading: bool = True
    """Whether chains of groups may run in stripes."""


HOST = Target("host", alignment=64)
TINY = Target("tiny", scratch_bytes=2048, alignment=4)
