"""Means of Vela's: depthwise convolutions over what were channels, in a map of one, less our sums.

Its ones are weights like others, which may have a buffer; the map is where the network has it, as rows, since
its shape is another one. Both are timed by our model of the machine.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from math import prod

import tosajit as tj
from sim import Report
from sim.cost.ethos.choosing import chosen
from sim.cost.ethos.cycles import Map, Maps, layer_cycles, read_run
from sim.cost.ethos.parts import Choice, Layer, Shape
from sim.cost.ethos.passes import Core
from sim.cost.geometry import squarest
from validating.charges import copy_cycles
from validating.copies import APART, read_far, sizes, tensors_of
from validating.lowered import KINDS, cycles, passes, stage
from validating.schedules import Operation, areas, plain

SUMS = "_intermediate"
"""How Vela calls the sums of a mean."""
KERNEL = 8
"""Columns of a kernel that a block of the map is read for at a time."""
NOTHING = Operation("", (), "")


def means(found: Sequence[Operation], log: str, graph: tj.Graph, core: Core, report: Report) -> int:
    """Cycles of those of the schedule, less what sums take in our report of it."""
    rows, stored, far = plain(log), sizes(log), read_far(graph, areas(log))
    total = 0
    for front, one in pairwise((NOTHING, *found)):
        if one.source == "Mean" and over_columns(one):
            total += theirs(core, one, hidden(core, front, stored), far, rows) - ours(core, one, report)
    return total


def over_columns(one: Operation) -> bool:
    """Whether it sums what were channels."""
    *_, wide, deep = (1, 1, *one.read)
    return deep == 1 and one.kind == "DepthwiseConv2D" and one.kernel == (1, wide)


def theirs(
    core: Core, one: Operation, hidden: int | None, far: Collection[str], rows: Collection[str]
) -> int:
    """Cycles of the convolution; with a buffer, beyond what the operation in front hides of its copy.

    Vela then counts it as if its maps were where they live by default.
    """
    *_, high, wide, _ = (1, 1, 1, *one.read)
    layer = Layer("depthwise", Shape(high, 1, 1), Shape(high, wide, 1), (1, wide), output_bits=32)
    name, ordered = one.names[0], one.names[0] in rows
    places = (
        core.home if name.removesuffix(SUMS) in far else core.memory,
        core.memory if one.area == "Sram" else core.home,
    )
    choice = chosen(core.hardware, layer)
    near, live = (
        layer_cycles(
            core.hardware,
            layer,
            choice,
            Maps(Map(source, plain=True), Map(result, ordered), core.constants[1]),
        ).total
        for source, result in (places, (core.home, core.home))
    )
    if places[0] is core.far:
        near = max(near, reads(core, layer, choice))
    if not one.copies or hidden is None:
        return near
    waiting = copy_cycles(core, one.buffer) - hidden
    return max(live + waiting, near + max(0, waiting))


def reads(core: Core, layer: Layer, choice: Choice) -> int:
    """Cycles to read a map in DRAM: blocks overlap, and each element of one channel is a short run."""
    high, wide, _ = layer.input
    elements = high * -(-wide // KERNEL) * choice.input.width
    beats = core.bytes_under_way("maps")
    rate = core.far.bytes_per_cycle or float("inf")
    if beats is not None:
        rate = min(rate, beats / core.far.read_latency)
    return int(Map(core.far, plain=True).moved(elements, read_run(layer, choice, plain=True)) / rate)


def hidden(core: Core, front: Operation, stored: Mapping[str, tuple[int, str]]) -> int | None:
    """Cycles of the operation in front, in which a copy goes on; None if it is no work on elements."""
    if front.kind not in KINDS or front.names[-1] not in stored:
        return None
    size, _ = stored[front.names[-1]]
    wide = size >= 4 * prod(front.shape) or front.source == APART
    kind = "i32" if wide else "i8"
    return passes(core, [stage(KINDS[front.kind], kind, kind)] * (1 + front.behind), front)


def ours(core: Core, one: Operation, report: Report) -> int:
    """Cycles of the sums in our report, without passes along with them."""
    name = one.names[0].removesuffix(SUMS)
    for made in report.operators:
        if "mac_cycles" in made.detail and name in tensors_of(made.members):
            return made.total - made.detail["pass_cycles"]
    *_, high, wide, _ = (1, 1, 1, *one.read)
    near, maps = squarest(high), Maps(Map(core.memory), Map(core.memory), core.constants[1])
    return cycles(core, Layer("sum", Shape(*near, 1), Shape(*near, wide), output_bits=32), maps)
