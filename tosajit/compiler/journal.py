"""A record of what the stages have made, for those who want to look: in Python, or in files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from types import MappingProxyType
from typing import Any

from tiling.records import dataclass
from tosajit.compiler.dump import Dump
from tosajit.compiler.text import text_of
from tosajit.graph import Graph


@dataclass(frozen=True, slots=True)
class Made:
    """What one stage has made: a value for each part of the graph, by name, in the order of the pipeline."""

    stage: str
    summary: str
    values: Mapping[str, Any]

    def __str__(self) -> str:
        return "\n\n".join([f"{self.stage}: {self.summary}", *map(text_of, self.values.values())])

    def __repr__(self) -> str:
        return f"<Made by {self.stage}: {', '.join(self.values)}>"

    def _repr_html_(self) -> str:
        from html import escape

        return f"<pre>{escape(str(self))}</pre>"


@dataclass(frozen=True, slots=True)
class Journal(Mapping[str, Made]):
    """What each stage has made, by its name; with a dump, as files too, as soon as it is there."""

    made: dict[str, Made] = field(default_factory=dict)
    dump: Dump | None = None

    def note(self, stage: str, summary: str, value: Any) -> None:
        """Keep what a stage has made of the graph or of a part of it."""
        before = self.made[stage].values if stage in self.made else {}
        name = "graph" if isinstance(value, Graph) else value.name
        made = self.made[stage] = Made(stage, summary, MappingProxyType({**before, name: value}))
        if self.dump is not None and stage in self.dump.stages:
            self.dump.write(stage, text_of(value) if before else str(made))

    def amend(self, stage: str, value: Any) -> None:
        """Keep what has taken the place of what a stage had made."""
        made = self.made[stage]
        values = MappingProxyType({**made.values, value.name: value})
        self.made[stage] = Made(stage, made.summary, values)

    def __getitem__(self, stage: str) -> Made:
        if stage not in self.made:
            raise KeyError(f"no stage {stage!r} ran; the stages were {', '.join(self.made)}")
        return self.made[stage]

    def __iter__(self) -> Iterator[str]:
        return iter(self.made)

    def __len__(self) -> int:
        return len(self.made)

    def __repr__(self) -> str:
        return f"<stages {', '.join(self.made)}>"
