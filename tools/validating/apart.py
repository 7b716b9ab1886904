"""Work on elements that waits for maps in DRAM in Vela's schedule, and in our programs does not, or less.

On the U85 it does apart what ours have in a chain behind the array. An addition that reads a map in DRAM then
waits for it, as that comes over the channel of streamed maps, where ours goes on with what the array makes.
Only the wait beyond the work is counted, as both have the work.

Of maps in rows, whose positions follow each other in DRAM, it counts each as a run of its own if the channels
of a block are not as many as bytes of a position: those of 16 bits. Ours are read in one go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import tosajit as tj
from sim import Report
from sim.cost.ethos.cycles import Map
from sim.cost.ethos.parts import Part85
from sim.cost.ethos.passes import Core
from sim.cost.ethos.stages import stages_of
from tiling.nest import Nest
from validating.charges import STREAMED, rate
from validating.copies import sizes, tensors_of
from validating.lowered import KINDS, passes, stage
from validating.schedules import Operation, areas, plain


def apart(
    found: Sequence[Operation], log: str, graph: tj.Graph, core: Core, nests: Sequence[Nest], report: Report
) -> int:
    """Cycles that such operations of the schedule wait for maps in DRAM, less what ours in the report do."""
    total = in_runs(found, log, graph, core, nests, report)
    if not isinstance(core.hardware, Part85):
        return total
    made = [tensors_of(nest.members) for nest in nests if stages_of(nest).primary is not None]
    places, rows, stored = areas(log), plain(log), sizes(log)
    for one in found:
        name = one.names[0] if one.names else ""
        if one.kind in KINDS and one.kind == one.source and any(name in some for some in made):
            far = [read in rows for read in operands(graph, name, places) if places[read] != "Sram"]
            total += waits(core, one, far, stored.get(name, (0, ""))[0])
    return total


def in_runs(
    found: Sequence[Operation], log: str, graph: tj.Graph, core: Core, nests: Sequence[Nest], report: Report
) -> int:
    """Cycles that groups without work of the array wait for maps in rows, whose runs are those of blocks."""
    places, rows, stored = areas(log), plain(log), sizes(log)
    taken = {one.sections[0]: one.cycles for one in report.operators if len(one.sections) == 1}
    total = 0
    for number, nest in enumerate(nests):
        if number not in taken or stages_of(nest).primary is not None:
            continue
        names, waited = tensors_of(nest.members), 0
        for one in found:
            if one.kind in KINDS and one.kind == one.source and one.names[:1] and one.names[0] in names:
                far = [read for read in operands(graph, one.names[0], places) if places[read] != "Sram"]
                ordered = [read for read in far if read in rows]
                waited += sum(waits(core, one, [True], stored[read][0]) for read in ordered)
        total += max(0, waited - taken[number].get("input", 0))
    return total


def waits(core: Core, one: Operation, far: Sequence[bool], size: int) -> int:
    """Cycles to read operands in DRAM beyond the work; for each, whether its channels follow each other."""
    elements = prod(one.shape)
    each = max(1, size // elements)
    kind = {1: "i8", 2: "i16"}.get(each, "i32")
    work = passes(core, [stage(KINDS[one.kind], kind, kind)] * (1 + one.behind), one)
    burst = core.far.burst
    deep = one.block[-1] if one.block else one.shape[-1] * each
    run = burst if deep == one.shape[-1] * each else each * deep  # whole positions follow each other
    moved = sum(Map(core.far).moved(elements * each, run if ordered else burst) for ordered in far)
    return max(0, int(moved / rate(core, STREAMED)) - work)


def operands(graph: tj.Graph, name: str, places: Mapping[str, str]) -> list[str]:
    """The maps that have a place, of those that the nodes of an operator read."""
    makers = {output: node for node in graph.nodes for output in node.outputs}
    own = [node for node in graph.nodes if name in tensors_of((node.name,))]
    inside = {output for node in own for output in node.outputs}
    found = dict[str, None]()
    for source in (source for node in own for source in node.inputs if source not in inside):
        while source in makers and makers[source].inputs and placed(source, places) is None:
            source = makers[source].inputs[0]
        constant = source in makers and not makers[source].inputs
        if not constant and (one := placed(source, places)) is not None:
            found[one] = None
    return list(found)


def placed(source: str, places: Mapping[str, str]) -> str | None:
    """The map with a place that a tensor of ours is: parts of an operator are called after it."""
    return max((one for one in tensors_of((source,)) if one in places), key=len, default=None)
