"""To whom each cycle belongs.

A front moves along the tiles in the order of the program. What lies between the front and the start of a
tile is waiting, for one thing after another, in the order in which they come; what the tile adds is its own:
the pipeline filling, work, and then what the memories made of it. What an earlier tile on another unit
covers is not counted again.
"""

from __future__ import annotations

from collections.abc import Sequence

from sim.cost.ticks import TICKS
from sim.events.model import Computed
from sim.events.state import COMPUTE, DEPEND, DEPENDENCY, FILL, FRONT, SINCE


def wait(state: list[int], start: int, ready: Sequence[tuple[int, int]]) -> None:
    """Give the cycles between the front and the start of a tile their causes.

    `ready` has for each buffer when it was ready, and the cause of waiting for it.
    """
    front = state[FRONT]
    waits = [(state[DEPEND], DEPENDENCY), (min(state[SINCE], start), DEPENDENCY), *ready]
    for time, cause in sorted(waits):
        if time > front:
            state[cause] += time - front
            front = time
    state[FRONT] = front


def attribute(state: list[int], start: int, end: int, tile: Computed, cause: int) -> None:
    """Give the cycles between the front and the end of a tile their causes."""
    front = state[FRONT]
    if end <= front:
        return
    seen = end - front
    state[FRONT] = end
    over = min(end - start - TICKS * tile.cycles, seen)
    if over:
        state[cause] += over
        seen -= over
    work = min(TICKS * (tile.cycles - tile.fill), seen)
    state[COMPUTE] += work
    state[FILL] += seen - work
