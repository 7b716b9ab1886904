"""Drawn graphs give the oracle's bits on every target; `make fuzz` draws 5,000."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings

from tests import reference
from tests.fuzzing import check, check_model
from tests.strategies import Drawn, graphs

GRAPHS = 200
NO_LIMITS = {"deadline": None, "database": None, "suppress_health_check": list(HealthCheck)}


# The same graphs in every run, so that their kernels are in the cache; other seeds are for `make fuzz`.
@settings(max_examples=GRAPHS, derandomize=True, **NO_LIMITS)
@given(graphs())
def test_graphs_give_the_bits_of_the_oracle(drawn: Drawn) -> None:
    check(drawn, model=False)


@settings(max_examples=GRAPHS, derandomize=True, **NO_LIMITS)
@given(graphs())
def test_graphs_give_the_bits_of_the_reference_model(drawn: Drawn) -> None:
    reference.tools()
    check_model(drawn)
