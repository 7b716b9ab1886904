"""Systolic arrays: what a matrix product takes on R rows × C columns, in closed form.

M positions, a window of K products and N columns (filters) are cut into folds that fill the array; each
fold streams the third extent through it and fills and drains the array. Operands stay where the dataflow
says:

| dataflow | rows hold | columns hold | streamed | a fold |
|---|---|---|---|---|
| output | positions | filters | window | K + R + C − 2 |
| weight | window | filters | positions | M + 2R + C − 2 (R to load the weights) |
| input | window | positions | filters | N + 2R + C − 2 (R to load the inputs) |

These are the cycles that SCALE-Sim 3.0.0 reports, which counts from zero and so has one less for a layer.
The repetitions of a batched product, and the channels of a depthwise one (each with a single filter, so
that one column is in use), follow one another. Extents may be integers or arrays of integers.

With `weight_preload` the operands of a fold come while the one in front of it streams, and folds follow each
other without a gap: each takes as long as it streams or loads, and filling and draining are paid once. With
`packed_depthwise` as many channels of a depthwise convolution share the array as their windows have room for
in its rows, each with a column of its own.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import ceil, prod
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.cost.arrays.kind import (
    ArrayCosts,
    ClosedForm,
    Count,
    Layers,
    Numbers,
    Product,
    Task,
    Words,
    ceil_div,
    costs_for,
)
from sim.cost.lanes import Lanes
from sim.cost.work import Work
from sim.machine.arrays import Systolic

Dataflow = Literal["output", "weight", "input"]
Flags = bool | NDArray[np.bool_]
DATAFLOWS: dict[Dataflow, float] = {"output": 0.0, "weight": 1.0, "input": 2.0}
"""Their numbers among the figures of arrays."""


@costs_for(Systolic)
class SystolicCosts(ArrayCosts[Systolic], ClosedForm[Systolic]):
    """Folds, one after another; cores share positions, or groups if there are more of them."""

    def product(self, hardware: Systolic, task: Task) -> Work:
        """A product: filling takes its time in each pass, streaming as long as the rate says."""
        grid, rate = (hardware.dataflow, hardware.rows, hardware.columns), task.rate
        shared = task.product.of_a_core(task.path.cores)
        if hardware.packed_depthwise:
            shared = packed(hardware.rows, hardware.columns, shared)
        done, read = folds(*grid, shared, hardware.weight_preload), words(*grid, task.product)
        fill = rate.passes * (done.count * done.fill + done.once)
        work = task.work(
            fill + rate.stretch(done.count * done.stream),
            Words(rate.passes * read.inputs, rate.passes * read.weights, read.outputs),
            fill,
            (("folds", rate.passes * done.count),),
        )
        return replace(work, detail=(*work.detail, ("passes", rate.passes))) if rate.passes > 1 else work

    def lanes(self, hardware: Systolic, task: Task, work: Work) -> Lanes:
        """Two extents of the product lie along rows and columns; what is not a multiple of them idles."""
        whole, layer = task.product, task.layer
        found = task.ladder(hardware.full_rate)
        shared = whole.of_a_core(task.path.cores)
        found.grow("cores", Fraction(prod(shared) * task.path.cores, prod(whole)))
        held = packed(hardware.rows, hardware.columns, shared) if hardware.packed_depthwise else shared
        found.grow("depthwise", Fraction(prod(held), prod(shared)))
        alone = layer.columns == 1 and layer.groups > 1
        long = "window" if alone else "channels"
        wide = "depthwise" if alone else "filters"
        sums, filters = (held.window, layer.window, long), (held.columns, layer.columns, wide)
        places = (held.rows, layer.rows, "positions")
        down, across = {
            "weight": (sums, filters), "input": (sums, places), "output": (places, filters)
        }[hardware.dataflow]  # fmt: skip
        for (extent, of, name), lanes in ((down, hardware.rows), (across, hardware.columns)):
            found.fill(name, extent, of, lanes)
        found.reach("types", task.rate.stretch(ceil(found.reached)))
        return found.end(work, "results")

    def figures(self, array: Systolic) -> tuple[float, ...]:
        """Rows, columns, the number of the dataflow, and what the array can do beyond it."""
        number = DATAFLOWS[array.dataflow]
        return array.rows, array.columns, number, array.weight_preload, array.packed_depthwise

    def streams_filters(self, array: Systolic) -> bool:
        """Where inputs stay, filters are what streams."""
        return array.dataflow == "input"

    def products(self, figures: Numbers, layers: Layers) -> tuple[Numbers, Words]:
        """The same of machines × layers; each tile along the streamed extent is a product of its own."""
        rows, columns, dataflow, preload, packs = (figures[:, number, None] for number in range(5))
        shape = len(figures), layers.cuts.shape[1]
        cycles, found = np.empty(shape), Words(*(np.empty(shape) for _ in Words._fields))
        tiles, filled = _tiles(columns, dataflow == DATAFLOWS["input"], layers)
        shared = tiles._replace(columns=filled).of_a_core(layers.cores)
        alone = packed(rows, columns, shared)
        shared = Product(*(np.where(packs > 0, one, other) for one, other in zip(alone, shared, strict=True)))
        for name, number in DATAFLOWS.items():
            some = np.flatnonzero(dataflow[:, 0] == number)
            if not some.size:
                continue
            own, grid = layers.of(some), (name, rows[some], columns[some])
            product = Product(*(extent[some] for extent in np.broadcast_arrays(*shared)))
            done = folds(*grid, product, preload[some] > 0)
            once = done.once * own.cuts * own.slices
            cycles[some] = done.count * (done.fill * own.passes + done.stream * own.slow) + once * own.passes
            read = words(*grid, Product(*(extent[some] for extent in np.broadcast_arrays(*tiles))))
            for whole, part in zip(found, read, strict=True):
                whole[some] = part
        return cycles, found


def _tiles(columns: Numbers, streamed: NDArray[np.bool_], layers: Layers) -> tuple[Product, Numbers]:
    """All tiles as products that are repeated, and the filters that each of them keeps the array busy with.

    Filters that do not stream are cut where the array begins anew, which costs nothing but the rest of it.
    """
    groups, rows, window, filters = layers.product
    slices = np.where(streamed, layers.slices, 1)
    filters = np.ceil(filters / slices)
    cut = ~streamed & (layers.slices > 1)
    filled = np.where(cut, np.maximum(filters, layers.slices * columns), filters)
    return Product(groups * layers.cuts * slices, np.ceil(rows / layers.cuts), window, filters), filled


class Folds(NamedTuple):
    """How an array folds a product: how often, how long each fold streams, and fills and drains."""

    count: Count
    stream: Count
    fill: Count
    once: Count = 0
    """What filling takes for all folds together."""

    @property
    def cycles(self) -> Count:
        """All cycles at the full rate."""
        return self.count * (self.stream + self.fill) + self.once


def folds(dataflow: Dataflow, rows: Count, columns: Count, product: Product, preload: Flags = False) -> Folds:
    """How an array of rows × columns folds a product; `preload` if it loads while it works."""
    groups, m, k, n = product
    if dataflow == "output":
        return Folds(groups * ceil_div(m, rows) * ceil_div(n, columns), k, rows + columns - 2)
    held, streamed = (n, m) if dataflow == "weight" else (m, n)
    count, fill = groups * ceil_div(k, rows) * ceil_div(held, columns), 2 * rows + columns - 2
    if isinstance(preload, bool):
        return (
            Folds(count, streamed, max(0, rows - streamed), fill) if preload else Folds(count, streamed, fill)
        )
    waiting = np.maximum(0, rows - streamed)
    return Folds(count, streamed, np.where(preload, waiting, fill), np.where(preload, fill, 0))


def packed(rows: Count, columns: Count, product: Product) -> Product:
    """Products of a single filter, as many of them together as the array has rows and columns for."""
    groups, m, k, n = product
    if isinstance(k, int):
        together = max(1, min(rows // k, columns, groups)) if n == 1 else 1
        return Product(ceil_div(groups, together), m, k * together, n * together)
    together = np.where(n == 1, np.maximum(1, np.minimum(np.minimum(rows // k, columns), groups)), 1)
    return Product(ceil_div(groups, together), m, k * together, n * together)


def words(dataflow: Dataflow, rows: Count, columns: Count, product: Product) -> Words:
    """Elements of each operand that cross the border of the array, as often as they do."""
    groups, m, k, n = product
    inputs, weights, outputs = groups * m * k, groups * k * n, groups * m * n
    match dataflow:
        case "output":
            return Words(inputs * ceil_div(n, columns), weights * ceil_div(m, rows), outputs, 0 * outputs)
        case "weight":
            sums = 2 * outputs * (ceil_div(k, rows) - 1)
            return Words(inputs * ceil_div(n, columns), weights, outputs, sums)
        case "input":
            sums = 2 * outputs * (ceil_div(k, rows) - 1)
            return Words(inputs, weights * ceil_div(m, columns), outputs, sums)
