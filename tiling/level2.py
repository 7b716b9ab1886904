"""Level 2: which of the tensors that are not in the scratchpad live in the memory behind it, and where.

Temporaries come first, as each of their bytes comes and goes while others have the room before and after;
then constants, which stay: those that are used most and, of these, the smallest ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tiling.allocate import Lifetime, Taken
from tiling.nest import Nest
from tiling.program import Operand
from tiling.records import replace
from tiling.target import Target


@dataclass(slots=True)
class _Use:
    """When a tensor is used, and how often."""

    first: int
    last: int
    count: int = 0


def settled(nests: Sequence[Nest], operands: Mapping[str, Operand], target: Target) -> dict[str, Operand]:
    """The operands, those in level 2 for which there is room; the others that were there are off-chip."""
    found, taken = dict(operands), Taken()
    if not target.level2_bytes:
        return found
    for name, life in _candidates(nests, operands, target):
        offset = taken.placed(life._replace(bytes=_aligned(life.bytes, target)), target.level2_bytes)
        if offset is None:
            found[name] = replace(operands[name], place="offchip", offset=0)
        else:
            found[name] = replace(operands[name], place="level2", offset=offset)
    return found


def used_bytes(operands: Iterable[Operand], target: Target) -> int:
    """How much of level 2 they need."""
    ends = (one.offset + _aligned(one.stored(one.bytes), target) for one in operands if one.place == "level2")
    return max(ends, default=0)


def _candidates(
    nests: Sequence[Nest], operands: Mapping[str, Operand], target: Target
) -> Iterator[tuple[str, Lifetime]]:
    """The tensors that may live there, in the order of their choice, with lifetimes over the nests."""
    holds, end = target.level2_holds, max(len(nests) - 1, 0)
    uses: dict[str, _Use] = {}
    for step, nest in enumerate(nests):
        for name in nest.operands:
            operand = operands[name]
            if operand.place != "scratchpad" and not operand.remote:
                use = uses.setdefault(name, _Use(step, step))
                use.last, use.count = step, use.count + 1
    if holds != "constants":
        values = [(name, use) for name, use in uses.items() if operands[name].kind == "temporary"]
        for name, use in sorted(values, key=lambda one: _merit(operands[one[0]], one[1])):
            yield name, Lifetime(operands[name].bytes, use.first, use.last)
    if holds != "values":
        stay = [(name, use.count) for name, use in uses.items() if operands[name].kind == "constant"]
        sizes = {name: operands[name].stored(operands[name].bytes) for name, _ in stay}
        for name, _ in sorted(stay, key=lambda one: (-one[1], sizes[one[0]])):
            yield name, Lifetime(sizes[name], 0, end)


def _merit(operand: Operand, use: _Use) -> tuple[float, int]:
    """Traffic for each byte and step, the most first; then the smallest."""
    return -use.count / (use.last - use.first + 1), operand.bytes


def _aligned(size: int, target: Target) -> int:
    return -(-size // target.alignment) * target.alignment
