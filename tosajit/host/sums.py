"""Sums of two scaled bytes that are scaled again, as one product of each byte.

Such a sum is a function of 65,536 pairs of bytes, and next to a plane. Where there are numbers with which
`(a * first + b * second + addend) >> shift` is right for every pair, they take the place of three scalings.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from tiling.records import dataclass
from tosajit.arrays import Array
from tosajit.host.scale import Scale

BITS = 30
"""Of results with all that is behind them, so that nothing wraps."""
NEAR = 4
"""How far from the nearest whole number a factor may be."""
WORDS, QUADS = 1 << 31, 1 << 62
KNOWN = 256
"""Planes that are remembered: in networks of unrolled steps most sums are alike."""
BYTES = np.arange(-128, 128)
MANY = 2048
"""Picking so many of the 65,536 pairs takes longer than looking at them all."""
PARTS = 8
"""Of the sums, each so small that it is in the nearest caches and needs no new pages."""


@dataclass(frozen=True, slots=True)
class Plane:
    """`(a * first + b * second + addend) >> shift`, in 32 bits."""

    first: int
    second: int
    addend: int
    shift: int


def plane_of(first: Array, second: Array, scale: Scale) -> Plane | None:
    """The plane for what each byte, from -128 on, adds to sums that are scaled; None if none is found."""
    return _plane(*(term.astype(np.int64).tobytes() for term in (first, second)), scale)


@lru_cache(maxsize=KNOWN)
def _plane(first: bytes, second: bytes, scale: Scale) -> Plane | None:
    terms = [np.frombuffer(term, np.int64) for term in (first, second)]
    ends = [sum(int(end(term)) for term in terms) for end in (np.min, np.max)]
    largest = max(map(abs, ends))
    if largest >= WORDS or largest * scale.factor + abs(scale.addend) + scale.correction >= QUADS:
        return None
    shift = BITS - (max(abs(_scaled(end, scale)) for end in ends) + 1).bit_length()
    if shift < 0:
        return None
    rise = scale.factor / (1 << scale.shift) * (1 << shift) / (BYTES.size - 1)
    factors = [round((int(term[-1]) - int(term[0])) * rise) for term in terms]
    least = _wanted(terms[0][:, None] + terms[1], scale)
    least <<= shift
    least -= (BYTES * factors[0])[:, None]  # in place: new pages for 65,536 numbers take longer than the sums
    least -= BYTES * factors[1]
    found = _near(least, (1 << shift) - 1)
    return None if found is None else Plane(factors[0] + found[0], factors[1] + found[1], found[2], shift)


def _scaled(total: int, scale: Scale) -> int:
    """What becomes of a sum; more for a greater one."""
    return (total * scale.factor + scale.addend - scale.correction * (total < 0)) >> scale.shift


def _wanted(sums: Array, scale: Scale) -> Array:
    """What becomes of sums, in their place."""
    for part in np.split(sums, PARTS):
        signs = part >> 63
        part *= scale.factor
        part += scale.addend
        if scale.correction:
            signs &= scale.correction
            part -= signs
        part >>= scale.shift
    return sums


def _near(least: Array, room: int) -> tuple[int, int, int] | None:
    """What to add to the factors, and the addend, with which all pairs get at least enough, not too much."""
    reach = 4 * NEAR * BYTES.size
    highest, lowest = least.max(), least.min() + room
    if highest - lowest > reach:
        return None
    # Pairs that are further from the limits than factors can move them do not matter.
    moves = np.arange(-NEAR, NEAR + 1)
    enough = _limits(np.maximum, least, least >= highest - reach, moves)
    most = _limits(np.minimum, least, least <= lowest + reach - room, moves) + room
    row, column = (int(place) for place in np.unravel_index(int((most - enough).argmax()), enough.shape))
    if most[row, column] < enough[row, column]:
        return None
    return int(moves[row]), int(moves[column]), int(enough[row, column])


def _limits(extreme: np.ufunc, least: Array, chosen: Array, moves: Array) -> Array:
    """The greatest or least of chosen pairs for all factors, [of the first byte][of the second]."""
    places = np.flatnonzero(chosen)  # of two dimensions it takes as long as all else
    if places.size > MANY:  # then all of them, which are in order
        rows = np.arange(BYTES.size)
        of_rows = np.stack([extreme.reduce(least - BYTES * move, axis=1) for move in moves], axis=1)
    else:
        first, second = np.divmod(places, BYTES.size)
        rows, starts = np.unique(first, return_index=True)
        of_rows = extreme.reduceat(least.ravel()[places, None] - BYTES[second, None] * moves, starts)
    found: Array = extreme.reduce(of_rows[:, None] - (BYTES[rows, None] * moves)[:, :, None])
    return found
