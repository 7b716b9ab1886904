"""How long the layers take on many machines, and what waits for what: the best of the ways to run each.

What a layer needs comes in boxes through the DMA. Where units reach out to the off-chip memory, only its
constants do, or nothing. Of these ways each layer takes the one that the planner likes best.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sim.analytic.fleet import Fleet
from sim.analytic.stripes import Striped
from sim.analytic.traffic import Moved
from sim.analytic.units import Units, away
from tiling.choose import BEYOND

Numbers = NDArray[np.float64]
Flags = NDArray[np.bool_]
TILES = 4
"""Parts that a layer's transfers come in, so that work and transfers overlap."""
WORTH_TILES = 4096
"""Bytes that are worth that."""


@dataclass(frozen=True)
class Steps:
    """Times of layers, by machine and layer."""

    total: Numbers
    constants: Numbers
    """Of the first loads of constants, and of values."""
    values: Numbers
    later: Numbers
    """Of all other loads."""
    last: Numbers
    """Of the last stores."""
    each: Numbers
    """Of one tile."""
    early: Flags
    """Whether first loads come while the layer in front is at work."""
    after: Flags
    """Whether it waits for what the layer in front stored."""
    offchip: Numbers
    """Bytes."""
    near: Numbers
    """Bytes in and out of the scratchpad."""

    @property
    def columns(self) -> tuple[Numbers | Flags, ...]:
        """What a timeline needs, in its order."""
        return (
            self.after, self.early, self.constants, self.values, self.total, self.later, self.each, self.last
        )  # fmt: skip


def steps(view: Striped, fleet: Fleet, worked: Units, moved: Moved) -> Steps:
    """The steps of each layer, in the way that suits it."""
    common = _Common.of(view, fleet, worked, moved)
    boxed, price = common.boxed()
    direct = fleet.flag("direct")
    if not direct.any():
        return boxed
    far = away(view.workload, fleet, worked)
    constants, constants_price = common.reaching(True, *far)
    nothing, nothing_price = common.reaching(False, *far)
    allowed = (moved.values + moved.written > 0) & ~fleet.flag("weights_alone")
    price = np.where(allowed, price, np.inf)
    best = np.minimum(constants_price, nothing_price)
    ways = [direct & (best < price), direct & (best < price) & (nothing_price < constants_price)]
    found = []
    for pair in zip(_fields(boxed), _fields(constants), _fields(nothing), strict=True):
        found.append(np.where(ways[1], pair[2], np.where(ways[0], pair[1], pair[0])))
    return Steps(*found)


def _fields(step: Steps) -> Iterator[Numbers | Flags]:
    return iter(vars(step).values())


@dataclass(frozen=True)
class _Common:
    """What all ways have in common."""

    fleet: Fleet
    worked: Units
    moved: Moved
    taken: Numbers
    """Bytes of weights as they leave the scratchpad: coded, without filling that the array does not take."""
    passing: Numbers
    """Bytes between units and memories, weights as they are taken."""
    rows: Numbers
    """Of tables: how many, and bytes."""
    reading: Numbers
    """Bytes a cycle of transfers."""
    writing: Numbers
    each_read: Numbers
    """Cycles of a transfer beside its bytes."""
    each_write: Numbers
    parts: Numbers
    """Tiles."""
    counts: tuple[Numbers, Numbers]
    """How many constants have boxes: where all have, and where units reach out for others."""
    held: Numbers
    """Bytes of constants beside weights that have boxes where units reach out for others."""
    single: Numbers
    """Whether transfers of one tile wait for another: 1 or 0."""

    @staticmethod
    def of(view: Striped, fleet: Fleet, worked: Units, moved: Moved) -> _Common:
        workload, stripes = view.workload, view.stripes
        latencies = fleet["read_latency"], fleet["write_latency"]
        double = fleet.flag("double")
        overlapped = double & (moved.values + moved.weights > WORTH_TILES)
        outside = ~fleet.flag("constants_in")
        more, alone = workload.small * (stripes - 1), fleet.flag("weights_alone")
        count = np.where(alone, workload.fixed, workload.large + more)
        share = workload.held / np.maximum(workload.constants, 1)
        coded = np.where(fleet.flag("filled"), moved.coded, np.minimum(moved.coded, 1))
        taken = worked.constants * coded
        return _Common(
            fleet,
            worked,
            moved,
            taken,
            worked.inputs + worked.outputs + taken,
            workload.tables,
            _rate(fleet, latencies[0]),
            _rate(fleet, latencies[1]),
            fleet["setup"] + latencies[0],
            fleet["setup"] + latencies[1],
            np.maximum(np.maximum(moved.parts, stripes), np.where(overlapped, TILES, 1)),
            ((workload.loads + more) * outside, count * outside),
            np.where(alone, 0, share * moved.constants),
            np.where(double, 0.0, 1.0),
        )

    def boxed(self) -> tuple[Steps, Numbers]:
        """Everything comes and goes in boxes; with the price that the planner sees."""
        moved, parts = self.moved, self.parts
        values, places = moved.values / self.reading, moved.places * self.each_read
        stores = moved.written / self.writing + parts * moved.leaving * self.each_write
        constants, later = self._constants(self.counts[0], moved.constants, resident=moved.values > 0)
        first = places + values / parts
        later = later + (parts - 1) * places + values * (1 - 1 / parts)
        alone = self._alone(self.passing)
        behind = self.single * (later + stores * (1 - 1 / parts))
        dma = self._both(later, stores)
        size = moved.read + moved.written
        far = size / self.fleet["rate"]
        near = self.passing + size
        pad = near / self.fleet["inside"]
        total = np.maximum(np.maximum(alone + behind, dma), np.maximum(far, pad) - constants - first)
        total = total + self._tables()
        every = self._both(constants + first + later, stores)
        busy = np.maximum(alone + behind + first + stores / parts, every)
        price = self._price(np.maximum(busy, np.maximum(far, pad)), size, near)
        return self._steps(total, constants, first, later, stores / parts, moved.after, size, near), price

    def reaching(self, boxes: bool, inputs: Numbers, outputs: Numbers) -> tuple[Steps, Numbers]:
        """Units fetch and leave activations where they are; constants have boxes or not.

        Inputs and outputs are bytes that move where none of them is in the scratchpad.
        """
        moved, worked, fleet = self.moved, self.worked, self.fleet
        coming, going = inputs * moved.values_away, outputs * moved.results_away
        boxed = moved.weights + self.held if boxes else np.zeros_like(moved.weights)
        every = moved.weights + moved.constants
        fetched = np.where(boxed > 0, every - boxed, worked.constants * moved.coded * (every > 0))
        far, slow = coming + going + fetched, np.maximum(np.maximum(coming, going), fetched)
        near = self.passing - worked.inputs * moved.values_away - worked.outputs * moved.results_away
        near = near - np.where(boxed > 0, fetched, self.taken * (every > 0))
        alone = np.maximum(self._alone(near), self._reach(far, slow))
        none = np.zeros_like(alone)
        stay = np.ones(alone.shape, bool)
        found = self._constants(self.counts[1], self.held, resident=stay)
        constants, later = found if boxes else (none, none)
        size = far + boxed
        time = size / fleet["rate"]
        busy = alone + self.single * later
        near = near + boxed
        pad = near / fleet["inside"]
        total = np.maximum(np.maximum(busy, later), np.maximum(time, pad) - constants)
        turns = np.where(coming + going > 0, constants + later, 0)
        beyond = np.where(moved.beyond & boxes, 1 + BEYOND, 1)
        price = self._price(np.maximum(busy + turns, np.maximum(time, pad)), size, near) * beyond
        step = self._steps(total, constants, none, later, none, np.zeros_like(moved.after), size, near)
        return step, price

    def _price(self, cycles: Numbers, offchip: Numbers, near: Numbers) -> Numbers:
        """What the planner makes least."""
        fleet = self.fleet
        found: Numbers = (
            fleet["cycle_price"] * cycles + fleet["offchip_price"] * offchip + fleet["pad_price"] * near
        )
        return found

    def _both(self, loads: Numbers, stores: Numbers) -> Numbers:
        """Time of loads and stores, beside each other or not."""
        return np.where(self.fleet["channels"] > 1, np.maximum(loads, stores), loads + stores)

    def _constants(self, count: Numbers, others: Numbers, resident: Flags) -> tuple[Numbers, Numbers]:
        """Loads of constants: the first ones, and others.

        Weights stay where values come tile by tile, or where nothing is gained by their coming in parts.
        """
        moved, weights = self.moved, self.moved.weights / self.reading
        whole = (resident | (weights > self.worked.cycles)) & (moved.slices == 1)
        pieces = np.where(whole, 1, self.parts)
        some = moved.weights > 0
        first = count * self.each_read + others / self.reading + weights / pieces
        return first, (pieces - 1) * some * self.each_read + weights * (1 - 1 / pieces)

    def _tables(self) -> Numbers:
        """What tables take beyond their bytes that come in parts, so that rows are shorter than bursts."""
        rows, run = self.rows.T
        chosen = self.moved.tables > 1
        if not chosen.any():
            return np.zeros(1)
        burst, parts = self.fleet["burst"], self.moved.tables
        bursts = np.where(chosen, parts * rows * np.ceil(run / parts / burst), 0)
        latency = self.fleet["read_latency"] / self.fleet["outstanding"]
        time = bursts * np.maximum(burst / self.fleet["rate"], latency)
        longer: Numbers = np.maximum(time - chosen * rows * run / self.reading, 0)
        return longer

    def _alone(self, near: Numbers) -> Numbers:
        """Of the units, with what the scratchpad makes of them."""
        fleet = self.fleet
        stream = np.minimum(self.worked.stream, near)
        pad = np.maximum(near / fleet["inside"], stream / fleet["port"])
        pad = pad + (near > 0) * np.where(fleet.flag("pays_latencies"), 0, fleet["pad_latency"])
        return np.maximum(self.worked.cycles, pad)

    def _reach(self, far: Numbers, slow: Numbers) -> Numbers:
        """Of the off-chip memory for what units fetch there, of which `slow` is the longest stream."""
        fleet = self.fleet
        latency = np.where(fleet.flag("pays_latencies"), 0, fleet["read_latency"])
        return np.maximum(far / fleet["rate"], slow / fleet["far"]) + (far > 0) * latency

    def _steps(
        self,
        total: Numbers,
        constants: Numbers,
        values: Numbers,
        later: Numbers,
        last: Numbers,
        after: Flags,
        offchip: Numbers,
        near: Numbers,
    ) -> Steps:
        return Steps(
            total, constants, values, later, last, total / self.parts, self.moved.early, after, offchip, near
        )


def _rate(fleet: Fleet, latency: Numbers) -> Numbers:
    """Bytes a cycle of a transfer: no more than what can be under way during a latency."""
    with np.errstate(divide="ignore"):
        waves = fleet["outstanding"] * fleet["burst"] / latency
    return np.minimum(np.minimum(fleet["rate"], fleet["inside"]), waves)
