"""What a section asks of a machine, without any times: its commands by classes of tiles, its buffers."""

from __future__ import annotations

from collections.abc import Container, Hashable, Mapping, MutableMapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import lru_cache
from math import prod
from typing import Any, Protocol
from weakref import WeakValueDictionary, ref

from sim.cost.ethos.stages import scales
from sim.cost.forms import form_of
from sim.cost.pages import streamed_rate
from sim.cost.sites import STREAMS, Sites, Stream, sites_of, taken
from sim.cost.ticks import TICKS, ticks_of
from sim.cost.transfer import Transfers, far_rate, port_rate, scratchpad_rate
from sim.cost.work import Work
from sim.events.state import (
    ARRAY,
    DEPEND,
    FILL,
    FRONT,
    INPUT,
    LEVEL2,
    LOAD,
    LOCAL,
    OFFCHIP,
    OUTPUT,
    PAD,
    SINCE,
    STORE,
    UNITS,
    WEIGHTS,
)
from sim.events.tiles import Boxes, Tiles, rows_and_run, span_of
from sim.machine.machine import Machine
from sim.report.values import DataKind, Traffic
from tiling.choose import weights_of
from tiling.expr import BYTES
from tiling.nest import Access, Nest
from tiling.program import Image, Operand, Section
from tiling.records import replace
from tiling.target import Home

Classes = tuple[int, ...]
Sizes = list[tuple[int, int]]
"""Bytes of accesses, with their numbers."""
Order = tuple[list[int], list[int], list[int]]
"""First loads: those that come early, beside the last tile of another section, and behind its stores."""


class CostModel(Protocol):
    """What says how long a unit works on a tile."""

    def work(self, nest: Nest, tile: tuple[int, ...], sites: Sites = ()) -> Work:
        """Cycles and bytes of a tile of these extents, with operands where sites say."""


@dataclass(frozen=True, slots=True)
class Far:
    """A memory behind the DMA, in bytes and cycles."""

    state: int
    """Where the state has how far its work reaches."""
    transfers: Transfers
    rate: float | None
    streams: Mapping[Stream, float | None]
    """Of one stream of each kind."""

    @staticmethod
    def of(machine: Machine, state: int) -> Far:
        """The off-chip memory of a machine."""
        return Far(
            state,
            Transfers(machine),
            streamed_rate(machine),
            {stream: far_rate(machine, stream) for stream in STREAMS},
        )

    def reached(self, sizes: Sizes, streams: Sequence[Stream], pays_latencies: bool) -> int:
        """Ticks of work that uses so much where it is, in streams of which scales are one.

        The work may have the latencies of the memory in it.
        """
        longest, scales = self.asked(sizes), 0
        for size, number in sizes:
            if (stream := streams[number]) == "scales":
                scales += size
            else:
                longest = max(longest, ticks_of(size, self.streams[stream]))
        latency = 0 if pays_latencies else TICKS * self.transfers.read_latency
        return max(longest, ticks_of(scales, self.streams["scales"])) + latency

    def asked(self, sizes: Sizes) -> int:
        """Ticks of the memory for so much."""
        return ticks_of(sum(size for size, _ in sizes), self.rate)


@dataclass(frozen=True, slots=True)
class Rates:
    """What the simulation needs to know of a machine."""

    machine: Machine
    far: Mapping[Home, Far]
    """The memories behind the DMA."""
    memories: tuple[int, ...]
    """Where the state has these, and the scratchpad."""
    pad: float | None
    port: float | None
    """Of one stream of data in the scratchpad."""
    pad_latency: int
    channels: int
    store: int
    """Where the state has the channel of stores."""

    @staticmethod
    def of(machine: Machine) -> Rates:
        """Those of a machine."""
        far: dict[Home, Far] = {"offchip": Far.of(machine, OFFCHIP)}
        if (beside := machine.beside_level2) is not None:
            far["level2"] = Far.of(beside, LEVEL2)
        return Rates(
            machine,
            far,
            (*(one.state for one in far.values()), PAD),
            scratchpad_rate(machine),
            port_rate(machine),
            machine.scratchpad.read_latency_cycles,
            min(machine.dma.channels, 2),
            STORE if machine.dma.channels > 1 else LOAD,
        )

    def parted(self, move: Moved, size: int) -> tuple[Moved, Moved]:
        """So many bytes of a transfer, and what is left of it; each of them takes as long to begin."""
        if size >= move.bytes:
            return move, NOTHING
        transfers = self.far["offchip"].transfers
        begin = TICKS * (transfers.setup + transfers.read_latency)

        def part(whole: int) -> int:
            return whole * size // move.bytes

        ticks = begin + part(max(move.ticks - begin, 0))
        piece = Moved(
            ticks, move.memory, part(move.far), part(move.pad), size, part(move.outside), part(move.opened)
        )
        left = Moved(
            begin + move.ticks - ticks,
            move.memory,
            move.far - piece.far,
            move.pad - piece.pad,
            move.bytes - size,
            move.outside - piece.outside,
            move.opened - piece.opened,
        )
        return piece, left

    def alone(
        self, work: Work, sizes: Mapping[Home, Sizes], streams: Sequence[Stream]
    ) -> tuple[int, int | None]:
        """Ticks of a tile when nothing else uses the memories, and the largest access that it waits for.

        Commands that it consists of wait one by one, each for what it uses itself.
        """
        if not work.commands:
            return self._waited(work.cycles, work, sizes, streams)
        total, most, cause = 0, 0, None
        for command in work.commands:
            mine = {
                place: [one for one in some if one[1] in command.accesses] for place, some in sizes.items()
            }
            time, number = self._waited(command.cycles, work, mine, streams)
            total += time
            if time - TICKS * command.cycles > most:
                most, cause = time - TICKS * command.cycles, number
        return total, cause

    def _waited(
        self, cycles: int, work: Work, sizes: Mapping[Home, Sizes], streams: Sequence[Stream]
    ) -> tuple[int, int | None]:
        slowest, number = TICKS * cycles, None
        for place, some in sizes.items():
            if not some:
                continue
            if place == "scratchpad":
                stream = max(ticks_of(size, self.port) for size, _ in some)
                time = max(ticks_of(sum(size for size, _ in some), self.pad), stream)
                time += 0 if work.pays_latencies else TICKS * self.pad_latency
            else:
                time = self.far[place].reached(some, streams, work.pays_latencies)
            if time > slowest:
                slowest, number = time, max(some)[1]
        return slowest, number


@dataclass(frozen=True, slots=True)
class Moved:
    """A transfer: time of its channel, share of it in the times of both memories, in ticks; bytes."""

    ticks: int
    memory: int
    """Where the state has the memory behind the DMA."""
    far: int
    """Of that memory."""
    pad: int
    bytes: int
    outside: int
    """Bytes of them over the off-chip interface."""
    opened: int = 0
    """Pages of the off-chip memory."""


NOTHING = Moved(0, OFFCHIP, 0, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Asked:
    """What a tile asks of a memory: where the state has that, its ticks, and what waits for it."""

    memory: int
    ticks: int
    cause: int


@dataclass(frozen=True, slots=True)
class Computed:
    """A tile: the unit's cycles, and what the memories make of them."""

    cycles: int
    fill: int
    alone: int
    """Ticks when nothing else uses the memories."""
    cause: int
    """Of the time beyond the unit's, when it is alone."""
    asked: tuple[Asked, ...]


@dataclass(slots=True)
class Slot:
    """An access with buffers in the scratchpad."""

    number: int
    access: Access
    image: Image
    cause: int
    """What a tile that waits for it waits for."""
    ready: int
    """Where the state has when each copy was filled or, for stores, emptied."""
    used: int
    """Where the state has when each copy was last used; loads only."""
    ranges: tuple[tuple[int, int], ...]
    """Addresses of each copy."""
    boxes: Boxes
    cache: dict[Classes, Moved] = field(default_factory=dict)
    first: Moved = NOTHING
    """What the first tile asks for."""

    def moved_to(self, section: Section) -> Slot:
        """The same access of a section that differs in names and addresses alone."""
        access, image = section.nest.accesses[self.number], section.images[self.number]
        assert image is not None
        ranges = ranges_of(image)
        return replace(self, access=access, image=image, ranges=ranges)


def ranges_of(image: Image) -> tuple[tuple[int, int], ...]:
    """Addresses of each copy of a box."""
    starts = [image.address + copy * image.pitch for copy in range(image.copies)]
    return tuple([(start, start + image.bytes) for start in starts])


class Facts:
    """What sections have in common whose nests are of one form, with operands that are alike."""

    def __init__(self) -> None:
        self.moved: dict[tuple[int, tuple[int, ...], tuple[int, ...]], Moved] = {}
        """By access, steps and extents of a box."""
        self.computed: dict[tuple[tuple[int, ...], tuple[bool, ...]], Computed] = {}
        """By extents of a tile, and by which accesses have boxes."""


class SectionModel:
    """A section on a machine."""

    def __init__(
        self,
        section: Section,
        operands: Mapping[str, Operand],
        rates: Rates,
        costs: CostModel,
        facts: Facts | None = None,
    ) -> None:
        self.section, self.rates, self.costs, self.facts = section, rates, costs, facts or Facts()
        nest = self.nest = section.nest
        self.form = form_of(nest)
        self.tiles = Tiles.of(section)
        self.operands = [operands[access.operand] for access in nest.accesses]
        self.writes_from = len(nest.reads)
        self.accesses = self.writes_from + len(nest.writes)
        self.kinds = data_kinds(nest, operands)
        self.copied = tuple([image is not None for image in section.images])
        self.sites = sites_of(self.operands[: self.accesses], self.copied)
        self.followed: frozenset[int] = frozenset()
        """Accesses whose boxes come by the commands of another core."""
        self.like: SectionModel | None = None
        """The model that this one has most from."""
        self.streams = streams_of(nest, weights_of(nest, operands))
        self.loads, self.stores, self.size = self._slots()
        self.slots = (*self.loads, *self.stores)
        self._places()
        self.computes: dict[Classes, Computed] = {}
        first = costs.work(nest, self.tiles.extents(self.tiles.first), self.sites)
        self.unit_name, self.ahead = first.unit, first.ahead
        tiles = 1 if first.commands else prod(loop.count for loop in section.loops)
        self.hides = first.hides * tiles
        """Cycles at its end in which tables of what follows come."""
        array = rates.machine.array
        shared = array is not None and array.does_elements and self.unit_name == "vector"
        self.unit = ARRAY if shared else UNITS[self.unit_name]
        channels = ("dma 0", "dma 1") if rates.channels > 1 else ("dma", "dma")
        self.tracks = (channels[0] if self.unit == LOAD else self.unit_name, *channels)
        """Names of what computes, loads and stores."""
        self.depth = len(section.loops)
        self.moves = [self._moves(depth) for depth in range(self.depth)]
        self.keys = [self._key(depth) for depth in range(self.depth)]
        self.orders: dict[int, tuple[ref[SectionModel], Order]] = {}
        """The order of the first loads behind other sections, by their identity."""
        for slot in self.loads:
            slot.first = self.moved(slot, self.tiles.first)
        self.inners: dict[Classes, tuple[Hashable, ...]] = {}
        """By classes of outer loops, what they are to those inside."""
        self.results: dict[tuple[object, ...], object] = {}
        """What loops do to states that have been met."""
        self.traffic: list[Traffic] = []
        """Bytes that it moves, once they are known."""
        self.totals: list[Any] = []
        """What it does in all (`sim.events.totals`), once that is known."""

    def moved_to(self, section: Section, operands: Mapping[str, Operand]) -> SectionModel:
        """The model of a section that differs in names and addresses alone, and knows what this one does."""
        found = copy(self)
        found.like, found.section, found.nest = self, section, section.nest
        found.followed, found.orders = frozenset(), {}
        found.operands = [operands[access.operand] for access in section.nest.accesses]
        found.loads = [slot.moved_to(section) for slot in self.loads]
        found.stores = [slot.moved_to(section) for slot in self.stores]
        found.slots = (*found.loads, *found.stores)
        found._places()
        return found

    def _places(self) -> None:
        """Addresses and operands that tiles use where they are, and all that the section uses and writes.

        Constants are always there, and nobody else uses their addresses.
        """
        own = self.section.accumulator
        self.read_in_place: list[str] = []
        self.written_in_place: list[str] = []
        self.pad_reads: list[tuple[int, int]] = []
        self.pad_writes = [] if own is None else [(own.address, own.address + own.bytes, "")]
        for number, operand in enumerate(self.operands[: self.accesses]):
            if self.section.images[number] is not None or operand.kind == "constant":
                continue
            reading, span = number < self.writes_from, (operand.offset, operand.offset + operand.bytes)
            (self.read_in_place if reading else self.written_in_place).append(operand.name)
            if operand.place == "scratchpad":
                if reading:
                    self.pad_reads.append(span)
                else:
                    self.pad_writes.append((*span, operand.name))
        self.written = frozenset(
            access.operand for access in self.nest.accesses[self.writes_from : self.accesses]
        )
        self.stored = [span for slot in self.stores for span in slot.ranges]
        held = [span for slot in self.slots for span in slot.ranges]
        self.used = [*held, *self.pad_reads, *((low, high) for low, high, _ in self.pad_writes)]

    def _slots(self) -> tuple[list[Slot], list[Slot], int]:
        loads, stores, at = [], [], LOCAL
        for number, (access, image) in enumerate(zip(self.nest.accesses, self.section.images, strict=True)):
            if image is None or number >= self.accesses:
                continue
            ranges, boxes = ranges_of(image), self.tiles.boxes(access, image)
            if number < self.writes_from:
                cause = INPUT if self.kinds[number] == "activations" else WEIGHTS
                loads.append(Slot(number, access, image, cause, at, at + image.copies, ranges, boxes))
                at += 2 * image.copies
            else:
                stores.append(Slot(number, access, image, OUTPUT, at, at, ranges, boxes))
                at += image.copies
        return loads, stores, at

    def _moves(self, depth: int) -> tuple[list[int], list[int], list[int]]:
        """Slots that a step of a loop moves: loads into another copy, loads into the same one, stores."""
        moved = [number for number, slot in enumerate(self.slots) if slot.image.level > depth]
        count = len(self.loads)
        return (
            [n for n in moved if n < count and self.slots[n].image.copies > 1],
            [n for n in moved if n < count and self.slots[n].image.copies == 1],
            [n for n in moved if n >= count],
        )

    def _key(self, depth: int) -> tuple[list[int], list[int], list[int]]:
        """Where the state has what matters to a loop: what it changes, and what tiles or loads wait for.

        Where no loads can come between its tiles, the work of the memories only adds up.
        """
        early, late, stores = self.moves[depth]
        moved = {*early, *late, *stores}
        loading = bool(early or late or (stores and self.rates.store == LOAD)) or self.unit == LOAD
        changed, waited, used = [FRONT], [DEPEND, SINCE], list[int]()
        if loading and self.unit != LOAD:
            changed.append(LOAD)
        if stores and self.rates.store == STORE:
            waited.append(STORE)
        if loading:
            changed.extend(self.rates.memories)
        else:
            waited.extend((LOAD, *self.rates.memories))
        for number, slot in enumerate(self.slots):
            copies = slot.image.copies
            waited.extend(range(slot.ready, slot.ready + copies))
            if number in moved and number < len(self.loads):
                used.extend(range(slot.used, slot.used + copies))
        return changed, waited, used

    def inner(self, classes: Classes) -> tuple[Hashable, ...]:
        """What loops inside of some see of the classes of these: extents of tiles and of boxes."""
        found = self.inners.get(classes)
        if found is None:
            ranges = zip(self.tiles.walks, classes, strict=False)
            extents = [end - begin for begin, end in (walk.ranges[number] for walk, number in ranges)]
            inside = [slot.boxes for slot in self.slots if slot.image.level > len(classes)]
            found = self.inners[classes] = (*extents, *[boxes.fixed(classes) for boxes in inside])
        return found

    def moved(self, slot: Slot, classes: Classes) -> Moved:
        """The transfer of an access for a tile."""
        key = classes[: slot.image.level]
        known = slot.cache.get(key)
        if known is None:
            box = slot.boxes.box(key)
            alike = slot.number, slot.image.steps, box
            known = self.facts.moved.get(alike)
            if known is None:
                known = self.facts.moved[alike] = self._moved(slot, box)
            slot.cache[key] = known
        return known

    def _moved(self, slot: Slot, box: Sequence[int]) -> Moved:
        rows, run = rows_and_run(slot.access, slot.image, box)
        element = BYTES[slot.access.type]
        operand, far = self.operands[slot.number], self.far(slot.number)
        size = operand.stored(rows * run * element)
        span: int | None
        if operand.stored_bytes is not None and operand.kind == "constant":
            rows, run_bytes = (1, size) if size else (0, 0)
            span = size
        else:
            run_bytes = run * element
            span = span_of(slot.access, slot.image, box) * element if far.transfers.pages else None
        write, transfers = slot.number >= self.writes_from, far.transfers
        return Moved(
            transfers.ticks(rows, run_bytes, write, span),
            far.state,
            transfers.port_ticks(rows, run_bytes, span),
            ticks_of(size, self.rates.pad),
            size,
            size if far.state == OFFCHIP else 0,
            transfers.opened(rows, run_bytes, span),
        )

    def home(self, number: int) -> Home:
        """The memory behind the DMA that an access has its operand in."""
        return "level2" if self.operands[number].place == "level2" else "offchip"

    def far(self, number: int) -> Far:
        """What that memory is like."""
        return self.rates.far[self.home(number)]

    def place(self, number: int) -> Home:
        """The memory in which the unit finds an access."""
        return "scratchpad" if self.section.images[number] is not None else self.operands[number].place

    def taken(self, number: int, size: int) -> int:
        """Bytes that the unit takes for so many of an access."""
        array, near = self.rates.machine.array, self.place(number) == "scratchpad"
        return taken(array, self.operands[number], size, near)

    def computed(self, classes: Classes) -> Computed:
        """The time of a tile."""
        known = self.computes.get(classes)
        if known is None:
            alike = self.tiles.extents(classes), self.copied
            known = self.facts.computed.get(alike)
            if known is None:
                known = self.facts.computed[alike] = self._computed(alike[0])
            self.computes[classes] = known
        return known

    def _computed(self, tile: tuple[int, ...]) -> Computed:
        work, rates = self.costs.work(self.nest, tile, self.sites), self.rates
        sizes: dict[Home, Sizes] = {}
        for number, size in enumerate(work.traffic[: self.accesses]):
            if size:
                there = sizes.setdefault(self.place(number), [])
                there.append((self.taken(number, size), number))
        alone, waited = rates.alone(work, sizes, self.streams)
        cause = FILL if waited is None else self._cause([(0, waited)])
        asked = [
            Asked(far.state, far.asked(sizes[place]), self._cause(sizes[place]))
            for place, far in rates.far.items()
            if place in sizes
        ]
        if near := sizes.get("scratchpad"):
            pad = ticks_of(sum(size for size, _ in near), rates.pad)
            asked.append(Asked(PAD, pad, self._cause(near)))
        return Computed(work.cycles, work.fill, alone, cause, tuple(one for one in asked if one.ticks))

    def _cause(self, sizes: Sizes) -> int:
        """What a tile waits for that waits for a memory: the access with the most bytes."""
        number = max(sizes)[1]
        if number >= self.writes_from:
            return OUTPUT
        return INPUT if self.kinds[number] == "activations" else WEIGHTS


class Models:
    """Models of sections on a machine: those that are alike share what is worked out while one lives.

    Where models come and go, those of each kind that were first may be made `lasting`.
    """

    def __init__(self, rates: Rates, costs: CostModel, *, lasting: bool = False) -> None:
        self.rates, self.costs, self.lasting = rates, costs, lasting
        self._known: MutableMapping[Hashable, SectionModel] = {} if lasting else WeakValueDictionary()
        self._facts: WeakValueDictionary[Hashable, Facts] = WeakValueDictionary()
        """As long as there are models that have them, which keep the form, too."""
        self._placed: WeakValueDictionary[Hashable, SectionModel] = WeakValueDictionary()
        """By the identity of their section, and where its operands are."""

    @staticmethod
    def of(machine: Machine) -> Models:
        """Those of a machine that has been launched."""
        return _models(machine.model_copy(update={"launch_overhead_cycles": 0}))

    def model(self, section: Section, operands: Mapping[str, Operand]) -> SectionModel:
        """The model of a section; those of `lasting` ones are made for each who asks."""
        if self.lasting:
            return self._made(section, operands)
        used = [operands[access.operand] for access in section.nest.accesses]
        key = id(section), *[(one.place, one.offset, one.kind) for one in used]
        found = self._placed.get(key)
        if found is None:
            found = self._placed[key] = self._made(section, operands)
        return found

    def _made(self, section: Section, operands: Mapping[str, Operand]) -> SectionModel:
        """A model of a section, of one that is alike but for names and addresses if there is one."""
        key = _alike(section, operands)
        known = self._known.get(key)
        if known is not None:
            return known.moved_to(section, operands)
        alike = key[:2]
        facts = self._facts.get(alike)
        if facts is None:
            facts = self._facts[alike] = Facts()
        found = self._known[key] = SectionModel(section, operands, self.rates, self.costs, facts)
        # What others load for a core, and the order of its loads, is another thing in each program.
        return found.moved_to(section, operands) if self.lasting else found


@lru_cache(maxsize=32)
def _models(machine: Machine) -> Models:
    from sim.cost.costs import Costs

    return Models(Rates.of(machine), Costs.of(machine))


def _alike(section: Section, operands: Mapping[str, Operand]) -> tuple[Hashable, ...]:
    """All that a model depends on but for names and addresses, the form and its operands first.

    A model keeps the form, whose identity is here.
    """
    nest = section.nest
    images = [one and (one.shape, one.bytes, one.level, one.copies, one.steps) for one in section.images]
    found = [operands[access.operand] for access in nest.accesses]
    facts = [(one.elements, one.kind, one.place, one.stored_bytes) for one in found]
    return id(form_of(nest)), tuple(facts), section.loops, tuple(images), section.accumulator is None


def streams_of(nest: Nest, weights: Container[int]) -> tuple[Stream, ...]:
    """The stream that each access is, where it is used where it is."""
    reads, of_channels = len(nest.reads), scales(nest)

    def stream(number: int) -> Stream:
        if number >= reads:
            return "results"
        return "scales" if number in of_channels else "weights" if number in weights else "maps"

    return tuple(map(stream, range(len(nest.accesses))))


def data_kinds(nest: Nest, operands: Mapping[str, Operand]) -> list[DataKind]:
    """What each access moves."""
    weights = weights_of(nest, operands)
    return [
        "weights"
        if number in weights
        else ("constants" if operands[access.operand].kind == "constant" else "activations")
        for number, access in enumerate(nest.accesses)
    ]
