"""Row-stationary arrays: how Eyeriss maps a convolution, and what its processing passes take.

A set of R × e elements computes e rows of a result: each element keeps a row of a filter and slides it
along a row of the input; partial sums go up its column. The array holds as many sets as fit, for other
filters (t) or other channels (r, whose sums add up along the column); sets wider than the array are cut and
stacked. An element works on p filters and q channels in turn, as far as its scratchpads hold them. A pass
does all this for n images; the pass is the unit of time. Names and mapping: Chen, Emer, Sze, ISCA 2016;
Chen, Krishna, Emer, Sze, JSSC 52(1), 2017 (whose active elements for AlexNet the mapping has: 154, 135,
156, 156, 156).

A pass takes, in each element, a cycle for each product and one for each partial sum that comes from below;
the elements go on while operands come over their buses (4 words a cycle each), unless a bus takes longer.
Then the last sums climb the column and leave over the bus. Weights for the next pass come while this one
runs. Not modelled: how far the chip stops for weights (its scratchpads have no room for two sets of them;
that would add up to 8 % to AlexNet's first layer, where we are below silicon), and why its fifth layer
takes less for each pass than its fourth, whose passes are the same (there we are above).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from math import ceil, prod
from typing import NamedTuple

from sim.machine.arrays import RowStationary

BUS = 4
"""Words a cycle from the global buffer, for each kind of operand: its port has 64 bits (JSSC 2017)."""
WORD = 2
"""Bytes of a word."""


class Layer(NamedTuple):
    """A convolution as the array sees it, for each of its groups."""

    groups: int
    images: int
    filters: int
    channels: int
    height: int
    """Rows of the result (E)."""
    width: int
    """Columns of the result (F)."""
    kernel: tuple[int, int]
    stride: int
    input_width: int

    @property
    def macs(self) -> int:
        """Products in all."""
        sums = self.groups * self.images * self.filters * self.height * self.width
        return sums * self.channels * prod(self.kernel)


class Mapping(NamedTuple):
    """What a processing pass does, with the letters of the papers."""

    n: int
    """Images."""
    e: int
    """Rows of the result in a set."""
    p: int
    """Filters of an element."""
    q: int
    """Channels of an element."""
    r: int
    """Sets for different channels."""
    t: int
    """Sets for different filters."""
    g: int
    """Sets for different groups."""
    rows: int
    """Rows of the filter at a time (R, or as many as the array has)."""
    taps: int
    """Elements of a row of a filter at a time (S, or as many as an element keeps)."""


class Passes(NamedTuple):
    """The passes of a layer: how many, what each takes and moves."""

    number: int
    cycles: int
    """Of each."""
    fill: int
    """The part of it in which the last sums leave."""
    active: int
    """Elements that work."""
    filter_words: int
    input_words: int
    sum_words: int
    """Read as well as written."""
    mapping: Mapping

    @property
    def total(self) -> int:
        """Cycles of all passes."""
        return self.number * self.cycles


@lru_cache(maxsize=1 << 14)
def best(array: RowStationary, buffer_bytes: int, layer: Layer) -> Passes:
    """The passes of the mapping that takes the least time; of equals, that which moves the fewest words."""
    found = (passes(layer, mapping) for mapping in mappings(array, layer, buffer_bytes))
    return min(found, key=lambda p: (p.total, p.number * (p.filter_words + p.input_words + 2 * p.sum_words)))


def mappings(array: RowStationary, layer: Layer, buffer_bytes: int) -> Iterator[Mapping]:
    """Mappings that fill the array and fit its scratchpads."""
    rows, taps = min(layer.kernel[0], array.rows), min(layer.kernel[1], array.input_words, array.filter_words)
    stacked = array.rows // rows
    q = min(layer.channels, max(1, min(array.input_words, array.filter_words) // taps))
    # Filters come in powers of two: the bus carries four words, of as many filters.
    most = min(layer.filters, array.sum_words, max(1, array.filter_words // (q * taps)))
    p = min(most, 1 << (most.bit_length() - 1)) if most < layer.filters else layer.filters
    widest = min(layer.height, array.columns * stacked)
    for e in _heights(layer.height, widest, array.columns):
        cut = ceil(e / array.columns)
        sets = stacked // cut if cut > 1 else stacked * (array.columns // e)
        for r in {1, 2, *(1 << bit for bit in range(2, sets.bit_length())), sets}:
            if r > sets or (r > 1 and (r - 1) * q >= layer.channels):
                continue
            t = min(sets // r, ceil(layer.filters / p))
            g = min(max(1, sets // (r * t)), layer.groups)
            sums = p * t * g * e * layer.width * WORD
            inputs = q * r * g * ((e - 1) * layer.stride + rows) * layer.input_width * WORD
            n = max(1, min(layer.images, buffer_bytes // (sums + inputs)))
            yield Mapping(n, e, p, q, r, t, g, rows, taps)


def _heights(height: int, widest: int, columns: int) -> list[int]:
    """Rows of the result in a set: all if the array has room, else what it has room for, or parts of that."""
    if height <= widest:
        return [height]
    return sorted({widest, *(columns // parts for parts in (1, 2, 4) if columns >= parts)})


def passes(layer: Layer, mapping: Mapping) -> Passes:
    """What the passes of a mapping take."""
    n, e, p, q, r, t, g, rows, taps = mapping
    count = (
        ceil(layer.groups / g)
        * ceil(layer.images / n)
        * ceil(layer.filters / (p * t))
        * ceil(layer.channels / (q * r))
        * ceil(layer.height / e)
        * ceil(layer.kernel[0] / rows)
        * ceil(layer.kernel[1] / taps)
    )
    filter_words = p * t * g * q * r * rows * taps
    input_words = n * g * q * r * ((e - 1) * layer.stride + rows) * layer.input_width
    sum_words = n * p * t * g * e * layer.width
    busy = n * layer.width * p * (taps * q + 1)
    buses = ceil(filter_words / BUS), ceil(input_words / BUS), ceil(sum_words / BUS)
    fill = rows * r + ceil(p * t * g * e / BUS)
    active = rows * e * r * t * g
    cycles = max(busy, *buses) + fill
    return Passes(count, cycles, fill, active, filter_words, input_words, sum_words, mapping)
