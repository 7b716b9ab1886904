"""Plans as people give them: values, or paths of their files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tosajit.errors import PlanError

if TYPE_CHECKING:
    from tosajit.plans.plan import Plan


def plan_of(given: Plan | str | Path | None) -> Plan | None:
    """A plan, if one is given; nothing of plans is imported otherwise."""
    if given is None:
        return None
    from tosajit.plans.plan import Plan

    if isinstance(given, str | Path):
        return Plan.load(given)
    if not isinstance(given, Plan):
        raise PlanError(f"plan: expected a tj.Plan or the path of its file, got {type(given).__name__}")
    return given
