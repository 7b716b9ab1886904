"""A plan: for each part of a graph a schedule of its groups."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tiling.cores import Way
from tiling.records import replace
from tiling.schedule import Box, Cascade, Choice, Schedule, Sharing
from tiling.words import plain
from tosajit.display.columns import aligned
from tosajit.errors import PlanError
from tosajit.plans import files
from tosajit.plans.reading import PLAN, reader
from tosajit.plans.writing import part_tree, text_of

HEAD = ("group", "tile", "order", "boxes")
SHOWN = 4
"""Boxes of a group that are listed."""


@dataclass(frozen=True, repr=False)
class Plan:
    """How a graph runs on a machine: for each group its tile, order of loops, boxes and stripes.

    `tj.plan` makes one; `tj.simulate` and `tj.compile` take it as `plan=`, changed or not. What a plan leaves
    out, the planner chooses. Addresses that do not fit together any more are given out anew.
    """

    machine: str
    """The machine that it was made for; others may run it, too."""
    parts: Mapping[str, Schedule]
    """By the name of the part; a graph without control flow has one, `main`."""

    @classmethod
    def load(cls, path: str | Path) -> Plan:
        """The plan of a .json or .yaml file; raises `FileError` or `PlanError` with all that is wrong."""
        return cls.from_dict(files.read(Path(path), "plan", f"format: {PLAN}"))

    @classmethod
    def from_dict(cls, tree: Mapping[str, Any]) -> Plan:
        """The plan that `to_dict` has written; raises `PlanError` with all that is wrong."""
        return cls(*reader(tree))

    def to_dict(self) -> dict[str, Any]:
        """The plan as dictionaries, lists, texts and numbers."""
        parts = {name: part_tree(part) for name, part in self.parts.items()}
        return {"format": PLAN, "machine": self.machine, "parts": parts}

    def to_json(self) -> str:
        """The plan as JSON, a line for each field."""
        return text_of(self.to_dict())

    def to_yaml(self) -> str:
        """The plan as YAML; needs PyYAML."""
        return files.yaml(self.to_dict())

    def save(self, path: str | Path) -> None:
        """Write the plan to a .json or .yaml file."""
        files.write(Path(path), self.to_dict(), "plan")

    def __iter__(self) -> Iterator[tuple[str, Choice]]:
        """The groups of all parts by name, in the order in which they run."""
        for part in self.parts.values():
            yield from part.groups.items()

    def __getitem__(self, group: str) -> Choice:
        """What is chosen for a group."""
        return self.parts[self._part(group)].groups[group]

    def changed(
        self,
        group: str,
        *,
        tile: Mapping[str, int] | None = None,
        order: Iterable[str] | None = None,
        boxes: Mapping[str, int] | None = None,
    ) -> Plan:
        """The plan with another choice for a group.

        * `tile` has points along some axes; the others stay as they are.
        * `order` names the axes that the loops go over, the outermost first.
        * `boxes` has copies by tensor; 0 stands for none. Tensors that it leaves out stay as they are.
        """
        name = self._part(group)
        part, before = self.parts[name], self[group]
        found = replace(before, tile={**before.tile, **(tile or {})})
        if order is not None:
            found = replace(found, order=tuple(order))
        if boxes is not None:
            known = before.boxes or {}
            new = {n: tuple(Box(c) for _ in known.get(n, (None,))) for n, c in boxes.items()}
            found = replace(found, boxes={**known, **new})
        return self._with(name, replace(part, groups={**part.groups, group: found}))

    def open(self, *groups: str) -> Plan:
        """The plan without a choice for some groups, or for any if none is named: the planner chooses."""
        found = self
        for group in groups or [name for name, _ in self]:
            name = found._part(group)
            left = {key: choice for key, choice in found.parts[name].groups.items() if key != group}
            found = found._with(name, replace(found.parts[name], groups=left))
        return found

    def resident(self, *, add: Iterable[str] = (), remove: Iterable[str] = (), part: str = "main") -> Plan:
        """The plan with some more tensors, or fewer, that live in the scratchpad."""
        before = self._named(part)
        gone = set(remove)
        kept = {name: address for name, address in (before.scratchpad or {}).items() if name not in gone}
        return self._with(part, replace(before, scratchpad={**kept, **dict.fromkeys(add)}))

    def cascaded(self, first: str, last: str, stripes: int, part: str = "main") -> Plan:
        """The plan with groups, the first to the last, in so many stripes; 1 takes a cascade back.

        How these stripes run, and which tensors live in the scratchpad, is then for the planner to choose.
        """
        before = self._named(part)
        others = [one for one in before.cascades or () if (one.first, one.last) != (first, last)]
        cascades = (*others, Cascade(first, last, stripes)) if stripes > 1 else tuple(others)
        return self._with(part, Schedule({}, cascades, sharing=before.sharing))

    def split(self, group: str, way: Way, part: str = "main") -> Plan:
        """The plan with a group that cores share in another way: by `rows`, by `channels`, or on one core.

        How the parts run that cores then have is for the planner to choose.
        """
        before = self._named(part).sharing
        if before is None:
            raise PlanError(f"part {plain(part)} is for one core: plan it for a machine with a topology")
        return self._with(
            part, Schedule(sharing=replace(before, ways={**before.ways, group: way}, common=None))
        )

    def _part(self, group: str) -> str:
        found = [name for name, part in self.parts.items() if group in part.groups]
        if len(found) != 1:
            where = f"in the parts {', '.join(map(plain, found))}" if found else "not in the plan"
            raise PlanError(f"group {plain(group)} is {where}; `for name, choice in plan` lists all groups")
        return found[0]

    def _named(self, part: str) -> Schedule:
        if part not in self.parts:
            known = ", ".join(map(plain, self.parts)) or "none"
            raise PlanError(f"part {plain(part)} is not in the plan; there are {known}")
        return self.parts[part]

    def _with(self, name: str, part: Schedule) -> Plan:
        return Plan(self.machine, {**self.parts, name: part})

    def __str__(self) -> str:
        lines = [f"plan for {plain(self.machine)}"]
        for name, part in self.parts.items():
            lines += ["", _part_line(name, part)]
            lines += [f"  {line}" for line in _sharing_lines(part.sharing)]
            lines += [f"  {_cascade_line(one)}" for one in part.cascades or ()]
            rows = [HEAD, *(_row(group, choice) for group, choice in part.groups.items())]
            lines += [f"  {line}" for line in aligned(rows)]
        return "\n".join(lines)

    def __repr__(self) -> str:
        groups = sum(len(part.groups) for part in self.parts.values())
        inside = sum(len(part.scratchpad or ()) for part in self.parts.values())
        stripes = sum(len(part.cascades or ()) for part in self.parts.values())
        text = f"{groups} groups, {inside} tensors in the scratchpad, {stripes} cascades"
        return f"<Plan for {plain(self.machine)}: {text}>"


def _part_line(name: str, part: Schedule) -> str:
    if part.scratchpad is None:
        return f"part {plain(name)}: the planner chooses what lives in the scratchpad"
    return f"part {plain(name)}: {len(part.scratchpad)} tensors live in the scratchpad"


def _sharing_lines(sharing: Sharing | None) -> Iterator[str]:
    """The groups by how they are shared, and cores that have nothing to do."""
    if sharing is None:
        return
    for way in dict.fromkeys(sharing.ways.values()):
        names = [plain(name) for name, other in sharing.ways.items() if other == way]
        yield f"{f'on core {way}' if isinstance(way, int) else f'by {way}'}: {', '.join(names)}"
    if sharing.idle:
        yield f"the last {sharing.idle} cores are idle"


def _cascade_line(one: Cascade) -> str:
    return f"{plain(one.first)} to {plain(one.last)} in {one.stripes} stripes"


def _row(name: str, choice: Choice) -> tuple[str, str, str, str]:
    """A group: sizes of its tile that are not whole, loops, and tensors with boxes, with their copies."""
    cut = [
        f"{plain(axis)} {size}" + (f" of {choice.extents[axis]}" if axis in choice.extents else "")
        for axis, size in choice.tile.items()
        if size != choice.extents.get(axis)
    ]
    order = "open" if choice.order is None else " ".join(map(plain, choice.order))
    return plain(name), ", ".join(cut) or "whole", order or "-", _boxes_text(choice)


def _boxes_text(choice: Choice) -> str:
    """Tensors with boxes, those of several copies first."""
    found = [(n, box.copies) for n, boxes in (choice.boxes or {}).items() for box in boxes if box.copies]
    texts = [
        plain(name) + (f" ×{copies}" if copies > 1 else "") for name, copies in sorted(found, key=_turns)
    ]
    more = [f"and {len(texts) - SHOWN} more"] if len(texts) > SHOWN else []
    return ", ".join([*texts[:SHOWN], *more]) or "-"


def _turns(box: tuple[str, int]) -> bool:
    return box[1] < 2
