"""Timelines that fit on a page: where there are too many spans, those of a section become one a unit."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

from sim.report.values import Span

Key = Callable[[Span], Hashable]


def folded(timeline: Sequence[Span], limit: int) -> list[Span]:
    """At most so many spans, if there are no more operators: the largest groups are summed up."""
    spans = list(timeline)
    for key in (_of_section, _of_operator):
        if len(spans) > limit:
            spans = _folded(spans, key, limit)
    return sorted(spans, key=lambda span: (span.first, -span.end))


def _of_section(span: Span) -> Hashable:
    return span.section, span.label, span.unit, span.kind


def _of_operator(span: Span) -> Hashable:
    return span.label, span.unit, span.kind


def _folded(spans: Sequence[Span], key: Key, limit: int) -> list[Span]:
    groups: dict[Hashable, list[Span]] = {}
    for span in spans:
        groups.setdefault(key(span), []).append(span)
    most = _most([len(group) for group in groups.values()], limit)
    kept: list[Span] = []
    for group in groups.values():
        kept += group if len(group) <= most else [_sum(group)]
    return kept


def _most(sizes: Sequence[int], limit: int) -> int:
    """Groups up to this size are kept: as many spans as are allowed when each larger one takes one."""
    total, left = 0, len(sizes)
    for size in sorted(sizes):
        left -= 1
        if total + size + left > limit:
            return size - 1
        total += size
    return limit


def _sum(group: Sequence[Span]) -> Span:
    """One span for all that some spans do, from the first beginning to the last end."""
    first, end = min(span.first for span in group), max(span.end for span in group)
    one = group[0]
    return Span(
        one.unit,
        one.label,
        one.kind,
        first,
        end - first,
        bytes=sum(span.bytes * span.count for span in group),
        section=one.section,
        stands_for=sum(span.count * span.stands_for for span in group),
    )
