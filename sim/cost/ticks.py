"""Parts of a cycle, in which all is timed: what memories and channels take rarely ends with a cycle.

Units work for whole cycles, from whenever they have what they need; reports round at the end. Were each
transfer rounded up, or what waits for it, a machine with a faster clock, which has fewer bytes a cycle, would
lose more wherever something waits.
"""

from __future__ import annotations

from math import ceil

TICKS = 16
"""Of a cycle. More are hardly more exact, and repetitions of loops come later."""


def ticks_of(size: int, rate: float | None) -> int:
    """Ticks for so many bytes at so many bytes a cycle; none where that is unlimited."""
    return 0 if rate is None else ceil(TICKS * size / rate)


def cycles_in(ticks: int) -> int:
    """The cycles that have begun."""
    return -(-ticks // TICKS)
