"""Addresses for all in the scratchpad: sections that are chosen as a program, whose constants come early."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial

from tiling.allocate import Lifetime, allocate, peak
from tiling.choose import placed
from tiling.in_place import place, worth_sharing
from tiling.level2 import used_bytes
from tiling.making import aligned
from tiling.nest import Nest
from tiling.program import Image, Parcels, Program, Section, box_bytes, takes_from_others
from tiling.records import replace
from tiling.residence import Residence

EFFORT = 2_000
"""Buffers that the allocator may place to find a better order."""
SMALL = 128
"""A part of so many of what is in use at most, and less, is a small box."""
SPLIT = 4096
"""Smaller boxes come in one piece."""
FILLED = 3 / 4, 7 / 8, 1.0
"""Parts of the scratchpad that boxes may fill that come ahead, as far as they find addresses."""
AHEAD, FAR_AHEAD = 2, 5
"""Steps before a section's own in which its first loads find their place free, if there is room; more of them
where that saves time."""

Ahead = Mapping[tuple[int, int], Mapping[int, float]]
"""By step and access of a constant: with the first loads of which steps what shares of it shall come."""
Key = tuple[str, int, int]
"""What has an address in the scratchpad: a tensor by name, or an image by section and access."""
Lives = dict[Key, Lifetime]
Addresses = dict[Key, int]
Draft = Callable[[], Program]
"""Makes a program when it is first asked for, and keeps it."""


@dataclass(frozen=True, slots=True)
class Arranged:
    """What the programs of a planner share."""

    addresses: dict[object, tuple[Addresses, int] | None] = field(default_factory=dict)
    """What lifetimes have found, by these and how many bytes are enough: addresses and bytes, or no room."""
    placed: dict[object, tuple[Section, Section]] = field(default_factory=dict)
    """Sections at addresses, by these and the identity of the section without, which stands in front."""


class Arranger:
    """Makes a program of sections, and of the tensors that live in the scratchpad."""

    def __init__(
        self,
        nests: Sequence[Nest],
        residence: Residence,
        sections: Sequence[Section],
        ahead: Ahead,
        known: Arranged,
    ) -> None:
        self.nests, self.residence, self.sections, self.ahead = nests, residence, sections, ahead
        self.known, self.operands = known, residence.operands
        self.target, self.capacity = residence.target, residence.capacity

    def program(self) -> Draft | None:
        """The program with addresses for all in the scratchpad, if they are found."""
        if self.target.values == "offchip":
            return self.roomy(AHEAD)
        # Where values live in the scratchpad, what is left of it is the user's.
        lives = self.lives()
        return self._within(lives, min(peak(lives) * 17 // 16, self.capacity), AHEAD, 0)

    def roomy(self, steps: int) -> Draft | None:
        """The program in all of the scratchpad, where more constants come so many steps early."""
        return self._within(self.lives(), self.capacity, steps, self.capacity)

    def lean(self, most: int) -> Iterator[Program]:
        """Programs in less than so many bytes, where fewer constants come early."""
        lives = self.lives()
        ways = [(peak(lives), AHEAD), *((self.capacity, steps) for steps in range(1, 1 + AHEAD))]
        for bound, steps in ways:
            draft = self._within(lives, bound, steps, 0)
            if draft is not None and draft().scratch_bytes < most:
                yield draft()

    def lives(self) -> Lives:
        """How long tensors live in the scratchpad, and boxes if none of them come early."""
        return {
            **self.tensors(),
            **{
                ("", step, number): Lifetime(image.end, step, step)
                for step, section in enumerate(self.sections)
                for number, image in images_of(section)
            },
        }

    def tensors(self) -> Lives:
        """How long tensors live in the scratchpad."""
        return {
            (name, -1, -1): stay.life
            for name, stay in self.residence.stays.items()
            if self.operands[name].place == "scratchpad"
        }

    def finished(
        self, addresses: Mapping[Key, int], total: int, granted: Mapping[Key, Parcels] | None = None
    ) -> Program:
        """The program with these addresses; some of what is `granted` comes ahead of the first box."""
        granted = granted or {}
        sections = []
        for step, section in enumerate(self.sections):
            own = {number: addresses["", step, number] for number, _ in images_of(section)}
            ahead = {n: granted["", step, n] for n in own if ("", step, n) in granted}
            sections.append(self._placed(section, own, ahead))
        operands = {
            name: replace(o, offset=addresses[name, -1, -1]) if o.place == "scratchpad" else o
            for name, o in self.operands.items()
        }
        arranged, arena = place(self.nests, operands, self.target.alignment)
        shared = tuple(worth_sharing(sections, self.target))
        level2 = used_bytes(arranged.values(), self.target)
        return Program(self.target, arranged, shared, arena, total, level2_bytes=level2)

    def _placed(self, section: Section, own: dict[int, int], ahead: dict[int, Parcels]) -> Section:
        """A section at addresses, made once."""
        key = id(section), *own.values(), *ahead.items()
        found = self.known.placed.get(key)
        if found is None:
            found = self.known.placed[key] = section, placed(section, own, ahead)
        return found[1]

    def _longer(self, lives: Lives, bound: int, steps: int) -> list[Lives]:
        """Longer lifetimes, as constants come early if there is room."""
        longer = [lives]
        for ahead in range(1, 1 + steps):
            longer.append(self._early(longer[-1], bound, ahead))
        if self.ahead:
            longer += [self._much_earlier(longer[-1], int(bound * part)) for part in FILLED]
        return longer[1:]

    def _within(self, lives: Lives, bound: int, steps: int, enough: int) -> Draft | None:
        """The program of the longest lifetimes that find addresses; none if these find none themselves."""
        shortest = self._arranged(lives, self.capacity)
        if shortest is None:
            return None
        return cache(partial(self._longest, lives, shortest, bound, steps, enough))

    def _longest(
        self, lives: Lives, shortest: tuple[Addresses, int], bound: int, steps: int, enough: int
    ) -> Program:
        """The program of the longest lifetimes that find addresses, or of those that have some."""
        for early in reversed(self._longer(lives, bound, steps)):
            if (found := self._arranged(early, enough)) is not None:
                return self.finished(*found, dict(self._grants(early)))
        return self.finished(*shortest, dict(self._grants(lives)))

    def _arranged(self, lives: Lives, enough: int) -> tuple[Addresses, int] | None:
        """Addresses, if they are found, which is tried once."""
        key = enough, tuple(lives.items())
        if key not in self.known.addresses:
            self.known.addresses[key] = self._addressed(lives, enough)
        return self.known.addresses[key]

    def _addressed(self, lives: Lives, enough: int) -> tuple[Addresses, int] | None:
        """Addresses, if they are found, those of small boxes with the same lifetime behind each other."""
        small = aligned(peak(lives) // SMALL, self.target)
        parcels: dict[Key, list[Key]] = {}
        for key, life in lives.items():
            first = ("", life.first, -2 - life.last) if life.bytes <= small and not key[0] else key
            parcels.setdefault(first, []).append(key)
        sizes = {key: aligned(life.bytes, self.target) for key, life in lives.items()}
        merged = {
            first: Lifetime(sum([sizes[key] for key in keys]), lives[keys[0]].first, lives[keys[0]].last)
            for first, keys in parcels.items()
        }
        if peak(merged) > self.capacity:
            return None
        starts, total = allocate(merged, self.target.alignment, EFFORT, enough)
        if total > self.capacity:
            return None
        addresses = {}
        for first, keys in parcels.items():
            at = starts[first]
            for key in keys:
                addresses[key], at = at, at + sizes[key]
        return addresses, total

    def _early(self, lives: Lives, bound: int, ahead: int) -> Lives:
        """Longer lifetimes for boxes of what is there before, where bytes are free so many steps ahead."""
        taken, found = self._taken(lives), dict(lives)
        for (name, step, number), life in lives.items():
            first = step - ahead
            if name or first < 0 or life.first != first + 1 or not 0 <= number < len(self.nests[step].reads):
                continue
            if taken[first] + life.bytes > bound:
                continue
            operand = self.nests[step].reads[number].operand
            if all([write.access.operand != operand for write in self.nests[first].writes]):
                taken[first] += life.bytes
                found[name, step, number] = Lifetime(life.bytes, first, life.last)
        return found

    def _much_earlier(self, lives: Lives, bound: int) -> Lives:
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
            found["", step, number] = life._replace(first=first)
        return found

    def _grants(self, lives: Lives) -> Iterator[tuple[Key, Parcels]]:
        """What comes ahead of boxes that have such lifetimes."""
        for (step, number), hosts in self.ahead.items():
            life, image = lives.get(("", step, number)), self.sections[step].images[number]
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
        before = reversed(range(step))
        return next((s for s in before if not takes_from_others(self.nests[s], self.operands)), 0)

    def _taken(self, lives: Lives) -> list[int]:
        """Bytes in use at each step."""
        steps = len(self.sections)
        taken = [0] * (steps + 1)
        for life in lives.values():
            taken[life.first] += life.bytes
            taken[life.last + 1] -= life.bytes
        for step in range(steps):
            taken[step + 1] += taken[step]
        return taken


def images_of(section: Section) -> Iterator[tuple[int, Image]]:
    """The images of a section by access; -1: the accumulator."""
    yield from ((number, image) for number, image in enumerate(section.images) if image is not None)
    if section.accumulator is not None:
        yield -1, section.accumulator
