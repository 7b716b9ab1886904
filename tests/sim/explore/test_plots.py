"""Pictures of explorations: that they can be drawn, what is in them, and what is written beside it."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from itertools import pairwise, product
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim.explore.cells import cells, groups
from sim.explore.errors import ExplorationError
from sim.explore.exploration import Exploration
from sim.explore.scales import nice, scale_of
from sim.explore.space import Space
from sim.explore.wording import value_text, with_unit
from sim.explore.work import Outcomes
from tests.sim.explore.results import exploration, plain

ROOT = Path(__file__).parents[3]
matplotlib = pytest.importorskip("matplotlib", reason="pip install '.[notebook]'")

PNG = b"\x89PNG\r\n"
PLOTS = ("pareto", "parallel", "heat_map", "sensitivity")
NAN = np.nan


def labels(axis: Any) -> list[str]:
    return [label.get_text() for label in axis.get_ticklabels()]


def words(figure: Any) -> list[str]:
    """All that is written in the axes and the legends."""
    figure.draw_without_rendering()
    return [text.get_text() for text in figure.findobj(matplotlib.text.Text) if text.get_text()]


@pytest.mark.parametrize("count", [12, 300])
@pytest.mark.parametrize("name", PLOTS)
def test_pictures_are_drawn(name: str, count: int) -> None:
    figure = getattr(exploration(count, confirmed=3).plot, name)()
    assert figure._repr_png_().startswith(PNG)


@pytest.mark.parametrize("name", PLOTS)
@pytest.mark.parametrize(
    "rows", [[[1, 2]], [[1, 1]] * 4, [[0, -5], [-5, 0]], [[1e-30, 1e30], [1e30, 1e-30], [NAN, 1]]]
)
def test_pictures_of_odd_results(name: str, rows: list[list[float]]) -> None:
    made = plain(rows)
    if name == "heat_map":
        fields: dict[str, list[float]] = {
            "clock_hz": [1e9 * (n + 1) for n in range(len(rows))],
            "array.rows": [8],
        }
        candidates = tuple((1e9 * (n + 1), 8) for n in range(len(rows)))
        made = Exploration(Space("systolic-16", fields), made.objectives, candidates, made.outcomes)
    assert getattr(made.plot, name)()._repr_png_().startswith(PNG)


@pytest.mark.parametrize("name", ["pareto", "parallel", "heat_map"])
def test_where_no_point_can_be_the_error_says_why(name: str) -> None:
    made = exploration(20, confirmed=0)
    empty = Outcomes({name: np.full(20, NAN) for name in made.outcomes.columns}, ("too large",) * 20)
    with pytest.raises(ExplorationError, match="20 × too large"):
        getattr(replace(made, outcomes=empty).plot, name)()


def test_the_scatter_has_all_feasible_points_the_front_and_what_was_confirmed() -> None:
    made = exploration()
    (axes,) = made.plot.pareto().axes
    (others,) = axes.collections
    front = np.array(
        next(line.get_xydata() for line in axes.lines if str(line.get_label()).endswith("on the front"))
    )
    events = next(line for line in axes.lines if line.get_label() == "the same, by events")
    assert len(np.asarray(others.get_offsets())) + len(front) == made.feasible.sum()
    assert {tuple(row) for row in front} == {tuple(row) for row in made.values[made.on_front]}
    assert np.shape(events.get_xydata()) == (8, 2)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("latency", "energy")
    legend = axes.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()][1] == f"{len(front)} on the front"


def test_objectives_of_the_scatter_may_be_named() -> None:
    (axes,) = exploration(50).plot.pareto("energy").axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("energy", "latency")
    (axes,) = exploration(50).plot.pareto(y="latency").axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("energy", "latency")
    with pytest.raises(ExplorationError, match="'speed' is not an objective"):
        exploration(50).plot.pareto("speed")
    with pytest.raises(ExplorationError, match="a front needs two objectives"):
        plain([[1]], goals=("min",)).plot.pareto()


def test_ticks_have_units() -> None:
    (axes,) = exploration().plot.pareto().axes
    assert all(text.endswith(("µs", "ms")) for text in labels(axes.xaxis))
    assert all(text.endswith("µJ") for text in labels(axes.yaxis))
    assert len(labels(axes.xaxis)) >= 3


def test_the_heat_map_has_the_best_or_the_median_of_all_others() -> None:
    fields = {"array.rows": [8, 16, 32], "array.columns": [8, 16], "cores": [1, 2, 4]}
    space = Space("systolic-16", fields)
    candidates = tuple(product(*fields.values()))
    values = np.array([rows * 100 + columns + 1000.0 * cores for rows, columns, cores in candidates])
    values[-3:-1] = values[:3] = NAN
    outcomes = Outcomes({"first": values}, tuple("no" if value != value else "" for value in values))
    made = Exploration(space, plain([[1]], goals=("min",)).objectives, candidates, outcomes)
    cases: tuple[tuple[Literal["best", "median"], int], ...] = (("best", 1000), ("median", 2000))
    for over, cores in cases:
        axes = made.plot.heat_map("array.columns", "array.rows", over=over).axes[0]
        mesh: Any = axes.collections[0]
        found = mesh.get_array().filled(NAN)
        expected: list[list[float]] = [[NAN, 816 + cores], [1608 + cores, 1616 + cores], [3208 + cores, 7216]]
        assert np.array_equal(found, expected, equal_nan=True)
        assert (labels(axes.xaxis), labels(axes.yaxis)) == (["8", "16"], ["8", "16", "32"])
        assert (axes.get_xlabel(), axes.get_ylabel()) == ("array.columns", "array.rows")


def test_the_heat_map_takes_the_fields_that_matter_most() -> None:
    made = exploration()
    (first, second, *_) = sorted(
        (one for one in made.sensitivity() if one.objective == "energy"), key=lambda one: -one.share
    )
    axes = made.plot.heat_map(objective="energy").axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == (first.field, second.field)
    axes = made.plot.heat_map(y=first.field, objective="energy").axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == (second.field, first.field)
    with pytest.raises(
        ExplorationError, match=r"'rows' is not a field of this exploration; fields are array\.rows"
    ):
        made.plot.heat_map("rows")
    with pytest.raises(ExplorationError, match="a heat map needs two fields"):
        plain([[1, 2]]).plot.heat_map()


def test_powers_of_two_are_written_with_their_unit() -> None:
    made = exploration()
    axes = made.plot.heat_map("offchip.bandwidth_bytes_per_second", "scratchpad.bytes").axes[0]
    assert labels(axes.yaxis) == ["64 KiB", "128 KiB", "256 KiB", "512 KiB", "1 MiB"]
    assert all(text.endswith("B/s") for text in labels(axes.xaxis))


def test_parallel_coordinates_have_an_axis_for_each_field_and_objective() -> None:
    made = exploration()
    figure = made.plot.parallel("energy")
    axes, bar = figure.axes
    heads = [
        "array\nrows",
        "array\ndataflow",
        "scratchpad\nbytes",
        "offchip\nbandwidth",
        "planner\ncascading",
    ]
    assert labels(axes.xaxis) == [*heads, "\nlatency", "\nenergy"]
    assert {"weight", "output", "true", "false", "64", "256 KiB"} <= set(words(figure))
    collections: list[Any] = list(axes.collections)
    assert sum(len(lines.get_segments()) for lines in collections) <= 460
    assert bar.get_ylabel().startswith("energy")


def test_bars_are_the_shares() -> None:
    made = exploration()
    (axes,) = made.plot.sensitivity().axes
    widths = {(one.get_label(), round(bar.get_width(), 9)) for one in axes.containers for bar in one}
    assert widths == {(one.objective, round(one.share, 9)) for one in made.sensitivity()}
    assert set(labels(axes.yaxis)) == set(made.space.names)


@pytest.mark.parametrize("name", PLOTS)
def test_nothing_is_written_over_something_else(name: str) -> None:
    figure = getattr(exploration().plot, name)()
    figure.draw_without_rendering()
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            boxes = [label.get_window_extent() for label in axis.get_ticklabels() if label.get_text()]
            turned = any(label.get_rotation() % 90 for label in axis.get_ticklabels())
            assert turned or not any(one.overlaps(other) for one, other in pairwise(boxes))
        if axes.get_legend():
            assert axes.get_legend().get_window_extent().x0 > axes.get_window_extent().x1
    width, height = figure.get_size_inches() * figure.dpi
    for text in figure.findobj(matplotlib.text.Text):
        box = text.get_window_extent()
        if text.get_text() and text.get_visible():
            assert box.x0 >= -1, text
            assert box.x1 <= width + 1, text
            assert -1 <= box.y0 <= box.y1 <= height + 1, text


@pytest.mark.parametrize("name", ["$x_1$", "名", "a" * 200])
def test_names_may_be_any_text(name: str) -> None:
    made = exploration(30, confirmed=0)
    columns = {name: made.outcomes.columns["latency"], "energy": made.outcomes.columns["energy"]}
    objectives = (replace(made.objectives[0], name=name), made.objectives[1])
    odd = replace(made, objectives=objectives, outcomes=Outcomes(columns, made.outcomes.reasons))
    for plot in PLOTS:
        getattr(odd.plot, plot)().draw_without_rendering()


# What pictures are made of.


@given(
    st.floats(1e-12, 1e12), st.floats(1.001, 1e9), st.sampled_from(["s", "bytes", "", "Hz"]), st.booleans()
)
@settings(max_examples=300)
def test_ticks_are_few_and_within_what_is_shown(low: float, ratio: float, unit: str, wide: bool) -> None:
    high = low * ratio
    marks = nice(low, high, unit, wide and ratio > 5)
    assert len(marks) <= 12
    assert all(low * 0.999 <= mark <= high * 1.001 for mark in marks)
    assert marks == sorted(set(marks))


def test_ticks_of_bytes_are_multiples_of_powers_of_two() -> None:
    assert nice(65536, 1 << 20, "bytes", True) == [2.0**power for power in range(16, 21)]
    assert nice(100_000, 300_000, "bytes", False) == [131072, 196608, 262144]
    assert nice(0.0, 1.0, "s", False) == pytest.approx([0, 0.2, 0.4, 0.6, 0.8, 1.0])


def test_few_values_stand_at_even_distances_in_order() -> None:
    scale = scale_of("array.rows", [64, 8, 16, 8])
    assert scale.places.tolist() == pytest.approx([5 / 6, 1 / 6, 1 / 2, 1 / 6])
    assert [text for _, text in scale.ticks] == ["8", "16", "64"]


def test_many_values_stand_by_their_size() -> None:
    scale = scale_of("offchip.bandwidth_bytes_per_second", [1e9 * 2**n for n in range(10)])
    assert scale.places.tolist() == pytest.approx([n / 9 for n in range(10)])
    scale = scale_of("clock_hz", [1e9 + 1e8 * n for n in range(11)])
    assert scale.places.tolist() == pytest.approx([n / 10 for n in range(11)])
    assert "1.2 GHz" in [text for _, text in scale.ticks]


def test_cells_hold_the_points_that_are_in_them() -> None:
    rows, columns = np.array([0, 0, 0, 1, 1]), np.array([0, 0, 0, 1, 1])
    results = np.array([3.0, 1.0, 2.0, 5.0, 6.0])
    cases: list[tuple[Literal["min", "max", "median"], list[float]]]
    cases = [("min", [1, 5]), ("max", [3, 6]), ("median", [2, 5.5])]
    for take, expected in cases:
        table = cells(rows, columns, results, (2, 2), take)
        assert table[0, 0] == expected[0]
        assert table[1, 1] == expected[1]
        assert np.isnan(table[0, 1])


def test_many_numbers_are_put_into_groups_with_their_edges() -> None:
    found = groups("clock_hz", [1e9 + 1e7 * n for n in range(101)])
    assert len(found) == 10
    assert (found.labels[0], found.labels[-1]) == ("1 GHz", "2 GHz")
    assert np.bincount(found.place).tolist() == [10] * 9 + [11]


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (65536, "bytes", "64 KiB"),
        (1.25e-3, "s", "1.25 ms"),
        (3.14159, "mm²", "3.142 mm²"),
        (NAN, "s", "unknown"),
        (1024, "cycles", "1,024 cycles"),
        (0, "J", "0 J"),
        (2.5e-9, "J s", "2.50 nJ s"),
    ],
)
def test_figures_have_units(value: float, unit: str, text: str) -> None:
    assert with_unit(value, unit) == text


@pytest.mark.parametrize(
    ("path", "value", "text"),
    [
        ("offchip.bandwidth_bytes_per_second", 4e9, "4 GB/s"),
        ("offchip.bandwidth_bytes_per_second", None, "unlimited"),
        ("clock_hz", 1.5e9, "1.5 GHz"),
        ("scratchpad.bytes", 3 << 19, "1.5 MiB"),
        ("array.rows", 100, "100"),
        ("planner.cascading", True, "true"),
        ("array", {"kind": "systolic", "rows": 8, "rates": {"8x8": 1}}, "systolic, rows 8"),
    ],
)
def test_values_are_written_as_people_read_them(path: str, value: Any, text: str) -> None:
    assert value_text(path, value) == text


def test_matplotlib_is_asked_for_where_it_is_missing() -> None:
    code = (
        "import sys; sys.modules['matplotlib'] = None; sys.modules['matplotlib.figure'] = None\n"
        "from tests.sim.explore.results import exploration\n"
        "try: exploration(9).plot.sensitivity()\nexcept Exception as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True)
    assert done.stdout == "pictures need matplotlib: pip install 'tosajit[notebook]'\n"
