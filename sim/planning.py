"""What one section costs: what the planner compares its choices by.

A closed form says how long each takes at least; those that may be best are followed command by command.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import product
from math import inf, prod
from typing import NamedTuple

from sim.cost.prices import Prices
from sim.cost.reach import scales
from sim.cost.transfer import Transfers, cycles_of, far_rate, port_rate
from sim.events.model import CostModel, Rates, SectionModel
from sim.events.sections import Run
from sim.events.state import LOAD, OFFCHIP
from sim.events.tiles import rows_and_run, span_of
from sim.machine.machine import Machine
from tiling.choose import Bar, Estimate, Price
from tiling.expr import BYTES
from tiling.nest import Access, Nest
from tiling.program import Image, Operand, Program, Section

NEVER = Price(inf)
"""Of a section that surely costs more than others."""
Classes = list[tuple[tuple[int, ...], int]]
"""Tiles that are alike, and how many there are."""


def estimator(machine: Machine, costs: CostModel | None = None) -> Estimate:
    """The estimate for a machine: prices of sections that have the machine to themselves."""
    if costs is None:
        from sim.cost.costs import Costs

        costs = Costs.of(machine.model_copy(update={"launch_overhead_cycles": 0}))
    figures = _Figures.of(machine, costs)

    def prices(sections: Sequence[Section], operands: Mapping[str, Operand]) -> list[Price]:
        return _Group(figures, sections[0].nest, operands).prices(sections) if sections else []

    return prices


@dataclass(frozen=True, slots=True)
class _Figures:
    """A machine's figures, looked up once."""

    machine: Machine
    costs: CostModel
    transfers: Transfers
    rates: Rates
    price: Prices
    port: float | None
    far: float | None
    scales: float | None
    latency: tuple[int, int]
    channels: int

    @staticmethod
    def of(machine: Machine, costs: CostModel) -> _Figures:
        """Those of a machine."""
        transfers = Transfers(machine)
        return _Figures(
            machine,
            costs,
            transfers,
            Rates.of(machine),
            Prices.of(machine),
            port_rate(machine),
            far_rate(machine),
            far_rate(machine, scales=True),
            (transfers.read_latency, machine.scratchpad.read_latency_cycles),
            min(machine.dma.channels, 2),
        )


class _Box(NamedTuple):
    """A transfer of a full box: times of the channel and the memories, and how much of it may come early."""

    cycles: int
    offchip: int
    pad: int
    early: int
    bytes: int


class _Moves(NamedTuple):
    """The transfers of a section."""

    dma: float
    """Cycles of the channels."""
    loads: float
    """Cycles of the channel of loads, which may also be what computes."""
    offchip: float
    pad: float
    """Cycles of the memories."""
    early: float
    """Cycles of the first boxes of constants, before which no tile starts."""
    bytes: float


class _Work(NamedTuple):
    """Tiles: the unit, its cycles if nothing else uses the memories, cycles and bytes of the memories."""

    unit: str = "vector"
    alone: float = 0.0
    offchip: float = 0.0
    pad: float = 0.0
    far: float = 0.0
    near: float = 0.0


IDLE = _Work()
"""Before any tile is known."""


class _Group:
    """The sections of a nest, with what they have in common worked out once."""

    def __init__(self, figures: _Figures, nest: Nest, operands: Mapping[str, Operand]) -> None:
        self.figures, self.nest, self.operands = figures, nest, operands
        self.found = [operands[access.operand] for access in (*nest.reads, *(w.access for w in nest.writes))]
        self.of_channels = scales(nest)
        self.boxes: dict[tuple[int, int], _Box] = {}
        self.tiles: dict[tuple[tuple[int, ...], tuple[bool, ...]], _Work] = {}

    def prices(self, sections: Sequence[Section]) -> list[Price]:
        """Prices of sections; of those that surely cost more than others, infinite ones.

        Sections are looked at by what they cost at least: as their transfers say, then as their full tiles
        say, then as all tiles say, and then, command by command, for certain.
        """
        prices, cycle, bar = [NEVER] * len(sections), self.figures.price.cycle, Bar()
        moves = [self.moves(section) for section in sections]
        works: dict[int, _Work] = {}
        left: dict[int, Classes] = {}
        heap = [(self.least(one, IDLE), number) for number, one in enumerate(moves)]
        heapify(heap)
        while heap:
            least, number = heappop(heap)
            section, move, work = sections[number], moves[number], works.get(number, IDLE)
            if not bar.passed(Price(least, cycle * move.early, least - self.busy(move, work))):
                continue
            if left.get(number) == []:
                price = prices[number] = self.followed(section, move, work)
                bar.add(price)
                continue
            if number in left:
                some, left[number] = left[number], []
            else:
                full, *left[number] = _classes(section)
                some = [full]
            work = works[number] = self.work(section, some, work)
            heappush(heap, (self.least(move, work), number))
        return prices

    def least(self, moves: _Moves, work: _Work) -> float:
        """What a section costs at least: whatever works beside each other takes as long as the slowest."""
        alone = work.alone + (moves.loads if work.unit == "dma" else moves.early)
        offchip, pad = moves.offchip + work.offchip, moves.pad + work.pad
        return self.cost(max(alone, moves.dma, offchip, pad), moves, work)

    def busy(self, moves: _Moves, work: _Work) -> float:
        """What it costs at least if all that follows hides behind what is no transfer."""
        loads = moves.loads + (work.alone if work.unit == "dma" else 0)
        return self.cost(max(loads, moves.offchip + work.offchip), moves, work)

    def cost(self, cycles: float, moves: _Moves, work: _Work) -> float:
        """What a section costs that takes so many cycles."""
        return self.figures.price.cost(cycles, moves.bytes + work.far, moves.bytes + work.near)

    def followed(self, section: Section, moves: _Moves, work: _Work) -> Price:
        """The price of a section, command by command; idle is what nothing comes or goes at its end."""
        figures = self.figures
        run = Run(Program(figures.machine.target, {}, (section,), 0, 0), figures.rates, 0)
        run.section(SectionModel(section, self.operands, figures.rates, figures.costs), True)
        run.finish()
        cycle, idle = figures.price.cycle, max(run.cycles - max(run.state[LOAD], run.state[OFFCHIP]), 0)
        return Price(self.cost(run.cycles, moves, work), cycle * min(moves.early, run.cycles), cycle * idle)

    def moves(self, section: Section) -> _Moves:
        """The transfers of a section."""
        loads = stores = offchip = pad = early = size = 0.0
        reads, times = len(self.nest.reads), [1.0]
        for loop in section.loops:
            times.append(times[-1] * self.nest.axes[loop.axis].extent / loop.step)
        for number, image in enumerate(section.images[: len(self.found)]):
            if image is None:
                continue
            box, count = self.box(number, image), times[image.level]
            if number < reads:
                loads += box.cycles * count
            else:
                stores += box.cycles * count
            offchip += box.offchip * count
            pad += box.pad * count
            size += box.bytes * count
            early += box.early
        if self.figures.channels > 1:
            return _Moves(max(loads, stores), loads, offchip, pad, early, size)
        return _Moves(loads + stores, loads + stores, offchip, pad, early, size)

    def box(self, number: int, image: Image) -> _Box:
        """One transfer of a box of an access."""
        found = self.boxes.get((number, id(image)))
        if found is None:
            transfers, operand = self.figures.transfers, self.found[number]
            rows, run, size, span = _transfer(self.nest.accesses[number], image, operand)
            cycles = transfers.cycles(rows, run, number >= len(self.nest.reads), span)
            early = cycles if operand.kind == "constant" else 0
            inside = cycles_of(size, transfers.inside)
            found = _Box(cycles, transfers.port_cycles(rows, run, span), inside, early, size)
            self.boxes[number, id(image)] = found
        return found

    def work(self, section: Section, classes: Classes, known: _Work) -> _Work:
        """Some tiles of a section beside those that are known."""
        boxed = tuple([image is not None for image in section.images[: len(self.found)]])
        unit, alone, offchip, pad, far, near = known
        for tile, count in classes:
            one = self.tiles.get((tile, boxed))
            if one is None:
                one = self.tiles[tile, boxed] = self.tile(tile, boxed)
            unit, alone = one.unit, alone + count * one.alone
            offchip, pad = offchip + count * one.offchip, pad + count * one.pad
            far, near = far + count * one.far, near + count * one.near
        return _Work(unit, alone, offchip, pad, far, near)

    def tile(self, tile: tuple[int, ...], boxed: tuple[bool, ...]) -> _Work:
        """A tile; where there are no boxes, the unit reaches for operands where they are."""
        figures = self.figures
        work = figures.costs.work(self.nest, tile)
        far = near = stream = slow = factors = 0
        for number, (operand, size) in enumerate(zip(self.found, work.traffic, strict=False)):
            size = operand.stored(size)
            if boxed[number] or operand.place != "offchip":
                near, stream = near + size, max(stream, size)
                continue
            far += size
            if number in self.of_channels:
                factors += size
            else:
                slow = max(slow, size)
        by_far, by_near = (
            cycles_of(far, figures.rates.far["offchip"].rate),
            cycles_of(near, figures.transfers.inside),
        )
        one = max(by_near, cycles_of(stream, figures.port)) + figures.latency[1] if near else 0
        streamed = max(cycles_of(slow, figures.far), cycles_of(factors, figures.scales))
        other = max(by_far, streamed) + figures.latency[0] if far else 0
        return _Work(work.unit, max(work.cycles, other, one), by_far, by_near, far, near)


def _classes(section: Section) -> Classes:
    """Extents of tiles, full ones first, then cut ones, with how many there are of each."""
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


def _transfer(access: Access, image: Image, operand: Operand) -> tuple[int, int, int, int]:
    """Rows and bytes of a row of a full box in the memory, its bytes, and those that it spans."""
    if operand.stored_bytes is not None and operand.kind == "constant":
        size = operand.stored(image.bytes)
        return 1, size, size, size
    rows, run = rows_and_run(access, image, image.shape)
    element = BYTES[access.type]
    return rows, run * element, image.bytes, span_of(access, image, image.shape) * element
