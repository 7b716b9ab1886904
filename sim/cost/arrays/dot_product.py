"""Dot-product arrays: K cells of C products each, which NVDLA and many others have.

The names are NVDLA's (hardware unit description, convolution core). An *atomic operation* multiplies C
channels of one position with one element of the window, for K filters. A *stripe* does that for as many
positions as the accumulators hold, while the weights stay; meanwhile the weights that follow are loaded,
those of one cell in a cycle, so that a stripe of fewer than K positions waits for them. A *block* repeats
stripes for every element of the window and all channels, then the sums leave. Nothing is skewed; only the
first weights are waited for.

An image of few channels can be packed, so that a row of the window is one dot product. A depthwise
convolution has a single filter for each channel: an array takes one channel at a time, or one in each cell.

With `sparsity` of 2:4 a cell takes two of each four channels, those whose weights are other than zero, where
all weights of a layer are so. With `zeros` each cell is given the inputs of its weights other than zero, as
the elements of Cambricon-X are by their indexing (Zhang et al., MICRO 2016): a set of filters takes as many
atomic operations for an element of the window as the filter with most weights there. Of these, tiles have
the mean over their layer.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import ceil
from typing import NamedTuple

import numpy as np

from sim.cost.arrays.kind import ArrayCosts, Task, Words, ceil_div, costs_for
from sim.cost.geometry import Geometry, geometry, kept
from sim.cost.lanes import Ladder, Lanes
from sim.cost.work import Work
from sim.machine.arrays import DotProduct
from tiling.nest import Kept


class Atoms(NamedTuple):
    """A product as the array does it, for each of its groups."""

    groups: int
    positions: int
    steps: int
    """Atomic operations at each position for a set of filters."""
    sets: int
    """Sets of filters."""
    filters: int
    """Filters of a whole set: cells whose weights are loaded."""
    share: Fraction = Fraction(1)
    """Of the steps, those that are not skipped."""

    @property
    def operations(self) -> int:
        """Atomic operations in all: the cycles at the full rate, if nothing is waited for."""
        return ceil(self.share * self.groups * self.sets * self.steps * self.positions)

    def of_a_core(self, cores: int) -> Atoms:
        """The share of each core: of the groups, or of the positions where there are fewer groups."""
        if self.groups >= cores:
            return self._replace(groups=ceil_div(self.groups, cores))
        return self._replace(positions=ceil_div(self.positions, cores))


@costs_for(DotProduct)
class DotProductCosts(ArrayCosts[DotProduct]):
    """Stripes, one after another; cores share groups, or positions where there are fewer groups."""

    def product(self, hardware: DotProduct, task: Task) -> Work | None:
        """A convolution, or a product as one."""
        found = geometry(task.form.nest, task.tile)
        if found is None or found.weights is None:
            return None
        atoms = atoms_of(hardware, found, task.skips, task.kept)
        own = atoms.of_a_core(task.path.cores)
        ideal = own.operations
        whole = task.product
        stripes = ceil_div(atoms.positions, hardware.stripe)
        read = Words(
            inputs=whole.groups
            * whole.rows
            * whole.window
            * (1 if found.kind == "depthwise" else atoms.sets),
            weights=whole.groups * whole.window * whole.columns * stripes,
            outputs=whole.groups * whole.rows * whole.columns,
        )
        waiting = task.rate.passes * (cycles(hardware, own) - ideal)
        return task.work(
            task.rate.stretch(ideal) + waiting,
            read,
            waiting,
            (("stripes", stripes * atoms.groups * atoms.sets),),
        )

    def lanes(self, hardware: DotProduct, task: Task, work: Work) -> Lanes:
        """Filters lie along cells, channels along their products; waiting for weights is filling."""
        nest = task.form.nest
        tile, layer = geometry(nest, task.tile), geometry(nest, nest.extents)
        assert tile is not None
        assert layer is not None
        atoms, cores = atoms_of(hardware, tile, task.skips, task.kept), task.path.cores
        own, found = atoms.of_a_core(cores), task.ladder(hardware.full_rate)
        share = Fraction(own.operations * cores, atoms.operations)
        found.grow("cores", share)
        _atoms_lanes(found, hardware, tile, layer, own)
        found.reach("types", task.rate.stretch(own.operations))
        return found.end(work, "results")


def _atoms_lanes(found: Ladder, array: DotProduct, tile: Geometry, layer: Geometry, atoms: Atoms) -> None:
    """Cells and their products that atomic operations leave idle; the rest is in their number."""
    if tile.kind != "depthwise":
        found.fill("filters", tile.columns, layer.columns, array.filters)
        found.reach("channels" if layer.in_channels < array.channels else "edges", atoms.operations)
    elif array.depthwise == "cells":
        found.fill("filters", tile.columns, layer.columns, array.filters)
        found.reach("window", atoms.operations)
    else:
        found.reach("depthwise", atoms.operations)


def atoms_of(array: DotProduct, found: Geometry, skips: bool = False, some: Kept | None = None) -> Atoms:
    """The atomic operations of a product; `skips` if they are of two of each four channels, or of `some`."""
    high, wide = found.kernel
    channels = kept(found.in_channels) if skips else found.in_channels
    if found.kind == "depthwise":
        groups, filters = found.groups, found.columns
        if array.depthwise == "single":
            return Atoms(groups * filters, found.rows, high * wide, 1, 1)
        steps = ceil_div(high * wide, array.channels)
        return Atoms(groups, found.rows, steps, ceil_div(filters, array.filters), min(filters, array.filters))
    steps = high * wide * ceil_div(channels, array.channels)
    if found.in_channels <= array.packed_channels and found.dilation[1] == 1:
        steps, some = min(steps, high * ceil_div(wide * channels, array.channels)), None
    sets, filters = ceil_div(found.columns, array.filters), min(found.columns, array.filters)
    share = Fraction(1) if some is None else kept_steps(some, array.filters, array.channels)
    return Atoms(found.groups, found.rows, steps, sets, filters, share)


@lru_cache(maxsize=1024)
def kept_steps(some: Kept, cells: int, lanes: int) -> Fraction:
    """Of the steps of all weights, those in which some cell of its set has work."""
    counts = np.frombuffer(some.counts, np.int32).reshape(some.filters, some.window)
    steps = np.maximum.reduceat(-(-counts // lanes), range(0, some.filters, cells), axis=0)
    sets = ceil_div(some.filters, cells)
    return Fraction(int(steps.sum()), sets * some.window * ceil_div(some.channels, lanes))


def cycles(array: DotProduct, atoms: Atoms) -> int:
    """Cycles of the first weights and of all stripes: as many as positions, or as the next weights take."""
    loading: int = ceil_div(atoms.filters, array.loaded_filters)
    stripes: int = max(atoms.positions, ceil_div(atoms.positions, array.stripe) * loading)
    return loading + ceil(atoms.share * atoms.groups * atoms.sets * atoms.steps * stripes)
