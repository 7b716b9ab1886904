"""Explorations as tables and files: every point, those that cannot be with their reason."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sim.explore.errors import ExplorationError
from sim.files import write_whole
from sim.tables import csv_text

if TYPE_CHECKING:
    from sim.explore.explored import Explored

FORMAT, VERSION = "tosajit exploration", 1

Column = Sequence[Any] | NDArray[Any]
"""A NumPy array, or plain values that have no common type."""


def columns(exploration: Explored) -> dict[str, Column]:
    """A value for each point: its number, fields, objectives and other figures, and what was confirmed."""
    count = len(exploration)
    table: dict[str, Column] = {"number": np.arange(count)}
    parts: list[tuple[str, Iterable[tuple[str, Column]]]] = [
        ("field", ((name, _typed(values)) for name, values in exploration.fields.items())),
        ("objective", exploration.outcomes.columns.items()),
        ("point", (("front", exploration.on_front), ("reason", list(exploration.reason_of)))),
    ]
    for kind, part in parts:
        for name, values in part:
            table[f"{kind}.{name}" if name in table else name] = values
    if exploration.confirmed:
        table |= {f"confirmed.{name}": values for name, values in _confirmed(exploration)}
    return table


def to_pandas(exploration: Explored) -> Any:
    """A data frame with the number of a point as its index."""
    try:
        import pandas
    except ImportError:
        raise ExplorationError("a data frame needs pandas: pip install 'tosajit[table]'") from None
    return pandas.DataFrame(columns(exploration)).set_index("number")


def to_parquet(exploration: Explored, path: str | Path) -> None:
    """Write a Parquet file; what is not a column is JSON in its metadata, under `exploration`."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise ExplorationError("Parquet needs pyarrow: pip install 'tosajit[table]'") from None
    made = {name: _text_of_parts(values) for name, values in columns(exploration).items()}
    table = pyarrow.table(made).replace_schema_metadata({"exploration": _json(about(exploration))})
    file = io.BytesIO()
    parquet.write_table(table, file)
    _write(path, file.getvalue())


def to_csv(exploration: Explored) -> str:
    """A line for each point; nothing for numbers that are not known, JSON for values that are parts."""
    table = columns(exploration)
    return csv_text(chain([table], zip(*(_cells(values) for values in table.values()), strict=True)))


def to_json(exploration: Explored) -> str:
    """The columns, the space, the objectives and how it was explored; null for what is no finite number."""
    data = about(exploration)
    lines = [f"{json.dumps(name)}: {_json(value)}" for name, value in data.items()]
    rows = ",\n ".join(
        f"{json.dumps(name)}: {_json(list(_plain(values)))}" for name, values in columns(exploration).items()
    )
    return "{" + ",\n".join([*lines, f'"columns": {{\n {rows}\n}}']) + "}\n"


def about(exploration: Explored) -> dict[str, Any]:
    """All that is not of one point."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "space": exploration.space.to_dict(),
        "objectives": [
            {"name": one.name, "unit": one.unit, "goal": one.goal} for one in exploration.objectives
        ],
        "settings": dict(exploration.settings),
        "finished": exploration.finished,
        "seconds": exploration.seconds,
        "points": len(exploration),
    }


def written(text: str, path: str | Path | None) -> str:
    """A text, also written to a file if one is named."""
    if path is not None:
        _write(path, text.encode("utf-8", "backslashreplace"))
    return text


def _write(path: str | Path, data: bytes) -> None:
    try:
        write_whole(path, data)
    except OSError as error:
        raise ExplorationError(f"{path}: {error.strerror or error}") from error
    except ValueError as error:  # a path with a zero byte
        raise ExplorationError(f"{path!r}: {error}") from None


def _typed(values: Sequence[Any]) -> Column:
    """As an array, if all values are truth values, whole numbers or numbers."""
    kinds = set(map(type, values))
    for kinds_of, made in (
        (({bool},), np.bool_),
        (({int},), np.int64),
        (({float}, {int, float}), np.float64),
    ):
        if kinds in kinds_of:
            try:
                return np.array(values, made)
            except OverflowError:  # beyond 64 bits
                return list(values)
    return list(values)


def _confirmed(exploration: Explored) -> Iterator[tuple[str, Column]]:
    """The event simulator's figures; nan for points that it was not asked for."""
    for objective in exploration.objectives:
        values = np.full(len(exploration), np.nan)
        for number, one in exploration.confirmed.items():
            values[number] = one.columns[objective.name][0]
        yield objective.name, values
    reasons = [""] * len(exploration)
    for number, one in exploration.confirmed.items():
        reasons[number] = one.reasons[0]
    yield "reason", reasons


def _plain(values: Column) -> Iterator[Any]:
    """Values as JSON has them."""
    for value in values.tolist() if isinstance(values, np.ndarray) else values:
        yield None if isinstance(value, float) and not isfinite(value) else value


def _cells(values: Column) -> Iterator[Any]:
    if isinstance(values, np.ndarray) and values.dtype.kind == "f":
        return ("" if value != value else value for value in values.tolist())
    if isinstance(values, np.ndarray):
        return iter(values.tolist())
    return (value if isinstance(value, str | bool | int | float) else _json(value) for value in values)


def _text_of_parts(values: Column) -> Column:
    """Columns of one type each: values of several types, and parts, as JSON."""
    if isinstance(values, np.ndarray) or all(isinstance(value, str) for value in values):
        return values
    numbers = {type(value) for value in values} <= {int, float, type(None)}
    return values if numbers else [_json(value) for value in values]


def _json(value: Any) -> str:
    return json.dumps(value, allow_nan=False)
