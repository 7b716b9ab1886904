"""One plan in the making: sections that are chosen together, and addresses for all in the scratchpad."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiling.allocate import Lifetime, Taken, allocate, fill, peak
from tiling.choose import Candidate, Choices, Estimate, Price, choose, least_boxes, placed
from tiling.in_place import place, worth_sharing
from tiling.level2 import used_bytes
from tiling.making import Maker, aligned
from tiling.menu import most_tiles
from tiling.nest import Affine, Nest
from tiling.program import Image, Operand, Parcels, Program, Section, box_bytes, takes_from_others
from tiling.residence import Residence
from tiling.target import Target
from tiling.words import listed, plain

EFFORT = 2_000
"""Buffers that the allocator may place to find a better order."""
SMALL = 128
"""A part of so many of the scratchpad, and less, is a small box."""

Ahead = Mapping[tuple[int, int], Mapping[int, float]]
"""By step and access of a constant: with the first loads of which steps what shares of it shall come."""
SPLIT = 4096
"""Smaller boxes come in one piece."""
FILLED = 3 / 4, 7 / 8, 1.0
"""Parts of the scratchpad that boxes may fill that come ahead, as far as they find addresses."""
AHEAD, FAR_AHEAD = 2, 5
"""Steps before a section's own in which its first loads find their place free, if there is room; more of them
where that saves time."""
TRIES = 6
"""Programs that are looked at between the best and one that moves less."""


class Aim(NamedTuple):
    """How often parts of prices count for sections that are chosen together."""

    moved: float = 0.0
    later: float = 0.0
    early: float = 1.0
    far: float = 0.0
    """Of time that the section two ahead leaves for first constants."""


BALANCED, HASTY, ALONE, AHEAD_OF_TWO = Aim(), Aim(later=-1.0), Aim(early=0.0), Aim(far=1.0)
SPARING, LESS = Aim(moved=1.0), Aim(moved=1.0, far=1.0)

Key = tuple[str, int, int]
"""What has an address in the scratchpad: a tensor by name, or an image by section and access."""


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


Judge = Callable[[Program], tuple[float, float]]
"""What a whole program costs, and what it costs if bytes count for themselves: less is better."""


class Line(NamedTuple):
    """Sections that were chosen together, what each costs, and what its bytes would cost besides."""

    sections: tuple[Section | None, ...]
    times: tuple[float, ...]
    moved: tuple[float, ...]
    inside: frozenset[str]
    """Tensors that lived in the scratchpad."""


class Timed(NamedTuple):
    """A plan, and how long it takes as estimated."""

    program: Program | Infeasible
    time: float
    line: Line | None = None
    planner: Planner | None = None


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
        self.granted: dict[Key, Parcels] = {}
        """What comes ahead of the first box of an image."""
        self.capacity = target.scratch_bytes or 0
        before: Residence | None = None if like is None else like.residence
        self.residence: Residence = Residence(nests, operands, target, before)
        self.times, self.moved = [0.0] * len(nests), [0.0] * len(nests)
        self.structures: dict[int, int] = like.structures if like else {}
        self.sections: list[Section | None] = []
        self.equals: dict[tuple[int, int], tuple[Section, Section]] = {}
        """Sections by step and by what they are made of, which stands in front of them."""
        self.made: set[object] = set()
        """The choices that programs have been made of."""

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

    def sparing(self) -> Iterator[Timed]:
        """Programs of all sections that may be best: those that move little, are fast, or are so alone."""
        if self.estimate is not None:
            for aim in (SPARING, HASTY, ALONE, AHEAD_OF_TWO):
                if (program := self.program(every=True, aim=aim)) is not None:
                    yield self.timed(program)

    def timed(self, program: Program) -> Timed:
        """The last program with its time and sections."""
        return Timed(program, self.time, self._chosen(), self)

    def roomy(self, one: Timed, steps: int) -> Program | None:
        """The same sections in all of the scratchpad, where more constants come so many steps early.

        None if that changes nothing.
        """
        if one.line is None or one.line.inside != self.residence.inside:
            return None
        self.sections = list(one.line.sections)
        found = self._within(self._longer(self._lives(), self.capacity, steps), self.capacity)
        return None if found == one.program else found

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
        sections, together = list(own.sections), -(-len(steps) // TRIES)
        for first in range(0, len(steps), together):
            self.sections = list(sections)
            for step in steps[first : first + together]:
                self.sections[step] = other.sections[step]
            program = self._allocated()
            found = (inf, inf) if program is None else judge(program)
            if program is not None and found[0] <= bound and found[1] < cost[1]:
                sections, cost = self.sections, found
                one = Timed(program, one.time, own._replace(sections=tuple(sections)), self)
        return one, cost

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

    def program(self, every: bool = False, aim: Aim = BALANCED) -> Program | None:
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
                if choice in self.made:
                    return None
                self.made.add(choice)
                found = self._allocated()
                if found is not None:
                    return found
                self.granted = {}
                addresses, total, crowded = self._squeezed()
                if not crowded:
                    return self._finished(addresses, total)
            residence.drop(crowded)

    def _options(self, step: int, room: int) -> Choices:
        """The best sections of a nest in the room that is left; of equal nests, one is looked at."""
        nest, residence = self.nests[step], self.residence
        if self._pulls(step):
            return Choices((Candidate(Section(nest, (), (None,) * len(nest.accesses)), Price(0.0)),))
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
    ) -> list[Section | None]:
        """Of each step's options those that together cost least, with bytes as the `aim` says."""
        totals, left, idle = np.zeros(1), np.full(1, -inf), np.zeros(1)
        further, unused = left, idle
        back: list[list[int]] = []
        spent: list[NDArray[np.float64]] = []
        for step, some in enumerate(options):
            prices = np.array([(*choice.price, choice.need, choice.early) for choice in some])
            cost, early, own, moved, later, need, sooner = prices.T[:, :, None]
            # Behind others, in whose room they fit, the first constants may come early.
            both = np.where(sooner <= further, idle + aim.far * unused, idle)
            spared = np.where(sooner <= left, aim.early * np.minimum(early, both), 0.0)
            if step in self.spared:
                spared = np.maximum(spared, np.minimum(early, self.spared[step] * early.max()))
            spent.append(cost - spared)
            ways = totals + aim.moved * moved + aim.later * later + spent[-1]
            fronts = ways.argmin(1)
            back.append(fronts.tolist())
            hidden = spared[np.arange(len(some)), fronts]
            further, unused = left[fronts] - sooner[:, 0], np.maximum(idle[fronts] - hidden, 0.0)
            totals, left, idle = ways.min(1), rooms[step] - need[:, 0], own[:, 0]
        sections: list[Section | None] = [None] * len(options)
        number = int(totals.argmin())
        for step in reversed(range(len(options))):
            sections[step] = self._equal(step, options[step][number].section)
            before = back[step][number]
            self.moved[step] = options[step][number].price.moved
            self.times[step], number = float(spent[step][number, before]), before
        return sections

    def _equal(self, step: int, section: Section) -> Section:
        """The section of a step's nest that is like another, made once."""
        key = step, id(section)
        found = self.equals.get(key)
        if found is None:
            found = self.equals[key] = section, _of(section, self.nests[step])
        return found[1]

    def _alone(self, step: int, room: int) -> Section | None:
        """The best section of a step by itself."""
        options = self._options(step, room).best
        if not options:
            return None
        best = min(options, key=lambda choice: choice.price.cost)
        self.times[step], self.moved[step] = best.price.cost, best.price.moved
        return _of(best.section, self.nests[step])

    def _structure(self, step: int) -> int:
        """A number that equal nests have in common."""
        found = self.structures.get(step)
        if found is None:
            kind = _structure(self.nests[step])
            found = self.structures[step] = self.known.kinds.setdefault(kind, len(self.known.kinds))
        return found

    def _allocated(self) -> Program | None:
        """The program with addresses for all in the scratchpad, if they are found."""
        lives = self._lives()
        if self.target.values == "offchip":
            return self._within(self._longer(lives, self.capacity, AHEAD), self.capacity)
        # Where values live in the scratchpad, what is left of it is the user's.
        return self._within(self._longer(lives, min(peak(lives) * 17 // 16, self.capacity), AHEAD), 0)

    def _longer(self, lives: dict[Key, Lifetime], bound: int, steps: int) -> list[dict[Key, Lifetime]]:
        """Lifetimes, and longer ones, as constants come early if there is room."""
        longer = [lives]
        for ahead in range(1, 1 + steps):
            longer.append(self._early(longer[-1], bound, ahead))
        if self.ahead:
            longer += [self._much_earlier(longer[-1], int(bound * part)) for part in FILLED]
        return longer

    def _within(self, longer: Sequence[dict[Key, Lifetime]], enough: int) -> Program | None:
        """The program of the longest lifetimes that find addresses; none if the shortest find none."""
        shortest, *others = longer
        found = self._arranged(shortest, self.capacity)
        if found[1] > self.capacity:
            return None
        for early in reversed(others):
            addresses, total = self._arranged(early, enough)
            if total <= self.capacity:
                self.granted = dict(self._grants(early))
                return self._finished(addresses, total)
        self.granted = dict(self._grants(shortest))
        return self._finished(*found)

    def _arranged(self, lives: Mapping[Key, Lifetime], enough: int) -> tuple[dict[Key, int], int]:
        """Addresses, those of small boxes with the same lifetime behind each other."""
        small = self.capacity // SMALL
        parcels: dict[Key, list[Key]] = {}
        for key, life in lives.items():
            first = ("", life.first, -2 - life.last) if life.bytes <= small and not key[0] else key
            parcels.setdefault(first, []).append(key)
        sizes = {key: aligned(life.bytes, self.target) for key, life in lives.items()}
        merged = {
            first: Lifetime(sum([sizes[key] for key in keys]), lives[keys[0]].first, lives[keys[0]].last)
            for first, keys in parcels.items()
        }
        starts, total = allocate(merged, self.target.alignment, EFFORT, enough)
        addresses = {}
        for first, keys in parcels.items():
            at = starts[first]
            for key in keys:
                addresses[key], at = at, at + sizes[key]
        return addresses, total

    def _squeezed(self) -> tuple[dict[Key, int], int, list[int]]:
        """Tensors placed first, and tiles into the gaps between; the steps that have none big enough."""
        lives = {key: life for key, life in self._lives().items() if key[0]}
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
            ends = (
                addresses["", step, n] + aligned(i.end, self.target) for n, i in _images(self._section(step))
            )
            total = max(total, *ends, 0)
        return addresses, total, crowded

    def _squeeze(self, step: int, gaps: Sequence[tuple[int, int]], addresses: dict[Key, int]) -> bool:
        """Put a step's tiles into gaps, smaller ones that fit the widest gap if need be."""
        widest = max((end - first for first, end in gaps), default=0)
        for room in (None, widest):
            if room is not None:
                self.sections[step] = self._alone(step, room)
            section = self.sections[step]
            if section is None:
                return False
            sizes = {number: aligned(image.end, self.target) for number, image in _images(section)}
            found = fill(sizes, gaps)
            if found is not None:
                addresses |= {("", step, number): address for number, address in found.items()}
                return True
        return False

    def _section(self, step: int) -> Section:
        section = self.sections[step]
        assert section is not None
        return section

    def _lives(self) -> dict[Key, Lifetime]:
        lives: dict[Key, Lifetime] = {
            (name, -1, -1): stay.life
            for name, stay in self.residence.stays.items()
            if self.residence.operands[name].place == "scratchpad"
        }
        for step in range(len(self.sections)):
            for number, image in _images(self._section(step)):
                lives["", step, number] = Lifetime(image.end, step, step)
        return lives

    def _early(self, lives: Mapping[Key, Lifetime], bound: int, ahead: int) -> dict[Key, Lifetime]:
        """Longer lifetimes for boxes of what is there before, where bytes are free so many steps ahead."""
        taken, found = self._taken(lives), dict(lives)
        for (name, step, number), life in lives.items():
            first = step - ahead
            if name or first < 0 or life.first != first + 1 or not 0 <= number < len(self.nests[step].reads):
                continue
            operand = self.nests[step].reads[number].operand
            ready = all(write.access.operand != operand for write in self.nests[first].writes)
            if ready and taken[first] + life.bytes <= bound:
                taken[first] += life.bytes
                found[name, step, number] = Lifetime(life.bytes, first, life.last)
        return found

    def _much_earlier(self, lives: Mapping[Key, Lifetime], bound: int) -> dict[Key, Lifetime]:
        """Longer lifetimes for boxes that shall come ahead, as far as bytes are free."""
        taken, found = self._taken(lives), dict(lives)
        for (step, number), hosts in self.ahead.items():
            life = lives.get(("", step, number))
            if life is None:
                continue
            first, least = life.first, self._front(min(hosts))
            while first > least and taken[first - 1] + life.bytes <= bound:
                first -= 1
                taken[first] += life.bytes
            found["", step, number] = replace(life, first=first)
        return found

    def _grants(self, lives: Mapping[Key, Lifetime]) -> Iterator[tuple[Key, Parcels]]:
        """What comes ahead of boxes that have such lifetimes."""
        for (step, number), hosts in self.ahead.items():
            life, image = lives.get(("", step, number)), self._section(step).images[number]
            if life is None or image is None:
                continue
            able = {host: share for host, share in hosts.items() if self._front(host) >= life.first}
            early = able.keys() - {step}
            if image.bytes < SPLIT and early:
                able = {max(early): 1.0}
            parcels, left = list[tuple[int, int]](), image.bytes
            nest = self.nests[step]
            whole = box_bytes(nest.reads[number], nest.extents, image.steps)
            for host, share in sorted(able.items(), reverse=True):
                size = min(round(share * whole), left)
                if size and host < step:
                    parcels.insert(0, (step - host, size))
                left -= size
            yield ("", step, number), tuple(parcels)

    def _front(self, step: int) -> int:
        """The section that is at work while the first loads of another one come."""
        return next((s for s in reversed(range(step)) if not self._pulls(s)), 0)

    def _pulls(self, step: int) -> bool:
        """Whether a step takes something from another core."""
        return takes_from_others(self.nests[step], self.residence.operands)

    def _taken(self, lives: Mapping[Key, Lifetime]) -> list[int]:
        """Bytes in use at each step."""
        steps = len(self.sections)
        taken = [0] * (steps + 1)
        for life in lives.values():
            taken[life.first] += life.bytes
            taken[life.last + 1] -= life.bytes
        for step in range(steps):
            taken[step + 1] += taken[step]
        return taken

    def _finished(self, addresses: Mapping[Key, int], total: int) -> Program:
        sections = []
        for step in range(len(self.sections)):
            section = self._section(step)
            own = {number: addresses["", step, number] for number, _ in _images(section)}
            ahead = {n: self.granted["", step, n] for n in own if ("", step, n) in self.granted}
            sections.append(placed(section, own, ahead))
        operands = {
            name: replace(o, offset=addresses[name, -1, -1]) if o.place == "scratchpad" else o
            for name, o in self.residence.operands.items()
        }
        arranged, arena = place(self.nests, operands, self.target.alignment)
        shared = tuple(worth_sharing(sections, self.target))
        level2 = used_bytes(arranged.values(), self.target)
        return Program(self.target, arranged, shared, arena, total, level2_bytes=level2)


def _of(section: Section, nest: Nest) -> Section:
    """The section of an equal nest."""
    if section.nest is nest:
        return section
    return Section(nest, section.loops, section.images, section.accumulator, section.shared)


def _images(section: Section) -> Iterator[tuple[int, Image]]:
    """The images of a section by access; -1: the accumulator."""
    yield from ((number, image) for number, image in enumerate(section.images) if image is not None)
    if section.accumulator is not None:
        yield -1, section.accumulator


def _structure(nest: Nest) -> object:
    """What nests have in common that can be run in the same way: all but names and offsets."""
    accesses = tuple(
        (a.shape, a.type, tuple([i.coefficients if isinstance(i, Affine) else i for i in a.index]), a.fill)
        for a in nest.accesses
    )
    values = tuple(write.value for write in nest.writes)
    return nest.verb, nest.extents, nest.outer, accesses, len(nest.reads), nest.reduction, values
