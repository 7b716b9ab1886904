"""Explorations as pages to look around in."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any

from sim.report.page.document import document
from sim.report.values import ReportError

SCRIPTS = ("points", "scatter", "parallel", "heatmap", "findings", "exploration")
COLUMNS = ("number", "reason", "front", "confirmed")
"""What points have besides fields and objectives."""


def exploration_page(data: Mapping[str, Any]) -> str:
    """A page of an exploration.

    The data are plain: `title`, `fields` (their names), `objectives` (`name`, `unit`, `goal`), `points` (a
    column for each of `number`, the fields, the objectives, `reason` and `front`; `confirmed` has columns of
    some objectives), `sensitivity` (`field`, `objective`, `value`), `summary` (pairs), `base`, `best`.
    """
    _check(data)
    points = data["points"]
    total = len(points["number"])
    feasible = sum(not reason for reason in points["reason"])
    subtitle = f"{total:,} machines, {feasible:,} feasible, {sum(map(bool, points['front'])):,} on the front"
    if data.get("base"):
        subtitle += f"; variations of {data['base']}"
    finite = _finite(dict(data))
    assert isinstance(finite, dict)
    return document(str(data["title"]), subtitle, finite, SCRIPTS)


def _check(data: Mapping[str, Any]) -> None:
    """All columns are there and of one length."""
    points = data["points"]
    named = [*data["fields"], *(objective["name"] for objective in data["objectives"])]
    expected = len(points["number"])
    for name in ("reason", "front", *named):
        found = len(points[name]) if name in points else None
        if found != expected:
            what = "is missing" if found is None else f"has {found} values"
            raise ReportError(f"{name}: the column {what}, but there are {expected} points")
    for name, column in points.get("confirmed", {}).items():
        if len(column) != expected:
            raise ReportError(f"confirmed {name}: {len(column)} values, but there are {expected} points")
    clash = sorted(set(named) & set(COLUMNS) | {name for name in named if named.count(name) > 1})
    if clash:
        raise ReportError(f"{', '.join(clash)}: reserved, and cannot name a field or an objective")


def _finite(value: object) -> object:
    """Numbers that JSON knows, of seven digits; what is not finite becomes nothing."""
    if isinstance(value, float):
        return float(f"{value:.7g}") if isfinite(value) else None
    if isinstance(value, str | int | None):
        return value
    if isinstance(value, Mapping):
        return {str(key): _finite(item) for key, item in value.items()}
    if hasattr(value, "tolist"):
        return _finite(value.tolist())
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return str(value)
