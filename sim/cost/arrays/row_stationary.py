"""Row-stationary arrays: what tiles take of the passes that map a convolution (`sim.cost.arrays.passes`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from math import ceil, prod
from typing import NamedTuple

from sim.cost.arrays.elements import array_words, element_words
from sim.cost.arrays.kind import ArrayCosts, Detail, Task, Words, costs_for
from sim.cost.arrays.passes import WORD, Layer, Passes, best, sets_of, strips
from sim.cost.arrays.sparing import sparing
from sim.cost.geometry import Geometry, geometry
from sim.cost.lanes import Ladder, Lanes
from sim.cost.work import ARRAY_BYTES, ELEMENT_BYTES, SPARED_MACS, Work
from sim.machine.arrays import RowStationary
from sim.machine.machine import Machine


class Elements(NamedTuple):
    """What the costs look at: the array, and the bytes of the global buffer."""

    array: RowStationary
    buffer_bytes: int

    def passes(self, task: Task, tile: Geometry) -> Done:
        """Of a tile: with the mapping that takes the least time for it, or a share of its layer's passes."""
        cores = task.path.cores
        if self.array.mapping == "time":
            layer = layer_of(tile, cores)
            return Done(best(*self, layer), layer, Fraction(1))
        whole = geometry(task.form.nest, task.form.nest.extents)
        assert whole is not None
        layer = layer_of(whole, cores)
        return Done(strips(layer, sparing(self.array, layer)), layer, Fraction(tile.macs, whole.macs))


class Done(NamedTuple):
    """Passes of a layer that each core does, and which share of them is a tile's."""

    parts: tuple[Passes, ...]
    layer: Layer
    share: Fraction

    def of(self, count: Callable[[Passes], int]) -> int:
        """What is so much in each pass, in the tile."""
        return ceil(self.share * sum(part.number * count(part) for part in self.parts))


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
        done = hardware.passes(task, found)
        work = task.work(
            task.rate.stretch(done.of(lambda part: part.cycles)),
            Words(
                cores * done.of(lambda part: part.input_words),
                cores * done.of(lambda part: part.filter_words),
                0,
            ),
            task.rate.passes * done.of(lambda part: part.fill),
            (
                ("passes", done.of(lambda part: 1)),
                ("active_elements", done.parts[0].active),
                *_inside(hardware.array, done, cores * task.rate.passes, found.macs),
            ),
        )
        again = 2 * cores * done.of(lambda part: part.sum_words) - prod(task.tile[: nest.outer])
        traffic = list(work.traffic)
        traffic[len(nest.reads)] += max(0, again) * WORD
        return replace(work, macs=found.macs, traffic=tuple(traffic))

    def lanes(self, hardware: Elements, task: Task, work: Work) -> Lanes:
        """Sets lie beside each other; in an element, sums and what comes over buses take cycles, too."""
        tile, cores, array = geometry(task.form.nest, task.tile), task.path.cores, hardware.array
        assert tile is not None
        done = hardware.passes(task, tile)
        first, macs = done.parts[0].mapping, done.layer.macs
        found = Ladder(Fraction(tile.macs, array.full_rate * cores))
        found.grow("cores", macs * cores * done.share / tile.macs)
        idle = [_idle(array, part) for part in done.parts]
        mapped, beside, whole = (sum(column, Fraction(0)) for column in zip(*idle, strict=True))
        found.grow("edges", mapped / macs)
        found.grow("window", Fraction(array.rows, array.rows // first.rows * first.rows))
        found.grow("positions", beside / mapped)
        found.grow("depthwise" if tile.kind == "depthwise" else "filters", whole / beside)
        found.grow("sums", Fraction(first.taps * first.q + 1, first.taps * first.q))
        found.reach("feeding", done.of(lambda part: part.cycles - part.fill))
        found.reach("types", task.rate.stretch(done.of(lambda part: part.cycles)) - work.fill)
        return found.end(work, "results")


def _inside(array: RowStationary, done: Done, times: int, macs: int) -> Detail:
    """Bytes of the elements' memories, and of those on their way in the array; products that are spared."""
    zeros = array.zero_inputs
    own = times * done.of(lambda part: element_words(part, zeros))
    way = times * done.of(lambda part: array_words(done.layer, part))
    spared = ((SPARED_MACS, int(zeros * macs)),) if zeros else ()
    return (ELEMENT_BYTES, WORD * own), (ARRAY_BYTES, WORD * way), *spared


def _idle(array: RowStationary, part: Passes) -> tuple[Fraction, ...]:
    """Products that its elements have time for; those of all that sets have room for; those of all sets."""
    n, e, f, p, q, r, t, g, rows, taps = part.mapping
    mapped = Fraction(part.number * part.active * n * f * p * taps * q)
    sets = sets_of(array, rows, e)
    beside = mapped * (array.rows // rows * array.columns) / (sets * e)
    return mapped, beside, beside * sets / (r * t * g)


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
