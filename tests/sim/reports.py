"""Reports made by hand."""

from __future__ import annotations

import random

from sim.report import OperatorReport, Report, Span
from sim.report.values import Traffic, summed

UNITS = ("array", "vector", "reduction", "dma")


def operator(random: random.Random, number: int, start: int) -> OperatorReport:
    unit = random.choice(UNITS) if number else "array"
    cycles = {
        "compute": random.randrange(2_000, 40_000),
        "fill": random.randrange(200),
        "input": random.randrange(3_000),
        "weights": random.randrange(9_000) if unit == "array" else 0,
        "output": random.randrange(900),
        "dependency": random.randrange(500) if number % 3 == 2 else 0,
        "launch": 800 if number == 0 else 0,
    }
    traffic: Traffic = {
        ("offchip", "read", "weights"): random.randrange(20_000) if unit == "array" else 0,
        ("offchip", "read", "activations"): random.randrange(9_000),
        ("scratchpad", "read", "activations"): 100_000,
        ("scratchpad", "write", "activations"): 20_000,
    }
    return OperatorReport(
        f"CONV2D conv{number}",
        (f"conv{number}", f"rescale{number}"),
        (number,),
        unit,
        cycles,
        {unit: cycles["compute"], "dma": cycles["weights"] + cycles["input"]},
        cycles["compute"] * random.randrange(20, 120) if unit == "array" else 0,
        cycles["compute"] * 4,
        traffic,
        {"macs": 1e-7 * cycles["compute"], "offchip": 2e-6},
        {"mac_cycles": cycles["compute"]},
        lanes_of(cycles["compute"], number),
        start,
        start + sum(cycles.values()),
    )


def lanes_of(computing: int, number: int) -> dict[str, int]:
    """Of every fourth operator it is not known what lanes do."""
    if number % 4 == 3:
        return {}
    useful, edges = computing // 3, computing // (number + 5)
    return {"useful": useful, "channels": computing - useful - edges, "edges": edges}


def report(operators: int = 9, machine: str = "ethos-u55-128", seed: int = 0, tiles: int = 8) -> Report:
    """A report with everything in it."""
    draw, parts, spans, occupancy = random.Random(seed), [], [], [(0, 0)]
    now = 0
    for number in range(operators):
        one = operator(draw, number, now)
        period = one.total // tiles
        size = one.offchip_bytes // tiles
        spans.append(Span(one.unit, one.label, "compute", now + period // 3, period // 2, period, tiles))
        spans.append(Span("dma 0", one.label, "load", now, period // 3, period, tiles, size))
        occupancy.append((now, draw.randrange(5_000, 60_000)))
        parts.append(one)
        now += one.total
    return Report(
        machine,
        "ds_cnn",
        "events",
        500e6,
        now,
        tuple(parts),
        summed((one.busy, 1) for one in parts),
        summed((one.traffic, 1) for one in parts),
        max(size for _, size in occupancy),
        65_536,
        128.0,
        8.0,
        summed((one.energy, 1) for one in parts),
        tuple(occupancy),
        tuple(spans),
    )


def empty() -> Report:
    """A program that does nothing."""
    return Report("tiny", "nothing", "events", 1e9, 0, ())
