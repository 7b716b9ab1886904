"""Drawn graphs give the oracle's bits on every target; `make fuzz` draws 5,000."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from tests.fuzzing import check, check_model
from tests.reducing import reduced
from tests.strategies import Drawn, graphs

# The same graphs in every run, so that their kernels are in the cache; `make fuzz` has other seeds. Failing
# graphs are reduced here: hypothesis would compile thousands of variants.
SETTINGS: dict[str, Any] = {
    "max_examples": 120,
    "derandomize": True,
    "deadline": None,
    "database": None,
    "phases": (Phase.generate,),
    "suppress_health_check": list(HealthCheck),
}


def fails(checks: Callable[[Drawn], None], drawn: Drawn) -> bool:
    """Whether a graph does not pass."""
    try:
        checks(drawn)
    except Exception:
        return True
    return False


def passes(checks: Callable[[Drawn], None], drawn: Drawn) -> None:
    """Run a check; if it fails, show the smallest graph that fails too."""
    try:
        checks(drawn)
    except Exception as error:
        small = reduced(drawn, partial(fails, checks))
        pytest.fail(f"{type(error).__name__}: {error}\n\nreduced to\n{small.graph}", pytrace=False)


@settings(**SETTINGS)
@given(graphs())
def test_graphs_give_the_bits_of_the_oracle(drawn: Drawn) -> None:
    passes(partial(check, model=False), drawn)


@settings(**SETTINGS)
@given(graphs())
def test_graphs_give_the_bits_of_the_reference_model(drawn: Drawn) -> None:
    passes(check_model, drawn)
