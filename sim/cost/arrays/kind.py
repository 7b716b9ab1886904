"""What the cost of a kind of array has to say, and the registry of all kinds.

A kind of array has two sides: its part (`sim.machine.arrays`), which is what files say of it, and its costs,
a subclass of `ArrayCosts` under `@costs_for(part)`, which say what a tile of a contraction takes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, prod
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from sim.cost.datapath import Datapath
from sim.cost.forms import Form
from sim.cost.geometry import geometry, skipped_macs
from sim.cost.lanes import Ladder, Lanes
from sim.cost.sites import Sites, Stream
from sim.cost.support import ArrayRate
from sim.cost.vector import operations, result_cycles
from sim.cost.work import Work
from sim.machine.arrays import MacArray
from sim.machine.machine import Machine
from tiling.expr import BYTES
from tiling.nest import Kept, Nest

Extents = tuple[int, ...]
"""Of a tile, along the axes of its nest."""
Numbers = NDArray[np.float64]
Count = Any
"""An integer, or an array of them."""
Hardware = TypeVar("Hardware")
Part = TypeVar("Part", bound=MacArray)
Detail = tuple[tuple[str, int], ...]


class Product(NamedTuple):
    """A matrix product that is repeated with other operands."""

    groups: Count
    rows: Count
    """Positions."""
    window: Count
    """Products that add up."""
    columns: Count
    """Filters."""

    def of_a_core(self, cores: Count) -> Product:
        """The share of each core: of the groups, or of the positions where there are fewer groups."""
        by_group = self.groups >= cores
        groups, rows = ceil_div(self.groups, cores), ceil_div(self.rows, cores)
        return self._replace(
            groups=_where(by_group, groups, self.groups), rows=_where(by_group, self.rows, rows)
        )


class Words(NamedTuple):
    """Elements between array and scratchpad: whatever is read again counts again."""

    inputs: Count
    weights: Count
    outputs: Count
    sums: Count = 0
    """Partial sums written and read again, in the accumulators."""


@dataclass(frozen=True, slots=True)
class Task:
    """A tile of a contraction for an array that multiplies its types, at a rate or in several passes."""

    path: Datapath
    form: Form
    tile: Extents
    rate: ArrayRate
    sites: Sites = ()

    @property
    def skips(self) -> bool:
        """Whether half of the products are skipped, as their weights are zeros."""
        roles, array = self.form.roles, self.path.array
        assert roles is not None
        assert roles.weights is not None
        assert array is not None
        return array.skips_pruned and self.form.nest.reads[roles.weights].pruned

    @property
    def kept(self) -> Kept | None:
        """The weights other than zero, if all others are skipped and there are many of these."""
        roles, array = self.form.roles, self.path.array
        assert roles is not None
        assert roles.weights is not None
        assert array is not None
        return self.form.nest.reads[roles.weights].kept if array.skips_zeros else None

    @property
    def product(self) -> Product:
        """The matrix product that the tile is."""
        return self._product(self.tile)

    @property
    def layer(self) -> Product:
        """The matrix product that the whole nest is."""
        return self._product(self.form.nest.extents)

    def _product(self, extents: Extents) -> Product:
        assert self.form.product_axes is not None
        return Product(*(prod(extents[axis] for axis in axes) for axes in self.form.product_axes))

    def work(self, cycles: int, words: Words, fill: int = 0, detail: Detail = ()) -> Work:
        """What it takes if it keeps the array busy for so many cycles.

        Results go through the vector unit as they come, so that the slower one of both counts. All that is
        neither input nor weight crosses the border between unit and memory once.
        """
        results, of_results = result_cycles(self.path, self.form, self.tile)
        macs = prod(self.product)
        skipped = self._skipped(macs)
        return Work(
            "array",
            max(1, cycles, results),
            fill,
            macs - skipped,
            operations(self.form, self.tile),
            self._traffic(words),
            (
                ("mac_cycles", cycles),
                *detail,
                *of_results,
                *((("skipped_macs", skipped),) if skipped else ()),
            ),
        )

    def _skipped(self, macs: int) -> int:
        """Products that are not done, as their weights are zeros; of many zeros the tile has its share."""
        if (kept := self.kept) is not None:
            return macs * kept.zeros // kept.weights
        shape = geometry(self.form.nest, self.tile) if self.skips else None
        return 0 if shape is None else skipped_macs(shape)

    def ladder(self, lanes: int) -> Ladder:
        """The cycles of its products alone, if each of so many lanes of each core did one in every cycle."""
        macs = prod(self.product)
        done = macs - self._skipped(macs) if self.kept else Fraction(macs, 1 + self.skips)
        return Ladder(Fraction(done) / (lanes * self.path.cores))

    def _traffic(self, words: Words) -> tuple[int, ...]:
        """Bytes by access; of a split sum, results and what belongs to them have a share."""
        roles = self.form.roles
        assert roles is not None
        assert roles.weights is not None
        share, found = self.form.share(self.tile), self.form.traffic(self.tile)
        if share < 1:
            found = [ceil(size * share) for size in found]
        for access, elements in ((roles.data, words.inputs), (roles.weights, words.weights)):
            found[access] = elements * BYTES[self.form.nest.reads[access].type]
        return tuple(found)


class ArrayCosts(ABC, Generic[Hardware]):
    """What tiles take on arrays of one kind; a subclass has no state.

    `Hardware` is what the costs look at: the part itself, unless `hardware` makes something else of it.
    """

    looks_at_sites: ClassVar[bool] = False
    """Whether work depends on where operands are; else all tiles are given none."""

    def hardware(self, array: Any, machine: Machine) -> Hardware:
        """All that the costs depend on, beside the other units of the datapath; hashable.

        Work is kept by it. Costs that look at more of a machine than its array put that in here.
        """
        found: Hardware = array
        return found

    @abstractmethod
    def product(self, hardware: Hardware, task: Task) -> Work | None:
        """What a tile of a contraction takes; None leaves it to the vector unit."""

    def other(self, hardware: Hardware, nest: Nest, tile: Extents, sites: Sites) -> Work | None:
        """The same of what is no contraction, for arrays with units of their own for it.

        None leaves it to the units that the machine has for that.
        """
        return None

    def reached(self, nest: Nest) -> frozenset[int]:
        """Accesses of a contraction of which a tile's `product` takes each byte that it reaches, or more."""
        return frozenset()

    def lanes(self, hardware: Hardware, task: Task, work: Work) -> Lanes:
        """What the lanes do in the cycles of a tile's `product`, by the names of `sim.report.LANES`.

        Without an own one, all that is not a product a lane and cycle at the full rate is `other`.
        """
        array = task.path.array
        assert array is not None
        return task.ladder(array.full_rate).end(work)

    def other_lanes(self, hardware: Hardware, nest: Nest, tile: Extents, sites: Sites, work: Work) -> Lanes:
        """The same for what `other` says."""
        return Ladder(work.cycles - work.fill).end(work)

    def bytes_under_way(self, array: Any, machine: Machine, stream: Stream) -> float | None:
        """Bytes under way of a stream between the array itself and the off-chip memory.

        None is as many as the DMA may have.
        """
        return None


class Layers(NamedTuple):
    """Products of machines × layers, in arrays that broadcast: with one row, or one for each machine."""

    product: Product
    """Each in `cuts` tiles along its positions and in `slices` along its filters."""
    cuts: Numbers
    slices: Numbers
    cores: Numbers
    passes: Numbers
    """Times that an emulated product goes through the array."""
    slow: Numbers
    """Cycles of a step in all of these passes, at the rate of the types."""

    def of(self, machines: NDArray[np.intp]) -> Layers:
        """The rows of some of the machines."""

        def some(numbers: Numbers) -> Numbers:
            return numbers[machines] if len(numbers) > 1 else numbers

        return Layers(Product(*map(some, self.product)), *map(some, self[1:]))


class ClosedForm(ABC, Generic[Part]):
    """For costs of which many machines and layers are computed at once; a mixin of `ArrayCosts`.

    Without it, whole layers are computed one by one where machines are explored: right, and slower.
    """

    @abstractmethod
    def figures(self, array: Part) -> tuple[float, ...]:
        """The array in numbers."""

    def streams_filters(self, array: Part) -> bool:
        """Whether tiles are better cut along positions than along filters."""
        return False

    @abstractmethod
    def products(self, figures: Numbers, layers: Layers) -> tuple[Numbers, Words]:
        """Cycles, and words of all tiles in one pass, of arrays whose rows `figures` has."""


Registered = TypeVar("Registered", bound=type[ArrayCosts[Any]])
_COSTS: dict[type[MacArray], ArrayCosts[Any]] = {}


def costs_for(part: type[MacArray]) -> Callable[[Registered], Registered]:
    """Register a class as the costs of a kind of array."""

    def registered(costs: Registered) -> Registered:
        _COSTS[part] = costs()
        return costs

    return registered


def costs_of(array: MacArray) -> ArrayCosts[Any]:
    """The costs of an array's kind."""
    try:
        return _COSTS[type(array)]
    except KeyError:
        text = f"there is no cost model for arrays of kind {array.kind!r}; declare one with"
        raise TypeError(f"{text} @sim.cost.arrays.costs_for({type(array).__name__})") from None


def hardware_of(machine: Machine) -> Hashable:
    """What costs look at of a machine's array."""
    array = machine.array
    found: Hashable = None if array is None else costs_of(array).hardware(array, machine)
    return found


def ceil_div(value: Count, parts: Count) -> Count:
    """The quotient, rounded up."""
    if isinstance(value, int) and isinstance(parts, int):
        return -(-value // parts)
    return np.ceil(value / parts)  # many times as fast as rounding a quotient of arrays down


def _where(choice: Any, one: Count, other: Count) -> Count:
    return (one if choice else other) if isinstance(choice, bool) else np.where(choice, one, other)
