"""Explorations made by hand."""

from __future__ import annotations

import random
from typing import Any

FIELDS = (
    "array.rows",
    "array.columns",
    "array.dataflow",
    "scratchpad.bytes",
    "offchip.bandwidth_bytes_per_second",
)


def exploration(points: int = 200, seed: int = 0) -> dict[str, Any]:
    """The data of a page: machines of five fields, some of them infeasible."""
    draw = random.Random(seed)
    rows = [_point(draw, number) for number in range(points)]
    columns: dict[str, Any] = {name: [row[name] for row in rows] for name in rows[0]}
    feasible = [row for row in rows if not row["reason"]]
    front = _front(feasible)
    columns["front"] = [row["number"] in front for row in rows]
    columns["confirmed"] = {
        "latency": [
            row["latency"] * draw.uniform(0.95, 1.2) if row["number"] in front else None for row in rows
        ]
    }
    best = {
        name: min(feasible, key=lambda row: row[name])["number"] for name in ("latency", "energy", "area")
    }
    return {
        "title": "ds_cnn, variations of systolic-16",
        "fields": list(FIELDS),
        "objectives": [
            {"name": "latency", "unit": "s", "goal": "min"},
            {"name": "energy", "unit": "J", "goal": "min"},
            {"name": "area", "unit": "mm²", "goal": "min"},
        ],
        "points": columns,
        "sensitivity": [
            {"field": field, "objective": objective, "value": draw.random()}
            for field in FIELDS
            for objective in ("latency", "energy", "area")
        ],
        "summary": [
            ["space", f"{points:,} points of 5 fields"],
            ["analytic and events differ by", "3.1 % at most"],
        ],
        "base": "systolic-16",
        "best": best,
    }


def _point(draw: random.Random, number: int) -> dict[str, Any]:
    rows, columns = draw.choice([4, 8, 12, 16, 24, 32, 48, 64]), draw.choice([4, 8, 12, 16, 24, 32, 48, 64])
    size, rate = draw.choice([1 << n for n in range(13, 22)]), round(draw.uniform(0.5e9, 16e9), -6)
    dataflow = draw.choice(["output", "weight", "input"])
    reason = (
        ""
        if size >= 130 * rows * 8
        else f"conv{number % 7}: {130 * rows * 8:,} bytes do not fit in {size:,} bytes"
    )
    work = 2.6e6 / (rows * columns * (0.55 + 0.4 / rows)) + 6e9 * 1e3 / rate / (size / 8192) ** 0.4
    factor = {"output": 1.0, "weight": 1.15, "input": 1.4}[dataflow] * draw.uniform(0.9, 1.15)
    return {
        "number": number,
        "array.rows": rows,
        "array.columns": columns,
        "array.dataflow": dataflow,
        "scratchpad.bytes": size,
        "offchip.bandwidth_bytes_per_second": rate,
        "latency": None if reason else work * factor * 1e-9,
        "energy": None
        if reason
        else (2e-6 + size * 1.1e-12 + rows * columns * 9e-10 + work * 3e-12) * factor,
        "area": None if reason else 0.2 + size * 2e-6 + rows * columns * 4e-4 + rate * 2e-11,
        "reason": reason,
    }


def _front(rows: list[dict[str, Any]]) -> set[int]:
    """Numbers of the machines that no other one beats, of the first few hundred by latency."""
    kept: list[dict[str, Any]] = []
    for row in sorted(rows, key=lambda row: row["latency"]):
        if not any(one["energy"] <= row["energy"] and one["area"] <= row["area"] for one in kept):
            kept.append(row)
    return {row["number"] for row in kept}
