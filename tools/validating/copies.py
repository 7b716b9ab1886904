"""Copies in Vela's schedule, as of concatenated or repeated maps, that our programs do without or by the DMA.

Vela has the array pass on each element, as a pooling of one. What that takes is what our model of the machine
says of the blocks that the schedule has.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod

import tosajit as tj
from sim import Report
from sim.cost.ethos.choosing import chosen
from sim.cost.ethos.cycles import CHANNELS, Map, Maps, layer_cycles
from sim.cost.ethos.parts import Layer, Shape, up
from sim.cost.ethos.passes import Core
from sim.machine.arrays import Block
from tosajit.operators import PAD, TRANSPOSE
from validating.schedules import Operation

SIZE = re.compile(r"^ *\d+ - +\d+: +\S+ - +\S+: +(\d+): +\d+: (\w+) +: ([^;]+)")

BROADCAST = "_broadcasted"
"""How Vela calls what it repeats."""


def copies(found: Sequence[Operation], log: str, graph: tj.Graph, machine: tj.Machine, report: Report) -> int:
    """Cycles of those of the schedule, less what copies of the same maps take in our report."""
    if not isinstance(machine.array, Block):
        return 0
    core, stored = Core.of(machine.array, machine), sizes(log)
    pads, turns = (
        {node.name for node in graph.nodes if isinstance(node.operator, kind)} for kind in (PAD, TRANSPOSE)
    )
    made: Counter[tuple[str, ...]] = Counter()
    for one in found:
        if one.own.endswith(BROADCAST):
            made[one.names] += repeated(core, one, machine.memory.constants == "offchip")
        elif one.kind == "MemoryCopy" or (one.kind == "Transpose" and not turns.isdisjoint(one.names)):
            made[one.names] += copied(core, one, stored, not pads.isdisjoint(one.names))
    others = {name for one in found if one.names not in made for name in one.names}
    ours = [
        (one.total, tensors)
        for one in report.operators
        if one.unit in ("dma", "vector") and others.isdisjoint(tensors := tensors_of(one.members))
    ]
    return sum(
        max(0, cycles - sum(total for total, tensors in ours if not tensors.isdisjoint(names)))
        for names, cycles in made.items()
    )


def copied(core: Core, operation: Operation, stored: Mapping[str, tuple[int, str]], constant: bool) -> int:
    """Cycles of a copy, of a map or of a constant such as the zeros that surround one."""
    *_, deep = operation.shape
    size, order = stored.get(operation.names[0], (0, "NHWC"))
    plain = order == "NHWC"
    held = prod(operation.shape) // deep * (deep if plain else up(deep, CHANNELS))
    bits = 8 * max(1, size // held)
    *_, high, wide, deep = (1, 1, 1, *(operation.read or operation.shape))
    pairs = max(1, bits // 16)  # wider elements go as pairs of 16 bits
    shape, bits = Shape(high, wide, deep * pairs), min(bits, 16)
    layer = Layer("pool", shape, shape, bits=bits, output_bits=bits)
    source = core.far if constant and core.home is core.far else core.memory
    memory = core.memory if operation.area == "Sram" else core.home
    maps = Maps(Map(source, constant), Map(memory, plain), core.memory.read_latency)
    choice = chosen(core.hardware, layer)
    if operation.block:
        block = Shape(*operation.block[-3:])
        choice = replace(choice, output=block, input=block)
    return layer_cycles(core.hardware, layer, choice, maps).total


def sizes(log: str) -> dict[str, tuple[int, str]]:
    """Bytes and order of each tensor, by its first name."""
    lines = (SIZE.match(line) for line in log.splitlines())
    return {match[3].strip(): (int(match[1]), match[2]) for match in lines if match}


def repeated(core: Core, operation: Operation, offchip: bool) -> int:
    """Cycles to read a constant that Vela has repeated and left where it is, of 32 bits: it adds another map.

    Only parts without chains have such operations.
    """
    memory, deep = core.far if offchip else core.memory, (operation.block or operation.shape)[-1]
    return memory.cycles(Map(memory, plain=True).moved(4 * prod(operation.shape), 4 * deep), 0)


def tensors_of(members: Sequence[str]) -> set[str]:
    """What nodes make, which are called after it: `map`, and `map/rescale` that is a part of the work."""
    return {"/".join(one.split("/")[:n]) for one in members for n in range(1, one.count("/") + 2)}
