"""What units take for the layers of a workload, on many machines: arrays of machines × layers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sim.analytic.fleet import DATAFLOWS, Fleet
from sim.analytic.stripes import Striped
from sim.analytic.workload import MAP, MOVE, PRODUCT, REDUCE, Workload
from sim.cost import systolic
from sim.cost.costs import Costs
from sim.cost.support import UnsupportedError, array_rate, lane_steps, operand_types
from sim.cost.vector import CYCLES, MOVED_BYTES
from sim.machine.machine import Machine
from sim.machine.parts import Systolic

Numbers = NDArray[np.float64]
Lanes = dict[str, int]
REFUSED = 1e20
"""Cycles of what a machine cannot do; not infinite, since doing it zero times takes none."""
REMEMBERED = 1 << 12
"""Rows of numbers kept for parts of machines."""


@dataclass(frozen=True)
class Units:
    """Of each layer on each machine."""

    cycles: Numbers
    """`REFUSED` or more where a machine cannot do it."""
    near: Numbers
    """Bytes between the unit and the scratchpad."""
    stream: Numbers
    """Those of the longest stream among them."""


def units(view: Striped, fleet: Fleet) -> Units:
    """What the layers take."""
    workload = view.workload
    shape = len(fleet.machines), len(workload)
    found = Units(np.empty(shape), np.empty(shape), np.empty(shape))
    closed = np.array([m.array is None or isinstance(m.array, Systolic) for m in fleet.machines], bool)
    if closed.any():
        part = (
            fleet
            if closed.all()
            else Fleet(
                tuple(m for m, one in zip(fleet.machines, closed, strict=True) if one), fleet.figures[closed]
            )
        )
        for whole, some in zip(_fields(found), _fields(_closed(view, part)), strict=True):
            whole[closed] = some
    for place in np.flatnonzero(~closed):
        row = _remembered(workload, fleet.machines[place])
        found.cycles[place], found.near[place], found.stream[place] = row
    return found


def _fields(found: Units) -> tuple[Numbers, Numbers, Numbers]:
    return found.cycles, found.near, found.stream


def _closed(view: Striped, fleet: Fleet) -> Units:
    """Of machines with a systolic array or none."""
    workload = view.workload
    steps, streams, sums, rates = _rows(workload, fleet)
    cores = fleet["cores"]
    scalar = steps @ workload.step_points.T / cores
    # Type by type, since machines × layers × types would be larger than all else.
    coming = np.zeros_like(scalar)
    for number in range(len(workload.types)):
        np.maximum(coming, streams[:, number, None] * workload.stream_points[:, number], out=coming)
    coming = np.maximum(coming, workload.lookups / fleet["lookups"]) / cores
    near = np.broadcast_to(workload.streamed[:, 0], scalar.shape).copy()
    stream = np.broadcast_to(workload.streamed[:, 1], scalar.shape).copy()
    cycles = np.maximum(scalar, coming) + fleet["vector_fill"]
    for kind, function in ((REDUCE, _reduced), (MOVE, _moved), (PRODUCT, _products)):
        chosen = workload.kind == kind
        if chosen.any():
            given = Units(*(one[:, chosen] for one in (cycles, near, stream)))
            part = function(
                workload,
                fleet,
                chosen,
                _Parts(view.stripes[chosen], scalar, coming, steps, sums, rates),
                given,
            )
            cycles[:, chosen], near[:, chosen], stream[:, chosen] = _fields(part)
    assert MAP not in (REDUCE, MOVE, PRODUCT)
    return Units(np.maximum(np.ceil(cycles), 1), near, stream)


@dataclass(frozen=True)
class _Parts:
    stripes: Numbers
    scalar: Numbers
    coming: Numbers
    steps: Numbers
    sums: Numbers
    rates: Numbers


def _reduced(workload: Workload, fleet: Fleet, chosen: Any, parts: _Parts, given: Units) -> Units:
    results, length, tree, times = workload.reduction[chosen].T
    slots = fleet["cores"] / parts.sums[:, workload.reduced[chosen], 1]
    cycles = np.where(tree > 0, results * np.ceil(length / slots), np.ceil(results / slots) * length) * times
    fill = fleet["reduction_fill"] + (tree > 0) * np.ceil(np.log2(np.maximum(np.minimum(slots, length), 1)))
    cycles = np.maximum(cycles, np.maximum(parts.scalar[:, chosen], parts.coming[:, chosen])) + fill
    return Units(cycles, given.near, given.stream)


def _moved(workload: Workload, fleet: Fleet, chosen: Any, parts: _Parts, given: Units) -> Units:
    runs, size, indirect = workload.moves[chosen].T
    width = np.where(np.isinf(fleet["inside"]), MOVED_BYTES, fleet["inside"] * 1.0)
    cycles = runs * np.maximum(1, size / width) + fleet["setup"]
    by_vector = ((indirect > 0) & ~fleet.flag("gathered")) | ((runs > 1) & ~fleet.flag("strided"))
    looked = np.maximum(parts.coming[:, chosen], runs / fleet["lookups"]) + fleet["vector_fill"]
    return Units(np.where(by_vector, looked, cycles), given.near, given.stream)


def _products(workload: Workload, fleet: Fleet, chosen: Any, parts: _Parts, given: Units) -> Units:
    """Products: on the array at the rate of their types, or on the vector unit."""
    points = workload.product_points[chosen]
    own = parts.steps @ points.T + workload.macs[chosen] * parts.sums[:, workload.reduced[chosen], 0]
    own = np.maximum(own / fleet["cores"], parts.coming[:, chosen]) + fleet["vector_fill"]
    passes, slow = (parts.rates[:, workload.pair[chosen], n] for n in (0, 1))
    groups, rows, window, columns = (extent[None] for extent in workload.product[chosen].T)
    usable = (fleet["rows"] > 0) & np.isfinite(passes) & (groups > 0)
    passes, slow = np.where(usable, passes, 1), np.where(usable, slow, 1)
    high, wide = np.maximum(fleet["rows"], 1), np.maximum(fleet["columns"], 1)
    # Each stripe is a product of its own.
    groups, rows = groups * parts.stripes, np.ceil(rows / parts.stripes)
    cores = fleet["cores"]
    by_group = groups >= cores
    shared = systolic.Product(
        np.where(by_group, np.ceil(groups / cores), groups),
        np.where(by_group, rows, np.ceil(rows / cores)),
        window,
        columns,
    )
    cycles, near, stream = (np.empty(given.cycles.shape) for _ in range(3))
    sizes = workload.values[chosen].T
    for name, number in DATAFLOWS.items():
        some = fleet["dataflow"][:, 0] == number
        if not some.any():
            continue
        part = systolic.Product(*(_some(extent, some) for extent in shared))
        folds = systolic.folds(name, high[some], wide[some], part)
        cycles[some] = folds.count * (folds.fill * passes[some] + folds.stream * slow[some])
        whole = systolic.Product(groups, rows, window, columns)
        words = systolic.words(name, high[some], wide[some], whole)
        inputs, weights = words.inputs * sizes[0] * passes[some], words.weights * sizes[1] * passes[some]
        outputs = words.outputs * sizes[2]
        near[some] = inputs + weights + outputs
        stream[some] = np.maximum(np.maximum(inputs, weights), outputs)
    cycles = np.maximum(cycles, parts.scalar[:, chosen])
    return Units(
        np.where(usable, cycles, own),
        np.where(usable, near, given.near),
        np.where(usable, stream, given.stream),
    )


def _some(extent: Numbers, chosen: Any) -> Numbers:
    return extent[chosen] if len(extent) > 1 or len(chosen) == 1 else extent


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


def _remembered(workload: Workload, machine: Machine) -> tuple[Numbers, Numbers, Numbers]:
    """Of a machine without a closed form: whole layers, computed once for machines that share all units."""
    pad = machine.scratchpad
    key = (
        machine.array, machine.cores, machine.vector, machine.reduction, machine.missing_types,
        machine.dma.setup_cycles, machine.dma.strided, machine.dma.gathered, pad.bytes_per_cycle,
        pad.read_latency_cycles, pad.write_latency_cycles, pad.burst_bytes,
        pad.bytes if machine.array is not None and machine.array.kind == "row-stationary" else 0,
    )  # fmt: skip
    found: tuple[Numbers, Numbers, Numbers] | None = workload.cache.get(key)
    if found is None:
        if len(workload.cache) >= REMEMBERED:
            workload.cache.clear()
        found = workload.cache[key] = _worked(workload, machine)
    return found


def _worked(workload: Workload, machine: Machine) -> tuple[Numbers, Numbers, Numbers]:
    costs, rows = Costs(machine), []
    for nest in workload.nests:
        try:
            work = costs.work(nest, nest.extents)
        except UnsupportedError:
            rows.append((REFUSED, 0.0, 0.0))
            continue
        rows.append((work.cycles, sum(work.traffic), max(work.traffic, default=0)))
    cycles, near, stream = np.array(rows, np.float64).reshape(-1, 3).T
    return cycles, near, stream
