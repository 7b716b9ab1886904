"""Whether a machine has room for a workload, and why what it cannot do is infeasible, in a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sim.analytic.workload import Workload
from sim.cost.costs import Costs, datapath_of
from sim.cost.datapath import Datapath
from sim.cost.support import UnsupportedError
from sim.machine.machine import Machine
from tiling.choose import least_room
from tiling.making import aligned
from tiling.nest import Nest
from tiling.program import box_bytes
from tiling.target import Target

OTHERS = 4
"""Boxes of a number each that an operator has beside its largest box."""
ENOUGH = 1 << 62
"""Bytes of a scratchpad in which everything has room."""


def roomy(workload: Workload, machines: Sequence[Machine]) -> NDArray[np.bool_]:
    """Whether some tile of every layer fits the scratchpad of each machine."""
    return np.array([_has_room(workload, machine) for machine in machines], bool)


def reasons(workload: Workload, machines: Sequence[Machine], feasible: NDArray[np.bool_]) -> tuple[str, ...]:
    """Why each machine cannot do the workload; empty where it can."""
    return tuple(
        "" if can else _reason(workload, machine) for machine, can in zip(machines, feasible, strict=True)
    )


def _has_room(workload: Workload, machine: Machine) -> bool:
    size = machine.scratchpad.bytes
    return machine.memory.direct or size >= _most(workload, machine) or size >= _least(workload, machine)[0]


def _most(workload: Workload, machine: Machine) -> int:
    """Bytes that are enough in any case."""
    key = "room", machine.scratchpad.alignment_bytes, machine.dma.strided
    found: int | None = workload.cache.get(key)
    if found is None:
        found = workload.cache[key] = _demand(workload, machine, ENOUGH)[0]
    return found


def _least(workload: Workload, machine: Machine) -> tuple[int, int]:
    """The least bytes with which all layers fit, and the layer that needs them."""
    pad = machine.scratchpad
    key = "room", pad.alignment_bytes, machine.dma.strided, pad.bytes
    found: tuple[int, int] | None = workload.cache.get(key)
    if found is None:
        found = workload.cache[key] = _demand(workload, machine, pad.bytes)
    return found


def _demand(workload: Workload, machine: Machine, size: int) -> tuple[int, int]:
    """The same, if tables have boxes that are small for so many bytes."""
    alignment, strided = machine.scratchpad.alignment_bytes, machine.dma.strided
    target = Target("", scratch_bytes=size, alignment=alignment, strided=strided)
    demands = [_needed(nest, target) for nest in workload.nests]
    most = max(demands, default=0)
    return most, demands.index(most) if demands else -1


def _needed(nest: Nest, target: Target) -> int:
    """Bytes that a layer needs: where it does not fit as a whole, its operators run by themselves."""
    boxes = [box_bytes(access, (1,) * len(nest.axes)) for access in nest.accesses if not access.indirect]
    alone = aligned(max(boxes, default=0), target) + OTHERS * target.alignment
    return min(least_room(nest, target), alone)


def _reason(workload: Workload, machine: Machine) -> str:
    if not _has_room(workload, machine):
        demand, layer = _least(workload, machine)
        who = " + ".join(workload.nests[layer].members) or "a layer"
        return (
            f"scratchpad: {who} needs at least {demand:,} bytes, but it has {machine.scratchpad.bytes:,}; "
            "give it more scratchpad.bytes, or let units access memory with memory.direct"
        )
    path = datapath_of(machine, "the machine")
    key: Any = "types", path
    if key not in workload.cache:
        workload.cache[key] = _unsupported(workload, path)
    found: str = workload.cache[key]
    return found


def _unsupported(workload: Workload, path: Datapath) -> str:
    """What types the machine lacks."""
    costs = Costs(path)
    for nest in workload.nests:
        try:
            costs.work(nest, nest.extents)
        except UnsupportedError as error:
            return f"types: {error}"
    return "types: no unit of the machine supports one of the layers; give it rates or lanes for its types"
