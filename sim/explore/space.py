"""Spaces of machines: a base, what varies of it, and what must hold."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from sim.explore.area import AREA, Area
from sim.explore.candidates import Candidate
from sim.explore.columns import Columns, symbols
from sim.explore.errors import SpaceError
from sim.explore.expression import Constraint, Symbol, constraint
from sim.explore.fields import Fields
from sim.explore.making import machines
from sim.explore.values import Axis, Choices, Numbers, Range, Value
from sim.explore.varied import Varied
from sim.machine.errors import Fault, MachineError
from sim.machine.finding import machine as machine_by_name
from sim.machine.machine import Machine

Base = str | Path | Machine
Given = Range | Sequence[Value] | Mapping[str, Any]


@dataclass(frozen=True, init=False, repr=False, eq=False)
class Space(Varied):
    """Machines: a base, lists or ranges of values for its fields by path, and constraints.

    With a list of bases, the base varies as well, under the name `base`. A part can vary as a whole:
    `{"array": [{"kind": "systolic", …}, {"kind": "block", …}]}`; fields left out have their defaults.
    Constraints are expressions over fields, such as `scratchpad_bytes * 2e-6 + macs * 0.0004 <= 5`.
    """

    def __init__(
        self,
        base: Base | Sequence[Base],
        fields: Mapping[str, Given],
        constraints: Iterable[str] = (),
        area: Area = AREA,
    ) -> None:
        bases, varied = _bases(base, fields)
        parts: dict[str, list[BaseModel]] = {}
        axes = _axes(Fields(bases, parts), parts, varied)
        names = symbols(Fields(bases, parts), [one.name for one in bases], tuple(axes))
        for name, value in (
            ("bases", bases),
            ("names", tuple(axes)),
            ("axes", tuple(axes.values())),
            ("ranges", tuple(one if isinstance(one, Range) else None for one in varied.values())),
            ("constraints", _constraints(constraints, names)),
            ("area", area),
            ("symbols", names),
        ):
            object.__setattr__(self, name, value)

    @staticmethod
    def from_dict(tree: Mapping[str, Any]) -> Space:
        """The space from a file's table: `{base: tiny, fields: {…}, constraints: […]}`."""
        from sim.explore.files import space_of

        return space_of(Space, tree)

    @staticmethod
    def load(path: str | Path) -> Space:
        """The space of a file: .json, .yaml or .yml."""
        from sim.explore.files import load

        return load(Space, Path(path))

    def save(self, path: str | Path) -> None:
        """Write a file: .json, .yaml or .yml."""
        from sim.explore.files import save

        save(self, Path(path))

    def to_dict(self) -> dict[str, Any]:
        """The space as numbers, text, lists and dictionaries; a built-in machine is its name."""
        from sim.explore.files import tree_of

        return tree_of(self)

    @cached_property
    def digest(self) -> str:
        """Changes with all that the machines of the space depend on."""
        bases = [one.to_dict() for one in self.bases]
        tree = {**self.to_dict(), "base": bases, "names": self.names}
        return sha256(json.dumps(tree, sort_keys=True).encode()).hexdigest()

    def at(self, places: Numbers) -> list[Candidate]:
        """Candidates by their places: a row each, a column from 0 up to but not 1 for each name."""
        columns = [axis.at(places[:, number]) for number, axis in enumerate(self.axes)]
        return list(zip(*columns, strict=True))

    def number(self, number: int) -> Candidate:
        """A candidate of a finite space by its number; the last name changes first."""
        values: list[Value] = []
        for axis in reversed(self.axes):
            number, digit = divmod(number, axis.size or 1)
            values.append(axis.value(digit))
        return tuple(reversed(values))

    def violations(self, candidates: Sequence[Candidate]) -> list[str]:
        """The constraint that each candidate violates, empty for none; no machine is made."""
        found = [""] * len(candidates)
        if self.constraints and candidates:
            columns = Columns(self, candidates)
            for one in self.constraints:
                found = [a or b for a, b in zip(found, one.violations(columns, len(found)), strict=True)]
        return found

    def machine(self, candidate: Candidate) -> Machine:
        """The machine of a candidate."""
        (found,) = self.machines([candidate])
        if isinstance(found, str):
            raise SpaceError(found)
        return found

    def machines(self, candidates: Sequence[Candidate]) -> list[Machine | str]:
        """The machines of candidates, or the reason why there is none as text."""
        for one in candidates:
            if len(one) != len(self.names):
                text = f"a candidate has {len(one)} values, but the space has {len(self.names)} names: "
                raise SpaceError(text + ", ".join(self.names))
        found: list[Machine | str] = list(self.violations(candidates))
        fitting = [number for number, reason in enumerate(found) if not reason]
        made = machines(self.bases, self.names, [candidates[number] for number in fitting], self._whole)
        for number, machine in zip(fitting, made, strict=True):
            found[number] = machine
        return found

    @cached_property
    def _whole(self) -> bool:
        """Whether a value can be a part or a table."""
        lists = [axis.options for axis in self.axes if isinstance(axis, Choices)]
        return any(isinstance(one, dict) for options in lists for one in options)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Space) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        from sim.explore.describe import line

        return f"Space({line(self)})"

    def __str__(self) -> str:
        from sim.explore.describe import text

        return text(self)

    def _repr_html_(self) -> str:
        from sim.explore.describe import html

        return html(self)


def _bases(
    base: Base | Sequence[Base], fields: Mapping[str, Given]
) -> tuple[tuple[Machine, ...], dict[str, Given]]:
    """The bases, and what varies, with them if they are a choice."""
    if not isinstance(fields, Mapping) or not all(isinstance(name, str) for name in fields):
        raise SpaceError('the fields of a space are lists or ranges by path, e.g. {"array.rows": [8, 16]}')
    if "base" in fields:
        raise SpaceError("base: is not a field; pass a list of machines as the base")
    several = isinstance(base, Sequence) and not isinstance(base, str)
    given = list(base) if isinstance(base, Sequence) and not isinstance(base, str) else [base]
    made = tuple(one if isinstance(one, Machine) else machine_by_name(one) for one in given)
    names = [one.name for one in made]
    twice = [name for name in names if names.count(name) > 1]
    if twice or not made:
        text = f"two are called {twice[0]}; give one of them another name" if twice else "there is none"
        raise SpaceError([Fault("base", text)])
    choice: dict[str, Given] = {"base": names} if several else {}
    if not choice and not fields:
        raise SpaceError(
            'the space has no fields; give at least one with its values, e.g. {"array.rows": [8, 16]}'
        )
    return made, {**choice, **fields}


def _axes(fields: Fields, parts: dict[str, list[BaseModel]], varied: dict[str, Given]) -> dict[str, Axis]:
    """The values by name, whole parts first, so that fields inside of them are known; all faults at once."""
    found: dict[str, Axis] = {}
    faults: list[Fault] = []
    for name in sorted(varied, key=lambda one: one.count(".")):
        if name == "base":
            found[name] = Choices(tuple(one.name for one in fields.machines))
            continue
        try:
            varied[name] = fields.given(name, varied[name])
            found[name] = axis = fields.axis(name, varied[name])
        except MachineError as error:
            faults += error.faults
            continue
        if isinstance(axis, Choices):
            made = [fields.checked(name, one) for one in axis.options if isinstance(one, dict)]
            parts[name] = [one for one in made if isinstance(one, BaseModel)]
    if faults:
        raise SpaceError(faults)
    return {name: found[name] for name in varied}


def _constraints(texts: Iterable[str], names: Mapping[str, Symbol]) -> tuple[Constraint, ...]:
    if isinstance(texts, str):
        texts = [texts]
    found, faults = [], []
    for number, one in enumerate(texts, 1):
        try:
            found.append(constraint(one, names))
        except SpaceError as error:
            faults += [fault.under(f"constraint {number}") for fault in error.faults]
    if faults:
        raise SpaceError(faults)
    return tuple(found)
