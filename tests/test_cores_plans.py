"""Plans for several cores: given back, changed, stored, refused; what they run is what the graph means."""

from __future__ import annotations

import json
from contextlib import suppress
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tosajit as tj
from tests.fuzzing import check_calls
from tests.planedits import edited
from tests.strategies import Drawn, graphs
from tests.test_cores import SPLITS, machine_of, machines, two
from tests.test_fuzz_graphs import SETTINGS, passes
from tosajit.npu.simulate import Network


@pytest.mark.parametrize(
    ("name", "split"), [*(("ds_cnn", split) for split in SPLITS), ("autoencoder", "best")]
)
def test_a_plan_given_back_is_the_same_program(name: str, split: str) -> None:
    graph, machine = tj.samples.load(name), two(cores=3, planner__split=split)
    plan = tj.plan(graph, machine)
    again = tj.Plan.from_dict(json.loads(plan.to_json()))
    assert again == plan
    network = Network.of(graph)
    for part in network.parts:
        own, found = network.program(part, machine), network.program(part, machine, again)
        assert str(found) == str(own)
        assert [str(core) for core in found.cores] == [str(core) for core in own.cores]  # type: ignore[attr-defined]
    assert tj.simulate(graph, machine, plan=again).to_dict() == tj.simulate(graph, machine).to_dict()


@settings(**{**SETTINGS, "max_examples": 15})
@given(graphs(), machines())
def test_drawn_plans_given_back_take_as_long(drawn: Drawn, machine: tj.Machine) -> None:
    plan = tj.plan(drawn.graph, machine)
    assert tj.plan(drawn.graph, machine, plan=plan) == plan
    assert tj.simulate(drawn.graph, machine, plan=plan).cycles == tj.simulate(drawn.graph, machine).cycles


@settings(**{**SETTINGS, "max_examples": 25})
@given(graphs(), machines(), st.integers(0, 1 << 30))
def test_edited_plans_give_the_bits_or_say_what_is_wrong(
    drawn: Drawn, machine: tj.Machine, seed: int
) -> None:
    random = Random(seed)
    plan = tj.plan(drawn.graph, machine)
    for _ in range(random.randint(1, 3)):
        plan = edited(plan, random)

    def check(drawn: Drawn) -> None:
        with suppress(tj.PlanError):
            made = tj.compile(drawn.graph, machine=machine, plan=plan, generic="always")
            check_calls(drawn, made, str(machine))

    passes(check, drawn)


def test_a_group_may_be_shared_in_another_way() -> None:
    graph, machine = tj.samples.load("ds_cnn"), two(planner__split="rows")
    plan = tj.plan(graph, machine)
    group = next(iter(plan.parts["main"].sharing.ways))  # type: ignore[union-attr]
    changed = plan.split(group, "channels")
    found = tj.plan(graph, machine, plan=changed).parts["main"].sharing
    assert found is not None
    assert found.ways[group] == "channels"
    assert {way for name, way in found.ways.items() if name != group} == {"rows"}
    report = tj.simulate(graph, machine, plan=changed)
    assert report.split == "rows and channels"  # type: ignore[attr-defined]


def test_a_plan_says_how_cores_share_groups() -> None:
    text = str(tj.plan(tj.samples.load("autoencoder"), machine_of(cores=4)))
    assert "by rows: " in text
    assert "the last 2 cores are idle" in text
    assert "core 1: " in text
    assert "core 2: " not in text


def test_plans_of_one_core_and_of_several_are_told_apart() -> None:
    graph = tj.samples.load("ds_cnn")
    with pytest.raises(tj.PlanError, match="names begin with that of a core, 'core 0: ' to 'core 1: '"):
        tj.simulate(graph, two(), plan=tj.plan(graph, two().core))
    with pytest.raises(tj.PlanError, match="the plan is for several cores"):
        tj.simulate(graph, two().core, plan=tj.plan(graph, two()))


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"ways": {"nothing": "rows"}}, "cores: ways.nothing: the graph has no group of this name"),
        ({"ways": {}, "idle": 2}, "cores: idle: 2 of 2 cores"),
        ({"ways": {}, "common": ["nothing"]}, "cores: common.nothing: the graph has no tensor"),
        ({"ways": {"x": "columns"}}, "ways.x: 'columns' is not 'rows', 'channels' or the number of a core"),
        ({"channels": 0}, "channels: 0 is not an integer of at least 1"),
        ({"level2": 3}, "level2: 3 is not true or false"),
    ],
)
def test_what_cannot_be_shared_so_is_refused(said: dict[str, object], message: str) -> None:
    tree = {"format": "tosajit plan 1", "machine": "two", "parts": {"main": {"cores": said}}}
    with pytest.raises(tj.PlanError, match=message):
        tj.plan(tj.samples.load("ds_cnn"), two(), plan=tj.Plan.from_dict(tree))


def test_groups_that_cores_share_do_not_run_in_stripes() -> None:
    graph, machine = tj.samples.load("ds_cnn"), two(planner__split="rows")
    plan = tj.plan(graph, machine)
    first, last = list(plan.parts["main"].groups)[:2]
    with pytest.raises(tj.PlanError, match="groups that cores share do not run in stripes"):
        tj.plan(graph, machine, plan=plan.cascaded(first, last, 2))


def test_a_mapping_says_how_parts_of_groups_run() -> None:
    graph, machine = tj.samples.load("ds_cnn"), two(planner__split="rows")
    plan = tj.plan(graph, machine, mapping={"CONV2D": {"copies": 1}})
    found = [choice for name, choice in plan if "conv" in name.lower()]
    assert all(box.copies in (0, 1) for one in found for boxes in (one.boxes or {}).values() for box in boxes)
