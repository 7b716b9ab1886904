"""Several cores: the bits are those of one, on any drawn graph, whatever the cores share and how."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from holding import drawing
from holding import machines as drawn_machines
from hypothesis import given, settings
from hypothesis import strategies as st
from validating.networks import resnet50

import tosajit as tj
from sim import CoresReport
from sim.events.network import Network as Links
from sim.spreading import WAYS, changing_once
from tests.fuzzing import check_calls
from tests.strategies import Drawn, graphs
from tests.test_fuzz_graphs import SETTINGS, passes
from tosajit.cli import main
from tosajit.compiler.planning import planned_for
from tosajit.compiler.verify import verify
from tosajit.npu.simulate import Network

SPLITS = ("rows", "channels", "pipeline", "best")


def machine_of(base: str = "systolic-16", cores: int = 2, **changes: Any) -> tj.Machine:
    """A machine of several cores, without a limit between them unless there is one among the changes."""
    return tj.machine(base).replace({"cores": cores, "topology": {}, **changes})


def two(**changes: Any) -> tj.Machine:
    return machine_of(**{name.replace("__", "."): value for name, value in changes.items()})


def pooled_twice() -> tj.Graph:
    """Two windows of 3 × 3 in a row, over a map of 16 × 16."""

    @tj.jit
    def pooled(x: Any) -> Any:
        for _ in range(2):
            x = tj.ops.max_pool2d(x, kernel=(3, 3), stride=(1, 1), pad=(1, 1, 1, 1))
        return x

    return pooled.graph(np.zeros((1, 16, 16, 8), np.int8))


@st.composite
def machines(draw: st.DrawFn) -> tj.Machine:
    """Machines of several cores with little or much room, of either topology."""
    return machine_of(
        draw(st.sampled_from(("systolic-16", "dot-256", "tiny"))),
        draw(st.sampled_from((2, 3, 4, 7))),
        **{
            "scratchpad.bytes": draw(st.sampled_from((8192, 1 << 15, 1 << 18))),
            "topology.scratchpad": draw(st.sampled_from(("own", "shared"))),
            "topology.network": draw(st.sampled_from(("bus", "mesh"))),
            "planner.split": draw(st.sampled_from(SPLITS)),
        },
    )


@settings(**{**SETTINGS, "max_examples": 40})
@given(graphs(), machines())
def test_drawn_graphs_give_the_bits_of_the_oracle_on_all_cores(drawn: Drawn, machine: tj.Machine) -> None:
    def check(drawn: Drawn) -> None:
        check_calls(drawn, tj.compile(drawn.graph, machine=machine, generic="always"), str(machine))

    passes(check, drawn)


@settings(**{**SETTINGS, "max_examples": 16})
@given(graphs(), machines())
def test_programs_of_drawn_graphs_are_well_formed_and_take_time(drawn: Drawn, machine: tj.Machine) -> None:
    for step in Network.of(drawn.graph).steps:
        made = planned_for(step, machine)  # type: ignore[arg-type]
        assert verify(made) == []
    report = tj.simulate(drawn.graph, machine)
    assert report.cycles == sum(report.causes.values())


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("name", ["ds_cnn", "transformer_tiny", "resnet8"])
def test_samples_give_their_bits(name: str, split: str) -> None:
    executable = tj.compile(
        tj.samples.path(name), machine=two(cores=3, planner__split=split), generic="always"
    )
    inputs, outputs = tj.samples.cases(name)[0]
    for result, expected in zip(executable(*inputs), outputs, strict=True):
        np.testing.assert_array_equal(result, expected)


@given(st.lists(st.tuples(st.integers(1, 99), st.integers(1, 99)), min_size=1, max_size=7))
def test_the_way_changes_once_where_that_takes_least(taken: list[tuple[int, int]]) -> None:
    def time(ways: tuple[Any, ...]) -> int:
        return sum(pair[WAYS.index(way)] for pair, way in zip(taken, ways, strict=True))

    found = changing_once(list(zip(*taken, strict=True)))
    several = product(WAYS, repeat=len(taken))
    once = (ways for ways in several if sum(one != other for one, other in pairwise(ways)) <= 1)
    assert time(found) == min(map(time, once))


@pytest.mark.parametrize("name", ["ds_cnn", "transformer_tiny", "resnet8"])
def test_best_is_no_slower_than_any_way_or_than_one_core(name: str) -> None:
    graph = tj.samples.load(name)
    times = {split: tj.simulate(graph, two(planner__split=split)).cycles for split in SPLITS}
    assert times["best"] <= min(times["rows"], times["channels"], tj.simulate(graph, two().core).cycles)


@pytest.mark.parametrize("name", ["ds_cnn", "autoencoder"])
def test_more_cores_are_no_slower(name: str) -> None:
    graph = tj.samples.load(name)
    times = [tj.simulate(graph, two().core).cycles]
    times += [tj.simulate(graph, two(cores=cores)).cycles for cores in (2, 3, 4)]
    assert all(more <= 1.005 * fewer for fewer, more in pairwise(times))


def test_a_report_says_what_each_core_does_and_what_bounds_all() -> None:
    report = tj.simulate(tj.samples.path("resnet8"), two(topology__bandwidth_bytes_per_second=8e9))
    assert isinstance(report, CoresReport)
    assert len(report.cores) == 2
    assert report.cycles == max(core.cycles for core in report.cores) == sum(report.causes.values())
    assert report.macs == sum(core.macs for core in report.cores)
    assert report.traffic.keys() == report.cores[0].traffic.keys() | report.cores[1].traffic.keys()
    assert report.alone_cycles == tj.simulate(tj.samples.path("resnet8"), two().core).cycles
    assert report.speedup is not None
    assert 1 < report.speedup <= min(report.bounds.values())
    assert report.between_bytes > 0
    assert {span.unit.split(" ", 2)[2] for span in report.timeline} >= {"array", "network"}
    processes = {event["pid"] for event in report.trace()["traceEvents"]}
    assert processes == {1, 2}
    assert CoresReport.from_json(report.to_json()) == report
    assert "times as fast as one core" in str(report)
    assert tj.Report.from_json(report.to_json()).cycles == report.cycles


def test_work_by_rows_of_equal_halves_takes_what_one_core_takes_for_a_half() -> None:
    """Without a limit of the off-chip memory, and with nothing to pass, cores do not meet."""

    def rows(count: int) -> tj.Graph:
        @tj.jit
        def scaled(x: Any, y: Any) -> Any:
            return x * x + y

        return scaled.graph(np.zeros((count, 64), np.int32), np.zeros((count, 64), np.int32))

    machine = two(offchip__bandwidth_bytes_per_second=None, planner__split="rows")
    whole, half = tj.simulate(rows(64), machine), tj.simulate(rows(32), machine.core)
    assert whole.cycles == half.cycles
    assert isinstance(whole, CoresReport)
    assert whole.between_bytes == 0


def test_two_cores_cannot_have_more_than_the_bandwidth() -> None:
    @tj.jit
    def added(x: Any, y: Any) -> Any:
        return x + y

    graph = added.graph(np.zeros((1 << 10, 64), np.int32), np.zeros((1 << 10, 64), np.int32))
    machine = two(planner__split="rows")
    report = tj.simulate(graph, machine)
    assert report.cycles >= report.offchip_bytes / (machine.offchip_bytes_per_cycle or 0)
    assert report.cycles <= 1.02 * tj.simulate(graph, machine.core).cycles


def test_the_halo_of_a_window_is_what_cores_take_from_each_other() -> None:
    """A 3 × 3 window reaches one row beyond each border between two cores, on both sides."""
    graph = pooled_twice()
    for cores in (2, 4):
        report = tj.simulate(graph, two(cores=cores, planner__split="rows"))
        assert isinstance(report, CoresReport)
        assert report.between_bytes == (cores - 1) * 2 * 16 * 8


@pytest.mark.parametrize(("network", "hops"), [("bus", 3), ("mesh", 4)])
def test_what_cores_take_from_each_other_costs_energy_on_each_link(network: str, hops: int) -> None:
    """Four cores in a square: of three borders between neighbours, the middle one is two links long."""
    graph = pooled_twice()
    changes = {"topology__network": network, "energy__picojoules_per_network_byte": 7.0}
    report = tj.simulate(graph, two(cores=4, planner__split="rows", **changes))
    assert isinstance(report, CoresReport)
    assert report.energy["network"] == pytest.approx(7e-12 * hops * 2 * 16 * 8)
    assert sum(one.energy.get("network", 0) for one in report.operators) == report.energy["network"]
    assert "network" in str(report)


def dense(rows: int, channels: int = 64) -> tj.Graph:
    """A product with constant weights, which cores that share its rows all need."""
    weights = np.ones((1, channels, channels), np.int8)

    @tj.jit
    def product(x: Any) -> Any:
        return tj.ops.matmul(x, weights)

    return product.graph(np.zeros((1, rows, channels), np.int8))


@pytest.mark.parametrize("network", ["bus", "mesh"])
@pytest.mark.parametrize("scratchpad", ["own", "shared"])
def test_weights_come_once_for_cores_that_share_rows(network: str, scratchpad: str) -> None:
    """Without that they come for each; the scratchpads take as many bytes in both cases."""
    changes = {"topology__network": network, "topology__scratchpad": scratchpad, "planner__split": "rows"}
    machine = two(cores=4, **changes)
    own = machine.replace({"topology.multicast": False})
    once, each = tj.simulate(dense(64), machine), tj.simulate(dense(64), own)
    assert isinstance(once, CoresReport)
    assert isinstance(each, CoresReport)
    weights = 64 * 64 + 1  # and their zero point
    assert (once.multicast_bytes, each.multicast_bytes) == (weights, 0)
    assert each.offchip_bytes - once.offchip_bytes == 3 * weights
    assert once.cycles <= each.cycles
    assert sum(core.offchip_bytes for core in once.cores) == once.offchip_bytes
    inside = sum(size for (memory, *_), size in once.traffic.items() if memory == "scratchpad")
    assert inside == sum(size for (memory, *_), size in each.traffic.items() if memory == "scratchpad")


@pytest.mark.parametrize(("network", "links"), [("bus", 1), ("mesh", 3)])
def test_what_comes_once_goes_over_each_link_once(network: str, links: int) -> None:
    changes = {"topology__network": network, "energy__picojoules_per_network_byte": 7.0}
    report = tj.simulate(dense(64), two(cores=4, planner__split="rows", **changes))
    assert isinstance(report, CoresReport)
    assert report.between_bytes == 0
    assert report.energy["network"] == pytest.approx(7e-12 * links * report.multicast_bytes)


@pytest.mark.parametrize(("network", "links"), [("bus", 1), ("mesh", 3)])
def test_what_all_cores_take_from_one_goes_over_each_link_once(network: str, links: int) -> None:
    """By channels each core needs all that the others have made."""

    @tj.jit
    def products(x: Any) -> Any:
        weights = np.ones((1, 64, 64), np.int8)
        y = tj.ops.matmul(x, weights).astype(np.int8)
        return tj.ops.matmul(y, weights)

    graph = products.graph(np.zeros((1, 64, 64), np.int8))
    changes = {"topology__network": network, "energy__picojoules_per_network_byte": 7.0}
    machine = two(cores=4, planner__split="channels", **changes)
    once, each = (
        tj.simulate(graph, machine.replace({"topology.multicast": multicast})) for multicast in (True, False)
    )
    assert isinstance(once, CoresReport)
    assert isinstance(each, CoresReport)
    assert once.between_bytes == each.between_bytes == 3 * 64 * 64
    loaded = links * once.multicast_bytes
    assert once.energy["network"] == pytest.approx(7e-12 * (links * 64 * 64 + loaded))
    assert each.energy["network"] > once.energy["network"] - 7e-12 * loaded
    assert once.cycles < each.cycles


@pytest.mark.parametrize(("cores", "columns"), [(4, 2), (7, 3), (7, None), (6, None), (5, 4), (3, 1), (5, 5)])
def test_ways_through_a_mesh_lead_from_neighbour_to_neighbour(cores: int, columns: int | None) -> None:
    topology = {"network": "mesh", "columns": columns}
    network = Links(tj.machine("systolic-16").replace({"cores": cores, "topology": topology}))
    for source, target in product(range(cores), repeat=2):
        (row, column), (last_row, last) = (divmod(core, network.columns) for core in (source, target))
        links = network.route(source, target)
        assert len(links) == abs(row - last_row) + abs(column - last)
        assert [source, *(end for _, end in links)] == [*(start for start, _ in links), target]
        assert all(0 <= core < cores for link in links for core in link)
        assert all(abs(one - other) in (1, network.columns) for one, other in links)


def test_a_slow_network_delays_what_comes_once() -> None:
    fast, slow = (
        tj.simulate(dense(64), two(planner__split="rows", topology__bandwidth_bytes_per_second=rate)).cycles
        for rate in (64e9, 1e8)
    )
    assert slow >= 64 * 64 / (1e8 / two().clock_hz) > fast


@pytest.mark.parametrize(
    "name", ["ds_cnn", pytest.param("transformer_tiny", marks=pytest.mark.slow), "resnet8"]
)
def test_loads_that_cores_share_make_nothing_slower(name: str) -> None:
    graph, machine = tj.samples.load(name), two(cores=4)
    own = tj.simulate(graph, machine.replace({"topology.multicast": False}))
    once = tj.simulate(graph, machine)
    assert once.cycles <= 1.005 * own.cycles
    assert once.offchip_bytes <= own.offchip_bytes


def test_loops_take_as_long_as_their_programs() -> None:
    @tj.jit
    def counted(x: Any) -> Any:
        return tj.ops.while_loop(lambda v: tj.ops.greater(np.array([9], np.int32), v), lambda v: v + v, x)

    report = tj.simulate(counted.graph(np.ones(1, np.int32)), two(), loop_trips=3)
    assert report.cycles == sum(report.causes.values()) > 0
    assert not isinstance(report, CoresReport)


def test_the_closed_form_refuses_cores() -> None:
    with pytest.raises(tj.CompileError, match="the closed form knows no cores with a topology"):
        tj.simulate(tj.samples.path("ds_cnn"), two(), mode="analytic")


def test_explorations_in_closed_form_say_what_they_do_not_know() -> None:
    space = tj.Space(two(), {"cores": [2, 4]})
    found = tj.explore(tj.samples.path("ds_cnn"), space, workers=1)
    assert found.reasons() == {"the closed form knows no cores with a topology; mode='events' does": 2}
    followed = tj.explore(tj.samples.path("ds_cnn"), space, mode="events", workers=1)
    assert followed.reasons() == {}


def test_two_cores_do_resnet50_at_least_1_7_times_as_fast_where_the_bandwidth_allows_it() -> None:
    limits = {"bandwidth_bytes_per_second": 64e9, "hop_latency_cycles": 20}
    report = tj.simulate(resnet50(), machine_of("systolic-32", topology=limits))
    assert isinstance(report, CoresReport)
    assert report.bounds["bandwidth"] > 2
    assert report.speedup is not None
    assert 1.7 <= report.speedup <= 2


def test_a_second_channel_takes_no_longer_where_cores_wait_for_one_memory() -> None:
    _, graph = drawing.layer(81036)
    one = tj.machine("simba-4").replace({"scratchpad.bytes": 4096, "dma.channels": 1})
    assert tj.simulate(graph, one.replace({"dma.channels": 2})).cycles <= tj.simulate(graph, one).cycles


@pytest.mark.parametrize(
    ("drawn", "seed", "more"),
    [
        (drawing.layer, 313438, {"dma.channels": 2}),
        pytest.param(
            *(drawing.network, 520016, drawn_machines.more_level2(drawn_machines.machine(520016), 1.5)),
            marks=pytest.mark.slow,
        ),
    ],
    ids=["channels", "level 2"],
)
def test_cores_that_have_more_may_leave_it_unused(
    drawn: Callable[[int], tuple[str, tj.Graph]], seed: int, more: Mapping[str, Any]
) -> None:
    machine, (_, graph) = drawn_machines.machine(seed), drawn(seed)
    better = tj.simulate(graph, machine.replace(more))
    assert better.cycles <= tj.simulate(graph, machine).cycles * 1.005


def test_a_larger_scratchpad_takes_no_longer_on_several_cores() -> None:
    """A core's share of the bandwidth is less than it has while others compute, so tiles were too large."""
    (_, graph), base = drawing.layer(10), machine_of(cores=3)
    rooms = (14720, 18432, 22080, 29440, 58880)
    times = [tj.simulate(graph, base.replace({"scratchpad.bytes": room})).cycles for room in rooms]
    assert all(more <= 1.005 * less for less, more in pairwise(times))
    assert max(times) < 12_500


def test_the_command_line_takes_cores_and_how_they_share(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tj.samples.path("ds_cnn"))
    assert main(["simulate", path, "--machine", "systolic-16", "--cores", "2", "--split", "rows"]) == 0
    said = capsys.readouterr().out
    assert "split by rows" in said
    assert "times as fast as one core" in said
    assert main(["simulate", path, "--machine", "ethos-u55-128", "--cores", "2"]) == 1
    assert "memory.activations: cores find what they share" in capsys.readouterr().err
