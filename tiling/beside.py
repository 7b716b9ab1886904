"""Programs of several tenants as one: in turns on one core, or each on cores of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tiling.nest import Access, map_accesses
from tiling.program import Operand, Program, Section
from tiling.records import replace
from tiling.spread import SpreadProgram, moved


def in_turns(programs: Sequence[Program], names: Sequence[str], order: Sequence[int], room: int) -> Program:
    """The sections of all programs in an order of tenants, each in its stretch of the scratchpad.

    Names of operands and members begin with those of the tenants; `room` is the whole scratchpad.
    """
    operands: dict[str, Operand] = {}
    steps: list[Iterator[Section]] = []
    pad = arena = level2 = 0
    for program, name in zip(programs, names, strict=True):
        for one in program.operands.values():
            off = arena if one.kind == "temporary" else 0
            shift = {"scratchpad": pad, "level2": level2, "offchip": off}[one.place]
            operands[_own(name, one.name)] = replace(
                one, name=_own(name, one.name), offset=one.offset + shift
            )
        steps.append(iter([_renamed(moved(section, pad), name) for section in program.sections]))
        alignment = program.target.alignment
        pad += -(-program.scratch_bytes // alignment) * alignment
        arena += -(-program.arena_bytes // alignment) * alignment
        level2 += program.level2_bytes
    sections = tuple(next(steps[tenant]) for tenant in order)
    target = replace(programs[0].target, scratch_bytes=room, level2_bytes=level2)
    return Program(target, operands, sections, arena, pad, level2_bytes=level2)


def on_own_cores(programs: Sequence[SpreadProgram], names: Sequence[str]) -> SpreadProgram:
    """All programs on as many cores as they have together."""
    cores: list[Program] = []
    turns: list[int] = []
    phases: list[int] = []
    for program, name in zip(programs, names, strict=True):
        last = max(phases, default=-1) + 1
        turns += [len(cores) + core for core in program.turns]
        phases += [last + phase for phase in program.phases]
        for core in program.cores:
            operands = {_own(name, n): replace(one, name=_own(name, n)) for n, one in core.operands.items()}
            sections = tuple(_renamed(section, name) for section in core.sections)
            cores.append(replace(core, operands=operands, sections=sections))
    first = programs[0]
    return replace(
        first,
        operands={},
        sections=(),
        cores=tuple(cores),
        turns=tuple(turns),
        phases=tuple(phases),
        ways=(),
        undivided=frozenset(),
        division=None,
    )


def _own(tenant: str, name: str) -> str:
    return f"{tenant}: {name}"


def _renamed(section: Section, tenant: str) -> Section:
    def own(access: Access) -> Access:
        return replace(access, operand=_own(tenant, access.operand))

    nest = map_accesses(section.nest, own)
    nest = replace(nest, members=tuple(_own(tenant, member) for member in nest.members))
    return replace(section, nest=nest)
