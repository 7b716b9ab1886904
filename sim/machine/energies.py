"""Energy figures: Horowitz's table, scaled to a process."""

from __future__ import annotations

from itertools import pairwise
from math import log

from sim.machine.parts import Energy

HOROWITZ = "Horowitz, ISSCC 2014, figure 1.1.9 (45 nm, 0.9 V)"
"""8-bit product 0.2 pJ, 32-bit sum 0.1 pJ, 8-bit sum 0.03 pJ; 64 bits from 8 KiB 10 pJ, from 32 KiB 20 pJ,
from 1 MiB 100 pJ, from DRAM 1300 to 2600 pJ."""

MAC_8, MAC_16, OPERATION = 0.2 + 0.1, 0.8 + 0.1, 0.1
"""Picojoules at 45 nm; a 16-bit product is assumed to take four 8-bit ones."""
DRAM_BYTE = 1300 / 8

_SRAM = ((8 << 10, 10 / 8), (32 << 10, 20 / 8), (1 << 20, 100 / 8))


def scale(nanometres: float, volts: float) -> float:
    """Energy of switching relative to 45 nm at 0.9 V: as the feature size, times voltage squared."""
    return nanometres / 45 * (volts / 0.9) ** 2


def sram_byte(size: int) -> float:
    """Picojoules a byte at 45 nm, interpolated on logarithmic axes; beyond 1 MiB as from banks of 1 MiB."""
    size = min(max(size, _SRAM[0][0]), _SRAM[-1][0])
    for (low, less), (high, more) in pairwise(_SRAM):
        if size <= high:
            return float(less * (more / less) ** (log(size / low) / log(high / low)))
    return _SRAM[-1][1]


def scaled(
    scratchpad_bytes: int, nanometres: float, volts: float, mac: float = MAC_8
) -> tuple[Energy, dict[str, str]]:
    """Energies of a machine, with their sources."""
    factor = scale(nanometres, volts)
    process = f"{HOROWITZ}, scaled to {nanometres:g} nm at {volts:g} V (assumed), factor {factor:.3g}"
    energy = Energy(
        picojoules_per_mac=round(mac * factor, 4),
        picojoules_per_operation=round(OPERATION * factor, 4),
        picojoules_per_scratchpad_byte=round(sram_byte(scratchpad_bytes) * factor, 4),
        picojoules_per_offchip_byte=DRAM_BYTE,
    )
    return energy, {
        "energy.picojoules_per_mac": f"{process}: {'8' if mac == MAC_8 else '16'}-bit product, 32-bit sum",
        "energy.picojoules_per_operation": f"{process}: 32-bit sum",
        "energy.picojoules_per_scratchpad_byte": f"{process}: SRAM, interpolated by size",
        "energy.picojoules_per_offchip_byte": f"{HOROWITZ}: DRAM, 1300 pJ for 8 bytes, not scaled",
    }
