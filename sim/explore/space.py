"""Spaces of machines: a base, what varies of it, and what must hold."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from sim.explore.errors import SpaceError
from sim.explore.fields import Fields, plain_value
from sim.explore.values import Axis, Choices, Range, Value
from sim.machine.catalog import machine as machine_by_name
from sim.machine.errors import Fault, MachineError, shown
from sim.machine.machine import Machine
from sim.machine.paths import merged, named

Candidate = tuple[Value, ...]
Numbers = NDArray[np.float64]
Base = str | Path | Machine
CHOSEN = "chosen in an exploration"
"""The source of a figure that a space varies."""


@dataclass(frozen=True, init=False, repr=False, eq=False)
class Space:
    """Machines: a base, lists or ranges of values for its fields by path, and constraints.

    A list of bases is one more thing to choose, called `base`. A part may be chosen as a whole:
    `{"array": [{"kind": "systolic", …}, {"kind": "block", …}]}`; what such a part does not say has its default.
    Constraints are expressions over fields, such as `scratchpad_bytes * 2e-6 + macs * 0.0004 <= 5`.
    """

    bases: tuple[Machine, ...]
    names: tuple[str, ...]
    axes: tuple[Axis, ...]
    given: tuple[Range | tuple[Value, ...], ...]
    constraints: tuple[str, ...]

    def __init__(
        self,
        base: Base | Sequence[Base],
        fields: Mapping[str, Range | Sequence[Value] | Mapping[str, Any]],
        constraints: Iterable[str] = (),
    ) -> None:
        bases, varied = _bases(base, fields)
        axes = _axes(bases, varied)
        given = tuple(one if isinstance(one, Range) else axis.options for one, axis in axes.values()
                      if isinstance(one, Range) or isinstance(axis, Choices))  # fmt: skip
        for name, value in (
            ("bases", bases),
            ("names", tuple(axes)),
            ("axes", tuple(axis for _, axis in axes.values())),
            ("given", given),
            ("constraints", tuple(constraints)),
        ):
            object.__setattr__(self, name, value)

    @property
    def base(self) -> Machine:
        """The machine, or the first of those, that the space is around."""
        return self.bases[0]

    @cached_property
    def size(self) -> int | None:
        """How many machines there are, those that a constraint refuses among them; None for infinitely many."""
        sizes = [axis.size for axis in self.axes]
        return None if None in sizes else prod(one for one in sizes if one is not None)

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

    def machine(self, candidate: Candidate) -> Machine:
        """The machine of a candidate."""
        (found,) = self.machines([candidate])
        if isinstance(found, str):
            raise SpaceError(found)
        return found

    def machines(self, candidates: Sequence[Candidate]) -> list[Machine | str]:
        """The machines of candidates; a text is the reason why there is none."""
        from sim.explore.making import Maker

        return Maker(self).machines(candidates)

    def to_dict(self) -> dict[str, Any]:
        """The space as numbers, text, lists and dictionaries; a machine of the catalogue is its name."""
        bases = [_spelled(one) for one in self.bases]
        fields = {
            name: one.to_dict() if isinstance(one, Range) else list(one)
            for name, one in zip(self.names, self.given, strict=True)
            if name != "base"
        }
        base = bases if "base" in self.names else bases[0]
        return {"base": base, "fields": fields, "constraints": list(self.constraints)}

    @staticmethod
    def from_dict(tree: Mapping[str, Any]) -> Space:
        """The space that `to_dict` says."""
        strange = [name for name in tree if name not in ("base", "fields", "constraints")]
        if strange:
            raise SpaceError(
                f"{shown(strange[0])} is no word of a space; there are base, fields, constraints"
            )
        base = tree["base"]
        bases = base if isinstance(base, list) else [base]
        made = [Machine(**one) if isinstance(one, dict) else one for one in bases]
        return Space(made if isinstance(base, list) else made[0], tree["fields"], tree.get("constraints", ()))

    @cached_property
    def digest(self) -> str:
        """Changes with all that the machines of the space depend on."""
        tree = {**self.to_dict(), "base": [one.to_dict() for one in self.bases]}
        return sha256(json.dumps(tree, sort_keys=True).encode()).hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Space) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)


def _bases(
    base: Base | Sequence[Base], fields: Mapping[str, Any]
) -> tuple[tuple[Machine, ...], dict[str, Any]]:
    """The bases, and what varies, with them if they are a choice."""
    varied = dict(fields)
    choice = list(varied.pop("base", ())) or (
        list(base) if isinstance(base, Sequence) and not isinstance(base, str) else []
    )
    bases = tuple(one if isinstance(one, Machine) else machine_by_name(one) for one in (choice or [base]))
    if choice:
        varied = {"base": [one.name for one in bases], **varied}
    return bases, varied


def _axes(bases: Sequence[Machine], varied: Mapping[str, Any]) -> dict[str, tuple[Any, Axis]]:
    """What was given and the values, by name; all faults at once."""
    found: dict[str, tuple[Any, Axis]] = {}
    parts: dict[str, list[BaseModel]] = {}
    faults: list[Fault] = []
    fields = Fields(bases, parts)
    for name in sorted(varied, key=lambda one: one.count(".")):
        given = varied[name]
        if isinstance(given, Mapping) and {"low", "high"} <= set(given):
            given = Range.from_dict(given)
        try:
            if name == "base":
                found[name] = given, Choices(tuple(given))
                continue
            axis = fields.axis(name, given)
        except MachineError as error:
            faults += error.faults
            continue
        found[name] = given, axis
        if isinstance(axis, Choices):
            made = [fields.checked(name, one) for one in axis.options if isinstance(one, dict)]
            parts[name] = [one for one in made if isinstance(one, BaseModel)]
    if faults:
        raise SpaceError(faults)
    return {name: found[name] for name in varied}


def _spelled(machine: Machine) -> str | dict[str, Any]:
    """The name of a machine, if that says it all."""
    try:
        known = machine_by_name(machine.name)
    except MachineError:
        return machine.to_dict()
    return machine.name if known == machine else machine.to_dict()


__all__ = ["Candidate", "Iterator", "Space", "merged", "named", "plain_value"]
