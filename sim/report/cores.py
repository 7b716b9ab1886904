"""Reports of several cores: the whole, each core, what passed between them, and what bounds the speed-up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from sim.report.report import Report
from sim.report.values import UNITS, moved
from sim.report.words import aligned, percent, size


@dataclass(frozen=True, slots=True, repr=False)
class CoresReport(Report):
    """The cost of a program on several cores, each with commands and a time of its own.

    Its cycles by operator and cause are those of the core that ends last; work, traffic and energy are those
    of all. `cores` has a report for each.
    """

    cores: tuple[Report, ...] = ()
    split: str = ""
    """How groups are shared: `rows`, `channels`, `pipeline`, or several of these."""
    between_bytes: int = 0
    """Bytes that cores took from each other."""
    multicast_bytes: int = 0
    """Bytes that were loaded once for several cores."""
    alone_cycles: int = 0
    """Cycles on one core that has the off-chip memory for itself; 0 where that is not known."""
    undivided_cycles: int = 0
    """Those of them in groups that are not shared."""

    @property
    def utilisation(self) -> dict[str, float]:
        """Share of the time in which a unit works, on average over the cores, from 0 to 1."""
        time = self.cycles * len(self.cores)
        return {unit: count / time if time else 0.0 for unit, count in self.busy.items()}

    @property
    def speedup(self) -> float | None:
        """How much sooner it ends than on one core; None where that is not known."""
        return self.alone_cycles / self.cycles if self.alone_cycles and self.cycles else None

    @property
    def bounds(self) -> dict[str, float]:
        """What no speed-up exceeds: by the cores, by what they share (Amdahl), by the off-chip bandwidth."""
        count, alone = len(self.cores), self.alone_cycles
        if not alone:
            return {}
        rest = self.undivided_cycles
        found = {"cores": float(count), "work": alone / (rest + (alone - rest) / count)}
        if self.offchip_bytes_per_cycle and self.offchip_bytes:
            found["bandwidth"] = alone * self.offchip_bytes_per_cycle / self.offchip_bytes
        return found

    def whole(self) -> Report:
        """The report without what it says of cores."""
        return Report(**{field.name: getattr(self, field.name) for field in fields(Report)})

    def to_text(self, operators: int | None = None) -> str:
        """The totals, a line for each operator or for so many of the slowest ones, and one for each core."""
        from sim.report.text import report_text

        return report_text(self, operators) + "\n\n" + cores_text(self)

    def trace(self) -> dict[str, Any]:
        """Trace events, for Perfetto: a process for each core."""
        from sim.report.trace import trace

        return trace(*self.cores)

    def write_trace(self, path: str | Path) -> None:
        """Write a file that https://ui.perfetto.dev opens, with a process for each core."""
        from sim.report.trace import write_trace

        write_trace(path, *self.cores)

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> CoresReport:
        """The report from the result of `to_dict`."""
        from sim.report.data import from_dict

        inner = data.get("cores", ()) if isinstance(data, Mapping) else ()
        return from_dict(CoresReport, {**data, "cores": [Report.from_dict(one) for one in inner]})

    @staticmethod
    def from_json(source: str | Path) -> CoresReport:
        """The report from JSON text or a JSON file."""
        from sim.report.data import json_of

        return CoresReport.from_dict(json_of(source))


def cores_text(report: CoresReport) -> str:
    """A line for each core, and what bounds all of them."""
    rows = [["core", "cycles", "array", "vector", "waiting", "off-chip"]]
    for core in report.cores:
        used = core.busy
        shares = [percent(used.get(unit, 0) / report.cycles if report.cycles else 0.0) for unit in UNITS[:2]]
        waits = core.causes["dependency"] + report.cycles - core.cycles
        waiting = percent(waits / report.cycles if report.cycles else 0.0)
        rows.append(
            [core.program, f"{core.cycles:,}", *shares, waiting, size(moved(core.traffic, "offchip"))]
        )
    lines = aligned(rows, right=range(1, 6))
    once = f", {size(report.multicast_bytes)} loaded once for several" if report.multicast_bytes else ""
    lines.append(f"split by {report.split}; {size(report.between_bytes)} from core to core{once}")
    if report.speedup is not None:
        bounds = ", ".join(f"{name} {value:.2f}" for name, value in report.bounds.items())
        lines.append(f"{report.speedup:.2f} times as fast as one core; bounds: {bounds}")
    return "\n".join(lines)
