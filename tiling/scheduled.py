"""Programs after a schedule: what it says is done or refused, what it leaves open is planned."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from difflib import get_close_matches
from math import inf
from operator import itemgetter

from tiling import cascade
from tiling.cascade import held_constants
from tiling.cascade_stripes import cascade_of, striped
from tiling.choose import Choices, Estimate, placed
from tiling.in_place import known_operands, place, worth_sharing
from tiling.level2 import settled, used_bytes
from tiling.making import aligned
from tiling.nest import Nest
from tiling.planner import Infeasible, Known, Planner
from tiling.program import Operand, Program, Section
from tiling.records import replace
from tiling.residence import Residence, stays
from tiling.schedule import Cascade, Choice, Schedule, group_names, helps, section_names
from tiling.target import Target
from tiling.verify_program import ahead_faults, verify_layout
from tiling.wishes import (
    PlanFault,
    Wish,
    choose_wished,
    faults_of,
    least_wished,
    misplaced,
    wish_of,
    wished_setting,
)
from tiling.words import listed, plain

Wanted = Callable[[Nest, Mapping[str, Operand]], Choice | None]
"""What is wanted of a group that a schedule says nothing of."""
Outcome = Program | Infeasible | tuple[PlanFault, ...]
REMEDY = "make its tile smaller, use fewer copies of boxes, or let fewer tensors live in the scratchpad"


def program_after(
    schedule: Schedule,
    nests: Sequence[Nest],
    operands: Mapping[str, Operand],
    target: Target,
    estimate: Estimate | None = None,
    wanted: Wanted | None = None,
) -> Outcome:
    """The program of a schedule, why there is no room for it, or everything that is wrong with it."""
    best: tuple[Outcome, float] | None = None
    for parts, known, faults in _striped(schedule, nests, operands, target):
        found: tuple[Outcome, float] = faults, inf
        if not faults:
            said = (
                schedule if wanted is None else _with_wanted(schedule, nests, parts, operands, known, wanted)
            )
            found = _Scheduled(said, nests, parts, operands, known, target, estimate).outcome()
        if best is None or found[1] < best[1]:
            best = found
    assert best is not None
    return best[0]


def _with_wanted(
    schedule: Schedule,
    groups: Sequence[Nest],
    nests: Sequence[Nest],
    original: Mapping[str, Operand],
    operands: Mapping[str, Operand],
    wanted: Wanted,
) -> Schedule:
    """The schedule with what is wanted of groups, and of their stripes, that it says nothing of."""
    added = {}
    for name, nest in zip(section_names(nests, groups, original), nests, strict=True):
        choice = None if name in schedule.groups or helps(nest, original) else wanted(nest, operands)
        if choice is not None:
            added[name] = choice
    return replace(schedule, groups={**schedule.groups, **added})


# Stripes.

Striped = tuple[Sequence[Nest], dict[str, Operand], tuple[PlanFault, ...]]


def _striped(
    schedule: Schedule, nests: Sequence[Nest], operands: Mapping[str, Operand], target: Target
) -> Iterator[Striped]:
    """The nests in the stripes that are given or, if none are, as the planner would cut them, and whole."""
    if schedule.cascades is not None:
        yield _cut(schedule.cascades, nests, operands, target)
        return
    found, known, _ = cascade.weighed(nests, operands, target)
    if len(found) != len(nests):
        yield found, known, ()
    yield nests, dict(operands), ()


def _cut(
    cascades: Sequence[Cascade], nests: Sequence[Nest], operands: Mapping[str, Operand], target: Target
) -> Striped:
    names, spans = group_names(nests), _spans(nests)
    parts: list[Nest] = []
    left, added, faults, end = dict(operands), dict[str, Operand](), list[PlanFault](), 0
    for one in cascades:
        where = f"{one.first} to {one.last}"
        if unknown := [name for name in (one.first, one.last) if name not in names]:
            faults += [
                PlanFault(where, "cascades", f"no group is called {plain(name)}; {near(name, names)}")
                for name in unknown
            ]
            continue
        chain = range(names.index(one.first), names.index(one.last) + 1)
        if len(chain) < 2 or chain.start < end:
            text = "the first group comes before the last, and a group is in one cascade only"
            faults.append(PlanFault(where, "cascades", text))
            continue
        made = cascade_of(nests, operands, chain, one.stripes, spans) if one.stripes > 1 else None
        if made is None or made.stripes != one.stripes:
            faults.append(
                PlanFault(where, "stripes", _why_not(one, made.stripes if made else None, nests[chain[-1]]))
            )
            continue
        parts += nests[end : chain.start]
        end = chain.stop
        sections, buffers = striped(
            made, operands, held_constants(nests[chain.start : chain.stop], operands, target)
        )
        parts += sections
        added |= buffers
        for name in made.flows:
            del left[name]
    return [*parts, *nests[end:]], left | added, tuple(faults)


def _why_not(cascade: Cascade, possible: int | None, last: Nest) -> str:
    text = f"{cascade.stripes} stripes are not possible"
    if possible:
        return f"{text}; rows of {plain(cascade.last)} make {possible}"
    if cascade.stripes < 2:
        return f"{text}; there are 2 or more"
    return f"{text}: its tensors are not made and read in rows one after another, or are used by other groups"


def _spans(nests: Sequence[Nest]) -> dict[str, tuple[int, int]]:
    """The first and the last nest that uses each operand."""
    spans: dict[str, tuple[int, int]] = {}
    for step, nest in enumerate(nests):
        for name in nest.operands:
            spans[name] = spans.get(name, (step, step))[0], step
    return spans


def near(name: str, names: Collection[str]) -> str:
    """Names that may have been meant."""
    found = get_close_matches(name, list(names), 1)
    some = list(names)[:4]
    return (
        f"did you mean {plain(found[0])}?"
        if found
        else f"there are {listed(some)}{' …' if len(names) > len(some) else ''}"
    )


# Sections and addresses.


class _Scheduled:
    """A schedule for nests that are cut into stripes already."""

    def __init__(
        self,
        schedule: Schedule,
        groups: Sequence[Nest],
        nests: Sequence[Nest],
        original: Mapping[str, Operand],
        operands: Mapping[str, Operand],
        target: Target,
        estimate: Estimate | None,
    ) -> None:
        self.schedule, self.nests, self.target, self.estimate = schedule, nests, target, estimate
        self.operands = known_operands(nests, operands)
        self.names = section_names(nests, groups, original)
        steps = {name: step for step, name in enumerate(self.names)}
        self.faults = [*self._strangers(steps), *self._inside_faults()]
        for name, choice in schedule.groups.items():
            if name in steps:
                self.faults += faults_of(name, choice, nests[steps[name]], target)
        chosen = {} if self.faults else {steps[name]: choice for name, choice in schedule.groups.items()}
        self.wishes = {step: wish_of(choice, nests[step]) for step, choice in chosen.items()}

    def _strangers(self, steps: Mapping[str, int]) -> Iterator[PlanFault]:
        for name in self.schedule.groups:
            if name not in steps:
                yield PlanFault(
                    name, "", f"the graph has no group of this name on this machine; {near(name, steps)}"
                )

    def _inside_faults(self) -> Iterator[PlanFault]:
        may = stays(self.nests, self.operands, self.target)
        for name, address in (self.schedule.scratchpad or {}).items():
            if name not in self.operands:
                yield PlanFault(
                    name, "scratchpad", f"the graph has no tensor of this name; {near(name, self.operands)}"
                )
            elif name not in may:
                what = {"constant": "constants of its kind", "input": "inputs", "output": "outputs"}
                kind = what.get(self.operands[name].kind, "such tensors")
                yield PlanFault(name, "scratchpad", f"{kind} live off-chip on this machine; leave it out")
            else:
                yield from self._address_faults(name, "scratchpad", address)
        for name, choice in self.schedule.groups.items():
            given = [
                (f"boxes.{n}", box.address) for n, boxes in (choice.boxes or {}).items() for box in boxes
            ]
            for field, address in (*given, ("accumulator", choice.accumulator)):
                yield from self._address_faults(name, field, address)

    def _address_faults(self, name: str, field: str, address: int | None) -> Iterator[PlanFault]:
        step = self.target.alignment
        if address is not None and (address < 0 or address % step):
            yield PlanFault(
                name, field, f"address {address} is not a multiple of {step}; leave it out to get one"
            )

    def outcome(self) -> tuple[Outcome, float]:
        """The program with its time, if that is estimated; or what is wrong."""
        if self.faults:
            return tuple(self.faults), inf
        if (program := self._as_it_was()) is not None:
            return program, 0.0
        planned, time = self._planned(eager=True)
        if isinstance(planned, Infeasible):
            return planned, inf
        if self.schedule.scratchpad is None and self.estimate is not None:
            planned, time = min((planned, time), self._planned(eager=False), key=itemgetter(1))
        assert isinstance(planned, Program)
        faults = tuple(self._misplaced(planned))
        return (faults, inf) if faults else (planned, time)

    def _planned(self, eager: bool) -> tuple[Program | Infeasible, float]:
        inside = None if self.schedule.scratchpad is None else frozenset(self.schedule.scratchpad)
        planner = _Planner(self.nests, self.operands, self.target, self.estimate, self.wishes, inside)
        if (infeasible := planner.infeasible()) is not None:
            return infeasible, inf
        try:
            planner.residence.settle(eager)
            draft = planner.program()
            assert draft is not None  # of a planner that has made no other
            return draft(), planner.time
        except _Crowded as crowded:
            return crowded.reason, inf

    def _misplaced(self, program: Program) -> Iterator[PlanFault]:
        for step, wish in self.wishes.items():
            section = program.sections[step]
            inside = tuple(program.operands[a.operand].place == "scratchpad" for a in section.nest.accesses)
            for field, text in misplaced(wish, section, inside):
                yield PlanFault(self.names[step], field, text)

    def _as_it_was(self) -> Program | None:
        """The program, if the schedule leaves nothing open, and its addresses fit together."""
        inside = self.schedule.scratchpad
        whole = len(self.wishes) == len(self.nests) and all(wish.is_whole for wish in self.wishes.values())
        if inside is None or None in inside.values() or not whole:
            return None
        operands = {
            name: replace(
                o, place="scratchpad" if name in inside else "offchip", offset=inside.get(name) or 0
            )
            for name, o in self.operands.items()
        }
        total = max([0, *(_end(operands[name].bytes, operands[name].offset, self.target) for name in inside)])
        sections = []
        for step in range(len(self.nests)):
            section = self._placed(step, self.wishes[step], operands)
            if section is None:
                return None
            sections.append(section)
            images = [image for image in (*section.images, section.accumulator) if image is not None]
            total = max([total, *(_end(image.end, 0, self.target) for image in images)])
        operands = settled(self.nests, operands, self.target)
        arranged, arena = place(self.nests, operands, self.target.alignment)
        shared, level2 = (
            tuple(worth_sharing(sections, self.target)),
            used_bytes(arranged.values(), self.target),
        )
        program = Program(self.target, arranged, shared, arena, total, level2_bytes=level2)
        fits = total <= (self.target.scratch_bytes or 0)
        faults = (*verify_layout(program), *ahead_faults(program), *self._misplaced(program))
        return program if fits and not faults else None

    def _placed(self, step: int, wish: Wish, operands: Mapping[str, Operand]) -> Section | None:
        nest = self.nests[step]
        at = wished_setting(nest, operands, self.target, wish)
        found = choose_wished(at, wish, operands, self.target, self.target.scratch_bytes or 0, None)
        if found is None:
            return None
        addresses = {
            number: wish.boxes[number].address for number, image in enumerate(found.section.images) if image
        }
        if found.section.accumulator is not None:
            addresses[-1] = wish.accumulator
        given = {number: address for number, address in addresses.items() if address is not None}
        ahead = {number: wish.boxes[number].ahead for number in addresses if number >= 0}
        return placed(found.section, given, ahead) if len(given) == len(addresses) else None


def _end(size: int, offset: int, target: Target) -> int:
    return offset + aligned(size, target)


# Planning what is open.


class _Crowded(Exception):
    """Tensors that have to live in the scratchpad leave a group no room."""

    def __init__(self, reason: Infeasible) -> None:
        self.reason = reason


class _Residence(Residence):
    """Tensors in the scratchpad as they are given, or as the planner likes but for some."""

    def __init__(
        self,
        nests: Sequence[Nest],
        operands: Mapping[str, Operand],
        target: Target,
        wishes: Mapping[int, Wish],
        given: frozenset[str] | None,
    ) -> None:
        super().__init__(nests, operands, target)
        self.wishes, self.given = wishes, given
        for step, wish in wishes.items():
            self.settings[step] = wished_setting(nests[step], operands, target, wish)
            for access, box in zip(nests[step].accesses, wish.boxes, strict=True):
                if box.copies and given is None:  # what is to have a box lives elsewhere
                    self.stays.pop(access.operand, None)

    def settle(self, eager: bool = True, spared: int = 0) -> None:
        """Let in what is given, or what pays."""
        if self.given is None:
            super().settle(eager, spared)
            return
        for name in sorted(self.given):
            self._enter(name)
            self.operands[name] = replace(self.operands[name], place="scratchpad")
        crowded = [step for step in range(len(self.nests)) if self.least(step) > self.left[step]]
        if crowded:
            self.drop(crowded)

    def drop(self, steps: Sequence[int]) -> None:
        """What is given stays, so that there is no program."""
        if self.given is None:
            super().drop(steps)
            return
        step = min(steps)
        demand = self.capacity - int(self.left[step]) + self.least(step)
        remedy = (
            REMEDY
            if demand > self.capacity
            else f"there is no gap between its tensors that is large enough; {REMEDY}"
        )
        raise _Crowded(Infeasible(self.nests[step].members, "scratchpad", demand, self.capacity, remedy))

    def least(self, step: int) -> int:
        """The least bytes that the boxes of a group take."""
        at = self.setting(step)
        if step in self.wishes:
            return least_wished(at, self.wishes[step], self.target)
        return 0 if self.target.direct else int(at.menu.smallest(at.inside))


class _Planner(Planner):
    """The planner, bound by wishes for some groups and, perhaps, by what lives in the scratchpad."""

    residence: _Residence

    def __init__(
        self,
        nests: Sequence[Nest],
        operands: Mapping[str, Operand],
        target: Target,
        estimate: Estimate | None,
        wishes: Mapping[int, Wish],
        given: frozenset[str] | None,
    ) -> None:
        super().__init__(nests, operands, target, estimate, Known())
        self.wishes = wishes
        self.residence = _Residence(nests, operands, target, wishes, given)

    def infeasible(self) -> Infeasible | None:
        """The first nest that has no tile, as wished, in the whole scratchpad."""
        if self.residence.given is not None:  # `settle` looks at what these tensors leave
            return None
        for step in self.wishes:
            least = self.residence.least(step)
            if least > self.capacity:
                return Infeasible(self.nests[step].members, "scratchpad", least, self.capacity, REMEDY)
        return super().infeasible()

    def _options(self, step: int, room: int) -> Choices:
        if step not in self.wishes:
            return super()._options(step, room)
        at, wish = self.residence.setting(step), self.wishes[step]
        choice = choose_wished(at, wish, self.residence.operands, self.target, room, self.estimate)
        return Choices(() if choice is None else (choice,))
