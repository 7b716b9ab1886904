"""What carries data from one core's scratchpad to another's: a bus, or the links of a mesh."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import isqrt

from sim.cost.ticks import TICKS, ticks_of
from sim.machine.machine import Machine
from sim.machine.parts import Topology

Link = tuple[int, int]
"""From one core to its neighbour; the bus is one from -1 to -1."""
BUS: Link = (-1, -1)


class Network:
    """The links of a machine, each of which carries one transfer after another; times are in ticks."""

    def __init__(self, machine: Machine) -> None:
        assert machine.topology is not None
        self.topology: Topology = machine.topology
        rate = self.topology.bandwidth_bytes_per_second
        self.rate = None if rate is None else rate / machine.clock_hz
        self.picojoules = machine.energy.picojoules_per_network_byte
        """Of a byte on each link."""
        self.cores = machine.cores
        self.columns = self.topology.columns or columns(machine.cores)
        self.free: dict[Link, int] = {}
        """When each link has carried all that was given to it."""
        self.carried: dict[Link, int] = {}
        """Bytes that went over each link."""

    def route(self, source: int, target: int) -> list[Link]:
        """The links from one core to another: along the row first, then along the column.

        Where the last row ends before the column, it is the other way round.
        """
        if self.topology.network == "bus":
            return [BUS]
        (row, column), (last_row, last_column) = divmod(source, self.columns), divmod(target, self.columns)
        along, across = _steps(column, last_column), _steps(row, last_row)
        if row * self.columns + last_column < self.cores:
            places = [(row, one) for one in along] + [(one, last_column) for one in across]
        else:
            places = [(one, column) for one in across] + [(last_row, one) for one in along]
        return list(pairwise((source, *(one * self.columns + other for one, other in places))))

    def tree(self, source: int, targets: Sequence[int]) -> list[Link]:
        """The links over which what a core sends reaches some others, each once."""
        return list(dict.fromkeys(link for target in targets for link in self.route(source, target)))

    def joules(self, source: int, targets: Sequence[int], size: int) -> float:
        """The energy of so many bytes on all links from one core to others."""
        return 1e-12 * self.picojoules * size * len(self.tree(source, targets))

    def carry(self, source: int, targets: Sequence[int], size: int, start: int) -> int:
        """When so many bytes that leave at `start` at the earliest have arrived at all of some cores."""
        links, busy = self.tree(source, targets), ticks_of(size, self.rate)
        for link in links:
            start = max(start, self.free.get(link, 0))
        for link in links:
            self.free[link] = start + busy
            self.carried[link] = self.carried.get(link, 0) + size
        hops = max(len(self.route(source, target)) for target in targets)
        return start + busy + hops * TICKS * self.topology.hop_latency_cycles


def _steps(first: int, last: int) -> range:
    """Where a way leads from one place to another, without the first."""
    return range(first + 1, last + 1) if first < last else range(first - 1, last - 1, -1)


def columns(cores: int) -> int:
    """Of a grid that is as nearly a square as a whole one can be."""
    return cores // max(n for n in range(1, isqrt(cores) + 1) if cores % n == 0)
