"""Plans as values: given back, changed, stored, refused; what they run is what the graph means."""

from __future__ import annotations

import json
import pickle
from contextlib import suppress
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import tosajit as tj
from tests.covering import in_turn
from tests.fuzzing import check_calls
from tests.golden_networks import networks
from tests.planedits import edited
from tests.strategies import Drawn, graphs
from tiling.schedule import Choice
from tosajit.cli.arguments import main
from tosajit.npu.simulate import Network
from tosajit.plans.mapping import Rule

MACHINES = ("tiny", "ethos-u55-32", "ethos-u65-256", "systolic-16", "nvdla-small")
SETTINGS: dict[str, Any] = {
    "derandomize": True,
    "deadline": None,
    "database": None,
    "phases": (Phase.generate,),
    "suppress_health_check": list(HealthCheck),
}


@cache
def residual() -> tj.Graph:
    return networks()["residual"]()


@cache
def planned(machine: str = "tiny") -> tj.Plan:
    return tj.plan(residual(), machine)


def inputs(graph: tj.Graph) -> list[np.ndarray]:
    random = np.random.default_rng(0)
    return [random.integers(-128, 128, value.shape).astype(value.dtype.storage) for value in graph.inputs]


# Given back.


@pytest.mark.parametrize(
    ("name", "machine"), in_turn(networks(), [*MACHINES, "ethos-u85-512", "tpu-v1", "eyeriss-v1"], each=3)
)
def test_a_plan_given_back_is_the_same_program(name: str, machine: str) -> None:
    network, model = Network.of(networks()[name]()), tj.machine(machine)
    try:
        plan = tj.plan(networks()[name](), machine)
    except tj.PlanError:
        pytest.skip("the network does not fit the machine")
    again = tj.Plan.from_dict(json.loads(plan.to_json()))
    for part in network.parts:
        own, found = network.program(part, model), network.program(part, model, again)
        assert found.sections == own.sections
        assert dict(found.operands) == dict(own.operands)
        assert (found.arena_bytes, found.scratch_bytes) == (own.arena_bytes, own.scratch_bytes)


@settings(max_examples=20, **SETTINGS)
@given(graphs(), st.sampled_from(MACHINES))
def test_drawn_plans_given_back_are_the_same_program(drawn: Drawn, machine: str) -> None:
    with suppress(tj.PlanError):  # some graphs are too large for the smallest of them
        plan = tj.plan(drawn.graph, machine)
        assert tj.plan(drawn.graph, machine, plan=plan) == plan
        times = [tj.simulate(drawn.graph, machine, plan=one).to_dict() for one in (None, plan)]
        assert times[0] == times[1]


def test_bodies_of_control_flow_are_parts_of_their_own() -> None:
    def network(x):  # type: ignore[no-untyped-def]
        nine = np.array([9], np.int32)
        return tj.ops.while_loop(lambda v: tj.ops.greater(nine, v), lambda v: v + v, x)

    graph = tj.trace(network, np.ones(1, np.int32))
    plan = tj.plan(graph, "systolic-16")
    assert len(plan.parts) == 2
    assert tj.plan(graph, "systolic-16", plan=plan) == plan
    reports = [tj.simulate(graph, "systolic-16", plan=one, loop_trips=3) for one in (None, plan)]
    assert reports[0].cycles == reports[1].cycles
    assert tj.compile(graph, machine="systolic-16", plan=plan)(np.ones(1, np.int32)) == 16


# Changed.


@pytest.mark.parametrize("machine", MACHINES)
def test_edited_plans_give_the_bits_of_the_oracle_or_are_refused(machine: str) -> None:
    ran = 0

    @settings(max_examples=30, **SETTINGS)
    @given(graphs(), st.integers(0, 1 << 30))
    def run(drawn: Drawn, seed: int) -> None:
        nonlocal ran
        random = Random(seed)
        try:
            plan = tj.plan(drawn.graph, machine)
            for _ in range(random.randint(1, 3)):
                plan = edited(plan, random)
            executable = tj.compile(drawn.graph, machine=machine, plan=plan)
        except tj.PlanError:
            return
        check_calls(drawn, executable, f"{machine}\n{plan}")
        ran += 1

    run()
    assert ran > 8


def test_edits_change_the_program_and_not_the_results() -> None:
    graph, given = residual(), inputs(residual())
    expected, cycles = tj.compile(graph)(*given), set()
    for seed in range(30):
        random = Random(seed)
        with suppress(tj.PlanError):
            plan = edited(edited(planned("systolic-16"), random), random)
            found = tj.compile(graph, machine="systolic-16", plan=plan)(*given)
            for one, other in zip(found, expected, strict=True):
                np.testing.assert_array_equal(one, other)
            cycles.add(tj.simulate(graph, "systolic-16", plan=plan).cycles)
    assert len(cycles) > 8


def test_a_tile_is_as_it_is_given() -> None:
    plan = planned().changed("conv2d_4", tile={"oy": 2, "ox": 8}, order=["ox", "oy"], boxes={"image": 1})
    found = tj.plan(residual(), "tiny", plan=plan)["conv2d_4"]
    assert dict(found.tile) == {"oy": 2, "ox": 8, "oc": 16, "ky": 3, "kx": 3, "ic": 4}
    assert found.order == ("ox", "oy")
    assert found.boxes is not None
    assert [box.copies for box in found.boxes["image"]] == [1]


def test_groups_can_go_in_stripes_and_whole_again() -> None:
    machine = "ethos-u65-256"
    plan = planned(machine).cascaded("conv2d_4", "conv2d_9", 4)
    names = [name for name, _ in tj.plan(residual(), machine, plan=plan)]
    assert names.count("conv2d_9 stripe 4") == 1
    assert "conv2d_9" not in names
    whole = tj.plan(residual(), machine, plan=plan.cascaded("conv2d_4", "conv2d_9", 1))
    assert len(list(whole)) == len(Network.of(residual()).parts[0].nests)
    with pytest.raises(
        tj.PlanError, match="conv2d_4 to conv2d_9: stripes: 63 stripes are not possible; rows"
    ):
        tj.plan(residual(), machine, plan=plan.cascaded("conv2d_4", "conv2d_9", 63))
    with pytest.raises(tj.PlanError, match="are not made and read in rows"):
        tj.plan(residual(), machine, plan=plan.cascaded("conv2d_28", "conv2d_32", 2))


def test_what_is_left_open_is_planned() -> None:
    open_plan = planned().open()
    assert len(list(open_plan)) == 0
    assert len(list(tj.plan(residual(), "tiny", plan=open_plan))) == len(list(planned()))


def test_a_tensor_that_leaves_the_scratchpad_moves() -> None:
    plan = planned("ethos-u65-256")
    name = next(iter(plan.parts["main"].scratchpad or ()))
    found = tj.plan(residual(), "ethos-u65-256", plan=plan.resident(remove=[name]))
    assert name not in (found.parts["main"].scratchpad or ())
    assert tj.plan(residual(), "ethos-u65-256", plan=found.resident(add=[name])).parts["main"].scratchpad


# Refused.

WRONG = {
    ("conv2d_9", "tile", "oy"): (70, "conv2d_9: tile.oy: 70 points, but there are 64; 1 to 64 are possible"),
    ("conv2d_9", "tile", "oh"): (1, "conv2d_9: tile.oh: no axis of this group; there are oy, ox, oc, ky,"),
    ("conv2d_9", "extents", "oy"): (32, "conv2d_9: extents: oy:32 "),
    ("conv2d_9", "operators"): (["conv"], "conv2d_9: operators: conv in the plan, conv2d_9, "),
    ("conv2d_9", "order"): (["ic", "oy"], "conv2d_9: order: ic, oy: axes that are reduced (ky, kx, ic) come"),
    ("conv2d_9", "boxes", "const_99"): ({"copies": 1}, "conv2d_9: boxes.const_99: no tensor of this group"),
    ("conv2d_9", "boxes", "const_8"): ({"copies": 65}, "conv2d_9: boxes.const_8: 65 copies, but 1 to 64 are"),
    ("conv2d_9", "boxes", "rescale_7"): (
        {"copies": 1},
        "conv2d_9: boxes.rescale_7: 1 boxes, but it is used 2",
    ),
    ("conv2d_99",): ({}, "conv2d_99: the graph has no group of this name on this machine; did you mean"),
}


@pytest.mark.parametrize("where", WRONG)
def test_a_fault_names_group_field_and_remedy(where: tuple[str, ...]) -> None:
    value, message = WRONG[where]
    tree = planned().to_dict()
    table = tree["parts"]["main"]["groups"]
    for step in where[:-1]:
        table = table[step]
    table[where[-1]] = value
    with pytest.raises(tj.PlanError) as error:
        tj.simulate(residual(), "tiny", plan=tj.Plan.from_dict(tree))
    assert str(error.value).startswith(message)


def test_an_error_can_be_sent_to_another_process() -> None:
    error = tj.PlanError(["one: wrong", "two: wrong"])
    again = pickle.loads(pickle.dumps(error))
    assert (again.faults, str(again)) == (error.faults, str(error))
    assert str(tj.PlanError("one: wrong")) == "one: wrong"


def test_all_faults_are_listed() -> None:
    plan = planned().changed("conv2d_4", tile={"oy": 999}).changed("conv2d_9", tile={"ox": 99})
    with pytest.raises(tj.PlanError) as error:
        tj.compile(residual(), machine="tiny", plan=plan)
    assert len(error.value.faults) == 2


def test_what_does_not_fit_says_how_much_there_is() -> None:
    plan = planned().changed("conv2d_4", tile={"oy": 64, "ox": 48})
    with pytest.raises(tj.PlanError, match=r"conv2d_4.* needs \d+ bytes of scratchpad, but there are 2048"):
        tj.simulate(residual(), "tiny", plan=plan)


def test_other_parts_and_other_things_are_refused() -> None:
    tree = planned().to_dict()
    tree["parts"] = {"body": tree["parts"]["main"]}
    for use in (tj.simulate, tj.plan):
        with pytest.raises(tj.PlanError, match=r"parts\.body: the graph has no part of this name"):
            use(residual(), "tiny", plan=tj.Plan.from_dict(tree))
    with pytest.raises(tj.PlanError, match=r"parts\.body: the graph has no part"):
        tj.compile(residual(), machine="tiny", plan=tj.Plan.from_dict(tree))
    with pytest.raises(tj.PlanError, match=r"expected a tj\.Plan"):
        tj.simulate(residual(), "tiny", plan={})  # type: ignore[arg-type]
    with pytest.raises(tj.CompileError, match="a plan is for a modelled machine"):
        tj.compile(residual(), plan=planned())
    with pytest.raises(tj.PlanError, match="group conv9 is not in the plan"):
        planned().changed("conv9", tile={})
    with pytest.raises(tj.PlanError, match="part body is not in the plan"):
        planned().resident(add=["x"], part="body")


# Files.


@pytest.mark.parametrize("suffix", [".json", ".yaml", ".yml"])
def test_a_plan_is_stored_and_loaded(suffix: str, tmp_path: Path) -> None:
    if suffix != ".json":
        pytest.importorskip("yaml")
    path = tmp_path / f"plan{suffix}"
    planned().save(path)
    assert tj.Plan.load(path) == planned()
    assert tj.simulate(residual(), "tiny", plan=path).to_dict() == tj.simulate(residual(), "tiny").to_dict()


def test_a_plan_is_printed() -> None:
    text, lines = repr(planned()), str(planned()).splitlines()
    assert text == "<Plan for tiny: 7 groups, 0 tensors in the scratchpad, 0 cascades>"
    assert lines[:3] == ["plan for tiny", "", "part main: 0 tensors live in the scratchpad"]
    assert lines[4].split("  ")[1] == "conv2d_4"
    assert "oy 4 of 64, ox 4 of 48" in lines[4]
    assert "image ×2, rescale_7 ×2, const_3, const_1, and 3 more" in lines[4]
    assert max(map(len, planned().to_json().splitlines())) < 1000


DAMAGED = {
    "[]": "is not a table of a plan's fields",
    "{": "is not JSON",
    '{"format": "tosajit plan 1", "format": 2}': "'format' is given twice",
    '{"format": "tosajit plan 2", "machine": "x", "parts": {}}': "format: 'tosajit plan 2', but this version",
    '{"format": "tosajit plan 1", "machine": 3, "parts": {}}': "machine: 3 is not a text",
    '{"format": "tosajit plan 1", "machine": "x", "part": {}}': "plan.part: no such field; did you mean",
    '{"format": "tosajit plan 1", "machine": "x", "parts": {"main": []}}': r"parts.main: \[\] is not a table",
}


@pytest.mark.parametrize("text", DAMAGED)
def test_a_damaged_file_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_text(text)
    with pytest.raises((tj.FileError, tj.PlanError), match=DAMAGED[text]):
        tj.Plan.load(path)


def test_a_file_that_is_not_there_and_one_of_another_kind_are_refused(tmp_path: Path) -> None:
    with pytest.raises(tj.FileError, match="cannot be read"):
        tj.Plan.load(tmp_path / "none.json")
    with pytest.raises(tj.FileError, match=r"a plan's file ends with \.json, \.yaml, \.yml"):
        planned().save(tmp_path / "plan.txt")


STRANGE: list[Any] = [
    None,
    -1,
    0,
    1 << 70,
    1.5,
    True,
    "x",
    [],
    {},
    [[]],
    {"": None},
    "\x1b[31m",
    float("nan"),
]


def test_strange_values_anywhere_are_refused_or_planned() -> None:
    """Whatever stands in a field, there is a program that is right, or an error of ours."""
    messages = []
    for seed in range(400):
        random, tree = Random(seed), json.loads(planned().to_json())
        table: Any = tree
        while True:
            keys = list(table) if isinstance(table, dict) else list(range(len(table)))
            key = random.choice(keys)
            if isinstance(table[key], dict | list) and table[key] and random.random() < 0.8:
                table = table[key]
                continue
            table[key] = random.choice(STRANGE)
            break
        try:
            tj.simulate(residual(), "tiny", plan=tj.Plan.from_dict(tree), mode="analytic")
        except tj.PlanError as error:
            messages.append(str(error))
    assert len(messages) > 200
    assert not any("\x1b" in message for message in messages)


# The command line.


def test_the_command_line_writes_and_takes_a_plan(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, path = str(tj.samples.path("ds_cnn")), str(tmp_path / "plan.json")
    assert main(["plan", model, "--machine", "ethos-u85-256", "-o", path]) == 0
    assert main(["plan", model, "--machine", "ethos-u85-256"]) == 0
    shown = capsys.readouterr().out
    assert shown == f"{tj.Plan.load(path)}\n"
    cycles = []
    for more in ([], ["--plan", path]):
        assert main(["simulate", model, "--machine", "ethos-u85-256", "--json", "-", *more]) == 0
        cycles.append(json.loads(capsys.readouterr().out)["cycles"])
    assert cycles[0] == cycles[1]
    assert main(["plan", model, "--machine", "ethos-u85-256", "--plan", path, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == tj.Plan.load(path).to_dict()


def test_the_command_line_runs_a_plan(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, path = str(tj.samples.path("ds_cnn")), str(tmp_path / "plan.json")
    tj.plan(model, "tiny").save(path)
    found = []
    for where, more in (("a", []), ("b", ["--machine", "tiny", "--plan", path])):
        assert main(["run", model, "--random", "--output-dir", str(tmp_path / where), *more]) == 0
        found.append([np.load(one) for one in sorted((tmp_path / where).iterdir())])
    capsys.readouterr()
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_command_line_says_what_is_wrong_with_a_plan(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, path = str(tj.samples.path("ds_cnn")), str(tmp_path / "plan.json")
    planned("ethos-u65-256").save(path)
    assert main(["simulate", model, "--machine", "tiny", "--plan", path]) == 1
    assert "conv2d_4: the graph has no group of this name" in capsys.readouterr().err
    assert main(["simulate", model, model, "--plan", path]) == 2
    assert "--plan and --mapping are for one model" in capsys.readouterr().err


# Mappings.


def test_a_mapping_says_how_groups_run_that_its_patterns_match() -> None:
    mapping = {
        "CONV2D": {"tile": {"oy": 8, "oc": 4096}, "copies": 1},
        "conv2d_?8": {"tile": {"ox": 3}, "order": ["ox", "oy"]},
    }
    plan = tj.plan(residual(), "systolic-16", mapping=mapping)
    for name, choice in plan:
        if name.startswith("conv2d") and "oy" in choice.tile and "move" not in name:
            assert choice.tile["oy"] == min(8, choice.extents["oy"])
            assert choice.tile["oc"] == choice.extents["oc"]
            assert all(
                box.copies == 1 for boxes in (choice.boxes or {}).values() for box in boxes if box.copies
            )
    assert (plan["conv2d_28"].tile["ox"], plan["conv2d_28"].order) == (3, ("ox", "oy"))
    given, expected = inputs(residual()), tj.compile(residual())(*inputs(residual()))
    for one, other in zip(
        tj.compile(residual(), machine="systolic-16", plan=plan)(*given), expected, strict=True
    ):
        np.testing.assert_array_equal(one, other)


def test_a_mapping_says_who_has_boxes() -> None:
    machine, roles = "ethos-u65-256", {"weights": 2, "constants": 0}
    plan = tj.plan(residual(), machine, mapping={"CONV2D": {"tile": {"oc": 8}, "boxes": roles}})
    boxes = plan["conv2d_18"].boxes or {}
    assert boxes["const_17"][0].copies == 2
    assert set(boxes) <= {"const_17", "rescale_16", "rescale_19"}


MATCHES = [
    ("**/depthwise", "depthwise", True),
    ("**/depthwise", "a/b/depthwise", True),
    ("**/depthwise", "adepthwise", False),
    ("a/*", "a/b", True),
    ("a/*", "a/b/c", False),
    ("a/**", "a/b/c", True),
    ("conv?", "conv1", True),
    ("conv?", "conv12", False),
    ("*", "", True),
    ("?", "/", False),
    ("[ab]", "a", False),
    ("a**/b", "a/x/b", True),
    ("a**/b", "ab", True),
    ("x" + "*a" * 40, "xa" * 500 + "b", False),
    ("", "", True),
]


@pytest.mark.parametrize(("pattern", "name", "expected"), MATCHES)
def test_patterns_are_those_of_paths(pattern: str, name: str, expected: bool) -> None:
    assert Rule(pattern, Choice()).matches([name]) is expected


WRONG_RULES = {
    "conv": ({"tile": {}}, "conv: matches no group; did you mean conv2d_"),
    "SOFTMAX_": ({"tile": {}}, "SOFTMAX_: matches no group; "),
    "CONV2D": (
        {"tile": {"oh": 1}},
        "CONV2D: tile.oh: no group that it matches has this axis; there are oy, ox",
    ),
    "MAX_POOL2D": ({"tiles": {}}, "MAX_POOL2D.tiles: no such field; did you mean tile"),
    "max_*": ({"order": ["ky", "oy"]}, "max_pool2d_30"),
    "**": ({"copies": 0}, "**.copies: 0 is not an integer of at least 1"),
    "*": ({"tile": {"oy": 64, "ox": 48, "oyox": 768}}, "conv2d_4, rescale_7: needs "),
}


@pytest.mark.parametrize("pattern", WRONG_RULES)
def test_a_rule_that_cannot_be_is_refused(pattern: str) -> None:
    wanted, message = WRONG_RULES[pattern]
    with pytest.raises(tj.PlanError) as error:
        tj.plan(residual(), "tiny", mapping={pattern: wanted})
    assert message in str(error.value)


def test_the_command_line_takes_a_mapping(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, path = str(tj.samples.path("ds_cnn")), tmp_path / "mapping.json"
    path.write_text('{"DEPTHWISE_CONV2D": {"tile": {"oy": 5}}}')
    cycles = []
    for more in ([], ["--mapping", str(path)]):
        assert main(["simulate", model, "--machine", "systolic-16", "--json", "-", *more]) == 0
        cycles.append(json.loads(capsys.readouterr().out)["cycles"])
    assert cycles[0] < cycles[1]
    assert main(["plan", model, "--machine", "systolic-16", "--mapping", str(path)]) == 0
    assert capsys.readouterr().out.count("oy 5 of 25") == 4
    path.write_text('{"conv": []}')
    assert main(["plan", model, "--mapping", str(path)]) == 1
    assert "conv: [] is not a table" in capsys.readouterr().err
