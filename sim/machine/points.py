"""Operating points: a clock, and the supply that it needs.

A machine's figures are stated for its own clock and, of energies, for `energy.volts`. At another point the
energies on the chip go with the square of the supply, leakage with the supply itself unless the point says
what it is. What lies outside, the network between cores too, has a time and a supply of its own, so that its
cycles follow the clock.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from math import ceil
from typing import Any, Protocol

from sim.machine.parts import Energy, Level2, OffChip, OperatingPoint, Pages, Topology

ON_CHIP = ("mac", "operation", "element_byte", "array_byte", "scratchpad_byte")
"""What takes its energy from the supply that changes."""


class Stated(Protocol):
    """What points look at of a machine."""

    @property
    def clock_hz(self) -> float: ...  # noqa: D102
    @property
    def offchip(self) -> OffChip: ...  # noqa: D102
    @property
    def level2(self) -> Level2 | None: ...  # noqa: D102
    @property
    def topology(self) -> Topology | None: ...  # noqa: D102
    @property
    def launch_overhead_cycles(self) -> int: ...  # noqa: D102
    @property
    def energy(self) -> Energy: ...  # noqa: D102
    @property
    def dvfs(self) -> tuple[OperatingPoint, ...]: ...  # noqa: D102
    @property
    def operating_point(self) -> str | None: ...  # noqa: D102


def point_of(machine: Stated) -> OperatingPoint | None:
    """The point that a machine works at, if it names one that there is."""
    return next((one for one in machine.dvfs if one.name == machine.operating_point), None)


def at_point(machine: Stated, point: OperatingPoint) -> Mapping[str, Any]:
    """The fields of a machine that are others at a point; all are as before if it is there already."""
    energy, far, faster = (
        machine.energy,
        machine.offchip,
        Fraction(point.clock_hz) / Fraction(machine.clock_hz),
    )
    supply = 1.0 if energy.volts is None else point.volts / energy.volts
    changed: dict[str, float] = {
        name: getattr(energy, name) * supply**2 for name in (f"picojoules_per_{one}" for one in ON_CHIP)
    }
    leakage = point.leakage_watts
    changed["leakage_watts"] = energy.leakage_watts * supply if leakage is None else leakage
    changes: dict[str, Any] = {**_latencies_at(far, faster), "pages": _pages_at(far.pages, faster)}
    network, level2 = machine.topology, machine.level2
    if level2 is not None:
        level2 = level2.model_copy(update=_latencies_at(level2, faster))
    if network is not None:
        network = network.model_copy(update={"hop_latency_cycles": ceil(network.hop_latency_cycles * faster)})
    return {
        "clock_hz": point.clock_hz,
        "offchip": far.model_copy(update=changes),
        "level2": level2,
        "energy": energy.model_copy(update={**changed, "volts": point.volts}),
        "topology": network,
        "launch_overhead_cycles": ceil(machine.launch_overhead_cycles * faster),
    }


def _latencies_at(memory: OffChip | Level2, faster: Fraction) -> dict[str, int]:
    names = ("read_latency_cycles", "write_latency_cycles")
    return {name: ceil(getattr(memory, name) * faster) for name in names}


def _pages_at(pages: Pages | None, faster: Fraction) -> Pages | None:
    if pages is None:
        return None
    interval = pages.refresh_interval_cycles
    return pages.model_copy(
        update={
            "miss_cycles": ceil(pages.miss_cycles * faster),
            "refresh_cycles": ceil(pages.refresh_cycles * faster),
            "refresh_interval_cycles": None if interval is None else max(1, int(interval * faster)),
        }
    )


def point_rules(machine: Stated) -> Iterator[tuple[bool, str, str]]:
    """What points ask of a machine."""
    names = [one.name for one in machine.dvfs]
    twice = sorted({name for name in names if names.count(name) > 1})
    yield bool(twice), "dvfs", f"several points are called {', '.join(twice)}; give each a name of its own"
    yield (
        bool(names) and machine.energy.volts is None,
        "energy.volts",
        "with points in dvfs, energies need the supply that they are stated for; e.g. 0.8",
    )
    wanted = machine.operating_point
    there = f"there are {', '.join(names)}" if names else "dvfs lists none"
    yield (
        wanted is not None and wanted not in names,
        "operating_point",
        f"no point is called {wanted!r}; {there}",
    )
