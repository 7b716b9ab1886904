"""Constants that come ahead of their groups on several cores."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tosajit as tj
from sim.ahead import Span, comes_ahead
from sim.events.cores import follow, models_of
from sim.planning import estimator
from sim.spreading import WAYS
from tests.strategies import Drawn, graphs
from tests.test_cores import machines, two
from tests.test_fuzz_graphs import SETTINGS
from tiling.cores import Way
from tiling.spread import SpreadProgram, plan_cores
from tiling.verify_program import verify_program
from tosajit.compiler.planning import stored_operands
from tosajit.compiler.segment import Groups
from tosajit.npu.simulate import Network

spans = st.lists(
    st.builds(Span, st.integers(0, 99), st.integers(0, 99), st.integers(0, 99), st.integers(0, 300)),
    min_size=1,
    max_size=12,
)


@given(spans, st.booleans())
def test_what_comes_ahead_comes_once_and_in_time_that_is_left(some: list[Span], fitting: bool) -> None:
    found = comes_ahead(some, 0.0, 1.0, fitting)
    beside = dict.fromkeys(range(len(some)), 0.0)
    for group, hosts in found.items():
        assert all(0 < host <= group for host in hosts)
        assert min(hosts) < group
        assert 0 < sum(hosts.values()) <= 1 + 1e-9
        for host, share in hosts.items():
            beside[host - 1] += share * some[group].brings
    assert all(taken <= some[group].idle + 1e-9 for group, taken in beside.items())


def test_what_is_too_much_for_one_group_comes_beside_those_before() -> None:
    some = [Span(0, 0, 10, 100), Span(0, 0, 4, 100), Span(12, 50, 0, 100)]
    assert comes_ahead(some, 0.0) == {2: {2: pytest.approx(4 / 12), 1: pytest.approx(8 / 12)}}
    assert comes_ahead([some[0]._replace(room=49), *some[1:]], 0.0) == {}
    assert comes_ahead(some, 11.0) == {}


def late(layers: int = 6, channels: int = 96) -> tj.Graph:
    """Layers that take long and have few weights, and then one that is the other way round."""
    small = np.ones((1, channels, channels), np.int8)
    large = np.ones((1, channels, 48 * channels), np.int8)

    @tj.jit
    def network(x: Any) -> Any:
        for _ in range(layers):
            x = tj.ops.matmul(x, small).astype(np.int8)
        return tj.ops.matmul(tj.ops.slice(x, (0, 0, 0), (1, 1, channels)), large)

    return network.graph(np.zeros((1, 1024, channels), np.int8))


def spread(machine: tj.Machine) -> SpreadProgram:
    """A program in which half of the last weights come beside earlier layers, in two parts."""
    (step,) = Network.of(late()).steps
    assert isinstance(step, Groups)
    ahead = {6: {6: 0.5, 5: 0.25, 4: 0.25}}
    slow = machine.core.replace({"offchip.bandwidth_bytes_per_second": 1e9})
    estimate, operands = estimator(slow), stored_operands(step, machine)
    made = plan_cores(
        step.nests, operands, machine.target, machine.cores, ["rows"] * 7, estimate, ahead=ahead
    )
    assert isinstance(made, SpreadProgram)
    return made


def plain(program: SpreadProgram) -> SpreadProgram:
    """The program without anything that comes ahead."""
    cores = []
    for core in program.cores:
        sections = []
        for section in core.sections:
            images = tuple(image and replace(image, ahead=()) for image in section.images)
            sections.append(replace(section, images=images))
        cores.append(replace(core, sections=tuple(sections)))
    return replace(program, cores=tuple(cores))


@pytest.mark.parametrize("network", ["bus", "mesh"])
@pytest.mark.parametrize("multicast", [True, False])
def test_weights_of_late_layers_come_while_others_compute(network: str, multicast: bool) -> None:
    changes = {"topology__network": network, "topology__multicast": multicast}
    machine = two(scratchpad__bytes=1 << 20, **changes)
    program = spread(machine)
    ahead, later = (follow(one, machine, {}) for one in (program, plain(program)))
    assert max(one.cycles for one in ahead) < 0.97 * max(one.cycles for one in later)
    for one, other in zip(ahead, later, strict=True):
        assert one.cycles == sum(one.causes.values())
        assert one.traffic == other.traffic
        assert one.macs == other.macs
        assert one.energy == pytest.approx(other.energy)
        known = (span for span in one.timeline if span.kind == "load" and span.count == 1)
        loads = sorted((span.first, span.first + span.duration) for span in known)
        assert all(before[1] <= after[0] for before, after in pairwise(loads))


def test_cores_that_share_models_with_other_programs_take_as_long_as_alone() -> None:
    machine = two(scratchpad__bytes=1 << 20)
    program, known = spread(machine), models_of(machine, None)
    for one in (program, plain(program), program):
        assert follow(one, machine, {}, known) == follow(one, machine, {})


def test_a_text_says_what_comes_ahead() -> None:
    program = spread(two(scratchpad__bytes=1 << 20))
    assert "groups ahead" in "\n".join(str(core) for core in program.cores)


@settings(**{**SETTINGS, "max_examples": 60})
@given(graphs(), machines(), st.integers(0, 1 << 32))
def test_whatever_comes_ahead_programs_end_and_give_their_bits(
    drawn: Drawn, machine: tj.Machine, seed: int
) -> None:
    """Shares and groups are drawn without regard to time or room."""
    random = np.random.default_rng(seed)
    for step in Network.of(drawn.graph).steps:
        if not isinstance(step, Groups):
            continue
        count = len(step.nests)
        ahead = {
            group: {
                int(random.integers(0, group + 1)): share for share in random.uniform(0.1, 0.5, 2).tolist()
            }
            for group in range(1, count)
        }
        ways: list[Way] = [WAYS[int(random.integers(2))] for _ in range(count)]
        operands, target, cores = stored_operands(step, machine), machine.target, machine.cores
        made = plan_cores(step.nests, operands, target, cores, ways, ahead=ahead)
        if isinstance(made, SpreadProgram):
            buffers = made.operands.keys() - step.operands.keys() | {
                write.access.operand for nest in step.nests for write in nest.writes
            }
            assert verify_program(made, frozenset(step.units), buffers) == []
            for report in follow(made, machine, {}):
                assert report.cycles == sum(report.causes.values())
