"""What an exploration says of its points."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim.explore.errors import ExplorationError, SpaceError
from sim.explore.exploration import Exploration
from sim.explore.explored import Point
from sim.explore.page import page_data
from sim.explore.work import Outcomes
from sim.machine.arrays import Systolic
from tests.sim.explore.results import exploration, plain

NAN, INF = np.nan, np.inf


def numbers(points: Iterable[Point]) -> list[int]:
    return [point.number for point in points]


def event(*values: float, reason: str = "") -> Outcomes:
    columns = dict(zip(("first", "second"), (np.array([float(value)]) for value in values), strict=True))
    return Outcomes(columns, (reason,))


# Points, the front, and the best.


def test_a_point_has_all_that_is_known_of_it() -> None:
    made = exploration()
    point = made.point(7)
    assert tuple(point.values) == made.space.names
    assert tuple(point.values.values()) == made.candidates[7]
    assert point.objectives == {name: made.outcomes.columns[name][7] for name in ("latency", "energy")}
    assert point.figures == {"net.seconds": made.outcomes.columns["net.seconds"][7]}
    assert (point.reason, point.confirmed) == ("", None)
    assert isinstance(point.machine.array, Systolic)
    assert point.machine.array.rows == point.values["array.rows"]
    assert point.machine == made.machine(7) == made.space.machine(made.candidates[7])
    assert "array.rows" in repr(point)
    assert "latency" in repr(point)


def test_a_confirmed_point_has_what_events_say() -> None:
    made = exploration()
    best = made.best("latency")
    assert best.confirmed is not None
    assert best.confirmed["energy"] == pytest.approx(1.01 * best.objectives["energy"])


def test_the_front_is_sorted_and_has_equal_points_once_or_all() -> None:
    made = plain([[3, 1], [1, 3], [2, 2], [2, 2], [3, 3], [NAN, 0]])
    assert numbers(made.front()) == [1, 2, 3, 0]
    assert numbers(made.front(distinct=True)) == [1, 2, 0]


def test_goals_may_be_to_have_the_most() -> None:
    made = plain([[3, 1], [1, 3], [2, 2], [1, 1]], goals=("max", "min"))
    assert numbers(made.front()) == [0]
    assert made.best("first").number == 0
    assert numbers(made.best("first", count=9)) == [0, 2, 1, 3]
    assert "most first" in str(made)


def test_the_best_are_in_order_and_the_first_objective_is_meant_if_none_is_named() -> None:
    made = plain([[3, 1], [1, 3], [2, 2], [1, 4], [NAN, 0]])
    assert made.best().number == 1
    assert made.best("second").number == 0
    assert numbers(made.best(count=3)) == [1, 3, 2]
    assert made.best(count=0) == ()


def test_the_volume_before_a_reference_is_that_of_the_front() -> None:
    rows: list[list[float]] = [[1, 2], [2, 1], [2, 2], [NAN, 0]]
    assert plain(rows).hypervolume({"first": 3, "second": 3}) == 3
    upside_down = plain([[-x, y] for x, y in rows], goals=("max", "min"))
    assert upside_down.hypervolume({"first": -3, "second": 3}) == 3
    with pytest.raises(ExplorationError, match="the reference has no second"):
        plain(rows).hypervolume({"first": 3})


def test_without_a_feasible_point_there_is_none_that_is_best_and_the_error_says_why() -> None:
    made = plain([[NAN, NAN]] * 3, reasons=["too large", "too large", "too slow"])
    with pytest.raises(ExplorationError, match=r"none of 3 points is feasible; 2 × too large; 1 × too slow"):
        made.best()
    assert made.front() == made.best(count=3) == ()
    with pytest.raises(ExplorationError, match="nothing was explored"):
        plain([]).best()


@pytest.mark.parametrize("value", [NAN, INF, -INF])
def test_an_objective_that_is_not_finite_is_a_reason(value: float) -> None:
    made = plain([[1, 1], [value, 0]], reasons=["", ""])
    assert made.feasible.tolist() == [True, False]
    assert made.reasons() == {f"first is {value:g}, which is not a finite number": 1}
    assert numbers(made.front()) == [0]


def test_reasons_are_counted_the_most_frequent_first() -> None:
    made = plain([[NAN, NAN]] * 3 + [[1, 1]], reasons=["a", "b", "b", ""])
    assert list(made.reasons().items()) == [("b", 2), ("a", 1)]


def test_reasons_that_differ_in_numbers_only_are_shown_as_one_kind() -> None:
    made = plain(
        [[NAN, NAN]] * 3 + [[1, 1]], reasons=["area is 3.2, above 3", "area is 4e9, above 3", "b", ""]
    )
    assert re.search(r"reasons +2 × area is 3\.2, above 3 and similar; 1 × b\n", str(made))


@pytest.mark.parametrize("number", [-1, 4])
def test_points_have_numbers(number: int) -> None:
    with pytest.raises(ExplorationError, match=f"there is no point {number}; there are 4, numbered from 0"):
        plain([[1, 1]] * 4).point(number)


def test_an_unknown_objective_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(ExplorationError, match=r"'speed' is not an objective .* latency, energy"):
        exploration(9).best("speed")


def test_a_point_that_cannot_be_has_no_machine() -> None:
    made = exploration()
    candidate = list(made.candidates[0])
    candidate[2] = 1  # bytes
    with pytest.raises(SpaceError):
        made.space.machine(tuple(candidate))


def test_columns_and_points_must_fit() -> None:
    made = exploration(5)
    with pytest.raises(ExplorationError, match="4 points have 5 outcomes"):
        type(made)(made.space, made.objectives, made.candidates[:4], made.outcomes)
    with pytest.raises(ExplorationError, match="point 9 is confirmed, but there are 2 points"):
        plain([[1, 1], [2, 2]], confirmed={9: event(1, 1)})


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=30))
@settings(max_examples=50)
def test_the_best_of_each_objective_is_no_better_than_the_ends_of_the_front(
    rows: list[tuple[int, int]],
) -> None:
    made = plain(rows)
    front = made.front()
    assert front[0].objectives["first"] == made.best("first").objectives["first"]
    assert front[-1].objectives["second"] == made.best("second").objectives["second"]
    assert {made.point(one.number).number for one in front} == set(np.flatnonzero(made.on_front))


# Events.


def test_differences_are_relative_and_the_worst_has_its_sign() -> None:
    events = {0: event(1.1, 2), 1: event(2.0, 3), 2: event(2.1, 4), 3: event(NAN, NAN, reason="too large")}
    made = plain([[1, 2], [2, 3], [3, 4], [4, 5]], confirmed=events)
    first, second = made.differences()
    assert (first.points, first.worst_point, first.spearman) == (3, 2, 1.0)
    assert (first.median, first.worst) == pytest.approx((0.1, -0.3))
    assert (second.median, second.worst) == (0, 0)
    assert made.refused() == {3: "too large"}
    text = " ".join(str(made).split())
    assert "first differs by 10 % in the median, -30.0 % at worst (point 2), Spearman 1.000" in text
    assert "1 infeasible: too large" in text


def test_ranks_that_events_turn_round_are_seen() -> None:
    made = plain([[1, 1], [2, 2]], confirmed={0: event(3, 1), 1: event(2, 2)})
    assert [one.spearman for one in made.differences()] == [-1, 1]


def test_without_confirmed_points_there_is_no_difference() -> None:
    made = plain([[1, 2], [2, 1]])
    assert made.differences() == ()
    assert "confirmed" not in str(made)


# How it looks.


def test_the_summary_says_what_came_of_it() -> None:
    made = exploration()
    text = str(made)
    feasible, front = int(made.feasible.sum()), int(made.on_front.sum())
    assert f"300: {feasible} feasible, {300 - feasible} not\n" in text
    assert f"{front} Pareto-optimal points in latency and energy" in text
    assert "least latency" in text
    assert f"(point {made.best('energy').number}" in text
    assert "strategy random, seed 0, mode analytic, models net, 1.5 s" in text
    assert "8 points by the event simulator; latency differs by" in text
    assert re.search(r"energy depends on +offchip", text)
    assert max(map(len, text.splitlines())) <= 110
    assert repr(made) == (
        f"<Exploration: 300 points of systolic-16, {feasible} feasible, {front} on the front>"
    )


def test_the_table_of_the_front_has_its_ends_and_says_what_is_left_out() -> None:
    made = exploration()
    front = made.front(distinct=True)
    table = str(made).split("─\n")[1].splitlines()
    assert len(table) == 13
    assert [int(line.split()[0]) for line in (table[0], table[11])] == [front[0].number, front[-1].number]
    assert table[12] == f"and {len(front) - 12} more points of the front, between these"


@pytest.mark.parametrize(
    "made",
    [plain([]), plain([[NAN, NAN]], reasons=["no"]), plain([[1, 2]]), plain([[0, -1]] * 3), exploration(40)],
    ids=["no point", "none that can be", "one", "equal ones", "many"],
)
def test_every_exploration_can_be_shown(made: Exploration) -> None:
    assert str(made)
    assert repr(made)
    html = made._repr_html_()
    assert html.startswith('<div class="sim-report">')
    assert html.count("<table>") == html.count("</table>")


def test_notebooks_show_text_that_is_no_markup() -> None:
    made = plain([[NAN, NAN], [1, 1]], reasons=["<b>&", ""])
    assert "<b>" not in made._repr_html_()
    assert "&lt;b&gt;&amp;" in made._repr_html_()


def test_a_part_that_was_explored_as_a_whole_is_shown_in_a_line() -> None:
    from sim.explore.exploration import Exploration
    from sim.explore.space import Space

    parts = [
        {"kind": "systolic", "rows": 8, "columns": 4},
        {"kind": "block", "family": "u55", "macs_per_cycle": 64},
    ]
    space = Space("systolic-16", {"array": parts})
    made = plain([[1, 2], [2, 1]])
    candidates = tuple((value,) for value in parts)
    shown = Exploration(space, made.objectives, candidates, made.outcomes)
    assert "systolic, rows 8, columns 4" in str(shown)
    assert {one.direction for one in shown.sensitivity()} == {None}


# Pages.


def test_the_page_has_all_points_of_a_small_exploration() -> None:
    made = exploration()
    data = page_data(made)
    points = data["points"]
    assert points["number"] == list(range(300))
    assert points["array.rows"] == [candidate[0] for candidate in made.candidates]
    assert [value is None for value in points["latency"]] == (~made.feasible).tolist()
    assert points["front"] == made.on_front.tolist()
    assert points["reason"] == list(made.outcomes.reasons)
    assert data["best"] == {name: made.best(name).number for name in ("latency", "energy")}
    confirmed = points["confirmed"]["energy"]
    assert sum(value is not None for value in confirmed) == 8
    assert confirmed[made.best().number] == pytest.approx(1.01 * made.best().objectives["energy"])
    assert len(data["sensitivity"]) == 10
    assert not any(name == "on this page" for name, _ in data["summary"])


def test_a_bounded_page_keeps_the_front_the_best_and_what_was_confirmed() -> None:
    made = exploration(2000)
    beaten = int(np.flatnonzero(made.feasible & ~made.on_front)[3])
    made = replace(made, confirmed={**made.confirmed, beaten: made.confirmed[made.best().number]})
    data = page_data(made, most=500)
    shown = set(data["points"]["number"])
    assert len(shown) == 500
    assert shown >= set(made.distinct_numbers.tolist()) | set(made.confirmed) | set(data["best"].values())
    assert any(data["points"]["reason"])
    assert dict(data["summary"])["on this page"].startswith("500 of 2,000 points")
    least = page_data(made, most=1)["points"]["number"]
    assert set(least) >= set(made.distinct_numbers.tolist())


def test_the_page_is_written_whole(tmp_path: Path) -> None:
    path = tmp_path / "it.html"
    text = exploration(50).to_html(path)
    assert path.read_text(encoding="utf-8") == text
    assert text.lstrip().lower().startswith("<!doctype html>")
    assert plain([]).to_html()


def test_many_points_are_no_trouble() -> None:
    made = exploration(20_000)
    assert len(page_data(made)["points"]["number"]) == 10_000
    assert str(made)
    assert len(made.sensitivity()) == 10
