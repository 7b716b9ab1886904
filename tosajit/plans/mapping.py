"""Mappings: what an architect's compiler does, said by patterns of names and types of operators."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from tiling.choose import weights_of
from tiling.nest import Nest
from tiling.program import Operand
from tiling.records import replace
from tiling.schedule import Box, Choice, axis_names
from tiling.words import plain
from tosajit.errors import PlanError
from tosajit.plans import files
from tosajit.plans.reading import Reader, choice

FIELDS = ("tile", "order", "boxes", "copies")
ROLES = ("weights", "constants", "values", "results")
"""What a rule may call operands: constant factors of contractions, other constants, what is read, results."""
ANY, NAME, FOLDERS, ONE, PERHAPS = "**", "*", "**/", "?", "(**/)"


@dataclass(frozen=True, slots=True)
class Rule:
    """What is wanted of groups that a pattern matches."""

    pattern: str
    wanted: Choice

    def matches(self, names: Iterable[str]) -> bool:
        """Whether the pattern matches one of the names."""
        steps = _steps(self.pattern)
        return any(_matches(steps, name) for name in names)


class Rules:
    """The rules of a mapping; of several that match a group, the later ones win, field by field."""

    def __init__(self, rules: Sequence[Rule], opcodes: Mapping[str, str]) -> None:
        self.rules, self.opcodes = tuple(rules), opcodes

    def choice(self, nest: Nest, operands: Mapping[str, Operand]) -> Choice | None:
        """What is wanted of a group, as far as its nest has the axes; sizes are cut to the extents."""
        wanted = None
        for rule in self.rules:
            if rule.matches(self._names(nest)):
                wanted = rule.wanted if wanted is None else _joined(wanted, rule.wanted)
        return None if wanted is None else _fitted(wanted, nest, operands)

    def check(self, nests: Sequence[Nest]) -> None:
        """Raise `PlanError` for patterns that match nothing, and for axes that no group they match has."""
        faults = []
        for rule in self.rules:
            matched = [nest for nest in nests if rule.matches(self._names(nest))]
            if not matched:
                faults.append(f"{plain(rule.pattern)}: {self._nothing(rule.pattern, nests)}")
                continue
            known = list(dict.fromkeys(name for nest in matched for name in axis_names(nest)))
            for field, names in (("tile", rule.wanted.tile), ("order", rule.wanted.order or ())):
                for name in names:
                    if name not in known:
                        text = f"no group that it matches has this axis; there are {', '.join(known)}"
                        faults.append(f"{plain(rule.pattern)}: {field}.{plain(name)}: {text}")
        if faults:
            raise PlanError(faults)

    def _names(self, nest: Nest) -> list[str]:
        """What a group answers to: its operators, and the type of the one that it is called after."""
        return [*nest.members, *(self.opcodes.get(name, "") for name in nest.members[:1])]

    def _nothing(self, pattern: str, nests: Sequence[Nest]) -> str:
        names = sorted({name for nest in nests for name in self._names(nest) if name})
        near = get_close_matches(pattern.lstrip("*/"), names, 3)
        types = sorted({self.opcodes.get(nest.members[0], "") for nest in nests if nest.members} - {""})
        hint = f"did you mean {' or '.join(map(plain, near))}?" if near else f"there are {', '.join(types)}"
        return f"matches no group; {hint}"


def _joined(first: Choice, second: Choice) -> Choice:
    return Choice(
        tile={**first.tile, **second.tile},
        order=first.order if second.order is None else second.order,
        boxes=first.boxes if second.boxes is None else {**(first.boxes or {}), **second.boxes},
        copies=first.copies if second.copies is None else second.copies,
    )


def _fitted(wanted: Choice, nest: Nest, operands: Mapping[str, Operand]) -> Choice:
    extents = dict(zip(axis_names(nest), nest.extents, strict=True))
    tile = {name: min(size, extents[name]) for name, size in wanted.tile.items() if name in extents}
    order = None if wanted.order is None else tuple(name for name in wanted.order if name in extents)
    boxes = None
    if wanted.boxes is not None:
        boxes = dict[str, tuple[Box, ...]]()
        for name, role in _roles(nest, operands):
            (given,) = wanted.boxes.get(name, wanted.boxes.get(role, (Box(),)))
            boxes[name] = (*boxes.get(name, ()), given)
    return replace(wanted, tile=tile, order=order, boxes=boxes)


def _roles(nest: Nest, operands: Mapping[str, Operand]) -> list[tuple[str, str]]:
    """The operand and the role of each access."""
    factors, reads = weights_of(nest, operands), len(nest.reads)
    found = []
    for number, access in enumerate(nest.accesses):
        constant = operands[access.operand].kind == "constant"
        role = "results" if number >= reads else "constants" if constant else "values"
        found.append((access.operand, "weights" if number in factors else role))
    return found


def rules_of(given: Mapping[str, Any] | str | Path | None) -> tuple[Rule, ...]:
    """The rules of a mapping, or of its file; raises `FileError`, or `PlanError` with all that is wrong."""
    if given is None:
        return ()
    tree = files.read(Path(given), "mapping", "patterns") if isinstance(given, str | Path) else given
    read = Reader()
    rules = [Rule(name, _wanted(read, value, name)) for name, value in read.table(tree, "mapping").items()]
    read.finish()
    return tuple(rules)


def _wanted(read: Reader, tree: object, pattern: str) -> Choice:
    """What a rule says; boxes are written as numbers of copies."""
    table = read.table(tree, pattern, FIELDS)
    if isinstance(table.get("boxes"), Mapping):
        boxes = {n: {"copies": c} if isinstance(c, int) else c for n, c in table["boxes"].items()}
        table = {**table, "boxes": boxes}
    found = choice(read, table, pattern, FIELDS)
    for name, given in (found.boxes or {}).items():
        if len(given) != 1:
            read.fault(f"{pattern}.boxes.{name}", "a rule has one box for each role or tensor")
    return found


# Patterns.


def _steps(pattern: str) -> list[str]:
    """A pattern in parts: `**/` stands for any folders or none, `**` for anything, `*` for all but `/`."""
    steps, rest = [], pattern
    while rest:
        step = next((one for one in (FOLDERS, ANY, NAME, ONE) if rest.startswith(one)), rest[0])
        steps += [PERHAPS, ANY, "/"] if step == FOLDERS else [step]
        rest = rest[len(step) :]
    return steps


def _matches(steps: Sequence[str], name: str) -> bool:
    """Whether a name is what the steps stand for; as many states as steps, so that no pattern takes long."""
    states = _free(steps, {0})
    for letter in name:
        states = _free(steps, {after for state in states for after in _after(steps, state, letter)})
    return len(steps) in states


def _free(steps: Sequence[str], states: set[int]) -> set[int]:
    """The states, and those that nothing leads to."""
    found = set(states)
    for state in range(len(steps)):
        if state in found and steps[state] in (ANY, NAME, PERHAPS):
            found |= {state + 1, state + 3} if steps[state] == PERHAPS else {state + 1}
    return found


def _after(steps: Sequence[str], state: int, letter: str) -> Iterable[int]:
    if state == len(steps):
        return ()
    match steps[state]:
        case "**":
            return (state,)
        case "(**/)":
            return ()
        case "*":
            return (state,) if letter != "/" else ()
        case "?":
            return (state + 1,) if letter != "/" else ()
    return (state + 1,) if steps[state] == letter else ()
