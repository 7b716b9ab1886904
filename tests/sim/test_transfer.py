"""Transfers: setup, latency, bursts and bandwidth, and what follows from them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sim.cost.ticks import cycles_in
from sim.cost.transfer import Transfers, transfer_cycles
from sim.machine.machine import Machine
from tests.sim.programs import machine_of, machines

sizes = st.integers(0, 5000)


def machine(rate: float | None = None, **changes: float) -> Machine:
    return machine_of(offchip__bandwidth_bytes_per_second=rate, **changes)


def test_a_memory_without_limits_takes_no_time() -> None:
    assert transfer_cycles(machine(), 10, 1000, write=False) == 0


def test_rows_take_whole_bursts() -> None:
    slow = machine(4e9, offchip__burst_bytes=64)
    assert transfer_cycles(slow, 10, 8, write=False) == 160
    assert transfer_cycles(slow, 1, 80, write=False) == 32


def test_setup_and_latency_come_first() -> None:
    slow = machine(
        1e9, dma__setup_cycles=5, offchip__read_latency_cycles=100, offchip__write_latency_cycles=20
    )
    assert transfer_cycles(slow, 1, 64, write=False) == 5 + 100 + 64
    assert transfer_cycles(slow, 1, 64, write=True) == 5 + 20 + 64


def test_few_requests_at_a_time_do_not_cover_the_latency() -> None:
    slow = machine(
        64e9, offchip__burst_bytes=64, offchip__read_latency_cycles=100, dma__outstanding_requests=2
    )
    assert transfer_cycles(slow, 1, 6400, write=False) == 50 * 100


def test_the_scratchpad_may_be_the_slower_side() -> None:
    assert transfer_cycles(machine(8e9, scratchpad__bytes_per_cycle=2.0), 1, 640, write=False) == 320


def test_ports_without_a_bank_have_nothing_to_do() -> None:
    changes: dict[str, float] = {"scratchpad__bytes_per_cycle": 4.0, "scratchpad__ports": 2}
    assert transfer_cycles(machine(**changes, scratchpad__banks=1), 1, 640, write=False) == 320
    assert transfer_cycles(machine(**changes, scratchpad__banks=2), 1, 640, write=False) == 160


@given(machines(), sizes, sizes, st.booleans(), st.sampled_from([0.5e9, 1e9, 2.5e9, 64e9, None]))
def test_more_bandwidth_never_takes_longer(
    slow: Machine, rows: int, run: int, write: bool, rate: float | None
) -> None:
    had = slow.offchip.bandwidth_bytes_per_second
    if rate is not None and (had is None or rate < had):
        return
    fast = slow.model_copy(
        update={"offchip": slow.offchip.model_copy(update={"bandwidth_bytes_per_second": rate})}
    )
    assert transfer_cycles(fast, rows, run, write) <= transfer_cycles(slow, rows, run, write)


@given(machines(), sizes, sizes, st.booleans())
def test_nothing_is_moved_faster_than_the_memories_can(
    some: Machine, rows: int, run: int, write: bool
) -> None:
    cycles, transfers = transfer_cycles(some, rows, run, write), Transfers(some)
    if rows and run:
        assert cycles >= cycles_in(transfers.port_ticks(rows, run))
        for rate in (some.offchip_bytes_per_cycle, some.scratchpad.bytes_per_cycle):
            assert rate is None or cycles * rate >= rows * run
    else:
        assert cycles == 0


@given(machines(), sizes, sizes)
def test_one_row_is_no_slower_than_the_same_bytes_in_many(some: Machine, rows: int, run: int) -> None:
    assert transfer_cycles(some, 1, rows * run, True) <= transfer_cycles(some, rows, run, True)
