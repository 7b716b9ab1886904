"""DRAM with pages and refresh: transfers held against a memory that is stepped burst by burst."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sim
import tosajit as tj
from sim.cost.pages import opened, streamed_rate
from sim.cost.ticks import TICKS
from sim.cost.transfer import Transfers

PAGES = {
    "bytes": 2048,
    "banks": 8,
    "miss_cycles": 28,
    "refresh_interval_cycles": 7800,
    "refresh_cycles": 350,
}


def machine(pages: Any = PAGES, base: str = "systolic-16", **changes: Any) -> sim.Machine:
    return sim.machine(base).replace({"offchip.pages": pages, **changes})


@dataclass
class Stepped:
    """A memory whose banks take turns to open pages; bytes leave one after another."""

    page: int
    banks: int
    miss: int
    cycles_a_byte: int
    interval: int
    refresh: int

    def run(self, address: int, rows: int, run: int, stride: int) -> tuple[int, int]:
        """When the last byte is there, and how many pages were opened; the memory knows what comes."""
        pages: list[list[int]] = []
        for row in range(rows):
            for byte in range(address + row * stride, address + row * stride + run):
                if not pages or pages[-1][0] != byte // self.page:
                    pages.append([byte // self.page, 0])
                pages[-1][1] += 1
        free = [0] * self.banks
        now = 0
        for number, (_, size) in enumerate(pages):
            bank = number % self.banks
            now = max(now, free[bank] + self.miss)
            for _ in range(size * self.cycles_a_byte):
                while self.interval and now % self.interval < self.refresh:
                    now += 1
                now += 1
            free[bank] = now
        return now, len(pages)


@settings(max_examples=300)
@given(st.data())
def test_the_closed_form_bounds_a_memory_that_is_stepped(data: st.DataObject) -> None:
    page, banks = data.draw(st.sampled_from((16, 64, 256))), data.draw(st.integers(1, 8))
    miss, slow = data.draw(st.integers(0, 60)), data.draw(st.sampled_from((1, 2)))
    interval, refresh = data.draw(st.sampled_from(((0, 0), (200, 20), (500, 90))))
    rows, run = data.draw(st.integers(1, 12)), data.draw(st.integers(1, 300))
    stride = run + data.draw(st.integers(0, 400))
    address = data.draw(st.integers(0, 4 * page))
    one = machine(
        {
            "bytes": page,
            "banks": banks,
            "miss_cycles": miss,
            "refresh_interval_cycles": interval or None,
            "refresh_cycles": refresh,
        },
        **{  # type: ignore[arg-type]
            "offchip.bandwidth_bytes_per_second": 1e9 / slow,
            "offchip.burst_bytes": 1,
            "offchip.read_latency_cycles": 0,
        },
    )
    took, count = Stepped(page, banks, miss, slow, interval, refresh).run(address, rows, run, stride)
    transfers, span = Transfers(one), (rows - 1) * stride + run
    assert one.offchip.pages is not None
    most = opened(one.offchip.pages, rows, run, span)
    assert count <= most
    # Between pins and banks, a path may change over once in each turn of the banks.
    slack = (banks - 1) * min(page, run) * slow + refresh
    available = 1 if not interval else interval / (interval - refresh)
    assert took <= transfers.port_ticks(rows, run, span) / TICKS + available * (miss + slack) + refresh
    # No memory is faster than its pins and its banks, with the pages that it has really opened.
    data_cycles = rows * run * slow
    assert took >= max(data_cycles, (count * miss + data_cycles) / banks)


def test_pages_of_a_transfer_are_those_of_its_runs_or_of_all_between() -> None:
    pages = sim.Pages(bytes=1024)
    assert opened(pages, 1, 1) == 1
    assert opened(pages, 1, 1024) == 2
    assert opened(pages, 1, 1025) == 2
    assert opened(pages, 1, 1026) == 3
    assert opened(pages, 10, 64) == 20
    assert opened(pages, 10, 64, span=9 * 128 + 64) == 3
    assert opened(pages, 10, 64, span=9 * 4096 + 64) == 20
    assert opened(pages, 0, 64) == 0


def test_without_misses_and_refresh_pages_change_nothing() -> None:
    plain = tj.simulate(tj.samples.path("ds_cnn"), "systolic-16")
    paged = tj.simulate(tj.samples.path("ds_cnn"), machine({"bytes": 2048, "banks": 8}))
    assert paged.cycles == plain.cycles
    assert paged.traffic == plain.traffic
    assert sum(one.detail["pages_opened"] for one in paged.operators) > 0


def test_long_streams_have_what_pins_banks_and_refresh_leave() -> None:
    assert streamed_rate(machine()) == pytest.approx(8 * (1 - 350 / 7800))
    one_bank = machine({**PAGES, "banks": 1, "refresh_interval_cycles": None, "refresh_cycles": 0})
    assert streamed_rate(one_bank) == pytest.approx(2048 / (2048 / 8 + 28))
    size = 1 << 22
    assert Transfers(machine()).port_ticks(1, size) / TICKS == pytest.approx(
        size / (streamed_rate(machine()) or 0), rel=0.01
    )


@pytest.mark.parametrize("mode", ["events", "analytic"])
@pytest.mark.parametrize("name", ["ds_cnn", "transformer_tiny"])
def test_what_a_dram_takes_more_is_seen(name: str, mode: Any) -> None:
    """Slower pages, fewer banks and longer refreshes never make a network faster."""
    path = tj.samples.path(name)
    cycles = [
        tj.simulate(path, machine({**PAGES, **changes}), mode=mode).cycles
        for changes in (
            {"miss_cycles": 0, "refresh_cycles": 0},
            {},
            {"miss_cycles": 400},
            {"miss_cycles": 400, "banks": 1},
        )
    ]
    assert cycles[0] <= 1.005 * cycles[1]
    assert cycles[1] <= 1.005 * cycles[2]
    assert cycles[2] <= 1.005 * cycles[3]
    assert cycles[0] < cycles[3]


def test_explorations_vary_pages() -> None:
    space = tj.Space(machine(), {"offchip.pages.miss_cycles": [0, 400], "offchip.pages.banks": [1, 8]})
    found = tj.explore(tj.samples.path("ds_cnn"), space, workers=0)
    assert found.best("latency").values["offchip.pages.miss_cycles"] == 0


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"offchip.pages.bytes": 1000}, "offchip.pages.bytes: 1000 is not a power of two"),
        ({"offchip.pages.refresh_cycles": 7800}, "leaves no time for data"),
        ({"offchip.pages.banks": 0}, "offchip.pages.banks: 0 is not a count"),
        ({"offchip": {"kind": "sram", "pages": PAGES}}, "offchip.pages: sram has no pages to open"),
    ],
)
def test_impossible_pages_say_what_is_wrong(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(sim.MachineError) as caught:
        machine().replace(changes)
    assert said in str(caught.value)


def test_pages_keep_their_time_at_another_clock() -> None:
    points = {"energy.volts": 0.8, "dvfs": [{"name": "half", "clock_hz": 5e8, "volts": 0.6}]}
    pages = machine().replace(points).at("half").offchip.pages
    assert pages is not None
    assert (pages.miss_cycles, pages.refresh_interval_cycles, pages.refresh_cycles) == (14, 3900, 175)
