"""Boards whose measurements were published, as whole systems."""

from __future__ import annotations

from sim.machine.energies import scaled
from sim.machine.ethos import ethos
from sim.machine.machine import Machine

MRAM = 11 << 19
E7 = "Alif, Ensemble E7"
ALIF = "Alif, ML embedded evaluation kit, scripts/vela/ensemble_vela.ini, RTSS_HP_SRAM_MRAM"
MEASURED = "NXP, eIQ Model Zoo 1.4 (commit 58c2b00), tested configurations"


def imx93() -> Machine:
    """NXP's i.MX 93, as Linux sees its Ethos-U65."""
    return ethos("ethos-u65-256", "high-end", "dedicated-sram-384kb").replace(
        {
            "name": "imx93",
            "description": "NXP i.MX 93: Arm Ethos-U65, 256 MACs a cycle, launched from Linux",
            "offchip.bandwidth_bytes_per_second": 7.5e9,
            "launch_overhead_cycles": 94_030,
            "sources": {
                "offchip.bandwidth_bytes_per_second": "NXP, i.MX 93: LPDDR4X, 16 bits at 3.75 GT/s",
                "launch_overhead_cycles": f"{MEASURED}: an autoencoder in 0.143 ms, less the cycles that we "
                "predict (docs/validation.md)",
            },
        }
    )


def alif_e7() -> Machine:
    """The faster Ethos-U55 of Alif's Ensemble E7: weights are in MRAM, and beyond that in flash."""
    clock, axi = 400e6, 8
    return ethos("ethos-u55-256", "high-end-embedded", "shared-sram-2mb").replace(
        {
            "name": "alif-e7",
            "description": "Alif Ensemble E7: Arm Ethos-U55, 256 MACs a cycle, SRAM, MRAM and external flash",
            "clock_hz": clock,
            "offchip": {
                "bandwidth_bytes_per_second": 200e6,
                "read_latency_cycles": 80,
                "burst_bytes": 32,
            },
            "level2": {
                "kind": "flash",
                "holds": "constants",
                "bytes": MRAM,
                "bandwidth_bytes_per_second": axi * 0.121 * clock,
                "read_latency_cycles": 60,
                "write_latency_cycles": 60,
                "burst_bytes": 16,
                "picojoules_per_byte": scaled(MRAM, 16, 0.8)[0].picojoules_per_scratchpad_byte,
            },
            "scratchpad": {
                "bytes": 4 << 20,
                "bytes_per_cycle": axi * 0.762,
                "read_latency_cycles": 29,
                "write_latency_cycles": 29,
                "burst_bytes": 8,
            },
            "dma.outstanding_requests": 4,
            "sources": {
                "clock_hz": ALIF,
                "offchip.bandwidth_bytes_per_second": "assumed: OctalSPI at 100 MHz, two bytes a clock",
                "offchip.read_latency_cycles": "assumed",
                "offchip.burst_bytes": "assumed",
                "level2": f"{ALIF}: MRAM",
                "level2.bytes": f"{E7}: 5.5 MB of MRAM",
                "level2.picojoules_per_byte": "assumed: that of SRAM of this size",
                "scratchpad": f"{ALIF}: SRAM",
                "scratchpad.bytes": "Alif, RAM regions in Ensemble devices: SRAM0",
                "scratchpad.banks": "assumed: one for each port",
                "dma.outstanding_requests": "assumed: what reaches the bandwidth of the MRAM",
            },
        }
    )
