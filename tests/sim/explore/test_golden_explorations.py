"""What explorations say stays what it is: texts, tables, axes, areas, values of ranges, faults."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from math import inf, nan
from types import SimpleNamespace
from typing import Any, Literal

import numpy as np
import pytest

import sim
from sim.explore import summary
from sim.explore.area import AREA
from sim.explore.cells import Groups, cells, groups
from sim.explore.exploration import Exploration
from sim.explore.exports import to_csv
from sim.explore.page import page_data
from sim.explore.progress import Progress
from sim.explore.run import best
from sim.explore.scales import nice, scale_of
from sim.explore.sensitivity import sensitivities
from sim.explore.strategies import strategy
from sim.explore.work import Outcomes
from sim.machine.parts import LANES, RATES
from tests.sim.explore.results import exploration, plain

Golden = Callable[[str, str], None]


def rounded(value: Any) -> Any:
    """A value of JSON with numbers of six digits, which every machine has alike."""
    match value:
        case float():
            return float(f"{value:.6g}")
        case dict():
            return {name: rounded(one) for name, one in value.items()}
        case list() | tuple():
            return [rounded(one) for one in value]
        case np.ndarray() | np.generic():
            return rounded(value.tolist())
    return value


def listed(rows: Iterable[tuple[object, object]]) -> str:
    """A line for each pair."""
    return "\n".join(f"{name}: {rounded(value)}" for name, value in rows)


def explorations() -> Iterator[tuple[str, Exploration]]:
    """Large, small, with points that cannot be, unfinished, of several models."""
    yield "large", exploration(300)
    yield "small", exploration(40, 3, 1)
    yield "unfinished", replace(exploration(30, 1, 0), finished=False, seconds=0.0, settings={})
    yield "one", plain([[1, 2]])
    yield "equal", plain([[0, -1]] * 3)
    yield "none", plain([])
    yield "impossible", plain([[nan, nan]] * 7, reasons=[f"{'abcdefg'[k]} is {k}" for k in range(7)])
    rows = [[k % 4, 2 * k, -k * k] for k in range(9)]
    events = {k: outcome(k % 4, 2.5 * k, 1, "" if k != 4 else "it is refused") for k in (1, 2, 3, 4, 6)}
    several = replace(plain(rows, ("min", "max", "min")), confirmed=events)
    yield "three", replace(several, settings={"models": ["one", {"name": "two"}, {}], "mode": "events"})


def outcome(first: float, second: float, third: float, reason: str) -> Outcomes:
    columns = {"first": first, "second": second, "third": third}
    return Outcomes({name: np.array([float(value)]) for name, value in columns.items()}, (reason,))


def test_summaries_read_as_they_did(golden: Golden) -> None:
    texts = [f"== {name}\n{made!r}\n{made}" for name, made in explorations()]
    golden("explored_summaries", "\n".join(texts))


def test_columns_of_numbers_alone_stand_on_the_right(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [
        ["point", "first", "array.rows", "mode"],
        ["1", "20 ms", "8", "1x"],
        ["20", "3 ms", "none", "22x"],
    ]
    monkeypatch.setattr(summary, "front_table", lambda exploration: rows)
    made: Any = SimpleNamespace(space=SimpleNamespace(names=("array.rows", "mode")))
    above, below, (one, other) = summary._front_lines(made)
    assert (one.split(), other.split()) == (["1", "20", "ms", "8", "1x"], ["20", "3", "ms", "none", "22x"])
    assert one.index("1") == other.index("0")
    assert one.index("8") == other.index("none") == below.index("rows") == above.index("array")
    assert one.index("1x") == other.index("22x") + 1


def test_pages_have_the_points_that_they_had(golden: Golden) -> None:
    rows = [
        (f"{name}, {most}", json.dumps(rounded(page_data(made, most))))
        for name, made in explorations()
        if len(made) < 100
        for most in (7, 100)
    ]
    golden("explored_pages", listed(rows))


def test_tables_have_what_they_had(golden: Golden) -> None:
    made = dict(explorations())
    golden("explored_tables", "\n".join(to_csv(made[name]) for name in ("one", "impossible", "three")))


def test_sensitivities_are_what_they_were(golden: Golden) -> None:
    generator = np.random.default_rng(5)
    rows: list[tuple[str, Any]] = []
    for count in (2, 3, 19, 20, 33, 330, 331, 700):
        fields: dict[str, Any] = {
            "few": generator.integers(0, 4, count).tolist(),
            "many": generator.random(count),
            "edge": [k % 33 for k in range(count)],
            "word": [("x", "y", None)[k % 3] for k in range(count)],
        }
        results = fields["many"] * 3 + np.array(fields["few"]) - 2 + generator.random(count)
        gaps = np.where(np.arange(count) % 5 == 1, np.nan, results)
        asked = {"any": results, "positive": np.exp(results), "same": [2.0] * count, "gaps": gaps}
        for one in sensitivities(fields, asked):
            row = (one.share, one.direction, one.lowest, one.highest, one.groups, one.points)
            rows.append((f"{count} {one.field} {one.objective}", row))
    golden("explored_sensitivities", listed(rows))


SIZES = [2.0**k for k in range(10, 21)]
AXES: dict[str, tuple[str, list[Any], str | None]] = {
    "few": ("array.rows", [8, 32, 16, 8], None),
    "eight": ("cores", list(range(1, 9)), None),
    "nine": ("cores", list(range(1, 10)), None),
    "unit": ("latency", [1e-3, 5e-3, 2e-3], "s"),
    "words": ("array.dataflow", ["weight", "output", "weight", None], None),
    "truths": ("planner.cascading", [True, False], None),
    "bytes": ("scratchpad.bytes", SIZES, None),
    "near bytes": ("scratchpad.bytes", [1e5 + 1000 * k for k in range(12)], None),
    "rates": ("offchip.bandwidth_bytes_per_second", [1e9 * 1.3**k for k in range(20)], None),
    "hertz": ("clock_hz", [1e9 + 1e7 * k for k in range(17)], None),
    "five": ("energy", [1.0 + k / 2 for k in range(9)], "J"),
    "above five": ("energy", [1.0 + k / 2 for k in range(10)], "J"),
    "below zero": ("energy", [float(k) for k in range(-3, 9)], "J"),
}


@pytest.mark.parametrize("kind", ["scales", "groups"])
def test_axes_stand_where_they_stood(kind: str, golden: Golden) -> None:
    rows: list[tuple[str, object]] = []
    for name, (field, values, unit) in AXES.items():
        if kind == "scales":
            scale = scale_of(field, values, unit)
            rows.append((name, (scale.places, list(scale.ticks))))
        else:
            found: Groups = groups(field, values)
            rows.append((name, (found.place, found.ticks, found.labels, len(found))))
    golden(f"explored_{kind}", listed(rows))


def test_marks_are_those_that_they_were(golden: Golden) -> None:
    ends = [
        (low, low * factor)
        for low in (1.0, 3.0, 64.0, 1000.0, 1536.0, 7e5)
        for factor in (1, 1.01, 1.6, 2, 4.9, 8, 70, 3e4, 1e9)
    ]
    rows = [
        (f"{low:g} to {high:g} {unit} {wide}", nice(low, high, unit, wide))
        for low, high in ends
        for unit in ("", "bytes")
        for wide in ((False, True) if high > 5 * low else (False,))
    ]
    golden("explored_marks", listed([*rows, ("from zero", nice(0, 4096, "bytes", False))]))


def test_cells_have_the_least_the_largest_or_the_middle() -> None:
    row, column = np.array([0, 0, 0, 0, 1, 1, 1]), np.array([1, 1, 1, 1, 0, 0, 2])
    results = np.array([4.0, 1.0, 2.0, 8.0, 5.0, 6.0, 7.0])
    expected = {"min": (1, 5), "max": (8, 6), "median": (3, 5.5)}
    for take, (first, second) in expected.items():
        table = cells(row, column, results, (2, 3), take)  # type: ignore[arg-type]
        np.testing.assert_array_equal(table, [[nan, first, nan], [second, nan, 7]])


def test_machines_take_the_area_that_they_took(golden: Golden) -> None:
    rows: list[tuple[str, object]] = [(name, AREA.of([sim.machine(name)])[0]) for name in sim.machines()]
    base = sim.machine("systolic-16").replace({"array.rates": {"8x8": 1e-6}})
    for rate in RATES:
        rows.append((f"rate {rate}", AREA.of([base.replace({"array.rates": {"8x8": 1e-6, rate: 1.0}})])[0]))
    for lanes in LANES:
        for part in ("vector", "reduction"):
            rows.append((f"{part} {lanes}", AREA.of([base.replace({f"{part}.lanes": {lanes: 100.0}})])[0]))
    golden("explored_areas", listed(rows))


RANGES: list[dict[str, Any]] = [
    {"low": 1, "high": 9},
    {"low": 1, "high": 2},
    {"low": 0.5, "high": 9.5},
    {"low": 0.2, "high": 0.7},
    {"low": 1, "high": 100, "scale": "log"},
    {"low": 1, "high": 64, "scale": "log", "steps": 7},
    {"low": 3, "high": 50, "scale": "log", "steps": 4},
    {"low": 1, "high": 10, "scale": "log", "step": 2},
    {"low": 1, "high": 8, "scale": "log", "step": 2},
    {"low": 2, "high": 11, "step": 3},
    {"low": 2, "high": 10, "step": 3},
    {"low": 2, "high": 3, "step": 0.25},
    {"low": 2.5, "high": 9, "step": 2},
    {"low": 2, "high": 9.5, "step": 2.5},
    {"low": 0, "high": 3, "steps": 2},
    {"low": 0, "high": 3, "steps": 5},
    {"low": 1, "high": 2, "scale": "power_of_two"},
    {"low": 3, "high": 40, "scale": "power_of_two"},
    {"low": 0.3, "high": 4, "scale": "power_of_two"},
    {"low": 5, "high": 7, "scale": "power_of_two"},
    {"low": 2, "high": 2},
    {"low": 3, "high": 2},
    {"low": 0, "high": 2, "scale": "log"},
    {"low": 0, "high": 2, "scale": "power_of_two"},
    {"low": -1, "high": 2},
    {"low": -1e308, "high": 1e308},
    {"low": 1e-300, "high": 1e300, "scale": "log"},
    {"low": 1, "high": inf},
    {"low": True, "high": 2},
    {"low": 1, "high": "2"},
    {"low": 1, "high": 10**400},
    {"low": 1, "high": 2, "scale": "cubic"},
    {"low": 1, "high": 2, "steps": 1},
    {"low": 1, "high": 2, "steps": True},
    {"low": 1, "high": 2, "steps": 2.0},
    {"low": 1, "high": 2, "steps": 100_001},
    {"low": 1, "high": 2, "steps": 2, "step": 1},
    {"low": 1, "high": 2, "scale": "power_of_two", "steps": 2},
    {"low": 1, "high": 2, "scale": "power_of_two", "step": 2},
    {"low": 1, "high": 2, "step": 0},
    {"low": 1, "high": 2, "step": -1},
    {"low": 1, "high": 2, "step": nan},
    {"low": 1, "high": 2, "scale": "log", "step": 1},
    {"low": 1, "high": 2, "scale": "log", "step": 1 + 1e-6},
    {"low": 1, "high": 1e300, "step": 1e-300},
]


def _said(make: Callable[..., object], *given: object) -> object:
    try:
        return make(*given)
    except sim.SpaceError as error:
        return str(error)


def _range(given: dict[str, Any], whole: bool) -> object:
    axis = sim.Range(**given).axis(whole)
    values = None if axis.size is None else [axis.value(number) for number in range(min(axis.size, 12))]
    places = axis.at(np.array([0, 0.1, 0.25, 0.5, 0.75, 0.9, 1 - 1e-12]))
    return type(axis).__name__, axis.size, axis.ordered, values, places


def test_ranges_have_the_values_and_faults_that_they_had(golden: Golden) -> None:
    rows = [
        (
            f"{given} {'whole' if whole else 'any'}",
            _said(_range, given, whole),
        )
        for given in RANGES
        for whole in (True, False)
    ]
    golden("explored_ranges", listed(rows))


def test_a_range_has_as_many_steps_as_it_may() -> None:
    assert sim.Range(1, 2, steps=100_000).axis(False).size == 100_000
    assert sim.Range(0, 2.0**60, step=1).axis(True).size == 2**60 + 1
    assert sim.Range(1, 2.0**99, "log", step=2).axis(True).size == 100


@pytest.mark.parametrize(
    ("field", "values", "ordered"),
    [
        ("cores", [1, 2, 4], True),
        ("clock_hz", [4e6, 2e6, 1e6], True),
        ("cores", [1, 4, 2], False),
        ("planner.cascading", [True, False], False),
        ("array.dataflow", ["weight", "output"], False),
        ("offchip.bandwidth_bytes_per_second", [1e9, None], False),
    ],
)
def test_lists_are_ordered_if_they_are_numbers_that_rise_or_fall(
    field: str, values: list[Any], ordered: bool
) -> None:
    assert sim.Space("tiny", {field: values}).axes[0].ordered is ordered


@pytest.mark.parametrize("base", ["tiny", "ethos-u65-256", "gemmini-16"])
def test_names_of_expressions_are_those_that_they_were(base: str, golden: Golden) -> None:
    space = sim.Space(base, {"cores": [1, 2], "array": [sim.machine(base).array]})
    rows = [
        (name, f"{one.kind} {one.path} {'|'.join(one.choices)}".rstrip())
        for name, one in space.symbols.items()
        if "." in name or name == one.path or not one.path
    ]
    golden(f"explored_names_{base}", listed(rows))


EXPRESSIONS = [
    "cores", "cores + 1 - 3 * 2", "clock_hz / 0 > 1", "cores // 2 >= 0", "cores % 2 == 0", "cores % 0 == 0",
    "2 ** cores == 4", "0 ** -cores > 1", "9 ** 9 ** 9 > 1", "sqrt(-cores) > 0", "log2(cores) >= 1",
    "log2(cores - 2) > 0", "log2(1 - cores) > 0", "min(cores, 3, 2) == 2", "max(cores, 3) == 3",
    "abs(-cores) == cores", "ceil(cores / 2) > floor(cores / 2)", "not cores > 2", "cores > 1 and cores < 3",
    "cores > 3 or cores == 1", "cores > 3 or 1 / (cores - 2) > 0", "1 < cores <= 3 < 5", "cores",
    "1 < cores < 3 < 4", "array.dataflow == 'weight'", "array.dataflow != 'output'", "array.dataflow == 'x'",
    "array.dataflow < 'x'", "planner.cascading", "planner.cascading == True", "planner.cascading == 1",
    "array.macs_per_cycle > 1", "vector.lanes.i8 > 1", "offchip.bandwidth_bytes_per_second > 1e9",
    "+cores > 1", "~cores", "min(cores)", "max()", "abs(cores, 2)", "sqrt(cores, x=1)", "foo(cores)",
    "minn(1, 2)", "cors > 1", "zzz > 1", "cores if cores else 1", "cores[0]", "lambda: 1", "1 @ 2",
    "cores is 1", "1e999 > 1", "None", "'a' 'b'", "cores >", "(cores", "", "  cores   >  1  ", "not 1",
    "-'a'", "1 and 2", "é > 1", "true or false", "macs > 100", "area < 1", "rows == 4",
    "array_rows * columns == 16", "(1).x", "10 ** 400 > 1", "x" * 2001,
    "cores > " + "(" * 300 + "1" + ")" * 300, "-" * 62 + "1 > 0", "-" * 63 + "1 > 0",
    "1" + "0" * 400 + " > 1",
]  # fmt: skip


def test_expressions_say_what_they_said(golden: Golden) -> None:
    fields: dict[str, list[Any]] = {
        "cores": [1, 2, 3, 4],
        "array.dataflow": ["weight", "output"],
        "planner.cascading": [True, False],
        "offchip.bandwidth_bytes_per_second": [1e9, None],
    }
    places = [(1, "weight", True, None), (2, "output", False, 1e9), (3, "weight", False, 2e9)]

    def violations(text: str) -> object:
        return sim.Space("tiny", fields, [text]).violations(places)

    rows = [(text if len(text) < 90 else f"{text[:70]}…", _said(violations, text))
            for text in EXPRESSIONS]  # fmt: skip
    golden("explored_expressions", listed(rows))


FIELDS: list[dict[str, Any]] = [
    {"array.rowz": [1]}, {"array": [1]}, {"arr": [1]}, {"energy.x": [1]}, {"name": ["a"]}, {"sources": [{}]},
    {"cores": []}, {"cores": 3}, {"cores": "ab"}, {"cores": {"a": 1}}, {"cores": {"low": 1}},
    {"cores": {"low": 1, "high": 2, "x": 3}}, {"cores": {"low": 1, "high": 3}}, {"cores": [0]},
    {"cores": [1, 1]}, {"cores": [1, 2, True]}, {"cores": sim.Range(0, 3)}, {"cores": sim.Range(1, 2**40)},
    {"clock_hz": sim.Range(1, 1e30)}, {"array.dataflow": sim.Range(1, 2)},
    {"planner.cascading": sim.Range(1, 2)}, {"array": sim.Range(1, 2)}, {"vector.lanes.i8": [1, 2]},
    {"vector.lanes.i9": [1, 2]}, {"vector.lanes.i8": [0]}, {"array.dataflow": ["wait"]}, {}, {"base": [1]},
    {"cores": [np.int64(2), np.float64(1.0)]}, {"cores.x": [1]}, {"scratchpad.bytes.x": [1]},
    {"array.kind": ["block"]}, {"cores": sim.Range(1, 2000, step=1)},
    {"cores": sim.Range(1, 2001, step=1000)},
]  # fmt: skip


def test_fields_are_taken_and_refused_as_they_were(golden: Golden) -> None:
    def space_text(given: dict[str, Any]) -> str:
        return str(sim.Space("tiny", given))

    rows = [(str(given)[:80], _said(space_text, given)) for given in FIELDS]
    golden("explored_fields", listed(rows))


def test_spaces_read_as_they_did(golden: Golden) -> None:
    clock = sim.Range(1e6, 2e9)
    spaces = [
        sim.Space("tiny", {"cores": [1]}),
        sim.Space(["tiny", "gemmini-16"], {"cores": list(range(1, 9))}, ["macs > 1", "area < 5"]),
        sim.Space("tiny", {"cores": list(range(1, 10)), "clock_hz": sim.Range(1e6, 2e9, "log", steps=3)}),
        sim.Space("tiny", {"offchip.bandwidth_bytes_per_second": [None, 1e9], "clock_hz": clock}),
        sim.Space("tiny", {"scratchpad.bytes": sim.Range(64, 1 << 40), "cores": sim.Range(1, 1024)}),
        sim.Space("tiny", {"scratchpad.bytes": sim.Range(64, 10**12 + 63), "cores": sim.Range(1, 1000)}),
        sim.Space("tiny", {"array": [{"kind": "systolic", "rows": 8, "columns": 4},
                                     {"kind": "block", "family": "u55", "macs_per_cycle": 64}]}),
    ]  # fmt: skip
    golden("explored_spaces", "\n\n".join(f"{one!r}\n{one}\n{one._repr_html_()}" for one in spaces))


def test_progress_reads_as_it_did(golden: Golden) -> None:
    rates, totals = (0.0, 0.25, 9.994, 9.999, 10.0, 1234.5), (None, 1000, 10_000_000)
    kinds: tuple[tuple[int, Literal["points", "confirm"]], ...] = ((0, "points"), (1000, "confirm"))
    rows = [
        Progress(500, total, rate, bad, {"latency": 1.25, "energy": 1e-7}, 3.0, phase)
        for rate in rates
        for total in totals
        for bad, phase in kinds
    ]
    lengths = (0.4, 59.4, 59.5, 60, 61, 3599.4, 3599.6, 3600, 3659, 3660, 90_000)
    rows += [Progress(0, round(10 * seconds), 10.0, 0, {}, 1.0) for seconds in lengths]
    golden("explored_progress", "\n".join(map(str, rows)))


@pytest.mark.parametrize(
    ("name", "points", "sizes"),
    [
        ("nsga2", 1000, [50, 50]),
        ("nsga2", 130, [13, 13]),
        ("nsga2", 20, [8, 8, 4]),
        ("tpe", 1000, [25]),
        ("tpe", 90, [9]),
    ],
)
def test_generations_have_so_many_candidates(name: str, points: int, sizes: list[int]) -> None:
    space = sim.Space("tiny", {"clock_hz": sim.Range(1e6, 1e9), "cores": sim.Range(1, 1000)})
    search = strategy(name, space, points, 0, 1)
    for size in sizes:
        batch = search.ask()
        assert len(batch) == size
        search.tell(batch, np.arange(float(size))[:, None])


def test_a_grid_may_have_so_many_machines_unasked() -> None:
    most = sim.Space("tiny", {"scratchpad.bytes": sim.Range(1024, 1024 + 12_499), "cores": list(range(1, 9))})
    assert most.size == 100_000
    assert len(strategy("grid", most, None, 0, 1).ask()) == 2048
    more = sim.Space("tiny", {"scratchpad.bytes": sim.Range(1024, 1024 + 12_500), "cores": list(range(1, 9))})
    with pytest.raises(sim.SpaceError, match="the grid has 100,008 machines, more than the 100,000 that"):
        strategy("grid", more, None, 0, 1)


def test_the_best_are_the_front_then_all_others_each_objective_in_turn() -> None:
    values = np.array([[3, 1], [1, 3], [2, 2], [4, 4], [5, 3.5], [inf, inf], [2, 2.5], [nan, 0]])
    assert best(values, 9) == [1, 0, 2, 6, 3, 4]
    assert best(values, 2) == [1, 0]
    assert best(values, 0) == []


def test_places_reach_values_beyond_what_64_bits_count() -> None:
    last = 1 - 2.0**-53
    wide = sim.Range(0, 2.0**60, step=1).axis(True)
    assert wide.at(np.array([0.0, 0.5, 0.75, last])) == [0, 1 << 59, 3 << 58, (1 << 60) - 128]
    assert sim.Range(0, 2.0**54 - 2, step=1).axis(True).at(np.array([last])) == [(1 << 54) - 2]
