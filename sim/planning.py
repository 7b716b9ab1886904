"""How long one section takes, as a closed form: what the planner compares its choices by."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from math import prod

from sim.cost.reach import scales
from sim.cost.transfer import Transfers, cycles_of, far_rate, port_rate
from sim.events.model import CostModel
from sim.events.tiles import rows_and_run
from sim.machine.machine import Machine
from tiling.expr import BYTES
from tiling.nest import Access
from tiling.program import Image, Operand, Section

Estimate = Callable[[Section, Mapping[str, Operand]], float]
SPARED = 1.5
"""What a cycle of the off-chip memory is worth that nothing waits for: others may want it, and its energy."""


def estimator(machine: Machine, costs: CostModel | None = None) -> Estimate:
    """The estimate for a machine: cycles of a section that has the machine to itself.

    Whatever works beside each other takes as long as the slowest: the unit, the DMA, the two memories. Where
    a buffer is filled only when the tile before has left it, the transfer is added to the unit's time.
    Constants come while the group before is at work; what units fetch themselves waits for transfers.
    """
    if costs is None:
        from sim.cost.costs import Costs

        costs = Costs.of(machine.model_copy(update={"launch_overhead_cycles": 0}))
    return _Estimator(machine, costs).cycles


class _Estimator:
    """A machine's figures, looked up once."""

    def __init__(self, machine: Machine, costs: CostModel) -> None:
        self.costs, self.transfers = costs, Transfers(machine)
        self.port, self.far = port_rate(machine), far_rate(machine)
        self.scales = far_rate(machine, scales=True)
        self.latency = self.transfers.read_latency, machine.scratchpad.read_latency_cycles
        self.channels = min(machine.dma.channels, 2)

    def cycles(self, section: Section, operands: Mapping[str, Operand]) -> float:
        """The estimate."""
        unit, alone, offchip, pad = self._tiles(section, operands)
        far = offchip
        loads = stores = behind = ends = 0.0
        reads, shown = len(section.nest.reads), _shown(section)
        for number, (access, image) in enumerate(shown):
            if image is None:
                continue
            write = number >= reads
            count, share = _count(section, image)
            rows, run, size = _transfer(access, image, operands[access.operand])
            time = self.transfers.cycles(rows, run, write)
            offchip += self.transfers.port_cycles(rows, run) * count * share
            pad += cycles_of(size, self.transfers.inside) * count * share
            total = time * count * share
            ends += time if operands[access.operand].kind != "constant" else 0
            if image.copies == 1:
                behind += total - time
            if write:
                stores += total
            else:
                loads += total
        dma = max(loads, stores) if self.channels > 1 else loads + stores
        turns = dma if far else 0.0
        busy = dma + alone if unit == "dma" else max(alone + behind + ends + turns, dma)
        return max(busy, offchip, pad) + SPARED * offchip

    def _tiles(self, section: Section, operands: Mapping[str, Operand]) -> tuple[str, float, float, float]:
        """Of all tiles: the unit, its cycles when it waits for nothing else, and times of the memories."""
        alone = offchip = pad = 0
        unit = "vector"
        for tile, count in _classes(section):
            work = self.costs.work(section.nest, tile)
            far = near = stream = slow = factors = 0
            of_channels = scales(section.nest)
            for number, ((access, image), size) in enumerate(
                zip(_shown(section), work.traffic, strict=False)
            ):
                operand = operands[access.operand]
                size = operand.stored(size)
                if image is None and operand.place == "offchip":
                    far += size
                    if number in of_channels:
                        factors += size
                    else:
                        slow = max(slow, size)
                else:
                    near, stream = near + size, max(stream, size)
            by_far, by_near = cycles_of(far, self.transfers.rate), cycles_of(near, self.transfers.inside)
            unit, offchip, pad = work.unit, offchip + count * by_far, pad + count * by_near
            one = max(by_near, cycles_of(stream, self.port)) + self.latency[1] if near else 0
            streamed = max(cycles_of(slow, self.far), cycles_of(factors, self.scales))
            other = max(by_far, streamed) + self.latency[0] if far else 0
            alone += count * max(work.cycles, other, one)
        return unit, alone, offchip, pad


def _shown(section: Section) -> list[tuple[Access, Image | None]]:
    count = len(section.nest.reads) + len(section.nest.writes)
    return list(zip(section.nest.accesses[:count], section.images[:count], strict=True))


def _classes(section: Section) -> list[tuple[tuple[int, ...], int]]:
    """Extents of tiles, full and cut, with how many there are of each."""
    loops = section.loops
    choices: list[Sequence[tuple[int, int]]] = []
    for loop in loops:
        rest = section.nest.axes[loop.axis].extent - loop.step * (loop.count - 1)
        cut = rest != loop.step
        choices.append([(loop.step, loop.count - cut), (rest, 1)] if cut else [(loop.step, loop.count)])
    tile = list(section.nest.extents)
    found = []
    for picked in product(*choices):
        for loop, (steps, _) in zip(loops, picked, strict=True):
            tile[loop.axis] = steps
        count = prod(count for _, count in picked)
        if count:
            found.append((tuple(tile), count))
    return found


def _count(section: Section, image: Image) -> tuple[int, float]:
    """How often a box is moved, and how large it is on average, of its full size."""
    count, share = 1, 1.0
    for loop in section.loops[: image.level]:
        count *= loop.count
        share *= section.nest.axes[loop.axis].extent / (loop.step * loop.count)
    return count, share


def _transfer(access: Access, image: Image, operand: Operand) -> tuple[int, int, int]:
    """Rows and bytes of a row of a full box in the memory, and its bytes."""
    if operand.stored_bytes is not None and operand.kind == "constant":
        size = operand.stored(image.bytes)
        return 1, size, size
    rows, run = rows_and_run(access, image, image.shape)
    return rows, run * BYTES[access.type], image.bytes
