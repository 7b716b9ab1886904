"""Lists of events made shorter: what happens again and again at equal distances, said once."""

from __future__ import annotations

from typing import Any

from sim.events.state import EVENTS, REPEAT

Events = list[Any]


def folded(events: Events) -> Events:
    """The same events, those of a kind that repeat evenly as a repetition."""
    found: Events = []
    for kind in range(len(EVENTS)):
        run: Events = []
        for event in (one for one in events if one[0] == kind):
            if run and not _goes_on(run, event):
                found += _written(run)
                run = []
            run.append(event)
        found += _written(run)
    return found


def _goes_on(run: Events, event: Any) -> bool:
    """Whether an event is like those of a run, and as far from the last as these are from each other."""
    return event[2:] == run[-1][2:] and (len(run) == 1 or event[1] - run[-1][1] == run[1][1] - run[0][1])


def _written(run: Events) -> Events:
    return run if len(run) < 3 else [(REPEAT, run[:1], run[1][1] - run[0][1], len(run))]
