"""A counted WHILE_LOOP by rows: each round is told where the rows are that it takes and makes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from tiling.records import dataclass
from tosajit.arrays import Array
from tosajit.kernels.runner import Runner
from tosajit.runtime.context import Context
from tosajit.runtime.steps import Frame

if TYPE_CHECKING:
    from tosajit.runtime.body import Body

Places = tuple[int, ...]
Rows = tuple[tuple[int, int], ...]
"""Inputs of which a round takes or makes one row, and how many rows each has."""


@dataclass(frozen=True, slots=True)
class Scan:
    """The rounds, numbered from `first` on by `step`, and what becomes of each input of the loop."""

    inputs: tuple[str, ...]
    outputs: tuple[tuple[int, str], ...]
    """What is read of the results: the place among the inputs, and the name."""
    body: Body
    rounds: int
    first: int
    step: int
    place: int
    """The input that has the number of the round."""
    states: Places
    fixed: Places
    taken: Rows
    made: Rows

    def run(self, frame: Frame) -> None:
        """Run all rounds."""
        given = frame.take(self.inputs)
        results = dict(enumerate(given))
        results |= {place: self._whole(given[place], count) for place, count in self.made}
        number = np.full_like(given[self.place], self.first + self.rounds * self.step)
        results[self.place] = number
        results |= zip(self.states, self._states(given, results, frame.context), strict=True)
        for place, name in self.outputs:
            found = results[place]
            frame.values[name] = found.copy() if found is given[place] else found

    def _whole(self, given: Array, count: int) -> Array:
        """Memory for rows; those that no round makes are as they were."""
        return np.empty_like(given) if abs(self.step) == 1 and count == self.rounds else given.copy()

    def _states(self, given: Sequence[Array], results: Mapping[int, Array], context: Context) -> list[Array]:
        """What states are after the last round; two sets of arrays take turns."""
        states, whole = [given[place] for place in self.states], self.body.whole
        if not self.rounds:
            return states
        numbers = range(self.first, self.first + self.rounds * self.step, self.step)
        fixed = [given[place] for place in self.fixed]
        taken = [(given[place], count) for place, count in self.taken]
        made = [(results[place], count) for place, count in self.made]
        if isinstance(whole, Runner) and whole.runs_rounds and context.log is None:
            return whole.run_rounds(numbers, states, fixed, taken, made)
        sets = [np.empty_like(one) for one in states], [np.empty_like(one) for one in states]
        for turn, number in enumerate(numbers):
            arrays = [*states, *fixed, *_rows(taken, number)]
            states = sets[turn & 1]
            self._round(arrays, [*states, *_rows(made, number)], context)
        return states

    def _round(self, arrays: list[Array], results: list[Array], context: Context) -> None:
        """One round, which writes to arrays that are there."""
        whole = self.body.whole
        if isinstance(whole, Runner):
            context.note(whole, arrays)
            whole.run(arrays, results)
            return
        for to, found in zip(results, self.body.run(arrays, context), strict=True):
            to[...] = found.reshape(to.shape)


def _rows(arrays: Sequence[tuple[Array, int]], number: int) -> list[Array]:
    """The rows of this number."""
    return [array.reshape(count, -1)[number] for array, count in arrays]
