"""What has happened, as spans: repetitions stay folded where a span can say so."""

from __future__ import annotations

from typing import Any

from sim.events.state import EVENTS, LATER, REPEAT
from sim.report.values import Span

MOST = 64
"""Spans of one section; of more, repetitions of repetitions become one span for all that they take."""


class Spans:
    """Collects the spans of one section."""

    def __init__(self, label: str, units: tuple[str, str, str], section: int) -> None:
        self.label, self.units, self.section = label, units, section
        self.spans: list[Span] = []

    def add(self, events: list[Any], shift: int = 0, times: int = 1, period: int = 0) -> None:
        """Events that happen so much later than they say, and so often."""
        for kind, first, duration, size in events:
            if kind >= 0:
                if duration or size:
                    what = (self.units[kind], self.label, EVENTS[kind])
                    self.spans.append(Span(*what, first + shift, duration, period, times, size, self.section))
            elif kind == LATER:
                self.add(first, shift + duration, times, period)
            else:
                self._repeated((kind, first, duration, size), shift, times, period)

    def _repeated(self, event: tuple[int, list[Any], int, int], shift: int, times: int, period: int) -> None:
        assert event[0] == REPEAT
        _, events, inner, count = event
        if times == 1:
            self.add(events, shift, count, inner)
        elif inner * count == period:
            self.add(events, shift, count * times, inner)
        elif len(self.spans) + times <= MOST:
            for number in range(times):
                self.add(events, shift + number * period, count, inner)
        else:
            self._summed(events, shift, (times - 1) * period + (count - 1) * inner, count * times)

    def _summed(self, events: list[Any], shift: int, reach: int, times: int) -> None:
        """One span a kind for what repeats in more than one way: from its first beginning to its last end."""
        inside = Spans(self.label, self.units, self.section)
        inside.add(events, shift)
        for kind, unit in zip(EVENTS, self.units, strict=True):
            spans = [span for span in inside.spans if span.kind == kind]
            if spans:
                first, end = min(span.first for span in spans), max(span.end for span in spans)
                size = sum(span.bytes * span.count for span in spans) * times
                count = sum(span.count * span.stands_for for span in spans) * times
                what, where = (unit, self.label, kind), (first, end + reach - first)
                self.spans.append(Span(*what, *where, 0, 1, size, self.section, count))
