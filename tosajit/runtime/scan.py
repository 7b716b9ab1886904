"""A counted WHILE_LOOP by rows: each round is told where the rows are that it takes and makes."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from tiling.records import dataclass
from tosajit.arrays import Array
from tosajit.kernels.chained import Copy, Link
from tosajit.kernels.runner import Runner
from tosajit.runtime.chain import Part, Turn, Type, bytes_of, passed_constants
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
    types: tuple[Type, ...]
    """Of the inputs, and of the results in the same places."""
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

    @property
    def reads(self) -> tuple[str, ...]:
        """The inputs that are looked at: not those whose rows are all made, nor the number."""
        whole = {place for place, count in self.made if self._makes_all(count)}
        passed = {place for place, _ in self.outputs} - {self.place} - whole
        places = {*self.states, *self.fixed, *dict(self.taken), *dict(self.made), *passed} - whole
        return tuple(dict.fromkeys(self.inputs[place] for place in sorted(places)))

    def run(self, frame: Frame) -> None:
        """Run all rounds."""
        reads = self.reads
        known = dict(zip(reads, frame.take(reads), strict=True))
        given = {place: known[name] for place, name in enumerate(self.inputs) if name in known}
        results = dict(given)
        results |= {place: self._whole(given, place, count) for place, count in self.made}
        results[self.place] = self._last_number()
        results |= zip(self.states, self._states(given, results, frame.context), strict=True)
        for place, name in self.outputs:
            found = results[place]
            frame.values[name] = found.copy() if found is given.get(place) else found

    def part(self) -> Part | None:
        """The same in a chain; None if it takes more than the driver to do a round."""
        runner = self.body.whole
        if not isinstance(runner, Runner) or not runner.is_driven:
            return None
        even, odd = (self._own(kind, self.states) for kind in ("even", "odd"))
        taken, made = self._own("taken", self.taken), self._own("made", self.made)
        fixed = [self.inputs[place] for place in self.fixed]
        first = Turn.of(runner, (*even, *fixed, *taken), (*odd, *made))
        second = Turn.of(runner, (*odd, *fixed, *taken), (*even, *made))
        link = Link(
            runner.program,
            (first.operands, second.operands),
            self.rounds,
            before=tuple(self._entering(even)),
            taken=tuple(self._bringing(taken)),
            made=(tuple(self._taking(odd, first)), tuple(self._taking(even, second))),
            after=tuple(self._leaving(odd if self.rounds % 2 else even)),
        )
        sizes = dict(zip((*even, *odd), 2 * [self._bytes(place) for place in self.states], strict=True))
        rows = [self._bytes(*one) for one in (*self.taken, *self.made)]
        sizes |= zip((*taken, *made), rows, strict=True)
        makes = {name: self.types[place] for place, name in self.outputs}
        constants = {self._number: self._last_number(), **passed_constants(runner)}
        return Part(runner, link, self.reads, makes, sizes, constants)

    def _own(self, kind: str, every: Sequence[object]) -> list[Hashable]:
        """Values of the loop's own."""
        return [(self.body.name, kind, number) for number in range(len(every))]

    @property
    def _number(self) -> Hashable:
        """The value that has the last number."""
        return self.body.name, "number"

    def _bytes(self, place: int, rows: int = 1) -> int:
        """The bytes of a value, or of one of its rows."""
        return bytes_of(self.types[place]) // rows

    def _bringing(self, rows: Sequence[Hashable]) -> Iterator[Copy]:
        """What is copied before each round: the rows that it takes."""
        for row, (place, count) in zip(rows, self.taken, strict=True):
            size = self._bytes(place, count)
            start, step = self.first * size, self.step * size
            yield Copy(self.inputs[place], row, size, source_start=start, source_step=step)

    def _taking(self, states: Sequence[Hashable], turn: Turn) -> Iterator[Copy]:
        """What is copied after each round: states that it passes on, and the rows that it makes."""
        names, kept = dict(self.outputs), len(states)
        for place, state, found in zip(self.states, states, turn.results, strict=False):
            if found != state:
                yield Copy(found, state, self._bytes(place))
        for (place, count), found in zip(self.made, turn.results[kept:], strict=True):
            if place in names:
                size = self._bytes(place, count)
                start, step = self.first * size, self.step * size
                yield Copy(found, names[place], size, target_start=start, target_step=step)

    def _entering(self, states: Sequence[Hashable]) -> Iterator[Copy]:
        """What is copied before all rounds: states, and tensors of which rounds make some rows."""
        names = dict(self.outputs)
        for place, state in zip(self.states, states, strict=True):
            yield Copy(self.inputs[place], state, self._bytes(place))
        for place, count in self.made:
            if place in names and not self._makes_all(count):
                yield Copy(self.inputs[place], names[place], self._bytes(place))

    def _leaving(self, states: Sequence[Hashable]) -> Iterator[Copy]:
        """What is copied after all rounds: results other than rows."""
        found = {self.place: self._number, **dict(zip(self.states, states, strict=True))}
        for place, name in self.outputs:
            if place not in dict(self.made):
                yield Copy(found.get(place, self.inputs[place]), name, self._bytes(place))

    def _makes_all(self, count: int) -> bool:
        """Whether rounds make each of so many rows."""
        return abs(self.step) == 1 and count == self.rounds

    def _whole(self, given: Mapping[int, Array], place: int, count: int) -> Array:
        """Memory for rows; those that no round makes are as they were."""
        return np.empty(*self.types[place]) if self._makes_all(count) else given[place].copy()

    def _last_number(self) -> Array:
        """The number that no round has any more."""
        shape, storage = self.types[self.place]
        return np.full(shape, self.first + self.rounds * self.step, storage)

    def _states(
        self, given: Mapping[int, Array], results: Mapping[int, Array], context: Context
    ) -> list[Array]:
        """What states are after the last round; two sets of arrays take turns."""
        states = [given[place] for place in self.states]
        fixed = [given[place] for place in self.fixed]
        taken = [(given[place], count) for place, count in self.taken]
        made = [(results[place], count) for place, count in self.made]
        sets = [np.empty_like(one) for one in states], [np.empty_like(one) for one in states]
        for turn in range(self.rounds):
            number = self.first + turn * self.step
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
