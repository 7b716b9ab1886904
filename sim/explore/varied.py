"""What a space is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod

from sim.explore.area import Area
from sim.explore.expression import Constraint, Symbol
from sim.explore.values import Axis, Range
from sim.machine.machine import Machine


@dataclass(frozen=True, init=False, repr=False, eq=False)
class Varied:
    """Machines, what varies of them, and what must hold."""

    bases: tuple[Machine, ...]
    names: tuple[str, ...]
    """What varies: fields by path, in the order given; `base` comes first."""
    axes: tuple[Axis, ...]
    """The values of each name."""
    ranges: tuple[Range | None, ...]
    """The range of each name that was given one."""
    constraints: tuple[Constraint, ...]
    area: Area
    """The coefficients of the name `area` in constraints, and of the objective."""
    symbols: Mapping[str, Symbol]
    """The names that expressions may have."""

    @property
    def base(self) -> Machine:
        """The machine, or the first of those, that the space is around."""
        return self.bases[0]

    @cached_property
    def size(self) -> int | None:
        """How many machines there are, also those that a constraint refuses; None for infinitely many."""
        sizes = [axis.size for axis in self.axes]
        return None if None in sizes else prod(one for one in sizes if one is not None)
