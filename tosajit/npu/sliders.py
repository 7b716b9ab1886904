"""Estimates of a graph on machines around one, for the sliders of a page: in closed form, for all at once."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import isfinite
from typing import TYPE_CHECKING, Any

from sim.report.words import scaled, size
from tosajit.compiler.segment import Groups

if TYPE_CHECKING:
    from sim import Machine

FACTORS = (0.25, 0.5, 1, 2, 4)
"""Of bandwidth, clock and scratchpad."""


@dataclass(frozen=True)
class Slider:
    """A slider: for each of its positions the fields that differ, and what is shown."""

    name: str
    changes: tuple[Mapping[str, Any], ...]
    texts: tuple[str, ...]
    base: int
    """The position of the machine itself."""


def grid(machine: Machine, groups: Sequence[Groups]) -> dict[str, object]:
    """Sliders, and the cycles for each of their positions; None where there is no room."""
    axes = list(sliders(machine))
    machines = [_changed(machine, changes) for changes in product(*(axis.changes for axis in axes))]
    cycles = _estimates(groups, [one for one in machines if one is not None])
    found = [None if one is None else next(cycles) for one in machines]
    names = [axis.name for axis in axes]
    clock = names.index("clock")
    return {
        "axes": [{"name": axis.name, "texts": axis.texts, "base": axis.base} for axis in axes],
        "clock": clock,
        "clocks": [changes["clock_hz"] for changes in axes[clock].changes],
        "cycles": found,
    }


def sliders(machine: Machine) -> Iterator[Slider]:
    """What can be varied of a machine."""
    bandwidth = machine.offchip.bandwidth_bytes_per_second
    if bandwidth is not None:
        yield _scaled("bandwidth", "offchip.bandwidth_bytes_per_second", bandwidth, "B/s")
    yield _scaled("clock", "clock_hz", machine.clock_hz, "Hz")
    if machine.array is not None:
        sizes, own = machine.array.sizes(), machine.array
        changes = [{f"array.{name}": value for name, value in one.items()} for one in sizes]
        made = [_changed(machine, (one,)) for one in changes]
        known = [(one, other) for one, other in zip(changes, made, strict=True) if other is not None]
        texts = tuple(f"{other.macs_per_cycle:,} MACs" for _, other in known)
        base = next(place for place, (_, other) in enumerate(known) if other.array == own)
        yield Slider("array", tuple(one for one, _ in known), texts, base)
    pad = machine.scratchpad.bytes
    sizes_of = [int(pad * factor) for factor in FACTORS]
    changed = tuple({"scratchpad.bytes": one} for one in sizes_of)
    yield Slider("scratchpad", changed, tuple(map(size, sizes_of)), FACTORS.index(1))


def _scaled(name: str, field: str, value: float, unit: str) -> Slider:
    values = [value * factor for factor in FACTORS]
    texts = tuple(scaled(one, unit) for one in values)
    return Slider(name, tuple({field: one} for one in values), texts, FACTORS.index(1))


def _changed(machine: Machine, changes: Sequence[Mapping[str, Any]]) -> Machine | None:
    """The machine with other values in some fields, if there can be one."""
    from sim import MachineError

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what one field alone cannot reach
        try:
            return machine.replace({name: value for one in changes for name, value in one.items()})
        except MachineError:
            return None


def _estimates(groups: Sequence[Groups], machines: Sequence[Machine]) -> Iterator[int | None]:
    """Cycles on each machine, all parts together."""
    from sim.analytic import Workload, evaluate

    parts = [evaluate(Workload.of(one.nests, one.operands), machines).cycles for one in groups]
    for number in range(len(machines)):
        total = sum(float(cycles[number]) for cycles in parts)
        yield round(total) if isfinite(total) else None
