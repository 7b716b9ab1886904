"""What one section costs: what the planner compares its choices by.

A closed form says about how long each takes, and how long at least; those that may be best are followed
command by command.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import inf, prod

from sim.cost.prices import Prices
from sim.cost.reach import scales
from sim.cost.transfer import Transfers, cycles_of, far_rate, port_rate
from sim.events.model import CostModel, Rates, SectionModel
from sim.events.sections import Run
from sim.events.state import LOAD, OFFCHIP
from sim.events.tiles import rows_and_run, span_of
from sim.machine.machine import Machine
from tiling.choose import Estimate, Price
from tiling.expr import BYTES
from tiling.nest import Access
from tiling.program import Image, Operand, Program, Section


def estimator(machine: Machine, costs: CostModel | None = None) -> Estimate:
    """The estimate for a machine: prices of sections that have the machine to themselves."""
    if costs is None:
        from sim.cost.costs import Costs

        costs = Costs.of(machine.model_copy(update={"launch_overhead_cycles": 0}))
    return _Estimator(machine, costs).prices


@dataclass(frozen=True, slots=True)
class _Rough:
    """A section in closed form."""

    cycles: float
    """About what it takes."""
    least: float
    """What it takes at least."""
    early: float
    """Cycles of the first boxes of constants."""
    offchip: float
    """Bytes."""
    near: float
    """Bytes of the scratchpad."""


class _Estimator:
    """A machine's figures, looked up once."""

    def __init__(self, machine: Machine, costs: CostModel) -> None:
        self.costs, self.transfers = costs, Transfers(machine)
        self.machine, self.rates, self.price = machine, Rates.of(machine), Prices.of(machine)
        self.port, self.far = port_rate(machine), far_rate(machine)
        self.scales = far_rate(machine, scales=True)
        self.latency = self.transfers.read_latency, machine.scratchpad.read_latency_cycles
        self.channels = min(machine.dma.channels, 2)

    def prices(self, sections: Sequence[Section], operands: Mapping[str, Operand]) -> list[Price]:
        """Prices; sections are followed as long as they may cost less than all others."""
        rough = [self.rough(section, operands) for section in sections]
        prices = [self._price(one, one.cycles) for one in rough]
        whole = late = inf
        for number in sorted(range(len(rough)), key=lambda number: prices[number].cost):
            one, about = rough[number], prices[number]
            least = self._price(one, one.least).cost
            if least < whole or least - about.early < late:
                price = prices[number] = self._price(one, *self.followed(sections[number], operands))
                whole, late = min(whole, price.cost), min(late, price.cost - price.early)
            else:
                prices[number] = Price(max(about.cost, whole, late + about.early), about.early)
        return prices

    def _price(self, one: _Rough, cycles: float, idle: float = 0) -> Price:
        cost = self.price.cost(cycles, one.offchip, one.near)
        return Price(cost, self.price.cycle * min(one.early, cycles), self.price.cycle * idle)

    def followed(self, section: Section, operands: Mapping[str, Operand]) -> tuple[int, int]:
        """Cycles of a section, command by command; how many of them nothing more comes or goes at its end."""
        run = Run(Program(self.machine.target, {}, (section,), 0, 0), self.rates, 0)
        run.section(SectionModel(section, operands, self.rates, self.costs), True)
        run.finish()
        return run.cycles, max(run.cycles - max(run.state[LOAD], run.state[OFFCHIP]), 0)

    def rough(self, section: Section, operands: Mapping[str, Operand]) -> _Rough:
        """Time in closed form.

        Whatever works beside each other takes as long as the slowest: the unit, the DMA, the two memories.
        Where a buffer is filled only when the tile before has left it, the transfer is added to the unit's
        time. Constants come while the group before is at work; what units fetch themselves waits for
        transfers.
        """
        unit, alone, offchip, pad, far_bytes, near_bytes = self._tiles(section, operands)
        far = offchip
        loads = stores = behind = ends = early = 0.0
        reads, shown = len(section.nest.reads), _shown(section)
        for number, (access, image) in enumerate(shown):
            if image is None:
                continue
            write = number >= reads
            count, share = _count(section, image)
            rows, run, size, span = _transfer(access, image, operands[access.operand])
            time = self.transfers.cycles(rows, run, write, span)
            offchip += self.transfers.port_cycles(rows, run, span) * count * share
            pad += cycles_of(size, self.transfers.inside) * count * share
            far_bytes += size * count * share
            near_bytes += size * count * share
            total = time * count * share
            constant = operands[access.operand].kind == "constant"
            early, ends = early + time * constant, ends + time * (not constant)
            if image.copies == 1:
                behind += total - time
            if write:
                stores += total
            else:
                loads += total
        dma = max(loads, stores) if self.channels > 1 else loads + stores
        turns = dma if far else 0.0
        busy = dma + alone if unit == "dma" else max(alone + behind + ends + turns, dma)
        least = max(alone, dma, offchip, pad)
        return _Rough(max(busy, offchip, pad) + early, least, early, far_bytes, near_bytes)

    def _tiles(
        self, section: Section, operands: Mapping[str, Operand]
    ) -> tuple[str, float, float, float, float, float]:
        """Of all tiles: the unit, its cycles alone, times and bytes of the memories."""
        alone = offchip = pad = far_bytes = near_bytes = 0
        unit = "vector"
        for tile, count in _classes(section):
            work = self.costs.work(section.nest, tile)
            far = near = stream = slow = factors = 0
            of_channels = scales(section.nest)
            for number, ((access, image), size) in enumerate(
                zip(_shown(section), work.traffic, strict=False)
            ):
                operand = operands[access.operand]
                size = operand.stored(size)
                if image is None and operand.place == "offchip":
                    far += size
                    if number in of_channels:
                        factors += size
                    else:
                        slow = max(slow, size)
                else:
                    near, stream = near + size, max(stream, size)
            by_far, by_near = cycles_of(far, self.rates.offchip), cycles_of(near, self.transfers.inside)
            unit, offchip, pad = work.unit, offchip + count * by_far, pad + count * by_near
            far_bytes, near_bytes = far_bytes + count * far, near_bytes + count * near
            one = max(by_near, cycles_of(stream, self.port)) + self.latency[1] if near else 0
            streamed = max(cycles_of(slow, self.far), cycles_of(factors, self.scales))
            other = max(by_far, streamed) + self.latency[0] if far else 0
            alone += count * max(work.cycles, other, one)
        return unit, alone, offchip, pad, far_bytes, near_bytes


def _shown(section: Section) -> list[tuple[Access, Image | None]]:
    count = len(section.nest.reads) + len(section.nest.writes)
    return list(zip(section.nest.accesses[:count], section.images[:count], strict=True))


def _classes(section: Section) -> list[tuple[tuple[int, ...], int]]:
    """Extents of tiles, full and cut, with how many there are of each."""
    loops = section.loops
    choices: list[Sequence[tuple[int, int]]] = []
    for loop in loops:
        rest = section.nest.axes[loop.axis].extent - loop.step * (loop.count - 1)
        cut = rest != loop.step
        choices.append([(loop.step, loop.count - cut), (rest, 1)] if cut else [(loop.step, loop.count)])
    tile = list(section.nest.extents)
    found = []
    for picked in product(*choices):
        for loop, (steps, _) in zip(loops, picked, strict=True):
            tile[loop.axis] = steps
        count = prod(count for _, count in picked)
        if count:
            found.append((tuple(tile), count))
    return found


def _count(section: Section, image: Image) -> tuple[int, float]:
    """How often a box is moved, and how large it is on average, of its full size."""
    count, share = 1, 1.0
    for loop in section.loops[: image.level]:
        count *= loop.count
        share *= section.nest.axes[loop.axis].extent / (loop.step * loop.count)
    return count, share


def _transfer(access: Access, image: Image, operand: Operand) -> tuple[int, int, int, int]:
    """Rows and bytes of a row of a full box in the memory, its bytes, and those that it spans."""
    if operand.stored_bytes is not None and operand.kind == "constant":
        size = operand.stored(image.bytes)
        return 1, size, size, size
    rows, run = rows_and_run(access, image, image.shape)
    element = BYTES[access.type]
    return rows, run * element, image.bytes, span_of(access, image, image.shape) * element
