"""Arrays that work in blocks of the result, with an output stage for all scalar work: the Ethos-U."""

from __future__ import annotations

from dataclasses import replace

from sim.cost.arrays.kind import ArrayCosts, Extents, Task, costs_for
from sim.cost.ethos import blocks, passes
from sim.cost.ethos.passes import Core
from sim.cost.lanes import Ladder, Lanes
from sim.cost.sites import Sites, Stream
from sim.cost.work import Work
from sim.machine.arrays import Block
from sim.machine.machine import Machine
from tiling.nest import Nest


@costs_for(Block)
class BlockCosts(ArrayCosts[Core]):
    """Blocks and passes of integers; floats are left to the other units."""

    looks_at_sites = True

    def hardware(self, array: Block, machine: Machine) -> Core:
        """The part of Arm's that the array is, and the memories that it works on."""
        return Core.of(array, machine)

    def product(self, hardware: Core, task: Task) -> Work | None:
        """A contraction, as often as its types are emulated in."""
        found, times = blocks.work(hardware, task.form.nest, task.tile, task.sites), task.rate.passes
        if found is None or times == 1:
            return found
        return replace(
            found,
            cycles=found.cycles * times,
            fill=found.fill * times,
            detail=(*found.detail, ("passes", times)),
            commands=tuple(one._replace(cycles=one.cycles * times) for one in found.commands),
        )

    def other(self, hardware: Core, nest: Nest, tile: Extents, sites: Sites) -> Work | None:
        """Reductions are poolings, all else is passes of the output stage."""
        if nest.verb == "reduce":
            return blocks.work(hardware, nest, tile, sites)
        return passes.work(hardware, nest, tile, sites)

    def reached(self, nest: Nest) -> frozenset[int]:
        """All that does not come with commands, as far as it is known what that is."""
        return blocks.reached(nest)

    def lanes(self, hardware: Core, task: Task, work: Work) -> Lanes:
        """As the blocks of the contraction have them."""
        return blocks.lanes(hardware, task.form.nest, task.tile, task.sites, work)

    def other_lanes(self, hardware: Core, nest: Nest, tile: Extents, sites: Sites, work: Work) -> Lanes:
        """Poolings use as little of the array as they do; passes keep the output stage at work."""
        if nest.verb == "reduce":
            return blocks.lanes(hardware, nest, tile, sites, work)
        return Ladder(work.cycles - work.fill).end(work)

    def bytes_under_way(self, array: Block, machine: Machine, stream: Stream) -> float | None:
        """The U85 has channels of its own; results are as many as the memory takes."""
        return Core.of(array, machine).bytes_under_way(stream)
