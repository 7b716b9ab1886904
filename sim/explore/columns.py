"""The figures of candidates as columns, by the names that expressions use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from sim.explore.area import column, macs
from sim.explore.candidates import Candidate
from sim.explore.expression import ABSENT, NOTHING, Column, Symbol
from sim.explore.fields import Fields
from sim.explore.varied import Varied

MISSING = object()


def symbols(fields: Fields, bases: Sequence[str], varied: Sequence[str]) -> dict[str, Symbol]:
    """All names: of fields by path, the same with _ for dots, and derived ones."""
    found: dict[str, Symbol] = {}
    for path in dict.fromkeys((*fields.known(), *varied)):
        symbol = fields.symbol(path)
        if symbol:
            found[path] = symbol
            found.setdefault(path.replace(".", "_"), symbol)
    for name in ("rows", "columns"):
        if f"array.{name}" in found:
            found[name] = found[f"array.{name}"]
    base = {"base": Symbol("text", "base", tuple(bases))} if "base" in varied else {}
    return found | base | {"macs": Symbol("number"), "area": Symbol("number")}


class Columns(Mapping[str, Column]):
    """Columns by name, made when they are asked for."""

    def __init__(self, space: Varied, candidates: Sequence[Candidate]) -> None:
        self.space = space
        self.varied = dict(zip(space.names, zip(*candidates, strict=True), strict=True))
        self.made: dict[str, Column] = {}

    def __getitem__(self, name: str) -> Column:
        if name not in self.made:
            self.made[name] = self._named(name)
        return self.made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.space.symbols)

    def __len__(self) -> int:
        return len(self.space.symbols)

    def _named(self, name: str) -> Column:
        if name == "macs":
            return macs(self._figures), np.zeros((), np.int8)
        if name == "area":
            return self.space.area.figures(self._figures), np.zeros((), np.int8)
        symbol = self.space.symbols[name]
        return _column(self._values(symbol.path), symbol)

    def _figures(self, path: str) -> NDArray[Any]:
        found = column(path, (None if one is MISSING else one for one in self._values(path)))
        return found if len(found) > 1 else found.reshape(())

    def _values(self, path: str) -> Sequence[Any]:
        """A value for each candidate, or one for all."""
        if path in self.varied:
            return self.varied[path]
        steps = path.split(".")
        for depth in range(len(steps) - 1, 0, -1):
            part = ".".join(steps[:depth])
            if part in self.varied:
                return [_inside(one, steps[depth:]) for one in self.varied[part]]
        known = {one.name: _inside(one, steps) for one in self.space.bases}
        if "base" in self.varied:
            return [known[name] for name in self.varied["base"]]
        return list(known.values())


def _inside(found: Any, steps: Sequence[str]) -> Any:
    """What a part, or a dictionary of one, has at a path."""
    for step in steps:
        if isinstance(found, BaseModel):
            found = getattr(found, step, MISSING)
        else:
            found = found.get(step, MISSING) if isinstance(found, dict) else MISSING
    return found


def _column(values: Sequence[Any], symbol: Symbol) -> Column:
    """Values of a kind; without a bound is infinite, and what is not there has a trouble."""
    if symbol.kind == "number":
        numbers = np.array([np.nan if v is MISSING else np.inf if v is None else v for v in values], float)
        found, trouble = numbers, np.where(np.isnan(numbers), ABSENT, NOTHING)
    else:
        blank = "" if symbol.kind == "text" else False
        found = np.array([blank if v is MISSING or v is None else v for v in values])
        trouble = np.array([ABSENT if v is MISSING or v is None else NOTHING for v in values])
    trouble = trouble.astype(np.int8)
    return (found[0], trouble[0]) if len(values) == 1 else (found, trouble)
