"""The scratchpad by addresses: when each range was written and used, and how much is in use over time."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass


@dataclass(slots=True)
class Range:
    """Addresses with one content: who it belongs to, since when it is there, when it was written and used."""

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
        return max((max(one.written, one.used) for one in self.ranges[begin:end]), default=0)

    def read(self, low: int, high: int, time: int) -> None:
        """Something at some addresses has been used."""
        begin, end = self._span(low, high)
        for one in self.ranges[begin:end]:
            one.used = max(one.used, time)

    def write(self, low: int, high: int, owner: str, first: int, time: int) -> None:
        """Addresses get a new content, which is there from `first` on and whole at `time`."""
        if low >= high:
            return
        begin, end = self._span(low, high)
        if end - begin == 1 and (one := self.ranges[begin]).low == low and one.high == high:
            self._leave(one, low, high, owner, first)
            one.owner, one.first, one.written, one.used = owner, first, time, time
            return
        kept: list[Range] = []
        for one in self.ranges[begin:end]:
            self._leave(one, max(one.low, low), min(one.high, high), owner, first)
            if one.low < low:
                kept.append(Range(one.low, low, one.owner, one.first, one.written, one.used))
            if one.high > high:
                kept.append(Range(high, one.high, one.owner, one.first, one.written, one.used))
        kept.append(Range(low, high, owner, first, time, time))
        kept.sort(key=lambda one: one.low)
        self.ranges[begin:end] = kept
        self.lows[begin:end] = [one.low for one in kept]

    def _leave(self, one: Range, low: int, high: int, owner: str, time: int) -> None:
        until = time if owner and one.owner == owner else min(one.used, time)
        if until > one.first:
            self.past.append((one.first, until, high - low))

    def occupancy(self, total: int, to_the_end: frozenset[str]) -> tuple[tuple[int, int], ...]:
        """From which cycle on how many bytes are in use; the contents of some owners stay until the end."""
        changes: dict[int, int] = {0: 0}
        spans = self.past + [
            (one.first, total if one.owner in to_the_end else min(one.used, total), one.high - one.low)
            for one in self.ranges
        ]
        for begin, end, size in spans:
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
