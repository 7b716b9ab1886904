"""What takes time in a body: parts, pairs of bodies of which one runs, and bodies that run repeatedly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

Part = TypeVar("Part")
Made = TypeVar("Made")


@dataclass(frozen=True)
class Choice(Generic[Part]):
    """Two bodies; the slower one counts."""

    one: Steps[Part]
    other: Steps[Part]


@dataclass(frozen=True)
class Repeat(Generic[Part]):
    """A condition, and then, for each trip, a body and the condition again."""

    condition: Steps[Part]
    body: Steps[Part]
    trips: int | None = None
    """How many there are, if that is known."""

    def among(self, assumed: int) -> int:
        """How many there are, or as many as are assumed."""
        return assumed if self.trips is None else self.trips


Steps = tuple[Part | Choice[Part] | Repeat[Part], ...]


def mapped(steps: Steps[Part], make: Callable[[Part], Made]) -> Steps[Made]:
    """The same steps with what is made of each part in its place."""
    found: list[Made | Choice[Made] | Repeat[Made]] = []
    for step in steps:
        match step:
            case Choice(one, other):
                found.append(Choice(mapped(one, make), mapped(other, make)))
            case Repeat(condition, body, trips):
                found.append(Repeat(mapped(condition, make), mapped(body, make), trips))
            case _:
                found.append(make(step))
    return tuple(found)
