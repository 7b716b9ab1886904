"""From what a file says to a plan, with everything that is wrong in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, TypeVar

from sim.machine.errors import shown
from tiling.cores import Way
from tiling.schedule import Box, Cascade, Choice, Schedule, Sharing
from tiling.words import listed, plain
from tosajit.errors import PlanError

PLAN = "tosajit plan 1"
MOST = 1 << 62
"""Numbers are smaller."""
Found = TypeVar("Found")


def reader(tree: object) -> tuple[str, dict[str, Schedule]]:
    """The machine and the parts of a plan; raises `PlanError` with all that is wrong."""
    read = Reader()
    fields = read.table(tree, "plan", ("format", "machine", "parts"))
    if fields.get("format") != PLAN:
        read.fault("format", f"{shown(fields.get('format'))}, but this version reads {PLAN!r}")
    machine = read.text(fields.get("machine", ""), "machine")
    parts = {
        name: _part(read, value, f"parts.{name}")
        for name, value in read.table(fields.get("parts", {}), "parts").items()
    }
    read.finish()
    return machine, parts


def _part(read: Reader, tree: object, where: str) -> Schedule:
    fields = read.table(tree, where, ("cores", "scratchpad", "cascades", "groups"))
    inside = cascades = None
    if "scratchpad" in fields:
        table = read.table(fields["scratchpad"], f"{where}.scratchpad")
        inside = {n: read.optional(value, f"{where}.scratchpad.{n}") for n, value in table.items()}
    if "cascades" in fields:
        found = read.items(fields["cascades"], f"{where}.cascades")
        cascades = tuple(_cascade(read, one, f"{where}.cascades.{number}") for number, one in found)
    groups = read.table(fields.get("groups", {}), f"{where}.groups")
    sharing = _sharing(read, fields["cores"], f"{where}.cores") if "cores" in fields else None
    return Schedule({n: choice(read, value, n) for n, value in groups.items()}, cascades, inside, sharing)


def _sharing(read: Reader, tree: object, where: str) -> Sharing:
    fields = read.table(tree, where, ("ways", "common", "idle", "channels", "level2"))
    ways = read.table(fields.get("ways", {}), f"{where}.ways")
    common = None
    if "common" in fields:
        found = read.items(fields["common"], f"{where}.common")
        common = tuple(read.text(one, f"{where}.common.{number}") for number, one in found)
    return Sharing(
        {name: _way(read, way, f"{where}.ways.{name}") for name, way in ways.items()},
        common,
        read.number(fields.get("idle", 0), f"{where}.idle"),
        read.number(fields["channels"], f"{where}.channels", 1) if "channels" in fields else None,
        read.flag(fields.get("level2", True), f"{where}.level2"),
    )


def _way(read: Reader, value: object, where: str) -> Way:
    match value:
        case "rows" | "channels":
            return value
        case int():
            return read.number(value, where)
    read.fault(where, f"{shown(value)} is not 'rows', 'channels' or the number of a core")
    return 0


def _cascade(read: Reader, tree: object, where: str) -> Cascade:
    fields = read.table(tree, where, ("first", "last", "stripes"))
    for name in ("first", "last", "stripes"):
        if name not in fields:
            read.fault(f"{where}.{name}", "missing; a cascade has first, last and stripes")
    first, last = (read.text(fields.get(name, ""), f"{where}.{name}") for name in ("first", "last"))
    return Cascade(first, last, read.number(fields.get("stripes", 2), f"{where}.stripes", 2))


CHOICE = ("operators", "extents", "tile", "order", "boxes", "copies", "accumulator")


def choice(read: Reader, tree: object, where: str, known: Sequence[str] = CHOICE) -> Choice:
    """How a group runs."""
    fields = read.table(tree, where, known)

    def sizes(name: str) -> dict[str, int]:
        table = read.table(fields.get(name, {}), f"{where}.{name}")
        return {axis: read.number(size, f"{where}.{name}.{axis}", 1) for axis, size in table.items()}

    def names(name: str) -> tuple[str, ...]:
        found = read.items(fields[name], f"{where}.{name}")
        return tuple(read.text(one, f"{where}.{name}.{number}") for number, one in found)

    boxes = None
    if "boxes" in fields:
        table = read.table(fields["boxes"], f"{where}.boxes")
        boxes = {name: tuple(_boxes(read, value, f"{where}.boxes.{name}")) for name, value in table.items()}
    return Choice(
        names("operators") if "operators" in fields else (),
        sizes("extents"),
        sizes("tile"),
        names("order") if "order" in fields else None,
        boxes,
        read.number(fields["copies"], f"{where}.copies", 1) if "copies" in fields else None,
        read.optional(fields.get("accumulator"), f"{where}.accumulator"),
    )


def _boxes(read: Reader, tree: object, where: str) -> Iterator[Box]:
    several = isinstance(tree, list | tuple)
    for number, one in read.items(tree, where) if several else [(0, tree)]:
        place = f"{where}.{number}" if several else where
        fields = read.table(one, place, ("copies", "address", "ahead"))
        copies = read.optional(fields.get("copies"), f"{place}.copies")
        ahead = tuple(
            _parcel(read, n, f"{place}.ahead")
            for _, n in read.items(fields.get("ahead", ()), f"{place}.ahead")
        )
        yield Box(copies, read.optional(fields.get("address"), f"{place}.address"), ahead)


def _parcel(read: Reader, tree: object, where: str) -> tuple[int, int]:
    """A part of a box that comes ahead: how many sections, and bytes."""
    numbers = [read.number(one, where, 1) for _, one in read.items(tree, where)]
    if len(numbers) != 2:
        read.fault(where, f"{shown(tree)} is not a number of groups and one of bytes")
        return 1, 1
    return numbers[0], numbers[1]


class Reader:
    """Reads trees of fields, and notes what is wrong with them."""

    def __init__(self) -> None:
        self.faults: list[str] = []

    def fault(self, where: str, text: str) -> None:
        """Note what is wrong with a field."""
        self.faults.append(f"{plain(where, 200)}: {text}")

    def finish(self) -> None:
        """Raise `PlanError` if anything was wrong."""
        if self.faults:
            raise PlanError(self.faults)

    def table(self, tree: object, where: str, known: Sequence[str] = ()) -> dict[str, Any]:
        """A table of fields; of those that are `known`, if these are given."""
        if not isinstance(tree, Mapping):
            self.fault(where, f"{shown(tree)} is not a table" + (f" of {listed(known)}" if known else ""))
            return {}
        found = {}
        for name, value in tree.items():
            if not isinstance(name, str):
                self.fault(where, f"{shown(name)} is not a name; write it in quotes")
            elif known and name not in known:
                near = get_close_matches(name, known, 1)
                hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
                self.fault(f"{where}.{name}", f"no such field; {hint}")
            else:
                found[name] = value
        return found

    def items(self, tree: object, where: str) -> list[tuple[int, Any]]:
        """The items of a list, with their numbers."""
        if isinstance(tree, list | tuple):
            return list(enumerate(tree))
        self.fault(where, f"{shown(tree)} is not a list")
        return []

    def text(self, value: object, where: str) -> str:
        """A text."""
        return self._checked(value, where, lambda one: isinstance(one, str), "a text", "")

    def number(self, value: object, where: str, least: int = 0) -> int:
        """An integer of at least so much."""
        wanted = (
            f"an integer of at least {least}" if isinstance(value, int) and value < least else "an integer"
        )
        return self._checked(value, where, lambda one: _is_number(one) and least <= one < MOST, wanted, least)

    def flag(self, value: object, where: str) -> bool:
        """True or false."""
        return self._checked(value, where, lambda one: isinstance(one, bool), "true or false", True)

    def optional(self, value: object, where: str) -> int | None:
        """An integer, or nothing."""
        return None if value is None else self.number(value, where)

    def _checked(
        self, value: Any, where: str, good: Callable[[Any], bool], wanted: str, other: Found
    ) -> Found:
        if good(value):
            found: Found = value
            return found
        self.fault(where, f"{shown(value)} is not {wanted}")
        return other


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
