"""Bound calls of programs with variables: each that is written has two arrays, which take turns."""

from __future__ import annotations

from collections.abc import Sequence

from tiling.records import dataclass
from tosajit.arrays import Array
from tosajit.kernels.workspace import Workspace
from tosajit.runtime.context import COUNTED, Context, Held, Room, Variable
from tosajit.runtime.stateful import Stateful

Pairs = list[tuple[Variable, Array]]


@dataclass(frozen=True, slots=True)
class Turn:
    """A call that reads the arrays that variables hold, and writes to others, which they hold after it."""

    before: Pairs
    after: Pairs
    room: Room
    """What it writes to."""
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
            if variable.array is not array:
                return False
        if turn.room.references() != self._others:
            return False
        workspace.place(turn.every)
        workspace.step()
        for variable, array in turn.after:
            variable.array = array
        self._turns = following, turn
        return True

    def _begin(self) -> None:
        """Run on what variables hold, whatever that is, and prepare the turns that follow."""
        stateful, runner = self._stateful, self._stateful.runner
        held = stateful.held(self._context)
        if not runner.is_settled or not COUNTED:
            stateful.work(self._arrays, held, self._results)
            return
        first, second = self._rooms(held)
        self._turns = None
        stateful.work(self._arrays, held, self._results, first)
        self._turns = self._turn(held, first, second), self._turn(held, second, first)
        self._others = second.references()
        self._workspace = self._workspace or runner.workspace()

    def _rooms(self, held: Held) -> tuple[Room, Room]:
        """Arrays for two turns that nobody else has."""
        rooms = [turn.room for turn in self._turns or () if turn.room.references() == self._others]
        first, second, *_ = [*rooms, *(self._stateful.room(held) for _ in range(2))]
        return first, second

    def _turn(self, held: Held, before: Room, after: Room) -> Turn:
        """What goes from one set of arrays to the other."""
        written = dict(zip((one.name for one in held.written), before.holds, strict=True))
        contents = [
            written.get(one.name, array) for one, array in zip(held.read, held.contents(), strict=True)
        ]
        reads = [pair for pair in zip(held.read, contents, strict=True) if pair[0].name not in written]
        pairs = [[*zip(held.written, room.holds, strict=True)] for room in (before, after)]
        every = (*self._arrays, *contents, *self._results, *after.made)
        return Turn([*reads, *pairs[0]], pairs[1], after, every)
