"""Drawn machines, and the ways in which one is better than another."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

import sim

NAMED = (*sim.machines(), "ethos-u65-256/high-end/dedicated-sram-384kb", "ethos-u55-128/shared-sram")
MODES = "ethos-u85-256/sys-dram-mid/dedicated-sram-384kb", "ethos-u85-512/sys-dram-low/dedicated-sram-256kb"
ALL = (*NAMED, *MODES)


def machine(seed: int) -> sim.Machine:
    """A named machine, half of the time as it is, else with other memories."""
    random = Random(-seed - 1)
    found = sim.machine(random.choice(ALL))
    if random.random() < 0.5:
        return found
    rate = found.offchip.bandwidth_bytes_per_second or 1e9
    return found.replace(
        {
            "scratchpad.bytes": 64 * round(2 ** random.uniform(5, 15)),
            "offchip.bandwidth_bytes_per_second": rate * 2 ** random.uniform(-3, 3),
            "offchip.read_latency_cycles": random.choice([0, 20, 100, 400]),
            "dma.channels": random.choice([1, 2]),
            "dma.outstanding_requests": random.choice([1, 4, 16, 64]),
            "dma.setup_cycles": random.choice([0, 16, 100]),
        }
    )


@dataclass(frozen=True, slots=True)
class Law:
    """A part of which more is better."""

    name: str
    changed: Callable[[sim.Machine, float], Mapping[str, Any]]
    """The part's figures, so many times as good."""


def _rate(machine: sim.Machine, factor: float) -> Mapping[str, Any]:
    rate = machine.offchip.bandwidth_bytes_per_second
    return {"offchip.bandwidth_bytes_per_second": None if rate is None else rate * factor}


def more_level2(machine: sim.Machine, factor: float) -> Mapping[str, Any]:
    """A larger level 2 or, where there is none, one that is as fast as the off-chip memory."""
    if machine.level2 is not None:
        return {"level2.bytes": round(machine.level2.bytes * factor)}
    figures = ("bandwidth_bytes_per_second", "read_latency_cycles", "write_latency_cycles", "burst_bytes")
    same = {name: getattr(machine.offchip, name) for name in figures}
    return {"level2": {**same, "bytes": round(machine.scratchpad.bytes * factor)}}


LAWS = (
    Law("scratchpad", lambda m, f: {"scratchpad.bytes": -(-round(m.scratchpad.bytes * f) // 64) * 64}),
    Law("bandwidth", _rate),
    Law("clock", lambda m, f: {"clock_hz": m.clock_hz * f}),
    Law("channels", lambda m, f: {"dma.channels": m.dma.channels + 1}),
    Law("requests", lambda m, f: {"dma.outstanding_requests": round(m.dma.outstanding_requests * f + 0.5)}),
    Law("level 2", more_level2),
)
