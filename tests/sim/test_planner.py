"""What a compiler may do with a machine: second copies of boxes, and stripes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from operator import le
from typing import Any

import numpy as np
import pytest
from holding import drawing
from holding.machines import machine as drawn_machine
from hypothesis import given, settings
from hypothesis import strategies as st

import sim
import tosajit as tj
from sim.analytic import Workload, evaluate
from sim.events import simulate
from sim.events.model import Models
from sim.planning import NEVER, _Figures, _Group, estimator, judge
from tests.golden_networks import residual
from tests.planning.drawing import Chain
from tests.planning.running import check_program
from tests.planning.test_cascade import layers
from tests.planning.test_cascade_stripes import networks
from tests.sim.drawing import machines
from tiling.addresses import FAR_AHEAD
from tiling.choose import Bar, Price
from tiling.in_place import known_operands
from tiling.offer import Offers
from tiling.plan import plan
from tiling.planner import Known, Planner
from tiling.program import Image, Operand, Program, Section
from tiling.target import Target
from tosajit import ops
from tosajit.compiler.planning import planned_for, stored_operands
from tosajit.compiler.segment import Groups
from tosajit.npu.simulate import Network
from tosajit.runtime.body import Compute

OFF = {"planner.double_buffering": False, "planner.cascading": False}
SMALL_PAD = sim.machine("systolic-16").replace(
    {"scratchpad.bytes": 14 << 10, "offchip.bandwidth_bytes_per_second": 4e8}
)
"""Transfers bind on it."""
DEEP = layers(6, 256)
ALLOWED = sim.machine("systolic-16").replace({"scratchpad.bytes": 24 << 10})
"""Tensors of `DEEP` do not fit it."""


@cache
def groups_of(name: str = "ds_cnn") -> Groups:
    """The one part of a model that computes."""
    steps = Network(tj.samples.load(name)).body.steps
    (found,) = [step.groups for step in steps if isinstance(step, Compute)]
    return found


def images(program: Program) -> Iterator[Image]:
    """All boxes of a program."""
    for section in program.sections:
        yield from (image for image in section.images if image is not None)


def deep_program(machine: sim.Machine) -> Program:
    """The program of `DEEP`."""
    program = plan(*DEEP, machine.target, estimator(machine))
    assert isinstance(program, Program)
    return program


def test_a_machine_tells_its_target_what_the_planner_may_do() -> None:
    base = sim.machine("tiny")
    assert base.planner == sim.Planner(double_buffering=True, cascading=True)
    assert (base.target.double_buffering, base.target.cascading) == (True, True)
    for field in ("double_buffering", "cascading"):
        changed = base.replace({f"planner.{field}": False})
        assert not getattr(changed.target, field)
        assert sim.Machine(**changed.to_dict()) == changed


@pytest.mark.parametrize("changes", [OFF, *({path: False} for path in OFF)], ids=str)
def test_outputs_are_the_same_whatever_the_planner_may_do(changes: dict[str, bool]) -> None:
    executable = tj.compile(tj.samples.load("ds_cnn"), machine=SMALL_PAD.replace(changes))
    inputs, outputs = tj.samples.cases("ds_cnn")[0]
    for result, expected in zip(executable(*inputs), outputs, strict=True):
        np.testing.assert_array_equal(result, expected)


@settings(max_examples=10, deadline=None)
@given(networks(), st.integers(0, 99), st.sampled_from([200, 400, 800]), st.booleans())
def test_programs_with_one_copy_compute_what_nests_mean(
    chain: Chain, seed: int, capacity: int, cascading: bool
) -> None:
    check_program(chain, seed, Target("small", capacity, 4, double_buffering=False, cascading=cascading))


def test_programs_have_second_copies_only_where_these_are_allowed() -> None:
    copies = {
        double: {
            image.copies
            for image in images(
                planned_for(groups_of(), SMALL_PAD.replace({"planner.double_buffering": double})).program
            )
        }
        for double in (True, False)
    }
    assert copies == {True: {1, 2}, False: {1}}


def test_programs_have_stripes_only_where_these_are_allowed() -> None:
    nests, _ = DEEP
    counts = [
        len(deep_program(ALLOWED.replace({"planner.cascading": way})).sections) for way in (True, False)
    ]
    assert counts[0] > len(nests) == counts[1]


def test_second_copies_help_where_transfers_bind() -> None:
    groups = groups_of()
    ways = [SMALL_PAD, SMALL_PAD.replace({"planner.double_buffering": False})]
    followed = [simulate(planned_for(groups_of(), way).program, way).cycles for way in ways]
    closed = evaluate(Workload.of(groups.nests, groups.operands), ways).cycles
    assert followed[0] < followed[1]
    assert closed[0] < closed[1]


def test_stripes_spare_transfers_where_tensors_do_not_fit() -> None:
    nests, operands = DEEP
    ways = [ALLOWED, ALLOWED.replace({"planner.cascading": False})]
    followed = [simulate(deep_program(way), way).offchip_bytes for way in ways]
    closed = evaluate(Workload.of(nests, operands), ways).offchip_bytes
    assert followed[0] < 0.5 * followed[1]
    assert closed[0] < 0.5 * closed[1]


@settings(max_examples=25, deadline=None)
@given(machines(), st.booleans(), st.booleans())
def test_second_copies_never_hurt_in_closed_form_where_there_is_room(
    machine: sim.Machine, direct: bool, cascading: bool
) -> None:
    groups = groups_of()
    roomy = machine.replace(
        {"scratchpad.bytes": 1 << 20, "memory.direct": direct, "planner.cascading": cascading}
    )
    ways = [roomy, roomy.replace({"planner.double_buffering": False})]
    found = evaluate(Workload.of(groups.nests, groups.operands), ways)
    assert found.cycles[0] <= found.cycles[1]


@pytest.mark.parametrize("machine", ["systolic-16", "ethos-u65-256", "nvdla-large"])
def test_where_nothing_is_kept_groups_go_from_memory_to_memory(machine: str) -> None:
    graph = tj.samples.load("resnet8")
    base = sim.machine(machine).replace({"memory.kept": True})
    with_it, without = (tj.simulate(graph, base.replace({"memory.kept": kept})) for kept in (True, False))
    activations = [
        sum(
            size
            for (memory, _, kind), size in one.traffic.items()
            if (memory, kind) == ("offchip", "activations")
        )
        for one in (with_it, without)
    ]
    assert activations[1] > activations[0]
    made = planned_for(groups_of("resnet8"), base.replace({"memory.kept": False}))
    assert all(one.place == "offchip" for one in made.program.operands.values())


@settings(max_examples=5, deadline=None)
@given(
    seed=st.integers(0, 10_000), name=st.sampled_from(["tiny", "ethos-u55-128", "systolic-16", "eyeriss-v1"])
)
def test_what_is_not_followed_costs_no_less_than_what_is(seed: int, name: str) -> None:
    machine = sim.machine(name)
    estimate = estimator(machine)

    def checked(sections: Sequence[Section], operands: Mapping[str, Operand]) -> Sequence[Price]:
        prices = estimate(sections, operands)
        alone = [estimate([section], operands)[0] for section in sections]
        assert all(price in (one, NEVER) for price, one in zip(prices, alone, strict=True))
        assert min(price.cost for price in prices) == min(price.cost for price in alone)
        return prices

    for groups in Network.of(drawing.layer(seed)[1]).parts:
        plan(groups.nests, stored_operands(groups, machine), machine.target, checked)


@pytest.mark.parametrize("name", ["systolic-16", "ethos-u55-128"])
def test_ten_kib_are_no_slower_than_eight(name: str) -> None:
    eight, ten = (
        tj.simulate(tj.samples.path("ds_cnn"), sim.machine(name).replace({"scratchpad.bytes": size << 10}))
        for size in (8, 10)
    )
    assert ten.cycles <= eight.cycles


def convolution(width: int, channels: int, stride: int, kernel: int) -> tj.Graph:
    """A convolution of as many channels as filters, with its scaling."""
    weights = np.ones((channels, kernel, kernel, channels), np.int8)
    before, after = kernel // 2, kernel // 2 - (stride > 1)

    def layer(x: Any) -> Any:
        bias, pad = np.zeros(channels, np.int32), (before, after) * 2
        sums = ops.conv2d(x, weights, bias, pad=pad, stride=(stride, stride))
        return ops.rescale(sums, np.full(1, 1 << 30, np.int32), np.full(1, 40, np.int8), dtype=tj.INT8)

    return tj.trace(layer, np.zeros((1, width, width, channels), np.int8))


@pytest.mark.parametrize(
    ("name", "layer", "kibibytes"),
    [
        ("ethos-u85-512", (28, 256, 2, 3), (32, 64, 80, 96, 128, 256)),
        ("ethos-u65-256", (28, 256, 1, 1), (32, 64, 112)),
        ("ethos-u55-128", (28, 256, 2, 3), (80, 112)),
        ("systolic-16", (7, 512, 1, 3), (32, 40, 64, 80)),
        ("systolic-128", (14, 512, 2, 3), (80, 96, 112)),
        ("dot-256", (7, 512, 1, 3), (20, 24, 40)),
    ],
)
def test_more_scratchpad_never_makes_a_layer_slower(
    name: str, layer: tuple[int, int, int, int], kibibytes: tuple[int, ...]
) -> None:
    graph, machine = convolution(*layer), sim.machine(name)
    cycles = [
        tj.simulate(graph, machine.replace({"scratchpad.bytes": size << 10})).cycles for size in kibibytes
    ]
    assert all(after <= 1.005 * before for before, after in pairwise(cycles))


def test_a_faster_clock_makes_no_layer_slower_whose_last_tile_reads_only_beyond_the_border() -> None:
    slow, (_, graph) = drawn_machine(350097), drawing.layer(350097)
    fast = slow.replace({"clock_hz": 1.1 * slow.clock_hz})
    assert tj.simulate(graph, fast).seconds <= 1.005 * tj.simulate(graph, slow).seconds


def test_sixty_four_kib_are_no_slower_than_fifty_six() -> None:
    one, other = (
        tj.simulate(tj.samples.path("resnet8"), sim.machine("systolic-16").replace({"scratchpad.bytes": n}))
        for n in (56 << 10, 64 << 10)
    )
    assert other.cycles <= 1.005 * one.cycles


def test_groups_that_leave_little_room_are_no_slower_than_smaller_ones() -> None:
    small, (_, graph) = drawn_machine(70085), drawing.network(70085)
    large = small.replace({"scratchpad.bytes": 2688})
    before, after = tj.simulate(graph, small), tj.simulate(graph, large)
    assert after.cycles <= 1.005 * before.cycles
    given = tj.simulate(graph, large, plan=tj.plan(graph, large))
    assert (given.cycles, given.traffic) == (after.cycles, after.traffic)


def test_stripes_that_do_not_pay_are_no_slower_than_those_of_half_the_scratchpad() -> None:
    small, (_, graph) = drawn_machine(550146), drawing.network(550146)
    large = small.replace({"scratchpad.bytes": 2 * small.scratchpad.bytes})
    assert tj.simulate(graph, large).cycles <= 1.005 * tj.simulate(graph, small).cycles


def test_faster_memory_makes_nothing_slower_whose_sections_could_leave_it_more_time() -> None:
    slow, (_, graph) = drawn_machine(550038), drawing.network(550038)
    rate = slow.offchip.bandwidth_bytes_per_second
    assert rate is not None
    fast = slow.replace({"offchip.bandwidth_bytes_per_second": 2 * rate})
    assert tj.simulate(graph, fast).cycles <= 1.005 * tj.simulate(graph, slow).cycles


def test_twelve_kib_are_no_slower_than_eleven() -> None:
    one, other = (
        tj.simulate(tj.samples.path("ds_cnn"), sim.machine("ethos-u55-128").replace({"scratchpad.bytes": n}))
        for n in (11 << 10, 12 << 10)
    )
    assert other.cycles <= 1.005 * one.cycles


@pytest.mark.parametrize("machine", ["nvdla-small", "ethos-u55-128", "eyeriss-v1", "tiny"])
def test_plans_need_nothing_that_is_surely_beaten(machine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (groups,) = Network.of(residual()).parts
    plans = [str(planned_for(groups, sim.machine(machine)).program)]
    monkeypatch.setattr(Bar, "beaten", lambda *_: False)
    plans.append(str(planned_for(groups, sim.machine(machine)).program))
    assert plans[0] == plans[1]


@pytest.mark.parametrize("name", ["ethos-u55-128", "ethos-u85-256"])
def test_what_tiles_reach_costs_no_more_than_what_is_followed(name: str) -> None:
    """So sections are left out that are not yet made; without tiles, these say nothing of the scratchpad."""
    machine, reached = sim.machine(name), list[float]()
    estimate, figures = estimator(machine), _Figures.of(machine, Models.of(machine))

    def checked(sections: Sequence[Section], operands: Mapping[str, Operand]) -> Sequence[Price]:
        assert isinstance(sections, Offers)
        floors = _Group(figures, sections.maker.nest, operands).floors(sections)
        for floor, section in zip(floors, sections, strict=True):
            (price,) = estimate([section], operands)
            reached.append(floor.idle)
            assert all(map(le, floor.views(0.0), price.views(0.0)))
        return estimate(sections, operands)

    (groups,) = Network.of(residual()).parts
    plan(groups.nests, stored_operands(groups, machine), machine.target, checked)
    assert any(reached)


def test_of_sections_that_only_compute_few_are_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them take about as long, but most of them surely longer than some."""
    weights, followed = np.zeros((64, 3, 3, 64), np.float32), []
    graph = tj.trace(
        lambda x: ops.conv2d(x, weights, pad=(1, 1, 1, 1)), np.zeros((1, 64, 64, 64), np.float32)
    )

    def counted(*arguments: Any) -> Price:
        followed.append(arguments)
        return known(*arguments)

    known = _Group.followed
    monkeypatch.setattr(_Group, "followed", counted)
    (groups,) = Network.of(graph).parts
    planned_for(groups, sim.machine("nvdla-large"))
    assert len(followed) <= 60


COPIED = {"boxes": {"weights": 1, "constants": 0, "values": 0, "results": 0}}
"""What a mapping says of a group whose weights are copied, and nothing else."""


def pooled(width: int) -> tj.Graph:
    """Two convolutions, a pool, which takes less than the weights behind it, and a convolution."""
    random = np.random.default_rng(1)

    def convolved(x: Any, channels: int, filters: int) -> Any:
        weights = random.integers(-100, 100, (filters, 3, 3, channels)).astype(np.int8)
        sums = ops.conv2d(x, weights, np.zeros(filters, np.int32), pad=(1, 1, 1, 1))
        return ops.rescale(sums, np.full(1, 1 << 30, np.int32), np.full(1, 40, np.int8), dtype=tj.INT8)

    def network(x: Any) -> Any:
        x = convolved(convolved(x, 16, 32), 32, 32)
        x = ops.max_pool2d(x, kernel=(2, 2), stride=(2, 2), pad=(0, 0, 0, 0))
        return convolved(x, 32, 64)

    return tj.trace(network, np.zeros((1, width, width, 16), np.int8))


@pytest.mark.parametrize(("width", "name"), [(16, "ethos-u55-128"), (24, "ethos-u65-512")])
def test_constants_come_beside_two_groups_ahead(width: int, name: str) -> None:
    graph = pooled(width)
    copied = tj.plan(graph, name, mapping={"**": COPIED})
    assert tj.simulate(graph, name).cycles <= 1.005 * tj.simulate(graph, name, plan=copied).cycles


@pytest.mark.parametrize("name", ["ethos-u85-256", "ethos-u65-256"])
def test_no_group_could_move_less_at_hardly_more_time(name: str) -> None:
    graph = pooled(24)
    own = tj.simulate(graph, name)
    for group, choice in tj.plan(graph, name):
        if not choice.boxes:
            other = tj.simulate(graph, name, plan=tj.plan(graph, name, mapping={group: COPIED}))
            assert other.cycles > 1.005 * own.cycles or other.offchip_bytes >= 0.99 * own.offchip_bytes


def test_no_program_is_better_with_a_section_of_another() -> None:
    machine, groups = sim.machine("ethos-u85-128"), groups_of("autoencoder")
    operands, cost, estimate = stored_operands(groups, machine), judge(machine), estimator(machine)
    own = plan(groups.nests, operands, machine.target, estimate, cost)
    assert isinstance(own, Program)
    planner = Planner(groups.nests, known_operands(groups.nests, operands), machine.target, estimate, Known())
    planner.residence.settle()
    for one in (found := [*planner.programs(), *planner.sparing(True)]):
        assert isinstance(one.program, Program)
        for other in found:
            crossed, less = planner.crossed(one, cost(one.program), other, cost)
            assert crossed is one or less < cost(one.program)
            assert cost(own)[0] <= 1.005 * less[0]


def test_what_may_be_best_is_looked_at_in_all_of_the_scratchpad() -> None:
    machine, groups = sim.machine("ethos-u55-256"), groups_of("resnet8")
    operands, cost, estimate = stored_operands(groups, machine), judge(machine), estimator(machine)
    own = plan(groups.nests, operands, machine.target, estimate, cost)
    planner = Planner(groups.nests, known_operands(groups.nests, operands), machine.target, estimate, Known())
    planner.residence.settle()
    roomy = [planner.roomy(one, FAR_AHEAD) for one in (*planner.programs(), *planner.sparing(True))]
    times = [cost(one.program)[0] for one in roomy if one and isinstance(one.program, Program)]
    assert isinstance(own, Program)
    assert cost(own)[0] <= 1.005 * min(times)


def test_no_program_costs_as_much_in_less_of_the_scratchpad() -> None:
    machine, groups = sim.machine("ethos-u65-256"), groups_of()
    operands, cost, estimate = stored_operands(groups, machine), judge(machine), estimator(machine)
    own = plan(groups.nests, operands, machine.target, estimate, cost)
    planner = Planner(groups.nests, known_operands(groups.nests, operands), machine.target, estimate, Known())
    planner.residence.settle()
    found = [lean for one in planner.programs() for lean in planner.leaner(one)]
    assert isinstance(own, Program)
    assert found
    assert all(own.scratch_bytes <= lean.scratch_bytes for lean in found if cost(lean) <= cost(own))
