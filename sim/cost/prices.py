"""Prices: what plans make least, by a machine's objective, as a sum over cycles and bytes."""

from __future__ import annotations

from dataclasses import dataclass

from sim.machine.machine import Machine
from sim.machine.weighting import MEASURES, weights_of

BREAK = 1e-3
"""What a cycle costs of what other measures do, where time has no weight: of equal plans, the faster."""
LATER = 0.1
"""Cycles that one of a far memory costs beside a section's own, as nothing else comes meanwhile."""


@dataclass(frozen=True, slots=True)
class Prices:
    """What a cycle, and a byte of each memory, cost."""

    cycle: float
    offchip_byte: float
    level2_byte: float
    scratchpad_byte: float
    counted_byte: float
    """What one of the off-chip memory would cost besides, of plans for time that take as long: its cycles."""
    later: tuple[float, float]
    """What of a byte's cost, off-chip and of level 2, is for what cannot come meanwhile."""

    @staticmethod
    def of(machine: Machine) -> Prices:
        """Those of a machine's objective, in its cycles.

        Traffic is as many as the off-chip memory takes for it, at one byte a cycle if it has no limit; energy
        as many as that memory takes for as much, at a picojoule a cycle if it takes none.
        """
        energy, rate = machine.energy, machine.offchip_bytes_per_cycle
        time, joules, traffic = map(weights_of(machine.planner.objective).get, MEASURES, (0.0,) * 3)
        leakage = 1e12 * energy.leakage_watts / machine.clock_hz
        offchip, pad = energy.picojoules_per_offchip_byte, energy.picojoules_per_scratchpad_byte
        joules /= ((rate or 1.0) * offchip + leakage) or 1.0
        traffic /= rate or 1.0
        later, between, waited = LATER * time / rate if rate else 0.0, 0.0, 0.0
        if (level2 := machine.level2) is not None:
            between = joules * level2.picojoules_per_byte
            if level2.bandwidth_bytes_per_second is not None:
                waited = LATER * time * machine.clock_hz / level2.bandwidth_bytes_per_second
        least = 0.0 if time else BREAK * (traffic + joules)
        cycle, byte = time + joules * leakage + least, later + traffic + joules * offchip
        counted = 1.0 / rate if rate and time and not joules and not traffic else 0.0
        return Prices(cycle, byte, between + waited, joules * pad, counted * time, (later, waited))

    def waiting(self, offchip: float, level2: float) -> float:
        """What so many bytes cost as nothing else comes meanwhile."""
        return self.later[0] * offchip + self.later[1] * level2

    def cost(self, cycles: float, offchip: float, level2: float, scratchpad: float) -> float:
        """What so many cycles, and bytes of the memories, cost."""
        return (
            self.cycle * cycles
            + self.offchip_byte * offchip
            + self.level2_byte * level2
            + self.scratchpad_byte * scratchpad
        )
