"""Indices that are linear in the loops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tiling.nest import Affine
from tosajit.frontends.nnef.nests import tables, terms
from tosajit.frontends.nnef.nests.terms import Apply, Loop, Term


@dataclass(frozen=True, slots=True)
class Linear:
    """A sum of multiples of loops, none of them 0, and a number."""

    factors: Mapping[Loop, int]
    offset: int

    @property
    def span(self) -> tuple[int, int]:
        """The smallest and the largest value."""
        ends = [(factor * (loop.steps - 1), 0) for loop, factor in self.factors.items()]
        return self.offset + sum(map(min, ends)), self.offset + sum(map(max, ends))

    @property
    def term(self) -> Term:
        """The same as a term."""
        found: Term = self.offset
        for loop, factor in self.factors.items():
            found = terms.binary("+", terms.binary("*", loop, factor), found)
        return found

    def affine(self, loops: Sequence[Loop]) -> Affine:
        """The same over the axes of a nest."""
        return Affine(tuple(self.factors.get(loop, 0) for loop in loops), self.offset)

    def plus(self, other: Linear, times: int = 1) -> Linear:
        """A sum."""
        factors = dict(self.factors)
        for loop, factor in other.factors.items():
            factors[loop] = factors.get(loop, 0) + times * factor
        kept = {loop: factor for loop, factor in factors.items() if factor}
        return Linear(kept, self.offset + times * other.offset)

    def times(self, factor: int) -> Linear:
        """A multiple."""
        return Linear({}, 0).plus(self, factor)


def linear(term: Term) -> Linear | None:
    """A term as a linear one; None if it is not, or depends on data."""
    found = _by_rules(term)
    if found is None and tables.is_table(term) and len(terms.loops_of(term)) == 1:
        return _by_values(term)
    return found


def _by_rules(term: Term) -> Linear | None:
    match term:
        case bool() | float() | str():
            return None
        case int():
            return Linear({}, term)
        case Loop():
            if not isinstance(term.extent, int):
                return None
            return Linear({term: 1} if term.extent > 1 else {}, 0)
        case Apply("-.", (operand,)):
            inner = _by_rules(operand)
            return inner and inner.times(-1)
        case Apply(("+" | "-") as operator, (left, right)):
            one, other = _by_rules(left), _by_rules(right)
            return one and other and one.plus(other, 1 if operator == "+" else -1)
        case Apply("*", (left, right)):
            one, other = _by_rules(left), _by_rules(right)
            if one is None or other is None or (one.factors and other.factors):
                return None
            return one.times(other.offset) if one.factors else other.times(one.offset)
    return None


def _by_values(term: Term) -> Linear | None:
    """Of one loop all values are looked at: `i * 2 / 2` is linear too."""
    (loop,) = terms.loops_of(term)
    values = tables.tabulated(term, [loop]).astype(np.int64)
    steps = np.diff(values)
    if values.size == 0 or (steps != steps[:1]).any():
        return None
    factor = int(steps[0]) if steps.size else 0
    return Linear({loop: factor} if factor else {}, int(values[0]))
