"""Reports of a network on machines: that what is shown of them is right and can be read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tosajit as tj
from sim.report.text import WIDTH
from sim.report.trace import flows
from sim.report.values import Mode, moved
from tests.sim.test_report_trace import check
from tosajit import ops

MODEL = tj.samples.path("ds_cnn")
MACHINES = ("ethos-u55-128", "ethos-u65-256", "ethos-u85-512", "systolic-16", "eyeriss-v1", "tiny")
each_machine = pytest.mark.parametrize("machine", MACHINES)
_made: dict[tuple[str, Mode], tj.Report] = {}


def report(machine: str, mode: Mode = "events") -> tj.Report:
    if (machine, mode) not in _made:
        _made[machine, mode] = tj.simulate(MODEL, machine, mode=mode)
    return _made[machine, mode]


@each_machine
@pytest.mark.parametrize("mode", ["events", "analytic"])
def test_totals_are_the_sums_of_the_operators(machine: str, mode: Mode) -> None:
    made = report(machine, mode)
    assert made.mode == mode
    assert sum(one.total for one in made.operators) == made.cycles
    assert sum(one.offchip_bytes for one in made.operators) == made.offchip_bytes
    assert sum(one.joules for one in made.operators) == pytest.approx(made.joules)
    for unit, count in made.busy.items():
        assert sum(one.busy.get(unit, 0) for one in made.operators) == count <= 2 * made.cycles
    assert made.macs == 2_656_768
    assert made.program == "ds_cnn"


@each_machine
def test_it_can_be_shown_and_read_back(machine: str) -> None:
    made = report(machine)
    assert max(map(len, str(made).splitlines())) <= WIDTH
    assert tj.Report.from_json(made.to_json()) == made
    assert made._repr_html_()
    assert made.to_csv()
    check(made.trace())


@each_machine
def test_the_timeline_has_what_the_totals_say(machine: str) -> None:
    made = report(machine)
    assert max(span.end for span in made.timeline) <= made.cycles
    assert sum(span.bytes * span.count for span in made.timeline) <= made.offchip_bytes
    assert max(size for _, size in made.occupancy) == made.peak_scratchpad_bytes <= made.scratchpad_bytes
    assert all(0 <= one.start <= one.end <= made.cycles for one in made.operators)


@each_machine
def test_weights_are_read_at_least_once_and_never_written_off_chip(machine: str) -> None:
    traffic = report(machine).traffic
    assert moved(traffic, "offchip", "read", "weights") > 10_000
    assert moved(traffic, "offchip", "write", "weights") == 0


def test_groups_are_called_by_the_member_that_tells_most() -> None:
    labels = [one.label for one in report("ethos-u55-128").operators]
    assert labels[0].startswith("CONV2D layer_67 + ")
    assert sum(label.startswith("DEPTHWISE_CONV2D ") for label in labels) == 4
    assert any(label.startswith("REDUCE_SUM ") for label in labels)
    assert labels[0] == "CONV2D layer_67 + RESCALE layer_68 + CLAMP layer_69"


@each_machine
def test_members_are_named_once(machine: str) -> None:
    for one in report(machine).operators:
        assert len(set(one.members)) == len(one.members)
        assert len(set(one.label.split(" + "))) == len(one.label.split(" + "))


def test_what_bounds_the_whole_bounds_what_it_attains() -> None:
    for machine in MACHINES:
        place = report(machine).roofline
        assert 0 < place.attained <= place.bound * 1.001


def test_pictures_of_it_are_drawn() -> None:
    pytest.importorskip("matplotlib", reason="pip install '.[notebook]'")
    made = report("tiny")
    program = tj.compile(tj.load(MODEL), machine="tiny").program
    for figure in (
        made.plot.roofline(),
        made.plot.timeline(),
        made.plot.stalls(),
        made.plot.scratchpad(program),
    ):
        assert figure._repr_png_()


def test_loops_and_branches_are_told_as_one_report() -> None:
    limit, one = np.array([100], np.int32), np.array([1], np.int32)

    def counted(number: Any) -> Any:
        return ops.while_loop(lambda n: ops.reshape(n < limit, ()), lambda n: n + one, number)

    graph = tj.trace(counted, tj.Value("number", tj.INT32, (1,)))
    few, many = (tj.simulate(graph, "tiny", loop_trips=trips) for trips in (1, 10))
    assert many.cycles > few.cycles
    assert sum(one.total for one in many.operators) == many.cycles
    check(many.trace())
    assert str(many)


def test_a_graph_that_does_nothing_takes_nothing() -> None:
    made = tj.simulate(tj.trace(lambda x: x, tj.Value("x", tj.INT32, (1,))), "tiny")
    assert (made.cycles, made.operators) == (0, ())
    assert "nothing to do" in str(made)


def test_the_bandwidth_of_an_estimate_has_all_bytes() -> None:
    made = report("systolic-16", "analytic")
    assert sum(size for _, _, size in flows(made)) == pytest.approx(made.offchip_bytes)


@each_machine
def test_the_scratchpad_holds_what_is_in_use(machine: str) -> None:
    made = report(machine)
    assert made.contents
    assert all(0 <= one.first <= one.last <= made.cycles for one in made.contents)
    assert all(one.address + one.bytes <= made.scratchpad_bytes for one in made.contents)
    for cycle, size in made.occupancy[:: max(1, len(made.occupancy) // 50)]:
        there = sorted(
            (one.address, one.address + one.bytes) for one in made.contents if one.first <= cycle < one.last
        )
        assert size <= covered(there)
    assert report(machine, "analytic").contents == ()


def covered(ranges: list[tuple[int, int]]) -> int:
    """How many addresses are in any of the ranges, which are in order."""
    total = end = 0
    for low, high in ranges:
        total += max(0, high - max(low, end))
        end = max(end, high)
    return total
