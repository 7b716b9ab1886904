"""Objectives and the area model."""

from __future__ import annotations

import pickle
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import sim
from sim.explore.area import AREA, Area
from sim.explore.figures import Figures
from sim.explore.objectives import OBJECTIVES, objectives, of_report


def column(*values: float) -> Any:
    return np.array(values, np.float64)


FIGURES = {
    "one": Figures(column(10, 20), column(1, 2), column(5, 6), column(100, 200), ("", "")),
    "two": Figures(
        column(1, np.nan), column(0.5, np.nan), column(7, np.nan), column(8, np.nan), ("", "too large")
    ),
}
WEIGHTS = {"one": 1.0, "two": 3.0}
MACHINES = [sim.machine("tiny"), sim.machine("systolic-16")]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("latency", (2.5, np.nan)),
        ("energy", (26, np.nan)),
        ("energy_delay", (65, np.nan)),
        ("cycles", (13, np.nan)),
        ("offchip_bytes", (124, np.nan)),
        ("scratchpad_bytes", (2048, 262144)),
    ],
)
def test_figures_of_workloads_are_summed_by_weight(name: str, expected: tuple[float, float]) -> None:
    (one,) = objectives([name])
    assert one.name == name
    np.testing.assert_array_equal(one.values(FIGURES, MACHINES, WEIGHTS), expected)


def test_objectives_go_to_other_processes() -> None:
    for one in OBJECTIVES.values():
        again = pickle.loads(pickle.dumps(one))
        assert again == one
        np.testing.assert_array_equal(
            again.values(FIGURES, MACHINES, WEIGHTS), one.values(FIGURES, MACHINES, WEIGHTS)
        )


def peak(report: Any) -> float:
    return float(report.peak)


def nothing(report: Any) -> Any:
    return None


def test_a_function_of_the_report_is_an_objective() -> None:
    reports: Any = (SimpleNamespace(peak=4, program="a"), None)
    one_each = column(1, np.nan)
    figures = {"one": Figures(one_each, one_each, one_each, one_each, ("", "too large"), reports)}
    (one,) = objectives([peak])
    assert (one.name, one.goal) == ("peak", "min")
    np.testing.assert_array_equal(one.values(figures, MACHINES, {"one": 2.0}), (8, np.nan))
    assert of_report(lambda report: 1.0, "mine", "lots", "max").goal == "max"
    with pytest.raises(
        sim.SpaceError, match="peak needs the reports of the event simulator; explore with mode='events'"
    ):
        one.values(FIGURES, MACHINES, WEIGHTS)
    with pytest.raises(sim.SpaceError, match="bad returned None for a, but an objective must be a number"):
        of_report(nothing, "bad").values(figures, MACHINES, {"one": 2.0})
    with pytest.raises(ZeroDivisionError):
        of_report(lambda report: 1 / 0, "bad").values(figures, MACHINES, {"one": 2.0})


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["latensy"], "'latensy' is not an objective; did you mean latency?"),
        (["speed"], "there are latency, energy, energy_delay"),
        (["energy-delay"], "did you mean energy_delay?"),
        ([5], "5 is not an objective"),
        ([], "none is given"),
        (["area", "area"], "area is given twice"),
        (
            [lambda report: 1.0],
            "'<lambda>' cannot name an objective; use up to 40 letters, digits and underscores, as in ",
        ),
    ],
)
def test_objectives_that_cannot_be_are_refused(given: Any, said: str) -> None:
    with pytest.raises(sim.SpaceError) as caught:
        objectives(given)
    assert said in str(caught.value)


def test_area_is_in_proportion_to_what_is_there() -> None:
    base = sim.machine("systolic-16")
    products = 256 * (282 + 137)
    lanes = 8 * (4 * 3495 + 2 * 137) + 16 * 137
    memory = 256 * 4724.1
    assert AREA.of([base])[0] == pytest.approx((products + lanes + memory) * 1e-6)
    two = base.replace({"cores": 2})
    assert AREA.of([two])[0] == pytest.approx((2 * (products + lanes) + memory) * 1e-6)
    wide = base.replace({"array.rates.16x16": 1.0})
    assert AREA.of([wide])[0] - AREA.of([base])[0] == pytest.approx(256 * 3 * 282e-6)
    assert AREA.of([sim.machine("ethos-u55-256")])[0] > AREA.of([sim.machine("ethos-u55-128")])[0]


def test_coefficients_are_the_users() -> None:
    mine = Area(per_mac={"8x8": 100}, per_lane={}, per_sum={}, per_scratchpad_kib=1000, fixed=5e5)
    (one,) = objectives(["area"], mine)
    expected = [(16 * 100 + 2 * 1000 + 5e5) * 1e-6, (256 * 100 + 256 * 1000 + 5e5) * 1e-6]
    assert one.values(FIGURES, MACHINES, WEIGHTS) == pytest.approx(expected)
    held = sim.Space("systolic-16", {"cores": [1]}, [f"area == {expected[1]!r}"], mine)
    assert held.violations([(1,)]) == [""]
    with pytest.raises(sim.MachineError, match="-1 is not an area; it takes 0 to"):
        Area(per_scratchpad_kib=-1)
    with pytest.raises(sim.MachineError, match="'9x9' is not a pair of operand types"):
        Area(per_mac={"9x9": 1})
