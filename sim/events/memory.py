"""The scratchpad by addresses: when each range was written and used, and how much is in use over time."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass

from sim.cost.ticks import TICKS


@dataclass(slots=True)
class Range:
    """Addresses with one content: whose it is, since when it is there, when it was written and last used.

    Times are in ticks.
    """

    low: int
    high: int
    owner: str
    first: int
    written: int
    used: int


class Scratchpad:
    """What is where: ranges in order that do not overlap."""

    def __init__(self) -> None:
        self.lows: list[int] = []
        self.ranges: list[Range] = []
        self.past: list[tuple[int, int, int]] = []
        """(from, until, bytes) of contents that have been overwritten."""

    def _span(self, low: int, high: int) -> tuple[int, int]:
        """Numbers of the ranges that overlap some addresses."""
        begin = bisect_right(self.lows, low) - 1
        if begin < 0 or self.ranges[begin].high <= low:
            begin += 1
        return begin, bisect_left(self.lows, high)

    def written(self, low: int, high: int) -> int:
        """When everything at some addresses is written."""
        begin, end = self._span(low, high)
        return max((one.written for one in self.ranges[begin:end]), default=0)

    def free(self, low: int, high: int) -> int:
        """When nothing at some addresses is in use any more."""
        begin, end = self._span(low, high)
        return max((one.used for one in self.ranges[begin:end]), default=0)

    def read(self, low: int, high: int, time: int) -> None:
        """Something at some addresses has been used."""
        begin, end = self._span(low, high)
        for one in self.ranges[begin:end]:
            one.used = max(one.used, time)

    def write(self, low: int, high: int, owner: str, first: int, time: int) -> None:
        """Addresses get a new content, which is there from `first` on and whole at `time`."""
        if low >= high:
            return
        ranges = self.ranges
        begin, end = self._span(low, high)
        for one in ranges[begin:end]:
            until = first if owner and one.owner == owner else min(one.used, first)
            if until > one.first:
                self.past.append((one.first, until, min(one.high, high) - max(one.low, low)))
        if end - begin == 1 and (one := ranges[begin]).low == low and one.high == high:
            one.owner, one.first, one.written, one.used = owner, first, time, time
            return
        new = [Range(low, high, owner, first, time, time)]
        if begin < end:
            left, right = ranges[begin], ranges[end - 1]
            if left.low < low:
                new.insert(0, Range(left.low, low, left.owner, left.first, left.written, left.used))
            if right.high > high:
                new.append(Range(high, right.high, right.owner, right.first, right.written, right.used))
        ranges[begin:end] = new
        self.lows[begin:end] = [one.low for one in new]

    def occupancy(self, total: int, to_the_end: frozenset[str]) -> tuple[tuple[int, int], ...]:
        """From which cycle on how many bytes are in use; the contents of some owners stay until the end.

        That comes after so many cycles in all.
        """
        changes: dict[int, int] = {0: 0}
        last = TICKS * total
        spans = self.past + [
            (one.first, last if one.owner in to_the_end else min(one.used, last), one.high - one.low)
            for one in self.ranges
        ]
        for first, until, size in spans:
            begin, end = first // TICKS, until // TICKS
            if end > begin:
                changes[begin] = changes.get(begin, 0) + size
                changes[end] = changes.get(end, 0) - size
        points: list[tuple[int, int]] = []
        level = 0
        for cycle in sorted(changes):
            if changes[cycle] or not points:
                level += changes[cycle]
                points.append((cycle, level))
        return tuple(points)
