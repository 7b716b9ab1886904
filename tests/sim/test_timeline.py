"""What happens again and again is one span, as long as it does so in one rhythm."""

from __future__ import annotations

from typing import Any

import pytest

from sim.events import timeline
from sim.events.state import EVENTS, LATER, REPEAT
from sim.events.timeline import Spans


def spans(*events: Any, **when: int) -> list[tuple[object, ...]]:
    """Kind, first, duration, period, count, bytes, and for how many each stands."""
    found = Spans("conv", ("dma", "array", "dma 1"), 3)
    found.add(list(events), **when)
    for one in found.spans:
        assert (one.unit, one.label) == (found.units[EVENTS.index(one.kind)], "conv")
        assert one.section == 3
    return [
        (EVENTS.index(s.kind), s.first, s.duration, s.period, s.count, s.bytes, s.stands_for)
        for s in found.spans
    ]


ONE = (1, 5, 10, 64)
OTHER = (0, 7, 2, 8)


def test_one_event_is_one_span() -> None:
    assert spans(ONE) == [(1, 5, 10, 0, 1, 64, 1)]
    assert spans(ONE, shift=100, times=4, period=20) == [(1, 105, 10, 20, 4, 64, 1)]
    assert spans((1, 5, 0, 0)) == []
    assert spans((1, 5, 0, 8), (1, 5, 8, 0)) == [(1, 5, 0, 0, 1, 8, 1), (1, 5, 8, 0, 1, 0, 1)]


def test_events_may_come_later_together() -> None:
    assert spans((LATER, [ONE, OTHER], 30, 0), shift=2) == [(1, 37, 10, 0, 1, 64, 1), (0, 39, 2, 0, 1, 8, 1)]


def test_what_repeats_is_one_span_where_it_keeps_its_rhythm() -> None:
    again = (REPEAT, [ONE], 20, 4)
    assert spans(again, shift=1) == [(1, 6, 10, 20, 4, 64, 1)]
    assert spans(again, times=3, period=80) == [(1, 5, 10, 20, 12, 64, 1)]
    apart = [(1, 5 + 90 * number, 10, 20, 4, 64, 1) for number in range(3)]
    assert spans(again, times=3, period=90) == apart
    assert spans(again, times=2, period=90) == apart[:2]


def test_so_many_spans_are_kept_apart() -> None:
    again = (REPEAT, [ONE], 20, 4)
    assert len(spans(again, times=64, period=90)) == 64
    assert len(spans(again, times=65, period=90)) == 1
    assert len(spans(OTHER, again, times=64, period=90)) == 2


def test_too_many_are_summed_from_the_first_beginning_to_the_last_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    events = (REPEAT, [ONE, (1, 20, 10, 6), OTHER], 40, 4)
    monkeypatch.setattr(timeline, "MOST", 3)
    assert len(spans(events, times=3, period=200)) == 9
    # Four times forty apart, three times 200: the last of the second begins at 20 + 3 * 40 + 2 * 200.
    reach = 2 * 200 + 3 * 40
    expected = {(1, 5, 25 + reach, 0, 1, 70 * 12, 24), (0, 7, 2 + reach, 0, 1, 8 * 12, 12)}
    monkeypatch.setattr(timeline, "MOST", 2)
    assert set(spans(events, times=3, period=200)) == expected
