"""Looking at what each stage has made: with `TOSAJIT_VERIFY=1`, and in all tests."""

from __future__ import annotations

import os
from collections import Counter
from typing import TypeVar

from tiling.nest import Nest
from tosajit.compiler.segment import Groups, Planned, Segment

Made = TypeVar("Made")
SHOWN = 20
"""Faults that a message lists."""
PACKING = "packing"
"""Units whose nests say only what they take and whom they fill: packed forms have no indices."""


class VerifyError(AssertionError):
    """A stage has made something that is not well-formed: a fault of this package, not of a graph."""


def verify(value: object) -> list[str]:
    """The faults of what a stage has made; of what is no nests, groups or program, none."""
    from tiling.verify import verify_nests
    from tiling.verify_program import verify_program

    match value:
        case Segment():
            return verify_nests(value.nests, Groups(value, value.nests).operands)
        case Groups():
            return verify_nests(value.nests, value.operands, _opaque(value), value.buffers)
        case Planned():
            return verify_program(value.program, _opaque(value.groups), _buffers(value))
    return []


def _buffers(planned: Planned) -> set[str]:
    """Operands that are written again: buffers, those of the program alone, and what cores write over."""
    from tiling.spread import SpreadProgram

    found = {*planned.groups.buffers, *planned.program.operands.keys() - planned.groups.operands.keys()}
    if isinstance(planned.program, SpreadProgram):
        nests = planned.groups.nests
        writers = Counter(write.access.operand for nest in nests for write in nest.writes)
        found |= {name for name, count in writers.items() if count > 1}
    return found


def verified(stage: str, value: Made) -> Made:
    """What a stage has made; VerifyError if it has faults and the environment asks to look."""
    if os.environ.get("TOSAJIT_VERIFY", "") in ("", "0"):
        return value
    faults = verify(value)
    if faults:
        more = [f"and {len(faults) - SHOWN} more"] if len(faults) > SHOWN else []
        raise VerifyError(
            "\n  ".join([f"{stage} made a result that is not well-formed:", *faults[:SHOWN], *more])
        )
    return value


def _opaque(groups: Groups) -> frozenset[Nest]:
    return frozenset(nest for nest, unit in groups.units.items() if unit.name == PACKING)
