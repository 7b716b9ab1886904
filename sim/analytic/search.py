"""A workload on many machines at once, without a plan: for searches through designs.

Layers follow one another as in `estimate`; instead of a plan there is what a good one moves. A tensor stays
in the scratchpad if it fits beside all that lives at the same time. What a layer has to fetch is fetched once
if one side of it fits; otherwise one of the sides comes again for every part of the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from sim.analytic.fleet import Fleet
from sim.analytic.reasons import reasons, roomy
from sim.analytic.steps import Steps, steps
from sim.analytic.stripes import Striped, views
from sim.analytic.traffic import traffic
from sim.analytic.units import REFUSED, inside, units
from sim.analytic.workload import Workload
from sim.machine.machine import Machine

Numbers = NDArray[np.float64]
CHUNK = 1 << 11
"""Machines at a time."""


@dataclass(frozen=True)
class Estimates:
    """What a workload takes on each machine."""

    machines: tuple[Machine, ...]
    cycles: Numbers
    seconds: Numbers
    offchip_bytes: Numbers
    joules: Numbers
    feasible: NDArray[np.bool_]
    """Whether the machine has room for it and can do all of it; what is not feasible has infinite cycles."""
    reasons: tuple[str, ...]
    """Why it is not: the resource, the demand, the bound, and what would help; empty where it is."""

    def __len__(self) -> int:
        return len(self.machines)

    def best(self, count: int = 10) -> tuple[Machine, ...]:
        """The fastest machines."""
        return tuple(self.machines[place] for place in np.argsort(self.seconds, kind="stable")[:count])


def evaluate(workload: Workload, machines: Sequence[Machine]) -> Estimates:
    """What the workload takes on each machine."""
    given = tuple(machines)
    parts = [_evaluate(workload, given[low : low + CHUNK]) for low in range(0, len(given), CHUNK)]
    if not parts:
        none = np.zeros(0)
        return Estimates((), none, none, none, none, none > 0, ())
    return Estimates(
        given,
        np.concatenate([part.cycles for part in parts]),
        np.concatenate([part.seconds for part in parts]),
        np.concatenate([part.offchip_bytes for part in parts]),
        np.concatenate([part.joules for part in parts]),
        np.concatenate([part.feasible for part in parts]),
        tuple(chain.from_iterable(part.reasons for part in parts)),
    )


def _evaluate(workload: Workload, machines: Sequence[Machine]) -> Estimates:
    fleet = Fleet.of(machines)
    found = [np.zeros(len(machines)) for _ in range(5)]
    for view, numbers in views(workload, machines):
        some = fleet if len(numbers) == len(machines) else fleet.some(numbers)
        part = _timed(view, some)
        if view.whole is not None:
            other = _timed(view.whole, some)
            better = other[1] < part[1]
            part = tuple(np.where(better, *pair) for pair in zip(other, part, strict=True))
        for values, own in zip(found, part, strict=True):
            values[numbers] = own
    cycles, seconds, offchip, joules, able = found
    feasible = (able > 0) & roomy(workload, machines)
    cycles[~feasible] = seconds[~feasible] = np.inf
    why = reasons(workload, machines, feasible)
    return Estimates(tuple(machines), cycles, seconds, offchip, joules, feasible, why)


def _timed(view: Striped, fleet: Fleet) -> tuple[Numbers, ...]:
    """Cycles, seconds, bytes, joules, and whether units can do all, of machines that run it alike."""
    workload = view.workload
    moved = traffic(view, fleet)
    worked = units(view, fleet, moved.cuts, moved.slices)
    taken = steps(view, fleet, worked, moved)
    cycles = timeline(fleet, taken)
    able = np.all(worked.cycles < REFUSED, axis=1)
    offchip = taken.offchip.sum(axis=1)
    seconds = cycles / fleet["clock"][:, 0]
    near = taken.near.sum(axis=1)
    joules = (
        1e-12
        * (
            (
                workload.macs.sum()
                - workload.skipped.sum() * fleet["skips"]
                - workload.zeros.sum() * fleet["skips_zeros"]
            )
            * fleet["mac_energy"]
            + workload.operations.sum() * fleet["operation_energy"]
            + inside(workload, fleet)[:, None]
            + near[:, None] * fleet["pad_energy"]
            + offchip[:, None] * fleet["offchip_energy"]
        )[:, 0]
        + seconds * fleet["leakage"][:, 0]
    )
    return cycles, seconds, offchip, joules, able


def timeline(fleet: Fleet, step: Steps) -> Numbers:
    """Cycles of all layers, one after another, each as long as its slowest part."""
    now = np.broadcast_to(fleet["launch"][:, 0], (len(fleet.machines),)).copy()
    idle, last = now.copy(), np.zeros_like(now)
    single = fleet["channels"][:, 0] < 2
    rows = [np.ascontiguousarray(one.T) for one in step.columns]
    before = now.copy()
    for after, early, first, values, total, later, each, stores in zip(*rows, strict=True):
        # What a layer needs first comes while the layer in front is at work, if there is room.
        np.maximum(idle, np.where(early, before, now), out=idle)
        before = now.copy()
        now += last * after
        np.maximum(idle, now, out=idle, where=after)
        idle += first
        np.maximum(now, idle, out=now, where=first > 0)
        idle += values
        np.maximum(now, idle, out=now, where=values > 0)
        now += total
        loading = later > 0
        idle += later
        np.maximum(idle, now - each, out=idle, where=loading)
        np.maximum(idle, now, out=idle, where=single & (stores > 0))
        last = stores
    return np.ceil(now + last)
