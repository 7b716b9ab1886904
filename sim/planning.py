"""What one section costs: what the planner compares its choices by.

A closed form says how long each takes at least; those that may be best are followed command by command.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from math import inf, prod

import numpy as np

from sim.cost.costs import Costs
from sim.cost.prices import Prices
from sim.cost.sites import Sites, sites_of, taken
from sim.cost.ticks import TICKS, ticks_of
from sim.events.model import CostModel, Models, Rates, SectionModel, streams_of
from sim.events.sections import Run
from sim.events.state import LOAD
from sim.events.sums import IDLE, Box, Classes, Moves, Work, classes_of, transfer_of
from sim.events.tiles import box_at_end, part_of_boxes
from sim.machine.machine import Machine
from sim.report.values import Memory, moved
from tiling.choose import BEYOND, Bar, Estimate, Price, weights_of
from tiling.making import Maker
from tiling.nest import Nest
from tiling.offer import Offers
from tiling.planner import Judge
from tiling.program import Image, Loop, Operand, Program, Section
from tiling.target import Home

NEVER = Price(inf)
"""Of a section that surely costs more than others."""
SURE = 0.9
"""A part of the bytes that is surely moved, as their number is one on the average."""


def estimator(machine: Machine, costs: CostModel | None = None) -> Estimate:
    """The estimate for a machine: prices of sections that have the machine to themselves."""
    models = Models.of(machine) if costs is None else Models(Rates.of(machine), costs)
    figures = _Figures.of(machine, models)
    groups: dict[Maker, _Group] = {}

    def prices(sections: Sequence[Section], operands: Mapping[str, Operand]) -> list[Price]:
        if not sections:
            return []
        if not isinstance(sections, Offers):
            return _Group(figures, sections[0].nest, operands).prices(sections)
        group = groups.get(sections.maker)
        if group is None:
            group = groups[sections.maker] = _Group(figures, sections[0].nest, operands)
        return group.offered(sections)

    return prices


def judge(machine: Machine) -> Judge:
    """What whole programs cost on a machine, followed command by command."""
    from sim.events.simulate import follow

    price = Prices.of(machine)
    judged: list[Program] = []
    """Kept, as other programs have sections of theirs, whose models are known as long."""

    def cost(program: Program) -> tuple[float, float]:
        judged.append(program)
        cycles, traffic = follow(program, machine)
        memories: tuple[Memory, ...] = "offchip", "level2", "scratchpad"
        sizes = [moved(traffic, memory) for memory in memories]
        whole = price.cost(cycles, *sizes) - price.waiting(*sizes[:2])
        return whole, whole + price.counted_byte * sizes[0]

    return cost


@dataclass(frozen=True, slots=True)
class _Figures:
    """A machine's figures, looked up once."""

    machine: Machine
    models: Models
    costs: CostModel
    rates: Rates
    price: Prices
    channels: int
    byte: float
    """What a byte that is moved costs at least."""
    margin: float
    """So much more may a section cost than its price, for its room."""

    @staticmethod
    def of(machine: Machine, models: Models) -> _Figures:
        """Those of a machine."""
        rates = models.rates
        price = Prices.of(machine)
        bytes_of = [(machine.offchip_bytes_per_cycle, price.offchip_byte)]
        if (beside := machine.beside_level2) is not None:
            bytes_of.append((beside.offchip_bytes_per_cycle, price.level2_byte))
        byte = min(own + (price.cycle / rate if rate else 0.0) for rate, own in bytes_of)
        margin = 0.0 if machine.target.values == "offchip" else BEYOND
        return _Figures(machine, models, models.costs, rates, price, rates.channels, byte, margin)


@dataclass(slots=True)
class _Look:
    """What is known of a section: bounds of what it costs, each higher than the last, and then its price."""

    section: Section
    moves: Moves
    bounds: list[Price]
    work: Work = IDLE
    left: Classes | None = None
    """Tiles that have not been looked at; None if none has."""
    price: Price | None = None
    model: SectionModel | None = None
    """What was followed, which programs share that have the section."""


class _Group:
    """The sections of a nest, with what they have in common worked out once, and each of them once."""

    def __init__(self, figures: _Figures, nest: Nest, operands: Mapping[str, Operand]) -> None:
        self.figures, self.nest, self.operands = figures, nest, operands
        self.found = [operands[access.operand] for access in (*nest.reads, *(w.access for w in nest.writes))]
        self.streams = streams_of(nest, weights_of(nest, operands))
        self.boxes: dict[tuple[int, int], Box] = {}
        self.tiles: dict[tuple[tuple[int, ...], tuple[bool, ...]], Work] = {}
        self.sites: dict[tuple[bool, ...], Sites] = {}
        self.known: dict[tuple[int, ...], list[Price]] = {}
        """Prices of what rooms offer, by how much that is."""
        self.looks: dict[int, _Look] = {}
        """What is known of each section, by its identity."""

    def offered(self, offers: Offers) -> list[Price]:
        """Prices of what a room offers."""
        found = self.known.get(offers.counts)
        if found is None:
            found = self.known[offers.counts] = self.prices(offers)
        return found

    def prices(self, sections: Sequence[Section]) -> list[Price]:
        """Prices of sections; of those that surely cost more than others, infinite ones.

        Sections are looked at by what they cost at least: as their transfers say, then as their full tiles
        say, then as all tiles say, and then, command by command, for certain.
        """
        prices, bar = [NEVER] * len(sections), Bar()
        bounds, stages = self.floors(sections), [0] * len(sections)
        heap = [(bound.cost, number) for number, bound in enumerate(bounds)]
        heapify(heap)
        while heap:
            _, number = heappop(heap)
            if not bar.passed(bounds[number]):
                continue
            look, stage = self.look(sections[number]), stages[number]
            bound = look.bounds[stage] if stage < len(look.bounds) else self.closer(look)
            if bound is None:
                if look.price is None and bar.beaten(self.surely(look), self.figures.margin):
                    continue
                bar.add(price := self.price(look))
                prices[number] = price
            else:
                bounds[number], stages[number] = bound, stage + 1
                heappush(heap, (bound.cost, number))
        return prices

    def look(self, section: Section) -> _Look:
        """What is known of a section."""
        found = self.looks.get(id(section))
        if found is None:
            moves = self.moves(section)
            found = self.looks[id(section)] = _Look(section, moves, [self.bound(moves, IDLE)])
        return found

    def closer(self, look: _Look) -> Price | None:
        """A higher bound of what a section costs; None if there is no more to look at."""
        if look.left is None:
            full, *look.left = classes_of(look.section)
            some = [full]
        elif look.left:
            some, look.left = look.left, []
        else:
            return None
        look.work = self.work(look.section, some, look.work)
        bound = self.bound(look.moves, look.work)
        look.bounds.append(bound)
        return bound

    def bound(self, moves: Moves, work: Work) -> Price:
        """What a section costs at least that moves so much, and does so much work or more."""
        least, later = self.least(moves, work, moves.early), self.later(moves, work)
        early = self.figures.price.cycle * moves.early
        return Price(least, early, least - self.busy(moves, work), self.counted(moves, work), later)

    def surely(self, look: _Look) -> Price:
        """The same as closely as can be said of a section of which all tiles are known."""
        moves, work, cycle = look.moves, look.work, self.figures.price.cycle
        least, later = self.least(moves, work, moves.apart), self.later(moves, work)
        idle = min(least - self.busy(moves, work), cycle * self.quiet(look.section, work))
        return Price(least, cycle * moves.early, idle, self.counted(moves, work), later)

    def quiet(self, section: Section, work: Work) -> float:
        """Cycles at the end of a section, at most, in which nothing comes.

        When the last load begins, all tiles are done that used what it overwrites, and all results are stored
        but as many as have buffers.
        """
        loads, stores = self.moving(section)
        if stores and self.figures.channels == 1:
            return 0.0
        counts = [loop.count for loop in section.loops]
        tiles = min([one.copies * prod(counts[one.level :]) for one in loads if one.level], default=0)
        if not tiles:
            return inf
        cycles = tiles * work.longest
        for number, image in stores:
            boxes = image.copies + 1 - -tiles // prod(counts[image.level :])
            cycles += min(boxes, prod(counts[: image.level])) * self.boxes[number, id(image)].cycles
        return cycles

    def counted(self, moves: Moves, work: Work) -> float:
        """What bytes would cost beside that if they counted for themselves."""
        return self.figures.price.counted_byte * (moves.bytes - moves.of_level2 + work.far)

    def later(self, moves: Moves, work: Work) -> float:
        """What bytes cost as nothing else comes meanwhile."""
        offchip, level2 = moves.bytes - moves.of_level2 + work.far, moves.of_level2 + work.between
        return self.figures.price.waiting(offchip, level2)

    def moving(self, section: Section) -> tuple[list[Image], list[tuple[int, Image]]]:
        """Boxes of what is read, and those of results, with the numbers of their accesses."""
        reads, images = len(self.nest.reads), section.images[: len(self.found)]
        loads = [image for image in images[:reads] if image is not None]
        return loads, [(number, one) for number, one in enumerate(images) if one and number >= reads]

    def price(self, look: _Look) -> Price:
        """What a section costs, which is worked out once."""
        if look.price is None:
            look.model = self.figures.models.model(look.section, self.operands)
            look.price = self.followed(look.model, look.moves, look.work)
        return look.price

    def floors(self, sections: Sequence[Section]) -> list[Price]:
        """What sections that are not yet made cost at least, and what of that may come early."""
        if not isinstance(sections, Offers):
            return [Price(0.0)] * len(sections)
        price, byte = self.figures.price, SURE * self.figures.byte
        later = max(price.later)
        counted = 0.0 if self.figures.machine.level2 else SURE * price.counted_byte
        found = []
        for loaded, early, near, far in zip(
            sections.moved, sections.early, *self.reached(sections), strict=True
        ):
            size = loaded + far
            cost, busy = max(byte * size, price.cycle * near), byte * size
            found.append(Price(cost, byte * early, cost - busy, counted * size, later * size))
        return found

    def reached(self, offers: Offers) -> tuple[list[float], list[float]]:
        """Cycles of the scratchpad, and bytes behind it, that tiles of sections use in place at least."""
        costs, rate = self.figures.costs, self.figures.rates.pad
        sure = costs.reached(self.nest) if isinstance(costs, Costs) else ()
        if not sure:
            return [0.0] * len(offers), [0.0] * len(offers)
        menu, array = offers.maker.menu, self.figures.machine.array
        parts, inside = np.zeros((2, menu.touched.shape[1])), np.zeros(menu.touched.shape[1], bool)
        for number, one in enumerate(self.found):
            inside[number] = one.place == "scratchpad"
            if number in sure:
                parts[:, number] = [
                    taken(array, one, one.bytes, near) / max(one.bytes, 1) for near in (True, False)
                ]
        touched, near = menu.touched[offers.rows], np.array(offers.boxed) | inside
        cycles = (touched * near) @ parts[0] * (SURE / rate if rate else 0.0)
        return cycles.tolist(), ((touched * ~near) @ parts[1]).tolist()

    def least(self, moves: Moves, work: Work, apart: float) -> float:
        """What a section costs at least: whatever works beside each other takes as long as the slowest.

        No tile works beside transfers that take so many cycles `apart`.
        """
        alone = work.alone + (moves.loads if work.unit == "dma" else apart)
        offchip, pad = moves.offchip + work.offchip, moves.pad + work.pad
        return self.cost(max(alone, moves.dma, offchip, moves.level2 + work.level2, pad), moves, work)

    def busy(self, moves: Moves, work: Work) -> float:
        """What it costs at least if all that follows hides behind what is no transfer."""
        loads = moves.loads + (work.alone if work.unit == "dma" else 0)
        offchip, level2 = moves.offchip + work.offchip, moves.level2 + work.level2
        return self.cost(max(loads, offchip, level2), moves, work)

    def cost(self, cycles: float, moves: Moves, work: Work) -> float:
        """What a section costs that takes so many cycles."""
        offchip, level2 = moves.bytes - moves.of_level2 + work.far, moves.of_level2 + work.between
        return self.figures.price.cost(cycles, offchip, level2, moves.bytes + work.near)

    def followed(self, model: SectionModel, moves: Moves, work: Work) -> Price:
        """The price of a section, command by command; idle is what nothing comes or goes at its end."""
        figures = self.figures
        run = Run(Program(figures.machine.target, {}, (model.section,), 0, 0), figures.rates, 0)
        run.section(model, True)
        run.finish()
        busy = max(run.state[LOAD], *(run.state[far.state] for far in figures.rates.far.values()))
        cycle, took, idle = figures.price.cycle, run.ticks / TICKS, max(run.ticks - busy, 0) / TICKS
        cost, early = self.cost(took, moves, work), cycle * min(moves.early, took)
        return Price(cost, early, cycle * idle, self.counted(moves, work), self.later(moves, work))

    def moves(self, section: Section) -> Moves:
        """The transfers of a section."""
        loads = stores = offchip = level2 = pad = early = size = between = 0.0
        first = last = before = behind = 0.0
        reads, times = len(self.nest.reads), [1.0]
        for loop in section.loops:
            times.append(times[-1] * self.nest.axes[loop.axis].extent / loop.step)
        boxes = self.boxes
        for number, image in enumerate(section.images[: len(self.found)]):
            if image is None:
                continue
            box = boxes.get((number, id(image))) or self.box(number, image, section.loops)
            tiles = times[image.level]
            count = tiles * box.part
            cycles = box.cycles * count
            # Tiles wait for whatever has one copy.
            alone = cycles if image.level and image.copies == 1 else box.outer
            if number < reads:
                loads, first, before = loads + cycles, first + box.outer, before + alone
            else:
                stores, last, behind = stores + cycles, last + box.outer, behind + alone
            if self.found[number].place == "level2":
                level2 += box.far * count
                between += box.bytes * tiles
            else:
                offchip += box.far * count
            pad += box.pad * count
            size += box.bytes * tiles
            early += box.early
        if self.figures.channels > 1:
            apart = max(before + last, first + behind)
            return Moves(max(loads, stores), loads, offchip, level2, pad, early, apart, size, between)
        both = loads + stores
        return Moves(both, both, offchip, level2, pad, early, before + behind, size, between)

    def box(self, number: int, image: Image, loops: Sequence[Loop]) -> Box:
        """One transfer of a box of an access, in these loops."""
        operand = self.found[number]
        transfers = self.figures.rates.far["level2" if operand.place == "level2" else "offchip"].transfers
        access, written = self.nest.accesses[number], number >= len(self.nest.reads)
        rows, run, size, span = transfer_of(access, image, image.shape, operand)
        cycles = outer = transfers.ticks(rows, run, written, span) / TICKS
        early = cycles if operand.kind == "constant" else 0
        port, inside = transfers.port_ticks(rows, run, span) / TICKS, ticks_of(size, transfers.inside) / TICKS
        loops = loops[: image.level]
        part = part_of_boxes(self.nest, access, image, loops)
        end = box_at_end(self.nest, access, image, loops, last=written)
        if end != image.shape:
            rows, run, _, span_of_end = transfer_of(access, image, end, operand)
            outer = transfers.ticks(rows, run, written, span_of_end) / TICKS
        found = Box(cycles, port, inside, early, size, part, outer)
        self.boxes[number, id(image)] = found
        return found

    def work(self, section: Section, classes: Classes, known: Work) -> Work:
        """Some tiles of a section beside those that are known."""
        boxed = tuple([image is not None for image in section.images[: len(self.found)]])
        unit, alone, offchip, level2, pad, far, between, near, longest = known
        for tile, count in classes:
            one = self.tiles.get((tile, boxed))
            if one is None:
                one = self.tiles[tile, boxed] = self.tile(tile, boxed)
            unit, alone, pad = one.unit, alone + count * one.alone, pad + count * one.pad
            offchip, level2 = offchip + count * one.offchip, level2 + count * one.level2
            far, between = far + count * one.far, between + count * one.between
            near, longest = near + count * one.near, max(longest, one.alone)
        return Work(unit, alone, offchip, level2, pad, far, between, near, longest)

    def tile(self, tile: tuple[int, ...], boxed: tuple[bool, ...]) -> Work:
        """A tile; where there are no boxes, the unit reaches for operands where they are."""
        rates = self.figures.rates
        if boxed not in self.sites:
            self.sites[boxed] = sites_of(self.found, boxed)
        work = self.figures.costs.work(self.nest, tile, self.sites[boxed])
        places: dict[Home, list[tuple[int, int]]] = {}
        for number, (operand, size) in enumerate(zip(self.found, work.traffic, strict=False)):
            place: Home = "scratchpad" if boxed[number] else operand.place
            if size := taken(self.figures.machine.array, operand, size, place == "scratchpad"):
                places.setdefault(place, []).append((size, number))
        alone, _ = rates.alone(work, places, self.streams)
        sizes = {place: sum(size for size, _ in some) for place, some in places.items()}
        busy = {home: far.asked(places[home]) / TICKS for home, far in rates.far.items() if home in places}
        near = sizes.get("scratchpad", 0)
        by_near = ticks_of(near, rates.pad) / TICKS
        return Work(
            work.unit,
            alone / TICKS,
            busy.get("offchip", 0),
            busy.get("level2", 0),
            by_near,
            sizes.get("offchip", 0),
            sizes.get("level2", 0),
            near,
        )
