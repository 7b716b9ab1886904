"""What units take for the layers of a workload, on many machines: arrays of machines × layers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sim.analytic.fleet import Fleet
from sim.analytic.stripes import Striped
from sim.analytic.workload import MAP, MOVE, PRODUCT, REDUCE, Workload, by_side
from sim.cost.arrays import Layers, Product, Words
from sim.cost.costs import Costs, datapath_of
from sim.cost.datapath import Datapath
from sim.cost.sites import sites_of
from sim.cost.support import UnsupportedError, array_rate, lane_steps, operand_types
from sim.cost.vector import CYCLES, MOVED_BYTES
from sim.cost.work import ARRAY_BYTES, ELEMENT_BYTES, SPARED_MACS
from sim.machine.machine import Machine

Numbers = NDArray[np.float64]
Lanes = dict[str, int]
REFUSED = 1e20
"""Cycles of what a machine cannot do; not infinite, since doing it zero times takes none."""
COLUMNS = 6
"""Of what is remembered of a layer: times and bytes."""
INSIDE = (ELEMENT_BYTES, ARRAY_BYTES, SPARED_MACS)
AWAY = 2
"""At the end of what is remembered: bytes of what units fetch from the off-chip memory, and leave there."""
REMEMBERED = 1 << 12
"""Rows of numbers kept for parts of machines."""


@dataclass(frozen=True)
class Units:
    """Of each layer on each machine."""

    cycles: Numbers
    """`REFUSED` or more where a machine cannot do it."""
    inputs: Numbers
    """Bytes between the unit and the memories: of activations read, of constants, of results."""
    constants: Numbers
    outputs: Numbers
    stream: Numbers
    """Those of the longest stream among them."""

    def __iter__(self) -> Iterator[Numbers]:
        return iter((self.cycles, self.inputs, self.constants, self.outputs, self.stream))


def units(view: Striped, fleet: Fleet, cuts: Numbers, slices: Numbers) -> Units:
    """What the layers take."""
    workload = view.workload
    shape = len(fleet.machines), len(workload)
    found = Units(*(np.empty(shape) for _ in range(5)))
    closed = fleet.closed
    if closed.any():
        part = fleet if closed.all() else fleet.some(np.flatnonzero(closed))
        for whole, some in zip(found, _closed(view, part, cuts[closed], slices[closed]), strict=True):
            whole[closed] = some
    for place in np.flatnonzero(~closed):
        cycles, fill, *rest = _remembered(workload, fleet.machines[place])[:COLUMNS]
        # Pipelines fill for each tile.
        cycles = cycles + (cuts[place] * slices[place] - 1) * fill
        for whole, row in zip(found, (cycles, *rest), strict=True):
            whole[place] = row
    return found


def away(workload: Workload, fleet: Fleet, worked: Units) -> tuple[Numbers, Numbers]:
    """Bytes of activations read, and of results, where units find them in the off-chip memory."""
    inputs, outputs = worked.inputs.copy(), worked.outputs.copy()
    for place in np.flatnonzero(~fleet.closed & fleet.flag("direct")[:, 0]):
        inputs[place], outputs[place] = _remembered(workload, fleet.machines[place])[-AWAY:]
    return inputs, outputs


def inside(workload: Workload, fleet: Fleet) -> Numbers:
    """Picojoules inside arrays, by machine, less those of products that are spared."""
    found = np.zeros(len(fleet.machines))
    for place, machine in enumerate(fleet.machines):
        if machine.array is not None and machine.array.keeps_words:
            own, way, spared = _remembered(workload, machine)[COLUMNS:-AWAY].sum(axis=1)
            found[place] = machine.energy.inside(own, way) - spared * machine.energy.picojoules_per_mac
    return found


def _closed(view: Striped, fleet: Fleet, cuts: Numbers, slices: Numbers) -> Units:
    """Of machines with a closed form."""
    workload = view.workload
    steps, streams, sums, rates = _rows(workload, fleet)
    cores = fleet["cores"]
    scalar = _scalar(steps, workload.step_points, workload.longest, fleet) / cores
    # Type by type, since machines × layers × types would be larger than all else.
    coming = np.zeros_like(scalar)
    for number in range(len(workload.types)):
        np.maximum(coming, streams[:, number, None] * workload.stream_points[:, number], out=coming)
    coming = np.maximum(coming, workload.lookups / fleet["lookups"]) / cores
    streamed = [np.broadcast_to(column, scalar.shape).copy() for column in workload.streamed.T]
    found = Units(np.maximum(scalar, coming) + fleet["vector_fill"], *streamed)
    for kind, function in ((REDUCE, _reduced), (MOVE, _moved), (PRODUCT, _products)):
        chosen = workload.kind == kind
        if chosen.any():
            given = Units(*(one[:, chosen] for one in found))
            part = function(
                workload,
                fleet,
                chosen,
                _Parts(
                    cuts[:, chosen] * view.stripes[chosen],
                    slices[:, chosen],
                    scalar,
                    coming,
                    steps,
                    sums,
                    rates,
                ),
                given,
            )
            for whole, some in zip(found, part, strict=True):
                whole[:, chosen] = some
    assert MAP not in (REDUCE, MOVE, PRODUCT)
    return replace(found, cycles=np.maximum(np.ceil(found.cycles), 1))


@dataclass(frozen=True)
class _Parts:
    cuts: Numbers
    slices: Numbers
    scalar: Numbers
    coming: Numbers
    steps: Numbers
    sums: Numbers
    rates: Numbers


def _reduced(workload: Workload, fleet: Fleet, chosen: Any, parts: _Parts, given: Units) -> Units:
    results, length, tree, times, values = workload.reduction[chosen].T
    slots = fleet["cores"] / parts.sums[:, workload.reduced[chosen], 1]
    once = fleet.flag("keeps_windows")
    share = np.where(once, values / (results * length), 1.0)
    beside = np.where(once, np.ceil(np.maximum(results, values) / slots), np.ceil(results / slots) * length)
    cycles = np.where(tree > 0, results * np.ceil(length / slots), beside) * times
    fill = fleet["reduction_fill"] + (tree > 0) * np.ceil(np.log2(np.maximum(np.minimum(slots, length), 1)))
    cycles = np.maximum(cycles, np.maximum(parts.scalar[:, chosen], parts.coming[:, chosen] * share)) + fill
    inputs, stream = given.inputs * share, np.maximum(given.stream * share, given.outputs)
    return replace(given, cycles=cycles, inputs=inputs, stream=stream)


def _moved(workload: Workload, fleet: Fleet, chosen: Any, parts: _Parts, given: Units) -> Units:
    runs, size, indirect = workload.moves[chosen].T
    width = np.where(np.isinf(fleet["inside"]), MOVED_BYTES, fleet["inside"] * 1.0)
    cycles = runs * np.maximum(1, size / width) + fleet["setup"]
    by_vector = ((indirect > 0) & ~fleet.flag("gathered")) | ((runs > 1) & ~fleet.flag("strided"))
    looked = np.maximum(parts.coming[:, chosen], runs / fleet["lookups"]) + fleet["vector_fill"]
    return replace(given, cycles=np.where(by_vector, looked, cycles))


def _products(workload: Workload, fleet: Fleet, chosen: Any, parts: _Parts, given: Units) -> Units:
    """Products: on the array at the rate of their types, or on the vector unit."""
    passes, slow = (parts.rates[:, workload.pair[chosen], n] for n in (0, 1))
    product = Product(*(extent[None] for extent in workload.product[chosen].T))
    usable = np.isfinite(passes) & (product.groups > 0)
    passes, slow = np.where(usable, passes, 1), np.where(usable, slow, 1)
    # Each stripe is a product of its own, and so is each tile.
    layers = Layers(product, parts.cuts, parts.slices, fleet["cores"], passes, slow)
    found, on_array = Units(*(np.zeros(given.cycles.shape) for _ in range(5))), np.zeros_like(usable)
    for form, some, figures in fleet.arrays:
        found.cycles[some], words = form.products(figures, layers.of(some))
        for sums, own in zip(tuple(found)[1:], _bytes(workload, chosen, words, passes[some]), strict=True):
            sums[some] = own
        on_array[some] = usable[some]
    np.maximum(found.cycles, parts.scalar[:, chosen], out=found.cycles)
    if on_array.all():
        return found
    others = replace(given, cycles=_by_vector(workload, fleet, chosen, parts))
    return Units(*(np.where(on_array, *pair) for pair in zip(found, others, strict=True)))


def _bytes(workload: Workload, chosen: Any, words: Words, passes: Numbers) -> tuple[Numbers, ...]:
    """Bytes of inputs, constants, results, and of the longest of these streams."""
    sizes, fixed = workload.values[chosen].T, workload.fixed[chosen]
    inputs, factors = words.inputs * sizes[0] * passes, words.weights * sizes[1] * passes
    outputs = words.outputs * sizes[2]
    longest = np.maximum(np.maximum(inputs, factors), outputs)
    return inputs + np.where(fixed, 0, factors), np.where(fixed, factors, 0), outputs, longest


def _by_vector(workload: Workload, fleet: Fleet, chosen: Any, parts: _Parts) -> Numbers:
    """Cycles of products that the vector unit does."""
    points, longest = workload.product_points[chosen], workload.product_longest[chosen]
    own = (
        _scalar(parts.steps, points, longest, fleet)
        + workload.macs[chosen] * parts.sums[:, workload.reduced[chosen], 0]
    )
    cycles: Numbers = np.maximum(own / fleet["cores"], parts.coming[:, chosen]) + fleet["vector_fill"]
    return cycles


def _scalar(steps: Numbers, points: Numbers, longest: Numbers, fleet: Fleet) -> Numbers:
    """Cycles of scalar operations, of which each of a unit's stages does one at a time."""
    found: Numbers = steps @ points.T / fleet["stages"]
    if (fleet["stages"] > 1).any():
        for number in range(points.shape[1]):
            np.maximum(found, steps[:, number, None] * longest[:, number], out=found)
    return found


def _rows(workload: Workload, fleet: Fleet) -> tuple[Numbers, Numbers, Numbers, Numbers]:
    """For each machine: cycles of a scalar step, of an element that comes or goes, of a sum, of a product."""
    known: dict[Any, int] = {}
    rows: list[tuple[Numbers, Numbers, Numbers, Numbers]] = []
    places = []
    for machine in fleet.machines:
        vector, array = machine.vector, machine.array
        key = (
            tuple(vector.lanes.items()),
            tuple(vector.cycles.items()),
            tuple(machine.reduction.lanes.items()),
            None if array is None else tuple(array.rates.items()),
            machine.missing_types,
        )
        place = known.get(key)
        if place is None:
            place = known[key] = len(rows)
            rows.append(_row(workload, machine))
        places.append(place)
    steps, streams, sums, rates = (np.array(part)[places] for part in zip(*rows, strict=True))
    return steps, streams, sums, rates


def _row(workload: Workload, machine: Machine) -> tuple[Numbers, Numbers, Numbers, Numbers]:
    vector, refuse = machine.vector, machine.missing_types == "refuse"
    lanes = {type: _cost(vector.lanes, type, refuse) for type, _, _ in workload.steps}
    each = [
        lanes[type] * vector.cycles.get(name, vector.cycles.get(kind, CYCLES.get(kind, 1)))
        for type, name, kind in workload.steps
    ]
    coming = [_cost(vector.lanes, type, refuse) for type in workload.types]
    combined = [_cost(machine.reduction.lanes, type, refuse) for type in workload.types]
    sums = np.stack((np.array(coming), np.array(combined)), axis=-1)
    return np.array(each), np.array(coming), sums, _rates(workload, machine, refuse)


def _cost(lanes: Lanes, type: str, refuse: bool) -> float:
    """Cycles of an element."""
    found = lane_steps(lanes, type)
    if found is None or (found[1] > 1 and refuse):
        return REFUSED
    return found[1] / found[0]


def _rates(workload: Workload, machine: Machine, refuse: bool) -> Numbers:
    """Passes of each pair of types, and cycles of a product in all of them; infinite for the vector unit."""
    array, found = machine.array, []
    for pair in workload.pairs:
        rate = None if array is None else array_rate(array.rates, *pair)
        if array is not None and refuse and operand_types(*pair) not in array.rates:
            found.append((REFUSED, REFUSED))
        else:
            found.append((np.inf, np.inf) if rate is None else (rate.passes, rate.passes / rate.rate))
    return np.array(found or [(np.inf, np.inf)], np.float64)


def _remembered(workload: Workload, machine: Machine) -> Numbers:
    """Of a machine without a closed form: whole layers, computed once for machines that share a datapath."""
    path, reaches_out = datapath_of(machine), machine.memory.direct
    found: Numbers | None = workload.cache.get((path, reaches_out))
    if found is None:
        if len(workload.cache) >= REMEMBERED:
            workload.cache.clear()
        found = workload.cache[path, reaches_out] = _worked(workload, path, reaches_out)
    return found


def _worked(workload: Workload, path: Datapath, reaches_out: bool) -> Numbers:
    """By layer: cycles, those in which pipelines fill, bytes by side, of the longest stream, and `INSIDE`.

    At the end is `AWAY`; where units do not reach out, it is what moves near them.
    """
    costs, rows = Costs(path), []
    for nest in workload.nests:
        operands = [workload.operands[access.operand] for access in nest.accesses]
        sites = sites_of(operands, [one.kind == "constant" for one in operands]) if reaches_out else ()
        try:
            work = costs.work(nest, nest.extents)
            far = costs.work(nest, nest.extents, sites)
        except UnsupportedError:
            rows.append((REFUSED, *(0.0,) * (COLUMNS - 1 + len(INSIDE) + AWAY)))
            continue
        sides = by_side(nest, workload.operands, work.traffic)
        coming, _, going = by_side(nest, workload.operands, far.traffic)
        detail = dict(work.detail)
        own = (detail.get(name, 0) for name in INSIDE)
        rows.append((work.cycles, work.fill, *sides, max(work.traffic, default=0), *own, coming, going))
    return np.array(rows, np.float64).reshape(-1, COLUMNS + len(INSIDE) + AWAY).T
