"""Explorations for terminals and notebooks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from html import escape
from itertools import accumulate
from math import isnan
from textwrap import wrap
from typing import TYPE_CHECKING

from sim.explore.wording import heading, percentage, value_text, values_text, with_unit
from sim.report.html import framed, row
from sim.report.words import aligned, percent, short
from tiling.words import plain

if TYPE_CHECKING:
    from sim.explore.explored import Explored, Point

WIDTH = 110
"""Columns that a text may have."""
REASONS = 4
"""Kinds of reasons that are shown."""
FIELDS = 4
"""Fields that are named as those that matter most."""
FRONT = 12
"""Points of the front that are shown."""


def exploration_line(exploration: Explored) -> str:
    """The exploration in a line."""
    count, feasible = len(exploration), int(exploration.feasible.sum())
    parts = [
        f"{count:,} point{'' if count == 1 else 's'} of {plain(exploration.space.base.name)}",
        f"{feasible:,} feasible",
        f"{int(exploration.on_front.sum()):,} on the front",
        *([] if exploration.finished else ["not finished"]),
    ]
    return ", ".join(parts)


def exploration_text(exploration: Explored) -> str:
    """What came of it, and the first points of the front."""
    rows = list(summary(exploration))
    indent = max(len(name) for name, _ in rows) + 2
    lines = [f"{name:<{indent}}{line}" if not number else f"{'':<{indent}}{line}"
             for name, text in rows for number, line in enumerate(wrap(text, WIDTH - indent))]  # fmt: skip
    *heads, body = _front_lines(exploration)
    if body:
        lines += ["", *filter(None, heads), "─" * max(map(len, (*heads, *body))), *body]
        lines += _left_out(exploration, len(body))
    return "\n".join(lines)


def exploration_html(exploration: Explored) -> str:
    """The same as a part of a page."""
    rows = "".join(
        f'<tr><th class="left">{escape(name)}</th><td class="wide">{escape(text)}</td></tr>'
        for name, text in summary(exploration)
    )
    parts = [f"<h3>{escape(exploration_line(exploration))}</h3><table>{rows}</table>"]
    head, *table = front_table(exploration)
    if table:
        made = "".join(row([escape(cell) for cell in cells]) for cells in table)
        parts.append(f"<table>{row([escape(cell) for cell in head], 1, 'th')}{made}</table>")
        parts += [f"<div>{escape(text)}</div>" for text in _left_out(exploration, len(table))]
    return framed(parts)


def summary(exploration: Explored) -> Iterator[tuple[str, str]]:
    """Names and texts of what came of it."""
    yield "space", _space(exploration)
    how = _how(exploration)
    if how:
        yield "explored", how
    count, feasible = len(exploration), int(exploration.feasible.sum())
    state = "" if exploration.finished else "; stopped early"
    yield "points", f"{count:,}: {feasible:,} feasible, {count - feasible:,} not{state}"
    if feasible < count:
        yield "reasons", _reasons(exploration)
    if not feasible:
        return
    yield "front", _front(exploration)
    for objective in exploration.objectives:
        point = exploration.best(objective.name)
        most = "most" if objective.goal == "max" else "least"
        yield f"{most} {plain(objective.name)}", _best(point, objective.name)
    if exploration.confirmed:
        yield "confirmed", _confirmed(exploration)
    for objective in exploration.objectives:
        text = _matters(exploration, objective.name)
        if text:
            yield f"{plain(objective.name)} depends on", text


def front_table(exploration: Explored, most: int = FRONT) -> list[list[str]]:
    """A head, and a row for each different point of the front: spread evenly, if they are many."""
    names = exploration.space.names
    rows = [["point", *(plain(one.name) for one in exploration.objectives), *names]]
    numbers = exploration.distinct_numbers
    count = min(len(numbers), most)
    for place in range(count):
        point = exploration.point(int(numbers[place * (len(numbers) - 1) // max(count - 1, 1)]))
        takes = [with_unit(value, point.units[name]) for name, value in point.objectives.items()]
        rows.append([str(point.number), *takes, *(value_text(name, point.values[name]) for name in names)])
    return rows


def _front_lines(exploration: Explored) -> tuple[str, str, list[str]]:
    """Two lines of heads, and one for each point shown: as many fields as there is room for."""
    head, *rows = front_table(exploration)
    first = len(head) - len(exploration.space.names)
    pairs = [("", name) for name in head[:first]] + [heading(name) for name in head[first:]]
    table = [[part for part, _ in pairs], [name for _, name in pairs], *rows]
    widths = [2 + max(map(len, column)) for column in zip(*table, strict=True)]
    fit = sum(int(end <= WIDTH) for end in accumulate(widths))
    right = [place for place in range(fit) if all(row[place][:1].isdigit() for row in rows)]
    above, below, *body = aligned([row[:fit] for row in table], right)
    return above, below, body


def kinds_of_reasons(reasons: Mapping[str, int]) -> list[str]:
    """Reasons with how many points have them; those that differ in numbers only are one kind."""
    kinds: dict[str, list[tuple[str, int]]] = {}
    for reason, count in reasons.items():
        kinds.setdefault(re.sub(r"\d+(,\d{3})*(\.\d+)?(e[+-]?\d+)?", "#", reason), []).append((reason, count))
    counted = [(sum(count for _, count in one), len(one), one[0][0]) for one in kinds.values()]
    counted.sort(key=lambda one: -one[0])
    return [
        f"{total:,} × {short(reason, 160)}{' and similar' if different > 1 else ''}"
        for total, different, reason in counted
    ]


def _space(exploration: Explored) -> str:
    space = exploration.space
    base = ", ".join(plain(one.name) for one in space.bases)
    size = "infinitely many" if space.size is None else f"{space.size:,}"
    text = f"{base} with {size} choices of {', '.join(space.names)}"
    held = "; ".join(one.text for one in space.constraints)
    return f"{text}; {held}" if held else text


def _how(exploration: Explored) -> str:
    settings = exploration.settings
    words = [f"{name} {settings[name]}" for name in ("strategy", "seed", "mode") if name in settings]
    models = settings.get("models")
    if isinstance(models, Mapping | list | tuple):
        words.append("models " + ", ".join(plain(str(_name(one))) for one in models))
    if exploration.seconds:
        words.append(f"{exploration.seconds:.3g} s")
    return ", ".join(words)


def _name(model: object) -> object:
    return model.get("name", "?") if isinstance(model, Mapping) else model


def _reasons(exploration: Explored) -> str:
    kinds = kinds_of_reasons(exploration.reasons())
    words = kinds[:REASONS]
    words += [f"{len(kinds) - REASONS:,} more reasons"] if len(kinds) > REASONS else []
    return "; ".join(words)


def _front(exploration: Explored) -> str:
    count = len(exploration.front_numbers)
    different = len(exploration.distinct_numbers)
    names = " and ".join(plain(one.name) for one in exploration.objectives)
    text = f"{count:,} Pareto-optimal points in {names}"
    if count == 1:
        text = f"1 point is at least as good as all others in {names}"
    return text + (f", {different:,} of them distinct" if different < count else "")


def _best(point: Point, name: str) -> str:
    text = f"{with_unit(point.objectives[name], point.units[name])} (point {point.number}"
    if point.confirmed is not None and not isnan(point.confirmed[name]):
        text += f"; events: {with_unit(point.confirmed[name], point.units[name])}"
    return f"{text}): {values_text(point.values)}"


def _confirmed(exploration: Explored) -> str:
    count = len(exploration.confirmed)
    words = [f"{count:,} point{'' if count == 1 else 's'} by the event simulator"]
    for one in exploration.differences():
        if not one.worst:
            words.append(f"{plain(one.objective)} is the same")
            continue
        ranks = "" if isnan(one.spearman) else f", Spearman {one.spearman:.3f}"
        words.append(
            f"{plain(one.objective)} differs by {percent(one.median)} in the median, "
            f"{percentage(one.worst)} at worst (point {one.worst_point}){ranks}"
        )
    refused = exploration.refused()
    words += [f"{len(refused):,} infeasible: {short(next(iter(refused.values())), 160)}"] if refused else []
    return "; ".join(words)


def _matters(exploration: Explored, objective: str) -> str:
    """The fields that explain most of an objective's variance."""
    found = [one for one in exploration.sensitivity() if one.objective == objective and one.share >= 0.01]
    found.sort(key=lambda one: -one.share)
    return ", ".join(f"{one.field} {percent(one.share)}" for one in found[:FIELDS])


def _left_out(exploration: Explored, shown: int) -> list[str]:
    left = len(exploration.distinct_numbers) - shown
    return [f"and {left:,} more points of the front, between these"] if left else []
