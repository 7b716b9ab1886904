"""Many machines as arrays of their figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sim.cost.arrays import ClosedForm, costs_of
from sim.cost.pages import streamed_rate
from sim.cost.prices import Prices
from sim.cost.transfer import far_rate
from sim.machine.machine import Machine

Numbers = NDArray[np.float64]
Flags = NDArray[np.bool_]
FIELDS = (
    "clock", "cores", "rate", "read_latency", "write_latency", "burst", "bytes", "inside", "port",
    "pad_latency", "setup", "outstanding", "channels", "weights_in", "values_in", "constants_in", "direct",
    "double", "far", "lookups", "stages", "vector_fill", "reduction_fill", "strided", "gathered", "launch",
    "streams_filters", "mac_energy", "operation_energy", "pad_energy", "offchip_energy", "leakage",
    "cycle_price", "offchip_price", "pad_price", "keeps_windows", "skips", "pays_latencies", "filled",
    "weights_alone", "skips_zeros",
)  # fmt: skip


@dataclass(frozen=True)
class Fleet:
    """Machines, and a column of numbers for each figure; what is unlimited is infinite."""

    machines: tuple[Machine, ...]
    figures: Numbers

    @staticmethod
    def of(machines: Sequence[Machine]) -> Fleet:
        """The figures of machines."""
        return Fleet(tuple(machines), np.array([_figures(one) for one in machines], np.float64))

    def some(self, numbers: NDArray[np.intp]) -> Fleet:
        """A few of the machines."""
        return Fleet(tuple(self.machines[number] for number in numbers), self.figures[numbers])

    @cached_property
    def closed(self) -> Flags:
        """Which machines have a closed form for all their units."""
        return np.array([one.array is None or closed_form(one) is not None for one in self.machines], bool)

    @cached_property
    def arrays(self) -> list[tuple[ClosedForm[Any], NDArray[np.intp], Numbers]]:
        """Closed forms of arrays, with the machines that have such an array and the figures of these."""
        found: dict[ClosedForm[Any], tuple[list[int], list[tuple[float, ...]]]] = {}
        for number, machine in enumerate(self.machines):
            form = closed_form(machine)
            if form is not None:
                numbers, rows = found.setdefault(form, ([], []))
                numbers.append(number)
                rows.append(form.figures(machine.array))
        return [
            (form, np.array(numbers, np.intp), np.array(rows, np.float64))
            for form, (numbers, rows) in found.items()
        ]

    def __getitem__(self, name: str) -> Numbers:
        """A figure of all machines, one below the other."""
        return self.figures[:, FIELDS.index(name), None]

    def flag(self, name: str) -> Flags:
        """A figure that is true or false."""
        return self[name] > 0


def closed_form(machine: Machine) -> ClosedForm[Any] | None:
    """The closed form of a machine's array, if it has both."""
    found = None if machine.array is None else costs_of(machine.array)
    return found if isinstance(found, ClosedForm) else None


def _figures(machine: Machine) -> tuple[float, ...]:
    far, pad, dma = machine.offchip, machine.scratchpad, machine.dma
    memory, energy, array, infinite = machine.memory, machine.energy, machine.array, float("inf")
    streamed, width, rate = streamed_rate(machine), pad.bytes_per_cycle, far_rate(machine)
    missed = 0 if far.pages is None else far.pages.miss_cycles
    form, prices = closed_form(machine), Prices.of(machine)
    return (
        machine.clock_hz,
        machine.cores,
        infinite if streamed is None else streamed,
        far.read_latency_cycles + missed,
        far.write_latency_cycles + missed,
        far.burst_bytes,
        pad.bytes,
        infinite if width is None else width * min(pad.banks, pad.ports) / pad.ports,
        infinite if width is None else width / pad.ports,
        pad.read_latency_cycles,
        dma.setup_cycles,
        dma.outstanding_requests,
        dma.channels,
        memory.weights == "scratchpad",
        memory.activations == "scratchpad",
        memory.constants == "scratchpad",
        memory.direct,
        machine.planner.double_buffering,
        infinite if rate is None else rate,
        machine.vector.table_lookups_per_cycle,
        machine.vector.stages,
        machine.vector.fill_cycles,
        machine.reduction.fill_cycles,
        dma.strided,
        dma.gathered,
        machine.launch_overhead_cycles,
        form is not None and form.streams_filters(array),
        energy.picojoules_per_mac,
        energy.picojoules_per_operation,
        energy.picojoules_per_scratchpad_byte,
        energy.picojoules_per_offchip_byte,
        energy.leakage_watts,
        prices.cycle,
        prices.offchip_byte,
        prices.scratchpad_byte,
        machine.reduction.windows == "once",
        array is not None and array.skips_pruned,
        array is not None and array.pays_latencies,
        array is None or array.takes_filling,
        memory.copied == "weights",
        array is not None and array.skips_zeros,
    )
