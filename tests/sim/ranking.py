"""Machines drawn by chance from spaces as people explore them, and how alike two rankings of them are."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np

import sim

Changes = dict[str, Any]
KIB = 1 << 10
SYSTOLIC = ("systolic-16", "systolic-32")
ETHOS = ("ethos-u55-128", "ethos-u55-256", "ethos-u65-256", "ethos-u85-256", "ethos-u85-512")
MACS = {"u55": (32, 64, 128, 256), "u65": (256,), "u85": (128, 256, 512, 1024, 2048)}


def between(chance: Random, low: float, high: float) -> float:
    """A number between two others, on a logarithmic scale."""
    return float(f"{low * (high / low) ** chance.random():.3g}")


def memories(chance: Random) -> Changes:
    """The sizes and rates that every exploration asks for first."""
    return {
        "scratchpad.bytes": 32 * KIB << chance.randrange(8),
        "offchip.bandwidth_bytes_per_second": between(chance, 2e8, 3.2e10),
        "clock_hz": chance.choice((2e8, 5e8, 1e9)),
    }


def array(chance: Random) -> Changes:
    """A systolic array of some form."""
    return {
        "array.rows": 4 << chance.randrange(5),
        "array.columns": 4 << chance.randrange(5),
        "array.dataflow": chance.choice(("output", "weight", "input")),
    }


def block(chance: Random, base: str) -> Changes:
    """The products a cycle of an Ethos-U."""
    return {"array.macs_per_cycle": chance.choice(MACS[base.split("-")[1]])}


def rest(chance: Random, base: str) -> Changes:
    """Latencies, channels, lanes, the planner."""
    kinds = tuple(sim.machine(base).vector.lanes)
    lanes = 4 << chance.randrange(4)
    return {
        "offchip.read_latency_cycles": chance.choice((0, 20, 100, 300)),
        "dma.channels": chance.choice((1, 2, 4)),
        "vector.lanes": dict.fromkeys(kinds, lanes),
        "reduction.lanes": dict.fromkeys(kinds, lanes),
        "planner.double_buffering": chance.random() < 0.7,
        "planner.cascading": chance.random() < 0.7,
    }


def mode(chance: Random) -> Changes:
    """Where things live."""
    weights = chance.choice(("offchip", "offchip", "scratchpad"))
    return {
        "memory.direct": chance.random() < 0.5,
        "memory.activations": chance.choice(("offchip", "offchip", "scratchpad")),
        "memory.weights": weights,
        "memory.constants": weights,
    }


def narrow(chance: Random) -> tuple[str, Changes]:
    """Six fields of one machine, each of a short list."""
    return "systolic-16", {
        "array.rows": chance.choice((8, 16, 32)),
        "array.columns": chance.choice((8, 16, 32)),
        "array.dataflow": chance.choice(("output", "weight", "input")),
        "scratchpad.bytes": chance.choice((64, 128, 256, 512, 1024)) * KIB,
        "offchip.bandwidth_bytes_per_second": chance.choice((1e9, 2e9, 4e9, 8e9, 16e9)),
        "dma.channels": chance.choice((1, 2)),
    }


def systolic(chance: Random) -> tuple[str, Changes]:
    """All fields but memory modes, of systolic machines."""
    base = chance.choice(SYSTOLIC)
    return base, {**memories(chance), **array(chance), **rest(chance, base)}


def ethos(chance: Random) -> tuple[str, Changes]:
    """Memories, products and the planner of Ethos-Us, which fetch for themselves."""
    base = chance.choice(ETHOS)
    changes = {**memories(chance), **block(chance, base), **rest(chance, base)}
    del changes["vector.lanes"], changes["reduction.lanes"]
    return base, changes


def mixed(chance: Random) -> tuple[str, Changes]:
    """Everything, memory modes too."""
    base = chance.choice((*SYSTOLIC, *SYSTOLIC, *ETHOS))
    own = array(chance) if base in SYSTOLIC else block(chance, base)
    return base, {**memories(chance), **own, **rest(chance, base), **mode(chance)}


FAMILIES = {"narrow": narrow, "systolic": systolic, "ethos": ethos, "mixed": mixed}


def drawn(family: str, seed: object, count: int) -> list[sim.Machine]:
    """So many machines of a family that can be."""
    chance = Random(f"{family} {seed}")
    found: list[sim.Machine] = []
    while len(found) < count:
        base, changes = FAMILIES[family](chance)
        try:
            found.append(sim.machine(base).replace({"name": f"{family} {len(found)}", **changes}))
        except sim.MachineError:  # flash that activations would be written to
            continue
    return found


def ranks(values: np.ndarray) -> np.ndarray:
    """Places in the order of values; what is equal shares its mean place."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return (ends - (counts - 1) / 2)[place]


def spearman(one: np.ndarray, other: np.ndarray) -> float:
    """How alike two orders are: 1 if the same."""
    if np.ptp(one) == 0 or np.ptp(other) == 0:
        return float(np.ptp(one) == np.ptp(other))
    return float(np.corrcoef(ranks(one), ranks(other))[0, 1])


__all__ = ["FAMILIES", "drawn", "ranks", "spearman"]
