"""RESCALE of 32-bit sums to int8 by two products of float32, where that is proved to have the bits of TOSA.

A sum times its scale is monotonous, and so is what the kernel computes: it is right for all sums if it is
right on both sides of each step of the result, of which an int8 has 255. What decides is how near products
of float32 are to the exact one. The first is exact: a channel's sums are multiplied by a whole number for
which a float32 is very near what is left of the scale. Rounding twice (TOSA 1.0.1 section 4.5.5) is to add a
number to sums that are not negative, and to subtract it from others: the factor is also chosen so that this
is nearly whole.

Most channels are proved at a glance: where what is left of each step to the next whole sum is more than all
errors together, no sum is on its wrong side. The others' steps are looked at one by one.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from tiling.records import dataclass, replace

Numbers = NDArray[np.int64]
Reals = NDArray[np.float64]

WHOLE = 1 << 24
"""Up to this float32 have all whole numbers."""
MAGIC, MAGIC_BITS = 3 << 22, 0x4B400000
"""A float32 whose last bit is worth 1: what is added to it is rounded to a whole number, half to even."""
LARGEST_FACTOR, LARGEST_RESULT = 256, (1 << 22) - 512
LARGEST_STEP, LEAST_SCALE = 1 << 23, 2.0**-20
"""Within these, the quotients, products and differences below are exact in float64."""
LOOKED_AT, LOOKED_AT_AGAIN, TRIES = 16, 64, 16
"""How many factors are looked at; for what is left how many are, and how many of these are tried at last."""
UNSURE = 1e-6
"""More than float64 changes a quotient of less than `LARGEST_STEP`."""
AT_ONCE = 256
"""So many channels' steps stay in the cache."""


@dataclass(frozen=True, slots=True)
class Channels:
    """What each channel's sums are rescaled by, and how large they can be."""

    multiplier: Numbers
    shift: Numbers
    double_round: bool
    output_zp: int
    bound: Numbers


@dataclass(frozen=True, slots=True)
class FloatTable:
    """The parameters of the rescale for each channel."""

    there: NDArray[np.bool_]
    """Which channels have parameters."""
    factors: NDArray[np.float32]
    """Whole numbers that sums are multiplied by."""
    offsets: NDArray[np.float32]
    """Whole numbers that are then added, or subtracted if a sum is negative and its sign matters."""
    scales: NDArray[np.float32]
    output_zp: int

    def packed(self, lanes: int) -> NDArray[np.int32]:
        """Return [panels][4][lanes] parameters: factors, offsets, scales, and what is added at last.

        The words of the last are more than `pack.MAX_SHIFT`, and so not those of `pack.RescaleTable`.
        """
        addends = np.full(len(self.scales), MAGIC + self.output_zp, np.float32)
        padded = np.zeros((4, -(-len(addends) // lanes) * lanes), np.float32)
        padded[:, : len(addends)] = self.factors, self.offsets, self.scales, addends
        return padded.view(np.int32).reshape(4, -1, lanes).transpose(1, 0, 2)


def float_table(channels: Channels, together: int, low: int, high: int) -> FloatTable | None:
    """Return parameters for results from `low` to `high`; None if no channels have some that are exact.

    So many channels have them together, or none of these.
    """
    if low >= high:
        return None
    search = _Search.of(channels, np.arange(low + 1, high + 1) - channels.output_zp)
    found = np.zeros((3, len(channels.shift)))
    rest = np.nonzero((channels.multiplier > 0) & (search.reach < LARGEST_STEP))[0]
    rest = search.some(rest).fill_apart(found, rest)
    rest = search.some(rest).fill(found, rest, LOOKED_AT_AGAIN, 1)
    rest = _promising(rest, together)
    search.some(rest).fill(found, rest, LOOKED_AT_AGAIN, TRIES)
    there = _whole_groups(found[0] > 0, together)
    if not there.any():
        return None
    factors, offsets, scales = found.astype(np.float32)
    return FloatTable(there, factors, offsets, scales, channels.output_zp)


def _promising(rest: Numbers, together: int) -> Numbers:
    """Leave out channels that go together with so many others of these that hardly all would be found."""
    groups = rest // together
    return rest[2 * np.bincount(groups)[groups] <= together + 1]


def _whole_groups(there: NDArray[np.bool_], together: int) -> NDArray[np.bool_]:
    """Leave out channels that go together with some that are not there."""
    spare = np.ones(-len(there) % together, np.bool_)
    groups = np.concatenate([there, spare]).reshape(-1, together).all(axis=1)
    return np.repeat(groups, together)[: len(there)]


@dataclass(frozen=True, slots=True)
class _Search:
    """Channels, and what their parameters have to do.

    Parameters are rows of factors, offsets and scales.
    """

    scale: Reals
    more: Reals
    """How much further from zero products count before they are rounded."""
    mirrored: bool
    """Whether offsets are subtracted from negative sums."""
    results: Reals
    bound: Reals
    reach: Reals
    """The largest of the steps: the least sums that become the results."""
    largest_factor: Numbers

    @classmethod
    def of(cls, channels: Channels, results: Numbers) -> _Search:
        """Find what the channels demand."""
        scale = np.ldexp(channels.multiplier.astype(np.float64), -channels.shift)
        twice = channels.double_round & (channels.shift > 31)
        more = np.where(twice, np.ldexp(1.0, 30 - channels.shift), 0.0)
        bound, ends = channels.bound.astype(np.float64), results[[0, -1]].astype(np.float64)
        reach = np.abs(_steps(scale[:, None], more[:, None], ends, bound[:, None])).max(axis=1)
        factor = np.clip((WHOLE // (reach + 2)).astype(np.int64), 1, LARGEST_FACTOR)
        mirrored = bool(twice.any()) and bool(results[0] < 1)
        return cls(scale, more, mirrored, results.astype(np.float64), bound, reach, factor)

    def some(self, channels: Numbers) -> _Search:
        """Return some of the channels, in their order."""
        if len(channels) == len(self.scale):
            return self
        names = ("scale", "more", "bound", "reach", "largest_factor")
        return replace(self, **{name: getattr(self, name)[channels] for name in names})

    def fill_apart(self, found: Reals, numbers: Numbers) -> Numbers:
        """Put parameters of these channels, which have numbers, where all are; return what is left.

        Errors of parameters are less than what is left of each step to the next whole sum, and to that below.
        """
        *every, errors = self.choices(LOOKED_AT)
        channels, best = np.arange(len(numbers)), errors.argmin(axis=1)
        chosen = np.stack([one[channels, best] for one in every])
        right = (errors[channels, best] + UNSURE < self.apart()) & self.fits(chosen)
        found[:, numbers[right]] = chosen[:, right]
        return numbers[np.nonzero(~right)]

    def apart(self) -> Reals:
        """Return how far the quotients at which results change are from whole sums, at least."""
        parts = (self.some(part) for part in _parts(len(self.scale)))
        return np.concatenate([part.distances().min(axis=1) for part in parts] or [np.empty(0)])

    def distances(self) -> Reals:
        """Return how far the quotients at which results change are from whole sums: [channels][results]."""
        one, middle = 1 / self.scale[:, None], int(np.searchsorted(self.results, 1))
        further = self.more[:, None] * one
        at = one * (self.results - 0.5)
        at[:, :middle] += further
        at[:, middle:] -= further
        above = np.ceil(at)
        above -= at
        return np.minimum(above, np.subtract(1, above, out=at), out=above)

    def fill(self, found: Reals, numbers: Numbers, looked_at: int, tries: int) -> Numbers:
        """Put parameters of these channels, which have numbers, where all are; return what is left."""
        there = np.zeros(len(numbers), np.bool_)
        for part in _parts(len(numbers)):
            some = self.some(part)
            tried, errors = some.candidates(looked_at, tries)
            right = some.right(tried, errors)
            there[part] = right.any(axis=0)
            found[:, numbers[part]] = tried[:, right.argmax(axis=0), np.arange(len(part))] * there[part]
        return numbers[np.nonzero(~there)]

    def candidates(self, looked_at: int, tries: int) -> tuple[Reals, Reals]:
        """Return [tries][channels] parameters with factors that leave least errors, and the most of these.

        If several are tried, also the second nearest offsets and scales are looked at, and there is one more
        that rounds up what is half way between two results.
        """
        *every, errors = self.choices(looked_at, beside=tries > 1)
        best = np.argpartition(errors, tries, axis=1)[:, :tries].T
        channels = np.arange(len(errors))
        chosen = np.stack([one[channels, best] for one in every])
        most = errors[channels, best].max(axis=0)
        if tries == 1:
            return chosen, most
        upwards = chosen[:, :1] + [[[0]], [[1]], [[0]]]
        return np.concatenate([chosen, upwards], axis=1), most + 1 / chosen[0, 0]

    def choices(self, looked_at: int, beside: bool = False) -> tuple[Reals, Reals, Reals, Reals]:
        """Return factors, offsets, scales and their errors, counted in sums: [channels][choices].

        Errors are those of the longest steps; others have less.
        """
        factors = np.maximum(self.largest_factor[:, None] - np.arange(looked_at), 1).astype(np.float64)
        further = (self.more / self.scale)[:, None]
        exact, wanted = self.scale[:, None] / factors, further * factors
        nearest, offsets = exact.astype(np.float32), np.rint(wanted)
        scales = nearest.astype(np.float64)
        if beside:
            away = np.where(scales < exact, 1, -1).astype(np.int32)
            second = (nearest.view(np.int32) + away).view(np.float32).astype(np.float64)
            other = np.maximum(offsets + np.where(offsets < wanted, 1, -1), 0)
            scales = np.concatenate([scales, scales, second, second], axis=1)
            offsets = np.concatenate([offsets, other, offsets, other], axis=1)
            factors, exact, wanted = (np.tile(one, 4) for one in (factors, exact, wanted))
        errors = np.abs(scales / exact - 1) * (self.reach[:, None] + further)
        errors += np.abs(offsets - wanted) / factors
        return factors, offsets, scales, errors

    def right(self, parameters: Reals, errors: Reals) -> NDArray[np.bool_]:
        """Tell of which parameters each step, and the sum below it, are on the right sides of a half.

        Only steps that such errors can put on a wrong side are looked at.
        """
        factors, offsets, scales = parameters
        channels, results = np.nonzero(self.distances() <= errors[:, None] + UNSURE)
        right = self.fits(parameters)
        if not len(channels):
            return right
        wanted, bound = self.results[results], self.bound[channels]
        steps = _steps(self.scale[channels], self.more[channels], wanted, bound)
        one, more = (factors * scales)[:, channels], (offsets * scales)[:, channels]
        above = steps * one
        above += np.where(wanted > 0, more, -more) if self.mirrored else more
        above -= wanted - 0.5
        wrong = ((above <= 0) & (steps <= bound)) | ((above >= one) & (steps > -bound))
        firsts = np.nonzero(np.diff(channels, prepend=-1))[0]
        right[:, channels[firsts]] &= ~np.logical_or.reduceat(wrong, firsts, axis=1)
        return right

    def fits(self, parameters: Reals) -> NDArray[np.bool_]:
        """Tell for which channels no product is so large that what it is added to loses bits."""
        factors, offsets, scales = parameters
        ends = factors * scales * (self.bound + 3)
        whole = self.reach * factors + factors + offsets < WHOLE
        return np.asarray((scales >= LEAST_SCALE) & (ends < LARGEST_RESULT) & whole)


def _parts(count: int) -> Iterator[Numbers]:
    """Return the numbers of channels, as many at a time as stay in the cache."""
    return (np.arange(first, min(first + AT_ONCE, count)) for first in range(0, count, AT_ONCE))


def _steps(scale: Reals, more: Reals, results: Reals, bound: Reals) -> Reals:
    """Return the least sums that become results, the nearest that there are.

    This is TOSA 1.0.1 section 4.5.5 on its head; zero points are left out.
    """
    sides = np.sign(results - 0.5)
    with np.errstate(divide="ignore", invalid="ignore"):
        steps = np.ceil((results - 0.5 - more * sides) / scale)
    return np.clip(steps, -bound, bound + 1, out=steps)
