"""A figure: what is predicted, what it is held against, and how far it may be off."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Relation = Literal["exact", "within", "at most", "at least"]


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of a table. Without a `bound` it is shown, not judged; without a prediction, it is missing."""

    case: str
    predicted: float | None
    reference: float
    unit: str = "cycles"
    relation: Relation = "within"
    bound: float | None = None
    """Relative: 0.1 for 10 %."""
    note: str = ""
    network: str = ""
    """What kind of network it is of; nothing keeps it out of the table of kinds."""
    machine: str = ""
    """What kind of machine."""
    more: tuple[str, ...] = ()
    """Cells behind the others."""

    @property
    def ratio(self) -> float | None:
        """Predicted of reference."""
        if self.predicted is None:
            return None
        if self.reference == 0:
            return 1.0 if self.predicted == 0 else float("inf")
        return self.predicted / self.reference

    @property
    def met(self) -> bool | None:
        """Whether the bound is kept; None where nothing is asked or nothing could be predicted."""
        if self.predicted is None or self.ratio is None:
            return None
        match self.relation:
            case "exact":
                return self.predicted == self.reference
            case "at most":
                return self.predicted <= self.reference * (1 + (self.bound or 0))
            case "at least":
                return self.predicted >= self.reference
            case _:
                return None if self.bound is None else abs(self.ratio - 1) <= self.bound

    @property
    def off(self) -> float | None:
        """How far it is off, of the reference; None where nothing could be predicted, or a limit is asked."""
        return None if self.ratio is None or self.relation.startswith("at ") else abs(self.ratio - 1)

    @property
    def mark(self) -> str:
        """The last cell."""
        if self.predicted is None:
            return "not predicted"
        return {True: "✓", False: "**miss**", None: ""}[self.met]


@dataclass(frozen=True, slots=True)
class Explanation:
    """What is known of why figures miss: cases that a pattern finds."""

    pattern: str
    text: str

    def explains(self, figure: Figure) -> bool:
        """Whether it is about this figure."""
        return re.search(self.pattern, figure.case) is not None


@dataclass(frozen=True, slots=True)
class Table:
    """Figures under a heading, with what has to be said about them."""

    title: str
    text: str
    figures: tuple[Figure, ...]
    columns: tuple[str, str, str] = ("case", "predicted", "reference")
    picture: str = ""
    """Name of the picture below it."""
    explanations: tuple[Explanation, ...] = ()
    fitted: str = "nothing"
    """What was chosen so that these figures fit."""
    judged: bool = True
    """Whether its figures are ours, and count."""
    more: tuple[str, ...] = ()
    """Columns behind the others, which figures have cells for."""

    @property
    def known(self) -> list[tuple[Figure, str]]:
        """The figures that miss, each with what is known."""
        missed = [figure for figure in self.figures if figure.met is False]
        return [(figure, self._cause(figure)) for figure in missed]

    def _cause(self, figure: Figure) -> str:
        found = [" ".join(e.text.split()) for e in self.explanations if e.explains(figure)]
        return " ".join(found) or "Not explained yet."


def closing(tables: Sequence[Table]) -> str:
    """One line that sums up."""
    figures = [figure for table in tables if table.judged for figure in table.figures]
    asked = [figure for figure in figures if figure.met is not None]
    met = sum(figure.met is True for figure in asked)
    missing = sum(figure.predicted is None for figure in figures)
    text = f"validate: {met:,} of {len(asked):,} figures within their bounds"
    return f"{text}, {missing:,} not predicted" if missing else text
