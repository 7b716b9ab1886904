"""Programs for several cores: one for each, planned as if it were alone, and all of them in one order."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from tiling.choose import Estimate
from tiling.cores import Division, Divisions, Way, can_split, on_one_core
from tiling.expr import BYTES
from tiling.nest import Nest
from tiling.plan import plan
from tiling.planner import Infeasible, Judge, Known, section_of, structure
from tiling.program import Image, Operand, Program, Section, takes_from_others
from tiling.records import replace
from tiling.target import Target

Refusal = TypeVar("Refusal")
TRIES = 3
"""How often tensors whose buffers did not stay in the scratchpads are put in the common memory."""


@dataclass(frozen=True, repr=False)
class SpreadProgram(Program):
    """A program of several cores, whose scratchpads are one behind the other.

    Its sections are in an order that computes what a single core would. On a machine each core goes through
    its own as soon as it can.
    """

    cores: tuple[Program, ...]
    """What each core does, at addresses of its own scratchpad."""
    turns: tuple[int, ...]
    """Whose turn each section is."""
    phases: tuple[int, ...]
    """Numbers that rise along the sections; those with the same one need nothing of each other."""
    ways: tuple[Way, ...]
    """How each nest is shared."""
    undivided: frozenset[str]
    """Members of nests that one core does alone."""
    channels: int | None = None
    """Of each core's DMA that it uses, if that has more."""
    division: Division | None = None
    """What each core was given to do; None for several tenants."""

    @property
    def split(self) -> str:
        """How it is shared, in a few words."""
        names: list[str] = [way for way in ("rows", "channels") if way in self.ways]
        stages = {way for way in self.ways if isinstance(way, int)}
        if len(stages) > 1:
            names.append(f"layers on {len(stages)} cores")
        return " and ".join(names) or "nothing: one core does all"

    @property
    def pulled_bytes(self) -> int:
        """Bytes that go from one core to another."""
        return sum(pulled_bytes(one) for core in self.cores for one in core.sections if is_pull(one, core))


def is_pull(section: Section, program: Program) -> bool:
    """Whether a section of a core's program takes something from another core."""
    return takes_from_others(section.nest, program.operands)


def pulled_bytes(section: Section) -> int:
    """What a pull moves."""
    return section.nest.points * BYTES[section.nest.reads[0].type]


def plan_cores(
    nests: Sequence[Nest],
    operands: Mapping[str, Operand],
    target: Target,
    cores: int,
    ways: Sequence[Way],
    estimate: Estimate | None = None,
    judge: Judge | None = None,
    known: Known | None = None,
    ahead: Mapping[int, Mapping[int, float]] | None = None,
    idle: int = 0,
    room: int | None = None,
    divisions: Divisions | None = None,
) -> SpreadProgram | Infeasible:
    """The program of several cores with this target each, which share the nests in these ways.

    What plans for such cores with the estimate found before may be `known`. Shares of
    the constants of a nest may come `ahead`, with those of others. The last cores may be `idle`.
    Of each scratchpad no more than some `room` may be used. `divisions` of the nests may be there.
    """
    known = known or Known()
    divisions = divisions or Divisions(nests, operands)
    target = core_target(target, ways)
    lesser = target if room is None else replace(target, scratch_bytes=room)

    def planned(division: Division, core: int) -> Program | Infeasible:
        early = dict(_ahead(division, core, ahead or {}))
        nests, operands = division.nests(core), division.operands[core]
        form, names = _form(nests, operands)
        key = form, lesser, tuple((at, tuple(hosts.items())) for at, hosts in early.items())
        found = known.programs.get(key)
        if found is None or lesser.cascading:
            made = plan(nests, operands, lesser, estimate, judge, known, early)
            known.programs[key] = made, names
        else:
            made = _renamed(*found, nests, operands, names)
        return made if isinstance(made, Infeasible) else replace(made, target=target)

    return spread_over(divisions, cores, ways, planned, idle)


def _form(nests: Sequence[Nest], operands: Mapping[str, Operand]) -> tuple[object, tuple[str, ...]]:
    """What cores have in common that do the same with other operands; and these."""
    numbers: dict[str, int] = {}
    steps = [
        (structure(nest), tuple([numbers.setdefault(one.operand, len(numbers)) for one in nest.accesses]))
        for nest in nests
    ]
    facts = [replace(operands[name], name="") for name in numbers]
    return (tuple(steps), tuple(facts)), tuple(numbers)


def _renamed(
    made: Program | Infeasible,
    others: Sequence[str],
    nests: Sequence[Nest],
    operands: Mapping[str, Operand],
    names: Sequence[str],
) -> Program | Infeasible:
    """What was planned for a core, for one that does the same with other operands."""
    if isinstance(made, Infeasible):
        return made
    own = dict(zip(others, names, strict=True))
    found = {
        own[name]: replace(operands[own[name]], place=one.place, offset=one.offset)
        for name, one in made.operands.items()
    }
    sections = tuple(map(section_of, made.sections, nests))
    return replace(made, operands=found, sections=sections)


def core_target(target: Target, ways: Sequence[Way]) -> Target:
    """A core as its plan sees it: only alone may it work in stripes."""
    return target if on_one_core(ways) else replace(target, cascading=False)


def spread_over(
    divisions: Divisions,
    cores: int,
    ways: Sequence[Way],
    planned: Callable[[Division, int], Program | Refusal],
    idle: int = 0,
    common: Collection[str] | None = None,
) -> SpreadProgram | Refusal:
    """The programs of all cores, as they are planned for what each is to do.

    Tensors whose buffers find no room are in the `common` memory, or those that are given.
    """
    nests, operands, shared = divisions.nests, divisions.operands, set(common or ())
    for attempt in range(TRIES):
        division = divisions.division(ways, cores - idle, shared)
        programs: list[Program] = []
        for core in range(cores - idle):
            made = planned(division, core)
            if not isinstance(made, Program):
                return made
            programs.append(made)
        outside = _outside(division, programs)
        if not outside or attempt == TRIES - 1 or common is not None:
            break
        shared |= outside
    alone = [nest.members for nest, way in zip(nests, ways, strict=True) if not can_split(nest, way)]
    undivided = frozenset(name for members in alone for name in members)
    programs += [Program(programs[0].target, {}, (), 0, 0)] * idle
    return _merged(division, programs, operands, tuple(ways), undivided)


def _ahead(
    division: Division, core: int, ahead: Mapping[int, Mapping[int, float]]
) -> Iterator[tuple[tuple[int, int], dict[int, float]]]:
    """The constants of a core's parts that shall come ahead, by step and access, and with which steps."""
    turns, operands = [turn for turn in division.turns if turn.core == core], division.operands[core]
    hosts: dict[int, int] = {}
    for step, turn in enumerate(turns):
        if turn.phase % 2:
            continue
        hosts[step] = turn.phase // 2
        found: dict[int, float] = {}
        for host, share in ahead.get(turn.phase // 2, {}).items():
            first = next(step for step, nest in hosts.items() if nest >= host)
            found[first] = found.get(first, 0.0) + share
        for number, access in enumerate(turn.nest.reads):
            if found.keys() - {step} and operands[access.operand].kind == "constant":
                yield (step, number), found


def _outside(division: Division, programs: Sequence[Program]) -> set[str]:
    """Tensors of which some buffer is not in its scratchpad: they are better off in the common memory."""
    far = {
        operand.name
        for program in programs
        for operand in program.operands.values()
        if operand.kind == "temporary" and operand.place != "scratchpad"
    }
    return {name for name, buffers in division.spread.items() if not far.isdisjoint(buffers)}


def _merged(
    division: Division,
    programs: Sequence[Program],
    operands: Mapping[str, Operand],
    ways: tuple[Way, ...],
    undivided: frozenset[str],
) -> SpreadProgram:
    """All cores' programs in one, each with its stretch of the scratchpad and of the arena."""
    target = programs[0].target
    room = -(-(target.scratch_bytes or 0) // target.alignment) * target.alignment
    known: dict[str, Operand] = {n: o for n, o in operands.items() if o.kind in ("input", "output")}
    arena = 0
    for core, program in enumerate(programs):
        for name, one in program.operands.items():
            if one.kind == "temporary":
                shift = core * room if one.place == "scratchpad" else arena
                shift = core * target.level2_bytes if one.place == "level2" else shift
                known[name] = replace(one, offset=one.offset + shift)
            elif one.kind == "constant":
                shift = core * target.level2_bytes if one.place == "level2" else 0
                known[name] = replace(one, offset=one.offset + shift)
        arena += -(-program.arena_bytes // target.alignment) * target.alignment
    for program in programs:
        for name in program.operands:
            if name not in known:  # in the common memory, for as long as the program runs
                known[name] = replace(operands[name], offset=arena)
                arena += -(-known[name].bytes // target.alignment) * target.alignment
    steps = [iter(program.sections) for program in programs]
    turns = tuple(turn.core for turn in division.turns)
    phases = tuple(turn.phase for turn in division.turns)
    if len(set(turns)) == 1:  # alone, a core may work in stripes
        turns = turns[:1] * len(programs[turns[0]].sections)
        phases = tuple(range(len(turns)))
    return SpreadProgram(
        replace(
            target,
            name=f"{len(programs)} × {target.name}",
            scratch_bytes=room * len(programs),
            level2_bytes=target.level2_bytes * len(programs),
        ),
        known,
        tuple(moved(next(steps[core]), core * room) for core in turns),
        arena,
        max((core * room + p.scratch_bytes for core, p in enumerate(programs)), default=0),
        tuple(programs),
        turns,
        phases,
        ways,
        undivided,
        division=division,
        level2_bytes=max(
            (n * target.level2_bytes + p.level2_bytes for n, p in enumerate(programs)), default=0
        ),
    )


def moved(section: Section, shift: int) -> Section:
    """The section with its boxes further on."""
    if not shift:
        return section

    def further(image: Image | None) -> Image | None:
        return None if image is None else replace(image, address=image.address + shift)

    images, own = tuple(further(image) for image in section.images), further(section.accumulator)
    return Section(section.nest, section.loops, images, own, section.shared)
