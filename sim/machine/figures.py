"""What a number of a machine may be, and how a fault of it is told."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import islice
from typing import Any, Never, TypeVar

from pydantic import AfterValidator, GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from sim.machine.errors import shown

V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Figure:
    """The bounds of a number, with the words of its messages: `-5 is not a size; a scratchpad has …`."""

    what: str
    rule: str
    low: float
    high: float
    example: float
    unit: str = ""
    whole: bool = True
    power_of_two: bool = False

    @property
    def sensible(self) -> str:
        """What is right: `a scratchpad has 64 to 1073741824 bytes, e.g. 262144`."""
        extra = ", a power of two" if self.power_of_two else ""
        bounds = f"{plain(self.low)} to {plain(self.high)}"
        return f"{self.rule} {bounds} {self.unit}".rstrip() + f"{extra}, e.g. {plain(self.example)}"

    def check(self, value: object) -> int | float:
        """The number, if it is one and in bounds."""
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError(f"{shown(value)} is not a number; {self.sensible}")
        if not self.low <= value <= self.high or (self.whole and value != int(value)):
            raise ValueError(f"{shown(value)} is not {self.what}; {self.sensible}")
        if self.power_of_two and int(value) & (int(value) - 1):
            raise ValueError(f"{shown(value)} is not a power of two; {self.sensible}")
        return int(value) if self.whole else value

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_before_validator_function(self.check, handler(source))


class Table(dict[str, V]):
    """A dictionary that does not change, so that machines are values."""

    def _refuse(self, *_: object, **__: object) -> Never:
        raise TypeError("the tables of a machine are read-only; use machine.replace")

    __setitem__ = __delitem__ = clear = pop = popitem = setdefault = update = __ior__ = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> tuple[type[Table[V]], tuple[dict[str, V]]]:
        return type(self), (dict(self),)


MOST = 10
"""Known keys that a message lists."""


def table(known: Collection[str], what: str) -> AfterValidator:
    """Keys that are known."""

    def check(values: Mapping[str, V]) -> Table[V]:
        for key in values:
            if key not in known:
                near = get_close_matches(key[:40], known, 1)
                some = ", ".join(islice(known, MOST)) + (", …" if len(known) > MOST else "")
                remedy = f"did you mean {near[0]}?" if near else f"known are {some}"
                raise ValueError(f"{shown(key)} is not {what}; {remedy}")
        return Table(values)

    return AfterValidator(check)


def plain(value: float) -> str:
    """A number as people write it."""
    if isinstance(value, int) or (value == int(value) and abs(value) < 1e6):
        return str(int(value))
    return f"{value:g}".replace("e+0", "e").replace("e+", "e").replace("e-0", "e-")


def cycles(rule: str, example: float = 32) -> Figure:
    """A time in cycles."""
    return Figure("a time", rule, 0, 10**9, example, "cycles")


def count(rule: str, high: int, example: int, unit: str = "") -> Figure:
    """How many there are of something, at least one."""
    return Figure("a count", rule, 1, high, example, unit)
