"""To whom each cycle belongs.

A front moves along the tiles in the order of the program. What lies between the front and the start of a
tile is waiting, for what the tile started last upon; what the tile adds is its own: the pipeline filling,
work, and then what the memories made of it. What an earlier tile on another unit covers is not counted again.
"""

from __future__ import annotations

from sim.events.model import Computed
from sim.events.state import COMPUTE, DEPENDENCY, FILL, FRONT, SINCE


def attribute(state: list[int], start: int, end: int, tile: Computed, why: int, cause: int) -> None:
    """Give the cycles up to the end of a tile their causes."""
    front = state[FRONT]
    if start > front:
        gap = start - front
        if why != DEPENDENCY and state[SINCE] > front:
            waited = min(state[SINCE], start) - front
            state[DEPENDENCY] += waited
            gap -= waited
        state[why] += gap
        front = start
    if end <= front:
        return
    seen = end - front
    state[FRONT] = end
    over = min(end - start - tile.cycles, seen)
    if over:
        state[cause] += over
        seen -= over
    work = min(tile.cycles - tile.fill, seen)
    state[COMPUTE] += work
    state[FILL] += seen - work
