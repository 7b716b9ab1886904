"""Packs of terms: functions item by item, choices, folds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise

from tosajit.frontends.nnef.nests import terms
from tosajit.frontends.nnef.nests.terms import Checked, Packed, Term
from tosajit.frontends.nnef.values import packs
from tosajit.frontends.nnef.values.arithmetic import NoValue

MOST_FOLDED = 1000


def known_items(value: Packed) -> packs.Pack:
    """Items that have to be known."""
    found = value if isinstance(value, tuple) else (value,)
    items = [one for one in found if isinstance(one, int | float | bool | str)]
    if len(items) != len(found):
        raise NoValue("this has to be known before the model runs")
    return tuple(items)


def mapped(function: Callable[..., Term | Checked], *values: Packed) -> Packed:
    """A function of terms, item by item where values are packs; null where one of them is."""
    if any(value is None for value in values):
        return None
    lengths = {len(value) for value in values if isinstance(value, tuple)}
    if len(lengths) > 1:
        raise NoValue(f"packs of {' and '.join(map(str, sorted(lengths)))} items do not go together")
    if not lengths:
        return _applied(function, values)
    (length,) = lengths
    columns = [value if isinstance(value, tuple) else (value,) * length for value in values]
    return tuple(_applied(function, row) for row in zip(*columns, strict=True))


def _applied(function: Callable[..., Term | Checked], row: Sequence[object]) -> Term | Checked:
    if any(isinstance(one, Checked) for one in row) and function is not chosen:
        raise NoValue("a checked index can only index a tensor")
    return function(*row)


def chosen(condition: Term, then: Term | Checked, otherwise: Term | Checked) -> Term | Checked:
    """One of two items, which may be checked indices where the condition is known."""
    if condition is True:
        return then
    if condition is False:
        return otherwise
    if isinstance(then, Checked) or isinstance(otherwise, Checked):
        raise NoValue("a checked index cannot be chosen by data")
    return terms.chosen(condition, then, otherwise)


def picked(index: Term, items: Sequence[Term]) -> Term:
    """The item that data pick: a choice for each."""
    if not items:
        raise NoValue("nothing can be picked from an empty pack")
    found = items[-1]
    for place in range(len(items) - 2, -1, -1):
        found = terms.chosen(terms.binary("==", index, place), items[place], found)
    return found


def folded(operator: str, items: Sequence[Term], cumulative: bool) -> Packed:
    """Items made one, or all steps of that."""
    if all(terms.is_known(one) for one in items):
        known = known_items(tuple(items))
        return packs.cumulated(operator, known) if cumulative else packs.folded(operator, known)
    if len(items) > MOST_FOLDED:
        raise NoValue(f"{len(items)} values that loops or data decide are folded, but {MOST_FOLDED} may be")
    if operator in (":=", "!="):
        raise NoValue(f"the fold `{operator}` takes values that are known")
    if operator in ("<", "<=", ">", ">=", "=="):
        items = [True, *(terms.binary(operator, *pair) for pair in pairwise(items))]
        operator = "&&"
    steps = tuple(accumulate(items, lambda one, other: terms.binary(operator, one, other)))
    return steps if cumulative else steps[-1]
