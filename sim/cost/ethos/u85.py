"""Blocks of the Ethos-U85: what fits into its buffers for maps and sums."""

from __future__ import annotations

import numpy as np

from sim.cost.ethos.area import GRANULE, LARGEST, area_block
from sim.cost.ethos.parts import Choice, Job, Part85, Shape, up
from sim.cost.ethos.search import FLOAT, Array, Candidates, best, depths, rounded, traffic


def part_kernel(job: Job) -> bool:
    """Whether the elements of the kernel fill the array better than channels do."""
    deep, window = job.input.depth, job.kernel[0] * job.kernel[1]
    fives = 10 if job.sparse else 5
    taps = window // fives * fives + max(window % fives, 4 if job.sparse else 2)
    return deep / up(deep, 16) * (window / taps) >= deep / up(deep, 128 if job.sparse else 64)


def choose(part: Part85, job: Job) -> Choice | None:
    """The block that Vela's criteria prefer, or None if none fits."""
    partly = job.op == "convolution" and not job.dynamic and part_kernel(job)
    micro = microblock(part, job, partly)
    if micro is None:
        return None
    deep = input_depth(part, job, partly, micro)
    if job.op == "convolution":
        return _convolution(part, job, micro, partly, deep)
    output, source = area_block(part, job, micro, deep if job.op == "sum" else 0)
    return Choice(output, source, micro, False)


def input_depth(part: Part85, job: Job, partly: bool, micro: Shape) -> int:
    """Channels of the map that are held at a time."""
    if partly:
        return 16
    if job.bits == 32 or (part.macs <= 256 and micro.depth == 16 and not job.sparse):
        return 32
    return 128 if job.sparse and job.bits == 8 else 64


def microblock(part: Part85, job: Job, partly: bool) -> Shape | None:
    """Of the microblocks that can do the job, the first of those that waste least."""
    allowed = [micro for micro in part.microblocks if _able(part, job, micro, partly)]
    return min(allowed, key=lambda micro: job.output.rounded(micro).elements, default=None)


def _able(part: Part85, job: Job, micro: Shape, partly: bool) -> bool:
    """Whether a microblock can do the job: a table of the part, after its size and the map's bits."""
    if part.macs >= 512:
        if job.bits == 32:
            return job.op == "sum" and micro.depth == 16
        return job.op == "convolution" or part.macs == 512 or micro.depth == 16
    deep = micro.depth == 16
    if job.op == "convolution":
        single = job.kernel == (1, 1) and not partly and job.bits == 16 and not job.dynamic
        return single if deep else True
    if job.op == "sum" or job.bits == 32:
        return not deep and job.op == "sum"
    return deep if job.bits == 8 else not deep


def _convolution(part: Part85, job: Job, micro: Shape, partly: bool, deep: int) -> Choice | None:
    """The block with the least traffic, or the largest where nothing is read twice."""
    step = Shape(micro.height, micro.width, max(micro.depth, GRANULE))
    limits = job.output.within(LARGEST)
    end = Shape(*map(max, limits, step)).rounded(micro)
    start = max(micro.depth, min(end.depth, GRANULE))
    unit = part.unit(deep, job.bits, micro)
    held = up(min(deep, job.input.depth), unit.depth)
    most = part.sum_bytes * 8 // (64 if job.wide else 32)
    for copies in (2, 1):
        room = most // copies // GRANULE
        blocks = Candidates(
            job,
            depths(start, micro.depth, min(end.depth, room // micro.area * GRANULE), job.output.depth),
            range(step.height, min(end.height, room // micro.width) + 1, step.height),
            range(step.width, min(end.width, room // micro.height) + 1, step.width),
        )
        if not all(blocks.shape):
            continue
        rows = rounded(blocks.rows, unit.height)
        columns = rounded(blocks.columns, unit.width)
        sums = blocks.height * blocks.width * -(-blocks.depth // GRANULE)
        fits = (sums <= room) & (rows * columns * held * (job.bits // 8) * copies <= part.input_bytes)
        found = _cheapest(job, blocks, rows, columns, fits, deep)
        if found is not None:
            block = blocks.at(found)
            high, wide = job.needed(block)
            return Choice(block, Shape(up(high, unit.height), up(wide, unit.width), deep), micro, partly)
    return None


def _cheapest(
    job: Job, blocks: Candidates, rows: Array, columns: Array, fits: Array, deep: int
) -> int | None:
    one = job.spread == (job.input.height, job.input.width) and job.output.area == 1
    height, width, depth = blocks.height, blocks.width, blocks.depth
    if one or job.dynamic:
        cost = FLOAT(job.output.elements) / (height.astype(FLOAT) * width * depth)
    else:
        cost = traffic(job, blocks, (rows, columns), height, equal=False, joint=True)
    whole = job.input.elements < rows * columns * deep * 2
    cost = np.broadcast_to(np.where(whole, cost / FLOAT(2), cost), fits.shape)
    small = np.ones((1, 1, 1), bool) if job.dynamic else (height <= 4) & (width <= 4)
    area = np.minimum(rows, job.input.height) * np.minimum(columns, job.input.width)
    return best(cost, fits, small, area)
