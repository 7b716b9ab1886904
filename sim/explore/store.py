"""What an exploration has found, in a SQLite file that survives the end of the process.

Only the process that explores writes, a chunk of points in one transaction; others may read at any time.
"""

from __future__ import annotations

import json
import os
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import inf, isfinite
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from sim.explore.candidates import Candidate
from sim.explore.errors import StoreError
from sim.explore.work import Outcomes
from sim.files import destination
from tiling.words import plain

Result = TypeVar("Result")

FILE = "points.sqlite"
"""The store of a folder."""
FORMAT = 1
MARK = 0x746F7361
"""Of files that are ours: "tosa"."""
_ENCODER = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False)
BESIDE = ("-wal", "-shm", "-journal")
"""How SQLite's own files end."""
SILENCE = 1.0
"""Seconds of waiting for another process without a word."""
PATIENCE, USUAL_PATIENCE = "TOSAJIT_STORE_SECONDS", 10.0
"""The variable that says how long to wait in all, and what holds without it."""
SHOWN = 5
"""Differences that a refusal names."""

TABLES = (
    "CREATE TABLE about (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE points (number INTEGER PRIMARY KEY, candidate TEXT NOT NULL, figures BLOB NOT NULL, "
    "reason TEXT NOT NULL)",
    "CREATE TABLE confirmed (number INTEGER PRIMARY KEY, figures BLOB NOT NULL, reason TEXT NOT NULL)",
)


@dataclass
class Known:
    """Points of a store, by number; figures are rows in the order of the store's columns."""

    candidates: dict[int, str] = field(default_factory=dict)
    """As the text of the file."""
    figures: dict[int, bytes] = field(default_factory=dict)
    reasons: dict[int, str] = field(default_factory=dict)

    def has(self, numbers: range) -> bool:
        """Whether all of the points are there."""
        return all(number in self.figures for number in numbers)

    def outcomes(self, names: Sequence[str], numbers: range) -> Outcomes:
        """What is known of points that are all there; they are not needed again."""
        rows = b"".join(self.figures.pop(number) for number in numbers)
        table = np.frombuffer(rows, "<f8").reshape(len(numbers), len(names)).astype(np.float64)
        columns = {name: table[:, place].copy() for place, name in enumerate(names)}
        return Outcomes(columns, tuple(self.reasons.pop(number) for number in numbers))


class Store:
    """A file of points; `about` says what they are points of."""

    def __init__(self, path: Path, connection: sqlite3.Connection, names: Sequence[str]) -> None:
        self.path, self.names = path, tuple(names)
        self._connection = connection

    @staticmethod
    def at(path: str | Path) -> Path:
        """The file of a store: the one of a folder, or the file itself."""
        given = Path(path)
        return given if given.suffix and not given.is_dir() else given / FILE

    @classmethod
    def open(cls, path: str | Path, about: Mapping[str, Any], names: Sequence[str]) -> Store:
        """The store of a file, new or to be continued; one of something else is refused."""
        file = cls.at(path)
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"{file.parent}: {error.strerror}; use another folder") from None
        with _clear(file), _closed_on_error(_connect(file)) as connection:
            store = cls(file, connection, names)
            patiently(file, lambda: _check(connection, file, new=True))
            patiently(file, lambda: connection.execute("PRAGMA journal_mode = WAL"))
            connection.execute("PRAGMA synchronous = NORMAL")
            with store._writing():
                store._begin({**about, "columns": list(names)})
        return store

    @classmethod
    def reading(cls, path: str | Path) -> Store:
        """The store of a file that is there, whatever it is of."""
        file = cls.at(path)
        if not file.exists():
            raise StoreError(f"{file}: no exploration is stored there")
        with _clear(file), _closed_on_error(_connect(file)) as connection:
            patiently(file, lambda: _check(connection, file))
            about = _about(connection)
        return cls(file, connection, _texts(file, about.get("columns")))

    def _begin(self, about: Mapping[str, Any]) -> None:
        if _empty(self._connection):
            for table in TABLES:
                self._connection.execute(table)
            self._connection.execute(f"PRAGMA application_id = {MARK}")
            self._connection.execute(f"PRAGMA user_version = {FORMAT}")
            rows = [(key, _text(value)) for key, value in about.items()]
            self._connection.executemany("INSERT INTO about VALUES (?, ?)", rows)
            return
        known = _about(self._connection)
        found = [
            text for key in about for text in differences(known.get(key), json.loads(_text(about[key])), key)
        ]
        if found:
            more = f"\n  and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
            listed = "".join(f"\n  {text}" for text in found[:SHOWN])
            raise StoreError(
                f"{self.path} is the store of another exploration; use another folder, or undo these "
                f"differences:{listed}{more}"
            )

    @property
    def about(self) -> dict[str, Any]:
        """What the points are of."""
        with _clear(self.path):
            return _about(self._connection)

    def note(self, key: str, value: Any) -> None:
        """Keep something else about the exploration."""
        with self._writing():
            self._connection.execute("INSERT OR REPLACE INTO about VALUES (?, ?)", (key, _text(value)))

    def read(self) -> Known:
        """All points."""
        known, size = Known(), 8 * len(self.names)
        with _clear(self.path):
            for number, candidate, figures, reason in self._connection.execute("SELECT * FROM points"):
                sound = isinstance(candidate, str) and isinstance(reason, str) and isinstance(figures, bytes)
                if not sound or len(figures) != size or number < 0:
                    raise StoreError(f"{self.path}: point {number} is damaged; delete the file, or the point")
                known.candidates[number] = candidate
                known.figures[number] = figures
                known.reasons[number] = reason
        return known

    def write(self, first: int, candidates: Sequence[str], outcomes: Outcomes) -> None:
        """Keep points that follow one another; all of them are kept, or none."""
        figures = _rows(outcomes, self.names)
        rows = zip(range(first, first + len(candidates)), candidates, figures, outcomes.reasons, strict=True)
        with self._writing():
            self._connection.executemany("INSERT OR REPLACE INTO points VALUES (?, ?, ?, ?)", rows)

    def confirm(self, number: int, outcome: Outcomes) -> None:
        """Keep what the event simulator says of a point."""
        row = (number, _rows(outcome, self.names)[0], outcome.reasons[0])
        with self._writing():
            self._connection.execute("INSERT OR REPLACE INTO confirmed VALUES (?, ?, ?)", row)

    def confirmed(self) -> dict[int, Outcomes]:
        """What the event simulator has said."""
        known = Known()
        with _clear(self.path):
            for number, figures, reason in self._connection.execute("SELECT * FROM confirmed"):
                if not isinstance(figures, bytes) or len(figures) != 8 * len(self.names):
                    raise StoreError(f"{self.path}: confirmed point {number} is damaged; delete the file")
                known.figures[number], known.reasons[number] = figures, str(reason)
        return {n: known.outcomes(self.names, range(n, n + 1)) for n in sorted(known.figures)}

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """A transaction: all of it, or nothing."""
        with _clear(self.path), self._connection:
            patiently(self.path, lambda: self._connection.execute("BEGIN IMMEDIATE"))
            yield

    def close(self) -> None:
        """Close the file."""
        self._connection.close()


def candidate_text(candidate: Candidate) -> str:
    """A candidate as the store has it: a list in JSON."""
    return f"[{','.join(map(_value_text, candidate))}]"


def _value_text(value: Any) -> str:
    """A number is quickly said; all else takes longer."""
    kind = type(value)
    if kind is int or (kind is float and isfinite(value)):
        return repr(value)
    return _ENCODER.encode(value)


def differences(old: Any, new: Any, path: str) -> Iterator[str]:
    """Where two JSON values differ, by path."""
    if isinstance(old, dict) and isinstance(new, dict):
        for name in dict.fromkeys((*old, *new)):
            yield from differences(old.get(name), new.get(name), f"{path}.{name}" if path else name)
    elif (
        isinstance(old, list)
        and isinstance(new, list)
        and _tabular(old)
        and _tabular(new)
        and len(old) == len(new)
    ):
        for number, pair in enumerate(zip(old, new, strict=True)):
            yield from differences(*pair, f"{path}[{number}]")
    elif old != new:
        yield f"{path}: the store has {_short(old)}, this exploration {_short(new)}"


def _tabular(values: list[Any]) -> bool:
    return bool(values) and all(isinstance(one, dict) for one in values)


def _short(value: Any) -> str:
    text = "nothing" if value is None else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 200 else f"{text[:200]}…"


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _rows(outcomes: Outcomes, names: Sequence[str]) -> list[bytes]:
    data, size = outcomes.matrix(names).astype("<f8").tobytes(), 8 * len(names)
    return [data[low : low + size] for low in range(0, size * len(outcomes), size)]


def _connect(file: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(_place(file), timeout=SILENCE, isolation_level=None)
    with _closed_on_error(connection):
        connection.execute("PRAGMA trusted_schema = OFF")
    return connection


def _place(file: Path) -> Path:
    """Where the database is: no device or pipe, and no strange link, nor is what SQLite puts beside it."""
    try:
        place = destination(file)
        for one in BESIDE:
            beside = place.with_name(f"{place.name}{one}")
            if beside.is_symlink():
                raise StoreError(
                    f"{beside}: expected a file, found a link, which SQLite never makes: remove it"
                )
    except OSError as error:
        raise StoreError(f"{file}: {error.strerror}") from None
    return place


@contextmanager
def _closed_on_error(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    try:
        yield connection
    except BaseException:
        connection.close()
        raise


def patiently(file: Path, act: Callable[[], Result]) -> Result:
    """Do what needs the file. A process that holds it is waited for, which is told after a second."""
    seconds = _patience()
    end, told = time.monotonic() + seconds, False
    while True:
        try:
            return act()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                raise
        if time.monotonic() >= end:
            raise StoreError(
                f"{file}: another process has locked this store for more than {seconds:g} s; wait until it "
                f"ends, or use another store ({PATIENCE} sets how many seconds to wait)"
            )
        if not told:
            print(f"{file}: another process holds this store; waiting up to {seconds:g} s", file=sys.stderr)
            told = True


def _patience() -> float:
    """Seconds for which a store may be held by another process."""
    given = os.environ.get(PATIENCE, "")
    try:
        seconds = float(given or USUAL_PATIENCE)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < inf:
        raise StoreError(f"{PATIENCE} is {given!r}, but must be a number of seconds, such as 60")
    return seconds


def _empty(connection: sqlite3.Connection) -> bool:
    return not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]


def _check(connection: sqlite3.Connection, file: Path, new: bool = False) -> None:
    """Refuse files of others, and of other versions of this one; `new` ones may be empty."""
    if new and _empty(connection):
        return
    if connection.execute("PRAGMA application_id").fetchone()[0] != MARK:
        raise StoreError(f"{file} is a database, but not the store of an exploration; use another file")
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version != FORMAT:
        raise StoreError(
            f"{file} has format {version}, but this version reads {FORMAT}; start a new exploration elsewhere"
        )
    _check_tables(connection, file)


def _check_tables(connection: sqlite3.Connection, file: Path) -> None:
    """Refuse tables, views and triggers that are not ours: a view may have rows without end."""
    found = {sql for (sql,) in connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")}
    for strange in sorted(map(str, found.difference(TABLES))):
        raise StoreError(
            f"{file} holds what is not of a store: {plain(strange)}; start a new exploration elsewhere"
        )
    for missing in (table for table in TABLES if table not in found):
        raise StoreError(f"{file} is damaged: it lacks what {plain(missing)} makes; delete the file")


def _about(connection: sqlite3.Connection) -> dict[str, Any]:
    found = {}
    for key, value in connection.execute("SELECT key, value FROM about"):
        try:
            found[key] = json.loads(value)
        except (TypeError, ValueError, RecursionError):
            raise sqlite3.DatabaseError(f"{key} is not JSON") from None
    return found


def _texts(file: Path, value: Any) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise StoreError(f"{file} is damaged: it lacks the list of its columns")
    return value


@contextmanager
def _clear(file: Path) -> Iterator[None]:
    """Errors of the database with the file's name and what may help."""
    try:
        yield
    except sqlite3.OperationalError as error:
        raise StoreError(f"{file}: {error}; check that the folder is writable and not in use") from None
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        raise StoreError(f"{file} is damaged, or not the store of an exploration: {error}") from None
