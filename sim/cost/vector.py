"""Work of the vector and reduction units and of moves, from the scalar operations of a nest.

An operation takes the cycles of its kind for as many elements as the unit has lanes for its type; what does
not change along an axis is done once for all its points. Kinds are `tiling.scalars.Cost`; a machine gives
cycles by kind (`multiply`, `rescale`, `divide`, `function`, …) or by name (`exp`, `table_interpolate`),
otherwise `CYCLES` holds. Loads widen and stores narrow on the way. A unit cannot be faster than its
operands come and go.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from math import ceil, prod
from typing import TYPE_CHECKING

from sim.cost.forms import Form, Step
from sim.cost.lanes import Ladder, Lanes
from sim.cost.support import lanes_for
from sim.cost.work import Unit, Work
from tiling.expr import BYTES
from tiling.nest import Access

if TYPE_CHECKING:
    from sim.cost.datapath import Datapath

CYCLES: Mapping[str, int] = {"divide": 8, "function": 8, "interpolate": 2, "blend": 7}
"""Cycles of kinds of operation where a machine says nothing: a division or a function by table and Newton's
method, an interpolation of a product and a sum, a blend of four products and three sums. Others take one."""
MOVED_BYTES = 16
"""Bytes a cycle of a move inside the scratchpad, where the machine has no limit."""


def map_work(path: Datapath, form: Form, tile: Sequence[int]) -> Work:
    """Scalar work on each point."""
    cycles, detail = steps_cycles(path, form, form.steps, tile)
    cycles = max(cycles, streaming_cycles(path, form, tile))
    return _work(path, form, tile, "vector", cycles, path.vector.fill_cycles, detail)


def reduce_work(path: Datapath, form: Form, tile: Sequence[int]) -> Work:
    """Values combined along axes, computed by the vector unit as they come.

    Lanes that are neighbours are combined by a tree where values that follow each other belong to one result;
    otherwise each lane has a result of its own.
    """
    lanes, steps = lanes_for(path, "reduction", form.reduced_type, form.nest.members)
    lanes *= path.cores
    length = prod(tile[form.nest.outer :])
    steps *= 2 if form.finds_place else 1
    tree = along_lanes(form)
    cycles = _combined(path, form, tile, lanes)
    fill = path.reduction.fill_cycles + ((min(lanes, length) - 1).bit_length() if tree else 0)
    vector, detail = steps_cycles(path, form, form.steps, tile)
    cycles = max(cycles * steps, vector, streaming_cycles(path, form, tile))
    return _work(path, form, tile, "reduction", cycles, fill, detail, prod(tile))


def _combined(path: Datapath, form: Form, tile: Sequence[int], lanes: int) -> int:
    """Cycles in which so many lanes combine the values of a tile."""
    results, length = prod(tile[: form.nest.outer]), prod(tile[form.nest.outer :])
    if along_lanes(form):
        return results * ceil(length / lanes)
    if _keeps_windows(path, form):
        return ceil(max(results, form.values(tile)) / lanes)
    return ceil(results / lanes) * length


def product_work(path: Datapath, form: Form, tile: Sequence[int]) -> Work:
    """A product without an array for it: multiplied and added up by the vector unit."""
    cycles, detail = steps_cycles(path, form, form.all_steps, tile)
    assert form.nest.reduction is not None
    lanes, steps = lanes_for(path, "vector", form.nest.reduction.type, form.nest.members)
    cycles += ceil(prod(tile) * steps / (lanes * path.cores))
    cycles = max(cycles, streaming_cycles(path, form, tile))
    detail += (("emulated_macs", prod(tile)),) if path.array is not None else ()
    fill = path.vector.fill_cycles
    return _work(path, form, tile, "vector", cycles, fill, detail, prod(tile), prod(tile))


def move_work(path: Datapath, form: Form, tile: Sequence[int]) -> Work:
    """A copy: by the DMA, run by run; where it cannot follow, element by element through the vector unit."""
    indirect = any(stream.lookup is not None for stream in form.streams)
    runs, run_bytes = move_runs(form, tile)
    traffic = tuple(form.traffic(tile))
    if (indirect and not path.gathered) or (runs > 1 and not path.strided):
        # Places are computed for each run; what is in a run moves at the unit's width.
        kind = form.streams[-1].type
        lanes, steps = lanes_for(path, "vector", kind, form.nest.members)
        elements = run_bytes / BYTES[kind] * steps / lanes
        each = max(elements, 1 / path.vector.table_lookups_per_cycle) if indirect else ceil(elements)
        cycles = ceil(runs * each) + path.vector.fill_cycles
        return Work("vector", max(1, cycles), path.vector.fill_cycles, 0, runs, traffic, (("runs", runs),))
    width = path.scratchpad_bytes_per_cycle or MOVED_BYTES
    cycles = ceil(runs * max(1, run_bytes / width))
    setup = path.setup_cycles
    return Work("dma", max(1, cycles + setup), setup, 0, 0, traffic, (("runs", runs),))


def vector_lanes(path: Datapath, form: Form, tile: Sequence[int], work: Work) -> Lanes:
    """What the cycles of a tile on these units go into."""
    if work.unit == "dma":
        runs, run_bytes = move_runs(form, tile)
        width = path.scratchpad_bytes_per_cycle or MOVED_BYTES
        return Ladder(runs * run_bytes / Fraction(width)).end(work, "runs")
    if work.unit == "reduction":
        return _reduction_lanes(path, form, tile, work)
    product = form.nest.verb == "contract"
    steps = form.all_steps if product else form.steps
    if form.pure_move or not steps:
        return Ladder(work.cycles - work.fill).end(work)
    added, factor = Fraction(0), 1
    if product:
        assert form.nest.reduction is not None
        lanes, factor = lanes_for(path, "vector", form.nest.reduction.type, form.nest.members)
        added = Fraction(prod(tile), lanes * path.cores)
    found = Ladder(added + steps_cycles(path, form, steps, tile, emulate=False)[0])
    found.reach("types", ceil(added * factor) + steps_cycles(path, form, steps, tile)[0])
    found.reach("feeding", streaming_cycles(path, form, tile))
    return found.end(work, "edges")


def _reduction_lanes(path: Datapath, form: Form, tile: Sequence[int], work: Work) -> Lanes:
    """Lanes are empty at the end of each result, and others wait for what is done to the values before."""
    lanes, factor = lanes_for(path, "reduction", form.reduced_type, form.nest.members)
    lanes *= path.cores
    cycles = _combined(path, form, tile, lanes)
    found = Ladder(min(Fraction(prod(tile), lanes), Fraction(cycles)))
    found.reach("edges", cycles)
    found.grow("types", factor * (2 if form.finds_place else 1))
    found.reach("passes", steps_cycles(path, form, form.steps, tile)[0])
    found.reach("feeding", streaming_cycles(path, form, tile))
    return found.end(work, "edges")


def move_runs(form: Form, tile: Sequence[int]) -> tuple[int, int]:
    """Stretches of bytes that follow each other in the source and in the destination, and their size."""
    nest = form.nest
    target = nest.writes[0].access
    moved = [nest.reads[number] for number in form.used if nest.reads[number].bytes > 1]
    source = max(moved, key=lambda access: (access.type == target.type, access.bytes), default=target)
    run = together(source, target, tile) * BYTES[target.type]
    return max(1, ceil(prod(tile) * BYTES[target.type] / run)), run


def each_looked_up(form: Form, tile: Sequence[int]) -> bool:
    """Whether data choose every element on its own, as those of a table."""
    looked_up = (stream.lookup for stream in form.streams)
    return any(axes is not None and prod(tile[axis] for axis in axes) >= prod(tile) for axes in looked_up)


def together(source: Access, target: Access, tile: Sequence[int]) -> int:
    """Elements that follow each other in both operands, in the same order."""
    count = len(tile)
    pairs = zip(target.steps(count), source.steps(count), tile, strict=True)
    run = 1
    for there, here, extent in sorted(pair for pair in pairs if pair[2] > 1):
        if there == here == run:
            run *= extent
    return run


def result_cycles(path: Datapath, form: Form, tile: Sequence[int]) -> tuple[int, tuple[tuple[str, int], ...]]:
    """What the vector unit does with results of an array as they come; of a split reduction, its share."""
    if not form.steps:
        return 0, ()
    cycles, detail = steps_cycles(path, form, form.steps, tile)
    cycles = ceil(cycles * form.share(tile))
    return cycles, (("vector_cycles", cycles), *detail)


def steps_cycles(
    path: Datapath, form: Form, steps: Iterable[Step], tile: Sequence[int], emulate: bool = True
) -> tuple[int, tuple[tuple[str, int], ...]]:
    """Cycles of the vector unit for scalar operations, and what it emulates; stages work at the same time.

    Each stage does one operation of those that follow one another, alike or not.
    Without `emulate`, cycles that it would take if it had lanes for all types.
    """
    total, longest, emulated = 0.0, 0.0, 0
    vector, members = path.vector, form.nest.members
    for step in steps:
        lanes, factor = lanes_for(path, "vector", step.type, members)
        factor = factor if emulate else 1
        each = vector.cycles.get(step.name, vector.cycles.get(step.kind, CYCLES.get(step.kind, 1)))
        points = step.points(tile)
        emulated += points * factor if factor > 1 else 0
        taken = points * factor * each / lanes
        total, longest = total + taken, max(longest, taken / step.count)
    total = max(total / vector.stages, longest)
    return ceil(total / path.cores), (("emulated_operations", emulated),) if emulated else ()


def streaming_cycles(path: Datapath, form: Form, tile: Sequence[int]) -> int:
    """Cycles in which operands come and go, each through a port as wide as the lanes, and are looked up."""
    most, lookups, reads = 0.0, 0, len(form.nest.reads)
    once = form.traffic(tile, once=True) if _keeps_windows(path, form) else None
    for number, stream in enumerate(form.streams):
        if number < reads and number not in form.used:
            continue
        points = prod(tile[axis] for axis in stream.axes)
        if once is not None:
            points = once[number] // BYTES[stream.type]
        lanes, factor = lanes_for(path, "vector", stream.type, form.nest.members)
        most = max(most, points * factor / lanes)
        lookups += 0 if stream.lookup is None else prod(tile[axis] for axis in stream.lookup)
    return ceil(max(most, lookups / path.vector.table_lookups_per_cycle) / path.cores)


def operations(form: Form, tile: Sequence[int]) -> int:
    """Scalar operations of a tile, those of an array left out."""
    return ceil(sum(step.points(tile) for step in form.steps) * form.share(tile))


def along_lanes(form: Form) -> bool:
    """Whether neighbours in memory belong to one result."""
    roles, count = form.roles, len(form.nest.axes)
    if roles is None:
        return True
    steps = form.nest.reads[roles.data].steps(count)
    dense = min(
        (axis for axis in range(count) if steps[axis]), key=lambda axis: abs(steps[axis]), default=count
    )
    return dense >= form.nest.outer


def _work(
    path: Datapath,
    form: Form,
    tile: Sequence[int],
    unit: Unit,
    cycles: int,
    fill: int,
    detail: tuple[tuple[str, int], ...],
    combined: int = 0,
    macs: int = 0,
) -> Work:
    done = operations(form, tile) + (0 if macs else combined)
    traffic = tuple(form.traffic(tile, _keeps_windows(path, form)))
    return Work(unit, max(1, cycles + fill), fill, macs, done, traffic, detail)


def _keeps_windows(path: Datapath, form: Form) -> bool:
    """Whether what overlapping windows share is taken once."""
    return form.nest.verb == "reduce" and path.reduction.windows == "once"
