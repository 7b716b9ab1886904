"""Rounds of a WHILE_LOOP whose condition and body are a program each: two sets of arrays take turns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tosajit.arrays import Array
from tosajit.kernels.runner import Runner


def run_rounds(condition: object, body: object, given: Sequence[Array]) -> list[Array] | None:
    """New arrays with what values are when the condition is false.

    None if the driver does not do all of a round, but for values that are passed on.
    """
    if not isinstance(condition, Runner) or not isinstance(body, Runner):
        return None
    if not condition.is_settled or not body.is_settled_but_for_copies:
        return None
    (verdict,) = condition.run(given)
    flag = verdict.reshape(-1)
    if not flag[0]:
        return [array.copy() for array in given]
    return _turns(condition, body, given, verdict)


def _turns(condition: Runner, body: Runner, given: Sequence[Array], verdict: Array) -> list[Array]:
    """The same from the first round on, with the array that the condition writes to."""
    flag, sets = verdict.reshape(-1), (_room(body, given), _room(body, given))
    asked = [(*values, verdict) for values in sets]
    turns = [(sets[1], sets[0]), (sets[0], sets[1]), ([*given], sets[0])]
    going = [(*before, *after) for before, after in turns]
    copies = [body.copies(*turn) if body.has_copies else () for turn in turns]
    check, work, to = condition.borrow(), body.borrow(), 2
    while flag[0]:
        work.place(going[to])
        work.step()
        for target, source in copies[to]:
            target[...] = source
        to &= 1
        check.place(asked[to])
        check.step()
        to ^= 1
    condition.give_back(check)
    body.give_back(work)
    return [array.copy() if place in body.unchanged else array for place, array in enumerate(sets[to ^ 1])]


def _room(body: Runner, given: Sequence[Array]) -> list[Array]:
    """Arrays for the results of a round; what stays is where it is."""
    new = body.program.results
    return [given[n] if n in body.unchanged else np.empty(*one) for n, one in enumerate(new)]
