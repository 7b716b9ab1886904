"""Classes of tiles: each tile has the extents of its class, and moves boxes of the same shape."""

from __future__ import annotations

from collections import Counter
from itertools import product
from math import prod

from hypothesis import given, settings
from hypothesis import strategies as st

from sim.events import Simulator
from sim.events.model import Model, Rates
from sim.events.tiles import Tiles
from sim.machine.machine import Machine
from sim.planning import estimator
from tests.planning.tiles import operand_box, tiles
from tests.sim.programs import SimpleCosts, machine_of, machines, programs
from tiling.expr import BYTES
from tiling.program import Program, Section


def classes_of(kinds: Tiles) -> list[tuple[int, ...]]:
    """The class of every tile, in order."""
    rows = [[number for number, count in walk.runs for _ in range(count)] for walk in kinds.walks]
    return list(product(*rows))


@settings(max_examples=100, deadline=None)
@given(programs(most=2))
def test_tiles_of_a_class_are_alike(program: Program) -> None:
    for section in program.sections:
        kinds = Tiles(section)
        for (_, box), classes in zip(tiles(section), classes_of(kinds), strict=True):
            assert kinds.extents(classes) == tuple(end - first for first, end in box)
            for access, image in kinds.images:
                expected = tuple(max(end - first, 0) for first, end in operand_box(access, box))
                assert kinds.box(access, image, classes[: image.level]) == expected


@settings(max_examples=100, deadline=None)
@given(programs(most=2))
def test_classes_count_every_tile(program: Program) -> None:
    for section in program.sections:
        kinds = Tiles(section)
        for depth in range(len(section.loops) + 1):
            counted = {classes: count for classes, count in kinds.combinations(depth) if count}
            every = Counter(classes[:depth] for classes in classes_of(kinds))
            inner = prod(loop.count for loop in section.loops[depth:])
            assert {classes: count * inner for classes, count in counted.items()} == every


@settings(max_examples=100, deadline=None)
@given(programs(most=1))
def test_bytes_are_those_of_the_boxes_that_the_driver_moves(program: Program) -> None:
    section = program.sections[0]
    expected = 0
    for number, (access, image) in enumerate(zip(section.nest.accesses, section.images, strict=True)):
        if image is None or program.operands[access.operand].stored_bytes is not None:
            continue
        period = prod(loop.count for loop in section.loops[image.level :])
        for tile, (_, box) in enumerate(tiles(section)):
            at = tile % period
            if at == (0 if number < len(section.nest.reads) else period - 1):
                size = prod(max(end - first, 0) for first, end in operand_box(access, box))
                expected += size * BYTES[access.type]
    model = Model(section, program.operands, Rates.of(machine_of()), SimpleCosts())
    moved = sum(
        model.moved(slot, classes).bytes * count
        for slot in model.slots
        if model.operands[slot.number].stored_bytes is None
        for classes, count in model.tiles.combinations(slot.image.level)
    )
    assert moved == expected


@settings(max_examples=200, deadline=None)
@given(programs(most=1), machines(), st.sampled_from([1, 4, 64]))
def test_the_estimate_of_a_section_is_near_what_it_takes(
    program: Program, machine: Machine, points: int
) -> None:
    """Within a factor of two, apart from latencies and cut boxes of a few tiles."""
    machine = machine.model_copy(update={"launch_overhead_cycles": 0})
    costs = SimpleCosts(points, 0)
    section: Section = program.sections[0]
    estimate = estimator(machine, costs)(section, program.operands)
    cycles = Simulator(machine, costs).simulate(program).cycles
    assert estimate <= 2 * cycles + 200
    assert cycles <= 2 * estimate + 200
