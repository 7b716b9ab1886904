"""When an assignment counts: conditions, skipped indices, and what a neutral element outside of tensors does.

A skipped element adds nothing. Where the value is the element itself, that is what a read finds outside: the
neutral element of the reduction. Where it is a factor, that is 0, but only if the other factor is finite: 0
times infinity is no number. Otherwise each product is chosen or not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tosajit.frontends.nnef.model import Tensor
from tosajit.frontends.nnef.nests import meaning, terms
from tosajit.frontends.nnef.nests.assignment import Assignment
from tosajit.frontends.nnef.nests.linear import linear
from tosajit.frontends.nnef.nests.places import Place
from tosajit.frontends.nnef.nests.terms import Apply, Element, Loop, Term


class Guard:
    """The conditions of an assignment: those of each step, those of a result, and what fills do instead."""

    def __init__(
        self,
        finite: Callable[[Tensor], bool],
        place: Callable[[Tensor], Place],
        one: Assignment,
        walked: Sequence[Loop],
    ) -> None:
        self.fills: dict[Element, float] = {}
        """What reads find outside, but for 0."""
        self._finite, self._place, self._one = finite, place, one
        skips = [] if walked and self._are_filled(walked) else one.skips
        conditions = [*skips, *_conjuncts(one.condition)]
        self.inner = _all([term for term in conditions if _depends(term, walked)])
        self.outer = _all([term for term in conditions if not _depends(term, walked)])
        always = _always(one.values[0]) if one.condition is True else frozenset()
        self.free = frozenset(one.reads) - always
        """Elements that count only where some condition holds."""

    def _are_filled(self, walked: Sequence[Loop]) -> bool:
        """Whether what is found outside of tensors makes all skipped points neutral."""
        one = self._one
        guarded = [element for element in one.reads if element.checked]
        indices = [element.indices[place] for element in guarded for place in element.checked]
        if one.targets[0].checked or not any(_depends(index, walked) for index in indices):
            return False
        if any(linear(index) is None for index in indices):
            return False
        value = one.values[0]
        if guarded == [value]:
            computed = meaning.COMPUTED[guarded[0].type]
            neutral = meaning.neutral(one.operator, computed)
            self.fills[guarded[0]] = neutral
            return neutral == 0 or self._place(guarded[0].tensor).type == computed
        return one.operator == "+=" and all(self._vanishes(element, factors_of(value)) for element in guarded)

    def _vanishes(self, element: Element, factors: Sequence[Term]) -> bool:
        """Whether a product is 0 wherever one of its factors is 0: the other ones are finite."""
        if element not in factors:
            return False
        others = [factor for factor in factors if factor is not element]
        return element.type == "int" or all(
            terms.is_known(one) or (isinstance(one, Element) and self._finite(one.tensor)) for one in others
        )


def factors_of(value: Term) -> list[Term]:
    """The factors of a product, as they stand in it."""
    if isinstance(value, Apply) and value.operator == "*":
        return [factor for operand in value.operands for factor in factors_of(operand)]
    return [value]


def factored(one: Assignment, walked: Sequence[Loop]) -> tuple[Term, list[Term]]:
    """What is added up, and the real factors that are the same in each step: they wait for the sum."""
    value = one.values[0]
    if one.operator != "+=" or terms.kind(value) != "real" or not walked:
        return value, []
    factors = factors_of(value)
    outer = [factor for factor in factors if not _depends(factor, walked)]
    inner = [factor for factor in factors if _depends(factor, walked)]
    if not outer or not inner or terms.elements_of(*outer):
        return value, []
    found = inner[0]
    for factor in inner[1:]:
        found = terms.binary("*", found, factor)
    return found, outer


def _depends(term: Term, walked: Sequence[Loop]) -> bool:
    return not terms.loops_of(term).isdisjoint(walked)


def _conjuncts(condition: Term) -> list[Term]:
    """The terms that must all hold."""
    if isinstance(condition, Apply) and condition.operator == "&&":
        return [one for operand in condition.operands for one in _conjuncts(operand)]
    return [] if condition is True else [condition]


def _all(conditions: Sequence[Term]) -> Term | None:
    """That all conditions hold; None if there are none."""
    found: Term = True
    for one in conditions:
        found = terms.binary("&&", found, one)
    return None if found is True else found


def _always(value: Term) -> frozenset[Element]:
    """The elements that are used wherever a value is computed."""
    found: set[Element] = set()
    seen: set[Term] = set()
    stack = [value]
    while stack:
        term = stack.pop()
        if terms.is_known(term) or term in seen:
            continue
        seen.add(term)
        if isinstance(term, Element):
            found.add(term)
        lazy = isinstance(term, Apply) and term.operator in ("?", "&&", "||", "=>")
        stack += terms.parts(term)[:1] if lazy else terms.parts(term)
    return frozenset(found)
