"""Whether this machine has the memory that a program asks for."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import cache

from tiling.program import Operand, Program
from tosajit.errors import PlanError
from tosajit.kernels.runnable import Slot


def check_memory(program: Program) -> None:
    """Raise if what a run allocates is more than there is: intermediate results, and the outputs."""
    outputs = [operand for operand in program.operands.values() if operand.kind == "output"]
    demand, bound = program.arena_bytes + sum(operand.bytes for operand in outputs), machine_bytes()
    if bound is not None and demand > bound:
        raise too_large(program.operands.values(), program.arena_bytes, demand, bound)


def too_large(
    operands: Iterable[Operand | Slot], arena_bytes: int, demand: int | None = None, bound: int | None = None
) -> PlanError:
    """Why a run has no memory; without numbers, because the system gives no more at the moment."""
    from tiling.planner import Infeasible

    made = [operand for operand in operands if operand.kind in ("output", "temporary")]
    largest = max(made, key=lambda operand: operand.bytes, default=None)
    names = () if largest is None else (largest.name,)
    if demand is None or bound is None:
        text = f"{', '.join(names)}: the system has no memory left for the {arena_bytes} bytes"
        return PlanError(f"{text} of intermediate results and for the outputs; smaller tensors would help")
    remedy = "use smaller tensors, or a machine with more memory"
    return PlanError(str(Infeasible(names, "memory", demand, bound, remedy)))


@cache
def machine_bytes() -> int | None:
    """The memory of this machine; None if the system does not tell."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None
