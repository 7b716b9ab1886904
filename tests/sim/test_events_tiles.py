"""Classes of tiles: each tile has the extents of its class, and moves boxes of the same shape."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import product
from math import prod

from hypothesis import given, settings
from hypothesis import strategies as st

from sim.events import Simulator
from sim.events.model import Models, Rates, SectionModel
from sim.events.sections import Run
from sim.events.sums import IDLE
from sim.events.sums import classes_of as tile_classes
from sim.events.tiles import Tiles, part_of_boxes, rows_and_run
from sim.machine.machine import Machine
from sim.planning import _Figures, _Group, _Look
from tests.planning.tiles import operand_box, tiles
from tests.sim.programs import SimpleCosts, machine_of, machines, programs
from tiling.expr import BYTES, const, read
from tiling.nest import Access, Affine, Axis, Nest, Write
from tiling.program import Image, Loop, Program, Section
from tiling.spread import moved


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
                assert kinds.boxes(access, image).box(classes[: image.level]) == expected


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
@given(programs(most=2))
def test_parts_of_full_boxes_are_no_more_than_all_tiles_move(program: Program) -> None:
    for section in program.sections:
        kinds = Tiles(section)
        for access, image in kinds.images:
            loops, extents = section.loops[: image.level], section.nest.extents
            full = prod(image.shape) * prod(extents[loop.axis] / loop.step for loop in loops)
            every = kinds.combinations(image.level)
            moved = sum(count * prod(kinds.boxes(access, image).box(classes)) for classes, count in every)
            assert full * part_of_boxes(section.nest, access, image, loops) <= moved * (1 + 1e-9)


def test_a_last_tile_beyond_the_border_is_no_part_of_full_boxes() -> None:
    source = Access("a", "i8", (8,), (Affine((2,)),), const(0, "i8"))
    target = Access("b", "i8", (5,), (Affine((1,)),))
    nest = Nest("map", (Axis("x", 5),), (source,), (Write(target, read(0, "i8")),))
    # Of two and a half times two elements, the first two tiles read all that there are.
    loops = (Loop(0, 2, 3),)
    assert part_of_boxes(nest, source, Image(0, (2,), 2, 1, 1, 2, (2,)), loops) == 4 / 5
    assert part_of_boxes(nest, target, Image(0, (2,), 2, 1), loops) == 1


def test_boxes_with_gaps_move_only_what_is_met() -> None:
    index = (Affine((2, 0), -1), Affine((0, 3)))
    source = Access("a", "i16", (20, 30), index, const(0, "i16"))
    target = Access("b", "i16", (10, 10), (Affine((1, 0)), Affine((0, 1))))
    nest = Nest("map", (Axis("y", 10), Axis("x", 10)), (source,), (Write(target, read(0, "i16")),))
    image = Image(0, (4, 10), 80, 1, 2, 80, (2, 3))
    kinds = Tiles(Section(nest, (Loop(0, 4, 3),), (image, None)))
    boxes = [kinds.boxes(source, image).box(classes) for classes in classes_of(kinds)]
    # Rows -1, 1, 3, 5, then 7 to 13, then 15 and 17; of each 10 columns that are 3 apart.
    assert boxes == [(3, 10), (4, 10), (2, 10)]
    assert rows_and_run(source, image, boxes[0]) == (30, 1)
    packed = Image(0, (4, 30), 240, 1, 1, 0, (2, 1))
    assert rows_and_run(source, packed, (3, 30)) == (3, 30)


def test_tiles_inside_of_borders_are_alike_along_rows_that_two_loops_move() -> None:
    source = Access("a", "i8", (50,), (Affine((1, 1), -1),), const(0, "i8"))
    target = Access("b", "i8", (50, 3), (Affine((1, 0)), Affine((0, 1))))
    nest = Nest("map", (Axis("y", 50), Axis("ky", 3)), (source,), (Write(target, read(0, "i8")),))
    kinds = Tiles(Section(nest, (Loop(0, 5, 10), Loop(1, 1, 3)), (Image(0, (5,), 5, 2), None)))
    assert [walk.runs for walk in kinds.walks] == [((0, 1), (1, 8), (2, 1)), ((0, 1), (1, 1), (2, 1))]


def test_full_rows_are_one_run() -> None:
    access = Access("a", "i8", (4, 5, 6), ())
    image = Image(0, (2, 5, 6), 60, 1)
    assert rows_and_run(access, image, (2, 5, 6)) == (1, 60)
    assert rows_and_run(access, image, (2, 3, 6)) == (2, 18)
    assert rows_and_run(access, image, (2, 5, 4)) == (10, 4)
    assert rows_and_run(Access("b", "i8", (), ()), Image(0, (), 1, 0), ()) == (1, 1)


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
    model = SectionModel(section, program.operands, Rates.of(machine_of()), SimpleCosts())
    moved = sum(
        model.moved(slot, classes).bytes * count
        for slot in model.slots
        if model.operands[slot.number].stored_bytes is None
        for classes, count in model.tiles.combinations(slot.image.level)
    )
    assert moved == expected


@settings(max_examples=200, deadline=None)
@given(programs(most=1), machines(), st.sampled_from([1, 4, 64]))
def test_a_section_is_followed_to_the_cycle_and_costs_no_less_than_the_least(
    program: Program, machine: Machine, points: int
) -> None:
    """The least may be beyond by latencies and cut boxes of a few tiles."""
    machine = machine.model_copy(update={"launch_overhead_cycles": 0})
    costs = SimpleCosts(points, 0)
    section: Section = program.sections[0]
    models = Models(Rates.of(machine), costs)
    group = _Group(_Figures.of(machine, models), section.nest, program.operands)
    moves, work = group.moves(section), group.work(section, tile_classes(section), IDLE)
    model = models.model(section, program.operands)
    cycles, _ = Simulator(machine, costs).follow(program)
    price = group.followed(model, moves, work)
    assert price.cost == group.cost(cycles, moves, work)
    margin = group.cost(200, moves, work) - group.cost(0, moves, work)
    surely = group.surely(_Look(section, moves, [], work, []))
    assert group.least(moves, work, moves.early) <= surely.cost <= 1.1 * price.cost + margin
    assert group.figures.price.cycle * group.quiet(section, work) >= price.idle


@settings(max_examples=100, deadline=None)
@given(programs(), machines())
def test_sections_that_are_alike_run_as_if_each_were_worked_out_alone(
    program: Program, machine: Machine
) -> None:
    rates, costs = Rates.of(machine), SimpleCosts()
    models = Models(rates, costs)
    again = replace(
        program,
        sections=(*program.sections, *[moved(one, 64) for one in program.sections], *program.sections),
    )
    runs = []
    for model in (models.model, lambda section, operands: SectionModel(section, operands, rates, costs)):
        known = [model(section, again.operands) for section in again.sections]
        run = Run(again, rates, 0)
        for one in known:
            run.section(one, True)
        run.finish()
        runs.append((run.cycles, [(ran.start, ran.end, ran.cycles) for ran in run.ran], run.pad.ranges))
    assert runs[0] == runs[1]
    section = again.sections[0]
    first, other = (models.model(one, again.operands) for one in (section, moved(section, 64)))
    assert other.results is first.results
    assert (
        SectionModel(section, again.operands, rates, costs).tiles
        is models.model(section, again.operands).tiles
    )


@settings(max_examples=50, deadline=None)
@given(programs(most=1), machines())
def test_a_section_has_another_model_where_its_operands_are_elsewhere(
    program: Program, machine: Machine
) -> None:
    rates, costs, (section,) = Rates.of(machine), SimpleCosts(), program.sections
    models, further = (
        Models(rates, costs),
        {name: replace(one, offset=one.offset + 64) for name, one in program.operands.items()},
    )
    first = models.model(section, program.operands)
    assert models.model(section, program.operands) is first
    other, alone = models.model(section, further), SectionModel(section, further, rates, costs)
    assert (other.used, other.pad_reads, other.pad_writes) == (alone.used, alone.pad_reads, alone.pad_writes)
