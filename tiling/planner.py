"""One plan in the making: tensors in the scratchpad, and sections that are chosen together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from math import inf
from operator import attrgetter, lt
from typing import NamedTuple, TypeVar

import numpy as np

from tiling.addresses import AHEAD, EFFORT, Addresses, Ahead, Arranged, Arranger, Draft, images_of
from tiling.allocate import Taken, allocate, fill
from tiling.choose import Candidate, Choices, Estimate, Price, choose, least_boxes
from tiling.making import Maker, aligned
from tiling.menu import Numbers, most_tiles
from tiling.nest import Affine, Nest
from tiling.program import Operand, Program, Section, takes_from_others
from tiling.residence import Residence
from tiling.target import Target
from tiling.words import listed, plain

TRIES = 6
"""Programs that are looked at between the best and another one."""
Made = TypeVar("Made", bound="Program | Infeasible")


class Aim(NamedTuple):
    """How often parts of prices count for sections that are chosen together."""

    moved: float = 0.0
    later: float = 0.0
    early: float = 1.0
    far: float = 0.0
    """Of time that the section two ahead leaves for first constants."""
    busy: float = 0.0
    """Of time that transfers do not leave to others."""


BALANCED, HASTY, ALONE, AHEAD_OF_TWO = Aim(), Aim(later=-1.0), Aim(early=0.0), Aim(far=1.0)
SPARING, LESS = Aim(moved=1.0), Aim(moved=1.0, far=1.0)
IDLER, IDLEST = Aim(busy=0.2), Aim(busy=1.0)


@dataclass(frozen=True, slots=True)
class Infeasible:
    """Why a nest does not fit a target: the resource, the demand, the bound, and what would help."""

    members: tuple[str, ...]
    resource: str
    demand: int
    bound: int
    remedy: str
    why: str = ""
    """What makes up the demand."""

    def __str__(self) -> str:
        names = listed(self.members) or "a group"
        fault = f"needs {self.demand} bytes of {self.resource}, but there are {self.bound}"
        return f"{names}: {fault}{self.why and f': {self.why}'}; {self.remedy}"


@dataclass(frozen=True, slots=True)
class Known:
    """What plans for one target with one estimate may share: choices, and what makes sections."""

    choices: dict[object, Choices] = field(default_factory=dict)
    makers: dict[object, Maker] = field(default_factory=dict)
    kinds: dict[object, int] = field(default_factory=dict)
    """A number for each structure."""
    columns: dict[int, tuple[tuple[Candidate, ...], Numbers]] = field(default_factory=dict)
    """Figures of several options, by the identity of their tuple, which stands in front of them."""
    spared: dict[object, tuple[tuple[Candidate, ...], tuple[Candidate, ...], Numbers, Numbers]] = field(
        default_factory=dict
    )
    """What `Planner._spared` found, behind the tuples whose identities are in its key."""
    programs: dict[object, tuple[Program | Infeasible, tuple[str, ...]]] = field(default_factory=dict)
    """Of cores, by what those have in common that do the same, and the operands of the first of these."""

    def with_other_prices(self) -> Known:
        """What plans with another estimate may share: what makes sections."""
        return Known(makers=self.makers, kinds=self.kinds)


Judge = Callable[[Program], tuple[float, float]]
"""What a whole program costs, and what it costs if bytes count for themselves: less is better."""


class _Front(NamedTuple):
    """The options of the section in front of another one, with the room that there is beside each."""

    options: tuple[Candidate, ...]
    room: int
    left: Numbers
    idle: Numbers
    further: Numbers
    """Room of those in front of them."""
    unused: Numbers
    """What is left of the idle time of these."""


_FIRST = _Front((), 0, np.full(1, -inf), np.zeros(1), np.full(1, -inf), np.zeros(1))
"""In front of the first section."""


class Line(NamedTuple):
    """Sections that were chosen together, what each costs, and what its bytes would cost besides."""

    sections: tuple[Section, ...]
    times: tuple[float, ...]
    moved: tuple[float, ...]
    inside: frozenset[str]
    """Tensors that lived in the scratchpad."""


class Timed(NamedTuple):
    """A plan, and how long it takes as estimated."""

    made: Draft | Callable[[], Infeasible]
    time: float
    line: Line | None = None
    planner: Planner | None = None
    steps: int = 0
    """So many steps early constants come if there is room in all of the scratchpad; 0 if it is spared."""

    @property
    def program(self) -> Program | Infeasible:
        """The plan."""
        return self.made()


def too_large(nest: Nest, target: Target) -> Infeasible:
    """Why no tile of a nest fits the scratchpad."""
    boxes = least_boxes(nest, target)
    parts = ", ".join(f"{size} of {plain(name)}" for name, size in boxes)
    why = f"no tile takes less than {parts}, at multiples of {target.alignment} bytes"
    remedy = "use a larger scratchpad, a finer alignment or fewer operands"
    demand = sum(size for _, size in boxes)
    return Infeasible(nest.members, "scratchpad", demand, target.scratch_bytes or 0, remedy, why)


class Planner:
    """A plan in the making: who lives in the scratchpad, and the sections chosen so far."""

    def __init__(
        self,
        nests: Sequence[Nest],
        operands: Mapping[str, Operand],
        target: Target,
        estimate: Estimate | None,
        known: Known,
        like: Planner | None = None,
        ahead: Ahead | None = None,
    ) -> None:
        self.nests, self.target, self.estimate, self.known = nests, target, estimate, known
        self.ahead = dict(ahead or {})
        self.spared = {step: sum(hosts.values()) for (step, _), hosts in self.ahead.items()}
        """By step, what share of the time that its constants take is spared, as they come ahead."""
        self.capacity = target.scratch_bytes or 0
        before: Residence | None = None if like is None else like.residence
        self.residence: Residence = Residence(nests, operands, target, before)
        self.times, self.moved = [0.0] * len(nests), [0.0] * len(nests)
        self.structures: dict[int, int] = like.structures if like else {}
        self.sections: list[Section] = []
        self.equals: dict[tuple[int, int], tuple[Section, Section]] = {}
        """Sections by step and by what they are made of, which stands in front of them."""
        self.pulls: dict[int, Choices] = {}
        """What takes something from other cores, by step."""
        self.made: set[object] = set()
        """The choices that programs have been made of."""
        self.arranged = Arranged()

    @property
    def time(self) -> float:
        """The time of all sections, as estimated; without an estimate, bytes moved."""
        return sum(self.times)

    def infeasible(self) -> Infeasible | None:
        """The first nest that has no tile in the whole scratchpad, with what it needs."""
        for nest, at in zip(self.nests, self.residence.settings, strict=True):
            if at.menu.least > self.capacity and not self.target.direct:
                return too_large(nest, self.target)
        return None

    def programs(self) -> Iterator[Timed]:
        """The programs of the best sections, and of all that may be best, with their times.

        The second one's are less sure, as more is expected of what comes early.
        """
        least = 0.0
        for every in (False, True)[: 1 + (self.estimate is not None)]:
            if (program := self.program(every)) is not None:
                yield self.timed(program)._replace(time=max(least, self.time))
                least = self.time

    def sparing(self, few: bool) -> Iterator[Timed]:
        """Programs of all sections that may be best: those that move little, are fast, or are so alone.

        Of few groups, those that leave others time for transfers, too.
        """
        if self.estimate is not None:
            for aim in (SPARING, HASTY, ALONE, AHEAD_OF_TWO, *((IDLER, IDLEST) if few else ())):
                if (program := self.program(every=True, aim=aim)) is not None:
                    yield self.timed(program)

    def timed(self, program: Draft) -> Timed:
        """The last program with its time and sections."""
        steps = AHEAD if self.target.values == "offchip" else 0
        return Timed(program, self.time, self._chosen(), self, steps)

    def roomy(self, one: Timed, steps: int) -> Timed | None:
        """The same sections in all of the scratchpad, where more constants come so many steps early.

        None if that changes nothing.
        """
        if one.line is None or one.line.inside != self.residence.inside:
            return None
        program = self._arranged(one.line.sections, steps)
        if program is None or program == one.program:
            return None
        return one._replace(made=ready(program), steps=steps)

    def leaner(self, one: Timed) -> Iterator[Program]:
        """Programs of the same sections, where constants come less early, in less of the scratchpad."""
        program = one.program
        if one.line is not None and one.line.inside == self.residence.inside and isinstance(program, Program):
            found = self._arranger(one.line.sections).lean(program.scratch_bytes)
            yield from sorted(found, key=attrgetter("scratch_bytes"))

    def sparer(
        self, one: Timed, cost: tuple[float, float], bound: float, worth: float, judge: Judge
    ) -> tuple[Timed, tuple[float, float]]:
        """The same program with sections that move less, as many as cost no more than the bound in all.

        Those come first that spare most for their time; none if they do not spare what is worth it.
        """
        own, other = one.line, self._moving_less()
        if own is None or other is None or other.inside != own.inside:
            return one, cost
        spared = [mine - theirs for mine, theirs in zip(own.moved, other.moved, strict=True)]
        later = [theirs - mine for mine, theirs in zip(own.times, other.times, strict=True)]
        steps = [step for step, gain in enumerate(spared) if gain > 0]
        if sum(spared[step] for step in steps) <= worth:
            return one, cost
        steps.sort(key=lambda step: later[step] / spared[step])

        def accepts(found: tuple[float, float], before: tuple[float, float]) -> bool:
            return found[0] <= bound and found[1] < before[1]

        return self._exchanged(one, cost, other, steps, accepts, judge)

    def crossed(
        self, one: Timed, cost: tuple[float, float], other: Timed, judge: Judge
    ) -> tuple[Timed, tuple[float, float]]:
        """The same program with another one's sections, as far as these make it cost less."""
        own, line = one.line, other.line
        if own is None or line is None or other.planner is None or other.planner.nests is not self.nests:
            return one, cost
        if not own.inside == line.inside == self.residence.inside:
            return one, cost
        steps = [step for step, section in enumerate(line.sections) if section is not own.sections[step]]
        return self._exchanged(one, cost, line, steps, lt, judge)

    def _exchanged(
        self,
        one: Timed,
        cost: tuple[float, float],
        other: Line,
        steps: Sequence[int],
        accepts: Callable[[tuple[float, float], tuple[float, float]], bool],
        judge: Judge,
    ) -> tuple[Timed, tuple[float, float]]:
        """A program with another line's sections at these steps, as far as what it then costs is accepted."""
        if one.line is None or not steps:
            return one, cost
        sections, together = list(one.line.sections), -(-len(steps) // TRIES)
        for first in range(0, len(steps), together):
            tried = list(sections)
            for step in steps[first : first + together]:
                tried[step] = other.sections[step]
            program = self._arranged(tried, one.steps)
            if program is not None and accepts(found := judge(program), cost):
                sections, cost = tried, found
                line = one.line._replace(sections=tuple(sections))
                one = one._replace(made=ready(program), line=line)
        return one, cost

    def _arranged(self, sections: Sequence[Section], steps: int) -> Program | None:
        """The program of sections, where constants come so many steps early if there is room."""
        arranger = self._arranger(sections)
        draft = arranger.roomy(steps) if steps else arranger.program()
        return draft and draft()

    def _moving_less(self) -> Line | None:
        """What is chosen if bytes count for themselves, where each step has a choice."""
        rooms = self.residence.left.tolist()
        choices = [self._options(step, rooms[step]) for step in range(len(self.nests))]
        options = [some.priced or some.best for some in choices]
        if not all(options):
            return None
        self.sections = self._line(options, rooms, LESS)
        return self._chosen()

    def _chosen(self) -> Line:
        inside = frozenset(self.residence.inside)
        return Line(tuple(self.sections), tuple(self.times), tuple(self.moved), inside)

    def program(self, every: bool = False, aim: Aim = BALANCED) -> Draft | None:
        """Choose, then give out addresses; where tiles do not fit between tensors, choose for the gaps.

        None if the choice is one of those before.
        """
        residence = self.residence
        while True:
            residence.outside()
            rooms = residence.left.tolist()
            choices = [self._options(step, rooms[step]) for step in range(len(self.nests))]
            options = [some.priced or some.best if every else some.best for some in choices]
            crowded = [step for step, some in enumerate(options) if not some]
            if not crowded:
                self.sections = self._line(options, rooms, aim)
                choice = frozenset(residence.inside), tuple(map(id, self.sections))
                # Beside other cores a choice counts again, as another aim takes it for faster or slower.
                if choice in self.made and not self.pulls:
                    return None
                self.made.add(choice)
                found = self._arranger(self.sections).program()
                if found is not None:
                    return found
                addresses, total, crowded = self._squeezed()
                if not crowded:
                    return cache(partial(self._arranger(self.sections).finished, addresses, total))
            residence.drop(crowded)

    def _options(self, step: int, room: int) -> Choices:
        """The best sections of a nest in the room that is left; of equal nests, one is looked at."""
        nest, residence = self.nests[step], self.residence
        if takes_from_others(nest, residence.operands):
            if step not in self.pulls:
                self.pulls[step] = _pull(nest)
            return self.pulls[step]
        at = residence.setting(step)
        free = room if self.target.values == "offchip" else room - residence.spare
        far = residence.in_level2(step)
        effort = most_tiles(len(self.nests)), at.steps
        case = self._structure(step), effort, at.inside, far, at.weights, at.constant, at.scale
        found = self.known.choices.get((case, room, free))
        if found is None:
            maker = self.known.makers.get(case)
            if maker is None:
                maker = self.known.makers[case] = Maker(at.nest, at.menu, self.target)
            found = choose(at, residence.operands, self.target, room, free, self.estimate, maker)
            self.known.choices[case, room, free] = found
        return found

    def _line(
        self, options: Sequence[tuple[Candidate, ...]], rooms: Sequence[int], aim: Aim
    ) -> list[Section]:
        """Of each step's options those that together cost least, with bytes as the `aim` says."""
        totals, front = np.zeros(1), _FIRST
        back: list[list[int]] = []
        spent: list[Numbers] = []
        for step, some in enumerate(options):
            cost, _, own, moved, later, need, sooner = self._columns(some)
            spared, taken = self._spared(step, some, front, aim)
            spent.append(taken)
            ways = totals + aim.moved * moved if aim.moved else totals
            ways = (ways + aim.later * later if aim.later else ways) + taken
            ways = ways + aim.busy * (cost - own) if aim.busy else ways
            fronts = ways.argmin(1)
            back.append(fronts.tolist())
            further, unused = front.further, front.unused
            if aim.far:
                hidden = spared[np.arange(len(some)), fronts]
                further = front.left[fronts] - sooner[:, 0]
                unused = np.maximum(front.idle[fronts] - hidden, 0.0)
            totals = ways.min(1)
            front = _Front(some, rooms[step], rooms[step] - need[:, 0], own[:, 0], further, unused)
        sections: list[Section] = []
        number = int(totals.argmin())
        for step in reversed(range(len(options))):
            sections.append(self._equal(step, options[step][number].section))
            before = back[step][number]
            self.moved[step] = options[step][number].price.moved
            self.times[step], number = float(spent[step][number, before]), before
        return sections[::-1]

    def _spared(
        self, step: int, some: tuple[Candidate, ...], front: _Front, aim: Aim
    ) -> tuple[Numbers, Numbers]:
        """By option, and by option in front: time that is spared as constants come early, and what is left.

        Behind others, in whose room they fit, the first constants may come early.
        """
        key = id(front.options), front.room, id(some), aim.early
        depends = aim.far or step in self.spared
        found = None if depends else self.known.spared.get(key)
        if found is not None:
            return found[2:]
        cost, early, *_, sooner = self._columns(some)
        both = front.idle
        if aim.far:
            both = np.where(sooner <= front.further, both + aim.far * front.unused, both)
        spared = np.where(sooner <= front.left, aim.early * np.minimum(early, both), 0.0)
        if step in self.spared:
            spared = np.maximum(spared, np.minimum(early, self.spared[step] * early.max()))
        if depends:
            return spared, cost - spared
        found = self.known.spared[key] = front.options, some, spared, cost - spared
        return found[2:]

    def _columns(self, some: tuple[Candidate, ...]) -> Numbers:
        """What a step's options cost and need, a column for each figure."""
        found = self.known.columns.get(id(some))
        if found is None:
            prices = np.array([(*choice.price, choice.need, choice.early) for choice in some])
            found = self.known.columns[id(some)] = some, prices.T[:, :, None]
        return found[1]

    def _equal(self, step: int, section: Section) -> Section:
        """The section of a step's nest that is like another, made once."""
        key = step, id(section)
        found = self.equals.get(key)
        if found is None:
            found = self.equals[key] = section, section_of(section, self.nests[step])
        return found[1]

    def _alone(self, step: int, room: int) -> Section | None:
        """The best section of a step by itself."""
        options = self._options(step, room).best
        if not options:
            return None
        best = min(options, key=lambda choice: choice.price.cost)
        self.times[step], self.moved[step] = best.price.cost, best.price.moved
        return section_of(best.section, self.nests[step])

    def _structure(self, step: int) -> int:
        """A number that equal nests have in common."""
        found = self.structures.get(step)
        if found is None:
            kind = structure(self.nests[step])
            found = self.structures[step] = self.known.kinds.setdefault(kind, len(self.known.kinds))
        return found

    def _squeezed(self) -> tuple[Addresses, int, list[int]]:
        """Tensors placed first, and tiles into the gaps between; the steps that have none big enough."""
        lives = self._arranger(self.sections).tensors()
        addresses, total = allocate(lives, self.target.alignment, EFFORT, self.capacity)
        if total > self.capacity:
            beyond = [key for key, life in lives.items() if addresses[key] + life.bytes > self.capacity]
            return addresses, total, [lives[key].first for key in beyond]
        taken = Taken()
        for key, life in lives.items():
            taken.add(life, addresses[key])
        crowded = []
        for step in range(len(self.nests)):
            if not self._squeeze(step, taken.gaps(step, self.capacity), addresses):
                crowded.append(step)
                continue
            images = images_of(self.sections[step])
            ends = (addresses["", step, number] + aligned(i.end, self.target) for number, i in images)
            total = max(total, *ends, 0)
        return addresses, total, crowded

    def _squeeze(self, step: int, gaps: Sequence[tuple[int, int]], addresses: Addresses) -> bool:
        """Put a step's tiles into gaps, smaller ones that fit the widest gap if need be."""
        widest = max((end - first for first, end in gaps), default=0)
        for room in (None, widest):
            section = self.sections[step] if room is None else self._alone(step, room)
            if section is None:
                return False
            self.sections[step] = section
            sizes = {number: aligned(image.end, self.target) for number, image in images_of(section)}
            found = fill(sizes, gaps)
            if found is not None:
                addresses |= {("", step, number): address for number, address in found.items()}
                return True
        return False

    def _arranger(self, sections: Sequence[Section]) -> Arranger:
        """What makes a program of the sections."""
        return Arranger(self.nests, self.residence, sections, self.ahead, self.arranged)


def _pull(nest: Nest) -> Choices:
    """What takes something from another core has no choice."""
    return Choices((Candidate(Section(nest, (), (None,) * len(nest.accesses)), Price(0.0)),))


def ready(program: Made) -> Callable[[], Made]:
    """Gives a program that is there."""
    return lambda: program


def section_of(section: Section, nest: Nest) -> Section:
    """The section of an equal nest."""
    if section.nest is nest:
        return section
    return Section(nest, section.loops, section.images, section.accumulator, section.shared)


def structure(nest: Nest) -> object:
    """What nests have in common that can be run in the same way: all but names and offsets."""
    accesses = tuple(
        (a.shape, a.type, tuple([i.coefficients if isinstance(i, Affine) else i for i in a.index]), a.fill)
        for a in nest.accesses
    )
    values = tuple(write.value for write in nest.writes)
    return nest.verb, nest.extents, nest.outer, accesses, len(nest.reads), nest.reduction, values
