"""What the DMA takes for a transfer between the off-chip memory and the scratchpad.

A transfer is `rows` runs of contiguous bytes. The memory answers in bursts; a row takes whole ones. The
first answer comes after the latency; so many requests may be under way at a time, and where that is not
enough to cover the latency, they come in waves of one latency each.
"""

from __future__ import annotations

from fractions import Fraction

from sim.cost.arrays import costs_of
from sim.cost.pages import opened, port_ticks, streamed_rate
from sim.cost.sites import Stream
from sim.cost.ticks import TICKS, cycles_in, ticks_of
from sim.machine.machine import Machine


class Transfers:
    """The DMA of a machine, its figures looked up once."""

    __slots__ = ("burst", "inside", "outstanding", "pages", "rate", "read_latency", "setup", "write_latency")

    def __init__(self, machine: Machine) -> None:
        self.setup, self.outstanding = machine.dma.setup_cycles, machine.dma.outstanding_requests
        self.burst, self.rate = machine.offchip.burst_bytes, machine.offchip_bytes_per_cycle
        self.pages = machine.offchip.pages
        missed = 0 if self.pages is None else self.pages.miss_cycles
        self.read_latency = machine.offchip.read_latency_cycles + missed
        self.write_latency = machine.offchip.write_latency_cycles + missed
        self.inside = scratchpad_rate(machine)

    def ticks(self, rows: int, run_bytes: int, write: bool, span: int | None = None) -> int:
        """How long a channel is busy with the transfer when it has the memories to itself.

        `span` is how many bytes there are from the first to the last of the runs, if that is known.
        """
        if not rows or not run_bytes:
            return 0
        latency = self.write_latency if write else self.read_latency
        waves = -(-rows * -(-run_bytes // self.burst) // self.outstanding)
        data = max(self.port_ticks(rows, run_bytes, span), ticks_of(rows * run_bytes, self.inside))
        return TICKS * self.setup + max(TICKS * latency + data, TICKS * latency * waves)

    def port_ticks(self, rows: int, run_bytes: int, span: int | None = None) -> int:
        """How much of the off-chip memory's time it takes."""
        size = rows * -(-run_bytes // self.burst) * self.burst
        if self.pages is None:
            return ticks_of(size, self.rate)
        data = Fraction(0) if self.rate is None else size / Fraction(self.rate)
        return port_ticks(self.pages, data, self.opened(rows, run_bytes, span))

    def opened(self, rows: int, run_bytes: int, span: int | None = None) -> int:
        """How many pages of the off-chip memory it opens, if that has any."""
        return 0 if self.pages is None else opened(self.pages, rows, run_bytes, span)


def transfer_cycles(machine: Machine, rows: int, run_bytes: int, write: bool) -> int:
    """Time of one transfer of `rows` runs of `run_bytes` contiguous bytes."""
    return cycles_in(Transfers(machine).ticks(rows, run_bytes, write))


def scratchpad_rate(machine: Machine) -> float | None:
    """Bytes a cycle of the scratchpad: ports that find no bank of their own have nothing to do."""
    pad = machine.scratchpad
    return (
        None if pad.bytes_per_cycle is None else pad.bytes_per_cycle * min(pad.banks, pad.ports) / pad.ports
    )


def far_rate(machine: Machine, stream: Stream = "weights") -> float | None:
    """Bytes a cycle of the off-chip memory that one stream can have: what is under way limits it.

    An array may have channels of its own.
    """
    array, far, rate = machine.array, machine.offchip, streamed_rate(machine)
    own = None if array is None else costs_of(array).bytes_under_way(array, machine, stream)
    writes = stream == "results" and own is not None
    latency = far.write_latency_cycles if writes else far.read_latency_cycles
    if not latency:
        return rate
    by_dma = machine.dma.outstanding_requests * machine.offchip.burst_bytes
    limit = (by_dma if own is None else own) / latency
    return limit if rate is None else min(rate, limit)


def port_rate(machine: Machine) -> float | None:
    """Bytes a cycle of the scratchpad that one stream of data can have.

    It has a port to itself; with enough requests in flight it uses others as well. Of the requests and of the
    time, four fifths each are taken to be of use (Vela 5.2.0, `ethos_u85_performance.cpp`).
    """
    pad = machine.scratchpad
    if pad.bytes_per_cycle is None:
        return None
    alone = pad.bytes_per_cycle / pad.ports
    if pad.outstanding_reads is None or not pad.read_latency_cycles:
        return alone
    under_way = pad.outstanding_reads * pad.ports * pad.burst_bytes
    return min(pad.bytes_per_cycle, max(alone, 0.64 * under_way / pad.read_latency_cycles))
