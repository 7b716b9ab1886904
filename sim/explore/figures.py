"""What workloads take on machines, as columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sim.explore.values import Numbers

if TYPE_CHECKING:
    from sim.report.report import Report

FIGURES = ("seconds", "cycles", "joules", "offchip_bytes")
"""What is kept of each workload, besides the objectives."""


@dataclass(frozen=True)
class Figures:
    """What a workload takes on machines: a column each, nan where it cannot be, with the reason."""

    cycles: Numbers
    seconds: Numbers
    joules: Numbers
    offchip_bytes: Numbers
    reasons: tuple[str, ...]
    """Empty where it can be."""
    reports: tuple[Report | None, ...] = ()
    """Of the event simulator, if that was asked; the closed form makes none."""

    def __len__(self) -> int:
        return len(self.reasons)

    @staticmethod
    def of(reports: Sequence[Report | str]) -> Figures:
        """Those of reports; a text is the reason why there is none."""
        found = [None if isinstance(one, str) else one for one in reports]
        rows = [
            (np.nan,) * 4 if one is None else (one.cycles, one.latency_seconds, one.joules, one.offchip_bytes)
            for one in found
        ]
        columns = np.array(rows, np.float64).reshape(len(rows), 4).T
        reasons = tuple(one if isinstance(one, str) else "" for one in reports)
        cycles, seconds, joules, offchip = columns
        return Figures(cycles, seconds, joules, offchip, reasons, tuple(found))
