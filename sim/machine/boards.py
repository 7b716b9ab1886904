"""Boards whose measurements were published, as whole systems."""

from __future__ import annotations

from sim.machine.ethos import ethos
from sim.machine.machine import Machine

MEASURED = "NXP, eIQ Model Zoo 1.4 (commit 58c2b00), tested configurations"


def imx93() -> Machine:
    """NXP's i.MX 93, as Linux sees its Ethos-U65."""
    return ethos("ethos-u65-256", "high-end", "dedicated-sram-384kb").replace(
        {
            "name": "imx93",
            "description": "NXP i.MX 93: Arm Ethos-U65, 256 MACs a cycle, launched from Linux",
            "offchip.bandwidth_bytes_per_second": 7.5e9,
            "launch_overhead_cycles": 83_310,
            "sources": {
                "offchip.bandwidth_bytes_per_second": "NXP, i.MX 93: LPDDR4X, 16 bits at 3.75 GT/s",
                "launch_overhead_cycles": f"{MEASURED}: an autoencoder in 0.143 ms, less the cycles that we "
                "predict (docs/validation.md)",
            },
        }
    )
