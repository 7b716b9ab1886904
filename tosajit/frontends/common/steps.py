"""Steps of sequences: one by one if they are few, else as a loop whose rounds do several."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import numpy as np

from tosajit import ops
from tosajit.dtypes import INT32
from tosajit.frontends.common.broadcast import expanded
from tosajit.frontends.common.gather import gathered
from tosajit.frontends.common.layout import joined, part, reshaped
from tosajit.frontends.common.numbers import number
from tosajit.tracing.recorder import Trace, current_trace, recording
from tosajit.tracing.tensor import Tensor

Tensors = tuple[Tensor, ...]
Step = Callable[[Tensors, Tensors], tuple[Tensors, Tensors]]
"""From an element of each sequence and what is kept, what a step gives out and what is kept then."""

WRITTEN = 32
"""Steps that are written out."""


def stepped(
    step: Step,
    sequences: Sequence[Tensor],
    states: Tensors,
    backwards: bool = False,
    written: int | None = None,
) -> tuple[Tensors, Tensors]:
    """What all steps give out, in the order of the sequences, and what is kept after the last one.

    The first dimension of sequences and results has the steps. More than `written` become a loop, whose
    rounds do up to half as many: a round has its price, and each of its steps is compiled.
    """
    count, most = sequences[0].shape[0], WRITTEN if written is None else written
    if count <= most:
        return _written(step, sequences, states, range(count), backwards)
    each = min(range(max(1, most // 2), most // 4, -1), key=lambda size: count % size)
    left = count % each
    first: list[Tensors] = []
    if left:
        start = count - left if backwards else 0
        found, states = _written(step, sequences, states, range(start, start + left), backwards)
        first.append(found)
    inside = [part(one, 0, 0 if backwards else left, count - left) for one in sequences]
    rest, states = _looped(step, inside, states, each, backwards)
    ordered = [rest, *first] if backwards else [*first, rest]
    return tuple(joined(pieces, 0) for pieces in zip(*ordered, strict=True)), states


def _written(
    step: Step, sequences: Sequence[Tensor], states: Tensors, places: range, backwards: bool
) -> tuple[Tensors, Tensors]:
    """The same for some steps, one behind the other."""
    trace = recorded()
    found: dict[int, Tensors] = {}
    for place in reversed(places) if backwards else places:
        with trace.builder.inside(f"step_{place}"):
            elements = tuple(reshaped(part(one, 0, place, 1), one.shape[1:]) for one in sequences)
            results, states = step(elements, states)
            found[place] = tuple(reshaped(one, (1, *one.shape)) for one in results)
    columns = zip(*(found[place] for place in places), strict=True)
    return tuple(joined(column, 0) for column in columns), states


def _looped(
    step: Step, sequences: Sequence[Tensor], states: Tensors, each: int, backwards: bool
) -> tuple[Tensors, Tensors]:
    """The same by a loop, whose rounds do `each` steps.

    A round takes the elements of its steps as one row, and puts what these give out into one.
    """
    rounds = sequences[0].shape[0] // each
    rows = [reshaped(one, (rounds, -1)) for one in sequences]
    given = _given_out(step, sequences, states)
    empty = [
        expanded(
            ops.const(np.zeros((1, 1, 1), one.dtype.storage), one.dtype), (1, rounds, each * prod(one.shape))
        )
        for one in given
    ]
    first = recorded().constant(np.array(rounds - 1 if backwards else 0, np.int32), INT32)

    def goes_on(place: Tensor, *_: Tensor) -> Tensor:
        if backwards:
            return ops.greater_equal(place, number(place, 0))
        is_left: Tensor = ops.greater(ops.const(number(place, rounds)), place)
        return is_left

    def round_(place: Tensor, *carried: Tensor) -> Tensors:
        index = reshaped(place, (1, 1))
        taken = [
            reshaped(gathered(recorded().own(row), reshaped(place, (1,)), 0), (each, *one.shape[1:]))
            for row, one in zip(rows, sequences, strict=True)
        ]
        found, kept = _written(step, taken, carried[: len(states)], range(each), backwards)
        whole = (
            ops.scatter(base, index, reshaped(one, (1, 1, -1)))
            for base, one in zip(carried[len(states) :], found, strict=True)
        )
        return ops.add(place, number(place, -1 if backwards else 1)), *kept, *whole

    _, *results = ops.while_loop(goes_on, round_, first, *states, *empty)
    kept, found = results[: len(states)], results[len(states) :]
    whole = (reshaped(one, (-1, *like.shape)) for one, like in zip(found, given, strict=True))
    return tuple(whole), tuple(kept)


def _given_out(step: Step, sequences: Sequence[Tensor], states: Tensors) -> Tensors:
    """What a step gives out, of which only types and shapes are looked at: the graph has none of it."""
    aside = Trace(parent=recorded())
    with recording(aside):
        elements = (aside.input("element", one.dtype, one.shape[1:]) for one in sequences)
        return step(tuple(elements), states)[0]


def recorded() -> Trace:
    """The trace that is being recorded."""
    trace = current_trace()
    assert trace is not None
    return trace
