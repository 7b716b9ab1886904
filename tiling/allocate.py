"""Placing buffers with lifetimes in one address range, so that live ones never overlap."""

from __future__ import annotations

from bisect import insort
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import islice
from operator import add
from typing import NamedTuple, TypeVar

Name = TypeVar("Name", bound=Hashable)

SHORT = 32
"""Steps up to which a lifetime is noted step by step, so that neighbours are found without a search."""


class Lifetime(NamedTuple):
    """A buffer: its size and the first and last step (inclusive) at which it must exist."""

    bytes: int
    first: int
    last: int


Beside = list[list[int] | None]
"""By buffer, which others live at the same time; None for those that live for ever."""


def allocate(
    buffers: Mapping[Name, Lifetime], alignment: int, effort: int = 0, enough: int = 0
) -> tuple[dict[Name, int], int]:
    """An offset for every buffer and the total size; larger buffers choose first, each the tightest gap.

    With `effort`, other orders are tried until the total is `enough`, or the least possible, or so many
    buffers were placed.
    """
    names = list(buffers)
    lives = [Lifetime(-(-b.bytes // alignment) * alignment, b.first, b.last) for b in buffers.values()]
    keys = [str(name) for name in names]
    order = sorted(range(len(lives)), key=lambda i: (-lives[i].bytes, lives[i].first, keys[i]))
    beside = _beside(lives)
    offsets, total = _placed(lives, beside, order)
    bound = max(_peak(lives), enough) if effort else total
    if total > bound:
        tries = effort // len(lives)
        for other in islice(_orders(lives), tries):
            found, size = _placed(lives, beside, other, total - 1)
            if size < total:
                offsets, total, order = found, size, other
            if total <= bound:
                break
        else:
            offsets, total = _climbed(lives, beside, order, offsets, total, bound, tries)
    return dict(zip(names, offsets, strict=True)), total


def centred(buffers: Mapping[Name, Lifetime], alignment: int) -> tuple[dict[Name, int], int]:
    """An offset for every buffer, such that buffers that share addresses have them around the same middle.

    Larger buffers choose first, each the first range of addresses that is free for all of its time.
    """
    ranges: list[tuple[int, list[Name]]] = []
    for name in sorted(buffers, key=lambda name: (-buffers[name].bytes, buffers[name].first, str(name))):
        life = buffers[name]
        steps = (1 << life.last + 1) - (1 << life.first)
        for number, (taken, others) in enumerate(ranges):
            if not taken & steps:
                others.append(name)
                ranges[number] = taken | steps, others
                break
        else:
            ranges.append((steps, [name]))
    offsets: dict[Name, int] = {}
    total = 0
    for _, names in ranges:
        size = -(-buffers[names[0]].bytes // alignment) * alignment
        for name in names:
            offsets[name] = total + (size - buffers[name].bytes) // 2 // alignment * alignment
        total += size
    return offsets, total


def peak(buffers: Mapping[Name, Lifetime]) -> int:
    """The largest sum of sizes that are alive at one step: no allocation can be smaller."""
    return _peak(buffers.values())


def _peak(lives: Iterable[Lifetime]) -> int:
    changes: dict[int, int] = {}
    for life in lives:
        changes[life.first] = changes.get(life.first, 0) + life.bytes
        changes[life.last + 1] = changes.get(life.last + 1, 0) - life.bytes
    most = now = 0
    for step in sorted(changes):
        now += changes[step]
        most = max(most, now)
    return most


def _orders(lives: Sequence[Lifetime]) -> Iterable[list[int]]:
    """Other orders in which buffers may choose: long and large ones first, or as time goes."""
    numbers = range(len(lives))
    spans = [life.last - life.first + 1 for life in lives]
    yield sorted(numbers, key=lambda i: (-lives[i].bytes * spans[i], i))
    yield sorted(numbers, key=lambda i: (-spans[i], -lives[i].bytes, i))
    yield sorted(numbers, key=lambda i: (lives[i].first, -lives[i].bytes, i))
    yield sorted(numbers, key=lambda i: (-lives[i].last, -lives[i].bytes, i))


def _climbed(
    lives: Sequence[Lifetime],
    beside: Beside,
    order: list[int],
    offsets: list[int],
    total: int,
    bound: int,
    tries: int,
) -> tuple[list[int], int]:
    """Let the buffer that ends highest, or one that is in its way, choose earlier, as long as that helps."""
    from random import Random

    random = Random(len(lives))
    sizes, always = [life.bytes for life in lives], [i for i, near in enumerate(beside) if near is None]
    for _ in range(tries):
        ends = list(map(add, offsets, sizes))
        moved = top = ends.index(max(ends))
        if random.random() >= 0.5:
            near = beside[top]
            moved = random.choice(range(len(lives)) if near is None else sorted([*near, top, *always]))
        other = order.copy()
        other.remove(moved)
        other.insert(random.randrange(min(order.index(moved), order.index(top)) + 1), moved)
        found, size = _placed(lives, beside, other, total)
        if size <= total:
            offsets, total, order = found, size, other
        if total <= bound:
            break
    return offsets, total


def _placed(
    lives: Sequence[Lifetime], beside: Beside, order: Sequence[int], most: int | None = None
) -> tuple[list[int], int]:
    """Offsets of buffers that choose in this order; those that live for ever lie below all others.

    If they need more than `most`, some are not placed.
    """
    offsets, floor = [0] * len(lives), 0
    for number in order:
        if beside[number] is None:
            offsets[number], floor = floor, floor + lives[number].bytes
    total, taken = floor, list[tuple[int, int] | None]([None]) * len(lives)
    for number in order:
        near = beside[number]
        if near is None:
            continue
        size, busy = lives[number].bytes, [one for other in near if (one := taken[other]) is not None]
        busy.sort()
        offset = _tightest_gap(busy, size, floor)
        end = offset + size
        offsets[number], taken[number] = offset, (offset, end)
        if end > total:
            total = end
            if most is not None and total > most:
                break
    return offsets, total


def _beside(lives: Sequence[Lifetime]) -> Beside:
    """Which others live at the same time as each buffer; those that live for ever are left out."""
    start = min((life.first for life in lives), default=0)
    end = max((life.last for life in lives), default=0)
    found: Beside = [None if life.first == start and life.last == end else [] for life in lives]
    now: list[tuple[int, int, list[int]]] = []
    for number in sorted(range(len(lives)), key=lambda i: lives[i].first):
        near = found[number]
        if near is None:
            continue
        life = lives[number]
        now = [one for one in now if one[1] >= life.first]
        for other, _, theirs in now:
            near.append(other)
            theirs.append(number)
        now.append((number, life.last, near))
    return found


class Taken:
    """The address ranges taken so far: of short lifetimes by step, of others by blocks of steps."""

    def __init__(self) -> None:
        self.steps: dict[int, list[tuple[int, int]]] = {}
        """In order, as what is in order is soon sorted with others."""
        self.blocks: dict[int, list[tuple[int, int, int, int]]] = {}

    def add(self, life: Lifetime, offset: int) -> None:
        """Note that a buffer is at an offset."""
        end = offset + life.bytes
        if life.last - life.first >= SHORT:
            for block in range(life.first // SHORT, life.last // SHORT + 1):
                self.blocks.setdefault(block, []).append((life.first, life.last, offset, end))
            return
        for step in range(life.first, life.last + 1):
            insort(self.steps.setdefault(step, []), (offset, end))

    def during(self, life: Lifetime) -> list[tuple[int, int]]:
        """The ranges taken at any time of a lifetime, by address; some of them several times."""
        first, last = life.first, life.last
        found: list[tuple[int, int]] = []
        for step in range(first, last + 1):
            found += self.steps.get(step, ())
        for block in range(first // SHORT, last // SHORT + 1):
            taken = self.blocks.get(block, ())
            found += [(lo, hi) for f, e, lo, hi in taken if f <= last and first <= e]
        return sorted(found)

    def placed(self, life: Lifetime, end: int) -> int | None:
        """Put a buffer into the tightest gap below an end, and say where that is; None if there is none."""
        offset = _tightest_gap(self.during(life), life.bytes, 0)
        if offset + life.bytes > end:
            return None
        self.add(life, offset)
        return offset

    def gaps(self, step: int, end: int) -> list[tuple[int, int]]:
        """The free ranges at a step, up to an end."""
        found, free = [], 0
        for lo, hi in self.during(Lifetime(0, step, step)):
            if lo > free:
                found.append((free, lo))
            free = max(free, hi)
        return [*found, (free, end)] if end > free else found


def fill(sizes: Mapping[int, int], gaps: Sequence[tuple[int, int]]) -> dict[int, int] | None:
    """Addresses in gaps for things of these sizes, the largest first; None if one finds no gap."""
    left, found = sorted(gaps), {}
    for name, size in sorted(sizes.items(), key=lambda item: (-item[1], item[0])):
        wide = [(end - first, number) for number, (first, end) in enumerate(left) if end - first >= size]
        if not wide:
            return None
        number = min(wide)[1]
        found[name] = left[number][0]
        left[number] = found[name] + size, left[number][1]
    return found


def _tightest_gap(busy: Sequence[tuple[int, int]], size: int, floor: int) -> int:
    best, best_room, end = -1, 1 << 62, floor
    for lo, hi in busy:
        if lo > end:
            room = lo - end
            if size <= room < best_room:
                best, best_room = end, room
            end = hi
        elif hi > end:
            end = hi
    return end if best < 0 else best
