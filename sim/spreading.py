"""How a network is shared among the cores of a machine: as it was asked for, or as it takes the least time.

By rows every core needs all weights, and takes a few rows from its neighbours; by channels each loads its
own weights, and takes what all others have made. So early layers like the one, late ones the other: `best`
follows the network in both ways, shares every group in the way in which it took less, or changes the way but
once, since cores take more from each other where it changes; and takes what ends first: one of these, or
everything on one core. All this is done for lesser machines, too, whose plans this one runs: they have less
of what a plan uses, so that machines with more of what it does not use look at the same ones. Those with
fewer cores are among them where what is best looks as if it might be better without some; and where there is
a level 2, everything is looked for without it, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, count, islice, permutations, takewhile
from math import inf
from typing import NamedTuple

from sim.ahead import WORTH, Shares, comes_ahead, members_of, spans_of
from sim.events.cores import follow, models_of
from sim.events.model import Models
from sim.events.simulate import simulate
from sim.machine.machine import Machine
from sim.machine.parts import Split
from sim.planning import estimator
from sim.report.report import Report
from sim.report.values import moved
from tiling.choose import Estimate
from tiling.cores import Divisions, Way, on_one_core
from tiling.nest import Nest
from tiling.plan import DOUBT, plan
from tiling.planner import Infeasible, Known
from tiling.program import Operand
from tiling.spread import SpreadProgram, plan_cores
from tiling.target import Target


def spread(
    nests: Sequence[Nest],
    operands: Mapping[str, Operand],
    machine: Machine,
    split: Split | None = None,
    target: Target | None = None,
) -> SpreadProgram | Infeasible:
    """The program of all cores of a machine; `target` is of a core, if it is not what the machine says."""
    starts = [WHOLE] if machine.level2 is None else [WHOLE, Lesser(level2=False)]
    spreaders = [_Spreader(nests, operands, machine, target or machine.target, start) for start in starts]
    match split or machine.planner.split:
        case "best":
            return _best(spreaders)
        case "pipeline":
            return spreaders[0].pipeline()
        case way:
            return spreaders[0].planned([way] * len(nests))


def _best(spreaders: Sequence[_Spreader]) -> SpreadProgram | Infeasible:
    """The fastest program that any of them finds."""
    for spreader in spreaders:
        infeasible = spreader.search()
        if infeasible is not None:
            return infeasible
    return min((spreader.least for spreader in spreaders), key=lambda one: one.cycles).program


WAYS: tuple[Way, ...] = ("rows", "channels")
APART, RATES, AMPLE = 4, 3, 16
"""Lesser bandwidths that plans are made for are powers of this, and so many; so many times what is used is
no less."""
LESSER = 72
"""Lesser machines that are looked at, for so many groups in all."""
LEAST = 10
"""Lesser rooms in scratchpads are powers of two, of this one or higher."""
NEAR = 3
"""So many of the best programs, and counts of idle cores, are looked at more closely."""


def alone_times(report: Report, nests: Sequence[Nest]) -> list[int]:
    """Cycles of each group in a report."""
    known = {operator.members: operator.total for operator in report.operators}
    shares = {members_of(nest): 0 for nest in nests}
    for nest in nests:
        shares[members_of(nest)] += 1
    return [known.get(members_of(nest), 0) // shares[members_of(nest)] for nest in nests]


class Lesser(NamedTuple):
    """What a plan uses of a machine."""

    channels: int | None = None
    """Of the DMA, which it does not use more of; None: all."""
    level2: bool = True
    rate: float | None = None
    """Bytes a second that it is made for, perhaps as if there were one core; None: a core's share."""
    idle: int = 0
    """Cores that have nothing to do."""
    room: int | None = None
    """Bytes of each scratchpad that are used; None: all."""


WHOLE = Lesser()
SLOWER = 2, 4, 8, 16
TRIED = (1.0, False, 1), (1.0, True, 1), (0.7, True, 1), *[(1.0, True, slower) for slower in SLOWER]
"""Parts of the time beside other work in which constants come ahead, whether they need room for all, and how
many times slower the memory is taken to be: what comes ahead on a lesser machine may be worth it here."""


class _Found(NamedTuple):
    """A program that has been followed."""

    cycles: int
    ways: tuple[Way, ...]
    program: SpreadProgram
    lesser: Lesser
    reports: tuple[Report, ...]


class Core(NamedTuple):
    """What a core's share of groups is planned for, and what is known from plans before."""

    target: Target
    estimate: Estimate
    known: Known


def core_machine(machine: Machine, lesser: Lesser, alone: bool) -> Machine:
    """A core as plans see it, with its share of the bandwidth if it is not alone."""
    core, rate = machine.core, machine.core.offchip.bandwidth_bytes_per_second
    if rate is not None:
        rate = lesser.rate or rate / (1 if alone else machine.cores - lesser.idle)
        core = core.replace({"offchip.bandwidth_bytes_per_second": rate})
    if lesser.channels is not None:
        core = core.replace({"dma.channels": min(lesser.channels, core.dma.channels)})
    if not lesser.level2:
        core = core.replace({"level2": None})
    return core


def core_for(machine: Machine, target: Target, lesser: Lesser, known: Known | None = None) -> Core:
    """What plans for such a core share."""
    target = target if lesser.level2 else replace(target, level2_bytes=0)
    return Core(target, estimator(machine), known or Known())


class _Spreader:
    """A network and a machine, and the ways that have been followed."""

    def __init__(
        self,
        nests: Sequence[Nest],
        operands: Mapping[str, Operand],
        machine: Machine,
        target: Target,
        start: Lesser,
    ) -> None:
        self.nests, self.operands, self.machine, self.target = nests, operands, machine, target
        self.start = start
        self.found: list[_Found] = []
        self.cores: dict[tuple[Machine, int | None], Core] = {}
        self.divisions = Divisions(nests, operands)
        self.models: dict[int | None, Models] = {}
        """Of sections of a core, by how many channels of the DMA it uses."""
        self.tries = 1 + LESSER // max(len(nests), 1)

    @property
    def least(self) -> _Found:
        """The fastest so far."""
        return self._least_of(lambda _: True)

    def planned(
        self, ways: Sequence[Way], lesser: Lesser = WHOLE, ahead: Shares | None = None
    ) -> SpreadProgram | Infeasible:
        """The program in which groups are shared in these ways, each core with its share of the bandwidth.

        Tiles and buffers may be those that suit a `lesser` machine; constants of groups may come `ahead`.
        """
        core = self._core(lesser, on_one_core(ways))
        made = plan_cores(
            self.nests,
            self.operands,
            core.target,
            self.machine.cores,
            ways,
            core.estimate,
            known=core.known,
            ahead=ahead,
            idle=lesser.idle,
            room=lesser.room,
            divisions=self.divisions,
        )
        return made if isinstance(made, Infeasible) else replace(made, channels=lesser.channels)

    def _core(self, lesser: Lesser, alone: bool) -> Core:
        """A core for plans: those of equal machines with as much room share what they find."""
        machine = core_machine(self.machine, lesser, alone)
        core = self.cores.get((machine, lesser.room))
        if core is None:
            same = next((one for (_, room), one in self.cores.items() if room == lesser.room), None)
            known = None if same is None else same.known.with_other_prices()
            core = self.cores[machine, lesser.room] = core_for(machine, self.target, lesser, known)
        return core

    def search(self) -> Infeasible | None:
        """Follow some programs: those of the machine, and those that a lesser one would have.

        An estimate sees no other cores: what keeps a core busy may make the others wait for the memory.
        """
        infeasible = self._search_all(0)
        if infeasible is not None:
            return infeasible
        self._follow_ahead(0)
        for idle in self._idle():
            self._search_all(idle)
            self._follow_ahead(idle)
        return None

    def _search_all(self, idle: int) -> Infeasible | None:
        """Search with so many idle cores, and for lesser machines that have as many."""
        start = self.start._replace(idle=idle)
        infeasible = self._search(start)
        if infeasible is not None:
            return infeasible
        for lesser in islice(self._lesser(start), self.tries):
            if lesser.rate is lesser.room is None:
                self._search(lesser)
            else:
                self._follow_near(lesser)
        return None

    def _lesser(self, start: Lesser) -> Iterator[Lesser]:
        """Machines that are less in one way; then those that are so beside what is best so far."""
        seen, bases = {start}, [start]
        for base in bases:
            for one in self._less_in_one_way(base):
                if one not in seen:
                    seen.add(one)
                    yield one
            best = self._least_of(lambda one: one.lesser.idle == start.idle).lesser
            if best not in bases:
                bases.append(best)

    def _less_in_one_way(self, base: Lesser) -> Iterator[Lesser]:
        """Machines with less of what the best program for one uses; each is followed before the next."""
        machine, program = self.machine, self._least_of(lambda one: one.lesser == base)
        busy, whole = machine.cores - base.idle, machine.offchip.bandwidth_bytes_per_second
        if base.rate is None and whole:
            below = min(whole / busy, AMPLE * _rate_used(program, machine))
            yield from [base._replace(rate=rate) for rate in _powers(APART, below)[-RATES:]]
        if base.channels is None and machine.dma.channels > 1:
            yield base._replace(channels=1)
        if base.rate is None and whole and busy > 1:
            yield base._replace(rate=whole)
        if base.room is None:
            used = max(core.scratch_bytes for core in program.program.cores)
            for room in reversed(_powers(2, used)):
                if room < 1 << LEAST:
                    return
                yield (less := base._replace(room=int(room)))
                found = [one.cycles for one in self.found if one.lesser == less]
                if min(found, default=inf) > DOUBT * program.cycles:
                    return

    def _least_of(self, wanted: Callable[[_Found], bool]) -> _Found:
        """The fastest so far of some programs."""
        return min(filter(wanted, self.found), key=lambda one: one.cycles)

    def _idle(self) -> list[int]:
        """How many idle cores may be better: the best so far would not be much slower with so many."""
        least = self.least
        taken: dict[int, int] = {}
        for idle in islice(range(1, self.machine.cores - 1), self.tries):
            for lesser in dict.fromkeys((self.start, least.lesser)):
                made = self._followed(least.ways, lesser._replace(idle=idle))
                if not isinstance(made, Infeasible):
                    taken[idle] = min(self.found[-1].cycles, taken.get(idle, self.found[-1].cycles))
        near = [idle for idle, cycles in taken.items() if cycles <= DOUBT * least.cycles]
        return sorted(near, key=taken.__getitem__)[:NEAR]

    def _search(self, lesser: Lesser) -> Infeasible | None:
        """Follow the ways that come into question, as this machine runs what is planned for a lesser one."""
        times = []
        for way in WAYS:
            made = self._followed((way,) * len(self.nests), lesser)
            if isinstance(made, Infeasible):
                return made
            times.append(made)
        for ways in dict.fromkeys((_each(times), changing_once(times))):
            self._followed(ways, lesser)
        self._followed((0,) * len(self.nests), lesser)
        return None

    def _follow_near(self, lesser: Lesser) -> None:
        """Follow for a lower rate, or less room, what is near the best of machines else as this one.

        That is the best first, and no more if it is far slower now.
        """
        alike = [
            one for one in self.found if one.lesser == lesser._replace(rate=None, room=None)
        ] or self.found
        least = min(one.cycles for one in alike)
        near = {one.cycles: one.ways for one in alike if one.cycles <= DOUBT * least}
        for _, ways in sorted(near.items()):
            made = self._followed(ways, lesser)
            if not isinstance(made, Infeasible) and self.found[-1].cycles > DOUBT * least:
                return

    def _follow_ahead(self, idle: int) -> None:
        """Follow the best once more with constants that come ahead, as far as there are time and room."""
        machine = self.machine
        least = WORTH * (machine.dma.setup_cycles + machine.offchip.read_latency_cycles)
        alike = sorted((one for one in self.found if one.lesser.idle == idle), key=lambda one: one.cycles)
        for start in list({(one.ways, one.cycles): one for one in alike}.values())[:NEAR]:
            best, seen = start, list[Shares]()
            for part, fitting, slower in TRIED:
                spans = spans_of(self.nests, self.operands, best.program, best.reports, machine, slower)
                ahead = comes_ahead(spans, least, part, fitting)
                if not ahead or ahead in seen:
                    continue
                seen.append(ahead)
                if not isinstance(self._followed(best.ways, best.lesser, ahead), Infeasible):
                    best = min(best, self.found[-1], key=lambda one: one.cycles)

    def _followed(
        self, ways: tuple[Way, ...], lesser: Lesser, ahead: Shares | None = None
    ) -> list[int] | Infeasible:
        """How long each group takes in these ways, on the core where it takes longest."""
        program = self.planned(ways, lesser, ahead)
        if isinstance(program, Infeasible):
            return program
        reports = next((one.reports for one in self.found if one.program == program), None)
        reports = reports or tuple(self._reports(program))
        cycles = max(report.cycles for report in reports)
        self.found.append(_Found(cycles, ways, program, lesser, reports))
        times = [alone_times(report, self.nests) for report in reports]
        return [max(taken) for taken in zip(*times, strict=True)]

    def _reports(self, program: SpreadProgram) -> list[Report]:
        """What each core does."""
        known = self.models.get(program.channels)
        if known is None:
            known = self.models[program.channels] = models_of(self.machine, program.channels)
        return follow(program, self.machine, {}, known)

    def pipeline(self) -> SpreadProgram | Infeasible:
        """A run of groups for each core, such that the longest is as short as can be."""
        machine = self.machine.core
        alone = plan(self.nests, self.operands, machine.target, estimator(machine))
        if isinstance(alone, Infeasible):
            return alone
        times = alone_times(simulate(alone, machine), self.nests)
        low, high = max(times, default=0), sum(times)
        while low < high:
            middle = (low + high) // 2
            enough = max(_stages(times, middle), default=0) < self.machine.cores
            low, high = (low, middle) if enough else (middle + 1, high)
        return self.planned(_stages(times, low))


def _rate_used(found: _Found, machine: Machine) -> float:
    """Bytes a second of the memory that a core has on the average, the one that moves most."""
    most = max(moved(report.whole().traffic, "offchip") for report in found.reports)
    return most / max(found.cycles, 1) * machine.clock_hz


def _powers(base: int, below: float) -> list[float]:
    """The powers of a number that are less than a bound, from the lowest one on."""
    return list(takewhile(lambda power: power < below, (float(base**n) for n in count())))


def _each(times: Sequence[Sequence[int]]) -> tuple[Way, ...]:
    """For every group the way in which it takes least, of times by way and group."""
    return tuple(WAYS[taken.index(min(taken))] for taken in zip(*times, strict=True))


def changing_once(times: Sequence[Sequence[int]]) -> tuple[Way, ...]:
    """The ways that take least if all groups up to one are shared in one way, and all after it in another."""
    groups = len(times[0])
    until = {way: [0, *accumulate(taken)] for way, taken in zip(WAYS, times, strict=True)}
    _, at, way, other = min(
        (until[way][at] + until[other][-1] - until[other][at], at, way, other)
        for way, other in permutations(WAYS, 2)
        for at in range(groups + 1)
    )
    return (way,) * at + (other,) * (groups - at)


def _stages(times: Sequence[int], bound: int) -> list[int]:
    """The number of the stage of each group where no stage takes longer than the bound."""
    found, stage, taken = [], 0, 0
    for time in times:
        if taken and taken + time > bound:
            stage, taken = stage + 1, 0
        taken += time
        found.append(stage)
    return found
