"""Row-stationary arrays: what tiles take of the passes that map a convolution (`sim.cost.arrays.passes`)."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import ceil, prod
from typing import NamedTuple

from sim.cost.arrays.kind import ArrayCosts, Task, Words, costs_for
from sim.cost.arrays.passes import WORD, Layer, best
from sim.cost.geometry import Geometry, geometry
from sim.cost.lanes import Ladder, Lanes
from sim.cost.work import Work
from sim.machine.arrays import RowStationary
from sim.machine.machine import Machine


class Elements(NamedTuple):
    """What the costs look at: the array, and the bytes of the global buffer."""

    array: RowStationary
    buffer_bytes: int


@costs_for(RowStationary)
class RowStationaryCosts(ArrayCosts[Elements]):
    """Passes of the best mapping."""

    def hardware(self, array: RowStationary, machine: Machine) -> Elements:
        """The global buffer is the scratchpad."""
        return Elements(array, machine.scratchpad.bytes)

    def product(self, hardware: Elements, task: Task) -> Work | None:
        """A convolution, or a product as one; partial sums between passes are traffic of the result."""
        nest, cores = task.form.nest, task.path.cores
        found = geometry(nest, task.tile)
        if found is None or found.weights is None:
            return None
        done = best(*hardware, layer_of(found, cores))
        fetched = done.number * cores
        work = task.work(
            task.rate.stretch(done.total),
            Words(fetched * done.input_words, fetched * done.filter_words, 0),
            task.rate.passes * done.number * done.fill,
            (("passes", done.number), ("active_elements", done.active)),
        )
        again = 2 * fetched * done.sum_words - prod(task.tile[: nest.outer])
        traffic = list(work.traffic)
        traffic[len(nest.reads)] += max(0, again) * WORD
        return replace(work, macs=found.macs, traffic=tuple(traffic))

    def lanes(self, hardware: Elements, task: Task, work: Work) -> Lanes:
        """Sets lie beside each other; in an element, sums and what comes over buses take cycles, too."""
        tile, cores, array = geometry(task.form.nest, task.tile), task.path.cores, hardware.array
        assert tile is not None
        layer = layer_of(tile, cores)
        done = best(*hardware, layer)
        n, e, p, q, r, t, g, rows, taps = done.mapping
        stacked = array.rows // rows
        cut = ceil(e / array.columns)
        sets = stacked // cut if cut > 1 else stacked * (array.columns // e)
        found = Ladder(Fraction(tile.macs, array.full_rate * cores))
        found.grow("cores", Fraction(layer.macs * cores, tile.macs))
        mapped = done.number * done.active * n * layer.width * p * taps * q
        found.grow("edges", Fraction(mapped, layer.macs))
        found.grow("window", Fraction(array.rows, stacked * rows))
        found.grow("positions", Fraction(stacked * array.columns, sets * e))
        found.grow("depthwise" if tile.kind == "depthwise" else "filters", Fraction(sets, r * t * g))
        found.grow("sums", Fraction(taps * q + 1, taps * q))
        found.reach("feeding", done.number * (done.cycles - done.fill))
        found.reach("types", task.rate.stretch(done.total) - work.fill)
        return found.end(work, "results")


def layer_of(found: Geometry, cores: int = 1) -> Layer:
    """The share that each core has of a product; depthwise channels are groups of a single filter."""
    depthwise = found.kind == "depthwise"
    groups = found.groups * (found.columns if depthwise else 1)
    images, height = found.images, found.height
    if groups >= cores:
        groups = ceil(groups / cores)
    elif images >= cores:
        images = ceil(images / cores)
    else:
        height = ceil(height / cores)
    filters = 1 if depthwise else found.columns
    kernel, stride = found.kernel, found.stride[0]
    return Layer(
        groups, images, filters, found.in_channels, height, found.width, kernel, stride, found.input[1]
    )
