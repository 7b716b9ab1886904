"""Bound calls of programs with variables: each that is written has two arrays, which take turns."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock

from tiling.records import dataclass
from tosajit.arrays import Array
from tosajit.kernels.workspace import Workspace
from tosajit.runtime.context import COUNTED, Context, Held, Room
from tosajit.runtime.stateful import Stateful


@dataclass(frozen=True, slots=True)
class Turn:
    """A call that reads the arrays that variables hold, and writes to others, which they hold after it."""

    before: Room
    """What the variables that are written hold."""
    room: Room
    """What it writes to."""
    workspace: Workspace
    """It knows the arrays that the program runs on."""


class Turns:
    """What runs a program on bound arrays, and keeps the variables meanwhile: nobody else has their arrays.

    Who asks a variable for its array ends that; turns begin anew with the next call.
    """

    __slots__ = (
        "_arrays",
        "_context",
        "_kept",
        "_lock",
        "_others",
        "_results",
        "_stateful",
        "_turns",
        "_workspaces",
    )

    def __init__(
        self, stateful: Stateful, arrays: Sequence[Array], context: Context, results: list[Array]
    ) -> None:
        self._stateful, self._context, self._arrays, self._results = stateful, context, arrays, results
        self._turns: tuple[Turn, Turn] | None = None
        self._others: list[int] = []
        """The references to the arrays of a turn while variables hold those of the other one."""
        self._workspaces: tuple[Workspace, ...] = ()
        self._kept: Held | None = None
        """The variables, as long as they are kept."""
        self._lock = Lock()

    def run(self) -> None:
        """Run on what the inputs hold."""
        kept, turns = self._kept, self._turns
        if kept is None or turns is None:
            self._begin()
            return
        turn, following = turns
        turn.workspace.step()
        self._turns = following, turn
        if self._kept is None:  # somebody has asked meanwhile
            with self._lock:
                kept.hold(turn.room)

    def settle(self) -> None:
        """Give variables their arrays, and keep them no longer; a call may be under way."""
        with self._lock:
            kept, self._kept = self._kept, None
            if kept is None:
                return
            while (turns := self._turns) is not None:
                for variable, array in zip(kept.written, turns[0].before.holds, strict=True):
                    variable.take(array)
                if turns is self._turns:
                    break
            for variable in (*kept.read, *kept.written):
                variable.keeper = None

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
        if not self._workspaces:
            workspace = runner.workspace()
            self._workspaces = workspace, workspace.twin()
        one, other = self._workspaces
        self._turns = self._turn(held, first, second, one), self._turn(held, second, first, other)
        self._others = second.references()
        self._kept = held
        for variable in (*held.read, *held.written):
            variable.keeper = self

    def _rooms(self, held: Held) -> tuple[Room, Room]:
        """Arrays for two turns that nobody else has."""
        rooms = [turn.room for turn in self._turns or () if turn.room.references() == self._others]
        first, second, *_ = [*rooms, *(self._stateful.room(held) for _ in range(2))]
        return first, second

    def _turn(self, held: Held, before: Room, after: Room, workspace: Workspace) -> Turn:
        """What goes from one set of arrays to the other."""
        written = dict(zip((one.name for one in held.written), before.holds, strict=True))
        contents = [
            written.get(one.name, array) for one, array in zip(held.read, held.contents(), strict=True)
        ]
        workspace.bind((*self._arrays, *contents, *self._results, *after.made))
        return Turn(before, after, workspace)
