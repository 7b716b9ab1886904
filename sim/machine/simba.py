"""Simba: chiplets of dot products in a mesh on one package."""

from __future__ import annotations

from math import ceil

from sim.machine.arrays import DotProduct
from sim.machine.energies import scaled
from sim.machine.machine import Machine
from sim.machine.parts import (
    Dma,
    OffChip,
    OperatingPoint,
    ReductionUnit,
    Scratchpad,
    Topology,
    VectorUnit,
)

PAPER = "Shao et al., Simba, MICRO 2019, table 1"
ELEMENTS, LANES = 16, 32
WEIGHTS, INPUTS, GLOBAL = 32 << 10, 8 << 10, 64 << 10
HOP_SECONDS, FAST, SLOW = 20e-9, 1.8e9, 0.48e9
PICOJOULES_A_BIT = 1.75


def simba() -> Machine:
    """A square of four chiplets of the package; all of it is 36 in 6 columns."""
    size = GLOBAL + ELEMENTS * (WEIGHTS + INPUTS)
    energy, energies = scaled(size, 16, 1.1)
    lanes = {"bool": LANES, "i8": LANES, "i16": LANES, "i32": LANES, "i64": LANES // 2}
    assumed = "assumed"
    return Machine(
        name="simba-4",
        description="Simba: 4 of its 36 chiplets of 16 elements in a mesh on one package, 16 nm",
        clock_hz=FAST,
        cores=4,
        topology=Topology(
            network="mesh",
            columns=2,
            bandwidth_bytes_per_second=100e9,
            hop_latency_cycles=ceil(HOP_SECONDS * FAST),
        ),
        offchip=OffChip(
            bandwidth_bytes_per_second=100e9,
            read_latency_cycles=180,
            write_latency_cycles=180,
            burst_bytes=64,
        ),
        scratchpad=Scratchpad(
            bytes=size, banks=16, ports=3, bytes_per_cycle=3.0 * ELEMENTS * 8, burst_bytes=16
        ),
        dma=Dma(channels=2, setup_cycles=16, outstanding_requests=256),
        array=DotProduct(filters=LANES, channels=LANES),
        vector=VectorUnit(lanes=lanes, table_lookups_per_cycle=LANES),
        reduction=ReductionUnit(lanes=lanes),
        energy=energy.model_copy(update={"picojoules_per_network_byte": 8 * PICOJOULES_A_BIT, "volts": 1.1}),
        dvfs=(
            OperatingPoint(name="low", clock_hz=SLOW, volts=0.52),
            OperatingPoint(name="high", clock_hz=FAST, volts=1.1),
        ),
        sources={
            "clock_hz": f"{PAPER}: elements at 0.48 to 1.8 GHz",
            "cores": f"{PAPER}: 36 chiplets on a package; a square of four of them",
            "topology": f"{PAPER}: mesh, 100 GB/s a chiplet, 20 ns a hop; multicast from chiplet to chiplet",
            "offchip": f"{assumed}: as fast as a link of the mesh",
            "scratchpad.bytes": f"{PAPER}: 16 elements, 32 KiB of weights, 8 KiB of inputs; 64 KiB for all",
            "scratchpad": assumed,
            "dma": assumed,
            "array": f"{PAPER}: 16 elements of 8 vectors of 8; as 32 filters × 32 channels (assumed)",
            "vector": assumed,
            "reduction": assumed,
            "dvfs": f"{PAPER}: 0.52 to 1.1 V, 0.48 to 1.8 GHz",
            **energies,
            "energy.picojoules_per_network_byte": f"{PAPER}: 0.82 to 1.75 pJ a bit; the larger one",
            "energy.volts": f"{PAPER}: 0.52 to 1.1 V",
        },
    )
