"""What Vela counts for buffers of weights beyond what the hardware does: its estimate, and no part of ours.

Of an operator whose weights are copied to the SRAM, Vela 5.2.0 counts the cycles that it would take with maps
in the memory where they live by default, less those in front that are left when the copy is there. In
dedicated modes that memory is DRAM, even for maps that its schedule has put in the SRAM.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise

import tosajit as tj
from sim.cost.costs import Costs
from sim.cost.sites import Site
from sim.events.model import Rates, SectionModel
from tosajit.npu.simulate import Network


def charge(graph: tj.Graph, machine: tj.Machine, plan: tj.Plan, plain: Collection[str] = ()) -> int:
    """The cycles that Vela adds to such a plan of a graph of one part.

    `plain` are the maps, called after operators, that it keeps as they are and not in bricks of channels.
    """
    if machine.memory.activations == "scratchpad":
        return 0
    network = Network.of(graph)
    (part,) = network.parts
    program = network.program(part, machine, plan)
    costs, rates = Costs.of(machine), Rates.of(machine)
    models = [SectionModel(one, program.operands, rates, costs) for one in program.sections]
    return sum(_charges(models, set(_made(models, plain))))


def _made(models: Sequence[SectionModel], names: Collection[str]) -> Iterator[str]:
    """The operands that operators of such names make; parts of an operator are called after it."""
    for nest in (model.nest for model in models):
        made = {"/".join(one.split("/")[:n]) for one in nest.members for n in range(1, one.count("/") + 2)}
        if not made.isdisjoint(names):
            yield from (write.access.operand for write in nest.writes)


def _charges(models: Sequence[SectionModel], plain: Collection[str]) -> Iterator[int]:
    """Those of sections that have one in front."""
    for front, model in pairwise(models):
        copied = [image is not None for image in model.section.images]
        weights = [n for n, kind in enumerate(model.kinds) if kind == "weights" and copied[n]]
        if not weights:
            continue
        machine, whole = model.rates.machine, model.nest.extents
        live = tuple(
            Site("scratchpad" if here else "offchip", site.plain or access.operand in plain)
            for here, site, access in zip(copied, model.sites, model.nest.accesses, strict=False)
        )
        more = model.costs.work(model.nest, whole, live).cycles
        more -= model.costs.work(model.nest, whole, model.sites).cycles
        moved = sum(model.operands[n].stored(model.operands[n].bytes) for n in weights)
        rate = machine.offchip_bytes_per_cycle
        copy = machine.offchip.read_latency_cycles + (int(moved / rate) if rate else 0)
        yield max(0, more - max(0, front.hides - copy))
