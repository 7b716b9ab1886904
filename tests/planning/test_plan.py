"""Plans fit their targets, and what they run is what the nests mean."""

from __future__ import annotations

from itertools import pairwise
from math import prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.planning.drawing import Chain, chains
from tests.planning.running import check_program
from tiling.allocate import Lifetime, allocate, peak
from tiling.plan import plan
from tiling.planner import Infeasible
from tiling.program import Operand
from tiling.target import HOST, Target


@settings(max_examples=15, deadline=None)
@given(chains(), st.integers(0, 99))
@pytest.mark.parametrize(
    "target", [HOST, Target("small", 96, 4), Target("shared", cores=2, tile_points=1)], ids=str
)
def test_programs_compute_what_nests_mean(target: Target, chain: Chain, seed: int) -> None:
    check_program(chain, seed, target)


@given(chains(), st.sampled_from([16, 48, 200]))
def test_a_section_fits_the_scratchpad_or_says_why_not(chain: Chain, capacity: int) -> None:
    operands = {name: Operand(name, "i32", prod(shape), "temporary") for name, shape in chain.shapes.items()}
    program = plan(chain.nests, operands, Target("small", capacity, 4))
    if isinstance(program, Infeasible):
        assert program.demand > program.bound == capacity
        return
    assert program.scratch_bytes <= capacity
    for section in program.sections:
        images = [image for image in (*section.images, section.accumulator) if image is not None]
        spans = sorted((image.address, image.address + image.bytes) for image in images)
        assert all(end <= start for (_, end), (start, _) in pairwise(spans))


lifetimes = st.tuples(st.integers(1, 50), st.integers(0, 9), st.integers(0, 9)).map(
    lambda t: Lifetime(t[0], min(t[1:]), max(t[1:]))
)


@given(st.lists(lifetimes, max_size=12))
def test_live_buffers_never_overlap(lives: list[Lifetime]) -> None:
    buffers = {str(number): life for number, life in enumerate(lives)}
    offsets, total = allocate(buffers, 1)
    assert total >= peak(buffers)
    for a, one in buffers.items():
        assert 0 <= offsets[a] <= total - one.bytes
        for b, other in buffers.items():
            if a < b and one.first <= other.last and other.first <= one.last:
                apart = offsets[a] + one.bytes <= offsets[b] or offsets[b] + other.bytes <= offsets[a]
                assert apart
