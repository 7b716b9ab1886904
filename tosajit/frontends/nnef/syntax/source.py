"""The text of a module, places in it, and what is wrong there."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field

from tosajit.errors import Fault, ScriptError

MOST_FAULTS = 50
"""After so many faults a text is read no further."""

_WIDEST = 160
"""How much of a source line is shown."""


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a text: from an offset to another."""

    start: int
    stop: int


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """A module: its name, as messages call it, and its text."""

    name: str
    text: str
    _lines: list[int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        starts = [0] + [place + 1 for place, letter in enumerate(self.text) if letter == "\n"]
        object.__setattr__(self, "_lines", starts)

    def fault(self, span: Span, message: str, section: str = "2.16", remedy: str = "") -> Fault:
        """What is wrong at a place."""
        row = bisect_right(self._lines, span.start) - 1
        start = self._lines[row]
        stop = self._lines[row + 1] - 1 if row + 1 < len(self._lines) else len(self.text)
        column = span.start - start
        first = max(0, column - _WIDEST // 2)
        line = self.text[start:stop].rstrip("\r")[first : first + _WIDEST]
        width = max(1, min(span.stop, stop) - span.start)
        return Fault(self.name, row + 1, column + 1, message, section, remedy, line, column - first, width)


class Faults:
    """The faults of a text, collected while the rest of it is read."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.found: list[Fault] = []

    def add(self, span: Span, message: str, section: str = "2.16", remedy: str = "") -> None:
        """Note a fault, the first at its place; `ScriptError` when there are too many."""
        fault = self.source.fault(span, message, section, remedy)
        if any((one.line, one.column) == (fault.line, fault.column) for one in self.found):
            return
        self.found.append(fault)
        if len(self.found) >= MOST_FAULTS:
            self.settle()

    def settle(self) -> None:
        """Raise `ScriptError` with all faults, if there are any."""
        if self.found:
            raise ScriptError(self.found)
