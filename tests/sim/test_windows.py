"""Windows of a pooling that overlap: taken again for each, or each value once."""

from __future__ import annotations

from math import ceil

import numpy as np
import pytest

import sim
from sim.analytic.fleet import Fleet
from sim.analytic.stripes import views
from sim.analytic.units import units
from sim.analytic.workload import Workload
from sim.cost.costs import Costs
from tests.sim.nests import groups
from tiling.nest import Nest
from tosajit.dtypes import INT8
from tosajit.graph import Graph
from tosajit.npu.simulate import Network
from tosajit.operators import MAX_POOL2D
from tosajit.operators.types import NanMode
from tosajit.runtime.body import Compute
from tosajit.tracing.builder import GraphBuilder

LANES = 16
AGAIN = sim.machine("systolic-16").replace({"vector.lanes.i8": 64, "reduction.lanes.i8": LANES})
ONCE = AGAIN.replace({"reduction.windows": "once"})
CASES = [(3, 1), (3, 2), (2, 2), (5, 1), (2, 3)]


def pooled(kernel: int, stride: int) -> Graph:
    """Eight results each way, of 32 channels."""
    builder = GraphBuilder()
    size = 7 * stride + kernel
    x = builder.input("x", INT8, (1, size, size, 32))
    pool = MAX_POOL2D(
        kernel=(kernel, kernel), stride=(stride, stride), pad=(0, 0, 0, 0), nan_mode=NanMode.PROPAGATE
    )
    builder.output(builder.add(pool, [x]))
    return builder.build()


def nest(kernel: int, stride: int) -> Nest:
    (found,) = groups(pooled(kernel, stride))
    return found


@pytest.mark.parametrize(("kernel", "stride"), CASES)
def test_a_line_buffer_takes_each_value_of_a_pooling_once(kernel: int, stride: int) -> None:
    one, size = nest(kernel, stride), 7 * stride + kernel
    again, once = (Costs.of(machine).work(one, one.extents) for machine in (AGAIN, ONCE))
    results, window = 64 * 32, kernel * kernel
    read = min(size * size * 32, results * window)
    assert again.cycles - again.fill == results // LANES * window
    assert once.cycles - once.fill == ceil(read / LANES)
    assert (again.traffic[0], once.traffic[0]) == (results * window, read)
    assert again.operations == once.operations


@pytest.mark.parametrize(("kernel", "stride"), CASES)
def test_explorations_know_line_buffers(kernel: int, stride: int) -> None:
    (step,) = (one for one in Network(pooled(kernel, stride)).body.steps if isinstance(one, Compute))
    workload = Workload.of(step.groups.nests, step.groups.operands)
    fleet = Fleet.of([AGAIN, ONCE])
    ((view, _),) = views(workload, fleet.machines)
    found = units(view, fleet, np.ones((2, 1)), np.ones((2, 1)))
    works = [Costs.of(one).work(workload.nests[0], workload.nests[0].extents) for one in fleet.machines]
    assert found.cycles[:, 0].tolist() == [work.cycles for work in works]
    assert found.inputs[:, 0].tolist() == [work.traffic[0] for work in works]
