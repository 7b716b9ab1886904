"""What a section does in all, whenever it does it: products, operations, busy cycles, bytes, energy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from sim.cost.costs import Costs
from sim.cost.lanes import Lanes
from sim.cost.ticks import TICKS
from sim.cost.work import ARRAY_BYTES, ELEMENT_BYTES, SPARED_MACS
from sim.events.model import SectionModel
from sim.machine.machine import Machine
from sim.report.values import DataKind, Direction, Memory, Traffic, details, moved, summed


@dataclass(frozen=True)
class Totals:
    """Sums over all tiles of a section."""

    macs: int
    operations: int
    busy: Mapping[str, int]
    traffic: Traffic
    detail: Mapping[str, int]
    lanes: Lanes
    """Cycles of computing by what lanes do; nothing where the model of costs does not say."""

    @staticmethod
    def of(model: SectionModel) -> Totals:
        """Those of a section, which sections that are alike share."""
        if model.followed:
            return Totals._of(model)
        if not model.totals:
            model.totals.append(Totals._of(model))
        known: Totals = model.totals[0]
        return known

    @staticmethod
    def _of(model: SectionModel) -> Totals:
        """Each class of tiles times how many there are."""
        busy: Counter[str] = Counter()
        found: list[tuple[Mapping[str, int], int]] = []
        lanes: dict[str, Fraction] = {}
        macs = operations = 0
        for tile, count in _tiles(model).items():
            work = model.costs.work(model.nest, tile, model.sites)
            busy[model.tracks[0]] += work.cycles * count
            macs, operations = macs + work.macs * count, operations + work.operations * count
            found.append((dict(work.detail), count))
            for name, cycles in _lanes(model, tile).items():
                lanes[name] = lanes.get(name, Fraction(0)) + cycles * count
        ticks: Counter[str] = Counter()
        for slot in model.slots:
            write = slot.number >= model.writes_from
            for classes, count in model.tiles.combinations(slot.image.level):
                moved = model.moved(slot, classes)
                ticks[model.tracks[2 if write else 1]] += moved.ticks * count
                if moved.opened and slot.number not in model.followed:
                    found.append(({"pages_opened": moved.opened}, count))
        for track, count in ticks.items():
            busy[track] += count // TICKS
        return Totals(macs, operations, dict(busy), traffic_of(model), details(found), lanes)

    @staticmethod
    def sum(parts: Sequence[Totals]) -> Totals:
        """Those of several sections."""
        if len(parts) == 1:
            return parts[0]
        return Totals(
            sum(part.macs for part in parts),
            sum(part.operations for part in parts),
            summed((part.busy, 1) for part in parts),
            summed((part.traffic, 1) for part in parts),
            details((part.detail, 1) for part in parts),
            summed((part.lanes, 1) for part in parts),
        )

    def energy(self, machine: Machine) -> dict[str, float]:
        """Joules by part, without leakage, which is a matter of time."""
        energy, level2 = machine.energy, machine.level2
        near, far, between = (moved(self.traffic, memory) for memory in ("scratchpad", "offchip", "level2"))
        inside = energy.inside(self.detail.get(ELEMENT_BYTES, 0), self.detail.get(ARRAY_BYTES, 0))
        found = {
            "macs": 1e-12 * energy.picojoules_per_mac * (self.macs - self.detail.get(SPARED_MACS, 0)),
            "operations": 1e-12 * energy.picojoules_per_operation * self.operations,
            "scratchpad": 1e-12 * energy.picojoules_per_scratchpad_byte * near,
            "offchip": 1e-12 * energy.picojoules_per_offchip_byte * far,
        }
        if level2 is not None:
            found["level2"] = 1e-12 * level2.picojoules_per_byte * between
        if inside:
            found["elements"] = 1e-12 * inside
        return found


def traffic_of(model: SectionModel) -> Traffic:
    """Bytes that a section moves, by tiles and in boxes."""
    if model.followed:
        return _traffic(model)
    if not model.traffic:
        model.traffic.append(_traffic(model))
    return model.traffic[0]


def _traffic(model: SectionModel) -> Traffic:
    found: Counter[tuple[Memory, Direction, DataKind]] = Counter()
    for tile, count in _tiles(model).items():
        sizes = model.costs.work(model.nest, tile, model.sites).traffic[: model.accesses]
        for number, size in enumerate(sizes):
            direction: Direction = "read" if number < model.writes_from else "write"
            found[model.place(number), direction, model.kinds[number]] += model.taken(number, size) * count
    for slot in model.slots:
        write = slot.number >= model.writes_from
        kind, home = model.kinds[slot.number], model.home(slot.number)
        for classes, count in model.tiles.combinations(slot.image.level):
            size = model.moved(slot, classes).bytes * count
            if slot.number not in model.followed:
                found[home, "write" if write else "read", kind] += size
            found["scratchpad", "read" if write else "write", kind] += size
    return {key: size for key, size in found.items() if size}


def _tiles(model: SectionModel) -> Counter[tuple[int, ...]]:
    """Extents of tiles, with how many there are of each."""
    found: Counter[tuple[int, ...]] = Counter()
    for classes, count in model.tiles.combinations(model.depth):
        found[model.tiles.extents(classes)] += count
    return found


def _lanes(model: SectionModel, tile: tuple[int, ...]) -> Lanes:
    return model.costs.lanes(model.nest, tile, model.sites) if isinstance(model.costs, Costs) else {}
