"""The pipeline: every stage by name, in order, each a function from a value to the next one.

A graph is validated as a whole. Control flow and CUSTOM operators then cut its blocks into parts
(`parts.py`; variables do where they are no operands of programs, `variables.py`), and each part goes through
all the other stages on its own: through `FRONT` whether it is to be timed or run, through `BACK` to be run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from time import perf_counter
from typing import Any

from tiling.fuse import fuse as fused
from tiling.in_place import in_place
from tiling.nest import Nest
from tiling.program import Operand, Program
from tiling.records import dataclass, replace
from tiling.target import HOST
from tiling.text import members_text
from tosajit.arrays import Array
from tosajit.checks.validation import check
from tosajit.compiler.constants import precomputed
from tosajit.compiler.dump import dump_of
from tosajit.compiler.journal import Journal
from tosajit.compiler.lower import lower
from tosajit.compiler.options import Options
from tosajit.compiler.segment import Groups, Linked, Planned, Segment, Written, slots_of
from tosajit.compiler.verify import verified
from tosajit.graph import Graph
from tosajit.host.blended import blended
from tosajit.host.by_rows import by_rows
from tosajit.host.columns import columns
from tosajit.host.folded import folded
from tosajit.host.in_order import in_order
from tosajit.host.places import direct
from tosajit.host.prepare import prepare as prepared
from tosajit.host.prepare import supports
from tosajit.host.simplify import simplify as simplified
from tosajit.host.turned import turned
from tosajit.host.unrolled import unrolled
from tosajit.host.windows import windows
from tosajit.kernels.emit import emitter
from tosajit.kernels.generic.code import everywhere, meanwhile
from tosajit.kernels.interpreter import Interpreter
from tosajit.kernels.link import Code, Unit, emit_program, operands_of, sources_of
from tosajit.kernels.link import link as linked
from tosajit.kernels.memory import check_memory
from tosajit.kernels.objects import is_there
from tosajit.kernels.runnable import Members, Slot
from tosajit.kernels.runner import Runner
from tosajit.kernels.sets.description import InstructionSet
from tosajit.kernels.sets.registry import instruction_set
from tosajit.log import LOG


@dataclass(frozen=True, slots=True)
class Stage:
    """A step of the pipeline: what it is called, what it does in a line, and the function that does it."""

    name: str
    summary: str
    function: Callable[[Any, Options], Any]


def validate(graph: Graph, options: Options) -> Graph:
    """The graph, or a GraphError with all of its violations."""
    return check(graph, **options.limits)


def precompute(segment: Segment, options: Options) -> Segment:
    """The segment with results of constants as constants; checked kernels must see every operator."""
    return segment if options.checked else precomputed(segment, lambda part: _evaluated(part, options))


def _evaluated(segment: Segment, options: Options) -> Mapping[str, Array]:
    """What a segment of constants computes, on the host; nobody waits for better kernels."""
    if options.interpret:
        results = interpreter_of(segment).run(())
    else:
        once = Options(HOST, generic=options.generic, once=True)
        results = Runner(through(since("fuse"), segment, once)).run(())
    return dict(zip(segment.outputs, results, strict=True))


def interpreter_of(value: Segment | Groups, checked: bool = False) -> Interpreter:
    """What runs nests as they are."""
    segment = value if isinstance(value, Segment) else value.segment
    constants = segment.constants if isinstance(value, Segment) else {**segment.constants, **value.added}
    results = {tensor.name: (tensor.shape, tensor.dtype.storage) for tensor in segment.results}
    return Interpreter(value.nests, segment.inputs, results, constants, checked)


def fuse(segment: Segment, options: Options) -> Groups:
    """Groups; in checked programs each nest is one. For a machine they are those of all machines."""
    if options.checked:
        return Groups(segment, segment.nests)
    if options.target.scratch_bytes is not None:
        from tosajit.compiler.planning import ROOMY, groups_for

        return groups_for(segment, options.target if options.machine is None else ROOMY)
    return Groups(
        segment, tuple(fused(segment.nests, set(segment.outputs), supports, constants=segment.constants))
    )


def simplify(groups: Groups, options: Options) -> Groups:
    """On the host: short reductions as maps, and cheaper expressions, by what is known of values."""
    if not options.on_host or options.once:
        return groups
    segment, isa = groups.segment, instruction_set()
    tables = isa is not None and isa.byte_tables
    apart, products = columns(groups.nests, segment.constants, isa)
    plain = [in_order(direct(nest, segment.constants)) for nest in apart]
    rows = [turned(nest, isa, number) for number, nest in enumerate(plain)]
    parts = [folded(nest, number) for number, nest in enumerate(nest for nests, _ in rows for nest in nests)]
    nests = [
        part
        for nests, _ in parts
        for nest in nests
        for part in (
            [nest] if isa and windows(nest, segment.constants, isa) else unrolled(nest, segment.constants)
        )
    ]
    made = simplified(nests, segment.constants, set(segment.outputs), tables)
    halves = [blended(group, number) for number, group in enumerate(made.groups)]
    temporaries = {narrow.access.operand: narrow.access for narrow in made.narrow.values()}
    temporaries |= products
    temporaries |= {name: access for _, known in (*rows, *parts, *halves) for name, access in known.items()}
    done = tuple(nest for nests, _ in halves for nest in nests)
    return replace(groups, nests=done, added=made.constants, temporaries=temporaries)


def prepare(groups: Groups, options: Options) -> Groups:
    """On the host: groups that array kernels do, with their operands packed; some chains in bands of rows."""
    if not options.on_host:
        return groups
    isa = instruction_set()
    groups = groups if options.once or isa is None else _in_bands(groups, isa)
    known = {**groups.segment.constants, **groups.added}
    made = prepared(groups.nests, known, isa, *_lacking(options), _waiting(options))
    if isa is not None and not options.once:
        by_rows(made, set(groups.segment.outputs), isa, _lacking(options)[0])
    for nest, reason in made.refused.items():
        if nest.verb == "contract":
            LOG.info("%s: no array kernel, %s", members_text(nest.members), reason)
    whole = replace(
        groups,
        nests=tuple(made.groups),
        added={**made.constants, **groups.added},
        temporaries={**made.temporaries, **groups.temporaries},
        units=made.units,
        library=isa.name if isa else "",
        refused=made.refused,
    )
    if not made.apart and not made.late:
        return whole
    return replace(whole, nests=tuple(made.without_own), units=made.at_once, own=whole)


def _in_bands(groups: Groups, isa: InstructionSet) -> Groups:
    """The same with chains of groups in bands, if something that leaves the caches passes between groups."""
    results = (write.access for nest in groups.nests for write in nest.writes)
    if not isa.near_bytes or all(access.bytes <= isa.near_bytes // 2 for access in results):
        return groups
    from tosajit.host.bands import bands  # most networks have no need of it

    known = {**groups.segment.constants, **groups.added}
    nests, buffers = bands(groups.nests, groups.operands, known, isa)
    temporaries = {**groups.temporaries, **buffers}
    return replace(groups, nests=nests, temporaries=temporaries, buffers=frozenset(buffers))


def _lacking(options: Options) -> tuple[Callable[[Unit], bool], Callable[[Unit], bool]]:
    """Whether a unit gives way to one of its sums and the generic kernel, and whether that is no help."""

    def never(unit: Unit) -> bool:
        return False

    def always(unit: Unit) -> bool:
        return True

    match options.generic:
        case "never":
            return never, always
        case "always":
            return always, never
    there = cache(is_there)

    def missing(unit: Unit) -> bool:
        return not all(map(there, sources_of(unit)))

    return missing, missing


def _waiting(options: Options) -> Callable[[Nest], bool]:
    """Whether a reduction needs a kernel of its own that is missing: the generic one knows no free order."""

    def free(nest: Nest) -> bool:
        return nest.reduction is not None and emitter(nest).in_free_order()

    def missing(nest: Nest) -> bool:
        return free(nest) and not is_there(emitter(nest).emit().source)

    if options.generic == "never" or options.checked:
        return lambda nest: False
    if options.generic == "always":
        return lambda nest: free(nest) and any(write.value.op != "acc" for write in nest.writes)
    return missing


def plan(groups: Groups, options: Options) -> Planned:
    """The program: tiles, order, buffers and addresses."""
    if options.machine is None and options.target.scratch_bytes is None:
        made = Planned(groups, in_place(groups.nests, groups.operands, options.target))
    else:
        made = _planned(groups, options)
    check_memory(made.program)
    return made


def _planned(groups: Groups, options: Options) -> Planned:
    """The program for a scratchpad; nothing of its search is imported before."""
    from tosajit.compiler.planning import planned, planned_for

    if options.machine is None:
        return planned(groups, options.target)
    return planned_for(groups, options.machine, options.plan)


def emit(made: Planned, options: Options) -> Written:
    """The text of each kernel."""
    return Written(made, emit_program(made.program, made.groups.units, options.checked))


def link(written: Written, options: Options) -> Linked:
    """Compiled kernels, and the numbers that the driver walks."""
    groups, program = written.planned.groups, written.planned.program
    codes = _codes(written, options)
    segment, sections, operands = groups.segment, program.sections, program.operands.values()
    needed = {*segment.outputs}.union(*map(operands_of, sections, codes))
    return Linked(
        name=written.name,
        program=program,
        image=linked(program, slots_of(program), codes, options.progress),
        slots=tuple(_slot(operand, program) for operand in operands),
        written=frozenset(write.access.operand for section in sections for write in section.nest.writes),
        members=tuple(Members(one.nest.members, tuple(a.name for a in one.nest.axes)) for one in sections),
        constants={name: array for name, array in groups.constants.items() if name in needed},
        inputs=segment.inputs,
        outputs=segment.outputs,
        results=tuple((tensor.shape, tensor.dtype.storage) for tensor in segment.results),
        arena_bytes=program.arena_bytes + program.level2_bytes,
        threads=program.target.cores if any(section.shared for section in sections) else 1,
        checked=options.checked,
        own=_own(written, codes, options),
    )


def _slot(operand: Operand, program: Program) -> Slot:
    """Where a tensor is when the program runs: level 2 is behind the arena."""
    offset = operand.offset + (program.arena_bytes if operand.place == "level2" else 0)
    return Slot(operand.name, operand.kind, operand.bytes, offset, operand.place == "scratchpad")


def _own(written: Written, codes: tuple[Code, ...], options: Options) -> Callable[[], Written] | None:
    """What is linked in place of codes that stand in for others until these are compiled."""
    if options.generic != "meanwhile":
        return None
    if (own := written.planned.groups.own) is not None:
        return lambda: emit(plan(own, options), options)
    return None if codes == written.codes else lambda: written


def _codes(written: Written, options: Options) -> tuple[Code, ...]:
    """What does each section: a kernel of its own, or the generic one."""
    if not options.on_host or options.generic == "never":
        return written.codes
    chosen = everywhere if options.generic == "always" else meanwhile
    return chosen(written.planned.program, written.codes)


STAGES = (
    Stage("validate", "the graph, checked against the specification", validate),
    Stage("lower", "the loop nests of each operator", lower),
    Stage("precompute", "results of constants are constants", precompute),
    Stage("fuse", "nests that share their elements are one group", fuse),
    Stage("simplify", "cheaper expressions, where value ranges allow them (host)", simplify),
    Stage("prepare", "groups for the array kernels, with packed operands (host)", prepare),
    Stage("plan", "tiles, order, buffers and addresses", plan),
    Stage("emit", "the text of each kernel", emit),
    Stage("link", "compiled kernels, and the numbers that the driver walks", link),
)


def until(name: str) -> tuple[Stage, ...]:
    """The stages of a part of a graph as far as this one."""
    return STAGES[1 : [stage.name for stage in STAGES].index(name) + 1]


def since(name: str) -> tuple[Stage, ...]:
    """The stage of this name, and all that follow."""
    return STAGES[[stage.name for stage in STAGES].index(name) :]


WHOLE, FRONT, BACK = STAGES[:1], STAGES[1:4], since("simplify")


def new_journal() -> Journal:
    """A journal, which also writes what the environment asks for."""
    return Journal(dump=dump_of([stage.name for stage in STAGES]))


def through(stages: Sequence[Stage], value: Any, options: Options, journal: Journal | None = None) -> Any:
    """What the stages make of a value, one after another; a journal is told of each."""
    for stage in stages:
        began = perf_counter()
        value = verified(stage.name, stage.function(value, options))
        LOG.debug("%s took %.1f ms", stage.name, 1000 * (perf_counter() - began))
        if journal is not None:
            journal.note(stage.name, stage.summary, value)
    return value
