"""What a plan says of parts that a graph does not have."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from tiling.words import listed, plain
from tosajit.errors import PlanError

if TYPE_CHECKING:
    from tosajit.plans.plan import Plan


def check_parts(plan: Plan, names: Iterable[str]) -> None:
    """Raise `PlanError` for parts that are not among the names of a graph's parts."""
    known = list(names)
    faults = [
        f"parts.{plain(name)}: the graph has no part of this name; there are {listed(known) or 'none'}"
        for name in plan.parts
        if name not in known
    ]
    if faults:
        raise PlanError(faults)
