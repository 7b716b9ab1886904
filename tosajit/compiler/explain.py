"""Which kernel runs each group, from which library, and why it is not an array kernel."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from html import escape
from typing import Any, overload

from tiling.program import Section
from tiling.text import members_text
from tiling.words import plain
from tosajit.compiler.journal import Journal
from tosajit.compiler.segment import Groups, Linked, Planned
from tosajit.display.columns import aligned
from tosajit.host.reasons import CHECKED, TARGET, Reason
from tosajit.kernels.generic.code import NAME as GENERIC
from tosajit.kernels.generic.code import walker
from tosajit.kernels.objects import digest

WRITTEN = "generated"
"""The kernel of a group that no array kernel does."""


@dataclass(frozen=True, slots=True)
class GroupKernel:
    """The kernel of a group."""

    part: str
    group: int
    verb: str
    nodes: tuple[str, ...]
    kernel: str
    """What the array kernel does, or that there is a kernel written for the group."""
    library: str
    """The instruction set that the array kernel is from; empty if there is none."""
    digest: str
    """The name of the object file."""
    reason: Reason | None
    """Why no array kernel does the group."""

    @property
    def row(self) -> tuple[str, ...]:
        """The same as cells."""
        why = "" if self.reason is None else str(self.reason)
        nodes = members_text(self.nodes)
        return plain(self.part), str(self.group), self.verb, nodes, self.kernel, self.library, why


HEAD = ("part", "group", "verb", "nodes", "kernel", "library", "why no array kernel")


@dataclass(frozen=True)
class Explanation(Sequence[GroupKernel]):
    """The kernels of all groups; prints as a table."""

    groups: tuple[GroupKernel, ...]

    def of(self, part: str) -> tuple[GroupKernel, ...]:
        """Those of one part of the graph."""
        return tuple(group for group in self.groups if group.part == part)

    def to_dict(self) -> list[dict[str, Any]]:
        """The same in lists, dictionaries, numbers and texts."""
        return [asdict(group) for group in self.groups]

    def to_json(self, indent: int | None = 2) -> str:
        """The same as JSON."""
        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=False)

    @overload
    def __getitem__(self, index: int) -> GroupKernel: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[GroupKernel, ...]: ...
    def __getitem__(self, index: int | slice) -> GroupKernel | tuple[GroupKernel, ...]:
        return self.groups[index]

    def __len__(self) -> int:
        return len(self.groups)

    def __str__(self) -> str:
        return "\n".join(aligned([HEAD, *(group.row for group in self.groups)], right=(1,)))

    def __repr__(self) -> str:
        by_arrays = sum(group.reason is None for group in self.groups)
        return f"<Explanation: {by_arrays} of {len(self)} groups by array kernels>"

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{name}</th>" for name in HEAD)
        rows = "".join(
            f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in group.row)}</tr>" for group in self.groups
        )
        return f"<table><tr>{head}</tr>{rows}</table>"


def explain(journal: Journal) -> Explanation:
    """The kernels that the stages have chosen."""
    plans, links = journal["plan"].values, journal["link"].values
    return Explanation(tuple(group for name in plans for group in _part(plans[name], links[name])))


def _part(planned: Planned, linked: Linked) -> Iterator[GroupKernel]:
    for number, section in enumerate(planned.program.sections):
        groups, nest = planned.groups, section.nest
        unit = groups.units.get(nest)
        yield GroupKernel(
            part=planned.name,
            group=number,
            verb=nest.verb,
            nodes=tuple(dict.fromkeys(nest.members)),
            kernel=_written(linked.image.kernels[number]) if unit is None else unit.name,
            library="" if unit is None else groups.library,
            digest=linked.image.kernels[number],
            reason=None if unit is not None else _reason(groups, section, linked.checked),
        )


def _written(kernel: str) -> str:
    """What a kernel is that is none of the array kernels."""
    return GENERIC if kernel == digest(walker()) else WRITTEN


def _reason(groups: Groups, section: Section, checked: bool) -> Reason:
    """What the preparation has found; it does not look at groups for a target or with checks."""
    return groups.refused.get(section.nest) or (CHECKED if checked else TARGET)
