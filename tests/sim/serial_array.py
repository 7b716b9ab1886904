"""A kind of array as users define one, in a module of their own."""

from __future__ import annotations

from typing import Literal

from sim.cost.arrays import ArrayCosts, Task, Words, costs_for
from sim.cost.work import Work
from sim.machine.arrays import BYTES_ONLY, MacArray, Side
from sim.machine.parts import Rates


class Serial(MacArray):
    """An array that does one product after another."""

    factors = ("lanes",)

    kind: Literal["serial"] = "serial"
    lanes: Side
    rates: Rates = BYTES_ONLY


@costs_for(Serial)
class SerialCosts(ArrayCosts[Serial]):
    """As many cycles as products."""

    def product(self, hardware: Serial, task: Task) -> Work | None:
        groups, rows, window, columns = task.product
        words = Words(groups * rows * window, groups * window * columns, groups * rows * columns)
        steps = -(-groups * rows * window * columns // hardware.lanes)
        return task.work(task.rate.stretch(steps), words)
