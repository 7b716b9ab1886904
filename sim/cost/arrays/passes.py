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
    f: int
    """Columns of the result at a time (F, or a part of it)."""
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

    def of(self, layer: Layer) -> Mapping:
        """The same for a part of the layer that it was made for: no more than there is."""
        p, q = min(self.p, layer.filters), min(self.q, layer.channels)
        return self._replace(
            n=min(self.n, layer.images),
            e=min(self.e, layer.height),
            f=min(self.f, layer.width),
            p=p,
            q=q,
            r=min(self.r, ceil(layer.channels / q)),
            t=min(self.t, ceil(layer.filters / p)),
            g=min(self.g, layer.groups),
        )


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

    @property
    def words(self) -> int:
        """Words between buffer and array of all passes."""
        return self.number * (self.filter_words + self.input_words + 2 * self.sum_words)


@lru_cache(maxsize=1 << 14)
def best(array: RowStationary, buffer_bytes: int, layer: Layer) -> tuple[Passes, ...]:
    """The passes of the mapping that takes the least time; of equals, that which moves the fewest words."""
    found = (strips(layer, mapping) for mapping in mappings(array, layer, buffer_bytes))
    return min(found, key=lambda done: (cycles(done), sum(part.words for part in done)))


def cycles(done: tuple[Passes, ...]) -> int:
    """Of all passes."""
    return sum(part.total for part in done)


def strips(layer: Layer, mapping: Mapping) -> tuple[Passes, ...]:
    """The passes of a layer, or of a part of it: those of whole strips, and of a last one with fewer rows."""
    fitting = mapping.of(layer)
    rest = layer.height % fitting.e
    whole = passes(layer._replace(height=layer.height - rest), fitting)
    if not rest:
        return (whole,)
    return whole, passes(layer._replace(height=rest), fitting._replace(e=rest))


def mappings(array: RowStationary, layer: Layer, buffer_bytes: int) -> Iterator[Mapping]:
    """Mappings that fill the array and fit its scratchpads."""
    rows, taps = window(array, layer)
    q = min(layer.channels, most_channels(array, taps))
    # Filters come in powers of two: the bus carries four words, of as many filters.
    most = min(layer.filters, most_filters(array, q, taps))
    p = min(most, 1 << (most.bit_length() - 1)) if most < layer.filters else layer.filters
    widest = min(layer.height, array.columns * (array.rows // rows))
    for e in _heights(layer.height, widest, array.columns):
        sets = sets_of(array, rows, e)
        for r in {1, 2, *(1 << bit for bit in range(2, sets.bit_length())), sets}:
            if r > sets or (r > 1 and (r - 1) * q >= layer.channels):
                continue
            t = min(sets // r, ceil(layer.filters / p))
            g = min(max(1, sets // (r * t)), layer.groups)
            one = Mapping(1, e, layer.width, p, q, r, t, g, rows, taps)
            held = WORD * (p * t * g * e * layer.width + input_words(layer, one))
            yield one._replace(n=max(1, min(layer.images, buffer_bytes // held)))


def window(array: RowStationary, layer: Layer) -> tuple[int, int]:
    """Rows of a filter, and elements of a row, at a time."""
    high, wide = layer.kernel
    return min(high, array.rows), min(wide, array.input_words, array.filter_words)


def most_channels(array: RowStationary, taps: int) -> int:
    """Channels whose inputs and filters an element keeps."""
    return max(1, min(array.input_words, array.filter_words) // taps)


def most_filters(array: RowStationary, q: int, taps: int) -> int:
    """Filters that an element keeps of so many channels, and their sums."""
    return min(array.sum_words, max(1, array.filter_words // (q * taps)))


def sets_of(array: RowStationary, rows: int, e: int) -> int:
    """Sets beside each other; those wider than the array are cut and stacked."""
    stacked, cut = array.rows // rows, ceil(e / array.columns)
    return stacked // cut if cut > 1 else stacked * (array.columns // e)


def input_words(layer: Layer, mapping: Mapping) -> int:
    """Words of inputs of a pass, of each image."""
    f, channels = mapping.f, mapping.g * mapping.q * mapping.r
    wide = layer.input_width if f == layer.width else (f - 1) * layer.stride + layer.kernel[1]
    return channels * ((mapping.e - 1) * layer.stride + mapping.rows) * wide


def _heights(height: int, widest: int, columns: int) -> list[int]:
    """Rows of the result in a set: all if the array has room, else what it has room for, or parts of that."""
    if height <= widest:
        return [height]
    return sorted({widest, *(columns // parts for parts in (1, 2, 4) if columns >= parts)})


def passes(layer: Layer, mapping: Mapping) -> Passes:
    """What the passes of a mapping take."""
    n, e, f, p, q, r, t, g, rows, taps = mapping
    count = (
        ceil(layer.groups / g)
        * ceil(layer.images / n)
        * ceil(layer.filters / (p * t))
        * ceil(layer.channels / (q * r))
        * ceil(layer.height / e)
        * ceil(layer.width / f)
        * ceil(layer.kernel[0] / rows)
        * ceil(layer.kernel[1] / taps)
    )
    filter_words = p * t * g * q * r * rows * taps
    inputs = n * input_words(layer, mapping)
    sum_words = n * p * t * g * e * f
    busy = n * f * p * (taps * q + 1)
    buses = ceil(filter_words / BUS), ceil(inputs / BUS), ceil(sum_words / BUS)
    fill = rows * r + ceil(p * t * g * e / BUS)
    active = rows * e * r * t * g
    return Passes(count, max(busy, *buses) + fill, fill, active, filter_words, inputs, sum_words, mapping)
