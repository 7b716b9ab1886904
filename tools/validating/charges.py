"""What Vela counts beyond what the hardware does: its estimate, and no part of ours.

Worked out from our model, not from Vela's figures. The first four are about dedicated modes, in which maps
live in DRAM by default, but for those that a schedule has put in the SRAM.

* Buffers of weights. Of an operator whose weights are copied to the SRAM, Vela 5.2.0 counts what its last
  slice would take with maps in DRAM, and the copy, less what hides that: the operator in front with its maps
  in DRAM. The last of several slices does not wait for the first block of its map. Only what that is beyond
  our cycles, waits for the copy among them, is charged.
* Slices of weights. Each of them reads the map anew, which Vela counts once: less than the hardware takes.
* Tables are taken to be hidden like these copies.
* Chains (U85). What an operator passes on to another one is in no memory, but Vela counts the time to write
  its last block to DRAM.
* Transposed convolutions in parts (U85), each of which makes some of the positions, are counted as if each
  made all that lie between them, too.
* Repeated constants (U55, U65). What is added to or multiplied with each position, and left in flash or DRAM,
  is counted as if it were read anew for each result, in runs of a block's channels.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from math import prod
from typing import NamedTuple

import tosajit as tj
from sim import Report
from sim.cost.ethos.blocks import behind_of, layer_of, shape_of
from sim.cost.ethos.choosing import chosen
from sim.cost.ethos.cycles import CHANNELS, Map, Maps, block_transfer
from sim.cost.ethos.parts import BEAT, Part55, Part85, up
from sim.cost.ethos.passes import Core, chains, points, pool_layer, runs
from sim.cost.ethos.passes import copied as is_pooling
from sim.cost.ethos.stages import Source, Stage, stages_of
from sim.cost.geometry import roles_of
from sim.cost.sites import Site, Sites
from sim.cost.work import Work
from sim.events.model import SectionModel
from sim.machine.arrays import Block
from tiling.expr import BYTES
from tiling.target import Home
from tosajit.operators import TRANSPOSE_CONV2D
from validating.copies import copied, models_of, tensors_of
from validating.schedules import Operation

WITHIN = frozenset({"LUT", "Relu", "Relu6", "ReluN1To1", "Relu0To1", "Clamp"})
"""What is done with the results of an operation on their way, and no chain."""
COPIED = "MemoryCopy", "Quantize"
"""Operations of the schedule that our programs do not have, and that hide a copy behind them."""
COPIES, STREAMED = 0, 1
"""Their places among the beats under way: of copies, and of maps that are streamed."""


def charge(
    graph: tj.Graph,
    machine: tj.Machine,
    plan: tj.Plan,
    report: Report,
    plain: Collection[str] = (),
    found: Sequence[Operation] = (),
) -> int:
    """The cycles that Vela adds to such a plan of a graph of one part, which took what the report says.

    `plain` are the maps, called after operators, that it keeps as they are and not in bricks of channels;
    `found` is its schedule, with the blocks that it works in.
    """
    if not isinstance(machine.array, Block):
        return 0
    models = models_of(graph, machine, plan)
    made, core = set(_made(models, plain)), Core.of(machine.array, machine)
    taken = {one.sections[0]: one for one in report.operators if len(one.sections) == 1}
    blocks = {name: one.block[-1] for one in found if one.block for name in one.names}
    alone = {name for one in found if not set(one.along) - WITHIN for name in one.names}
    behind = {
        name: copied(core._replace(memory=core.home), front, {}, constant=False, bound=False)
        for front, one in pairwise(found)
        if front.kind in COPIED
        for name in one.names
    }
    sections = [Charged(model, core, made, blocks, alone) for model in models]
    ordered = dict(_in_front(found, sections))
    total, hidden, added = 0, 0, 0
    parts = dict(_transposed(graph, models)) if isinstance(core.hardware, Part85) else {}
    for number, section in enumerate(sections):
        if number in parts:
            total += section.between(parts[number])
        own = tensors_of(section.nest.members[:1]).union(section.nest.members)
        after_copies = (behind[one] for one in own if one in behind)
        hidden = max(after_copies, default=ordered.get(number, hidden))
        total += sum(section.repeated)
        if machine.memory.activations == "scratchpad":
            total += section.in_rows
        elif number in taken:
            # A copy goes on while the operator in front takes longer.
            spared = min(added, taken[number].cycles.get("weights", 0))
            again = section.again
            added = section.cycles(taken[number].total - spared - again, hidden)
            total += added - spared - again
        hidden = section.hides
    return total


def _in_front(found: Sequence[Operation], sections: Sequence[Charged]) -> Iterator[tuple[int, int]]:
    """What hides a copy of sections that have another one in front of them in the schedule than here."""
    tensors = [tensors_of(section.nest.members) for section in sections]
    made = [tensors_of(section.nest.members[-1:]) for section in sections]
    first = dict[int, Operation]()
    for front, one in pairwise(found):
        number = next((n for n, some in enumerate(tensors) if not some.isdisjoint(one.names[:1])), None)
        if number is not None and number not in first:
            first[number] = front
            before = [n for n, some in enumerate(made) if not some.isdisjoint(front.names[-1:])]
            if len(before) == 1 and before[0] not in (number - 1, number):
                yield number, sections[before[0]].hides


def copy_cycles(core: Core, size: float) -> int:
    """Cycles of a copy of so many bytes from the second memory."""
    return core.far.read_latency + int(size / rate(core, COPIES))


def rate(core: Core, channel: int) -> float:
    """Bytes a cycle that one channel has from the second memory."""
    whole = core.far.bytes_per_cycle or float("inf")
    if not isinstance(core.hardware, Part85):
        return whole
    return min(whole, 0.8 * core.hardware.outstanding[channel] * BEAT / core.far.read_latency)


def _made(models: Sequence[SectionModel], names: Collection[str]) -> Iterator[str]:
    """The operands that operators of such names make; parts of an operator are called after it."""
    for nest in (model.nest for model in models):
        if not tensors_of(nest.members).isdisjoint(names):
            yield from (write.access.operand for write in nest.writes)


def _transposed(graph: tj.Graph, models: Sequence[SectionModel]) -> Iterator[tuple[int, Part]]:
    """The sections that are parts of a transposed convolution."""
    strides = {
        node.name: node.operator.stride for node in graph.nodes if isinstance(node.operator, TRANSPOSE_CONV2D)
    }
    for name, (down, across) in strides.items():
        some = [number for number, model in enumerate(models) if name in model.nest.members]
        if len(some) == down * across > 1:
            for place, number in enumerate(some):
                yield number, Part((down, across), divmod(place, across))


class Part(NamedTuple):
    """A part of a transposed convolution: rows and columns at multiples of a stride, from a first one on."""

    stride: tuple[int, int]
    first: tuple[int, int]


class Charged:
    """A section as Vela sees it."""

    def __init__(
        self,
        model: SectionModel,
        core: Core,
        plain: Collection[str],
        blocks: Mapping[str, int],
        alone: Collection[str],
    ) -> None:
        self.block = next((blocks[one] for one in model.nest.members if one in blocks), None)
        self.model, self.core, self.nest = model, core, model.nest
        self.alone = not tensors_of(model.nest.members[:1]).isdisjoint(alone)
        self.copied = [image is not None for image in model.section.images]
        self.sites: Sites = tuple(
            Site(site.place, site.plain or access.operand in plain)
            for site, access in zip(model.sites, self.nest.accesses, strict=False)
        )
        self.live = tuple(
            site._replace(place="offchip") if kind == "activations" else site
            for site, kind in zip(self.sites, model.kinds, strict=False)
        )

    @property
    def hides(self) -> int:
        """Its last command with maps where they live, of the last slice only: what hides a copy behind it."""
        sliced = self.weights and self.model.section.loops
        if not sliced:
            return self.model.hides
        return self._work(self.live, self._last).hides - self.first_read

    @property
    def in_rows(self) -> int:
        """Cycles that the array takes more for maps that Vela keeps in rows and we in bricks."""
        return primary(self._work(self.sites)) - primary(self._work(tuple(self.model.sites)))

    @property
    def weights(self) -> list[int]:
        """Accesses of weights that are copied."""
        return [n for n, kind in enumerate(self.model.kinds) if kind == "weights" and self.copied[n]]

    @property
    def again(self) -> int:
        """Cycles that slices of the weights take more than all at once, as each of them reads the map."""
        loops = self.model.section.loops
        if not self.weights or len(loops) != 1:
            return 0
        (loop,) = loops
        full = list(self.nest.extents)
        full[loop.axis] = loop.step
        slices = (loop.count - 1) * self._alone(tuple(full)) + self._alone(self._last)
        return max(0, slices - self._alone(self.nest.extents))

    def _alone(self, extents: tuple[int, ...]) -> int:
        """Cycles of a tile that has the memories to itself."""
        model, work = self.model, self._work(self.sites, extents)
        sizes: dict[Home, list[tuple[int, int]]] = {}
        for number, size in enumerate(work.traffic[: model.accesses]):
            if size:
                sizes.setdefault(model.place(number), []).append((model.taken(number, size), number))
        return model.rates.alone(work, sizes, model.streams)[0]

    def cycles(self, taken: int, hidden: int) -> int:
        """The charge on what took so long, if so much of a copy is hidden."""
        chained = self.chained
        if not self.weights:
            waited = max(0, taken - self._work(self.sites).cycles)
            return sum(chained) + max(0, self.model.ahead - hidden - waited)
        near, last = self._work(self.sites), self._work(self.live, self._last)
        own = primary(near) + chained[0]
        first = max(0, self._copy(first=True) - hidden)
        vela = max(self._copy() - hidden + primary(last) - self.first_read, own + first)
        return max(0, vela - (taken - passes(near))) + chained[1]

    @property
    def sums(self) -> bool:
        """Whether it sums channels: Vela's softmax has nothing behind that, its means are other work."""
        shape, primary = shape_of(self.nest, self.nest.extents), stages_of(self.nest).primary
        if shape is None or primary is None:
            return False
        return layer_of(self.core.hardware, self.nest, shape, primary).op == "sum"

    @property
    def chained(self) -> tuple[int, int]:
        """Cycles to write last blocks of results that only go on in a chain: of the array, and behind it."""
        core, result, stages = self.core, len(self.nest.reads), stages_of(self.nest)
        if not isinstance(core.hardware, Part85):
            return 0, 0
        behind = behind_of(core.hardware, stages.after) if stages.primary is not None else 0
        own = 0
        if behind and not self.alone and not self.sums and self.sites[result].place == "scratchpad":
            there = list(self.sites)
            there[result] = there[result]._replace(place="offchip")
            own = primary(self._work(tuple(there))) - primary(self._work(self.sites))
        later = 0
        for run in runs(core.hardware, stages.after[behind:]):
            if len(run) > 1 and is_pooling(run[0]):
                layer = pool_layer(run[0], self.nest.extents)
                choice = chosen(core.hardware, layer)
                for memory, sign in ((core.far, 1), (core.memory, -1)):
                    maps = Maps(Map(core.memory), Map(memory), 0)
                    later += sign * block_transfer(core.hardware, layer, choice, maps)[1]
        return own, later

    def between(self, part: Part) -> int:
        """Cycles that a part of a transposed convolution would take for all positions, beyond its own."""
        roles = roles_of(self.nest)
        if roles is None or len(roles.positions) != len(part.stride):
            return 0
        extents = list(self.nest.extents)
        for one, stride, first in zip(roles.positions, *part, strict=True):
            extents[one.axis] = extents[one.axis] * stride - first
        return primary(self._work(self.sites, tuple(extents))) - primary(self._work(self.sites))

    @property
    def repeated(self) -> Iterator[int]:
        """Cycles that constants would be waited for, pass by pass."""
        stages = stages_of(self.nest)
        if not isinstance(self.core.hardware, Part55):
            return
        for stage, taken in zip(
            stages.after, chains(self.core, stages.after, self.nest.extents), strict=True
        ):
            reads = [source for source in stage.operands if source.read is not None]
            times = [self._read(stage, source) for source in reads if source.axes < stage.axes]
            yield max(0, max(times, default=0) - taken.cycles)

    def _read(self, stage: Stage, source: Source) -> int:
        """Cycles to read a constant anew for each result; none for single numbers, and where it is copied."""
        number, extents = source.read, self.nest.extents
        assert number is not None
        deep, operand = prod(extents[axis] for axis in source.axes), self.model.operands[number]
        if deep == 1 or operand.kind != "constant" or self.sites[number].place != "offchip":
            return 0
        size, block = BYTES[source.type], self.block or deep
        results = points(stage, extents) // deep * up(deep, CHANNELS)
        moved = Map(self.core.far, plain=True).moved(
            results * size, size * (results if block == deep else block)
        )
        return self.core.far.cycles(moved, 0)

    def _copy(self, first: bool = False) -> int:
        """Cycles of the copy of the weights, with their biases and scales, or of the first slice."""
        model = self.model
        share = 1.0
        if first and (loops := model.section.loops):
            share = 1 / prod(loop.count for loop in loops)
        size = sum(model.operands[n].stored(model.operands[n].bytes) for n in self.weights)
        return copy_cycles(self.core, share * size)

    @property
    def first_read(self) -> int:
        """Cycles of the first block of the map, which the last of several slices does not wait for."""
        shape, primary = shape_of(self.nest, self._last), stages_of(self.nest).primary
        if not self.model.section.loops or shape is None or primary is None:
            return 0
        layer = layer_of(self.core.hardware, self.nest, shape, primary)
        source = self.core.at(self.live[shape.data])
        choice = chosen(self.core.hardware, layer)
        return block_transfer(self.core.hardware, layer, choice, Maps(source, source, 0))[0]

    @property
    def _last(self) -> tuple[int, ...]:
        """Extents of the last slice."""
        extents = list(self.nest.extents)
        for loop in self.model.section.loops:
            extents[loop.axis] -= loop.step * (loop.count - 1)
        return tuple(extents)

    def _work(self, sites: Sites, extents: tuple[int, ...] = ()) -> Work:
        return self.model.costs.work(self.nest, extents or self.nest.extents, sites)


def primary(work: Work) -> int:
    """Cycles of the array itself."""
    return work.cycles - passes(work)


def passes(work: Work) -> int:
    """Cycles of the passes before and after it."""
    return dict(work.detail).get("pass_cycles", 0)
