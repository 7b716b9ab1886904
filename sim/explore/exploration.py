"""Explorations: what came of one, shown, drawn and written."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sim.explore.explored import Explored

if TYPE_CHECKING:
    from sim.explore.plots import Plots


@dataclass(frozen=True, repr=False, eq=False)
class Exploration(Explored):
    """The points of an exploration, in the order in which the strategy chose them.

    Infeasible points are included, with the reason. A point is on the Pareto front if no other is at least as
    good in all objectives and better in one; equal points are all on it. Points are ranked by the figures of
    the exploration; `differences` compares these with the event simulator.
    """

    def __repr__(self) -> str:
        from sim.explore.summary import exploration_line

        return f"<Exploration: {exploration_line(self)}>"

    def __str__(self) -> str:
        from sim.explore.summary import exploration_text

        return exploration_text(self)

    def _repr_html_(self) -> str:
        from sim.explore.summary import exploration_html

        return exploration_html(self)

    @property
    def plot(self) -> Plots:
        """Plots of the exploration; they need matplotlib."""
        from sim.explore.plots import Plots

        return Plots(self)

    # To files.

    def to_pandas(self) -> Any:
        """A table of all points; needs pandas."""
        from sim.explore.exports import to_pandas

        return to_pandas(self)

    def to_parquet(self, path: str | Path) -> None:
        """Write a table of all points as Parquet; needs pyarrow."""
        from sim.explore.exports import to_parquet

        to_parquet(self, path)

    def to_csv(self, path: str | Path | None = None) -> str:
        """A table of all points as CSV, also written to a file if one is named."""
        from sim.explore.exports import to_csv, written

        return written(to_csv(self), path)

    def to_json(self, path: str | Path | None = None) -> str:
        """Everything as JSON, also written to a file if one is named."""
        from sim.explore.exports import to_json, written

        return written(to_json(self), path)

    def to_html(self, path: str | Path | None = None) -> str:
        """A self-contained HTML page, also written to a file if one is named."""
        from sim.explore.exports import written
        from sim.explore.page import to_html

        return written(to_html(self), path)
