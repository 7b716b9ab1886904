"""Arm's Ethos-U55, U65 and U85 with the system configurations and memory modes that Vela knows.

Figures are those of Vela 5.2.0: `config_files/Arm/vela.ini` for memories, the tables of its performance
models for output rates. A bandwidth is bytes of an AXI port a cycle × clock × clock scale × ports.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from math import ceil
from typing import Literal

from sim.machine.arrays import Block
from sim.machine.energies import scaled
from sim.machine.machine import Machine
from sim.machine.parts import Dma, Lane, MemoryMode, OffChip, ReductionUnit, Scratchpad, VectorUnit

VELA = "Vela 5.2.0"
INI = f"{VELA}, config_files/Arm/vela.ini"
KIB = 1 << 10
UNLIMITED = 1 << 30
"""Stands for Vela's limit where there is no cache: the address range, 4 GiB (U55) or 1 TiB (U65, U85)."""

CORSTONE = 2 << 20
"""Bytes of SRAM that Arm's reference system has for a U55."""


@dataclass(frozen=True, slots=True)
class Accelerator:
    """A variant: products a cycle of a core, cores, and elements a cycle that leave it, by type."""

    family: Literal["u55", "u65", "u85"]
    macs: int
    cores: int
    lanes: tuple[tuple[str, int], ...]
    system: str
    mode: str


@dataclass(frozen=True, slots=True)
class Side:
    """A memory behind AXI ports."""

    kind: Literal["dram", "flash", "sram"]
    clock_scale: float
    ports: int
    burst_bytes: int
    read_latency: int
    write_latency: int
    reads: int
    writes: int


@dataclass(frozen=True, slots=True)
class System:
    """A system configuration: the clock, the SRAM, and the second memory."""

    section: str
    clock_hz: float
    sram: Side
    second: Side


def _lanes(i8: int, i16: int, i32: int) -> tuple[tuple[str, int], ...]:
    return ("bool", i8), ("i8", i8), ("i16", i16), ("i32", i32), ("i64", max(1, i32 // 2))


_U55 = "high-end-embedded", "shared-sram-2mb"
_U65 = "high-end", "dedicated-sram-384kb"
_U85 = "sys-dram-mid", "dedicated-sram-384kb"

ACCELERATORS = {
    "ethos-u55-32": Accelerator("u55", 32, 1, _lanes(1, 1, 1), *_U55),
    "ethos-u55-64": Accelerator("u55", 64, 1, _lanes(2, 2, 1), *_U55),
    "ethos-u55-128": Accelerator("u55", 128, 1, _lanes(4, 4, 2), *_U55),
    "ethos-u55-256": Accelerator("u55", 256, 1, _lanes(8, 8, 4), *_U55),
    "ethos-u65-256": Accelerator("u65", 256, 1, _lanes(8, 8, 4), *_U65),
    "ethos-u65-512": Accelerator("u65", 256, 2, _lanes(16, 16, 8), *_U65),
    "ethos-u85-128": Accelerator("u85", 128, 1, _lanes(2, 2, 2), *_U85),
    "ethos-u85-256": Accelerator("u85", 256, 1, _lanes(4, 4, 4), *_U85),
    "ethos-u85-512": Accelerator("u85", 512, 1, _lanes(8, 8, 4), *_U85),
    "ethos-u85-1024": Accelerator("u85", 1024, 1, _lanes(16, 8, 4), *_U85),
    "ethos-u85-2048": Accelerator("u85", 2048, 1, _lanes(32, 16, 8), *_U85),
}

_COPIED_BEATS = {128: 64, 256: 104, 512: 128, 1024: 256, 2048: 256}
"""Beats of 16 bytes that the DMA of an Ethos-U85 can have under way, by its products a cycle."""

_AXI_BYTES = {"u55": 8, "u65": 16, "u85": 16}


def _sram(latency: int, requests: int, ports: int = 1, burst: int = 32) -> Side:
    return Side("sram", 1.0, ports, burst, latency, latency, requests, requests)


def _flash(scale: float, latency: int = 64) -> Side:
    return Side("flash", scale, 1, 128, latency, 0, 2, 0)


def _dram(scale: float, reads: int, writes: int, ports: int = 1) -> Side:
    return Side("dram", scale, ports, 128, 500, 250, reads, writes)


SYSTEMS: dict[str, dict[str, System]] = {
    "u55": {
        "deep-embedded": System("Ethos_U55_Deep_Embedded", 200e6, _sram(32, 8), _flash(0.0625)),
        "high-end-embedded": System("Ethos_U55_High_End_Embedded", 500e6, _sram(32, 4), _flash(0.125)),
    },
    "u65": {
        "embedded": System("Ethos_U65_Embedded", 500e6, _sram(32, 8), _flash(0.0625)),
        "mid-end": System("Ethos_U65_Mid_End", 500e6, _sram(32, 8), _dram(0.46875, 12, 6)),
        "high-end": System("Ethos_U65_High_End", 1e9, _sram(32, 16), _dram(0.234375, 24, 12)),
        "client-server": System("Ethos_U65_Client_Server", 1e9, _sram(32, 16), _dram(0.75, 24, 12)),
    },
    "u85": {
        "sys-flash-low": System("Ethos_U85_SYS_Flash_Low", 200e6, _sram(8, 8, 2, 64), _flash(0.0625, 32)),
        "sys-flash-high": System("Ethos_U85_SYS_Flash_High", 500e6, _sram(32, 8, 2, 64), _flash(0.0625)),
        "sys-dram-low": System("Ethos_U85_SYS_DRAM_Low", 500e6, _sram(16, 8, 2, 64), _dram(0.46875, 24, 12)),
        "sys-dram-mid": System("Ethos_U85_SYS_DRAM_Mid", 1e9, _sram(32, 8, 2, 64), _dram(0.75, 64, 32)),
        "sys-dram-high": System("Ethos_U85_SYS_DRAM_High", 1e9, _sram(32, 8, 4, 64), _dram(0.75, 64, 32, 2)),
    },
}

_NPU = MemoryMode(direct=True, copied="weights", compressed_weights=True)
"""Vela has the DMA copy weights, and tables, which have a memory of their own; all else stays where it is."""
_SHARED = _NPU.model_copy(update={"activations": "scratchpad"})

MODES: dict[str, tuple[str, MemoryMode, int]] = {
    "sram-only": (
        "Sram_Only",
        _SHARED.model_copy(update={"weights": "scratchpad", "constants": "scratchpad"}),
        UNLIMITED,
    ),
    "shared-sram": (
        "Shared_Sram",
        _SHARED,
        UNLIMITED,
    ),
    "shared-sram-2mb": (
        "Shared_Sram, with 2 MiB",
        _SHARED,
        CORSTONE,
    ),
    "dedicated-sram": ("Dedicated_Sram", _NPU, UNLIMITED),
    **{
        f"dedicated-sram-{size}kb": (
            f"Dedicated_Sram_{size}KB",
            _NPU,
            size * KIB,
        )
        for size in (256, 384, 512)
    },
}
"""Vela's section, where things live, and the size of the SRAM, by name."""


def combinations(accelerator: str) -> Iterator[tuple[str, str]]:
    """System configurations with the memory modes that they allow: flash cannot hold activations."""
    for system, about in SYSTEMS[ACCELERATORS[accelerator].family].items():
        for mode, (_, memory, _) in MODES.items():
            if memory.activations == "scratchpad" or about.second.kind != "flash":
                yield system, mode


@cache
def ethos(accelerator: str, system: str, mode: str) -> Machine:
    """A machine; the three names are known and go together."""
    about = ACCELERATORS[accelerator]
    configuration = SYSTEMS[about.family][system]
    section, memory, size = MODES[mode]
    ports = _AXI_BYTES[about.family]
    energy, energies = scaled(size, 16, 0.8)
    usual = (system, mode) == (about.system, about.mode)
    lanes: dict[str, Lane] = dict(about.lanes)
    return Machine(
        name=accelerator if usual else f"{accelerator}/{system}/{mode}",
        description=f"Arm Ethos-{about.family.upper()}, {about.macs * about.cores} MACs a cycle, "
        f"{configuration.section}, {section}",
        clock_hz=configuration.clock_hz,
        cores=about.cores,
        offchip=OffChip(
            kind=configuration.second.kind,
            bandwidth_bytes_per_second=_bytes_per_cycle(configuration.second, ports) * configuration.clock_hz,
            read_latency_cycles=configuration.second.read_latency,
            write_latency_cycles=configuration.second.write_latency,
            burst_bytes=configuration.second.burst_bytes,
            ports=configuration.second.ports,
            outstanding_reads=configuration.second.reads,
            outstanding_writes=configuration.second.writes or None,
        ),
        scratchpad=Scratchpad(
            bytes=size,
            banks=configuration.sram.ports,
            ports=configuration.sram.ports,
            bytes_per_cycle=_bytes_per_cycle(configuration.sram, ports),
            read_latency_cycles=configuration.sram.read_latency,
            write_latency_cycles=configuration.sram.write_latency,
            burst_bytes=configuration.sram.burst_bytes,
            alignment_bytes=16,
            outstanding_reads=configuration.sram.reads,
            outstanding_writes=configuration.sram.writes,
        ),
        dma=Dma(
            outstanding_requests=_requests(about, configuration.second, ports),
            gathered=about.family == "u85",
        ),
        array=Block(
            family=about.family, macs_per_cycle=about.macs, rates={"8x8": 1.0, "8x4": 1.0, "16x8": 0.5}
        ),
        vector=VectorUnit(lanes=lanes, table_lookups_per_cycle=float(lanes["i8"])),
        reduction=ReductionUnit(lanes=lanes),
        memory=memory,
        energy=energy,
        sources={**_sources(about, configuration, section, size, ports), **energies},
    )


def _requests(about: Accelerator, second: Side, port_bytes: int) -> int:
    """Requests under way; of those of an Ethos-U85, Vela takes four of five to be of use.

    On a U55 or U65 it has them limit nothing: there are as many as the latency takes.
    """
    requests = second.reads * second.ports
    if about.family != "u85":
        return max(
            requests, ceil(_bytes_per_cycle(second, port_bytes) * second.read_latency / second.burst_bytes)
        )
    return min(requests, round(0.8 * _COPIED_BEATS[about.macs] * 16 / second.burst_bytes))


def _bytes_per_cycle(side: Side, port_bytes: int) -> float:
    return port_bytes * side.clock_scale * side.ports


def _sources(
    about: Accelerator, configuration: System, section: str, size: int, ports: int
) -> dict[str, str]:
    system, mode = f"{INI}, System_Config.{configuration.section}", f"{INI}, Memory_Mode.{section}"
    axi = f"{system}, with AXI ports of {ports} bytes a cycle ({VELA}, ethosu/vela/architecture_features.py)"
    family = {"u55": "ethosu55", "u65": "ethosu65", "u85": "ethosu85"}[about.family]
    tables = f"{VELA}, ethosu/regor/architecture/{family}/ethos_{about.family}.cpp"
    limit = {
        UNLIMITED: "assumed, in place of the address range to which Vela limits it",
        CORSTONE: "Arm, ML embedded evaluation kit, memory considerations: SRAM of Corstone-300 for the NPU",
    }.get(size, mode)
    second = [
        "kind",
        "read_latency_cycles",
        "write_latency_cycles",
        "burst_bytes",
        "ports",
        "outstanding_reads",
    ]
    sram = ["ports", "read_latency_cycles", "write_latency_cycles", "burst_bytes"]
    return {
        "clock_hz": system,
        "cores": tables,
        **{f"offchip.{name}": system for name in (*second, "outstanding_writes")},
        "offchip.bandwidth_bytes_per_second": axi,
        "scratchpad.bytes": limit,
        "scratchpad.bytes_per_cycle": axi,
        **{f"scratchpad.{name}": system for name in (*sram, "outstanding_reads", "outstanding_writes")},
        "scratchpad.alignment_bytes": f"{VELA}, alignment of tensors in the arena",
        "scratchpad.banks": "assumed: one for each port",
        "dma.outstanding_requests": f"{system}, reads of the second memory at all its ports"
        + (
            f"; {tables}: beats of a channel, four of five of use"
            if about.family == "u85"
            else f", or as many as the latency takes: {VELA} has them limit nothing"
        ),
        "array.macs_per_cycle": tables,
        "array.rates": f"{VELA}, performance model: 16-bit data at half the rate; 8x4 assumed",
        "vector.lanes": f"{tables}, output cycles an element, rounded to whole elements; i64 assumed",
        "vector.table_lookups_per_cycle": "assumed: as many as 8-bit elements leave the unit",
        "reduction.lanes": f"{tables}, output cycles an element, rounded to whole elements; i64 assumed",
        "memory": mode,
    }
