"""NVDLA in its configurations, after its public documentation."""

from __future__ import annotations

from sim.machine.arrays import DotProduct
from sim.machine.energies import scaled
from sim.machine.machine import Machine
from sim.machine.parts import Dma, MemoryMode, OffChip, ReductionUnit, Scratchpad, VectorUnit

ASSUMED = "assumed"
DOCUMENTATION = "NVDLA documentation"
ESTIMATOR = (
    "NVDLA, perf/NVDLA_OpenSource_Performance.xlsx (as github.com/nctu-arch/Estimater has it), weights"
)


def nvdla(name: str, filters: int, channels: int, buffer: int, dram: float, *, small: bool) -> Machine:
    """An NVDLA: cells, their products, bytes of the convolution buffer, and of the DRAM a second."""
    units = f"{DOCUMENTATION}, hw/v2 scalability parameters, " + ("nv_small" if small else "nv_large")
    primer = f"{DOCUMENTATION}, primer, example area and performance"
    core = f"{DOCUMENTATION}, hardware unit description, convolution core"
    energy, energies = scaled(buffer, 28, 0.9)
    results, pooled, atom, latency, loaded = (1, 1, 8, 50, 1) if small else (16, 8, 32, 1200, 2)
    burst = 32 if small else 64
    lanes = dict.fromkeys(("bool", "i8", "i16", "i32"), results)
    return Machine(
        name=name,
        description=f"An NVDLA of {filters * channels} products a cycle",
        clock_hz=1e9,
        offchip=OffChip(
            bandwidth_bytes_per_second=dram,
            burst_bytes=burst,
        ),
        scratchpad=Scratchpad(
            bytes=buffer,
            banks=32 if small else 16,
            ports=3,
            bytes_per_cycle=3.0 * channels,
            burst_bytes=channels,
            alignment_bytes=atom,
        ),
        dma=Dma(channels=2, outstanding_requests=512),
        memory=MemoryMode(kept=False),
        array=DotProduct(
            filters=filters, channels=channels, loaded_filters=loaded, packed_channels=4, strided="phases"
        ),
        vector=VectorUnit(lanes={**lanes, "i64": 1}, table_lookups_per_cycle=results, stages=6),
        reduction=ReductionUnit(lanes={**dict.fromkeys(lanes, pooled), "i64": 1}, windows="once"),
        energy=energy,
        sources={
            "clock_hz": f"{ASSUMED}: 1 GHz",
            "offchip.bandwidth_bytes_per_second": primer,
            "offchip.read_latency_cycles": f"{units}: its buffers are made to hide {latency} cycles",
            "offchip.write_latency_cycles": f"{ASSUMED}: as of reads",
            "memory.kept": f"{primer}: layer by layer, from and to memory, as there is no SRAM on the chip",
            "offchip.burst_bytes": f"{units}: width of the interface times its longest burst",
            "scratchpad.bytes": f"{primer}: convolution buffer",
            "scratchpad.banks": units,
            "scratchpad.ports": f"{ASSUMED}: data, weights, results",
            "scratchpad.bytes_per_cycle": f"{units}: a bank's width each for data, weights, results",
            "scratchpad.burst_bytes": f"{units}: a bank's width",
            "scratchpad.alignment_bytes": f"{units}: atoms of memory",
            "dma": f"{ASSUMED}: enough under way to cover the latency",
            "array.filters": units,
            "array.channels": units,
            "array.stripe": f"{core}: at most 32 positions",
            "array.loaded_filters": f"{core}: 32 filters of 8 bits in the 16 cycles of the shortest stripe"
            if loaded > 1
            else f"{units}: as wide as a bank",
            "array.strided": f"{ESTIMATOR}: C × stride² channels, window ÷ stride, rounded up",
            "array.packed_channels": f"{core}: image input of up to four channels",
            "array.depthwise": f"{core}: groups follow one another",
            "vector.lanes": f"{units}: throughput of bias and scaling; i64 assumed",
            "vector.stages": f"{core}, single data point processor: three sub-units, each adds and scales",
            "vector.table_lookups_per_cycle": f"{ASSUMED}: as many as results",
            "reduction.lanes": f"{units}: throughput of the pooling engine; i64 assumed",
            "reduction.windows": f"{DOCUMENTATION}, hw/v2 scalability parameters: so many results a cycle; "
            f"so many inputs of its line buffer {ASSUMED}",
            **energies,
        },
    )
