"""Cascades in a workload: what is left of its tensors where layers run in stripes, by the room there is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sim.analytic.workload import Numbers, Tensors, Workload
from sim.machine.machine import Machine
from tiling import cascade
from tiling.target import Target

ANY: dict[str, Any] = {"name": "", "double_buffering": True}
"""What does not matter to cascades."""
BITS = 3
"""Of a scratchpad's size, its first digits count in base two: 32, 40, 48, 56 and 64 KiB are looked at."""


@dataclass(frozen=True)
class Striped:
    """A workload as it runs in a scratchpad of some size."""

    workload: Workload
    stripes: Numbers
    """How many parts each layer runs in."""
    tensors: Tensors
    """Without those that are never whole."""
    whole: Striped | None = None
    """The same without stripes, where that may be faster."""


def views(workload: Workload, machines: Sequence[Machine]) -> list[tuple[Striped, NDArray[np.intp]]]:
    """The workload as groups of machines run it, with their numbers."""
    groups: dict[Any, list[int]] = {}
    for number, machine in enumerate(machines):
        pad, mode = machine.scratchpad, machine.memory
        key = (
            rounded(pad.bytes),
            pad.alignment_bytes,
            mode.weights,
            mode.activations,
            mode.constants,
            mode.direct,
            mode.kept,
        )
        groups.setdefault((*key, machine.dma.strided, machine.planner.cascading), []).append(number)
    found: dict[int, tuple[Striped, list[int]]] = {}
    for key, numbers in groups.items():
        view = _view(workload, replace(machines[numbers[0]].target, scratch_bytes=key[0], **ANY))
        found.setdefault(id(view), (view, []))[1].extend(numbers)
    return [(view, np.array(sorted(numbers))) for view, numbers in found.values()]


def rounded(size: int) -> int:
    """The nearest size that is looked at."""
    step = 1 << max(size.bit_length() - BITS, 0)
    return (size + step // 2) // step * step


def _view(workload: Workload, target: Target) -> Striped:
    """The view of a target; what runs in the same way is one."""
    found: Striped | None = workload.cache.get(target)
    if found is None:
        made = _striped(workload, target)
        tensors = made.tensors.bytes.tobytes(), target.kept
        same = "view", made.stripes.tobytes(), *tensors, made.whole is None
        found = workload.cache[target] = workload.cache.setdefault(same, made)
    return found


def _striped(workload: Workload, target: Target) -> Striped:
    nests, operands, sure = cascade.weighed(workload.nests, workload.operands, target)
    tensors = workload.tensors
    if not target.kept:
        tensors = replace(tensors, kept=np.zeros_like(tensors.kept))
    if len(nests) == len(workload.nests):
        return Striped(workload, np.ones(len(nests)), tensors)
    places = {nest.members: number for number, nest in enumerate(workload.nests)}
    parts = Counter(places.get(nest.members) for nest in nests if nest.verb != "move")
    stripes = np.array([max(parts.get(number, 1), 1) for number in range(len(workload))], np.float64)
    whole = np.array([name in operands for name in tensors.names], bool)
    return Striped(
        workload,
        stripes,
        replace(tensors, bytes=tensors.bytes * whole, kept=tensors.kept | ~whole),
        None if sure else Striped(workload, np.ones(len(workload)), tensors),
    )
