"""A workload on many machines at once, without a plan: for searches through designs.

Layers follow one another as in `estimate`; instead of a plan there is what a good one moves. A tensor stays
in the scratchpad if it fits beside all that lives at the same time. What a layer has to fetch is fetched once
if one side of it fits; otherwise one of the sides comes again for every part of the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from sim.analytic.fleet import Fleet
from sim.analytic.stripes import Striped, views
from sim.analytic.units import REFUSED, Units, units
from sim.analytic.workload import Tensors, Workload
from sim.machine.machine import Machine

Numbers = NDArray[np.float64]
TILES = 4
"""Parts that a layer's transfers come in, so that work and transfers overlap."""
CHUNK = 1 << 12
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
        return Estimates((), none, none, none, none, none > 0)
    return Estimates(
        given,
        np.concatenate([part.cycles for part in parts]),
        np.concatenate([part.seconds for part in parts]),
        np.concatenate([part.offchip_bytes for part in parts]),
        np.concatenate([part.joules for part in parts]),
        np.concatenate([part.feasible for part in parts]),
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
    cycles, seconds, offchip, joules, feasible = found
    return Estimates(tuple(machines), cycles, seconds, offchip, joules, feasible > 0)


def _timed(view: Striped, fleet: Fleet) -> tuple[Numbers, ...]:
    """Cycles, seconds, bytes, joules, and whether it can be, of machines that run the workload alike."""
    workload = view.workload
    worked = units(view, fleet)
    moved = traffic(view, fleet)
    cycles = timeline(view, fleet, worked, moved)
    feasible = moved.feasible & np.all(worked.cycles < REFUSED, axis=1)
    offchip = (moved.read + moved.written).sum(axis=1)
    seconds = cycles / fleet["clock"][:, 0]
    near = worked.near.sum(axis=1) + offchip
    joules = (
        1e-12
        * (
            workload.macs.sum() * fleet["mac_energy"]
            + workload.operations.sum() * fleet["operation_energy"]
            + near[:, None] * fleet["pad_energy"]
            + offchip[:, None] * fleet["offchip_energy"]
        )[:, 0]
        + seconds * fleet["leakage"][:, 0]
    )
    lost = np.where(feasible, 1.0, np.inf)
    return cycles * lost, seconds * lost, offchip, joules, feasible


@dataclass(frozen=True)
class Moved:
    """What layers move between the memories, by machine and layer."""

    values: Numbers
    """Bytes of activations read, with repetitions."""
    weights: Numbers
    constants: Numbers
    written: Numbers
    places: Numbers
    """How many activations come from outside, and how many leave."""
    leaving: Numbers
    parts: Numbers
    """Tiles that the room asks for."""
    after: NDArray[np.bool_]
    """Whether the layer fetches what the layer in front stored."""
    feasible: NDArray[np.bool_]

    @property
    def read(self) -> Numbers:
        """Bytes read."""
        return self.values + self.weights + self.constants


def traffic(view: Striped, fleet: Fleet) -> Moved:
    """What layers move, as a function of the scratchpad's size; machines of equal sizes move the same."""
    names = ("bytes", "weights_in", "constants_in", "values_in")
    keys, places = np.unique(np.hstack([fleet[name] for name in names]), axis=0, return_inverse=True)
    found = _moved(view, *(keys[:, column, None] for column in range(len(names))))
    return Moved(*(getattr(found, one.name)[places.ravel()] for one in fields(Moved)))


def _moved(
    view: Striped, size: Numbers, weights_in: Numbers, constants_in: Numbers, inside: Numbers
) -> Moved:
    workload, tensors = view.workload, view.tensors
    weights = np.where(weights_in, 0, workload.weights)
    room = size - np.where(weights_in, workload.weights.sum(), 0)
    room = room - np.where(constants_in, workload.constants.sum(), 0)
    stays = np.where(inside, True, _fitting(tensors, np.minimum(weights, size / 4), room))
    away = ~stays * tensors.bytes
    left = np.maximum(room - tensors.alive(stays * tensors.bytes), 64)
    values = tensors.read.sums(away[:, tensors.read.tensors])
    written = tensors.written.sums(away[:, tensors.written.tensors])
    # One side is kept while the other passes: each comes once if half of the room holds one of them.
    half = left / 2
    fits = (weights <= half) | (values <= half)
    ratio = np.where(workload.weights > 0, workload.stored / np.maximum(workload.weights, 1), 1)
    again_values = np.where(fits, 1, np.ceil(weights / half))
    again_weights = np.where(fits, 1, np.ceil(values / half))
    hold = values * again_values + weights * ratio <= values + weights * again_weights * ratio
    outside = (away > 0).astype(np.float64)
    coming = outside[:, tensors.read.tensors]
    peak = tensors.alive(tensors.bytes).max(initial=0)
    feasible = (workload.least.max(initial=0) <= room) & (~(inside > 0) | (peak <= room))
    return Moved(
        np.where(hold, values * again_values, values),
        weights * ratio * np.where(hold, 1, again_weights),
        np.where(constants_in, 0, workload.constants),
        written,
        tensors.read.sums(coming),
        tensors.written.sums(outside[:, tensors.written.tensors]),
        np.ceil((values + weights + written) / half),
        tensors.read.sums(coming * tensors.after) > 0,
        feasible[:, 0],
    )


def _fitting(tensors: Tensors, working: Numbers, room: Numbers) -> NDArray[np.bool_]:
    """Tensors that fit at all times beside everything else that lives, and space to work in."""
    needed = tensors.alive(tensors.bytes) + working
    fits = np.zeros((len(room), len(tensors.names)), bool)
    for number in np.flatnonzero(tensors.kept):
        span = needed[:, tensors.first[number] : tensors.last[number] + 1]
        fits[:, number] = span.max(axis=1, initial=0) <= room[:, 0]
    return fits


def timeline(view: Striped, fleet: Fleet, worked: Units, moved: Moved) -> Numbers:
    """Cycles of all layers, one after another, each as long as its slowest part."""
    step = _Steps.of(view, fleet, worked, moved)
    now = np.broadcast_to(fleet["launch"][:, 0], (len(fleet.machines),)).copy()
    idle, last = now.copy(), np.zeros_like(now)
    single = fleet["channels"][:, 0] < 2
    columns = (
        moved.after,
        step.constants,
        step.values,
        step.total,
        step.later,
        step.total / step.parts,
        step.last,
    )
    rows = [np.ascontiguousarray(np.broadcast_to(one, moved.after.shape).T) for one in columns]
    for after, first, values, total, later, each, stores in zip(*rows, strict=True):
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


@dataclass(frozen=True)
class _Steps:
    """Times of layers, by machine and layer."""

    total: Numbers
    constants: Numbers
    """Of the first loads of constants, and of values."""
    values: Numbers
    later: Numbers
    """Of all other loads."""
    last: Numbers
    """Of the last stores."""
    parts: Numbers

    @staticmethod
    def of(view: Striped, fleet: Fleet, worked: Units, moved: Moved) -> _Steps:
        """From cycles of units and bytes moved."""
        workload, stripes = view.workload, view.stripes
        read_latency, write_latency = fleet["read_latency"], fleet["write_latency"]
        reading, writing = (_rate(fleet, latency) for latency in (read_latency, write_latency))
        direct = fleet.flag("direct")
        each_read, each_write = fleet["setup"] + read_latency, fleet["setup"] + write_latency
        parts = np.maximum(
            np.maximum(moved.parts, stripes), np.where(moved.values + moved.weights > 4096, TILES, 1)
        )
        constants_out = ~fleet.flag("constants_in")
        count = workload.loads + workload.small * (stripes - 1)
        loads = np.where(direct, np.minimum(workload.loads, 1), count) * constants_out
        small = np.where(direct, 0, moved.constants / reading)
        weights, values = moved.weights / reading, moved.values / reading
        resident = moved.values > 0  # weights stay where values come tile by tile
        pieces = np.where(resident, 1, parts)
        some = (moved.weights > 0) * 1.0
        constants = loads * each_read + small + weights / pieces
        first = moved.places * each_read + values / parts
        later = (pieces - 1) * some * each_read + weights * (1 - 1 / pieces)
        later += (parts - 1) * moved.places * each_read + values * (1 - 1 / parts)
        stores = moved.written / writing + parts * moved.leaving * each_write
        reach = np.where(direct & constants_out, moved.constants / fleet["rate"] + read_latency, 0)
        pad = np.maximum(worked.near / fleet["inside"], worked.stream / fleet["port"])
        alone = np.maximum(worked.cycles, pad + (worked.near > 0) * fleet["pad_latency"])
        alone = np.maximum(alone, reach * (workload.loads > 0))
        whole = np.where(fleet["channels"] > 1, np.maximum(later, stores), later + stores)
        behind = np.where(fleet.flag("double"), 0, later + stores * (1 - 1 / parts))
        far = (moved.read + moved.written) / fleet["rate"] - constants - first
        return _Steps(
            np.maximum(np.maximum(alone + behind, whole), far), constants, first, later, stores / parts, parts
        )


def _rate(fleet: Fleet, latency: Numbers) -> Numbers:
    """Bytes a cycle of a transfer: no more than what can be under way during a latency."""
    with np.errstate(divide="ignore"):
        waves = fleet["outstanding"] * fleet["burst"] / latency
    return np.minimum(np.minimum(fleet["rate"], fleet["inside"]), waves)
