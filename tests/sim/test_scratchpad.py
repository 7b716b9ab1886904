"""Ranges of the scratchpad say what a record of every single byte says."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from sim.cost.ticks import TICKS
from sim.events.memory import Scratchpad

BYTES = 12


@dataclass
class Byte:
    """One address: its content, and those before."""

    owner: str = ""
    first: int = 0
    written: int = 0
    used: int = 0
    piece: int = 0
    """Bytes that were written at once and are neighbours still: they are in use together."""

    @property
    def there(self) -> bool:
        """Whether anything has been written here."""
        return self.piece > 0


class Bytes:
    """The scratchpad, one byte at a time."""

    def __init__(self) -> None:
        self.bytes = [Byte() for _ in range(BYTES)]
        self.past: list[tuple[int, int]] = []
        self.pieces = 0

    def write(self, low: int, high: int, owner: str, first: int, time: int) -> None:
        self.pieces += 2
        cut = self.bytes[low - 1].piece if 0 < low < high else 0
        for byte in self.bytes[high:] if cut else ():
            byte.piece = self.pieces if byte.piece == cut else byte.piece
        for place in range(low, high):
            old = self.bytes[place]
            # What is overwritten by its own owner was in use until then, all else until its last use.
            until = first if owner and old.owner == owner else min(old.used, first)
            if old.there and until > old.first:
                self.past.append((old.first, until))
            self.bytes[place] = Byte(owner, first, time, time, self.pieces - 1)

    def read(self, low: int, high: int, time: int) -> None:
        pieces = {byte.piece for byte in self.bytes[low:high] if byte.there}
        for byte in self.bytes:
            byte.used = max(byte.used, time) if byte.piece in pieces else byte.used

    def in_use(self, cycle: int, total: int, lasting: frozenset[str]) -> int:
        now = [
            byte.first <= cycle < (total if byte.owner in lasting else min(byte.used, total))
            for byte in self.bytes
            if byte.there
        ]
        return sum(now) + sum(first <= cycle < end for first, end in self.past)


spans = st.tuples(st.integers(0, BYTES), st.integers(0, BYTES)).map(sorted)
steps = st.lists(
    st.tuples(spans, st.sampled_from(["", "a", "b"]), st.integers(0, 4), st.integers(0, 4), st.booleans()),
    max_size=9,
)


@settings(max_examples=80)
@given(steps, st.integers(0, 30))
def test_ranges_are_what_bytes_are(done: list[tuple[list[int], str, int, int, bool]], total: int) -> None:
    ranges, plain, clock = Scratchpad(), Bytes(), 0
    for (low, high), owner, wait, length, reads in done:
        clock += wait
        if reads:
            ranges.read(low, high, TICKS * clock)
            plain.read(low, high, clock)
        else:
            ranges.write(low, high, owner, TICKS * clock, TICKS * (clock + length))
            plain.write(low, high, owner, clock, clock + length)
        for one, other in ((0, BYTES), (low, high), (high, BYTES), (low, low + 1), (3, 7)):
            if one < other:
                some = [byte for byte in plain.bytes[one:other] if byte.there]
                assert ranges.written(one, other) == TICKS * max((byte.written for byte in some), default=0)
                assert ranges.free(one, other) == TICKS * max((byte.used for byte in some), default=0)
    assert ranges.lows == [one.low for one in ranges.ranges]
    for lasting in (frozenset[str](), frozenset({"a"})):
        points = ranges.occupancy(total, lasting)
        assert points[0][0] == 0
        assert [cycle for cycle, _ in points] == sorted({cycle for cycle, _ in points})
        level = 0
        for cycle in range(max(total, clock) + 6):
            level = dict(points).get(cycle, level)
            assert level == plain.in_use(cycle, total, lasting)
