"""Laws of simulation: what holds for every machine and every program."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import sim
import tosajit as tj
from sim.analytic import estimate as closed_form
from sim.events import simulate
from sim.planning import estimator
from tests.planning.tiles import operand_box, tiles
from tests.sim.drawing import Layers, layers, machines
from tiling.expr import BYTES
from tiling.nest import Access, Affine
from tiling.plan import plan
from tiling.program import Image, Program

SMALL = settings(max_examples=30)
FACTOR = 1.5
"""How far the closed form may be from what is followed command by command."""
ROOM = 1.04
"""How much worse a plan may be that needs less of the scratchpad."""

Case = tuple[sim.Machine, Program]
Marks = dict[str, NDArray[np.bool_]]


def planned(drawn: Layers, machine: sim.Machine) -> Program | None:
    """The program for a machine; None if it does not fit."""
    nests, operands = drawn
    program = plan(nests, operands, machine.target, estimator(machine))
    return program if isinstance(program, Program) else None


@st.composite
def cases(draw: st.DrawFn, most: int = 40) -> Case:
    """A machine with a program for it."""
    machine = draw(machines())
    program = planned(draw(layers(most)), machine)
    assume(program is not None and program.sections)
    assert program is not None
    return machine, program


@SMALL
@given(cases())
def test_no_program_is_faster_than_the_array_at_its_peak(case: Case) -> None:
    machine, program = case
    report = simulate(program, machine)
    on_array = sum(one.macs for one in report.operators if one.unit == "array")
    assert report.cycles * machine.macs_per_cycle >= on_array
    for one in report.operators:
        if one.unit == "array":
            assert one.busy["array"] * machine.macs_per_cycle >= one.macs


@SMALL
@given(cases())
def test_no_program_is_faster_than_its_memories(case: Case) -> None:
    machine, program = case
    report = simulate(program, machine)
    if machine.offchip_bytes_per_cycle is not None:
        assert report.cycles >= report.offchip_bytes / machine.offchip_bytes_per_cycle * (1 - 1e-9)


@SMALL
@given(cases())
def test_every_cycle_has_one_operator_and_one_cause(case: Case) -> None:
    machine, program = case
    report = simulate(program, machine)
    assert all(count >= 0 for one in report.operators for count in one.cycles.values())
    assert sum(one.total for one in report.operators) == report.cycles == sum(report.causes.values())
    assert report.causes["launch"] == machine.launch_overhead_cycles
    assert all(busy <= report.cycles for busy in report.busy.values())
    assert report.peak_scratchpad_bytes <= machine.scratchpad.bytes


@SMALL
@given(cases(24))
def test_what_is_touched_is_loaded_and_what_results_is_stored(case: Case) -> None:
    machine, program = case
    report = simulate(program, machine)
    reads, writes = touched(program)

    def moved(direction: str) -> int:
        ways = [(size, memory, way) for (memory, way, _), size in report.traffic.items()]
        return sum(size for size, memory, way in ways if (memory, way) == ("offchip", direction))

    assert moved("read") >= reads
    assert moved("write") >= writes


def touched(program: Program) -> tuple[int, int]:
    """Distinct bytes of off-chip inputs and constants that are read, and of results that are written.

    Single numbers that are read may come with the command.
    """
    seen: tuple[Marks, Marks] = ({}, {})
    for section in program.sections:
        nest = section.nest
        for number, access in enumerate((*nest.reads, *(write.access for write in nest.writes))):
            operand = program.operands[access.operand]
            write = number >= len(nest.reads)
            if operand.place == "scratchpad" or operand.kind == "temporary" or access.indirect:
                continue
            if write or operand.elements > 1:
                marks = seen[write].setdefault(operand.name, np.zeros(operand.elements, bool))
                marks[elements(access, nest.extents)] = True
    size = [sum(int(m.sum()) * BYTES[program.operands[n].type] for n, m in side.items()) for side in seen]
    return size[0], size[1]


def elements(access: Access, extents: tuple[int, ...]) -> NDArray[np.intp]:
    """Places of the elements that an affine access meets."""
    points = np.indices(extents, sparse=True)
    place, inside = np.zeros((), np.intp), np.ones((), bool)
    for index, extent in zip(access.index, access.shape, strict=True):
        assert isinstance(index, Affine)
        at = index.offset + sum(c * p for c, p in zip(index.coefficients, points, strict=True) if c)
        place, inside = place * extent + at, inside & (at >= 0) & (at < extent)
    place, inside = np.broadcast_arrays(place, inside)
    return np.unique(place[inside])


@SMALL
@given(cases(24))
def test_tiles_partition_the_domain(case: Case) -> None:
    for section in case[1].sections:
        visits = np.zeros(section.nest.extents, int)
        for _, box in tiles(section):
            visits[tuple(slice(first, end) for first, end in box)] += 1
        assert np.all(visits == 1)


@SMALL
@given(cases(9))
def test_boxes_hold_what_their_tiles_touch(case: Case) -> None:
    for section in case[1].sections:
        for access, image in zip(section.nest.accesses, section.images, strict=True):
            if image is None:
                continue
            for _, box in tiles(section):
                steps = image.steps or (1,) * len(image.shape)
                sizes = zip(operand_box(access, box), image.shape, steps, strict=True)
                assert all(-(-(end - first) // step) <= extent for (first, end), extent, step in sizes)


@SMALL
@given(cases())
def test_what_lives_at_a_time_has_bytes_of_its_own(case: Case) -> None:
    machine, program = case
    for step in range(len(program.sections)):
        ranges = sorted(_live(program, step))
        assert all(end <= first for (_, end), (first, _) in pairwise(ranges))
        assert all(0 <= first and end <= program.scratch_bytes for first, end in ranges)
        alignment = machine.scratchpad.alignment_bytes
        assert all(first % alignment == 0 for first, _ in ranges)
    assert program.scratch_bytes <= machine.scratchpad.bytes


def _live(program: Program, step: int) -> Iterator[tuple[int, int]]:
    """Addresses of boxes and tensors that are in the scratchpad while a section runs."""
    for image in (*program.sections[step].images, program.sections[step].accumulator):
        if image is not None:
            yield from _copies(image)
    uses: dict[str, list[int]] = {}
    for number, section in enumerate(program.sections):
        for name in section.nest.operands:
            uses.setdefault(name, []).append(number)
    for name, operand in program.operands.items():
        seen = uses.get(name, [])
        if operand.place != "scratchpad" or not operand.bytes or not seen:
            continue
        first = 0 if operand.kind in ("input", "constant") else seen[0]
        last = len(program.sections) if operand.kind == "output" else seen[-1]
        if first <= step <= last:
            yield operand.offset, operand.offset + operand.bytes


def _copies(image: Image) -> Iterator[tuple[int, int]]:
    for copy in range(image.copies):
        start = image.address + copy * image.pitch
        yield start, start + image.bytes


Change = Callable[[sim.Machine], dict[str, Any]]

FASTER: dict[str, Change] = {
    "bandwidth": lambda m: {
        "offchip.bandwidth_bytes_per_second": _times(m.offchip.bandwidth_bytes_per_second, 2)
    },
    "unlimited bandwidth": lambda m: {"offchip.bandwidth_bytes_per_second": None},
    "scratchpad bandwidth": lambda m: {"scratchpad.bytes_per_cycle": _times(m.scratchpad.bytes_per_cycle, 2)},
    "banks": lambda m: {"scratchpad.banks": m.scratchpad.banks * 2},
    "latency": lambda m: {
        "offchip.read_latency_cycles": m.offchip.read_latency_cycles // 2,
        "offchip.write_latency_cycles": m.offchip.write_latency_cycles // 2,
    },
    "channels": lambda m: {"dma.channels": 2},
    "setup": lambda m: {"dma.setup_cycles": 0},
    "requests": lambda m: {"dma.outstanding_requests": m.dma.outstanding_requests * 2},
    "lanes": lambda m: {
        "vector.lanes": {name: 2 * count for name, count in m.vector.lanes.items()},
        "reduction.lanes": {name: 2 * count for name, count in m.reduction.lanes.items()},
    },
    "launch": lambda m: {"launch_overhead_cycles": 0},
}


def _times(rate: float | None, factor: float) -> float | None:
    return None if rate is None else rate * factor


@pytest.mark.parametrize("what", FASTER)
@settings(max_examples=12)
@given(case=cases())
def test_a_faster_part_does_not_slow_a_program_down(what: str, case: Case) -> None:
    machine, program = case
    faster = machine.replace(FASTER[what](machine))
    assert simulate(program, faster).cycles <= simulate(program, machine).cycles


BETTER: dict[str, Change] = {
    **FASTER,
    "scratchpad": lambda m: {"scratchpad.bytes": m.scratchpad.bytes * 2},
}


@pytest.mark.parametrize("what", BETTER)
@settings(max_examples=12)
@given(drawn=layers(40), machine=machines())
def test_a_better_machine_gets_a_plan_that_is_no_worse(
    what: str, drawn: Layers, machine: sim.Machine
) -> None:
    better = machine.replace(BETTER[what](machine))
    program = planned(drawn, machine)
    assume(program is not None)
    other = planned(drawn, better)
    assert program is not None
    assert other is not None
    assert simulate(other, better).cycles <= ROOM * simulate(program, machine).cycles


@SMALL
@given(cases())
def test_the_closed_form_is_near_the_followed_commands(case: Case) -> None:
    machine, program = case
    followed, closed = simulate(program, machine), closed_form(program, machine)
    assert closed.cycles <= FACTOR * followed.cycles
    assert followed.cycles <= FACTOR * closed.cycles
    assert closed.macs == followed.macs
    assert closed.traffic == followed.traffic


@SMALL
@given(cases())
def test_a_simulation_gives_the_same_report_again(case: Case) -> None:
    machine, program = case
    assert simulate(program, machine) == simulate(program, machine.model_copy())


@pytest.fixture(scope="module")
def graph() -> tj.Graph:
    """A network for spotting keywords."""
    return tj.samples.load("ds_cnn")


SINGLE = [name for name in sim.machines() if sim.machine(name).cores == 1]
"""Machines that have a closed form."""


@pytest.mark.parametrize("name", [*SINGLE, "ethos-u85-256/sram-only", "ethos-u65-256/shared-sram"])
def test_laws_hold_for_a_network_on_known_machines(name: str, graph: tj.Graph) -> None:
    machine = sim.machine(name)
    report, closed = tj.simulate(graph, machine), tj.simulate(graph, machine, mode="analytic")
    assert report.cycles * machine.macs_per_cycle >= report.macs >= 2_600_000
    rate = machine.offchip_bytes_per_cycle
    assert rate is not None
    assert report.cycles >= report.offchip_bytes / rate
    assert sum(report.causes.values()) == report.cycles
    assert report.peak_scratchpad_bytes <= machine.scratchpad.bytes
    assert closed.cycles == pytest.approx(report.cycles, rel=0.1)
