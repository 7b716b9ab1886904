"""Weights that several groups read: copied to the scratchpad once, where that is faster or moves less."""

from __future__ import annotations

import numpy as np
import pytest

import tosajit as tj
from tiling.held import PART, held
from tosajit import ops
from tosajit.compiler.planning import groupings, planned, planned_for, schedule_for
from tosajit.compiler.segment import Groups
from tosajit.dtypes import INT8
from tosajit.npu.simulate import Network
from tosajit.tracing.tensor import Tensor

FLASH = "ethos-u55-128/high-end-embedded/shared-sram"
STEPS, CHANNELS = 4, 64
SHAPE = 1, 1, 1, CHANNELS


def recurrent(x: Tensor) -> Tensor:
    """Steps with the same weights; biases and scales are each step's own."""
    random = np.random.default_rng(0)
    weights = random.integers(-128, 128, (CHANNELS, 1, 1, CHANNELS)).astype(np.int8)
    for _ in range(STEPS):
        bias = random.integers(-999, 999, CHANNELS).astype(np.int32)
        factors = random.integers(1 << 30, (1 << 31) - 1, CHANNELS).astype(np.int32)
        shifts = np.full(CHANNELS, 38, np.int8)
        sums = ops.conv2d(x, weights, bias)
        x = ops.rescale(sums, multiplier=factors, shift=shifts, dtype=INT8, per_channel=True)
    return x


def behind_another(x: Tensor) -> Tensor:
    """The same behind a convolution with other weights."""
    sums = ops.conv2d(x, np.ones((CHANNELS, 1, 1, CHANNELS), np.int8), np.zeros(CHANNELS, np.int32))
    return recurrent(ops.cast(sums, INT8))


@pytest.fixture(scope="module")
def graph() -> tj.Graph:
    return tj.trace(recurrent, np.zeros(SHAPE, np.int8))


def weights_read(report: tj.Report) -> int:
    """Bytes of weights and what comes with them over the port of the second memory."""
    return sum(
        size
        for one in report.operators
        for (memory, _, kind), size in one.traffic.items()
        if memory == "offchip" and kind in ("weights", "constants")
    )


def test_weights_of_several_steps_are_read_once(graph: tj.Graph) -> None:
    report = tj.simulate(graph, FLASH)
    assert sum(one.label.startswith("CONST") for one in report.operators) == 1
    assert CHANNELS * CHANNELS < weights_read(report) < 2 * CHANNELS * CHANNELS


def test_biases_and_scales_of_each_step_are_read(graph: tj.Graph) -> None:
    """Ten bytes a channel."""
    report = tj.simulate(graph, FLASH)
    steps = [one for one in report.operators if one.unit == "array"]
    assert len(steps) == STEPS
    for one in steps:
        assert sum(size for (memory, *_), size in one.traffic.items() if memory == "offchip") == 10 * CHANNELS


def test_it_is_done_where_it_is_faster(graph: tj.Graph) -> None:
    (part,) = Network.of(graph).parts
    machine = tj.machine(FLASH)
    assert len(groupings(part, machine)) > 1
    alone = tj.simulate(graph, machine.replace({"scratchpad.bytes": PART * CHANNELS * CHANNELS - 64}))
    assert not any(one.label.startswith("CONST") for one in alone.operators)
    assert tj.simulate(graph, machine).cycles < 0.6 * alone.cycles


@pytest.mark.parametrize("first", [False, True])
def test_a_plan_with_copies_can_be_given_back(first: bool) -> None:
    """Wherever these are made: in front of all, or beside the contraction before the one that reads them."""
    graph = tj.trace(behind_another, np.zeros(SHAPE, np.int8))
    (part,) = Network.of(graph).parts
    machine = tj.machine(FLASH)
    nests, copies = held(part.nests, part.operands, machine.target, first)
    assert (nests[0].verb == "move") == first
    own = planned(Groups(part.segment, nests, temporaries=copies), machine.target)
    plan = tj.Plan(machine.name, {part.name: schedule_for(own, machine)})
    again = planned_for(part, machine, tj.Plan.from_dict(plan.to_dict()))
    assert again.program.sections == own.program.sections
    assert tj.plan(graph, FLASH, plan=plan) == plan


@pytest.mark.parametrize("kept", [True, False])
def test_units_that_need_copies_may_keep_them(graph: tj.Graph, kept: bool) -> None:
    machine = tj.machine("systolic-16").replace({"memory.kept_weights": kept})
    report = tj.simulate(graph, machine)
    assert any(one.label.startswith("CONST") for one in report.operators) == kept


def test_the_weights_of_a_tpu_come_by_a_way_of_their_own(graph: tj.Graph) -> None:
    report = tj.simulate(graph, "tpu-v1")
    assert weights_read(report) > STEPS * CHANNELS * CHANNELS


def test_nothing_stays_where_activations_do_not() -> None:
    assert not tj.machine("systolic-16").replace({"memory.kept": False}).target.kept_weights


def test_what_runs_in_the_scratchpad_has_the_bits_of_the_host(graph: tj.Graph) -> None:
    x = np.random.default_rng(1).integers(-128, 128, SHAPE).astype(np.int8)
    found = tj.compile(graph, machine=FLASH)(x)
    assert np.array_equal(found, tj.compile(graph)(x))


def test_weights_of_one_group_stay_where_they_are() -> None:
    def layer(x: Tensor) -> Tensor:
        return ops.conv2d(x, np.ones((CHANNELS, 1, 1, CHANNELS), np.int8), np.zeros(CHANNELS, np.int32))

    (part,) = Network.of(tj.trace(layer, np.zeros(SHAPE, np.int8))).parts
    nests, copies = held(part.nests, part.operands, tj.machine(FLASH).target)
    assert nests == part.nests
    assert not copies
