"""Every check of every operator, triggered by one change to a legal use of it."""

from __future__ import annotations

from math import prod
from typing import Any

import pytest

from tests.validate_cases import CASES, LEGAL
from tests.validate_samples import SAMPLES, Sample
from tosajit.checks.validation import validate
from tosajit.dtypes import INT8
from tosajit.graph import Block, Graph, Node, Region, Value
from tosajit.graph.operator import OPERATORS


@pytest.mark.parametrize("sample", SAMPLES.values(), ids=SAMPLES)
def test_a_legal_use_has_no_violations(sample: Sample) -> None:
    assert validate(sample.graph()) == ()


@pytest.mark.parametrize(
    ("operator", "changes", "operand", "text"), CASES, ids=[f"{c[0]}-{c[3][:60]}" for c in CASES]
)
def test_an_illegal_use_is_named(operator: str, changes: dict[str, Any], operand: str, text: str) -> None:
    found = validate(SAMPLES[operator].graph(**changes))
    wanted = [fault for fault in found if fault.operand == operand and text in fault.message]
    assert wanted, [str(fault) for fault in found]
    assert all(fault.operator == operator and fault.section for fault in wanted)


def test_the_cases_trigger_every_check() -> None:
    """Operators that inherit a check need no case of their own: one that uses it will do."""
    seen = set()
    for operator, changes, _, _ in CASES:
        for fault in validate(SAMPLES[operator].graph(**changes)):
            seen.add((fault.operator, fault.rule))
    triggered = {
        rule.function for name in OPERATORS for rule in OPERATORS[name].rules if (name, rule.name) in seen
    }
    missing = {
        f"{name}.{rule.name}"
        for name, operator in OPERATORS.items()
        for rule in operator.rules
        if rule.function not in triggered and operator.section.split(".")[1] != "16"
    }
    assert missing == {"CONCAT.no_inputs"}  # the other rules of section 2.16 are in test_validate.py


@pytest.mark.parametrize(("operator", "changes"), LEGAL)
def test_what_the_text_allows_is_not_refused(operator: str, changes: dict[str, Any]) -> None:
    assert [str(fault) for fault in validate(SAMPLES[operator].graph(**changes))] == []


@pytest.mark.parametrize("operator", SAMPLES)
def test_a_missing_input_and_a_surplus_output_are_named(operator: str) -> None:
    graph = SAMPLES[operator].graph()
    block = graph.main
    node = block.nodes[-1]
    if operator != "CONCAT":
        fewer = Node(node.operator, node.inputs[:-1], node.outputs)
        (fault, *_) = validate(with_node(graph, fewer))
        assert (fault.operand, fault.rule) == ("inputs", "operand_count")
    spare = Value("spare", INT8, (1,))
    more = Node(node.operator, node.inputs, (*node.outputs, "spare"))
    faults = validate(with_node(graph, more, spare))
    assert [fault.operand for fault in faults if fault.rule == "operand_count"] == ["outputs"]


def with_node(graph: Graph, node: Node, *values: Value) -> Graph:
    block = graph.main
    declared = {**block.values, **{value.name: value for value in values}}
    return Graph(
        (Region("main", (Block("main", (*block.nodes[:-1], node), declared, block.inputs, block.outputs),)),)
    )


def test_samples_are_small() -> None:
    assert all(
        prod(value.shape or ()) < 1000
        for sample in SAMPLES.values()
        for value in sample.graph().main.values.values()
    )
