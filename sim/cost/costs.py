"""What any tile of any nest takes on a machine."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import ceil, prod

from sim.cost import systolic
from sim.cost.ethos import blocks, passes
from sim.cost.forms import Form, form_of
from sim.cost.rows import rows_work
from sim.cost.support import ArrayRate, UnsupportedError, array_rate, operand_types
from sim.cost.vector import (
    map_work,
    move_runs,
    move_work,
    operations,
    product_work,
    reduce_work,
    result_cycles,
)
from sim.cost.work import Work
from sim.machine.machine import Machine
from sim.machine.parts import Block, RowStationary, Systolic
from tiling.expr import BYTES
from tiling.nest import Nest

Tile = tuple[int, ...]
REMEMBERED = 1 << 15
"""Nests that are known by identity; they are kept alive as long."""


class Costs:
    """The work of tiles on a machine, each computed once; nests that are alike share it."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self._nests: dict[int, tuple[Nest, dict[Tile, Work]]] = {}
        self._forms: dict[int, tuple[Form, dict[Tile, Work]]] = {}

    @staticmethod
    def of(machine: Machine) -> Costs:
        """The costs of a machine, with all that has been computed for it before."""
        return _costs(machine)

    def work(self, nest: Nest, tile: Sequence[int]) -> Work:
        """What a tile takes, given as extents along the axes of the nest."""
        known = self._nests.get(id(nest))
        works = known[1] if known is not None else self._works(nest)
        key = tuple(tile)
        found = works.get(key)
        if found is None:
            found = works[key] = work(self.machine, nest, key)
        return found

    def _works(self, nest: Nest) -> dict[Tile, Work]:
        if len(self._nests) >= REMEMBERED:
            self._nests.clear()
            self._forms.clear()
        form = form_of(nest)
        _, works = self._forms.setdefault(id(form), (form, {}))
        self._nests[id(nest)] = nest, works
        return works


@lru_cache(maxsize=32)
def _costs(machine: Machine) -> Costs:
    return Costs(machine)


def work(machine: Machine, nest: Nest, tile: Tile) -> Work:
    """What a tile takes, by the verb of its nest and what the machine has."""
    form = form_of(nest)
    if prod(tile) == 0:
        return Work("dma" if form.pure_move else "vector", 1, 0, 0, 0, (0,) * len(form.streams))
    match nest.verb:
        case "contract":
            return contract_work(machine, form, tile)
        case _ if form.pure_move:
            spread = move_runs(form, tile)[0] > 1
            return (_block_work(machine, form, tile) if spread else None) or move_work(machine, form, tile)
        case "reduce":
            return _block_work(machine, form, tile) or reduce_work(machine, form, tile)
        case _:
            return _block_work(machine, form, tile) or map_work(machine, form, tile)


def contract_work(machine: Machine, form: Form, tile: Tile) -> Work:
    """A contraction: on the array if it can multiply the types, else on the vector unit."""
    array = machine.array
    if array is None or form.product_axes is None:
        return product_work(machine, form, tile)
    name = operand_types(*form.types)
    rate = array_rate(array.rates, *form.types)
    if name not in array.rates and machine.missing_types == "refuse":
        raise UnsupportedError(form.nest.members, name, "array", machine.name, ", ".join(array.rates))
    if rate is None:
        return product_work(machine, form, tile)
    match array:
        case Systolic():
            return systolic_work(machine, array, form, tile, rate)
        case RowStationary():
            return rows_work(machine, array, form, tile, rate)
        case Block():
            found = _block_work(machine, form, tile)
            return product_work(machine, form, tile) if found is None else _repeated(found, rate)


def systolic_work(machine: Machine, array: Systolic, form: Form, tile: Tile, rate: ArrayRate) -> Work:
    """A product on a systolic array; cores share its positions, or its groups if there are more of them."""
    product = product_of(form, tile)
    assert product is not None
    groups, rows, window, columns = product
    if machine.cores > 1:
        by_group = groups >= machine.cores
        groups, rows = (
            (ceil(groups / machine.cores), rows) if by_group else (groups, ceil(rows / machine.cores))
        )
    folds = systolic.folds(
        array.dataflow, array.rows, array.columns, systolic.Product(groups, rows, window, columns)
    )
    fill = rate.passes * folds.count * folds.fill
    mac_cycles = fill + rate.stretch(folds.count * folds.stream)
    results, detail = result_cycles(machine, form, tile)
    words = systolic.words(array.dataflow, array.rows, array.columns, product)
    detail = (("mac_cycles", mac_cycles), ("folds", rate.passes * folds.count), *detail)
    if rate.passes > 1:
        detail = (*detail, ("passes", rate.passes))
    return Work(
        "array",
        max(1, mac_cycles, results),
        fill,
        prod(product),
        operations(form, tile),
        _product_traffic(form, tile, rate.passes * words.inputs, rate.passes * words.weights),
        detail,
    )


def product_of(form: Form, tile: Sequence[int]) -> systolic.Product | None:
    """The matrix product that a tile is, if it is one."""
    if form.product_axes is None:
        return None
    return systolic.Product(*(prod(tile[axis] for axis in axes) for axes in form.product_axes))


def _product_traffic(form: Form, tile: Tile, inputs: int, weights: int) -> tuple[int, ...]:
    """Bytes by access: the factors as the array streams them, the rest once; of a split sum, a share."""
    roles = form.roles
    assert roles is not None
    assert roles.weights is not None
    share = form.share(tile)
    found = form.traffic(tile)
    if share < 1:
        found = [ceil(size * share) for size in found]
    for access, elements in ((roles.data, inputs), (roles.weights, weights)):
        found[access] = elements * BYTES[form.nest.reads[access].type]
    return tuple(found)


def _repeated(found: Work, rate: ArrayRate) -> Work:
    """Work of a block array, done in several passes."""
    if rate.passes == 1:
        return found
    return Work(
        found.unit,
        found.cycles * rate.passes,
        found.fill * rate.passes,
        found.macs,
        found.operations,
        found.traffic,
        (*found.detail, ("passes", rate.passes)),
    )


def _block_work(machine: Machine, form: Form, tile: Tile) -> Work | None:
    """What the block array and its output unit take, if the machine has one and it does such work."""
    if not isinstance(machine.array, Block):
        return None
    if form.nest.verb in ("contract", "reduce"):
        return blocks.work(machine, form.nest, tile)
    return passes.work(machine, form.nest, tile)
