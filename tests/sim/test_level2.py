"""A memory between the scratchpad and the off-chip one: what lives there, and what that takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import sim
import tosajit as tj
from sim.analytic import estimate as closed_form
from sim.events import Simulator, simulate
from sim.explore.area import AREA
from sim.planning import estimator
from sim.report.page import reports_page
from sim.report.values import moved
from sim.report.why import Remedy
from tests import models
from tests.sim.drawing import Layers, layers, machines
from tests.sim.programs import map_nest
from tiling.level2 import settled
from tiling.plan import plan
from tiling.planner import Infeasible
from tiling.program import Operand, Program
from tiling.target import Holds, Target
from tiling.verify_program import verify_layout

LEVEL2: dict[str, Any] = {
    "bytes": 1 << 18,
    "bandwidth_bytes_per_second": 32e9,
    "read_latency_cycles": 10,
    "write_latency_cycles": 10,
    "picojoules_per_byte": 2.0,
}
FEW = settings(max_examples=25)


def machine(base: str = "systolic-16", **figures: Any) -> sim.Machine:
    return sim.machine(base).replace({"level2": {**LEVEL2, **figures}})


def planned(drawn: Layers, machine: sim.Machine) -> Program:
    program = plan(*drawn, machine.target, estimator(machine))
    assume(isinstance(program, Program) and program.sections)
    assert isinstance(program, Program)
    return program


# The machine.


@pytest.mark.parametrize(
    ("figures", "path", "said"),
    [
        ({"bytes": 0}, "level2.bytes", "a level 2 has 64 to"),
        ({"bytes": 1.5}, "level2.bytes", "a level 2 has 64 to"),
        ({"holds": "weights"}, "level2.holds", "constants"),
        ({"kind": "dram"}, "level2.kind", "sram"),
        ({"kind": "flash"}, "level2.holds", "flash cannot be written while a program runs; use constants"),
        ({"bandwidth_bytes_per_second": -1}, "level2.bandwidth_bytes_per_second", "a memory moves"),
        ({"read_latency_cycles": -1}, "level2.read_latency_cycles", "a time has"),
        ({"burst_bytes": 0}, "level2.burst_bytes", "a burst has"),
        ({"picojoules_per_byte": -1}, "level2.picojoules_per_byte", "it takes"),
        ({"ports": 2}, "level2.ports", "no such field"),
    ],
)
def test_strange_values_are_refused(figures: dict[str, Any], path: str, said: str) -> None:
    with pytest.raises(sim.MachineError) as error:
        machine(**figures)
    assert path in str(error.value)
    assert said in str(error.value)


def test_a_bandwidth_beyond_any_memory_is_refused() -> None:
    with pytest.raises(sim.MachineError, match=r"level2\.bandwidth.*1e\+10 .* beyond any memory"):
        machine().replace({"clock_hz": 1e6, "level2.bandwidth_bytes_per_second": 1e16})


def test_it_needs_a_size() -> None:
    with pytest.raises(sim.MachineError, match=r"level2\.bytes"):
        sim.machine("tiny").replace({"level2": {"kind": "sram"}})


def test_one_figure_can_be_replaced_and_the_whole_left_out() -> None:
    made = machine()
    larger = made.replace({"level2.bytes": 1 << 20})
    assert larger.level2 == made.level2.model_copy(update={"bytes": 1 << 20})  # type: ignore[union-attr]
    assert made.replace({"level2": None, "name": "systolic-16"}).level2 is None
    assert sim.machine("tiny").replace({"level2.bytes": 4096}).level2 == sim.Level2(bytes=4096)
    assert sim.Machine(**made.to_dict()) == made
    assert "256 KiB sram, dram 8 GB/s" in repr(made)
    assert "level2.bandwidth_bytes_per_second" in str(made)


def test_at_another_point_latencies_take_as_many_seconds() -> None:
    made = machine().replace({"energy.volts": 0.8, "dvfs": [{"name": "slow", "clock_hz": 5e8, "volts": 0.6}]})
    slow = made.at("slow").level2
    assert slow is not None
    assert slow.read_latency_cycles == 5
    assert slow.bandwidth_bytes_per_second == 32e9


def test_a_level_2_that_cannot_reach_its_bandwidth_is_noted() -> None:
    with pytest.warns(sim.MachineWarning, match="but level 2 has 512"):
        machine(bandwidth_bytes_per_second=512e9)


# What lives there.


def chain() -> tuple[list[Any], dict[str, Operand]]:
    """From x by a and b to y, each of 64 bytes, and a constant of 64 that two read."""
    nests = [
        map_nest(0, "x", "c", "a", 8, 8, "map"),
        map_nest(1, "a", "c", "b", 8, 8, "map"),
        map_nest(2, "b", "d", "y", 8, 8, "map"),
    ]
    kinds = {"x": "input", "c": "constant", "d": "constant", "a": "temporary", "b": "temporary"}
    operands = {name: Operand(name, "i8", 64, kinds.get(name, "output")) for name in "xcdaby"}  # type: ignore[arg-type]
    return nests, operands


@pytest.mark.parametrize(
    ("holds", "size", "inside"),
    [
        ("both", 1024, "abcd"),
        ("values", 1024, "ab"),
        ("constants", 1024, "cd"),
        ("constants", 64, "c"),
        ("both", 128, "ab"),
        ("both", 192, "abc"),
        ("both", 32, ""),
    ],
)
def test_values_come_first_and_then_constants_that_are_used_most(
    holds: Holds, size: int, inside: str
) -> None:
    nests, operands = chain()
    target = Target("t", 4096, level2_bytes=size, level2_holds=holds)
    found = settled(nests, operands, target)
    assert {name for name, one in found.items() if one.place == "level2"} == set(inside)
    assert settled(nests, found, target) == found
    assert settled(nests, found, Target("t", 4096)) == found


@FEW
@given(
    layers(40), machines(), st.sampled_from([64, 1 << 10, 1 << 20]), st.sampled_from(["constants", "both"])
)
def test_what_lives_at_a_time_has_bytes_of_its_own(
    drawn: Layers, machine: sim.Machine, size: int, holds: str
) -> None:
    program = planned(drawn, machine.replace({"level2": {"bytes": size, "holds": holds}}))
    assert verify_layout(program) == []
    assert program.level2_bytes <= size
    for one in program.operands.values():
        assert one.place != "level2" or one.kind in ("constant", "temporary")


# What it takes.


@FEW
@given(layers(40), machines(), st.sampled_from([256, 1 << 20]))
def test_a_level_2_that_is_as_fast_never_costs_more(drawn: Layers, base: sim.Machine, size: int) -> None:
    far = base.offchip.model_dump(
        exclude={"kind", "ports", "outstanding_reads", "outstanding_writes", "pages"}
    )
    better = base.replace({"level2": {**far, "bytes": size}})
    assert (
        simulate(planned(drawn, better), better).cycles <= 1.005 * simulate(planned(drawn, base), base).cycles
    )


@FEW
@given(
    layers(40), machines(), st.sampled_from([2, 8]), st.sampled_from(["bytes", "bandwidth_bytes_per_second"])
)
def test_a_better_level_2_never_costs_more(drawn: Layers, base: sim.Machine, factor: int, what: str) -> None:
    small = base.replace({"level2": {"bytes": 512, "bandwidth_bytes_per_second": 4e9}})
    better = small.replace({f"level2.{what}": factor * getattr(small.level2, what)})
    one, other = planned(drawn, small), planned(drawn, better)
    assert simulate(other, better).cycles <= 1.005 * simulate(one, small).cycles


@FEW
@given(layers(40), machines())
def test_folded_tiles_and_the_closed_form_agree_with_what_is_followed(
    drawn: Layers, base: sim.Machine
) -> None:
    made = base.replace(
        {"level2": {"bytes": 2048, "bandwidth_bytes_per_second": 2e9, "read_latency_cycles": 9}}
    )
    program = planned(drawn, made)
    followed, closed = Simulator(made).simulate(program, fold=False), closed_form(program, made)
    assert simulate(program, made).cycles == followed.cycles
    assert sum(followed.causes.values()) == followed.cycles
    assert closed.traffic == followed.traffic
    assert 2 / 3 <= closed.cycles / followed.cycles <= 1.5


@pytest.mark.parametrize("base", ["systolic-16", "ethos-u55-128", "nvdla-small"])
def test_constants_that_fit_leave_the_off_chip_memory(base: str) -> None:
    graph = tj.samples.load("ds_cnn")
    before = tj.simulate(graph, base)
    after = tj.simulate(graph, machine(base, holds="constants"))
    assert after.cycles <= before.cycles
    kinds = {(memory, kind) for (memory, _, kind), size in after.traffic.items() if size}
    assert ("offchip", "weights") not in kinds
    assert ("level2", "weights") in kinds
    assert ("level2", "activations") not in kinds
    through = sum(size for (memory, *_), size in after.traffic.items() if memory == "level2")
    assert after.energy["level2"] == pytest.approx(2e-12 * through)
    assert 0 < after.peak_level2_bytes <= after.level2_bytes == 1 << 18


def test_maps_that_find_no_room_spill_to_it() -> None:
    graph = tj.samples.load("resnet8")
    base = sim.machine("systolic-16").replace({"scratchpad.bytes": 8 << 10})
    before = tj.simulate(graph, base)
    after = tj.simulate(graph, base.replace({"level2": {**LEVEL2, "bytes": 2 << 20, "holds": "values"}}))
    assert after.offchip_bytes < before.offchip_bytes
    assert after.cycles < before.cycles
    assert {direction for memory, direction, _ in after.traffic if memory == "level2"} == {"read", "write"}


# What is said of it.


def test_reports_say_what_goes_through_it() -> None:
    report = tj.simulate(tj.samples.load("ds_cnn"), machine())
    assert "level 2" in str(report)
    (line,) = (one for one in str(report).splitlines() if one.startswith("level 2"))
    assert "weights 21.5 KiB" in line
    assert line.endswith("31.4 KiB of 256.0 KiB used")
    again = tj.Report.from_json(report.to_json())
    assert again == report
    assert "level2_read_bytes" in report.to_csv().partition("\n")[0]
    plain = tj.simulate(tj.samples.load("ds_cnn"), "systolic-16")
    assert "level2" not in plain.to_json()
    assert "level2" not in plain.to_csv()
    assert "level 2" not in str(plain)


def test_pages_have_its_traffic_and_no_sliders_that_do_not_know_it() -> None:
    report = tj.simulate(tj.samples.load("ds_cnn"), machine())
    page = reports_page([report])
    sizes = ",".join(str(moved(one.traffic, "level2")) for one in report.operators)
    assert f'"level2":[{sizes}]' in page.replace(" ", "")
    assert '"whatif":null' in page.replace(" ", "")
    assert '"level2":' not in reports_page([tj.simulate(tj.samples.load("ds_cnn"), "tiny")]).replace(" ", "")


def test_what_would_help_is_tried_on_it() -> None:
    report = tj.simulate(tj.samples.load("autoencoder"), "alif-e7")
    assert any("level 2" in remedy.text for number in range(3) for remedy in remedies(report, number))


def remedies(report: tj.Report, number: int) -> Sequence[Remedy]:
    assert report.origin is not None
    found: Sequence[Remedy] = report.origin.remedies(report, number, ["weights"])
    return found


def test_programs_say_where_tensors_are() -> None:
    executable = tj.compile(tj.samples.load("ds_cnn"), machine=machine())
    assert "of them in level 2" in str(executable.programs[0])


def test_several_cores_have_parts_of_it() -> None:
    cores = {"cores": 2, "topology": {"network": "bus"}}
    made = machine().replace(cores)
    assert made.core.level2 is not None
    assert made.core.level2.bytes == LEVEL2["bytes"] // 2
    report = tj.simulate(tj.samples.load("ds_cnn"), made)
    assert (
        report.cycles
        <= tj.simulate(tj.samples.load("ds_cnn"), sim.machine("systolic-16").replace(cores)).cycles
    )
    assert any(memory == "level2" for memory, *_ in report.traffic)


def test_spaces_can_vary_it() -> None:
    space = tj.Space(machine(), {"level2.bytes": [1 << 14, 1 << 18], "level2.holds": ["constants", "both"]})
    found = tj.explore(tj.samples.load("ds_cnn"), space, mode="events", workers=0)
    assert len(found) == 4


def test_spaces_can_leave_it_out_and_its_area_counts() -> None:
    space = tj.Space("systolic-16", {"level2": [None, {"bytes": 1 << 20}]})
    found = tj.explore(
        tj.samples.load("ds_cnn"), space, mode="events", workers=0, objectives=["latency", "area"]
    )
    assert len(found) == len(found.front()) == 2
    without, with_it = AREA.of([sim.machine("systolic-16"), machine(bytes=1 << 20)])
    assert with_it - without == pytest.approx(1024 * AREA.per_level2_kib * 1e-6)


def test_a_named_machine_has_its_weights_in_it() -> None:
    made, graph = sim.machine("alif-e7"), tj.samples.load("resnet8")
    report, without = tj.simulate(graph, made), tj.simulate(graph, made.replace({"level2": None}))
    assert report.offchip_bytes == 0
    assert report.cycles < 0.8 * without.cycles


# Bits.


@pytest.mark.parametrize("holds", ["constants", "values", "both"])
@pytest.mark.parametrize("base", ["tiny", "systolic-16", "ethos-u85-128"])
def test_bits_are_those_of_the_model(base: str, holds: str) -> None:
    made = machine(base, holds=holds, bytes=10_000).replace({"scratchpad.bytes": 16384})
    executable = tj.compile(models.graph("ds_cnn"), machine=made)
    for case in models.cases("ds_cnn"):
        for result, golden in zip(executable(*case.inputs), case.outputs, strict=True):
            np.testing.assert_array_equal(result, golden)


def test_a_program_without_room_is_refused_as_without_it() -> None:
    nests, operands = chain()
    assert isinstance(plan(nests, operands, Target("t", 2, level2_bytes=1 << 20)), Infeasible)
