"""Bound calls of programs with variables: each that is written has two arrays, which take turns."""

from __future__ import annotations

from collections.abc import Sequence
from sys import getrefcount

from tiling.records import dataclass
from tosajit.arrays import Array
from tosajit.kernels.workspace import Workspace
from tosajit.runtime.context import ALONE, Context, Held, Variable
from tosajit.runtime.stateful import Stateful

Pairs = list[tuple[Variable, Array]]


@dataclass(frozen=True, slots=True)
class Turn:
    """A call that reads the arrays that variables hold, and writes to others, which they hold after it."""

    before: Pairs
    after: Pairs
    made: list[Array]
    """The arrays of `after`."""
    every: tuple[Array, ...]
    """What the program runs on."""


class Turns:
    """What runs a program on bound arrays: a call only sees that nobody else has used the variables."""

    __slots__ = ("_arrays", "_context", "_others", "_results", "_stateful", "_turns", "_workspace")

    def __init__(
        self, stateful: Stateful, arrays: Sequence[Array], context: Context, results: list[Array]
    ) -> None:
        self._stateful, self._context, self._arrays, self._results = stateful, context, arrays, results
        self._turns: tuple[Turn, Turn] | None = None
        self._others: list[int] = []
        """The references to the arrays of a turn while variables hold those of the other one."""
        self._workspace: Workspace | None = None

    def run(self) -> None:
        """Run on what the inputs hold."""
        if not self._went_on():
            self._begin()

    def _went_on(self) -> bool:
        """Take the next turn, if variables are as the last one has left them."""
        if self._turns is None or (workspace := self._workspace) is None:
            return False
        turn, following = self._turns
        for variable, array in turn.before:
            if variable.data is not array:
                return False
        if [*map(getrefcount, turn.made)] != self._others:
            return False
        workspace.place(turn.every)
        workspace.step()
        for variable, array in turn.after:
            variable.data = array
        self._turns = following, turn
        return True

    def _begin(self) -> None:
        """Run on what variables hold, whatever that is, and prepare the turns that follow."""
        stateful, runner = self._stateful, self._stateful.runner
        if not runner.is_settled or ALONE < 0:
            stateful.call(self._arrays, self._context, self._results)
            return
        made, then = self._free()
        self._turns, held = None, stateful.held(self._context)
        stateful.work(self._arrays, held, self._results, made)
        self._turns = self._turn(held, made, then), self._turn(held, then, made)
        self._others = [*map(getrefcount, then)]
        self._workspace = self._workspace or runner.workspace()

    def _free(self) -> tuple[list[Array], list[Array]]:
        """Two sets of arrays that nobody else has."""
        sets = [turn.made for turn in self._turns or () if [*map(getrefcount, turn.made)] == self._others]
        made, then, *_ = [*sets, self._stateful.room(), self._stateful.room()]
        return made, then

    def _turn(self, held: Held, before: list[Array], after: list[Array]) -> Turn:
        """What goes from one set of arrays to the other."""
        written = dict(zip((one.name for one in held.written), before, strict=True))
        contents = [
            written.get(one.name, array) for one, array in zip(held.read, held.contents(), strict=True)
        ]
        reads = [pair for pair in zip(held.read, contents, strict=True) if pair[0].name not in written]
        pairs = [[*zip(held.written, arrays, strict=True)] for arrays in (before, after)]
        return Turn([*reads, *pairs[0]], pairs[1], after, (*self._arrays, *contents, *self._results, *after))
