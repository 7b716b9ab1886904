"""Programs that use operands where they are: what planning is without a scratchpad."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tiling.allocate import Lifetime, allocate, centred
from tiling.nest import Nest
from tiling.program import Operand, Program, Section
from tiling.records import replace
from tiling.share import shared_loops, work
from tiling.target import Target

WORTH_THREADS = 8
"""How many tiles of work that can be shared are worth the start of a thread."""

WORTH_BYTES = 1.5
"""How many times as large an arena may be that gives each core the same half of all that share addresses."""


def in_place(nests: Sequence[Nest], operands: Mapping[str, Operand], target: Target) -> Program:
    """The program of a machine whose memory is its scratchpad, in order."""
    used = known_operands(nests, operands)
    sections = []
    for nest in nests:
        loops, shared = shared_loops(nest, target)
        sections.append(Section(nest, loops, (None,) * len(nest.accesses), shared=shared))
    sections = worth_sharing(sections, target)
    several = any(section.shared for section in sections)
    arranged, arena = place(nests, used, target.alignment, several)
    return Program(target, arranged, tuple(sections), arena, 0)


def worth_sharing(sections: list[Section], target: Target) -> list[Section]:
    """The sections, shared among cores only if there is enough to do in all."""
    if sum(work(section.nest) for section in sections if section.shared) < WORTH_THREADS * target.tile_points:
        return [replace(one, shared=False) if one.shared else one for one in sections]
    return sections


def place(
    nests: Sequence[Nest], operands: Mapping[str, Operand], alignment: int, several: bool = False
) -> tuple[dict[str, Operand], int]:
    """Offsets in the arena for off-chip temporaries, by their lifetimes over the nests; and its size.

    Where several cores use it, each finds in its caches what it used of the same addresses before.
    """
    lives: dict[str, Lifetime] = {}
    for step, nest in enumerate(nests):
        for name in nest.operands:
            operand = operands[name]
            if operand.kind == "temporary" and operand.place == "offchip":
                first = lives[name].first if name in lives else step
                lives[name] = Lifetime(operand.bytes, first, step)
    offsets, arena = allocate(lives, alignment)
    if several:
        around, size = centred(lives, alignment)
        if size <= WORTH_BYTES * arena:
            offsets, arena = around, size
    arranged = {
        name: replace(o, offset=offsets[name]) if offsets.get(name, o.offset) != o.offset else o
        for name, o in operands.items()
    }
    return arranged, arena


def known_operands(nests: Sequence[Nest], operands: Mapping[str, Operand]) -> dict[str, Operand]:
    """The operands of the program: those that nests use, and inputs and outputs in any case."""
    used = {name for nest in nests for name in nest.operands}
    return {name: o for name, o in operands.items() if name in used or o.kind in ("input", "output")}
