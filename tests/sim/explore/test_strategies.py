"""Strategies: what they ask for, that they ask the same again, and that they learn."""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sim
from sim.explore import strategies
from sim.explore.strategies import STRATEGIES, strategy

SMALL = sim.Space(
    "tiny",
    {
        "array.rows": [1, 2, 4],
        "array.dataflow": ["weight", "output"],
        "clock_hz": sim.Range(1e6, 4e6, steps=4),
    },
)
HELD = sim.Space("tiny", {"array.rows": sim.Range(1, 32), "array.columns": sim.Range(1, 32)}, ["macs <= 256"])
ENDLESS = sim.Space(
    "tiny",
    {
        "array.rows": sim.Range(1, 64),
        "clock_hz": sim.Range(1e6, 1e9, "log"),
        "array.dataflow": ["weight", "output", "input"],
        "offchip.bandwidth_bytes_per_second": [None, 1e9],
    },
)


def cost(candidate: Sequence[Any]) -> list[float]:
    """Two objectives that pull apart; the best rows are 20 and the best clock is low."""
    rows, clock, dataflow, _ = candidate
    worse = {"weight": 0, "output": 1, "input": 2}[dataflow]
    return [abs(rows - 20) + worse, np.log10(clock) + worse]


def asked(
    name: str, space: sim.Space, points: int | None, seed: int = 0, values: Any = None
) -> list[list[Any]]:
    """All batches, with what is told after each; by default nothing can be."""
    one = strategy(name, space, points, seed, 2)
    batches = []
    while batch := one.ask():
        batches.append(batch)
        told = [values(candidate) for candidate in batch] if values else np.full((len(batch), 2), np.inf)
        one.tell(batch, np.asarray(told, np.float64))
    assert one.ask() == []
    return batches


def points(*given: Any, **options: Any) -> list[Any]:
    return [one for batch in asked(*given, **options) for one in batch]


def test_a_grid_has_every_machine_once_the_last_name_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strategies, "BATCH", 7)
    every = list(product([1, 2, 4], ["weight", "output"], [1e6, 2e6, 3e6, 4e6]))
    assert points("grid", SMALL, None) == points("grid", SMALL, 24) == every


def test_a_grid_of_very_many_machines_begins_at_once() -> None:
    large = sim.Space("tiny", {"scratchpad.bytes": sim.Range(64, 1 << 44), "cores": sim.Range(1, 1024)})
    assert strategy("grid", large, large.size, 0, 1).ask()[1025] == (65, 2)


LARGE = sim.Space("tiny", {"scratchpad.bytes": sim.Range(1024, 279543), "array.rows": list(range(1, 9))})
"""Somebody forgot the step."""
SPACES = {"small": SMALL, "held": HELD, "endless": ENDLESS}
PAIRS = [(name, one) for name in STRATEGIES for one in SPACES if (name, one) != ("grid", "endless")]


@pytest.mark.parametrize(("name", "which"), PAIRS)
def test_candidates_are_of_the_space_and_come_once_and_again_the_same(name: str, which: str) -> None:
    space, count = SPACES[which], None if name == "grid" else 60
    one, two = points(name, space, count, 3), points(name, space, count, 3)
    assert one == two
    assert len(one) == len(set(one))
    most = 60 if count else space.size
    assert most is not None
    assert len(one) == min(most, space.size or most) or (name == "latin" and 0 < len(one) <= most)
    for candidate, machine in zip(one, space.machines(one), strict=True):
        if isinstance(machine, str):
            assert machine.startswith("constraint does not hold: macs <= 256")
        else:
            for path, value in zip(space.names, candidate, strict=True):
                part, _, field = path.rpartition(".")
                assert getattr(getattr(machine, part) if part else machine, field) == value


@pytest.mark.parametrize("name", STRATEGIES[1:])
def test_another_seed_asks_for_others(name: str) -> None:
    assert points(name, ENDLESS, 20, 1) != points(name, ENDLESS, 20, 2)


@pytest.mark.parametrize("name", ["random", "sobol"])
def test_sequences_pass_over_what_violates_a_constraint(name: str) -> None:
    found = points(name, HELD, 200)
    assert len(found) == 200
    assert not any(HELD.violations(found))


@pytest.mark.parametrize("name", ["grid", "latin", "nsga2", "tpe"])
def test_others_ask_for_it_so_that_it_counts(name: str) -> None:
    found = points(name, HELD, None if name == "grid" else 100)
    assert 0 < sum(bool(one) for one in HELD.violations(found)) < len(found)


@pytest.mark.parametrize("name", ["random", "sobol"])
def test_what_no_machine_fits_is_told(name: str) -> None:
    with pytest.raises(sim.SpaceError) as caught:
        points(name, sim.Space("tiny", {"array.rows": [8, 16]}, ["rows < 8"]), 10)
    assert str(caught.value).startswith(
        "no feasible machine was found; of the first, constraint does not hold: rows < 8"
    )


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 99), st.integers(1, 30), st.integers(1, 30))
def test_random_takes_all_of_a_small_space_before_it_ends(seed: int, rows: int, more: int) -> None:
    space = sim.Space("tiny", {"array.rows": sim.Range(1, rows + 1), "cores": [1, 2]}, ["rows != 1"])
    found = points("random", space, 2 * rows + more, seed)
    assert sorted(found) == [(row, core) for row in range(2, rows + 2) for core in (1, 2)]


def test_first_points_do_not_depend_on_how_many_are_asked_for() -> None:
    for name in ("random", "sobol"):
        assert points(name, ENDLESS, 3000)[:50] == points(name, ENDLESS, 50)


def test_latin_places_are_spread_evenly_over_each_field() -> None:
    found = points("latin", ENDLESS, 64)
    rows = [one[0] for one in found]
    assert sorted(rows) == list(range(1, 65))
    octave = np.floor(np.log10([one[1] for one in found]) / 3 * 64 - 128)
    assert sorted(octave) == list(range(64))


def test_sobol_places_are_spread_more_evenly_than_random_ones() -> None:
    half = sim.Range(1e6, 2e6)
    square = sim.Space("tiny", {"clock_hz": half, "offchip.bandwidth_bytes_per_second": half})

    def unevenness(name: str) -> float:
        found = points(name, square, 1024)
        first, second = np.array(found, float).T
        counts = np.histogram2d(first, second, bins=16, range=[(1e6, 2e6)] * 2)[0]
        return float(counts.std())

    assert unevenness("sobol") == 0
    assert unevenness("random") > 1


@pytest.mark.parametrize(("name", "count"), [("nsga2", 300), ("tpe", 120)])
def test_searches_learn(name: str, count: int) -> None:
    def best(found: list[Any]) -> float:
        return float(np.mean(sorted(sum(cost(one)) for one in found)[:20]))

    assert best(points(name, ENDLESS, count, 1, cost)) < best(points("random", ENDLESS, count, 1)) - 0.5


@pytest.mark.parametrize("name", ["nsga2", "tpe"])
def test_searches_avoid_what_cannot_be(name: str) -> None:
    def values(candidate: Any) -> list[float]:
        return cost(candidate) if candidate[0] <= 16 else [np.inf, np.inf]

    found = points(name, ENDLESS, 150, 1, values)
    early, late = (np.mean([one[0] <= 16 for one in part]) for part in (found[:12], found[75:]))
    assert early < 0.5
    assert late > early + 0.2


@pytest.mark.parametrize("name", ["nsga2", "tpe"])
def test_searches_ask_in_generations_and_end_when_all_is_known(name: str) -> None:
    batches = asked(name, SMALL, 100, 0, lambda one: [one[0], one[2]])
    assert sum(map(len, batches)) == SMALL.size
    sizes = [len(one) for one in asked(name, ENDLESS, 130, 0, cost)]
    assert len(set(sizes[:-1])) == 1
    assert sum(sizes) == 130


def test_searches_leave_what_optuna_logs_as_it_was(capfd: pytest.CaptureFixture[str]) -> None:
    import optuna

    level = optuna.logging.get_verbosity()
    points("tpe", SMALL, 10, 0, lambda one: [one[0], one[2]])
    assert optuna.logging.get_verbosity() == level
    assert logging.getLogger("optuna").level == level
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("sobel", SMALL, 10, 0), "'sobel' is not a strategy; did you mean sobol?"),
        (("best", SMALL, 10, 0), "there are grid, random, latin, sobol, nsga2, tpe"),
        (("random", SMALL, 0, 0), "points: 0 is not a number of points"),
        (("random", SMALL, 1.5, 0), "points: 1.5 is not a number of points"),
        (("random", SMALL, 10, -1), "seed: -1 is not a seed"),
        (
            ("grid", ENDLESS, None, 0),
            "but clock_hz is continuous; give its range a step or a number of steps",
        ),
        (
            ("grid", SMALL, 23, 0),
            "the grid has 24 machines, more than the 23 points; points=None takes all of them",
        ),
        (
            ("grid", LARGE, None, 0),
            "the grid has 2,228,160 machines, more than the 100,000 that are taken by default; "
            "points=2228160 takes all of them, random and sobol draw some, and ranges "
            "with larger steps have fewer",
        ),
        (
            ("grid", LARGE, 1_000_000, 0),
            "2,228,160 machines, more than the 1,000,000 points; points=2228160 takes all of them",
        ),
    ],
)
def test_strategies_that_cannot_be_are_refused(
    given: tuple[str, sim.Space, int | None, int], said: str
) -> None:
    with pytest.raises(sim.SpaceError) as caught:
        strategy(*given, 2)
    assert said in str(caught.value)


@pytest.mark.parametrize("name", ["latin", "sobol"])
def test_what_needs_scipy_says_so_before_anything_is_stored(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "scipy.stats", None)
    space = sim.Space("tiny", {"array.rows": [2, 4]})
    with pytest.raises(sim.SpaceError, match="need scipy"):
        strategy(name, space, 2, 0, 1)
