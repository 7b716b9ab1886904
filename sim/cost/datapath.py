"""What costs see of a machine."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Literal

from sim.machine.arrays import MacArray
from sim.machine.parts import ReductionUnit, VectorUnit


@dataclass(frozen=True, slots=True)
class Datapath:
    """All that the work of a tile depends on; of equal datapaths, any is as good as another.

    It is the key under which work is kept, so costs cannot come to depend on what their key lacks.
    """

    cores: int
    array: MacArray | None
    hardware: Hashable
    """What the costs of the array look at: the array, or what `ArrayCosts.hardware` makes of it."""
    vector: VectorUnit
    reduction: ReductionUnit
    missing_types: Literal["emulate", "refuse"]
    setup_cycles: int
    """Of the DMA, which makes copies where it can follow them."""
    strided: bool
    gathered: bool
    scratchpad_bytes_per_cycle: float | None
    name: str = field(compare=False)
    """Of the machine, for messages."""
