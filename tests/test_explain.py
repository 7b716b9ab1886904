"""Executables say which kernel does each group, and why it is no array kernel."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import tosajit as tj
from tests.test_control_flow import choice
from tosajit import ops
from tosajit.host import reasons
from tosajit.host.reasons import Reason
from tosajit.kernels.cache import cached_objects
from tosajit.kernels.sets.registry import VARIABLE, instruction_set

IMAGE = np.zeros((1, 6, 6, 8), np.int8)
ZERO = np.zeros(1, np.int8)


@pytest.fixture(scope="module")
def network() -> tj.Executable:
    return tj.compile(tj.samples.load("ds_cnn"))


def test_every_group_has_a_kernel_and_those_without_an_array_kernel_a_reason(network: tj.Executable) -> None:
    found = network.explain()
    isa = instruction_set()
    assert isa is not None
    assert len(found) == len(network.program.sections)
    for group, section in zip(found, network.program.sections, strict=True):
        assert group.verb == section.nest.verb
        assert (group.reason is None) == bool(group.library)
        assert group.library in ("", isa.name)
    kernels = [group.kernel for group in found]
    assert kernels[:2] == ["convolution i8 × i8", "depthwise i8 × i8"]
    assert {group.digest for group in found} <= {item.digest for item in cached_objects()}


def test_an_explanation_is_a_table_a_page_and_json(network: tj.Executable) -> None:
    found = network.explain()
    lines = str(found).splitlines()
    assert len(lines) == len(found) + 1
    assert lines[0].split() == "part group verb nodes kernel library why no array kernel".split()
    assert found._repr_html_().count("<tr>") == len(lines)
    listed = json.loads(found.to_json())
    assert listed == json.loads(json.dumps(found.to_dict()))
    assert [row["kernel"] for row in listed] == [group.kernel for group in found]
    assert repr(found) == "<Explanation: 12 of 16 groups by array kernels>"


def test_programs_for_a_scratchpad_and_checked_ones_have_kernels_of_their_own() -> None:
    graph = tj.samples.load("ds_cnn")
    for options, reason in (({"target": tj.TINY}, reasons.TARGET), ({"checked": True}, reasons.CHECKED)):
        made: Any = tj.compile(graph, **options)
        assert {group.reason for group in made.explain()} == {reason}


def test_without_array_kernels_that_is_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "none")
    found = tj.compile(tj.samples.load("ds_cnn")).explain()
    assert {group.reason for group in found} == {reasons.NO_SET}


def test_all_parts_of_a_graph_with_control_flow_are_explained() -> None:
    made = tj.compile(choice())
    assert {group.part for group in made.explain()} == set(made.stages["plan"].values)


def depthwise(x: Any, weight: Any) -> Any:
    return ops.depthwise_conv2d(x, weight, np.zeros(8, np.int32), ZERO, ZERO, pad=(0, 0, 0, 0))


def product(kind: type[np.generic], rows: int = 4, columns: int = 4) -> tj.Graph:
    zero = np.zeros(1, kind)
    shapes = np.zeros((1, rows, 8), kind), np.zeros((1, 8, columns), kind)
    return tj.trace(lambda a, b: ops.matmul(a, b, zero, zero), *shapes)


CASES = {
    "weights": (tj.trace(depthwise, IMAGE, np.zeros((3, 3, 8, 1), np.int8)), reasons.RUN_TIME),
    "verb": (tj.trace(lambda x: x + x, np.zeros(8, np.int32)), reasons.VERB),
    "columns": (product(np.int8, columns=1), reasons.COLUMNS),
}


@pytest.mark.parametrize("case", CASES)
def test_the_reason_is_the_one_that_holds(case: str) -> None:
    graph, reason = CASES[case]
    given = [group.reason for group in tj.compile(graph).explain()]
    assert reason in given


def test_weights_of_16_bits_that_are_constant_are_refused_by_their_types() -> None:
    weight, zero = np.ones((1, 8, 4), np.int16), np.zeros(1, np.int16)
    graph = tj.trace(lambda a: ops.matmul(a, weight, zero, zero), np.zeros((1, 4, 8), np.int16))
    (group,) = tj.compile(graph).explain()
    assert group.reason == reasons.types("i16", "i16")
    assert str(group.reason) == "no array kernel multiplies i16 by i16"


def test_every_reason_is_a_sentence() -> None:
    every = [item for item in vars(reasons).values() if isinstance(item, Reason)]
    assert len({reason.text for reason in every}) == len(every) >= 12
    assert all(reason.rule and not reason.text.endswith(".") for reason in every)
