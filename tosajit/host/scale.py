"""Cheaper exact forms of scaling by constants: `(u * factor + addend - (correction if u < 0)) >> shift`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache

import numpy as np

from tiling.expr import Expr, call
from tiling.records import dataclass, replace
from tosajit.arrays import Array
from tosajit.host.ranges import Range

Number = Callable[[int], Expr]
"""Makes an operand of a number of 32 bits."""


@dataclass(frozen=True, slots=True)
class Term:
    """What is scaled: an expression less a number; and the values that the difference has."""

    expr: Expr
    less: int
    values: Range

    def plain(self, number: Number) -> Expr:
        """The difference."""
        return call("sub_i32", self.expr, number(self.less), type="i32") if self.less else self.expr


LIMIT = 1 << 31
FEW = 1 << 16
"""So many values are few enough to try them all."""
ENDS = 256
"""So many at each end are tried first: what is wrong is mostly wrong there."""
HALF = 16
"""Bits of the lower half of a factor."""


@dataclass(frozen=True, slots=True)
class Scale:
    """Scaling in exact integers; all forms below agree with it for every value of a range."""

    factor: int
    addend: int
    correction: int
    shift: int

    def within(self, values: Range) -> Scale:
        """The same for a range of values, without what they make needless."""
        low, high = values
        scale = self
        if low >= 0:
            scale = replace(scale, correction=0)
        elif high < 0:
            scale = replace(scale, addend=scale.addend - scale.correction, correction=0)
        common = _zeros(scale.factor, scale.addend, scale.correction, 1 << scale.shift)
        return Scale(
            scale.factor >> common, scale.addend >> common, scale.correction >> common, scale.shift - common
        )


def scale_of(multiplier: int, shift: int, double: bool, output_zp: int, ahead: int) -> Scale:
    """RESCALE (TOSA 1.0.1 section 2.13.2) of values that are shifted left by `ahead`."""
    twice = double and shift > 31
    addend = (1 << (shift - 1)) + (twice << 30) + (output_zp << shift)
    return Scale(multiplier << ahead, addend, twice << 31, shift)


def scaled(term: Term, scale: Scale, number: Number) -> Expr | None:
    """The cheapest form for the values of a term; None if 64 bits are needed."""
    scale = scale.within(term.values)
    for form in (_exact, _fitted, _narrow, _split, _high):
        found = form(term, scale, number)
        if found is not None:
            return found
    return None


def _exact(term: Term, scale: Scale, number: Number) -> Expr | None:
    """A factor that is a whole number, nothing to round."""
    whole, rest = scale.addend >> scale.shift, scale.addend & ((1 << scale.shift) - 1)
    if scale.factor & ((1 << scale.shift) - 1) or rest < scale.correction:
        return None
    return _linear(term, scale.factor >> scale.shift, whole, 0, number)


def _narrow(term: Term, scale: Scale, number: Number) -> Expr | None:
    """A product that fits 32 bits."""
    if scale.correction:
        if scale.factor != 1 or not _fits(term.values, 1, scale.addend - scale.correction, scale.addend):
            return None
        value = term.plain(number)
        sign = call("ashr_i32", value, number(31), type="i32")
        less = call("and_i32", sign, number(-scale.correction), type="i32")
        return _shifted(_plus(_plus_expr(value, less), scale.addend, number), scale.shift, number)
    return _linear(term, scale.factor, scale.addend, scale.shift, number)


@lru_cache(maxsize=8)
def _steps(values: Range, scale: Scale) -> tuple[Array, Array] | None:
    """Few values of a range and what they become: on both sides of each step of that, and the ends."""
    low, high = values
    largest = max(-low, high) * scale.factor + abs(scale.addend) + scale.correction
    if high - low >= FEW or max(largest, scale.factor << FEW.bit_length()) >= 1 << 62:
        return None
    first, last = map(int, _became(np.array(values), scale))
    if 2 * (last - first) >= high - low:
        every = np.arange(low, high + 1)
    else:
        results = np.arange(first + 1, last + 1) << scale.shift
        starts = -((scale.addend - results) // scale.factor)
        if scale.correction:
            negative = -((scale.addend - scale.correction - results) // scale.factor)
            starts = np.where(negative < 0, negative, np.maximum(starts, 0))
        every = np.concatenate([[low], np.stack([starts - 1, starts], axis=1).ravel(), [high]])
    return every, _became(every, scale)


def _became(values: Array, scale: Scale) -> Array:
    """What scaling makes of values."""
    become: Array = values * scale.factor + scale.addend
    if scale.correction:
        become = become - scale.correction * (values < 0)
    return become >> scale.shift


def _addends(steps: tuple[Array, Array], factors: Array, shifts: Array) -> tuple[Array, Array]:
    """For each factor the least and the greatest addend that give all results; the greatest is less if none.

    No factor is negative, so that what is right on both sides of a step is right between two of them.
    """
    every, wanted = steps
    least = wanted << shifts[:, None]
    least -= every * factors[:, None]
    return least.max(axis=1), least.min(axis=1) + (1 << shifts) - 1


def _possible(steps: tuple[Array, Array], factors: Array, shifts: Array) -> Iterator[tuple[int, int, int]]:
    """Which of the factors give all results, with their least and greatest addends."""
    outer = steps
    if len(steps[0]) > 2 * ENDS:
        every, wanted = (np.concatenate([one[:ENDS], one[-ENDS:]]) for one in steps)
        outer = every, wanted
    least, most = _addends(outer, factors, shifts)
    for number in np.flatnonzero(least <= most):
        if outer is not steps:
            some = slice(number, number + 1)
            least[some], most[some] = _addends(steps, factors[some], shifts[some])
        if least[number] <= most[number]:
            yield int(number), int(least[number]), int(most[number])


def _fitted(term: Term, scale: Scale, number: Number) -> Expr | None:
    """A shorter factor that gives the same for all of few values."""
    steps = _steps(term.values, scale)
    choices = list(_shorter(scale, max(map(abs, term.values)).bit_length()))
    if steps is None or not choices:
        return None
    factors, shifts = np.array(choices).T
    for place, least, most in _possible(steps, factors, shifts):
        factor, shift = choices[place]
        return _linear(term, factor, 0 if least <= 0 <= most else least, shift, number)
    return None


def _shorter(scale: Scale, reach: int) -> Iterator[tuple[int, int]]:
    """Factors near that of a scale, and their shifts: values of `reach` bits give products of 30."""
    widest = min(scale.shift, 31, 30 - reach - scale.factor.bit_length() + scale.shift)
    for shift in range(widest, max(widest - 4, -1), -1):
        factor = scale.factor >> (scale.shift - shift)
        yield from ((factor, shift), (factor + 1, shift))


def _split(term: Term, scale: Scale, number: Number) -> Expr | None:
    """Both halves of a factor on their own, with one addend for all values: two short products."""
    if not HALF <= scale.shift <= 31 + HALF or max(map(abs, term.values)) >= LIMIT >> HALF:
        return None
    steps = _steps(term.values, scale)
    if steps is None:
        return None
    found = next(_possible(steps, np.array([scale.factor]), np.array([scale.shift])), None)
    if found is None:
        return None
    _, least, most = found
    addend = most >> HALF
    if addend << HALF < least:
        return None
    if not _fits(term.values, (scale.factor >> HALF) + 1, addend, addend + 1):
        return None
    value, lower = term.plain(number), scale.factor & ((1 << HALF) - 1)
    upper = call("mul_i32", value, number(scale.factor >> HALF), type="i32")
    carried = _shifted(call("mul_i32", value, number(lower), type="i32"), HALF, number)
    return _shifted(_plus(_plus_expr(upper, carried), addend, number), scale.shift - HALF, number)


def _high(term: Term, scale: Scale, number: Number) -> Expr | None:
    """The upper half of an unsigned product, where nothing that is added lies in the lower one.

    The value is raised by 2**31 and its product by factor / 2, which is whole and goes out of the addend.
    """
    low, high = term.values
    dropped = min(_zeros(scale.addend, scale.correction, 1 << scale.shift), 31)
    factor_shift = min(32 - scale.factor.bit_length(), 32 - dropped)
    ahead = 32 - dropped - factor_shift
    if factor_shift < 1 or ahead < 0 or not _fits((low << ahead, high << ahead), 1, 0, 0):
        return None
    factor = scale.factor << factor_shift
    correction = scale.correction >> dropped
    addend = (scale.addend >> dropped) - correction
    products = [(value * scale.factor) >> dropped for value in (low, high)]
    if min(products) + addend < -LIMIT or max(products) + addend + correction >= LIMIT or correction >= LIMIT:
        return None
    raised = _plus(_left(term.expr, ahead, number), _wrapped(LIMIT - (term.less << ahead)), number)
    total = call("mul_high_i32", raised, number(_wrapped(factor)), type="i32")
    if correction:
        positive = call("ashr_i32", raised, number(31), type="i32")
        total = _plus_expr(total, call("and_i32", positive, number(correction), type="i32"))
    return _shifted(_plus(total, _wrapped(addend - factor // 2), number), scale.shift - dropped, number)


def _linear(term: Term, factor: int, addend: int, shift: int, number: Number) -> Expr | None:
    """`(value * factor + addend) >> shift` in 32 bits; what the term subtracts goes into the addend."""
    if not _fits(term.values, factor, addend, addend):
        return None
    value, addend = term.expr, _wrapped(addend - term.less * factor)
    if factor & (factor - 1) == 0 and factor:
        product = _left(value, factor.bit_length() - 1, number)
    else:
        product = call("mul_i32", value, number(factor), type="i32")
    return _shifted(_plus(product, addend, number), shift, number)


def _fits(values: Range, factor: int, least: int, most: int) -> bool:
    ends = [value * factor for value in values]
    both = [factor, *ends, *(end + addend for end in ends for addend in (least, most)), least, most]
    return -LIMIT <= min(both) and max(both) < LIMIT


def _left(value: Expr, amount: int, number: Number) -> Expr:
    return call("shl_i32", value, number(amount), type="i32") if amount else value


def _shifted(value: Expr, amount: int, number: Number) -> Expr:
    return call("ashr_i32", value, number(amount), type="i32") if amount else value


def _plus(value: Expr, addend: int, number: Number) -> Expr:
    return _plus_expr(value, number(addend)) if addend else value


def _plus_expr(first: Expr, second: Expr) -> Expr:
    return call("add_i32", first, second, type="i32")


def _wrapped(number: int) -> int:
    """What is left of a number in 32 bits: sums of 32 bits may wrap on the way to a result that does not."""
    return (number + LIMIT) % (2 * LIMIT) - LIMIT


def _zeros(*numbers: int) -> int:
    """How many low bits all of the numbers leave zero."""
    together = 0
    for number in numbers:
        together |= number
    return (together & -together).bit_length() - 1
