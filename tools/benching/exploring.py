"""Rows about exploration: machines a second, a hundred thousand points, and what a second worker brings."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from statistics import median
from typing import Any

from benching.client import ROOT, model_files, our_environment
from benching.npu import answer_of
from benching.rows import Case, Plan, Row, duration

RATES = {"ds_cnn": (2000.0, 20_000), "mobilenet_v2": (500.0, 10_000)}
"""Machines a second with two workers that are asked for, and how many points are explored for that."""
MANY, MANY_SECONDS, MANY_BYTES = 100_000, 90.0, 1 << 30
SCALING, SCALED = 1.8, ("mobilenet_v2", 60_000)
TURNS = 3


def explored(model: str, points: int, workers: int) -> dict[str, Any]:
    """An exploration in a new process."""
    script = str(ROOT / "tools/benching/explore_ours.py")
    command = [sys.executable, script, str(model_files(model)), str(points), str(workers)]
    return answer_of(command, our_environment())


def rates(plan: Plan) -> Iterator[Row]:
    """Machines a second, workers' start included."""
    for model, (least, points) in RATES.items():
        found = explored(model, points, 2)
        rate = points / found["seconds"]
        yield Row(
            case=f"{model}, explored, 2 workers",
            ours=f"{rate:,.0f} machines a second",
            target=f"≥ {least:,.0f}",
            met=rate >= least,
            note=f"{points:,} points, from the call to the result",
            detail=found,
        )


def scaling(plan: Plan) -> Iterator[Row]:
    """Two workers against one, by turns; beside it what the machine gives two processes that only count."""
    model, points = SCALED
    pairs = [(explored(model, points, 2), explored(model, points, 1)) for _ in range(TURNS)]
    control = median(2 * _counting(1) / _counting(2) for _ in range(TURNS))
    two, one = (median(pair[place]["seconds"] for pair in pairs) for place in range(2))
    ratio = median(one["seconds"] / two["seconds"] for two, one in pairs)
    yield Row(
        case=f"{model}, {points:,} points, 2 workers",
        ours=duration(two),
        peer=f"{duration(one)} 1 worker",
        ratio=f"{ratio:.2f} × as fast",
        target=f"≥ {SCALING:g} ×",
        met=ratio >= SCALING,
        note=f"two processes that only count are {control:.2f} × as fast as one here",
        detail={"pairs": pairs, "counting": control},
    )


def _counting(processes: int) -> float:
    """Seconds that so many processes take to count, each as far."""
    command = [sys.executable, "-P", "-c", "for _ in range(40_000_000): pass"]
    start = time.perf_counter()
    running = [subprocess.Popen(command) for _ in range(processes)]
    for process in running:
        process.wait()
    return time.perf_counter() - start


def many(plan: Plan) -> Iterator[Row]:
    """A hundred thousand points: time, and memory of all processes together."""
    found = explored("ds_cnn", MANY, 2)
    name = f"ds_cnn, {MANY:,} points of 6 fields"
    yield Row(
        case=name,
        ours=duration(found["seconds"]),
        target=f"≤ {MANY_SECONDS:g} s",
        met=found["seconds"] <= MANY_SECONDS,
        note=f"the store has {found['store_bytes'] / MANY:.0f} bytes a point",
        detail=found,
    )
    yield Row(
        case=f"{name}, memory of all processes",
        ours=f"{found['peak_bytes'] / (1 << 20):.0f} MiB",
        target="≤ 1 GiB",
        met=found["peak_bytes"] <= MANY_BYTES,
        detail=found,
    )


EXPLORING = (Case("explore_rates", rates), Case("explore_scaling", scaling), Case("explore_many", many))
