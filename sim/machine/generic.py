"""Machines other than Arm's: generic ones, and those that were published."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from sim.machine.arrays import DotProduct, RowStationary, Systolic
from sim.machine.boards import alif_e7, imx93
from sim.machine.energies import MAC_16, scaled
from sim.machine.machine import Machine
from sim.machine.nvdla import nvdla
from sim.machine.parts import (
    Dma,
    Energy,
    MemoryMode,
    OffChip,
    OperatingPoint,
    ReductionUnit,
    Scratchpad,
    VectorUnit,
)
from sim.machine.simba import simba

KIB, MIB = 1 << 10, 1 << 20
ASSUMED = "assumed"
INTEGERS = {"8x8": 1.0, "8x4": 1.0, "16x8": 0.5, "16x16": 0.25}


def _systolic(size: int, scratchpad: int, dram: float, requests: int) -> Machine:
    """A generic array of size × size, in proportion."""
    energy, energies = scaled(scratchpad, 16, 0.8)
    lanes = {"bool": size, "i8": size, "i16": size, "i32": size, "i64": max(1, size // 2)}
    usual = "assumed: a generic array, not one that was built"
    rate = f"{usual}; a row of operands and a row of results a cycle"
    return Machine(
        name=f"systolic-{size}",
        description=f"A generic weight-stationary array of {size} × {size}",
        clock_hz=1e9,
        offchip=OffChip(
            bandwidth_bytes_per_second=dram, read_latency_cycles=100, write_latency_cycles=100, burst_bytes=64
        ),
        scratchpad=Scratchpad(
            bytes=scratchpad, banks=16, ports=3, bytes_per_cycle=6.0 * size, burst_bytes=16
        ),
        dma=Dma(channels=2, setup_cycles=16, outstanding_requests=requests),
        array=Systolic(rows=size, columns=size, dataflow="weight", rates=INTEGERS),
        vector=VectorUnit(lanes=lanes, table_lookups_per_cycle=size),
        reduction=ReductionUnit(lanes=lanes),
        energy=energy,
        sources={
            **dict.fromkeys(("clock_hz", "scratchpad.bytes", "scratchpad.banks", "scratchpad.ports"), usual),
            **dict.fromkeys(("array.rows", "array.columns", "array.rates", "vector.lanes"), usual),
            **dict.fromkeys(("reduction.lanes", "vector.table_lookups_per_cycle"), usual),
            **dict.fromkeys(("offchip.read_latency_cycles", "offchip.write_latency_cycles"), usual),
            **dict.fromkeys(("offchip.bandwidth_bytes_per_second", "dma"), usual),
            "scratchpad.bytes_per_cycle": rate,
            **energies,
        },
    )


def _dot(filters: int, channels: int, scratchpad: int, dram: float) -> Machine:
    """A generic array of dot products, in proportion, with a mode of its own for depthwise convolutions."""
    energy, energies = scaled(scratchpad, 16, 0.8)
    lanes = {"bool": filters, "i8": filters, "i16": filters, "i32": filters, "i64": max(1, filters // 2)}
    usual = "assumed: a generic array, not one that was built"
    return Machine(
        name=f"dot-{filters * channels}",
        description=f"A generic array of {filters} dot products of {channels}",
        clock_hz=1e9,
        offchip=OffChip(
            bandwidth_bytes_per_second=dram, read_latency_cycles=100, write_latency_cycles=100, burst_bytes=64
        ),
        scratchpad=Scratchpad(
            bytes=scratchpad, banks=16, ports=3, bytes_per_cycle=3.0 * max(filters, channels), burst_bytes=16
        ),
        dma=Dma(channels=2, setup_cycles=16, outstanding_requests=64),
        array=DotProduct(
            filters=filters, channels=channels, packed_channels=4, depthwise="cells", rates=INTEGERS
        ),
        vector=VectorUnit(lanes=lanes, table_lookups_per_cycle=filters),
        reduction=ReductionUnit(lanes=lanes),
        energy=energy,
        sources={
            **dict.fromkeys(
                ("clock_hz", "offchip", "scratchpad", "dma", "array", "vector", "reduction"), usual
            ),
            **energies,
        },
    )


def _tpu_v1() -> Machine:
    paper = "Jouppi et al., In-Datacenter Performance Analysis of a Tensor Processing Unit, ISCA 2017"
    energy, energies = scaled(24 * MIB, 28, 0.9)
    lanes = {"bool": 256, "i8": 256, "i16": 256, "i32": 256, "i64": 128}
    return Machine(
        name="tpu-v1",
        description="The first Tensor Processing Unit: 256 × 256, weight stationary, 28 nm",
        clock_hz=700e6,
        offchip=OffChip(
            bandwidth_bytes_per_second=34e9,
            read_latency_cycles=100,
            write_latency_cycles=100,
            burst_bytes=64,
        ),
        scratchpad=Scratchpad(
            bytes=24 * MIB, banks=16, ports=3, bytes_per_cycle=768, burst_bytes=256, alignment_bytes=256
        ),
        dma=Dma(channels=2, setup_cycles=16, outstanding_requests=128),
        array=Systolic(
            rows=256,
            columns=256,
            dataflow="weight",
            weight_preload=True,
            whole_tiles=True,
            rates={"8x8": 1.0, "8x4": 1.0, "16x8": 0.5, "16x16": 0.25},
        ),
        vector=VectorUnit(lanes=lanes, table_lookups_per_cycle=256),
        reduction=ReductionUnit(lanes=lanes),
        memory=MemoryMode(kept_weights=False),
        energy=Energy(**{**energy.model_dump(), "leakage_watts": 28.0}),
        sources={
            "clock_hz": f"{paper}, table 2",
            "offchip.bandwidth_bytes_per_second": f"{paper}, table 2: of weights, taken for all",
            "offchip.read_latency_cycles": ASSUMED,
            "offchip.write_latency_cycles": ASSUMED,
            "scratchpad.bytes": f"{paper}, section 2: unified buffer; the accumulators' 4 MiB are apart",
            "scratchpad.banks": ASSUMED,
            "scratchpad.ports": ASSUMED,
            "scratchpad.bytes_per_cycle": f"{paper}, section 2: paths of 256 bytes; three assumed",
            "scratchpad.burst_bytes": f"{paper}, section 2: paths of 256 bytes",
            "scratchpad.alignment_bytes": f"{paper}, section 2: rows of 256 bytes",
            "dma": ASSUMED,
            "array.rows": f"{paper}, section 2",
            "array.columns": f"{paper}, section 2",
            "array.whole_tiles": f"{paper}, section 7: 600 × 600 weights take nine tiles of 256 × 256",
            "array.weight_preload": f"{paper}, section 2: a second tile of weights hides loads",
            "array.rates": f"{paper}, section 2: half for 16 × 8, a quarter for 16 × 16; 8x4 assumed",
            "vector.lanes": f"{paper}, section 2: 256 values a cycle; i64 assumed",
            "vector.table_lookups_per_cycle": f"{paper}, section 2: 256 values a cycle",
            "reduction.lanes": f"{paper}, section 2: 256 values a cycle; i64 assumed",
            "memory.kept_weights": f"{paper}, section 2: weights come from DRAM by a FIFO of four tiles",
            **energies,
            "energy.leakage_watts": f"{paper}, table 2: 28 W of a die that is idle",
        },
    )


def _eyeriss_v1() -> Machine:
    paper = "Chen et al., Eyeriss, IEEE JSSC 52(1), 2017"
    energy, energies = scaled(108 * KIB, 65, 1.0, MAC_16)
    word = energy.picojoules_per_mac
    relative = "Chen et al., Eyeriss, ISCA 2016: of a 16-bit word, relative to a product:"
    lanes = {"bool": 4, "i8": 4, "i16": 4, "i32": 4, "i64": 1}
    return Machine(
        name="eyeriss-v1",
        description="Eyeriss v1: 12 × 14 elements of 16 bits, row stationary, 65 nm",
        clock_hz=200e6,
        offchip=OffChip(
            bandwidth_bytes_per_second=480e6,
            read_latency_cycles=20,
            write_latency_cycles=20,
            burst_bytes=64,
        ),
        scratchpad=Scratchpad(
            bytes=108 * KIB, banks=27, ports=3, bytes_per_cycle=48, burst_bytes=8, alignment_bytes=8
        ),
        dma=Dma(channels=2, setup_cycles=0, outstanding_requests=8),
        array=RowStationary(
            rows=12,
            columns=14,
            filter_words=224,
            input_words=12,
            sum_words=24,
            mapping="offchip",
            rates={"8x8": 1.0, "8x4": 1.0, "16x8": 1.0, "16x16": 1.0},
        ),
        vector=VectorUnit(lanes=lanes, table_lookups_per_cycle=4),
        reduction=ReductionUnit(lanes=lanes),
        energy=Energy(
            picojoules_per_mac=word,
            picojoules_per_operation=energy.picojoules_per_operation,
            picojoules_per_element_byte=round(word / 2, 4),
            picojoules_per_array_byte=round(2 * word / 2, 4),
            picojoules_per_scratchpad_byte=round(6 * word / 2, 4),
            picojoules_per_offchip_byte=round(200 * word / 2, 4),
            leakage_watts=0.149,
            volts=1.0,
        ),
        dvfs=(
            OperatingPoint(name="low", clock_hz=100e6, volts=0.82),
            OperatingPoint(name="typical", clock_hz=200e6, volts=1.0),
            OperatingPoint(name="high", clock_hz=250e6, volts=1.17),
        ),
        sources={
            "clock_hz": f"{paper}, table of measured results: core at 200 MHz",
            "dvfs": f"{paper}, chip specifications: core at 100 to 250 MHz with 0.82 to 1.17 V",
            "energy.volts": f"{paper}, table of measured results: core at 1 V",
            "offchip.bandwidth_bytes_per_second": f"{paper}: 64 bits at a link clock of 60 MHz",
            "offchip.read_latency_cycles": ASSUMED,
            "offchip.write_latency_cycles": ASSUMED,
            "scratchpad.bytes": f"{paper}: global buffer of 108 KiB",
            "scratchpad.banks": f"{paper}: 25 banks of 512 × 64 bits; those of the 8 KiB for filters assumed",
            "scratchpad.ports": "assumed: filters, inputs, sums",
            "scratchpad.bytes_per_cycle": f"{paper}: 64 bits a cycle; of each port, both ways, assumed",
            "scratchpad.burst_bytes": f"{paper}: rows of 64 bits",
            "scratchpad.alignment_bytes": f"{paper}: rows of 64 bits",
            "dma.channels": ASSUMED,
            "array.rows": f"{paper}: 12 × 14 elements",
            "array.columns": f"{paper}: 12 × 14 elements",
            "array.filter_words": f"{paper}: 224 words a scratchpad of filters",
            "array.input_words": f"{paper}: 12 words a scratchpad of inputs",
            "array.sum_words": f"{paper}: 24 words a scratchpad of sums",
            "array.mapping": f"{paper}: for energy, most of which is DRAM's; rule found with its table VI",
            "array.map_banks": f"{paper}: 25 banks, each for inputs or for sums",
            "array.bank_bytes": f"{paper}: banks of 512 × 64 bits",
            "array.rates": f"{paper}: a 16-bit product a cycle; narrower ones take as long",
            "vector.lanes": "assumed: a row of the buffer a cycle; the chip has only a rectifier",
            "vector.table_lookups_per_cycle": ASSUMED,
            "reduction.lanes": "assumed: a row of the buffer a cycle; the chip has no such unit",
            **energies,
            "energy.picojoules_per_element_byte": f"{relative} 1 from a memory of an element",
            "energy.picojoules_per_array_byte": f"{relative} 2 from one element to another",
            "energy.picojoules_per_scratchpad_byte": f"{relative} 6 from the global buffer",
            "energy.picojoules_per_offchip_byte": f"{relative} 200 from DRAM",
            "energy.leakage_watts": f"{paper}: of 332 mW for AlexNet's first layer, what less than 10 % for "
            "products and up to 45 % for data leave, mostly the clock",
        },
    )


def _gemmini() -> Machine:
    paper = "Genc et al., Gemmini, DAC 2021"
    configuration = "ucb-bar/gemmini, src/main/scala/gemmini/Configs.scala, defaultConfig"
    energy, energies = scaled(256 * KIB, 16, 0.8)
    lanes = {"bool": 16, "i8": 16, "i16": 16, "i32": 16, "i64": 8}
    return Machine(
        name="gemmini-16",
        description="A Gemmini of 16 × 16 with 256 KiB of scratchpad, weight stationary",
        clock_hz=1e9,
        offchip=OffChip(
            bandwidth_bytes_per_second=16e9, read_latency_cycles=100, write_latency_cycles=100, burst_bytes=64
        ),
        scratchpad=Scratchpad(
            bytes=256 * KIB, banks=4, ports=4, bytes_per_cycle=64, burst_bytes=16, alignment_bytes=16
        ),
        dma=Dma(channels=2, setup_cycles=10, outstanding_requests=64),
        array=Systolic(rows=16, columns=16, dataflow="weight", weight_preload=True, rates=INTEGERS),
        vector=VectorUnit(lanes=lanes, table_lookups_per_cycle=16),
        reduction=ReductionUnit(lanes=lanes),
        energy=energy,
        sources={
            "clock_hz": f"{paper}: evaluated at 1 GHz",
            "offchip.bandwidth_bytes_per_second": f"{configuration}: a bus of 128 bits at the same clock",
            "offchip.read_latency_cycles": ASSUMED,
            "offchip.write_latency_cycles": ASSUMED,
            "scratchpad.bytes": f"{paper}: 256 KiB; the accumulators' 64 KiB are apart",
            "scratchpad.banks": f"{configuration}: four banks",
            "scratchpad.ports": f"{configuration}: a port a bank",
            "scratchpad.bytes_per_cycle": f"{configuration}: a row of 16 bytes a bank and cycle",
            "dma.channels": f"{paper}: loads and stores have queues of their own",
            "dma.setup_cycles": ASSUMED,
            "dma.outstanding_requests": f"{configuration}: max_in_flight_mem_reqs",
            "array.rows": f"{configuration}: a mesh of 16 × 16",
            "array.columns": f"{configuration}: a mesh of 16 × 16",
            "array.weight_preload": f"{paper}: elements have two registers for weights",
            "array.rates": "assumed: wider operands as sums of 8-bit products",
            "vector.lanes": "assumed: a row of 16 elements a cycle",
            "vector.table_lookups_per_cycle": "assumed: a row of 16 elements a cycle",
            "reduction.lanes": "assumed: a row of 16 elements a cycle",
            **energies,
        },
    )


def _tiny() -> Machine:
    made = "made up for tests: so small that every edge of a tile occurs"
    lanes = {"bool": 4, "i8": 4, "i16": 2, "i32": 2, "i64": 1}
    return Machine(
        name="tiny",
        description="An array of 4 × 4 with 2 KiB, for tests",
        clock_hz=100e6,
        offchip=OffChip(
            bandwidth_bytes_per_second=400e6, read_latency_cycles=10, write_latency_cycles=6, burst_bytes=16
        ),
        scratchpad=Scratchpad(
            bytes=2 * KIB, banks=2, ports=2, bytes_per_cycle=16, burst_bytes=4, alignment_bytes=4
        ),
        dma=Dma(channels=1, setup_cycles=4, outstanding_requests=3),
        array=Systolic(rows=4, columns=4, dataflow="output", rates=INTEGERS),
        vector=VectorUnit(lanes=lanes, fill_cycles=2),
        reduction=ReductionUnit(lanes=lanes, fill_cycles=2),
        memory=MemoryMode(),
        sources=dict.fromkeys(
            ("clock_hz", "offchip", "scratchpad", "dma", "array", "vector", "reduction"), made
        ),
    )


_MAKERS: dict[str, Callable[[], Machine]] = {
    "systolic-16": lambda: _systolic(16, 256 * KIB, 8e9, 16),
    "systolic-32": lambda: _systolic(32, 512 * KIB, 16e9, 32),
    "systolic-128": lambda: _systolic(128, 8 * MIB, 100e9, 256),
    "dot-256": lambda: _dot(16, 16, 256 * KIB, 8e9),
    "dot-1024": lambda: _dot(32, 32, 1 * MIB, 16e9),
    "nvdla-small": lambda: nvdla("nvdla-small", 8, 8, 128 * KIB, 1e9, small=True),
    "nvdla-large": lambda: nvdla("nvdla-large", 32, 64, 512 * KIB, 20e9, small=False),
    "tpu-v1": _tpu_v1,
    "eyeriss-v1": _eyeriss_v1,
    "gemmini-16": _gemmini,
    "tiny": _tiny,
    "imx93": imx93,
    "alif-e7": alif_e7,
    "simba-4": simba,
}
NAMES = tuple(_MAKERS)


@cache
def generic(name: str) -> Machine:
    """A machine of `NAMES`."""
    return _MAKERS[name]()
