"""Places in texts, as messages show them: with the line, and a caret below it."""

from __future__ import annotations

from tosajit.errors import Fault

_WIDEST = 160
"""How much of a line is shown."""


def fault_at(
    name: str, text: str, start: int, stop: int, message: str, remedy: str = "", section: str = ""
) -> Fault:
    """What is wrong from an offset of a text to another; `name` is that of the text."""
    row = text.count("\n", 0, start)
    first = text.rfind("\n", 0, start) + 1
    last = text.find("\n", start)
    last = len(text) if last < 0 else last
    column = start - first
    shown = first + max(0, column - _WIDEST // 2)
    line = text[shown : min(last, shown + _WIDEST)].rstrip("\r")
    width = max(1, min(stop, last) - start)
    return Fault(name, row + 1, column + 1, message, section, remedy, line, start - shown, width)
