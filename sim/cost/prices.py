"""Prices: what plans make least, by a machine's objective, as a sum over cycles and bytes."""

from __future__ import annotations

from dataclasses import dataclass

from sim.machine.machine import Machine

BREAK = 1e-3
"""What a cycle costs, in picojoules or bytes, where time is not the objective: of equal plans, the faster."""


@dataclass(frozen=True, slots=True)
class Prices:
    """What a cycle, and a byte of each memory, cost."""

    cycle: float
    offchip_byte: float
    level2_byte: float
    scratchpad_byte: float

    @staticmethod
    def of(machine: Machine) -> Prices:
        """Those of a machine's objective: in cycles, picojoules or bytes."""
        energy, planner = machine.energy, machine.planner
        match planner.objective:
            case "time":
                rate = machine.offchip_bytes_per_cycle
                return Prices(1.0, 0.0 if rate is None else planner.traffic_weight / rate, 0.0, 0.0)
            case "energy":
                leakage = 1e12 * energy.leakage_watts / machine.clock_hz
                offchip, pad = energy.picojoules_per_offchip_byte, energy.picojoules_per_scratchpad_byte
                level2 = 0.0 if machine.level2 is None else machine.level2.picojoules_per_byte
                return Prices(leakage + BREAK, offchip, level2, pad)
            case "traffic":
                return Prices(BREAK, 1.0, 0.0, 0.0)

    def cost(self, cycles: float, offchip: float, level2: float, scratchpad: float) -> float:
        """What so many cycles, and bytes of the memories, cost."""
        return (
            self.cycle * cycles
            + self.offchip_byte * offchip
            + self.level2_byte * level2
            + self.scratchpad_byte * scratchpad
        )
