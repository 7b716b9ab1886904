"""Numbers, fields and defaults are those of TFLite's schema, as LiteRT's Python package declares them.

`data/tflite_schema.txt` lists the tables of both unions with their fields and defaults, and enumerations.
"""

from __future__ import annotations

from enum import IntEnum
from pathlib import Path
from typing import Any

import pytest

from tosajit.frontends.tflite import fields, schema
from tosajit.frontends.tflite.fields import Options
from tosajit.frontends.tflite.options import OPTIONS, OPTIONS_2

ROWS = [
    row.split() for row in (Path(__file__).parent / "data" / "tflite_schema.txt").read_text().splitlines()
]
TABLES = {(int(row[1]), int(row[2])): row[4:] for row in ROWS if row[0] == "options"}
OURS = {
    (union, number): kind for union, known in ((1, OPTIONS), (2, OPTIONS_2)) for number, kind in known.items()
}
ENUMERATIONS: dict[str, type[IntEnum]] = {
    "Type": schema.Type, "Padding": fields.Padding, "Activation": fields.Activation,
    "MirrorPadMode": fields.MirrorPadMode, "LSTMKernel": fields.LSTMKernel,
    "WeightsFormat": fields.WeightsFormat, "Combiner": fields.Combiner,
    "ReduceFunction": fields.ReduceFunction,
}  # fmt: skip


def shown(value: Any) -> str:
    """A default as the list has it: vectors and texts have none."""
    if isinstance(value, tuple | str):
        return "none"
    return repr(int(value) if isinstance(value, IntEnum) else value)


@pytest.mark.parametrize(
    ("place", "kind"), list(OURS.items()), ids=[f"{place} {kind.__name__}" for place, kind in OURS.items()]
)
def test_tables_have_the_fields_and_defaults_of_the_schema(
    place: tuple[int, int], kind: type[Options]
) -> None:
    known = [name for name in kind.names() if name[0] != "_"]  # what is deprecated has no name
    ours = [f"{name}={shown(getattr(kind, name))}" for name in known]
    assert ours == TABLES[place][: len(ours)]


@pytest.mark.parametrize("row", [row for row in ROWS if row[0] == "enumeration"], ids=lambda row: str(row[1]))
def test_enumerations_have_the_numbers_of_the_schema(row: list[str]) -> None:
    assert [f"{one.name}={one.value}" for one in ENUMERATIONS[row[1]]] == row[2:]
