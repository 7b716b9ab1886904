"""Running a program again and again in one call: memory for its states and for the rows of a round."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path

import numpy as np

from tosajit import kernels
from tosajit.arrays import Array
from tosajit.kernels.lines import address_of, aligned
from tosajit.kernels.objects import compile_kernel, loaded
from tosajit.kernels.workspace import Workspace, driver

HEAD, ROW = 6, 4
Rows = Sequence[tuple[Array, int]]
"""Arrays, and how many rows each has."""


class Repeated:
    """What rounds of a program work on: two sets of states, which take turns, and places for rows.

    All of it is where it was in the call before, so that the driver notes arguments of kernels once; unless
    there are arrays that are fixed in a call alone.
    """

    def __init__(
        self, workspace: Workspace, numbers: range, states: Sequence[Array], taken: Rows, made: Rows
    ) -> None:
        """`numbers` are those of the rows of the rounds."""
        self._even, self._odd = ([aligned(one.nbytes) for one in states] for _ in range(2))
        self._last = self._odd if len(numbers) % 2 else self._even
        sizes = [array.nbytes // count for array, count in (*taken, *made)]
        places = [aligned(size) for size in sizes]
        self._taken, self._made = places[: len(taken)], places[len(taken) :]
        self._starts = [numbers.start * size for size in sizes]
        self._turns = workspace, workspace.twin()
        calls = [address_of(turn.calls[0]) for turn in self._turns]
        words = [loaded(workspace.image.driver).address, *calls, len(numbers), len(taken), len(made)]
        for place, size in zip(places, sizes, strict=True):
            words += [0, numbers.step * size, address_of(place), size]
        self._words = np.array(words, np.int64)
        self._step = partial(driver(digest()), ctypes.c_int64(address_of(self._words)))
        self._is_bound = False

    def run(self, states: Sequence[Array], fixed: Sequence[Array], rows: Sequence[Array]) -> list[Array]:
        """Run all rounds on rows of these arrays; what states are then."""
        for place, state in zip(self._even, states, strict=True):
            place[:] = state.reshape(-1).view(np.uint8)
        self._words[HEAD::ROW] = [
            address_of(array) + start for array, start in zip(rows, self._starts, strict=True)
        ]
        arrays = None if self._is_bound else self._placed(fixed)
        self._step()
        del arrays  # which have to be there until now
        return [_like(state, place) for state, place in zip(states, self._last, strict=True)]

    def _placed(self, fixed: Sequence[Array]) -> object:
        """Tell the driver where everything is."""
        pairs = (self._even, self._odd), (self._odd, self._even)
        arrays = [(*one, *fixed, *self._taken, *other, *self._made) for one, other in pairs]
        for turn, every in zip(self._turns, arrays, strict=True):
            if fixed:
                turn.place(every)
            else:
                turn.bind(every)
        self._is_bound = not fixed
        return arrays


def _like(state: Array, place: Array) -> Array:
    """The bytes of a place as an array like another one."""
    made = np.empty_like(state)
    made.reshape(-1).view(np.uint8)[:] = place
    return made


@cache
def digest() -> str:
    """The digest of the compiled loop."""
    return compile_kernel(text()).digest


@cache
def text() -> str:
    """The source of the compiled loop."""
    return Path(kernels.__file__).with_name("rounds.py").read_text(encoding="utf-8")
