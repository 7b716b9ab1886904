"""Several cores beside each other, each with commands, units and a DMA of its own.

All ask one off-chip memory, and one scratchpad where they share it. These serve whoever asks first; each
core's commands are followed in order, always of that core next whose time is the least, so cores that ask
for much at once take turns command by command. A core goes on to a section when everything is there that
others write for it, and when nobody still takes from addresses that it fills. What it takes from others goes
over the network.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from heapq import heappop, heappush

from sim.cost.costs import Costs
from sim.cost.ticks import TICKS, ticks_of
from sim.events.body import SectionRun
from sim.events.casts import Cast, Part, join
from sim.events.folding import folded
from sim.events.model import Classes, Models, Moved, Rates, SectionModel
from sim.events.network import Network
from sim.events.reporting import Summary, report_of
from sim.events.sections import Ran, Run
from sim.events.state import LEVEL2, LOAD, OFFCHIP, PAD
from sim.machine.machine import Machine
from sim.report.cores import CoresReport
from sim.report.report import Report
from sim.report.values import OperatorReport, Span, details, summed
from tiling.program import Operand, Program, Section
from tiling.spread import SpreadProgram, is_pull, pulled_bytes

Waits = dict[int, int]
"""How many sections of other cores must be over."""


@dataclass(slots=True)
class _Pull:
    """What a core takes from another."""

    source: int
    origin: Operand
    target: Operand
    bytes: int
    waits: Waits
    members: tuple[str, ...]
    """The operators that it is taken for."""
    cast: Cast
    """With all that take it."""


@dataclass(slots=True)
class _Step:
    """A section of a core, and what it takes from others before."""

    pulls: list[_Pull]
    part: Part
    waits: Waits


@dataclass
class _Shared:
    """What cores have together."""

    network: Network
    pad_shared: bool
    multicast: bool
    offchip: int = 0
    level2: int = 0
    pad: int = 0
    progress: int = 0
    """Rises whenever something has happened that others may wait for."""
    cast_bytes: int = 0
    """Bytes that several cores have had from one load."""
    done: list[int] = field(default_factory=list)
    """How many sections of each core are over."""
    cores: list[_Core] = field(default_factory=list)

    def join(self, parts: dict[int, Part]) -> None:
        """Let cores load together what they load alike for their parts of a nest, if that can be."""
        join(parts, self.multicast)
        parts.clear()

    def over(self, core: int, sections: int = 1) -> None:
        """So many more sections of a core are over."""
        self.done[core] += sections
        self.progress += 1

    def lend(self, run: Run) -> None:
        """Tell a core how far the memories are that it shares."""
        run.state[OFFCHIP], run.state[LEVEL2] = self.offchip, self.level2
        if self.pad_shared:
            run.state[PAD] = self.pad

    def take_back(self, run: Run) -> None:
        """Learn from a core how far they are now."""
        self.offchip, self.level2, self.pad = run.state[OFFCHIP], run.state[LEVEL2], run.state[PAD]


class _Core:
    """A core: its steps, and how far it is."""

    def __init__(self, number: int, program: Program, rates: Rates, launch: int, shared: _Shared) -> None:
        self.number, self.program, self.rates, self.shared = number, program, rates, shared
        self.run = Run(program, rates, launch)
        self.steps: list[_Step] = []
        self.trailing = 0
        """Pulls behind the last section."""
        self.spans: list[Span] = []
        self.blocked = False
        self.joules: dict[tuple[str, ...], float] = {}
        """Of the network, by the operators that something is taken for."""

    @property
    def clock(self) -> int:
        """From when on it may ask for anything."""
        state, last = self.run.state, self.run.last
        return state[LOAD] if last is None else min(state[LOAD], state[last.model.unit])

    def go(self) -> Iterator[None]:
        """All that the core does, command by command."""
        run, shared = self.run, self.shared
        for step in self.steps:
            part = step.part
            early, beside, behind = part.order
            for number in early:
                yield from self._first_load(part, number)
            for later, number, move in part.ahead:
                yield from self._first_load(later, number, move)
            for number in run.approach(([], beside, [])):
                yield from self._first_load(part, number)
            shared.over(self.number, int(run.last is not None))
            for pull in step.pulls:
                yield from self._wait(pull.waits)
                yield from self._pull(pull)
                shared.over(self.number)
                yield
            yield from self._wait(step.waits)
            for number in behind:
                yield from self._first_load(part, number)
            body = run.enter(part.model, part.first, fold=False)
            yield
            yield from self._tiles(part, body, 0)
        run.finish()
        shared.over(self.number, self.trailing + bool(self.steps))

    def _wait(self, waits: Waits) -> Iterator[None]:
        done = self.shared.done
        while any(done[core] < count for core, count in waits.items()):
            self.blocked = True
            yield
        self.blocked = False

    def _first_load(self, part: Part, number: int, move: Moved | None = None) -> Iterator[None]:
        """Load the first box of a slot, or a part of it, with others if they load the same."""
        run, model, first, cast = self.run, part.model, part.first, part.casts.get(number)
        move = move or part.firsts(number)
        if cast is None:
            run.first_load(model, number, first, move)
            return
        bring = partial(self._bring, cast, part, move, run.floor)
        yield from self._meet(cast, run.due(model, number, first), bring)
        end = self._put(move.pad, run.floor, cast.end)
        run.loaded(model, number, first, cast.start, end, move)

    def _tiles(self, part: Part, body: SectionRun, depth: int) -> Iterator[None]:
        """All tiles of a section but the last, which is pending then."""
        if depth == part.model.depth:
            return
        first = True
        for step, count in part.model.tiles.walks[depth].runs:
            for _ in range(count):
                if not first:
                    for number, copy, classes in body.advancing(depth, step):
                        yield from self._load(part, body, number, copy, classes)
                    yield
                first = False
                yield from self._tiles(part, body, depth + 1)

    def _load(self, part: Part, body: SectionRun, number: int, copy: int, classes: Classes) -> Iterator[None]:
        """Load a box of a slot, with others if they load the same."""
        cast = part.casts.get(number)
        if cast is None:
            body.load(number, copy, classes)
            return
        slot = part.model.loads[number]
        move = part.model.moved(slot, classes)
        start = max(body.state[LOAD], body.state[slot.used + copy])
        yield from self._meet(cast, start, partial(self._bring, cast, part, move, body.floor))
        body.loaded(slot, copy, cast.start, self._put(move.pad, body.floor, cast.end), move)

    def _put(self, ticks: int, floor: int, end: int) -> int:
        """When what comes until some time is in the scratchpad, which takes so many ticks for it."""
        state = self.run.state
        state[PAD] = reach = max(state[PAD], floor) + ticks
        return max(end, reach) if ticks else end

    def _meet(self, cast: Cast, start: int, bring: Callable[[int], int]) -> Iterator[None]:
        """Wait for all that ask for the same; the last one has it brought, from when on all can take it."""
        count = cast.done
        cast.starts[self.number] = start
        if len(cast.starts) == len(cast.cores):
            cast.start = max(cast.starts.values())
            cast.end, cast.done = bring(cast.start), count + 1
            cast.starts.clear()
            self.shared.progress += 1
        while cast.done == count:
            self.blocked = True
            yield
        self.blocked = False

    def _bring(self, cast: Cast, part: Part, move: Moved, floor: int, start: int) -> int:
        """When what several cores load has come: by one command of the first of them."""
        network, state = self.shared.network, self.run.state
        leader, *others = cast.cores
        end = start + move.ticks
        if move.far:
            state[OFFCHIP] = reach = max(state[OFFCHIP], floor) + move.far
            end = max(end, reach)
        if move.bytes and not self.shared.pad_shared:
            transfers = self.rates.far["offchip"].transfers
            there = start + TICKS * (transfers.setup + transfers.read_latency)
            end = max(end, network.carry(leader, others, move.bytes, there))
            self._spend(part.members, network.joules(leader, others, move.bytes))
        self.shared.cast_bytes += move.bytes
        return end

    def _spend(self, members: tuple[str, ...], joules: float) -> None:
        self.joules[members] = self.joules.get(members, 0.0) + joules

    def _pull(self, pull: _Pull) -> Iterator[None]:
        """Take something from another core, behind all that the DMA has been asked to load."""
        run, other = self.run, self.shared.cores[pull.source]
        state, target, origin = run.state, pull.target, pull.origin
        due = max(state[LOAD], run.written.get(origin.name, 0))
        low, high = _span(target)
        if target.place == "scratchpad":
            due = max(due, run.pad.free(low, high))
        yield from self._meet(pull.cast, due, partial(self._give, pull))
        start = pull.cast.start
        end = max(pull.cast.end, self._put(ticks_of(pull.bytes, self.rates.pad), start, start))
        state[LOAD] = end
        run.written[target.name] = max(run.written.get(target.name, 0), end)
        if target.place == "scratchpad":
            run.pad.write(low, high, target.name, start, end)
        if origin.place == "scratchpad":
            other.run.pad.read(*_span(origin), end)
        first = start // TICKS
        self.spans.append(Span("network", pull.members[0], "load", first, end // TICKS - first))

    def _give(self, pull: _Pull, start: int) -> int:
        """When a core has given what others take from it at once."""
        source, network, takers = self.shared.cores[pull.source], self.shared.network, pull.cast.cores
        setup = TICKS * self.rates.far["offchip"].transfers.setup
        end = start + setup + self._far(pull, start)
        if self.shared.pad_shared:
            source = self  # of one scratchpad
        else:
            end = max(end, network.carry(pull.source, takers, pull.bytes, start + setup))
            self._spend(pull.members, network.joules(pull.source, takers, pull.bytes))
        return max(end, source._put(ticks_of(pull.bytes, self.rates.pad), start, start))

    def _far(self, pull: _Pull, start: int) -> int:
        """Ticks that the off-chip memory takes for buffers that are there."""
        count = (pull.origin.place == "offchip") + (pull.target.place == "offchip")
        if not count:
            return 0
        transfers, state = self.rates.far["offchip"].transfers, self.run.state
        state[OFFCHIP] = max(state[OFFCHIP], start) + count * transfers.port_ticks(1, pull.bytes)
        return state[OFFCHIP] - start + TICKS * transfers.read_latency


def follow(
    program: SpreadProgram, machine: Machine, labels: Mapping[str, str], known: Models | None = None
) -> list[Report]:
    """What each core does on a machine, by core; models of its sections may be `known`."""
    return [_report(one, machine.core, labels) for one in followed(program, machine, 1, known).cores]


def ends_of(program: SpreadProgram, machine: Machine, times: int) -> list[int]:
    """When a program ends that runs so many times, one after another, each time."""
    cores = followed(program, machine, times).cores
    return [
        max((ran.end for core in cores for ran in _part(core.run.ran, number, times)), default=0)
        for number in range(times)
    ]


def _part(sections: Sequence[Ran], number: int, times: int) -> Sequence[Ran]:
    count = len(sections) // times
    return sections[number * count : (number + 1) * count]


def models_of(machine: Machine, channels: int | None) -> Models:
    """Models of sections of a core that uses so many channels of its DMA; they last."""
    core = machine.core
    if channels is not None:
        core = core.replace({"dma.channels": min(core.dma.channels, channels)})
    costs = Costs.of(core.model_copy(update={"launch_overhead_cycles": 0}))
    return Models(Rates.of(core), costs, lasting=True)


def followed(
    program: SpreadProgram, machine: Machine, times: int = 1, known: Models | None = None
) -> _Shared:
    """All cores, when each has done its part of a program so many times; models may be `known`."""
    known = known or models_of(machine, program.channels)
    assert machine.topology is not None
    topology = machine.topology
    shared = _Shared(Network(machine), topology.scratchpad == "shared", topology.multicast)
    written: dict[str, int] = {}
    for number, one in enumerate(program.cores):
        made = _Core(number, one, known.rates, machine.launch_overhead_cycles, shared)
        made.run.written = written
        shared.cores.append(made)
    shared.done = [0] * len(shared.cores)
    _give_out(program, shared, known, times)
    _go(shared)
    return shared


def _give_out(program: SpreadProgram, shared: _Shared, known: Models, times: int) -> None:
    """The steps of all cores, with what each has to wait for; the program so many times."""
    past = _Past(len(program.cores))
    models: dict[tuple[int, int], SectionModel] = {}
    takers: dict[Hashable, Cast] = {}
    now = (0, 0)
    after = [(-1, -1)] * len(program.cores)
    parts: dict[int, Part] = {}
    places: list[list[int]] = [[] for _ in program.cores]
    pulls: list[list[_Pull]] = [[] for _ in program.cores]
    pairs = list(zip(program.turns, program.phases, strict=True))
    for turn, core, phase in ((turn, *pair) for turn in range(times) for pair in pairs):
        if (turn, phase) != now:
            past.settle()
            shared.join(parts)
            now = (turn, phase)
        own = program.cores[core]
        place = past.places[core] % len(own.sections)
        section = own.sections[place]
        past.places[core] += 1
        waits, held = past.waits(core, section, own)
        if is_pull(section, own):
            pull = _pull_of(program, core, section, waits)
            pulls[core].append(pull)
            if shared.multicast and pull.origin.place == pull.target.place == "scratchpad":
                pull.cast = takers.setdefault((now, section.nest.extents, section.nest.reads), pull.cast)
            pull.cast.cores += (core,)
            if pull.origin.place == "scratchpad":
                past.taken[pull.source].append((*_span(pull.origin), core, past.places[core]))
        else:
            if (core, place) not in models:
                models[core, place] = known.model(section, own.operands)
            model = models[core, place]
            slots = frozenset(n for n, slot in enumerate(model.loads) if slot.access.operand in held)
            steps = shared.cores[core].steps
            front = steps[-1].part.model if steps else None
            part = parts[core] = Part(model, slots, front, after[core], now, past.taken[core])
            steps.append(_Step(pulls[core], part, waits))
            part.hosts = _hosts(part, place, steps, places[core])
            places[core].append(place)
            pulls[core], after[core] = [], now
            past.begin(core)
        past.note(core, section)
    shared.join(parts)
    for one, left in zip(shared.cores, pulls, strict=True):
        one.trailing = len(left)
        for pull in left:
            pull.cast.cores = tuple(core for core in pull.cast.cores if core != one.number)


def _hosts(
    part: Part, place: int, steps: Sequence[_Step], places: Sequence[int]
) -> dict[int, list[tuple[int, list[Part]]]]:
    """By load, what comes ahead of the first one: bytes, and parts that they may come with.

    Nobody takes from their addresses any more when these parts begin.
    """
    found: dict[int, list[tuple[int, list[Part]]]] = {}
    for number, slot in enumerate(part.model.loads):
        (low, high), first = slot.ranges[0], place
        hosts: list[tuple[int, Part]] = []
        if number not in part.held and slot.image.ahead:
            first = place - max(sections for sections, _ in slot.image.ahead)
        for step, at in zip(reversed(steps[:-1]), reversed(places), strict=False):
            taken = any(low < until and begin < high for begin, until, _, _ in step.part.taken)
            if taken or not first <= at < place:
                break
            hosts.insert(0, (at, step.part))
        if hosts:
            found[number] = [
                (size, [host for at, host in hosts if at >= place - sections])
                for sections, size in slot.image.ahead
            ]
    return found


class _Past:
    """What the sections so far have written, and taken from others."""

    def __init__(self, cores: int) -> None:
        self.places = [0] * cores
        """How many each core has."""
        self.writers: dict[str, Waits] = {}
        self.readers: dict[str, Waits] = {}
        self.taken: list[list[tuple[int, int, int, int]]] = [[] for _ in range(cores)]
        """By core, addresses that others take from: first, end, by whom, and as which of its sections."""
        self.fresh: list[tuple[str, int, int]] = []
        """What this phase writes, which core, and as which of its sections."""
        self.seen: list[tuple[str, int, int]] = []
        """The same of what it reads."""
        self.over: list[Waits] = [{} for _ in range(cores)]
        """By core, what it has waited for when its last section begins."""
        self.asked: list[Waits] = [{} for _ in range(cores)]
        """And what it waits for behind that."""

    def waits(self, core: int, section: Section, program: Program) -> tuple[Waits, set[str]]:
        """What has to be over on other cores before a section, and what it cannot load earlier."""
        names = set(section.nest.operands) & self.writers.keys()
        waits: Waits = {}
        for name in names:
            _raise(waits, self.writers[name], but=core)
        for write in section.nest.writes:
            _raise(waits, self.readers.get(write.access.operand, {}), but=core)
        over = {core: self.places[core], **self.over[core]}
        held = {
            name
            for name in names
            if any(count > over.get(writer, 0) for writer, count in self.writers[name].items())
        }
        filled = _filled(section, program)
        for low, high, taker, count in self.taken[core]:
            hit = {name for first, end, name in filled if first < high and low < end}
            if hit:
                _raise(waits, {taker: count}, but=core)
                held |= hit
        _raise(self.asked[core], waits, but=core)
        return waits, held

    def begin(self, core: int) -> None:
        """A section of a core begins: all that it has asked for is over."""
        _raise(self.over[core], self.asked[core], but=core)
        over = self.over[core]
        self.taken[core] = [one for one in self.taken[core] if one[3] > over.get(one[2], 0)]

    def note(self, core: int, section: Section) -> None:
        """A section comes next on a core."""
        place = self.places[core]
        self.fresh += [(write.access.operand, core, place) for write in section.nest.writes]
        self.seen += [(access.operand, core, place) for access in section.nest.reads]

    def settle(self) -> None:
        """A phase is over: later ones wait for what it writes and, to write it again, for what it reads."""
        for known, new in ((self.writers, self.fresh), (self.readers, self.seen)):
            for name, core, count in new:
                known.setdefault(name, {})[core] = count
            new.clear()


def _pull_of(program: SpreadProgram, core: int, section: Section, waits: Waits) -> _Pull:
    """A section as what it takes from which core."""
    (read,), (write,) = section.nest.reads, section.nest.writes
    source, origin = next(
        (number, one.operands[read.operand])
        for number, one in enumerate(program.cores)
        if read.operand in one.operands and one.operands[read.operand].kind == "temporary"
    )
    target = program.cores[core].operands[write.access.operand]
    members = tuple(dict.fromkeys(section.nest.members))
    return _Pull(source, origin, target, pulled_bytes(section), waits, members, Cast())


def _span(operand: Operand) -> tuple[int, int]:
    return operand.offset, operand.offset + operand.bytes


def _raise(waits: Waits, more: Waits, but: int) -> None:
    """Wait for more, but not for oneself."""
    for core, count in more.items():
        if core != but:
            waits[core] = max(waits.get(core, 0), count)


def _filled(section: Section, program: Program) -> list[tuple[int, int, str]]:
    """Addresses of a core's scratchpad that a section fills, and with what."""
    found = []
    for access, image in zip(section.nest.accesses, section.images, strict=True):
        if image is not None:
            found.append((image.address, image.end, access.operand))
    for write in section.nest.writes:
        operand = program.operands[write.access.operand]
        if operand.place == "scratchpad":
            found.append((operand.offset, operand.offset + operand.bytes, operand.name))
    if section.accumulator is not None:
        found.append((section.accumulator.address, section.accumulator.end, ""))
    return found


def _go(shared: _Shared) -> None:
    """Follow all cores to their ends, always the one whose time is the least, and in turns where equal."""
    going = [core.go() for core in shared.cores]
    ready = [(core.clock, 0, core.number) for core in shared.cores]
    waiting: list[int] = []
    served = 0
    while ready:
        *_, number = heappop(ready)
        core, before = shared.cores[number], shared.progress
        served += 1
        shared.lend(core.run)
        over = next(going[number], going) is going
        shared.take_back(core.run)
        if core.blocked:
            waiting.append(number)
        elif not over:
            heappush(ready, (core.clock, served, number))
        if shared.progress != before:
            for one in waiting:
                heappush(ready, (shared.cores[one].clock, served, one))
            waiting.clear()
    assert not waiting, f"cores {waiting} wait for each other"


def follow_together(program: SpreadProgram, machine: Machine, labels: Mapping[str, str]) -> CoresReport:
    """The report of all cores."""
    shared = followed(program, machine)
    cores = [_report(one, machine.core, labels) for one in shared.cores]
    last = max(cores, key=lambda report: report.cycles)
    energy = summed((report.energy, 1) for report in cores)
    if energy:
        energy["leakage"] = machine.energy.leakage_watts * last.cycles / machine.clock_hz
    own = machine.core.scratchpad.bytes
    return CoresReport(
        machine=machine.name,
        program="program",
        mode="events",
        clock_hz=machine.clock_hz,
        cycles=last.cycles,
        operators=tuple(_joint(cores, last)),
        busy=summed((report.busy, 1) for report in cores),
        traffic=summed((report.traffic, 1) for report in cores),
        peak_scratchpad_bytes=max(report.peak_scratchpad_bytes for report in cores),
        scratchpad_bytes=own,
        peak_level2_bytes=max(report.peak_level2_bytes for report in cores),
        level2_bytes=cores[0].level2_bytes,
        peak_macs_per_cycle=float(machine.macs_per_cycle),
        offchip_bytes_per_cycle=machine.offchip_bytes_per_cycle,
        energy=energy,
        timeline=tuple(
            replace(span, unit=f"{report.program} {span.unit}", section=-1)
            for report in cores
            for span in report.timeline
        ),
        cores=tuple(cores),
        split=program.split,
        between_bytes=program.pulled_bytes,
        multicast_bytes=shared.cast_bytes,
    )


def _joint(cores: Sequence[Report], last: Report) -> Iterator[OperatorReport]:
    """What an operator does on all cores, with the cycles that it takes of the core that ends last."""
    parts: dict[tuple[str, ...], list[tuple[Report, OperatorReport]]] = {}
    for report in cores:
        for operator in report.operators:
            parts.setdefault(operator.members, []).append((report, operator))
    for same in sorted(parts.values(), key=lambda one: min(operator.start for _, operator in one)):
        mine = [operator for _, operator in same]
        shown = next((operator for report, operator in same if report is last), None)
        yield replace(
            mine[0],
            sections=(),
            cycles={} if shown is None else shown.cycles,
            lanes={} if shown is None else shown.lanes,
            busy=summed((operator.busy, 1) for operator in mine),
            macs=sum(operator.macs for operator in mine),
            operations=sum(operator.operations for operator in mine),
            traffic=summed((operator.traffic, 1) for operator in mine),
            energy=summed((operator.energy, 1) for operator in mine),
            detail=details((operator.detail, 1) for operator in mine),
            start=min(operator.start for operator in mine),
            end=max(operator.end for operator in mine),
        )


def _report(core: _Core, machine: Machine, labels: Mapping[str, str]) -> Report:
    run, models = core.run, [step.part.model for step in core.steps]
    for ran in run.ran:
        ran.events = folded(ran.events)
    report = report_of(machine, Summary.of(machine, core.program, models), run, labels)
    timeline = sorted((*report.timeline, *core.spans), key=lambda span: span.first)
    operators = tuple(_with_network(operator, core.joules) for operator in report.operators)
    return replace(
        report,
        program=f"core {core.number}",
        operators=operators,
        energy=summed((operator.energy, 1) for operator in operators),
        timeline=tuple(timeline),
    )


def _with_network(operator: OperatorReport, joules: Mapping[tuple[str, ...], float]) -> OperatorReport:
    """An operator with the energy of what its core took from others for it."""
    found = joules.get(operator.members, 0.0)
    return replace(operator, energy={**operator.energy, "network": found}) if found else operator
