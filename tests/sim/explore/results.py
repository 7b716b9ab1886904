"""Explorations made by hand: machines and formulas instead of simulations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sim.explore.exploration import Exploration
from sim.explore.objectives import Goal, Objective, objectives
from sim.explore.space import Space
from sim.explore.values import Range
from sim.explore.work import Outcomes

NAMES = ("latency", "energy")


def space() -> Space:
    return Space(
        "systolic-16",
        {
            "array.rows": [8, 16, 32, 64],
            "array.dataflow": ["weight", "output"],
            "scratchpad.bytes": Range(64 << 10, 1 << 20, scale="power_of_two"),
            "offchip.bandwidth_bytes_per_second": Range(1e9, 16e9),
            "planner.cascading": [True, False],
        },
    )


def exploration(count: int = 300, seed: int = 0, confirmed: int = 8) -> Exploration:
    """Fast machines cost energy; large ones are refused; events find a little more."""
    made = space()
    generator = np.random.default_rng(seed)
    candidates = tuple(made.at(generator.random((count, len(made.names)))))
    rows, flow, size, rate, cascading = (np.array(one) for one in zip(*candidates, strict=True))
    moved = 6e5 * (1 + 2e3 / size) * (1 - 0.01 * cascading)
    latency = np.maximum(1e-3 / rows * (1 + 0.1 * (flow == "output")), moved / rate) + 2e-5
    energy = 6e-11 * moved + 2e-5 * np.sqrt(rate / 1e9) + 1e-8 * rows + 5e-14 * size
    refused = rows * 0.03 + size * 2e-6 > 3
    latency[refused] = energy[refused] = np.nan
    reasons = tuple(
        f"area is {0.03 * r + 2e-6 * s:.3g}, above 3" if bad else ""
        for bad, r, s in zip(refused.tolist(), rows, size, strict=True)
    )
    columns = {"latency": latency, "energy": energy, "net.seconds": latency}
    settings = {"strategy": "random", "seed": seed, "mode": "analytic", "models": {"net": {"weight": 1.0}}}
    found = Exploration(
        made, objectives(NAMES), candidates, Outcomes(columns, reasons), {}, settings, True, 1.5
    )
    events = {
        int(number): Outcomes(
            {
                "latency": latency[[number]] * generator.uniform(1.0, 1.1),
                "energy": energy[[number]] * 1.01,
            },
            ("",),
        )
        for number in found.front_numbers[:confirmed]
    }
    return replace(found, confirmed=events)


def plain(
    rows: Sequence[Sequence[float]],
    goals: Sequence[Goal] = ("min", "min"),
    reasons: Sequence[str] = (),
    confirmed: dict[int, Outcomes] | None = None,
) -> Exploration:
    """Points with these objectives, `first`, `second` …; their clocks are 1 GHz, 2 GHz and so on."""
    names = ("first", "second", "third")[: len(goals)]
    made = Space("systolic-16", {"clock_hz": [1e9 * (number + 1) for number in range(max(len(rows), 1))]})
    asked = tuple(Objective(name, "s", _none, goal) for name, goal in zip(names, goals, strict=True))
    table = np.array(rows, float).reshape(len(rows), len(goals))
    outcomes = Outcomes(dict(zip(names, table.T, strict=True)), tuple(reasons) or ("",) * len(rows))
    candidates = tuple((1e9 * (number + 1),) for number in range(len(rows)))
    return Exploration(made, asked, candidates, outcomes, confirmed or {})


def _none(*_: object) -> np.ndarray:
    raise NotImplementedError
