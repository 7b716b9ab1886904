"""From candidates to machines: parts that many of them share are made once."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sim.explore.fields import Fields
from sim.machine.errors import MachineError
from sim.machine.machine import Machine
from sim.machine.paths import merged, named

if TYPE_CHECKING:
    from sim.explore.space import Candidate, Space

CHOSEN = "chosen in an exploration"
"""The source of a figure that a space varies."""


class Maker:
    """Makes the machines of a space."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self.base_at = space.names.index("base") if "base" in space.names else None
        self.groups: dict[str, list[tuple[int, str]]] = {}
        for number, name in enumerate(space.names):
            if name != "base":
                self.groups.setdefault(name.partition(".")[0], []).append((number, name))
        self.parts: dict[Any, Any] = {}

    def machines(self, candidates: Sequence[Candidate]) -> list[Machine | str]:
        """The machines of candidates; a text is the reason why there is none."""
        return [self._machine(candidate) for candidate in candidates]

    @cached_property
    def trees(self) -> list[dict[str, Any]]:
        """The bases as dictionaries, with sources as the machines have them."""
        changes = named({name: None for name in self.space.names if name != "base"})
        found = []
        for base in self.space.bases:
            tree = base.to_dict()
            found.append({**tree, "sources": merged(tree, changes, CHOSEN)["sources"]})
        return found

    def _machine(self, candidate: Candidate) -> Machine | str:
        which = 0
        if self.base_at is not None:
            which = [one.name for one in self.space.bases].index(candidate[self.base_at])
        base, tree = self.space.bases[which], self.trees[which]
        fields = {name: getattr(base, name) for name in type(base).model_fields}
        fields["sources"] = tree["sources"]
        try:
            for top, group in self.groups.items():
                fields[top] = self._part(which, top, {name: candidate[number] for number, name in group})
            return Machine(**fields)
        except MachineError as error:
            return "; ".join(map(str, error.faults))

    def _part(self, which: int, top: str, changes: Mapping[str, Any]) -> Any:
        values = tuple(changes.values())
        key = (which, top, json.dumps(values) if any(isinstance(one, dict) for one in values) else values)
        if key not in self.parts:
            base = self.space.bases[which]
            tree = _changed(self.trees[which][top], top, changes)
            self.parts[key] = Fields([base], {}).checked(top, tree)
        return self.parts[key]


def _changed(tree: Any, top: str, changes: Mapping[str, Any]) -> Any:
    for path in sorted(changes, key=lambda one: one.count(".")):
        *steps, last = path.split(".")
        if not steps:
            tree = changes[path]
            continue
        tree = branch = dict(tree or {})
        for step in steps[1:]:
            branch[step] = dict(branch[step])
            branch = branch[step]
        branch[last] = changes[path]
    return tree
