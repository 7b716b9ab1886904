"""Copies in Vela's schedule, as of concatenated maps, that our programs do without or by the DMA.

Vela has the array pass on each element, as a pooling of one, which may give it a new scale or look it up.
A table behind an operator that is left to the CPU is waited for, as nothing of the NPU hides it.
What that takes is what our model of the machine says of the blocks that the schedule has, less what passes
of ours take that do the same for a map.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from math import prod

import tosajit as tj
from sim import Report
from sim.cost.costs import Costs
from sim.cost.ethos.blocks import behind_of
from sim.cost.ethos.choosing import chosen
from sim.cost.ethos.cycles import CHANNELS, Map, Maps, layer_cycles, read_run, written_run
from sim.cost.ethos.parts import Layer, Part85, Shape, up
from sim.cost.ethos.passes import Core, chains, passed, runs, table_cycles
from sim.cost.ethos.passes import copied as is_pooling
from sim.cost.ethos.stages import Source, Stage, stages_of
from sim.cost.sites import NEAR
from sim.cost.transfer import port_rate
from sim.events.model import Rates, SectionModel
from sim.machine.arrays import Block
from tiling.nest import Nest
from tosajit.npu.simulate import Network
from tosajit.operators import PAD
from validating.schedules import Operation, areas

SIZE = re.compile(r"^ *\d+ - +\d+: +\S+ - +\S+: +(\d+): +\d+: (\w+) +: (.+)")

BOUNDS = "Relu", "Relu6", "ReluN1To1", "Relu0To1"
PASSED_ON = "MemoryCopy", "Quantize", "LUT", "Tanh", "Sigmoid", *BOUNDS
"""Poolings of single elements: copies, new scales, tables, functions and bounds on their own."""
LEFT = "Passthrough"
"""An operator that is left to the CPU."""
TABLE = Stage("copy", (Source(None, None, frozenset({0}), "i8"),), frozenset({0}), "i8", table=True)
"""A table of 8 bits."""
APART = "SquaredDifference"
"""Operators with copies that `lowered` counts."""
TURNED = "Transpose", "BatchMatMul"
"""Operators of which transpositions are copies: itself, and a product, for which its maps are turned."""
BROADCAST = "_broadcasted"
"""How Vela calls what it repeats."""


def copies(
    found: Sequence[Operation], log: str, graph: tj.Graph, machine: tj.Machine, plan: tj.Plan, report: Report
) -> int:
    """Cycles of those of the schedule, less what copies of the same maps take in our report of a plan."""
    if not isinstance(machine.array, Block):
        return 0
    core = Core.of(machine.array, machine)
    if not (made := _theirs(core, found, log, graph, machine)):
        return 0
    ours = list(_ours(core, graph, machine, plan, report))
    total = 0
    for names, cycles in made.items():
        for number, (spared, tensors, alone) in enumerate(ours):
            if not tensors.isdisjoint(names):
                taken = spared if alone else min(spared, max(0, cycles))
                cycles -= taken
                ours[number] = spared - taken, tensors, alone
        total += cycles
    return total


def _theirs(
    core: Core, found: Sequence[Operation], log: str, graph: tj.Graph, machine: tj.Machine
) -> Counter[tuple[str, ...]]:
    """Cycles of copies of the schedule, by the tensors that they make."""
    pads = {node.name for node in graph.nodes if isinstance(node.operator, PAD)}
    read, stored = read_far(graph, areas(log)), sizes(log)
    made: Counter[tuple[str, ...]] = Counter()
    for front, one in zip((None, *found), found, strict=False):
        if one.own.endswith(BROADCAST):
            made[one.names] += repeated(core, one, machine.memory.constants == "offchip", stored)
        elif one.kind == "Transpose" and one.source in TURNED:
            made[one.names] += turned(core, one, stored, in_rows(front, stored), port_rate(machine))
        elif one.kind in PASSED_ON and one.source != APART:
            constant, far = (not some.isdisjoint(one.names) for some in (pads, read))
            made[one.names] += copied(core, one, stored, constant, far)
    for front, one in pairwise(found):
        if front.kind == LEFT and one.kind == "LUT":
            made[one.names] += table_cycles(core, TABLE)  # nothing in front of it hides what it loads
    return made


def _ours(
    core: Core, graph: tj.Graph, machine: tj.Machine, plan: tj.Plan, report: Report
) -> Iterator[tuple[int, set[str], bool]]:
    """Cycles of passes and of the DMA that only pass on elements, the tensors that these make, and more.

    That is whether the group does nothing else, so that it is no part of Vela's schedule.
    """
    alone = [one for one in report.operators if len(one.sections) == 1]
    taken = {one.sections[0]: one.total for one in alone}
    moved = {one.sections[0]: one.total for one in alone if one.unit == "dma"}
    for number, model in enumerate(models_of(graph, machine, plan)):
        nest, stages = model.nest, stages_of(model.nest)
        behind = behind_of(core.hardware, stages.after) if stages.primary is not None else 0
        sites = passed(nest, tuple(model.sites))
        cycles = 0
        for some in runs(core.hardware, stages.after[behind:]):
            if is_pooling(some[0]):  # each alone, as waits for tables are none of its work
                ends = sites if some[-1] is stages.after[-1] else (*sites[:-1], NEAR)
                cycles += sum(one.cycles for one in chains(core, some, nest.extents, sites=ends))
        # What others hide is not spared.
        spared = min(cycles, taken.get(number, cycles)) or moved.get(number, 0)
        yield spared, tensors_of(nest.members), stages.primary is None and all(map(is_pooling, stages.after))


def read_far(graph: tj.Graph, places: Mapping[str, str]) -> frozenset[str]:
    """Tensors that are made of maps outside the SRAM, or of parts of such, by their places."""
    makers = {output: node for node in graph.nodes for output in node.outputs}
    found = set()
    for node in graph.nodes:
        source = next(iter(node.inputs), "")
        while source in makers and source not in places and makers[source].inputs:
            source = makers[source].inputs[0]
        if places.get(source, "Sram") != "Sram":
            found |= tensors_of((node.name,))
    return frozenset(found)


def nests_of(graph: tj.Graph, machine: tj.Machine, plan: tj.Plan) -> list[Nest]:
    """What a plan makes of a graph of one part, in order."""
    return [model.nest for model in models_of(graph, machine, plan)]


def models_of(graph: tj.Graph, machine: tj.Machine, plan: tj.Plan) -> list[SectionModel]:
    """The same, with where operands are."""
    network = Network.of(graph)
    (part,) = network.parts
    program = network.program(part, machine, plan)
    costs, rates = Costs.of(machine), Rates.of(machine)
    return [SectionModel(one, program.operands, rates, costs) for one in program.sections]


def copied(
    core: Core,
    operation: Operation,
    stored: Mapping[str, tuple[int, str]],
    constant: bool,
    far: bool = False,
    bound: bool = True,
) -> int:
    """Cycles of a copy: of a map, which may be far, or of a constant such as the zeros that surround one.

    `bound` says whether the rate of memories counts.
    """
    size, plain = kept(operation, stored)
    bits = 8 * size
    *_, high, wide, deep = (1, 1, 1, *(operation.read or operation.shape))
    pairs = max(1, bits // 16)  # wider elements go as pairs of 16 bits
    shape, bits = Shape(high, wide, deep * pairs), min(bits, 16)
    layer = Layer("pool", shape, shape, bits=bits, output_bits=bits)
    source = core.home if constant or far else core.memory
    return passed_on(core, operation, layer, Map(source, constant), plain, bound=bound)


def in_rows(front: Operation | None, stored: Mapping[str, tuple[int, str]]) -> bool:
    """Whether what an operation turns is in rows: the result of a product in front, seen in another shape."""
    if front is None or front.kind != "FullyConnected":
        return False
    return any(stored.get(name, (0, ""))[1] == "NHWC" for name in (front.own, *front.names))


def turned(
    core: Core,
    operation: Operation,
    stored: Mapping[str, tuple[int, str]],
    ordered: bool = False,
    rate: float | None = None,
) -> int:
    """Cycles of a transposition: the U55 and U65 wait for memories alone, the U85 has poolings.

    Blocks of the U85 are cut from the turned map; where what is turned is `ordered`, in rows, each reads all
    that it may need of it, of which the SRAM has `rate` bytes a cycle.
    """
    made, read = (Shape(*one[-3:]) for one in (operation.shape, operation.read))
    size, rows = kept(operation, stored)
    layer = Layer("pool", made, read, bits=8 * size, output_bits=8 * size)
    block = Shape(*operation.block[-3:]) if operation.block else read
    choice = replace(chosen(core.hardware, layer), output=block, input=block)
    if isinstance(core.hardware, Part85):
        source = Map(core.memory, plain=ordered)
        work = passed_on(core, operation, layer, source, rows)
        if not ordered or rate is None:
            return work
        fetched = source.moved(read.elements * size, read_run(layer, choice, plain=True))
        return max(work, int(made.over(block.within(made)).area * fetched / rate))
    near, far = Map(core.memory, plain=True), core.memory if operation.area == "Sram" else core.home
    result, amount = Map(far, plain=True), read.elements * size
    fetched = near.moved(amount, read_run(layer, choice, plain=True))
    written = result.moved(amount, written_run(core.hardware, layer, choice, plain=True))
    return max(
        near.memory.cycles(fetched, near.memory.read_latency),
        far.cycles(written, far.write_latency),
        far.cycles(fetched + written, 0),
    )


def passed_on(
    core: Core,
    operation: Operation,
    layer: Layer,
    source: Map,
    plain: bool,
    chained: float = 0.0,
    bound: bool = True,
) -> int:
    """Cycles of an operation that is a pooling of single elements, of a map that is there.

    `chained` are cycles an element of what it does along with it; `bound` says whether the rate of the
    memory counts.
    """
    memory, shape, bits = (
        core.memory if operation.area == "Sram" else core.home,
        layer.output,
        layer.output_bits,
    )
    maps = Maps(source, Map(memory, plain), core.memory.read_latency)
    choice = chosen(core.hardware, layer)
    if operation.block:
        block = Shape(*operation.block[-3:])
        choice = replace(choice, output=block, input=block)
    written = maps.result.moved(
        shape.elements * bits // 8, written_run(core.hardware, layer, choice, maps.result.plain)
    )
    work = layer_cycles(core.hardware, layer, choice, maps, chained).total
    return max(work, memory.cycles(written, 0)) if bound else work


def sizes(log: str) -> dict[str, tuple[int, str]]:
    """Bytes and order of each tensor, by its first name, and by its last, if that is no other's first."""
    found = [match for line in log.splitlines() if (match := SIZE.match(line))]
    first, last = (
        {match[3].split(";")[place].strip(): (int(match[1]), match[2]) for match in found}
        for place in (0, -1)
    )
    return {**last, **first}


def repeated(core: Core, operation: Operation, offchip: bool, stored: Mapping[str, tuple[int, str]]) -> int:
    """Cycles to add a map to a constant that Vela has repeated and left where it is.

    Only parts without chains have such operations.
    """
    size, rows = kept(operation, stored)
    memory, elements = core.far if offchip else core.memory, prod(operation.shape)
    *positions, channels = operation.shape
    block = (operation.block or operation.shape)[-1]
    run = elements if block == size * channels else block  # whole positions follow each other
    read = memory.cycles(Map(memory, plain=True).moved(size * elements, size * run), 0)
    sources = (Source(None, None, frozenset({0, 1}), f"i{8 * size}"),) * 2
    added = Stage("add", sources, sources[0].axes, sources[0].type)
    (work,) = chains(core, [added], (prod(positions), channels if rows else up(channels, CHANNELS)))
    return max(read, work.cycles)


def kept(operation: Operation, stored: Mapping[str, tuple[int, str]]) -> tuple[int, bool]:
    """Bytes of an element of what an operation makes, and whether it is in rows and not in bricks."""
    place = operation.own if operation.own in stored else operation.names[0]
    size, order = stored.get(place, (0, "NHWC"))
    *positions, deep = operation.shape
    rows = order == "NHWC"
    each = max(1, size // (prod(positions) * (deep if rows else up(deep, CHANNELS))))
    return 1 << each.bit_length() - 1, rows


def tensors_of(members: Sequence[str]) -> set[str]:
    """What nodes make, which are called after it: `map`, and `map/rescale` that is a part of the work."""
    return {"/".join(one.split("/")[:n]) for one in members for n in range(1, one.count("/") + 2)}
