"""Planning: tile, loops and buffers for every nest, and a place for every operand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from math import inf
from operator import attrgetter, le

from tiling import cascade
from tiling.addresses import AHEAD, FAR_AHEAD, Ahead
from tiling.choose import Estimate, least_room
from tiling.in_place import in_place, known_operands
from tiling.nest import Nest
from tiling.planner import Infeasible, Judge, Known, Planner, Timed, ready
from tiling.program import Operand, Program
from tiling.records import replace
from tiling.target import Target

SMALLER, LEAST_SIZE = 56, 256
"""Smaller scratchpads that are looked at, for so many groups in all, and the least one."""
FEW = 48
"""So few groups are planned in more ways: without stripes that move much less, and to leave transfers time,
as what moves less, or is estimated to be faster, may take longer."""
SHORT = 24
"""The best program of so few groups is tried with sections of the others."""
DOUBT = 1.1
"""Programs are about as good whose estimates are so much apart."""
GIVEN = 0.005
"""So much may be given for a program that moves less."""


def plan(
    nests: Sequence[Nest],
    operands: Mapping[str, Operand],
    target: Target,
    estimate: Estimate | None = None,
    judge: Judge | None = None,
    known: Known | None = None,
    ahead: Ahead | None = None,
) -> Program | Infeasible:
    """The program that runs the nests in order on the target, or why there is none.

    With an `estimate` of how long a section takes, each group gets the tile and the buffers that it likes
    best; without one, those that move the fewest bytes. Of programs that are about as good, a `judge` of
    whole ones has the last word. What other plans for the target with the estimate found may be `known`.
    Constants that shall come `ahead` of their group do so if there is room, and spare its time. Few groups
    that do about as well without level 2 are planned without it, too: both memories work beside each other.
    """
    if target.scratch_bytes is None:
        return in_place(nests, operands, target)
    known = known or Known()
    found = _best(_looked_at(nests, operands, target, estimate, known, ahead), judge)
    if judge is None or isinstance(found, Infeasible) or not found.level2_bytes or len(nests) > FEW:
        return found
    cost, direct = judge(found), _without_level2(found)
    if judge(direct)[0] > DOUBT * cost[0]:
        return found
    other = _best(_looked_at(nests, operands, direct.target, estimate, known, ahead), judge)
    if isinstance(other, Infeasible):
        return found
    return (found, replace(other, target=target))[preferred([cost, judge(other)])]


def _without_level2(program: Program) -> Program:
    """A program that finds off-chip what it had in level 2."""
    operands = {
        name: replace(one, place="offchip", offset=0) if one.place == "level2" else one
        for name, one in program.operands.items()
    }
    target = replace(program.target, level2_bytes=0)
    return replace(program, target=target, operands=operands, level2_bytes=0)


def _looked_at(
    nests: Sequence[Nest],
    operands: Mapping[str, Operand],
    target: Target,
    estimate: Estimate | None,
    known: Known,
    ahead: Ahead | None,
) -> list[Timed]:
    """Programs that may be best, with their times as estimated."""
    striped, buffers, surely = cascade.weighed(nests, operands, target)
    if len(striped) == len(nests) or target.cores > 1:
        return _planned(nests, operands, target, estimate, known, ahead)
    found = _planned(striped, buffers, target, estimate, known)
    if not surely or len(nests) <= FEW:
        whole = _planned(nests, operands, target, estimate, known)
        # Stripes that do not pay may be too high for the array, which likes some extents less than others.
        if estimate is not None and _least(whole) <= _least(found):
            found += _in_other_stripes(nests, operands, target, estimate, known, len(striped))
        found = [*whole, *found]
    return found


def _in_other_stripes(
    nests: Sequence[Nest],
    operands: Mapping[str, Operand],
    target: Target,
    estimate: Estimate,
    known: Known,
    sections: int,
) -> list[Timed]:
    """Programs in the stripes of half the scratchpad, unless these make as many sections as before."""
    half = replace(target, scratch_bytes=(target.scratch_bytes or 0) // 2)
    striped, buffers, _ = cascade.weighed(nests, operands, half)
    return [] if len(striped) == sections else _planned(striped, buffers, target, estimate, known)


def _least(found: Sequence[Timed]) -> float:
    """The time of the fastest of some programs, as estimated."""
    return min(one.time for one in found)


def _best(found: Sequence[Timed], judge: Judge | None) -> Program | Infeasible:
    """The best of some programs, each with its time as estimated."""
    first = min(found, key=attrgetter("time"))
    if judge is None or isinstance(first.program, Infeasible):
        return first.program
    near = [one for one in found if one.time <= DOUBT * first.time and isinstance(one.program, Program)]
    ways = [_roomy(one, judge(one.program), judge) for one in near if isinstance(one.program, Program)]
    costs = [cost for _, cost in ways]
    one, cost = ways[preferred(costs)]
    planner = one.planner
    if planner is None:
        return one.program
    if len(planner.nests) <= SHORT:
        one, cost = _crossed(one, cost, sorted(found, key=attrgetter("time")), planner, judge)
        costs.append(cost)
    bound = (1 + GIVEN) * min(cost for cost, _ in costs)
    spared, less = planner.sparer(one, cost, bound, GIVEN * cost[0], judge)
    if spared is not one:
        spared, less = _roomy(spared, less, judge)
    return _lean(spared, less, judge)


def _crossed(
    one: Timed, cost: tuple[float, float], others: Sequence[Timed], planner: Planner, judge: Judge
) -> tuple[Timed, tuple[float, float]]:
    """A program with its cost, or with sections of others where that makes it better."""
    found, less = one, cost
    for other in others:
        found, less = planner.crossed(found, less, other, judge)
    return ((one, cost), (found, less))[preferred([cost, less])]


def _roomy(one: Timed, cost: tuple[float, float], judge: Judge) -> tuple[Timed, tuple[float, float]]:
    """A program with its cost, or one of the same sections in all of the scratchpad.

    What is left of a scratchpad is the user's, unless it is worth its room.
    """
    for steps in (AHEAD, FAR_AHEAD):
        roomy = one.planner.roomy(one, steps) if one.planner and one.steps < steps else None
        if roomy is None or isinstance(roomy.program, Infeasible):
            continue
        if (less := judge(roomy.program))[0] < (1 - GIVEN) * cost[0]:
            one, cost = roomy, less
    return one, cost


def _lean(one: Timed, cost: tuple[float, float], judge: Judge) -> Program | Infeasible:
    """A program, or one of the same sections in less of the scratchpad that costs no more."""
    lean = one.planner.leaner(one) if one.planner else iter(())
    return next((program for program in lean if all(map(le, judge(program), cost))), one.program)


def preferred(costs: Sequence[tuple[float, float]]) -> int:
    """Which program is best as judged: of those that cost hardly more than the least, one that moves less."""
    bound = (1 + GIVEN) * min(cost for cost, _ in costs)
    return min((n for n, (cost, _) in enumerate(costs) if cost <= bound), key=lambda n: costs[n][::-1])


def _planned(
    nests: Sequence[Nest],
    operands: Mapping[str, Operand],
    target: Target,
    estimate: Estimate | None,
    known: Known,
    ahead: Ahead | None = None,
) -> list[Timed]:
    """Programs that let different tensors live in the scratchpad, and their times.

    That is all tensors, or those that pay, or those that would in a smaller scratchpad.
    """
    used = known_operands(nests, operands)
    planner = Planner(nests, used, target, estimate, known, ahead=ahead)
    if (infeasible := planner.infeasible()) is not None:
        return [Timed(ready(infeasible), inf)]
    residence = planner.residence
    residence.settle()
    seen, tight = {frozenset(residence.inside)}, residence.tight
    found = [*planner.programs(), *planner.sparing(len(nests) <= FEW)]
    if estimate is None or not tight:
        return found
    for size in islice(_sizes(planner.capacity), int(residence.chosen), 1 + SMALLER // len(nests)):
        planner = Planner(nests, used, target, estimate, known, planner, ahead)
        planner.residence.settle(False, planner.capacity - size)
        if (inside := frozenset(planner.residence.inside)) not in seen:
            seen.add(inside)
            found += planner.programs()
    return found


def _sizes(capacity: int) -> Iterator[int]:
    """The capacity and, below it, powers of two and what is halfway between them."""
    yield capacity
    power = 1 << capacity.bit_length()
    while power > LEAST_SIZE:
        power //= 2
        yield from (size for size in (power * 3 // 2, power) if size < capacity)


def fits(nest: Nest, target: Target) -> bool:
    """Whether the target has room for a tile of the nest."""
    return target.scratch_bytes is None or least_room(nest, target) <= target.scratch_bytes
