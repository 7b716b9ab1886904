"""What any tile of any nest takes on a machine."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod

from sim.cost.arrays import Task, costs_of, hardware_of
from sim.cost.datapath import Datapath
from sim.cost.forms import Form, form_of
from sim.cost.lanes import Ladder, Lanes
from sim.cost.sites import Sites
from sim.cost.support import UnsupportedError, array_rate, operand_types
from sim.cost.vector import (
    each_looked_up,
    map_work,
    move_runs,
    move_work,
    product_work,
    reduce_work,
    vector_lanes,
)
from sim.cost.work import Work
from sim.machine.machine import Machine
from tiling.nest import Nest

Tile = tuple[int, ...]
Known = dict[tuple[Tile, Sites], Work]
REMEMBERED = 1 << 15
"""Nests that are known by identity; they are kept alive as long."""


class Costs:
    """The work of tiles on a datapath, each computed once; nests that are alike share it."""

    def __init__(self, path: Datapath) -> None:
        self.path = path
        self._nests: dict[int, tuple[Nest, Known]] = {}
        self._forms: dict[int, tuple[Form, Known]] = {}
        self._looks = path.array is not None and costs_of(path.array).looks_at_sites

    @staticmethod
    def of(machine: Machine) -> Costs:
        """The costs of a machine, with all that has been computed for its datapath before."""
        path = datapath_of(machine)
        return _costs(path, path.name)

    def work(self, nest: Nest, tile: Sequence[int], sites: Sites = ()) -> Work:
        """What a tile takes, given as extents along the axes of the nest; without sites, all is near."""
        known = self._nests.get(id(nest))
        works = known[1] if known is not None else self._works(nest)
        key = tuple(tile), sites if self._looks else ()
        found = works.get(key)
        if found is None:
            found = works[key] = work(self.path, nest, *key)
        return found

    def reached(self, nest: Nest) -> frozenset[int]:
        """Accesses that surely take each byte that a tile reaches at least once."""
        form, array = form_of(nest), self.path.array
        if nest.verb != "contract" or array is None or form.product_axes is None:
            return frozenset()
        return costs_of(array).reached(nest) if array_rate(array.rates, *form.types) else frozenset()

    def lanes(self, nest: Nest, tile: Sequence[int], sites: Sites = ()) -> Lanes:
        """What the lanes do in the cycles of a tile: the sum is its cycles but for those of filling."""
        return lanes(self.path, nest, tuple(tile), sites, self.work(nest, tile, sites))

    def _works(self, nest: Nest) -> Known:
        if len(self._nests) >= REMEMBERED:
            self._nests.clear()
            self._forms.clear()
        form = form_of(nest)
        _, works = self._forms.setdefault(id(form), (form, {}))
        self._nests[id(nest)] = nest, works
        return works


@lru_cache(maxsize=32)
def _costs(path: Datapath, _name: str) -> Costs:
    return Costs(path)


def datapath_of(machine: Machine, name: str | None = None) -> Datapath:
    """What costs see of a machine."""
    return Datapath(
        machine.cores,
        machine.array,
        hardware_of(machine),
        machine.vector,
        machine.reduction,
        machine.missing_types,
        machine.dma.setup_cycles,
        machine.dma.strided,
        machine.dma.gathered,
        machine.scratchpad.bytes_per_cycle,
        machine.name if name is None else name,
    )


def work(path: Datapath, nest: Nest, tile: Tile, sites: Sites = ()) -> Work:
    """What a tile takes, by the verb of its nest and what the machine has."""
    form = form_of(nest)
    if prod(tile) == 0:
        return Work("dma" if form.pure_move else "vector", 1, 0, 0, 0, (0,) * len(form.streams))
    match nest.verb:
        case "contract":
            return contract_work(path, form, tile, sites)
        case _ if form.pure_move:
            spread = move_runs(form, tile)[0] > 1 or each_looked_up(form, tile)
            return (_array_work(path, form, tile, sites) if spread else None) or move_work(path, form, tile)
        case "reduce":
            return _array_work(path, form, tile, sites) or reduce_work(path, form, tile)
        case _:
            return _array_work(path, form, tile, sites) or map_work(path, form, tile)


def lanes(path: Datapath, nest: Nest, tile: Tile, sites: Sites, work: Work) -> Lanes:
    """What the lanes do in the cycles of such work, by the names of `sim.report.LANES`."""
    form, array = form_of(nest), path.array
    if prod(tile) == 0:
        return Ladder(work.cycles - work.fill).end(work)
    if nest.verb == "contract" and array is not None and work.unit == "array":
        rate = array_rate(array.rates, *form.types)
        assert rate is not None
        return costs_of(array).lanes(path.hardware, Task(path, form, tile, rate, sites), work)
    if nest.verb != "contract" and array is not None and _array_work(path, form, tile, sites) == work:
        return costs_of(array).other_lanes(path.hardware, nest, tile, sites, work)
    return vector_lanes(path, form, tile, work)


def contract_work(path: Datapath, form: Form, tile: Tile, sites: Sites = ()) -> Work:
    """A contraction: on the array if it can multiply the types, else on the vector unit."""
    array = path.array
    if array is None or form.product_axes is None:
        return product_work(path, form, tile)
    name = operand_types(*form.types)
    rate = array_rate(array.rates, *form.types)
    if name not in array.rates and path.missing_types == "refuse":
        raise UnsupportedError(form.nest.members, name, "array", path.name, ", ".join(array.rates))
    found = (
        None if rate is None else costs_of(array).product(path.hardware, Task(path, form, tile, rate, sites))
    )
    return product_work(path, form, tile) if found is None else found


def _array_work(path: Datapath, form: Form, tile: Tile, sites: Sites) -> Work | None:
    """What the array takes for something else than a contraction, if it does such work."""
    return None if path.array is None else costs_of(path.array).other(path.hardware, form.nest, tile, sites)
