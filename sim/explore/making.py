"""From candidates to machines; parts that are chosen as a whole take nothing from the base."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from sim.explore.candidates import Candidate
from sim.explore.fields import Fields
from sim.machine.errors import MachineError
from sim.machine.machine import Machine
from sim.machine.paths import merged, named
from sim.machine.variants import variants

CHOSEN = "chosen in an exploration"
"""The source of a figure that a space varies."""


def machines(
    bases: Sequence[Machine], names: Sequence[str], candidates: Sequence[Candidate], whole: bool
) -> list[Machine | str]:
    """The machines of candidates, or why there is none; `whole` if values can be parts or tables."""
    maker = Maker(bases, names)
    if whole:
        return [maker.machine(candidate) for candidate in candidates]
    at, first = maker.base_at, 0 if maker.base_at is None else 1
    rows: dict[str, list[int]] = {}
    for number, candidate in enumerate(candidates):
        rows.setdefault(bases[0].name if at is None else candidate[at], []).append(number)
    found: list[Machine | str] = [""] * len(candidates)
    for base in bases:
        places = rows.get(base.name, [])
        made = variants(base, names[first:], [candidates[place][first:] for place in places], CHOSEN)
        for place, one in zip(places, made, strict=True):
            found[place] = one if isinstance(one, Machine) else "; ".join(map(str, one.faults))
    return found


class Maker:
    """Makes machines from bases, with a value for each name; parts that many of them share are made once."""

    def __init__(self, bases: Sequence[Machine], names: Sequence[str]) -> None:
        self.bases = {one.name: _Base(one, [name for name in names if name != "base"]) for one in bases}
        self.base_at = names.index("base") if "base" in names else None
        self.usual = next(iter(self.bases.values()))
        self.groups: dict[str, list[tuple[int, str]]] = {}
        for number, name in sorted(enumerate(names), key=lambda one: one[1].count(".")):
            if name != "base":
                self.groups.setdefault(name.partition(".")[0], []).append((number, name))

    def machine(self, candidate: Candidate) -> Machine | str:
        """The machine of a candidate; a text is the reason why there is none."""
        base = self.usual if self.base_at is None else self.bases[candidate[self.base_at]]
        try:
            parts = {
                top: base.part(top, {name: candidate[number] for number, name in group})
                for top, group in self.groups.items()
            }
            return Machine(**{**base.fields, **parts})
        except MachineError as error:
            return "; ".join(map(str, error.faults))


class _Base:
    """A base, and the parts that were made from it."""

    def __init__(self, machine: Machine, names: Sequence[str]) -> None:
        self.tree = machine.to_dict()
        self.known = Fields([machine], {})
        self.fields = {name: getattr(machine, name) for name in type(machine).model_fields}
        for name in sorted(names, reverse=True):  # a part after what is in it
            sources = merged(self.tree, named({name: 0}), CHOSEN)["sources"]
            self.tree = {**self.tree, "sources": sources}
        self.fields["sources"] = self.tree["sources"]
        self.made: dict[tuple[str, Any], Any] = {}

    def part(self, top: str, changes: Mapping[str, Any]) -> Any:
        """A part, or a figure of its own, with changes by path."""
        values = tuple(changes.values())
        key = top, json.dumps(values) if any(isinstance(one, dict) for one in values) else values
        if key not in self.made:
            self.made[key] = self.known.checked(top, _changed(self.tree[top], changes))
        return self.made[key]


def _changed(tree: Any, changes: Mapping[str, Any]) -> Any:
    """The tree of a part with changes, those of whole parts first."""
    for path, value in changes.items():
        steps = path.split(".")[1:]
        tree = _placed(tree, steps, value)
    return tree


def _placed(tree: Any, steps: Sequence[str], value: Any) -> Any:
    if not steps:
        return value
    branch = tree if isinstance(tree, dict) else {}
    return {**branch, steps[0]: _placed(branch.get(steps[0]), steps[1:], value)}
