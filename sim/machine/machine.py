"""A machine as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Literal

from pydantic import Field

from sim.machine.parts import (
    Array,
    Cycles,
    Dma,
    Energy,
    MemoryMode,
    OffChip,
    Part,
    Rate,
    ReductionUnit,
    Scratchpad,
    VectorUnit,
)
from tiling.target import Target


class Machine(Part):
    """An NPU: its clock, memories, units and energies, with the source of every figure."""

    name: str
    description: str = ""
    sources: Mapping[str, str] = {}
    """Where figures come from, by the path of the field: `offchip.read_latency_cycles`."""
    clock_hz: Rate
    cores: Annotated[int, Field(gt=0)] = 1
    offchip: OffChip
    scratchpad: Scratchpad
    dma: Dma = Dma()
    array: Array | None = None
    vector: VectorUnit = VectorUnit()
    reduction: ReductionUnit = ReductionUnit()
    memory: MemoryMode = MemoryMode()
    launch_overhead_cycles: Cycles = 0
    missing_types: Literal["emulate", "refuse"] = "emulate"
    energy: Energy = Energy()

    @cached_property
    def target(self) -> Target:
        """What the planner may know of it."""
        mode = self.memory
        return Target(
            self.name,
            scratch_bytes=self.scratchpad.bytes,
            alignment=self.scratchpad.alignment_bytes,
            weights=mode.weights,
            values=mode.activations,
            constants=mode.constants,
            direct=mode.direct,
            strided=self.dma.strided,
        )

    @cached_property
    def offchip_bytes_per_cycle(self) -> float | None:
        """Bandwidth of the off-chip memory, None for unlimited."""
        rate = self.offchip.bandwidth_bytes_per_second
        return None if rate is None else rate / self.clock_hz
