"""Weights that several groups read, as the steps of a recurrent network do: copied to the scratchpad once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from tiling.cascade_stripes import copied
from tiling.choose import weights_of
from tiling.nest import Access, Nest, map_accesses
from tiling.program import Operand
from tiling.records import replace
from tiling.target import Target

PART = 2
"""A part of so many of the scratchpad is for copies, the rest for tensors and tiles."""


def held(
    nests: Sequence[Nest], operands: Mapping[str, Operand], target: Target, first: bool = False
) -> tuple[tuple[Nest, ...], dict[str, Access]]:
    """The nests, which read copies of weights that several of them share; and the copies.

    Each is made beside the work of the contraction in front of the first nest that reads it; or all of them
    `first`, so that no table has to wait for one.
    """
    found: dict[str, list[int]] = {}
    if target.scratch_bytes is None or target.weights != "offchip" or not target.kept_weights:
        return tuple(nests), {}
    for step, nest in enumerate(nests):
        for number in weights_of(nest, operands):
            found.setdefault(nest.reads[number].operand, []).append(step)
    left, chosen = target.scratch_bytes // PART, dict[str, tuple[str, list[int]]]()
    shared = [(name, steps) for name, steps in found.items() if len(steps) > 1]
    for name, steps in sorted(shared, key=lambda one: -len(one[1])):
        if operands[name].bytes <= left:
            left -= operands[name].bytes
            chosen[f"{name} held for {nests[steps[0]].members[0]}"] = name, steps
    if not chosen:
        return tuple(nests), {}
    made, copies = list[Nest](), dict[str, Access]()
    due: dict[int, list[str]] = {}
    for copy, (_, steps) in chosen.items():
        due.setdefault(0 if first else _beside(nests, steps[0]), []).append(copy)
    for step, nest in enumerate(nests):
        for copy in due.get(step, ()):
            made.append(copied(operands[chosen[copy][0]], copy, (chosen[copy][0],)))
            copies[copy] = made[-1].writes[0].access
        own = {name: copy for copy, (name, steps) in chosen.items() if step in steps}
        made.append(map_accesses(nest, partial(_instead, own)) if own else nest)
    return tuple(made), copies


def _beside(nests: Sequence[Nest], reader: int) -> int:
    """The step behind the last contraction in front of a reader, beside whose work a copy is made."""
    return next((step + 1 for step in reversed(range(reader)) if nests[step].verb == "contract"), 0)


def _instead(copies: Mapping[str, str], access: Access) -> Access:
    """An access to a copy of what it reads, if there is one."""
    copy = copies.get(access.operand)
    return access if copy is None else replace(access, operand=copy)


def copies_of(nests: Sequence[Nest], copies: Mapping[str, Access]) -> dict[str, str]:
    """What each of these is a copy of, as the nests say that make them."""
    found = [nest for nest in nests if nest.writes[0].access.operand in copies]
    return {nest.writes[0].access.operand: nest.reads[0].operand for nest in found}
