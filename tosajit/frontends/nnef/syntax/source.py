"""The text of a module, places in it, and what is wrong there."""

from __future__ import annotations

from dataclasses import dataclass

from tosajit.errors import Fault, ScriptError
from tosajit.frontends.text import fault_at

MOST_FAULTS = 50
"""After so many faults a text is read no further."""


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

    def fault(self, span: Span, message: str, section: str = "2.16", remedy: str = "") -> Fault:
        """What is wrong at a place."""
        return fault_at(self.name, self.text, span.start, span.stop, message, remedy, section)


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
