"""How random graphs are fused, cut and placed stays as it is, on machines of several kinds of memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache

import pytest

from tests.planning.estimates import each
from tests.strategies import random_graph
from tiling.nest import Access, Affine
from tiling.plan import plan as planned
from tiling.planner import Infeasible
from tiling.program import Operand, Section, box_bytes
from tiling.target import Target
from tosajit.compiler.options import Options
from tosajit.compiler.planning import ROOMY
from tosajit.compiler.segment import Groups
from tosajit.compiler.stages import fuse
from tosajit.runtime.body import Compute
from tosajit.runtime.build import build

SEEDS = range(40)
TARGETS = {
    "host": Target("host", alignment=64, cores=2, tile_points=64),
    "values inside": Target("inside", 1 << 10, values="scratchpad", weights="scratchpad", alignment=16),
    "constants inside": Target("constants", 700, constants="scratchpad", alignment=4, strided=True),
    "direct": Target("direct", 600, direct=True, alignment=8),
    "tight": Target("tight", 200, alignment=4, double_buffering=False),
}


@cache
def parts(seed: int) -> tuple[Groups, ...]:
    """The parts of a random graph that compute, as they are for a machine with a scratchpad."""
    graph = random_graph(seed, maximum_operators=8, maximum_elements=600).graph
    steps = build(graph, Options(ROOMY, run=False)).steps
    return tuple(step.groups for step in steps if isinstance(step, Compute))


@pytest.mark.parametrize("seed", SEEDS)
def test_groups_and_programs_are_as_they_were(seed: int, golden: Callable[[str, str], None]) -> None:
    golden(f"groups_{seed}", "\n".join(line for groups in parts(seed) for line in lines(groups)))


def lines(groups: Groups) -> Iterator[str]:
    """The groups of a part, and the sections of its programs, with and without an estimate."""
    for name, target in TARGETS.items():
        found = fuse(groups.segment, Options(target))
        nests = found.nests
        yield f"{name}: {len(nests)} groups"
        for nest in nests if name in ("host", "tight") else ():
            yield f"  {nest.verb} {nest.extents}: {'; '.join(map(walked, nest.accesses))}"
        for estimate in (None, each(bytes_and_tiles)) if target.scratch_bytes else (None,):
            program = planned(nests, found.operands, target, estimate)
            if isinstance(program, Infeasible):
                yield f"  {program.resource} {program.demand} of {program.bound}"
                continue
            inside = [o.name for o in program.operands.values() if o.place == "scratchpad"]
            yield f"  {program.arena_bytes} {program.scratch_bytes} {' '.join(inside)}"
            for section in program.sections:
                yield f"    {cut(section)}"


def walked(access: Access) -> str:
    """The shape of what is read or written, and how the axes walk it."""
    steps = [
        f"{''.join(f'{c:+}' for c in index.coefficients)}{index.offset:+}"
        if isinstance(index, Affine)
        else "data"
        for index in access.index
    ]
    filled = ["filled"] if access.fill is not None else []
    return " ".join([access.operand, access.type, str(list(access.shape)), *steps, *filled])


def cut(section: Section) -> str:
    """The loops of a section and its boxes."""
    loops = " ".join(f"{loop.axis}:{loop.step}x{loop.count}" for loop in section.loops)
    boxes = " ".join(
        "-" if image is None else f"{image.address}+{image.bytes}x{image.copies}@{image.level}"
        for image in (*section.images, *filter(None, [section.accumulator]))
    )
    return f"{section.nest.verb} {loops}{' shared' if section.shared else ''}; {boxes}"


def bytes_and_tiles(section: Section, operands: Mapping[str, Operand]) -> float:
    """An estimate that weighs bytes moved, tiles, and copies that let transfers hide."""
    total = 50.0 * section.tiles
    for access, image in zip(section.nest.accesses, section.images, strict=True):
        operand = operands[access.operand]
        if image is None:
            far = operand.place == "offchip"
            total += 3 * section.tiles * box_bytes(access, section.tile) if far else 0
            continue
        times = 1
        for loop in section.loops[: image.level]:
            times *= loop.count
        total += operand.stored(image.bytes) * times / image.copies
    return total
