"""The event simulator: folding is exact, every cycle has one cause, nothing is faster than its parts."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import sim
import tosajit as tj
from sim.events import Simulator, simulate, simulate_all
from sim.machine.machine import Machine
from sim.report.report import Report
from sim.report.trace import expanded
from tests.sim.programs import SimpleCosts, machine_of, machines, map_nest, programs, row_nest
from tiling.making import Maker
from tiling.menu import menu_of
from tiling.program import Image, Loop, Operand, Program, Section
from tiling.target import Target
from tosajit import ops
from tosajit.npu.simulate import Network

costs = st.builds(SimpleCosts, st.sampled_from([1, 4, 64]), st.sampled_from([0, 3]))


@settings(max_examples=150, deadline=None)
@given(programs(), machines(), costs)
def test_folded_programs_take_what_they_take_tile_by_tile(
    program: Program, machine: Machine, cost: SimpleCosts
) -> None:
    simulator = Simulator(machine, cost)
    once, again = simulator.simulate(program), simulator.simulate(program)
    every = Simulator(machine, cost).simulate(program, fold=False)
    for report in (once, again):
        assert report.cycles == every.cycles
        assert [one.cycles for one in report.operators] == [one.cycles for one in every.operators]
        assert report.traffic == every.traffic
        assert report.busy == every.busy
        assert report.occupancy == every.occupancy
        assert _ends(report) == _ends(every)


def _ends(report: Report) -> list[tuple[int, int]]:
    return [(one.start, one.end) for one in report.operators]


@settings(max_examples=100, deadline=None)
@given(programs(most=2), machines(), costs)
def test_the_timeline_unfolds_to_every_command(program: Program, machine: Machine, cost: SimpleCosts) -> None:
    folded = Simulator(machine, cost).simulate(program)
    every = Simulator(machine, cost).simulate(program, fold=False)
    if len(every.timeline) > 200:
        return
    one, two = (
        sorted((s.first, s.unit, s.kind, s.label, s.duration, s.bytes) for s in expanded(report.timeline))
        for report in (folded, every)
    )
    assert one == two


@settings(max_examples=100, deadline=None)
@given(programs(), machines(), costs)
def test_no_unit_and_no_memory_does_more_than_there_is_time_for(
    program: Program, machine: Machine, cost: SimpleCosts
) -> None:
    report = Simulator(machine, cost).simulate(program)
    assert sum(one.total for one in report.operators) == report.cycles
    assert all(count >= 0 for one in report.operators for count in one.cycles.values())
    assert all(busy <= report.cycles for unit, busy in report.busy.items())
    bandwidth = machine.offchip_bytes_per_cycle
    if bandwidth is not None:
        assert report.offchip_bytes <= bandwidth * report.cycles
    rate = machine.scratchpad.bytes_per_cycle
    if rate is not None:
        inside = sum(size for (memory, _, _), size in report.traffic.items() if memory == "scratchpad")
        assert inside <= rate * report.cycles
    assert all(0 <= level for _, level in report.occupancy)
    assert max((span.end for span in report.timeline), default=0) <= report.cycles


faster = st.sampled_from(
    [
        {"offchip": {"bandwidth_bytes_per_second": None}},
        {"offchip": {"read_latency_cycles": 0}},
        {"scratchpad": {"bytes_per_cycle": None}},
        {"scratchpad": {"read_latency_cycles": 0}},
        {"dma": {"setup_cycles": 0}},
        {"dma": {"outstanding_requests": 1 << 10}},
        {"launch_overhead_cycles": 0},
    ]
)


@settings(max_examples=150, deadline=None)
@given(programs(), machines(), costs, faster)
def test_a_better_memory_never_takes_longer(
    program: Program, machine: Machine, cost: SimpleCosts, change: dict[str, object]
) -> None:
    data = machine.model_dump()
    for part, value in change.items():
        data[part] = {**data[part], **value} if isinstance(value, dict) else value
    better = Machine.model_validate(data)
    assert (
        Simulator(better, cost).simulate(program).cycles <= Simulator(machine, cost).simulate(program).cycles
    )


def conv(rows: int, step: int, copies: int, width: int = 8) -> Program:
    nest = row_nest(0, "x", "y", rows, width, 1, 0)
    images = (
        Image(0, (step, width), step * width, 1, copies, step * width),
        Image(4096, (width, 1), width, 0),
        Image(8192, (step, width), step * width, 1, copies, step * width),
    )
    operands = {
        "x": Operand("x", "i8", rows * width, "input"),
        "w0": Operand("w0", "i8", width, "constant"),
        "y": Operand("y", "i8", rows * width, "output"),
    }
    section = Section(nest, (Loop(0, step, -(-rows // step)),), images)
    return Program(Target("t", 1 << 14), operands, (section,), 0, 1 << 14)


def test_an_ideal_memory_leaves_the_cycles_of_the_tiles() -> None:
    report = simulate(conv(100, 10, 1), machine_of(), costs=SimpleCosts(4, 3))
    assert report.cycles == 10 * (20 + 3)
    assert report.causes["compute"] == 200
    assert report.causes["fill"] == 30


def test_double_buffers_hide_transfers_and_single_ones_do_not() -> None:
    machine = machine_of(offchip__bandwidth_bytes_per_second=8e9, offchip__burst_bytes=1)
    cost = SimpleCosts(2, 0)
    # Each tile: 80 points in 40 cycles; its rows come in 10 cycles and leave in 10.
    single = simulate(conv(100, 10, 1), machine, costs=cost)
    assert single.cycles == 1 + 10 * (10 + 40 + 10)
    double = simulate(conv(100, 10, 2), machine, costs=cost)
    assert double.cycles == 1 + 10 + 10 * 40 + 10
    assert double.operators[0].cycles == {"compute": 400, "input": 10, "weights": 1, "output": 10}


def test_slow_transfers_set_the_pace() -> None:
    machine = machine_of(offchip__bandwidth_bytes_per_second=1e9, offchip__burst_bytes=1)
    report = simulate(conv(1000, 10, 2), machine, costs=SimpleCosts(4, 0))
    assert report.cycles >= 2 * 8000 + 8
    assert report.cycles <= 2 * 8000 + 8 + 200
    assert report.causes["compute"] == 2000


def test_many_equal_tiles_cost_no_more_than_few() -> None:
    simulator = Simulator(machine_of(offchip__bandwidth_bytes_per_second=3e9), SimpleCosts())
    few, many = simulator.simulate(conv(100, 1, 2)), simulator.simulate(conv(1_000_000, 1, 2))
    assert len(many.timeline) == len(few.timeline)
    assert many.cycles > 9000 * few.cycles


def test_loops_around_windows_are_followed_once_for_each_kind_of_border() -> None:
    """Where a row of the window meets the border, what is inside is as in other rows that do or do not."""
    image, weights = np.zeros((1, 32, 32, 16), np.float32), np.zeros((16, 3, 3, 16), np.float32)
    graph = tj.trace(lambda x: ops.conv2d(x, weights, pad=(1, 1, 1, 1)), image)
    (groups,) = Network.of(graph).parts
    nest, machine = groups.nests[-1], sim.machine("nvdla-small")
    menu = menu_of(nest, machine.target, sizes=(1, 8, 8, 1, 1, 8))
    section = Maker(nest, menu, machine.target).section(0, np.full(len(nest.accesses), True), 2)
    assert [loop.count for loop in section.loops] == [32, 4, 2, 3, 3, 2]
    program = Program(machine.target, groups.operands, (section,), 0, 0)
    simulator = Simulator(machine)
    assert simulator.simulate(program).cycles == simulator.simulate(program, fold=False).cycles
    (model,) = simulator.models(program)
    assert len(model.results) <= 80


def test_weights_of_the_next_section_come_while_this_one_computes() -> None:
    rows, width = 64, 8
    nests = [row_nest(number, f"v{number}", f"v{number + 1}", rows, width, 1, 0) for number in range(2)]
    operands = {
        f"v{number}": Operand(f"v{number}", "i8", rows * width, "temporary", 512 * number, "scratchpad")
        for number in range(3)
    }
    operands |= {f"w{number}": Operand(f"w{number}", "i8", width, "constant") for number in range(2)}
    sections = tuple(
        Section(nest, (), (None, Image(2048 + 64 * number, (width, 1), width, 0), None))
        for number, nest in enumerate(nests)
    )
    program = Program(Target("t", 1 << 14), operands, sections, 0, 1 << 14)
    machine = machine_of(offchip__bandwidth_bytes_per_second=1e8, offchip__burst_bytes=1)
    report = simulate(program, machine, costs=SimpleCosts(1, 0))
    assert report.cycles == 80 + 2 * 512
    assert report.operators[0].cycles == {"weights": 80, "compute": 512}
    assert report.operators[1].cycles == {"compute": 512}


def test_compressed_weights_move_what_is_stored() -> None:
    program = conv(10, 10, 1, width=100)
    operands = dict(program.operands)
    operands["w0"] = Operand("w0", "i8", 100, "constant", stored_bytes=25)
    report = simulate(
        Program(program.target, operands, program.sections, 0, 1 << 14), machine_of(), costs=SimpleCosts()
    )
    assert report.traffic["offchip", "read", "weights"] == 25


def test_reports_name_groups_by_their_members() -> None:
    report = simulate(conv(10, 10, 1), machine_of(), {"conv0": "CONV2D first"}, costs=SimpleCosts())
    assert report.operators[0].label == "CONV2D first"
    assert report.operators[0].detail == {"tiles": 1}


def test_launching_is_the_first_operators() -> None:
    machine = machine_of(launch_overhead_cycles=1000)
    report = simulate(conv(10, 10, 1), machine, costs=SimpleCosts())
    assert report.operators[0].cycles["launch"] == 1000
    assert report.cycles == 1000 + 23


def test_nothing_takes_no_time() -> None:
    empty = Program(Target("t", 1 << 14), {}, (), 0, 0)
    assert simulate(empty, machine_of(launch_overhead_cycles=5), costs=SimpleCosts()).cycles == 0


def test_programs_in_a_row_are_launched_once() -> None:
    machine = machine_of(launch_overhead_cycles=1000, array={"kind": "systolic", "rows": 4, "columns": 4})
    one, two = conv(10, 10, 1), conv(20, 10, 1)
    both = simulate_all([one, two], machine)
    assert both.cycles == simulate(one, machine).cycles + simulate(two, machine).cycles - 1000


def test_traffic_is_what_the_boxes_hold() -> None:
    nest = row_nest(0, "x", "y", 10, 4, 3, 1)
    images = (Image(0, (4, 4), 16, 1), Image(64, (4, 3), 12, 0), Image(128, (2, 4), 8, 1))
    operands = {
        "x": Operand("x", "i8", 40, "input"),
        "w0": Operand("w0", "i8", 12, "constant"),
        "y": Operand("y", "i8", 40, "output"),
    }
    program = Program(Target("t", 256), operands, (Section(nest, (Loop(0, 2, 5),), images),), 0, 256)
    report = simulate(program, machine_of(), costs=SimpleCosts())
    # Five tiles of two rows and one more on either side; none beyond the border.
    assert report.traffic["offchip", "read", "activations"] == 4 * (5 * 4 - 2)
    assert report.traffic["offchip", "read", "weights"] == 12
    assert report.traffic["offchip", "write", "activations"] == 40
    assert report.cycles == 5 * (6 + 3)


def test_copies_in_the_scratchpad_take_the_dma() -> None:
    nest = map_nest(0, "x", "x", "y", 8, 8, "move")
    operands = {
        "x": Operand("x", "i8", 64, "input", 0, "scratchpad"),
        "y": Operand("y", "i8", 64, "output", 64, "scratchpad"),
    }
    program = Program(Target("t", 256), operands, (Section(nest, (), (None, None)),), 0, 128)
    report = simulate(program, machine_of(), costs=SimpleCosts())
    assert report.operators[0].unit == "dma"
    assert report.offchip_bytes == 0
    assert report.peak_scratchpad_bytes == 128
