"""What the lanes of a unit do while it computes: useful work and, by reason, the time that some of them idle.

A tile's cycles are taken apart along a ladder: what they would be if every lane did useful work all the time,
then with one restriction of the hardware after the other, up to what they are. The steps come from the same
figures as the cycles, so that their sum is these cycles, exactly. Names are `sim.report.LANES`.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from sim.cost.work import Work

Lanes = Mapping[str, Fraction]
"""Cycles of a tile, those of filling and draining left out, by what they are spent on."""


class Ladder:
    """Cycles by reason, as far as they are explained."""

    def __init__(self, useful: Fraction | int) -> None:
        self.reached = Fraction(useful)
        self.found = {"useful": self.reached}

    def reach(self, reason: str, cycles: Fraction | int) -> None:
        """So many cycles there are with one more restriction; fewer than before change nothing."""
        if cycles > self.reached:
            self.found[reason] = self.found.get(reason, Fraction(0)) + cycles - self.reached
            self.reached = Fraction(cycles)

    def grow(self, reason: str, factor: Fraction | int) -> None:
        """So many times as many cycles there are with one more restriction."""
        self.reach(reason, self.reached * factor)

    def fill(self, name: str, extent: int, whole: int, lanes: int) -> None:
        """Lanes along which `extent` of a layer's `whole` is laid: some idle if it is no multiple of them.

        That is for `name` if the layer has less than the lanes, and otherwise for what is left at its edge.
        """
        self.grow(name if whole < lanes else "edges", Fraction(-(-extent // lanes) * lanes, max(1, extent)))

    def end(self, work: Work, reason: str = "other") -> Lanes:
        """All cycles of the work: those not explained yet are for a reason, and none is counted twice."""
        whole = work.cycles - work.fill
        self.reach(reason, whole)
        found: dict[str, Fraction] = {}
        left = Fraction(whole)
        for name, cycles in self.found.items():
            if taken := min(cycles, left):
                found[name], left = taken, left - taken
        return found
