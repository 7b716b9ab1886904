"""Placing buffers with lifetimes in one address range, so that live ones never overlap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Lifetime:
    """A buffer: its size and the first and last step (inclusive) at which it must exist."""

    bytes: int
    first: int
    last: int


def allocate(buffers: Mapping[str, Lifetime], alignment: int) -> tuple[dict[str, int], int]:
    """An offset for every buffer and the total size; larger buffers choose first, each the tightest gap."""
    placed: list[tuple[int, int, Lifetime]] = []
    offsets: dict[str, int] = {}
    order = sorted(buffers.items(), key=lambda item: (-item[1].bytes, item[1].first, item[0]))
    for name, life in order:
        size = -(-life.bytes // alignment) * alignment
        busy = sorted(
            (lo, hi) for lo, hi, other in placed if other.first <= life.last and life.first <= other.last
        )
        offsets[name] = offset = _tightest_gap(busy, size)
        placed.append((offset, offset + size, life))
    return offsets, max((hi for _, hi, _ in placed), default=0)


def _tightest_gap(busy: Sequence[tuple[int, int]], size: int) -> int:
    best, best_room, end = -1, -1, 0
    for lo, hi in busy:
        room = lo - end
        if room >= size and (best < 0 or room < best_room):
            best, best_room = end, room
        end = max(end, hi)
    return end if best < 0 else best


def peak(buffers: Mapping[str, Lifetime]) -> int:
    """The largest sum of sizes that are alive at one step: no allocation can be smaller."""
    steps = sorted({life.first for life in buffers.values()})
    lives = buffers.values()
    return max((sum(b.bytes for b in lives if b.first <= step <= b.last) for step in steps), default=0)
