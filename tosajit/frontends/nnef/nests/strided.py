"""Accumulation into strided places, `y[s * i + k * j - o] += …`, turned round.

For an element `y` of the output the loop `i` is what solves the equation, so the nest goes over the output
and looks for what comes to it. Where `s` is more than 1, only some `j` have a solution, and they are the same
for all elements that are `s` apart: each such part of the output is a nest of its own, as those of
TRANSPOSE_CONV2D are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from math import gcd

from tiling.records import replace
from tosajit.frontends.nnef.nests import terms
from tosajit.frontends.nnef.nests.assignment import Assignment, Unfit, extent_of
from tosajit.frontends.nnef.nests.linear import Linear, linear
from tosajit.frontends.nnef.nests.meaning import COMPUTED, neutral
from tosajit.frontends.nnef.nests.places import Indices, is_injective, is_inside
from tosajit.frontends.nnef.nests.terms import Element, Loop, Term, within

MOST_PIECES = 64


@dataclass(frozen=True, slots=True)
class _Piece:
    """A part of a dimension of the output: its index, and what the loops are there; None if nothing comes."""

    index: Linear
    loops: tuple[Loop, ...]
    """The new loops: the position first."""
    old: Mapping[Loop, Linear]
    solved: Loop | None
    empty: bool = False


def turned(update: Assignment, indices: Indices) -> list[Assignment]:
    """An update as several, each of other elements, which together are the whole output."""
    target = update.targets[0]
    shape = [extent_of(target, place) for place in range(target.tensor.rank)]
    choices: list[list[_Piece]] = []
    for place, (index, extent) in enumerate(zip(indices, shape, strict=True)):
        others = {loop for number, one in enumerate(indices) if number != place for loop in one.factors}
        choices.append(list(_pieces(index, extent, others, f"{place}")))
    count = 1
    for pieces in choices:
        count *= len(pieces)
    if count > MOST_PIECES:
        raise Unfit(f"strides cut `{target.tensor.name}` into {count} parts")
    return [_piece(update, row) for row in product(*choices)]


def _pieces(index: Linear, extent: int, others: set[Loop], name: str) -> Iterator[_Piece]:
    """The parts of a dimension."""
    if is_injective((index,)) and is_inside((index,), (extent,)) and len(index.factors) <= 1:
        (loop,) = index.factors or (None,)
        covers = extent == 1 if loop is None else loop.steps == extent
        if covers:
            yield _Piece(index, (), {}, None)
            return
    if not others.isdisjoint(index.factors):
        raise Unfit("a loop is in two indices of what is updated")
    if not index.factors or min(index.factors.values()) < 0:
        raise Unfit("an index of what is updated goes backwards")
    solved = max(index.factors, key=lambda loop: (index.factors[loop] > 1, loop.steps))
    window = [loop for loop in index.factors if loop is not solved]
    stride = index.factors[solved]
    if len(window) > 1 and stride > 1:
        raise Unfit("an index of what is updated has a stride and several windows")
    for residue in range(min(stride, extent)):
        yield _part(index, extent, residue, solved, window, name)


def _part(index: Linear, extent: int, residue: int, solved: Loop, window: list[Loop], name: str) -> _Piece:
    """The elements `stride * q + residue`: what comes to them is at `q + …` of the solved loop."""
    stride = index.factors[solved]
    position = Loop(f"{solved.name}_{name}", -(-(extent - residue) // stride))
    here = Linear({position: stride} if position.steps > 1 else {}, residue)
    q = Linear({position: 1} if position.steps > 1 else {}, 0)
    if stride == 1:
        rest = Linear({loop: index.factors[loop] for loop in window}, index.offset)
        return _Piece(here, (position, *window), {solved: q.plus(rest, -1)}, solved)
    if not window:
        shift, left = divmod(residue - index.offset, stride)
        old = {solved: q.plus(Linear({}, shift))}
        return _Piece(here, (position,), old, solved, bool(left))
    (inner,) = window
    factor = index.factors[inner]
    period = stride // gcd(factor, stride)
    first = next(
        (j for j in range(min(period, inner.steps)) if (residue - index.offset - factor * j) % stride == 0),
        None,
    )
    if first is None:
        return _Piece(here, (position,), {}, solved, True)
    step = Loop(f"{inner.name}_{name}", -(-(inner.steps - first) // period))
    t = Linear({step: 1} if step.steps > 1 else {}, 0)
    shift = (residue - index.offset - factor * first) // stride
    at = q.plus(Linear({}, shift)).plus(t, -(factor * period // stride))
    return _Piece(here, (position, step), {inner: Linear({}, first).plus(t, period), solved: at}, solved)


def _piece(update: Assignment, row: tuple[_Piece, ...]) -> Assignment:
    """The update of the elements of some parts."""
    target = update.targets[0]
    element = Element(target.tensor, tuple(one.index.term for one in row))
    loops = dict.fromkeys(loop for one in row for loop in (*one.loops, *one.index.factors))
    if any(one.empty for one in row):
        kept = tuple(loop for one in row for loop in one.index.factors)
        nothing = neutral(update.operator, COMPUTED[target.type])
        value: Term = bool(nothing) if target.type == "bool" else nothing
        return replace(update, loops=kept, targets=(element,), values=(value,), condition=True)
    old = {loop: index for one in row for loop, index in one.old.items()}
    solved = {one.solved for one in row if one.solved is not None}
    marked: set[Loop] = set()

    def mark(term: Loop | Element) -> Term:
        if not isinstance(term, Element):
            return term
        places = {
            place: loop for place in range(term.tensor.rank) if (loop := _follows(term, place)) in solved
        }
        marked.update(loop for loop in places.values() if loop is not None)
        return replace(term, checked=tuple(sorted({*term.checked, *places}))) if places else term

    def substitute(term: Loop | Element) -> Term:
        return old[term].term if isinstance(term, Loop) and term in old else term

    roots = terms.replaced((*update.values, update.condition), mark)
    value, condition = terms.replaced(roots, substitute)
    for loop in solved - marked:
        condition = terms.binary("&&", condition, within(old[loop].term, loop.steps))
    walked = (loop for loop in update.loops if loop not in old)
    return replace(
        update,
        loops=tuple(dict.fromkeys((*walked, *loops))),
        targets=(element,),
        values=(value,),
        condition=condition,
    )


def _follows(element: Element, place: int) -> Loop | None:
    """The loop that walks a dimension of a tensor from end to end."""
    index = linear(element.indices[place])
    if index is None or index.offset or list(index.factors.values()) != [1]:
        return None
    (loop,) = index.factors
    return loop if loop.steps == extent_of(element, place) else None
