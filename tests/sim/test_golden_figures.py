"""Figures of machines stay what their sources say, and bounds of figures where they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import sim
from sim.cost.ethos.parts import part
from sim.explore.fields import Fields
from sim.machine.errors import MachineError
from sim.machine.paths import leaves

Golden = Callable[[str, str], None]


def figures(machine: sim.Machine) -> dict[str, Any]:
    """Values by path, without the words."""
    return {path: value for path, value, _ in leaves(machine) if path not in ("name", "description")}


def test_machines_have_the_figures_that_they_had(golden: Golden) -> None:
    lines = []
    for name in sim.machines():
        usual = figures(sim.machine(name))
        lines += [
            f"{name}: {sim.machine(name).description}",
            *(f"  {path} {value}" for path, value in usual.items()),
        ]
        for full in sim.configurations(name):
            other = figures(sim.machine(full))
            lines.append(
                f"  {full}: { ({path: value for path, value in other.items() if usual.get(path) != value}) }"
            )
    golden("machine_figures", "\n".join(lines))


def test_parts_of_vela_have_the_figures_that_they_had(golden: Golden) -> None:
    sizes = [("u55", macs, 1) for macs in (32, 33, 64, 128, 256, 300)] + [("u65", 256, 1), ("u65", 256, 2)]
    sizes += [("u85", macs, cores) for macs in (128, 129, 256, 512, 1024, 2048, 4096) for cores in (1, 2)]
    golden("machine_parts", "\n".join(f"{size}: {part(*size)}" for size in sizes))


def accepted(fields: Fields, path: str, value: object) -> bool:
    """Whether a field may have a value."""
    try:
        fields.checked(path, value)
    except MachineError:
        return False
    return True


def last(fields: Fields, path: str, good: int, bad: int) -> int:
    """The value next to one that is refused, between one that is accepted and one that is not."""
    while abs(good - bad) > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if accepted(fields, path, middle) else (good, middle)
    return good


def bounds(machine: sim.Machine) -> Iterator[str]:
    """The least and the largest whole number of each field, and what else it may be."""
    fields = Fields([machine], {})
    for path, value, _ in leaves(machine):
        if isinstance(value, bool) or not isinstance(value, int | float):
            continue
        least, most = (last(fields, path, max(1, int(value)), end) for end in (-(1 << 20), 1 << 70))
        others = [one for one in (None, True, "1", 0.0, 0.5, 1e-9, 2.5) if accepted(fields, path, one)]
        yield f"{path}: {least} to {most}, {others}"


@pytest.mark.parametrize("name", ["tiny", "eyeriss-v1", "ethos-u55-128", "ethos-u85-512"])
def test_bounds_of_figures_are_where_they_were(name: str, golden: Golden) -> None:
    golden(f"machine_bounds_{name}", "\n".join(bounds(sim.machine(name))))
