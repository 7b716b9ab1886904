"""What one core can do at most: how its figures are measured, by a clock and kernels that are given."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from tosajit.kernels import peaks
from tosajit.kernels.contract.slots import TileJob
from tosajit.kernels.sets.description import InstructionSet

ENTRY = ctypes.CFUNCTYPE(None, ctypes.c_int64)


@pytest.mark.parametrize("speeds", [[1e-6] * 5, [4e-6, 2e-6, 1e-6, 3e-6, 2e-6], [2e-3] * 5])
def test_the_fastest_round_counts_and_each_takes_a_millisecond(
    speeds: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, rounds, seen = [100.0], iter(speeds), []
    speed = next(rounds)

    def kernel(where: int) -> None:
        nonlocal speed
        repeats, *others = (ctypes.c_int64 * 4).from_address(where)
        seen.append((repeats, others))
        clock[0] += repeats * speed
        if repeats * speed >= peaks.SECONDS:
            speed = next(rounds, 0.0)

    entry = ENTRY(kernel)
    address = ctypes.cast(entry, ctypes.c_void_p).value
    monkeypatch.setattr(peaks, "compile_kernel", lambda source: SimpleNamespace(address=address))
    monkeypatch.setattr(peaks, "perf_counter", lambda: clock[0])
    assert peaks._fastest("source", 7, 8) == pytest.approx(min(speeds))
    assert all(others == [7, 8, 0] for _, others in seen)
    assert seen[0][0] == 1
    assert len(seen) >= peaks.ROUNDS == 5


def test_reading_is_of_words_and_its_speed_of_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[tuple[Any, ...]] = []

    def fastest(*arguments: Any) -> float:
        given.append(arguments)
        return 2.0

    monkeypatch.setattr(peaks, "_fastest", fastest)
    assert peaks._reading(4096) == 2048
    assert given[0][:2] == (peaks.READING, 512)
    assert peaks._reading(100_000) == 50_000


@pytest.fixture
def fresh() -> Iterator[None]:
    """Figures that are measured once are not those of another test."""
    for known in (peaks.core_peaks, peaks._products):
        known.cache_clear()
    yield
    for known in (peaks.core_peaks, peaks._products):
        known.cache_clear()


@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize(("last", "beyond"), [(16 << 20, 64 << 20), (48 << 20, 96 << 20)])
def test_half_of_a_cache_is_read_and_memory_is_more_than_all(
    last: int, beyond: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = {"L1": 32 << 10, "L2": 1 << 20, "L3": last}
    monkeypatch.setattr(peaks, "cache_sizes", lambda: sizes)
    monkeypatch.setattr(peaks, "_reading", float)
    found = peaks.core_peaks()
    assert [(one.name, one.bytes, one.bytes_per_second) for one in found.levels] == [
        *((name, size, size / 2) for name, size in sizes.items()), ("memory", None, float(beyond)),
    ]  # fmt: skip
    for size, name in (
        (1, "L1"),
        (32 << 10, "L1"),
        ((32 << 10) + 1, "L2"),
        (last, "L3"),
        (last + 1, "memory"),
    ):
        assert found.level(size).name == name
    assert peaks.SIZES == {"L1": 32 << 10, "L2": 1 << 20, "L3": 16 << 20}


@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize(
    ("left", "byte_width", "elements"), [("i8", 1, 4), ("i8", 2, 2), ("bf16", 1, 2), ("f32", 1, 1)]
)
def test_products_are_those_of_the_largest_tile(
    left: str, byte_width: int, elements: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    isa = InstructionSet("drawn", 8, (1, 2, 3), 2, (1, 2), (3, 1), 4, (2, 5), byte_width=byte_width)
    jobs: list[dict[Any, int]] = []

    def fastest(source: str, tile: int, job: int) -> float:
        assert (source, tile) == (peaks.REPEATED, 77)
        words = (ctypes.c_int64 * len(TileJob)).from_address(job)
        jobs.append(dict(zip(TileJob, words, strict=True)))
        return 0.5

    monkeypatch.setattr(peaks, "instruction_set", lambda: isa)
    monkeypatch.setattr(peaks, "compile_kernel", lambda source: SimpleNamespace(address=77))
    monkeypatch.setattr(peaks, "tile_source", lambda spec: "tile")
    monkeypatch.setattr(peaks, "_fastest", fastest)
    right = "i8" if left == "i8" else left
    assert peaks._products(left, right) == 3 * 2 * 8 * 64 * elements / 0.5
    (job,) = jobs
    slots = TileJob
    numbers = (slots.A_ROW, slots.SEGMENTS, slots.STEPS, slots.B_PANEL, slots.HEIGHT, slots.PANELS)
    assert [job[slot] for slot in numbers] == [64 * 4, 1, 64, 64 * 32, 3, 2]
    addresses = [job[slot] for slot in (slots.A, slots.B, slots.INITIAL, slots.WORDS)]
    assert len({*addresses}) == 4
    assert all(address > 0 for address in addresses)
    assert peaks._products("f8e4m3", "f8e4m3") is None
