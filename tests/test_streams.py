"""Inferences that follow each other, and networks that share a machine."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from holding import drawing

import tosajit as tj
from sim import CoresReport
from tests.test_cores import two
from tosajit.cli import main

SAMPLES = ["ds_cnn", "resnet8", "transformer_tiny"]
MACHINES = ["systolic-16", "ethos-u55-128", "two", "pipeline"]


def machine_of(name: str) -> tj.Machine:
    known = {"two": two(), "pipeline": two(planner__split="pipeline")}
    return known.get(name) or tj.machine(name)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("name", SAMPLES)
def test_inferences_end_one_after_another_and_no_later_than_alone(name: str, machine: str) -> None:
    found = tj.stream(tj.samples.path(name), machine_of(machine))
    assert found.ends[0] >= found.report.cycles
    assert list(found.ends) == sorted(set(found.ends))
    assert 0 < found.period_cycles <= 1.02 * found.report.cycles
    assert found.throughput == pytest.approx(found.report.clock_hz / found.period_cycles)
    assert f"{found.throughput:,.4g} inferences/s" in str(found)


def test_a_pipeline_ends_inferences_as_often_as_its_slowest_core_can() -> None:
    machine = two(planner__split="pipeline", offchip__bandwidth_bytes_per_second=None)
    found = tj.stream(tj.samples.path("ds_cnn"), machine)
    assert isinstance(found.report, CoresReport)
    work = [core.cycles - core.causes["dependency"] for core in found.report.cores]
    assert max(work) - 1 <= found.period_cycles <= 1.05 * max(work)  # reports round cycles up


def test_weights_that_stay_are_not_loaded_again() -> None:
    """Layers of one row take as long as their weights; where these stay, the memory may be slow."""
    graph = tj.samples.load("autoencoder")
    slow = tj.machine("systolic-16").replace({"offchip.bandwidth_bytes_per_second": 4e9})
    kept, loaded = (tj.stream(graph, slow.replace({"scratchpad.bytes": 1 << bits})) for bits in (21, 14))
    assert kept.kept_bytes > 8 * loaded.kept_bytes
    assert kept.report.offchip_bytes < loaded.report.offchip_bytes / 8
    assert kept.period_cycles < 0.8 * loaded.report.offchip_bytes / 4
    assert loaded.period_cycles >= loaded.report.offchip_bytes / 4


def test_graphs_with_loops_follow_each_other_without_overlap() -> None:
    @tj.jit
    def counted(x: Any) -> Any:
        return tj.ops.while_loop(lambda v: tj.ops.greater(x, v), lambda v: v + v, x)

    found = tj.stream(counted.graph(np.ones(1, np.int32)), "systolic-16")
    assert found.period_cycles == found.report.cycles > 0


def test_a_single_inference_is_no_stream() -> None:
    with pytest.raises(tj.CompileError, match="inferences is 1, but must be at least 2"):
        tj.stream(tj.samples.path("ds_cnn"), inferences=1)


def test_a_stream_without_end_is_refused() -> None:
    with pytest.raises(tj.CompileError, match="inferences is 1000000000000, but must be at most 10000"):
        tj.stream(tj.samples.path("ds_cnn"), inferences=10**12)


PATHS = [tj.samples.path("ds_cnn"), tj.samples.path("resnet8")]


@pytest.mark.parametrize("machine", ["systolic-16", "ethos-u55-128", "two"])
def test_networks_that_share_a_machine_do_all_their_work(machine: str) -> None:
    found = tj.share(PATHS, machine_of(machine))
    assert (
        found.report.cycles == max(one.cycles for one in found.tenants) == sum(found.report.causes.values())
    )
    assert found.report.macs == sum(one.alone.macs for one in found.tenants)
    assert all(one.slowdown >= 1 for one in found.tenants)
    assert found.gain >= 0.9
    assert [one.name for one in found.tenants] == ["ds_cnn", "resnet8"]
    assert "ds_cnn" in str(found)


def test_networks_on_cores_of_their_own_do_not_meet_without_a_limit_of_the_memory() -> None:
    machine = two(cores=2, offchip__bandwidth_bytes_per_second=None)
    found = tj.share(PATHS, machine)
    for tenant, path in zip(found.tenants, PATHS, strict=True):
        assert tenant.cycles == tj.simulate(path, machine.core).cycles


def test_no_network_is_slower_alone_than_together_where_more_cores_are_slower() -> None:
    graphs = [drawing.layer(0)[1], tj.samples.load("autoencoder")]
    found = tj.share(graphs, two(cores=4, planner__split="rows"), shares=[1, 3])
    assert all(one.slowdown >= 1 for one in found.tenants)


def test_a_larger_share_of_the_time_is_less_waiting() -> None:
    half, most = tj.share(PATHS, "systolic-16"), tj.share(PATHS, "systolic-16", shares=[4, 1])
    assert most.tenants[0].share == 0.8
    assert most.tenants[0].cycles < half.tenants[0].cycles


@pytest.mark.parametrize(
    ("models", "options", "message"),
    [
        (0, {}, "give two or more networks to share a machine, not 0"),
        (1, {}, "give two or more networks to share a machine, not 1"),
        (2, {"shares": [1]}, "shares are .*, but must be a positive number for each of 2 networks"),
        (2, {"shares": [1, 0]}, "must be a positive number"),
        (3, {"machine": two()}, "3 networks cannot each have one of 2 cores"),
    ],
)
def test_what_cannot_be_shared_is_refused(models: int, options: dict[str, Any], message: str) -> None:
    machine = options.pop("machine", "systolic-16")
    with pytest.raises(tj.CompileError, match=message):
        tj.share([PATHS[0]] * models, machine, **options)


def test_the_command_line_says_throughput(capsys: pytest.CaptureFixture[str]) -> None:
    model = str(tj.samples.path("ds_cnn"))
    assert main(["stream", model, "--machine", "systolic-16", "--inferences", "4"]) == 0
    assert capsys.readouterr().out.startswith("ds_cnn on systolic-16: latency ")
    assert main(["stream", model, "--machine", "systolic-16", "--inferences", "4", "--json"]) == 0
    said, found = json.loads(capsys.readouterr().out), tj.stream(model, "systolic-16", inferences=4)
    assert said == json.loads(json.dumps(found.to_dict()))
    with pytest.raises(SystemExit):
        main(["stream", model, "--inferences", "1"])
    assert "expected a number of at least 2" in capsys.readouterr().err


@pytest.mark.parametrize("machine", ["systolic-16", pytest.param("simba-4", marks=pytest.mark.slow)])
def test_the_command_line_shares_a_machine(machine: str, capsys: pytest.CaptureFixture[str]) -> None:
    models = [str(tj.samples.path(name)) for name in ("ds_cnn", "autoencoder")]
    assert main(["share", *models, "--machine", machine, "--share", "3", "--share", "1", "--json"]) == 0
    said, found = json.loads(capsys.readouterr().out), tj.share(models, machine, shares=(3, 1))
    assert said == json.loads(json.dumps(found.to_dict()))
    assert [one["name"] for one in said["networks"]] == ["ds_cnn", "autoencoder"]
    assert [one["share"] for one in said["networks"]] == [0.75, 0.25]
    assert main(["share", *models, "--machine", machine, "--share", "3"]) == 1
    assert "shares are [3.0], but must be a positive number" in capsys.readouterr().err


def test_names_of_networks_are_one_for_each() -> None:
    with pytest.raises(tj.CompileError, match="1 names are given for 2 networks"):
        tj.share([tj.samples.path("ds_cnn")] * 2, "systolic-16", names=["one"])
