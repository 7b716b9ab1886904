"""Explorations as files: everything is there, also what is not known, and can be read again."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from math import isnan
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sim.explore.errors import ExplorationError
from sim.explore.exploration import Exploration
from sim.explore.exports import columns
from sim.explore.objectives import Objective
from sim.explore.space import Space
from sim.explore.work import Outcomes
from tests.sim.explore.results import exploration, plain

ROOT = Path(__file__).parents[3]
NAN, INF = np.nan, np.inf


def mixed() -> Exploration:
    """Values of all kinds: parts, words, numbers and none."""
    made = Space(
        "systolic-16",
        {
            "array": [
                {"kind": "systolic", "rows": 8, "columns": 8},
                {"kind": "systolic", "rows": 9, "columns": 8},
            ],
            "array.dataflow": ["weight", "output"],
            "offchip.bandwidth_bytes_per_second": [1e9, None],
            "cores": [1, 2],
            "dma.strided": [True, False],
        },
    )
    candidates = tuple(made.number(number) for number in range(0, made.size or 0, 5))
    rows = plain([[1, NAN], [INF, 1], [2, -INF], [3, 0.1], [4, 1e-300], [5, 1e300], [6, 7]])
    outcomes = replace(rows.outcomes, reasons=('a "reason", with\nlines and ünïcode', *[""] * 6))
    confirmed = {3: Outcomes({"first": np.array([3.5]), "second": np.array([NAN])}, ("no",))}
    return Exploration(made, rows.objectives, candidates, outcomes, confirmed)


def same(found: Sequence[Any], expected: Sequence[Any]) -> None:
    """Equal, where nan equals nan."""
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert one == other or (one != one and other != other), (one, other)


EXPLORATIONS = pytest.mark.parametrize(
    "made", [exploration(60), mixed(), plain([])], ids=["usual", "mixed", "none"]
)


def test_the_table_has_all_points_with_their_reasons_and_what_was_confirmed() -> None:
    made = exploration()
    table = columns(made)
    own = ("number", *made.space.names, "latency", "energy", "net.seconds", "front", "reason")
    assert tuple(table) == (*own, "confirmed.latency", "confirmed.energy", "confirmed.reason")
    assert {len(column) for column in table.values()} == {300}
    assert np.asarray(table["array.rows"]).dtype == np.int64
    assert np.asarray(table["planner.cascading"]).dtype == np.bool_
    assert list(table["reason"]) == list(made.outcomes.reasons)
    assert np.flatnonzero(~np.isnan(table["confirmed.energy"])).tolist() == sorted(made.confirmed)


def test_names_that_are_taken_have_their_kind_before_them() -> None:
    made = plain([[1, 2]])
    odd = tuple(Objective(name, "s", made.objectives[0].measure) for name in ("reason", "number"))
    outcomes = Outcomes({"reason": np.array([1.0]), "number": np.array([2.0])}, ("",))
    table = columns(replace(made, objectives=odd, outcomes=outcomes))
    assert tuple(table) == ("number", "clock_hz", "reason", "objective.number", "front", "point.reason")


@EXPLORATIONS
def test_json_has_every_value_and_null_for_what_is_no_number(made: Exploration) -> None:
    data = json.loads(made.to_json(), parse_constant=pytest.fail)
    assert data["points"] == len(made)
    assert Space.from_dict(data["space"]) == made.space
    assert [one["name"] for one in data["objectives"]] == [one.name for one in made.objectives]
    for name, values in made.fields.items():
        assert data["columns"][name] == list(values)
    for name, column in made.outcomes.columns.items():
        expected = [value if np.isfinite(value) else None for value in column.tolist()]
        assert data["columns"][name] == expected
    assert data["columns"]["reason"] == list(made.reason_of)
    assert data["columns"]["front"] == made.on_front.tolist()


@EXPLORATIONS
def test_csv_has_every_value(made: Exploration) -> None:
    rows = list(csv.DictReader(io.StringIO(made.to_csv())))
    assert [int(row["number"]) for row in rows] == list(range(len(made)))
    for name, column in made.outcomes.columns.items():
        same([float(row[name] or "nan") for row in rows], column.tolist())
    assert [row["reason"] for row in rows] == list(made.reason_of)
    for name, values in made.fields.items():
        texts = [row[name] for row in rows]
        kinds = {type(value) for value in values}
        if kinds <= {int, float}:
            assert [float(text) for text in texts] == list(values)
        elif kinds == {dict}:
            assert [json.loads(text) for text in texts] == list(values)
        else:
            assert texts == ["null" if value is None else str(value) for value in values]


@EXPLORATIONS
def test_parquet_has_every_value(made: Exploration, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="pip install 'tosajit[table]'")
    made.to_parquet(tmp_path / "it.parquet")
    table = parquet.read_table(tmp_path / "it.parquet")
    expected = columns(made)
    assert table.column_names == list(expected)
    for name, values in expected.items():
        found = table[name].to_pylist()
        if any(isinstance(value, dict) for value in values):
            found = [json.loads(text) for text in found]
        same(found, list(values))
    about = json.loads(table.schema.metadata[b"exploration"])
    assert Space.from_dict(about["space"]) == made.space


@EXPLORATIONS
def test_data_frames_have_every_value(made: Exploration) -> None:
    pytest.importorskip("pandas", reason="pip install 'tosajit[table]'")
    frame = made.to_pandas()
    expected = columns(made)
    assert frame.index.name == "number"
    assert list(frame.columns) == list(expected)[1:]
    for name in frame.columns:
        for one, other in zip(frame[name].tolist(), expected[name], strict=True):
            missing = other is None or (isinstance(other, float) and isnan(other))
            assert (one is None or one != one) if missing else one == other


@pytest.mark.parametrize("form", ["csv", "json", "html"])
def test_files_have_the_text_that_is_returned(form: str, tmp_path: Path) -> None:
    path = tmp_path / f"it.{form}"
    path.write_text("old")
    text = getattr(mixed(), f"to_{form}")(path)
    assert path.read_text(encoding="utf-8") == text
    assert [one.name for one in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("form", ["csv", "json", "html", "parquet"])
def test_files_that_cannot_be_written_are_named(form: str, tmp_path: Path) -> None:
    with pytest.raises(ExplorationError, match="nowhere/it: No such file or directory"):
        getattr(exploration(5), f"to_{form}")(tmp_path / "nowhere" / "it")
    with pytest.raises(ExplorationError, match="null"):
        getattr(exploration(5), f"to_{form}")("a\0b")


def test_what_is_missing_is_asked_for() -> None:
    code = (
        "import sys; sys.modules['pandas'] = sys.modules['pyarrow'] = None\n"
        "from tests.sim.explore.results import plain\nmade = plain([[1, 2]]); made.to_csv(), made.to_json()\n"
        "for call in (made.to_pandas, lambda: made.to_parquet('x')):\n"
        "    try: call()\n    except ValueError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True)
    assert done.stdout == (
        "a data frame needs pandas: pip install 'tosajit[table]'\n"
        "Parquet needs pyarrow: pip install 'tosajit[table]'\n"
    )


def test_an_exploration_needs_no_pandas_and_no_matplotlib_to_be_shown() -> None:
    code = (
        "import sys; from tests.sim.explore.results import exploration\n"
        "made = exploration(20); str(made), made.to_csv(), made.to_json(), made.to_html()\n"
        "print([name for name in ('pandas', 'pyarrow', 'matplotlib') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True)
    assert done.stdout == "[]\n"
