"""Tensors in the scratchpad, boxes that take turns, and boxes with gaps: bits, addresses and choices."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from math import prod
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.planning.drawing import Chain, chains
from tests.planning.estimates import each
from tests.planning.running import meaning, tensors_of
from tiling.expr import Expr, acc, read
from tiling.nest import Access, Affine, Axis, Nest, Reduction, Write
from tiling.plan import plan
from tiling.planner import Infeasible
from tiling.program import Operand, Program, Section
from tiling.target import Place, Target
from tosajit.compiler.options import Options
from tosajit.compiler.segment import Groups, Planned, Segment
from tosajit.compiler.stages import since, through
from tosajit.kernels.runner import Runner

places = st.sampled_from(["scratchpad", "offchip"])
targets = st.builds(
    Target,
    st.just("drawn"),
    st.sampled_from([64, 96, 200, 1000, 100_000]),
    st.sampled_from([4, 16]),
    weights=places,
    constants=places,
    values=places,
    direct=st.booleans(),
    strided=st.booleans(),
)


def anything(seed: int) -> object:
    """An estimate that prefers whatever the seed says."""
    random = Random(seed)
    return each(lambda section, operands: random.random())


def operands_of(chain: Chain, outputs: set[str], constants: set[str]) -> dict[str, Operand]:
    kinds = dict.fromkeys(chain.inputs, "input") | dict.fromkeys(outputs, "output")
    kinds |= dict.fromkeys(constants, "constant")
    return {
        name: Operand(name, "i32", prod(shape), kinds.get(name, "temporary"))  # type: ignore[arg-type]
        for name, shape in chain.shapes.items()
    }


@settings(max_examples=25, deadline=None)
@given(chains(), targets, st.integers(0, 99), st.booleans())
def test_programs_compute_what_nests_mean_wherever_tensors_live(
    chain: Chain, target: Target, seed: int, fixed: bool
) -> None:
    if not chain.nests:
        return
    result, expected, shaped = meaning(chain, seed)
    constants = {name: shaped[name] for name in sorted(chain.inputs)[1:]} if fixed else {}
    inputs = [name for name in chain.inputs if name not in constants]
    nests = tuple(chain.nests)
    groups = Groups(Segment("drawn", nests, tensors_of(chain), tuple(inputs), (result,), constants), nests)
    program = plan(nests, groups.operands, target, anything(seed))  # type: ignore[arg-type]
    if isinstance(program, Infeasible):
        return
    made = Runner(through(since("emit"), Planned(groups, program), Options(target)))
    for _ in range(2):
        np.testing.assert_array_equal(made.run([shaped[n] for n in inputs])[0].reshape(-1), expected)


@given(chains(), targets, st.integers(0, 99))
def test_what_is_in_the_scratchpad_at_once_never_overlaps(chain: Chain, target: Target, seed: int) -> None:
    outputs = {chain.nests[-1].writes[0].access.operand} if chain.nests else set()
    operands = operands_of(chain, outputs, set())
    program = plan(chain.nests, operands, target, anything(seed))  # type: ignore[arg-type]
    if isinstance(program, Infeasible):
        assert program.demand > program.bound
        return
    assert program.scratch_bytes <= (target.scratch_bytes or 0)
    uses: dict[str, list[int]] = {}
    for step, section in enumerate(program.sections):
        for name in section.nest.operands:
            uses.setdefault(name, []).append(step)
    for step, section in enumerate(program.sections):
        spans = [(image.address, image.end) for image in section.images if image is not None]
        if section.accumulator is not None:
            spans.append((section.accumulator.address, section.accumulator.end))
        for name, steps in uses.items():
            operand = program.operands[name]
            first = 0 if operand.kind == "input" else steps[0]
            last = len(program.sections) if operand.kind == "output" else steps[-1]
            if operand.place == "scratchpad" and first <= step <= last:
                spans.append((operand.offset, operand.offset + operand.bytes))
        spans.sort()
        assert all(end <= start for (_, end), (start, _) in pairwise(spans))
        assert all(0 <= start and end <= program.scratch_bytes for start, end in spans)


@given(chains(), targets)
def test_values_off_chip_come_in_boxes_unless_units_reach_out(chain: Chain, target: Target) -> None:
    program = plan(chain.nests, operands_of(chain, set(), set()), target)
    if isinstance(program, Infeasible) or target.direct:
        return
    for section in program.sections:
        for access, image in zip(section.nest.reads, section.images, strict=False):
            place = program.operands[access.operand].place
            assert place == "scratchpad" or access.indirect or image is not None
            assert place == "offchip" or image is None


def layer(width: int) -> tuple[Nest, dict[str, Operand]]:
    """A matrix product with constant weights."""
    left = Access("a", "i8", (40, 64), (Affine((1, 0, 0)), Affine((0, 0, 1))))
    right = Access("w", "i8", (64, width), (Affine((0, 0, 1)), Affine((0, 1, 0))))
    target = Access("c", "i32", (40, width), (Affine((1, 0, 0)), Affine((0, 1, 0))))
    axes = (Axis("y", 40), Axis("x", width), Axis("k", 64, reduced=True))
    reduction = Reduction("add", 0, "i32", Expr("mul_i32", (read(0, "i8"), read(1, "i8")), "i32"))
    nest = Nest("contract", axes, (left, right), (Write(target, acc("i32")),), reduction, ("layer",))
    operands = {
        "a": Operand("a", "i8", 40 * 64, "input"),
        "w": Operand("w", "i8", 64 * width, "constant"),
        "c": Operand("c", "i32", 40 * width, "output"),
    }
    return nest, operands


def test_a_layer_stays_whole_while_its_weights_come_in_slices() -> None:
    nest, operands = layer(256)

    def slices(section: Section, found: object) -> float:
        weights = section.images[1]
        return (
            abs(section.tiles - 8)
            + len(section.loops)
            + (1.0 if weights is None else 0.1 * (2 - weights.copies))
        )

    target = Target("npu", 64 << 10, values="scratchpad", direct=True)
    program = plan([nest], operands, target, each(slices))
    assert isinstance(program, Program)
    (section,) = program.sections
    left, weights, result = section.images
    assert left is result is None
    assert weights is not None
    assert (weights.copies, weights.level, weights.pitch) == (2, 1, 64 * 32)
    assert section.tile == (40, 32, 64)
    assert {o.place for o in program.operands.values() if o.kind != "constant"} == {"scratchpad"}


def test_places_and_turns_are_shown(golden: Callable[[str, str], None]) -> None:
    nest, operands = layer(256)

    def slices(section: Section, found: object) -> float:
        weights = section.images[1]
        return abs(section.tiles - 8) + len(section.loops) + (0 if weights and weights.copies == 2 else 1)

    target = Target("npu", 64 << 10, values="scratchpad", direct=True)
    program = plan([nest], operands, target, each(slices))
    assert isinstance(program, Program)
    golden("npu", str(program))
    (load, compute) = program.commands
    assert (load["copies"], load["pitch"], load["bytes"]) == (2, 64 * 32, 64 * 32)
    assert (compute["copies"], compute["pitch"]) == (0, 0)


@pytest.mark.parametrize("place", ["scratchpad", "offchip"])
def test_constants_live_where_the_target_says(place: Place) -> None:
    nest, operands = layer(16)
    program = plan([nest], operands, Target("npu", 64 << 10, weights=place))
    assert isinstance(program, Program)
    assert program.operands["w"].place == place


def test_what_does_not_fit_beside_the_others_stays_off_chip() -> None:
    nest, operands = layer(256)
    target = Target("npu", 24 << 10, weights="scratchpad", values="scratchpad")
    program = plan([nest], operands, target)
    assert isinstance(program, Program)
    assert program.operands["c"].place == "offchip"
    assert program.scratch_bytes <= 24 << 10


def test_a_box_leaves_out_what_a_stride_skips() -> None:
    source = Access("a", "i32", (16, 4), (Affine((2, 0), 1), Affine((0, 1))))
    target = Access("b", "i32", (8, 4), (Affine((1, 0)), Affine((0, 1))))
    nest = Nest("move", (Axis("y", 8), Axis("x", 4)), (source,), (Write(target, read(0, "i32")),))
    operands = {"a": Operand("a", "i32", 64, "input"), "b": Operand("b", "i32", 32, "output")}
    shapes = []

    def few(section: Section, found: object) -> float:
        return section.tiles

    for strided in (True, False):
        program = plan([nest], operands, Target("npu", 1000, 4, strided=strided), each(few))
        assert isinstance(program, Program)
        (image, _) = program.sections[0].images
        assert image is not None
        shapes.append((image.shape, image.steps))
    assert shapes == [((8, 4), (2, 1)), ((15, 4), ())]


def test_equal_groups_are_looked_at_once() -> None:
    nest, operands = layer(64)
    calls = []

    def estimate(section: Section, found: object) -> float:
        calls.append(section)
        return float(section.tiles)

    target = Target("npu", 1 << 20)
    assert isinstance(plan([nest], operands, target, each(estimate)), Program)
    once = len(calls)
    calls.clear()
    assert isinstance(plan([nest] * 5, operands, target, each(estimate)), Program)
    assert len(calls) == once
