"""Stores: what is read is what was written, and nothing but an error comes of what is not ours."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sim.explore.errors import StoreError
from sim.explore.explore import explore
from sim.explore.store import FILE, Store, candidate_text, differences
from sim.explore.work import Outcomes
from sim.explore.workers import Here
from tests.sim.explore.works import question

NUMBERS = st.floats(width=64)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The bytes of a store with points, all in one file."""
    folder = tmp_path_factory.mktemp("sound")
    explore(question(points=64, confirm=2), Here(), folder)
    with sqlite3.connect(folder / FILE) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
    connection.close()
    return (folder / FILE).read_bytes()


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A store that is written again and again."""
    made = Store.open(tmp_path_factory.mktemp("store"), {}, "ab")
    yield made
    made.close()


@given(
    st.lists(st.tuples(NUMBERS, NUMBERS, st.text())), st.lists(st.one_of(st.text(), st.booleans(), NUMBERS))
)
def test_what_is_read_is_what_was_written(
    store: Store, rows: list[tuple[float, float, str]], values: list[object]
) -> None:
    first = max(store.read().figures, default=0) + 2
    columns = {name: np.array([row[place] for row in rows], np.float64) for place, name in enumerate("ab")}
    written = Outcomes(columns, tuple(row[2] for row in rows))
    store.write(first, [candidate_text(tuple(values))] * len(rows), written)
    known, numbers = store.read(), range(first, first + len(rows))
    assert known.has(numbers)
    assert not known.has(range(first - 1, first + len(rows)))
    assert {known.candidates[number] for number in numbers} <= {candidate_text(tuple(values))}
    read = known.outcomes("ab", numbers)
    assert read.reasons == written.reasons
    assert read.matrix("ab").tobytes() == written.matrix("ab").tobytes()


@given(
    st.recursive(st.none() | st.booleans() | st.integers() | NUMBERS | st.text(), st.lists).map(
        lambda v: (v, v)
    )
)
def test_a_candidate_is_kept_as_json(candidate: tuple[object, object]) -> None:
    assert candidate_text(candidate) == json.dumps(candidate, separators=(",", ":"), ensure_ascii=False)


def test_points_that_come_together_are_kept_together_or_not_at_all(tmp_path: Path) -> None:
    store = Store.open(tmp_path, {}, "a")
    try:
        with pytest.raises(ValueError, match="argument"):
            store.write(0, ["[]"], Outcomes({"a": np.zeros(2)}, ("", "")))
        assert not store.read().figures
    finally:
        store.close()


def test_a_store_may_be_read_while_it_is_written(tmp_path: Path) -> None:
    store = Store.open(tmp_path, {"seed": 5}, "a")
    store.write(0, ["[]"], Outcomes({"a": np.ones(1)}, ("",)))
    other = Store.reading(tmp_path)
    assert other.about["seed"] == 5
    assert len(other.read().figures) == 1
    store.write(1, ["[]"], Outcomes({"a": np.ones(1)}, ("",)))
    assert len(other.read().figures) == 2
    other.close()
    store.close()


def test_there_must_be_a_store_to_be_read(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no exploration is stored there"):
        Store.reading(tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("data", [b"hello, I am a text\n" * 99, b"SQLite format 3\0 and nothing more"])
def test_files_that_are_no_database_are_refused_and_stay_as_they_are(tmp_path: Path, data: bytes) -> None:
    (tmp_path / FILE).write_bytes(data)
    with pytest.raises(StoreError, match="damaged, or not the store"):
        explore(question(), Here(), tmp_path)
    assert (tmp_path / FILE).read_bytes() == data


def test_databases_of_others_are_refused_and_stay_as_they_are(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / FILE) as connection:
        connection.execute("CREATE TABLE points (number)")
    connection.close()
    data = (tmp_path / FILE).read_bytes()
    with pytest.raises(StoreError, match="but not the store of an exploration"):
        explore(question(), Here(), tmp_path)
    assert (tmp_path / FILE).read_bytes() == data


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ("PRAGMA user_version = 99", "format 99, but this version reads 1"),
        ("UPDATE points SET figures = x'00' WHERE number = 5", "point 5 is damaged"),
        ("UPDATE points SET candidate = x'00' WHERE number = 6", "point 6 is damaged"),
        ("UPDATE points SET number = -5 WHERE number = 5", "point -5 is damaged"),
        ("UPDATE confirmed SET figures = 7", "confirmed point .* is damaged"),
        ("UPDATE about SET value = '{' WHERE key = 'seed'", "seed is not JSON"),
        ("UPDATE about SET value = '[[' || value WHERE key = 'seed'", "seed is not JSON"),
        ("DELETE FROM about WHERE key = 'columns'", "columns: the store has nothing"),
        ("DROP TABLE points", "lacks what CREATE TABLE points .* makes"),
        ("UPDATE points SET candidate = '[1, 2]' WHERE number = 5", r"point 5 is \[1, 2\], but random asks"),
    ],
)
def test_damage_is_named(sound: bytes, tmp_path: Path, change: str, text: str) -> None:
    file = tmp_path / FILE
    file.write_bytes(sound)
    with sqlite3.connect(file) as connection:
        connection.execute(change)
    connection.close()
    with pytest.raises(StoreError, match=text):
        explore(question(points=64, confirm=2), Here(), tmp_path)


ENDLESS = "WITH RECURSIVE rows(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM rows)"


@pytest.mark.parametrize(
    "change",
    [
        f"DROP TABLE points; CREATE VIEW points AS {ENDLESS} SELECT n, '[]', zeroblob(8), '' FROM rows",
        "DROP TABLE points; CREATE TABLE points (number TEXT, candidate, figures, reason)",
        "DROP TABLE about; CREATE TABLE about (key, value AS (zeroblob(900000000)))",
        f"CREATE TRIGGER more AFTER INSERT ON confirmed BEGIN INSERT INTO points {ENDLESS} "
        "SELECT n, '[]', zeroblob(8), '' FROM rows; END",
    ],
    ids=["view", "types", "generated", "trigger"],
)
def test_a_store_has_its_own_tables_and_nothing_else(sound: bytes, tmp_path: Path, change: str) -> None:
    file = tmp_path / FILE
    file.write_bytes(sound)
    with sqlite3.connect(file) as connection:
        connection.executescript(change)
    connection.close()
    for use in (Store.reading, lambda path: explore(question(points=64, confirm=2), Here(), path)):
        with pytest.raises(StoreError, match="holds what is not of a store: CREATE"):
            use(tmp_path)


@given(st.data())
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_bytes_that_are_changed_or_missing_end_in_an_error_of_ours_at_most(
    sound: bytes, tmp_path: Path, data: st.DataObject
) -> None:
    damaged = bytearray(sound[: data.draw(st.integers(0, len(sound)))])
    for _ in range(data.draw(st.integers(0, 20))):
        if damaged:
            damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    for left in tmp_path.iterdir():
        left.unlink()
    (tmp_path / FILE).write_bytes(bytes(damaged))
    try:
        explore(question(points=64, confirm=2), Here(), tmp_path)
    except StoreError as error:
        assert FILE in str(error)  # noqa: PT017


def test_differences_are_named_by_path() -> None:
    old = {"a": {"b": [1, 2], "c": 1}, "d": [{"e": 1}, {"e": 2}]}
    new = {"a": {"b": [1, 3], "c": 1}, "d": [{"e": 1}, {"e": 5}], "f": None}
    assert list(differences(old, old, "")) == []
    assert list(differences(old, new, "")) == [
        "a.b: the store has [1, 2], this exploration [1, 3]",
        "d[1].e: the store has 2, this exploration 5",
    ]
