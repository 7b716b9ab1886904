"""Workloads that are quick, and some that go wrong; workers import them from here."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sim.explore.explore import Question
from sim.explore.figures import Figures
from sim.explore.objectives import objectives
from sim.explore.space import Space
from sim.explore.values import Range
from sim.explore.work import Impossible
from sim.machine.machine import Machine
from sim.report.report import Report
from sim.report.values import OperatorReport

SPACE = Space(
    "systolic-16",
    {
        "array.rows": [4, 8, 16, 32],
        "array.columns": [4, 8, 16, 32],
        "scratchpad.bytes": Range(1 << 12, 1 << 20),
        "offchip.bandwidth_bytes_per_second": Range(1e9, 16e9),
    },
)


@dataclass
class Product:
    """So many MACs, and so many bytes that come again where the scratchpad is small."""

    name: str = "product"
    weight: float = 1.0
    digest: str = "1"
    least: int = 1 << 14
    """Bytes of the scratchpad below which it cannot be."""

    def cycles(self, machine: Machine) -> int:
        """What both modes say, so that they can be told apart only by a factor."""
        again = max(1, (1 << 18) // machine.scratchpad.bytes)
        bytes_per_cycle = machine.offchip_bytes_per_cycle or 1.0
        return int(1e6 / machine.macs_per_cycle + again * 1e4 / bytes_per_cycle)

    def analytic(self, machines: Sequence[Machine]) -> Figures:
        """The closed form."""
        cycles = np.array([self.cycles(one) for one in machines], np.float64)
        size = np.array([one.scratchpad.bytes for one in machines], np.float64)
        reasons = tuple("" if one >= self.least else f"{one:.0f} bytes are too few" for one in size)
        joules = cycles * 1e-9 + size * 1e-12
        return Figures(cycles, cycles / machines[0].clock_hz, joules, cycles * 2, reasons)

    def events(self, machine: Machine) -> Report:
        """The event simulator: an eighth more."""
        if machine.scratchpad.bytes < self.least:
            raise Impossible(f"{machine.scratchpad.bytes} bytes are too few")
        cycles = self.cycles(machine) * 9 // 8
        one = OperatorReport("x", (), (), "array", {"compute": cycles}, energy={"macs": cycles * 1e-9})
        return Report(machine.name, self.name, "events", machine.clock_hz, cycles, (one,), energy=one.energy)


@dataclass
class Counting(Product):
    """Counts what it is asked."""

    asked: list[int] = field(default_factory=list)
    followed: list[Machine] = field(default_factory=list)

    def analytic(self, machines: Sequence[Machine]) -> Figures:
        """Count machines."""
        self.asked.append(len(machines))
        return super().analytic(machines)

    def events(self, machine: Machine) -> Report:
        """Note the machine."""
        self.followed.append(machine)
        return super().events(machine)


@dataclass
class Deadly(Product):
    """Ends the process that evaluates certain machines, as often as there are files to delete."""

    folder: str = ""

    def analytic(self, machines: Sequence[Machine]) -> Figures:
        """End, if one of them has many rows and columns, and there is a file left."""
        if any(one.macs_per_cycle == 1024 for one in machines) and self._takes_one():
            os.kill(os.getpid(), signal.SIGKILL)
        return super().analytic(machines)

    def _takes_one(self) -> bool:
        """Whether there was a file that this process, and no other at the same time, has deleted."""
        for one in sorted(Path(self.folder).iterdir()):
            with suppress(FileNotFoundError):
                one.unlink()
                return True
        return False


def lives(folder: Path, count: int) -> str:
    """A folder with so many files."""
    for number in range(count):
        (folder / str(number)).touch()
    return str(folder)


class Wrong(Exception):
    """What goes wrong in somebody's function."""


@dataclass
class Failing(Product):
    """Prints, and raises for certain machines."""

    def analytic(self, machines: Sequence[Machine]) -> Figures:
        """Raise."""
        print("this is not an answer", flush=True)
        if any(one.macs_per_cycle == 1024 for one in machines):
            raise Wrong("there are too many of them")
        return super().analytic(machines)


def question(work: Product | None = None, **changes: Any) -> Question:
    """Three hundred points of the space."""
    wanted: dict[str, Any] = {
        "space": SPACE, "works": (work or Product(),), "objectives": objectives(("latency", "energy")),
        "strategy": "random", "points": 300,
    }  # fmt: skip
    return Question(**{**wanted, **changes})
