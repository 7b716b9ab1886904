"""The oracle agrees with Arm's reference model, and its type table with the declarations."""

from __future__ import annotations

import pytest

from tests import oracle, reference
from tests.oracle.violations import VIOLATIONS
from tests.strategies import Drawn, difference, operator_graph, random_graph, violating_graph
from tosajit.files import to_bytes

# INEXACT_ROUND leaves the rounding open: the reference model rounds floating-point products.
CASES = [
    pytest.param(name, mode, id=f"{name}-{mode}")
    for name, modes in oracle.MODES.items()
    for mode in modes
    if "inexact" not in mode.variant
]


def assert_agrees(drawn: Drawn) -> None:
    """Run a drawn graph on the reference model."""
    outputs = reference.run(to_bytes(drawn.graph), drawn.inputs)
    for name, expected in drawn.expected.items():
        fault = difference(outputs[name], expected)
        assert not fault, f"the reference model says {name}{fault}{drawn}"


@pytest.mark.parametrize(("operator", "mode"), CASES)
def test_the_oracle_agrees_with_the_reference_model(operator: str, mode: oracle.Mode) -> None:
    for seed in (1, 2):
        assert_agrees(operator_graph(operator, mode, seed))


@pytest.mark.parametrize("seed", range(20))
def test_graphs_give_the_same_on_the_oracle_and_the_reference_model(seed: int) -> None:
    assert_agrees(random_graph(seed))


@pytest.mark.parametrize("seed", range(20))
def test_running_a_graph_gives_what_was_computed_when_it_was_drawn(seed: int) -> None:
    drawn = random_graph(1000 + seed)
    for array, expected in zip(
        oracle.run_graph(drawn.graph, drawn.inputs), drawn.expected.values(), strict=True
    ):
        assert not difference(array, expected)


@pytest.mark.parametrize("name", VIOLATIONS)
def test_a_violated_require_is_found_where_it_is(name: str) -> None:
    violation = VIOLATIONS[name]
    with pytest.raises(oracle.Unpredictable) as caught:
        oracle.run(
            violation.operator, violation.inputs, violation.attributes, output_types=[violation.output_type]
        )
    assert (caught.value.operator, caught.value.index) == (violation.operator, violation.index)


@pytest.mark.parametrize("name", VIOLATIONS)
def test_the_reference_model_notices_what_we_think_it_does(name: str) -> None:
    drawn = violating_graph(VIOLATIONS[name])
    try:
        reference.run(to_bytes(drawn.graph), drawn.inputs)
        kind = "nothing"
    except reference.ReferenceError as error:
        kind = error.kind.split()[0]
    assert kind == VIOLATIONS[name].model
