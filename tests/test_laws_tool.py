"""The tool that draws layers and machines to see whether better machines are slower."""

from __future__ import annotations

import laws
import pytest
from holding import drawing
from holding.machines import ALL, LAWS, Law

import sim
import tosajit as tj
from sim.machine.paths import leaves
from tosajit.checks.validation import check


def test_seeds_that_are_held_out_are_not_among_the_others() -> None:
    held, others = laws.seeds(3, 40, True), laws.seeds(3, 40, False)
    assert len(held) == len(others) == 40
    assert not set(held) & set(others)
    assert min(held) >= 3


@pytest.mark.parametrize("kind", drawing.LAYERS)
def test_each_kind_of_layer_can_be_drawn(kind: str) -> None:
    for seed in range(4):
        graph = drawing.LAYERS[kind](drawing._Draw(seed))
        assert check(graph) is graph


def test_a_seed_draws_the_same_network_again() -> None:
    name, graph = drawing.network(7)
    again, other = drawing.network(7)
    assert name == again
    assert tj.simulate(graph, "systolic-16") == tj.simulate(other, "systolic-16")


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
def test_a_law_changes_nothing_but_its_part(law: Law) -> None:
    for name in ALL:
        base = sim.machine(name)
        (path,) = law.changed(base, 2.0)
        better = base.replace(law.changed(base, 2.0))
        assert better != base
        before, after = ({p: v for p, v, _ in leaves(m) if p != "sources"} for m in (base, better))
        assert {p for p in before if before[p] != after.get(p, ...)} == {path}


def test_what_is_slower_than_the_margin_is_an_exception() -> None:
    checks = {"clock": [laws.Check("clock", "near", 1.004), laws.Check("clock", "far", 1.2)]}
    text = laws.table(checks, 5)
    assert "far" in text
    assert "near" not in text
