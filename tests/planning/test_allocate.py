"""The allocator: no overlaps, not far from the least that is possible, and fast for many buffers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations, permutations
from random import Random
from time import perf_counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiling.allocate import Lifetime, Taken, allocate, centred, fill, peak

lifetimes = st.tuples(st.integers(1, 50), st.integers(0, 99), st.integers(0, 99)).map(
    lambda t: Lifetime(t[0], min(t[1:]), max(t[1:]))
)


def together(one: Lifetime, other: Lifetime) -> bool:
    return one.first <= other.last and other.first <= one.last


def check(buffers: dict[int, Lifetime], offsets: dict[int, int], total: int, alignment: int) -> None:
    assert total >= peak(buffers)
    for name, life in buffers.items():
        assert offsets[name] % alignment == 0
        assert 0 <= offsets[name] <= total - life.bytes
    for (a, one), (b, other) in combinations(buffers.items(), 2):
        if together(one, other):
            assert offsets[a] + one.bytes <= offsets[b] or offsets[b] + other.bytes <= offsets[a]


@given(st.lists(lifetimes, max_size=30), st.sampled_from([1, 16]), st.sampled_from([0, 500]))
def test_buffers_that_live_at_once_never_overlap(lives: list[Lifetime], alignment: int, effort: int) -> None:
    buffers = dict(enumerate(lives))
    check(buffers, *allocate(buffers, alignment, effort), alignment)


@given(st.lists(lifetimes, max_size=30), st.sampled_from([1, 16]))
def test_buffers_of_one_range_have_the_same_middle(lives: list[Lifetime], alignment: int) -> None:
    buffers = dict(enumerate(lives))
    offsets, total = centred(buffers, alignment)
    check(buffers, offsets, total, alignment)
    middles = {name: offsets[name] + life.bytes / 2 for name, life in buffers.items()}
    for (a, one), (b, other) in combinations(buffers.items(), 2):
        if offsets[a] < offsets[b] + other.bytes and offsets[b] < offsets[a] + one.bytes:
            assert abs(middles[a] - middles[b]) <= 1.5 * alignment


def test_a_chain_takes_two_ranges() -> None:
    chain = {step: Lifetime(size, step, step + 1) for step, size in enumerate((64, 256, 128, 32))}
    assert centred(chain, 16) == ({0: 256 + 32, 1: 0, 2: 256, 3: 112}, 256 + 128)


def least(lives: list[Lifetime]) -> int:
    """The best total of all orders in which buffers take the lowest place."""
    best = sum(life.bytes for life in lives)
    for order in permutations(lives):
        placed: list[tuple[int, Lifetime]] = []
        for life in order:
            ends = sorted((at, at + other.bytes) for at, other in placed if together(life, other))
            offset = 0
            for first, end in ends:
                if first - offset >= life.bytes:
                    break
                offset = max(offset, end)
            placed.append((offset, life))
        best = min(best, max(at + life.bytes for at, life in placed))
    return best


short = st.tuples(st.integers(1, 9), st.integers(0, 5), st.integers(0, 5)).map(
    lambda t: Lifetime(t[0], min(t[1:]), max(t[1:]))
)


@given(st.lists(short, min_size=1, max_size=6))
def test_a_search_finds_what_the_best_order_gives(lives: list[Lifetime]) -> None:
    _, total = allocate(dict(enumerate(lives)), 1, 4000)
    assert total == least(lives)


def layers(count: int) -> dict[int, Lifetime]:
    """Tensors as networks have them: most go to the next step, a few further."""
    random = Random(count)
    spans = [random.choice([1, 1, 1, 2, 3, 8, 40]) for _ in range(count)]
    return {n: Lifetime(random.randrange(1, 9) * 1000, n, n + span) for n, span in enumerate(spans)}


@pytest.mark.parametrize("count", [50, 400])
def test_networks_take_little_more_than_their_peak(count: int) -> None:
    buffers = layers(count)
    _, total = allocate(buffers, 1, 20_000)
    assert total <= 1.06 * peak(buffers)


def test_ten_thousand_buffers_take_seconds() -> None:
    buffers = layers(10_000)
    start = perf_counter()
    offsets, total = allocate(buffers, 16)
    assert perf_counter() - start < 5
    assert total <= 1.5 * peak(buffers)
    assert len(offsets) == len(buffers)


@given(st.lists(lifetimes, max_size=12), st.integers(0, 99))
def test_gaps_are_what_nobody_has(lives: list[Lifetime], step: int) -> None:
    buffers = dict(enumerate(lives))
    offsets, total = allocate(buffers, 1)
    taken = Taken()
    for name, life in buffers.items():
        taken.add(life, offsets[name])
    free = {byte for first, end in taken.gaps(step, total) for byte in range(first, end)}
    alive = [(offsets[n], life) for n, life in buffers.items() if life.first <= step <= life.last]
    assert free == set(range(total)) - {b for at, life in alive for b in range(at, at + life.bytes)}


def test_things_go_into_the_tightest_gaps() -> None:
    assert fill({0: 5, 1: 3}, [(0, 4), (10, 20), (30, 36)]) == {0: 30, 1: 0}
    assert fill({0: 5, 1: 5}, [(0, 9)]) is None


def test_searches_give_the_places_that_they_gave(golden: Callable[[str, str], None]) -> None:
    golden("allocations", "\n".join(placed()))


def placed() -> Iterator[str]:
    """For buffers of many kinds: totals of searches of several lengths, and where the longest puts them."""
    for count in (1, 5, 12, 25, 60):
        for span in (1, 9, 50):
            random = Random(100 * count + span)
            lives = {}
            for number in range(count):
                first = random.randrange(count)
                lives[number] = Lifetime(random.randrange(1, 1000), first, first + random.randrange(span))
            efforts = (0, count, 4 * count, 30 * count)
            totals = [allocate(lives, 4, effort)[1] for effort in efforts]
            enough = allocate(lives, 4, 30 * count, totals[0] - 1)[1]
            offsets, _ = allocate(lives, 4, 30 * count)
            places = " ".join(str(offsets[number]) for number in sorted(offsets))
            yield f"{count} of {span} steps, peak {peak(lives)}: {totals}, {enough}; {places}"
