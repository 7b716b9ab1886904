"""Tables as CSV, which people open in spreadsheets."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from typing import Any

_END = "\r\n"
"""Makes the writer quote cells with either of these."""
_FORMULA = frozenset("=+-@\t\r\n＝＋－＠")
"""What a cell begins with that a spreadsheet takes for a formula, also behind what it skips."""


def csv_text(rows: Iterable[Iterable[Any]]) -> str:
    """A line for each row. Text that a spreadsheet would run gets an apostrophe; numbers stay numbers."""
    return "".join(map(_line, rows))


def _line(row: Iterable[Any]) -> str:
    file = io.StringIO()
    csv.writer(file, lineterminator=_END).writerow(map(_cell, row))
    return file.getvalue().removesuffix(_END) + "\n"


def _cell(cell: Any) -> Any:
    return f"'{cell}" if isinstance(cell, str) and cell[:1] in _FORMULA and not _is_number(cell) else cell


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return text.isprintable()
