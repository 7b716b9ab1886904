"""Laws of plans: tiles partition the domain, boxes cover what is touched, commands say what sections say."""

from __future__ import annotations

from itertools import pairwise
from math import prod

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.planning.drawing import Chain, chains
from tests.planning.tiles import operand_box, points, tiles, touched
from tiling.expr import BYTES, read
from tiling.nest import Access, Affine, Axis, Nest, Write
from tiling.plan import plan
from tiling.planner import Infeasible
from tiling.program import Opcode, Operand, Program, box_shape
from tiling.target import Target

targets = st.sampled_from(
    [Target("tight", 64, 4), Target("small", 200, 4), Target("cores", cores=3, tile_points=2)]
)


def planned(chain: Chain, target: Target) -> Program | Infeasible:
    operands = {name: Operand(name, "i32", prod(shape), "temporary") for name, shape in chain.shapes.items()}
    return plan(chain.nests, operands, target)


@st.composite
def programs(draw: st.DrawFn) -> Program:
    program = planned(draw(chains()), draw(targets))
    assume(isinstance(program, Program) and program.sections)
    assert isinstance(program, Program)
    return program


@given(programs())
def test_tiles_cover_each_point_once(program: Program) -> None:
    for section in program.sections:
        visits = np.zeros(section.nest.extents, int)
        for _, box in tiles(section):
            visits[tuple(slice(first, end) for first, end in box)] += 1
        assert np.all(visits == 1), str(section.nest)


@given(programs())
def test_reduced_axes_are_cut_by_the_innermost_loops(program: Program) -> None:
    for section in program.sections:
        reduced = [section.nest.axes[loop.axis].reduced for loop in section.loops]
        assert reduced == sorted(reduced)


@given(programs())
def test_boxes_in_the_scratchpad_hold_all_that_a_tile_touches(program: Program) -> None:
    for section in program.sections:
        for access, image in zip(section.nest.accesses, section.images, strict=True):
            for _, box in tiles(section):
                within = operand_box(access, box)
                if image is not None:
                    pairs = zip(within, image.shape, strict=True)
                    assert all(end - first <= extent for (first, end), extent in pairs)
                    assert image.bytes == prod(image.shape) * BYTES[access.type]
                if not access.indirect:
                    assert touched(access, box) <= set(points(within))


@given(programs())
def test_boxes_that_are_stored_are_written_in_full(program: Program) -> None:
    for section in program.sections:
        first = len(section.nest.reads)
        for access, image in list(zip(section.nest.accesses, section.images, strict=True))[first:]:
            if image is not None:
                for _, box in tiles(section):
                    assert touched(access, box) == set(points(operand_box(access, box)))


def test_results_with_gaps_are_written_where_they_are() -> None:
    source = Access("a", "i32", (8,), (Affine((1,)),))
    target = Access("b", "i32", (16,), (Affine((2,), 1),))
    nest = Nest("move", (Axis("x", 8),), (source,), (Write(target, read(0, "i32")),))
    operands = {"a": Operand("a", "i32", 8, "input"), "b": Operand("b", "i32", 16, "output")}
    program = plan([nest], operands, Target("small", 16, 4))
    assert isinstance(program, Program)
    load, store = program.sections[0].images
    assert load is not None
    assert store is None


@given(programs())
def test_a_box_stays_where_it_is_while_only_inner_loops_move(program: Program) -> None:
    for section in program.sections:
        for access, image in zip(section.nest.accesses, section.images, strict=True):
            if image is not None:
                seen: dict[tuple[int, ...], object] = {}
                for counts, box in tiles(section):
                    here = operand_box(access, box)
                    assert seen.setdefault(counts[: image.level], here) == here


@given(programs())
def test_commands_and_loops_say_what_the_sections_say(program: Program) -> None:
    names = list(program.operands)
    commands, loops = program.commands, program.loops
    assert list(commands["section"]) == sorted(commands["section"])
    for number, section in enumerate(program.sections):
        rows = [tuple(row)[1:] for row in loops[loops["section"] == number]]
        extents = section.nest.extents
        assert rows == [(loop.axis, extents[loop.axis], loop.step, loop.count) for loop in section.loops]
        own = commands[commands["section"] == number]
        transfers = own[own["opcode"] != Opcode.COMPUTE]
        accesses = section.nest.accesses
        assert [names[row["operand"]] for row in transfers] == [
            accesses[row["access"]].operand for row in transfers
        ]
        images = [(n, i) for n, i in enumerate(section.images) if i is not None]
        assert [tuple(row) for row in transfers[["access", "level", "address", "bytes"]]] == [
            (number, image.level, image.address, image.bytes) for number, image in images
        ]


@given(programs())
def test_a_section_loads_then_computes_then_stores(program: Program) -> None:
    commands = program.commands
    for number, section in enumerate(program.sections):
        own = commands[commands["section"] == number]
        assert list(own["opcode"]) == sorted(own["opcode"])
        (compute,) = own[own["opcode"] == Opcode.COMPUTE]
        assert compute["level"] == len(section.loops)
        loads = own[own["opcode"] == Opcode.LOAD]["access"]
        assert all(access < len(section.nest.reads) for access in loads)


@given(programs())
def test_the_largest_box_of_a_tile_follows_from_its_size_alone(program: Program) -> None:
    for section in program.sections:
        for access in section.nest.accesses:
            sizes = [[e - f for f, e in operand_box(access, box)] for _, box in tiles(section)]
            assert all(np.all(np.array(size) <= box_shape(access, section.tile)) for size in sizes)


@given(chains(), st.sampled_from([8, 16, 40, 100]))
def test_what_does_not_fit_says_how_much_would(chain: Chain, capacity: int) -> None:
    for _ in chain.nests:
        found = planned(chain, Target("small", capacity, 4))
        if isinstance(found, Program):
            return
        assert found.resource == "scratchpad"
        assert found.demand > found.bound == capacity
        words = (found.demand, found.bound, found.resource, found.remedy, found.why, *found.members)
        assert found.why
        assert all(str(word) in str(found) for word in words)
        needed, capacity = found.members, found.demand
        after = planned(chain, Target("small", capacity, 4))
        assert isinstance(after, Program) or after.members != needed


@given(chains(), st.sampled_from([16, 40, 100]), st.integers(0, 64))
def test_what_fits_a_scratchpad_fits_a_larger_one(chain: Chain, capacity: int, more: int) -> None:
    if isinstance(planned(chain, Target("small", capacity, 4)), Program):
        assert isinstance(planned(chain, Target("larger", capacity + more, 4)), Program)


@given(chains())
def test_temporaries_that_are_needed_at_once_have_memory_of_their_own(chain: Chain) -> None:
    program = planned(chain, Target("host", alignment=8))
    assert isinstance(program, Program)
    spans: dict[str, list[int]] = {}
    for step, section in enumerate(program.sections):
        for name in section.nest.operands:
            spans.setdefault(name, []).append(step)
    for step in range(len(program.sections)):
        live = [program.operands[n] for n, s in spans.items() if s[0] <= step <= s[-1]]
        ranges = sorted((operand.offset, operand.offset + operand.bytes) for operand in live)
        assert all(end <= start for (_, end), (start, _) in pairwise(ranges))
        assert all(start % 8 == 0 and end <= program.arena_bytes for start, end in ranges)


affine = st.builds(
    lambda c, o: Affine(tuple(c), o), st.lists(st.integers(-3, 3), min_size=2, max_size=2), st.integers(-4, 4)
)
boxes = st.tuples(*[st.tuples(st.integers(0, 3), st.integers(1, 4)).map(lambda t: (t[0], t[0] + t[1]))] * 2)


@given(affine, boxes)
def test_a_span_is_what_brute_force_finds(index: Affine, box: tuple[tuple[int, int], ...]) -> None:
    values = [
        index.offset + sum(c * p for c, p in zip(index.coefficients, point, strict=True))
        for point in points(box)
    ]
    assert index.span([f for f, _ in box], [e for _, e in box]) == (min(values), max(values))


@given(affine, affine, affine, st.integers(-3, 3), boxes)
def test_indices_add_up_and_compose(
    a: Affine, b: Affine, c: Affine, factor: int, box: tuple[tuple[int, int], ...]
) -> None:
    def value(index: Affine, point: tuple[int, ...]) -> int:
        return index.offset + sum(k * p for k, p in zip(index.coefficients, point, strict=True))

    for point in points(box):
        assert value(a + b, point) == value(a, point) + value(b, point)
        assert value(a * factor, point) == value(a, point) * factor
        assert value(a.compose([b, c], 2), point) == value(a, (value(b, point), value(c, point)))
