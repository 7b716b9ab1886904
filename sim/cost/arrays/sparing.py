"""Mappings of a row-stationary array that spare the off-chip memory, as Eyeriss has them by its figures.

The paper says that mappings are chosen for energy, of which a word of DRAM takes 200 times as much as a
product, but not by what rule. This one has nearly all of the chip's mappings of both networks that were
measured: of all mappings that give work to as many elements as any does, or to one column of the array less,
that which moves the fewest words from and to DRAM; of equals, the fastest. Each bank of the global buffer
holds inputs or sums. The sums of m filters stay until all channels are added up; inputs are read again for
each m filters, weights for each strip of rows and each n images. While the inputs of a pass are used, those
of one more image come.

That sums take nearly all of the buffer then leaves room for one or two channels of large maps, so that the
bus of sums, not the products, says how long such layers take: five times as long as products would
(JSSC 2017, table VI, first stages of VGG-16). The column less is AlexNet's: with none its second layer would
have 140 elements at work, with two its first 132, where the chip has 135 and 154. The order of the two aims
and the one image more were found with VGG-16's figures.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from math import ceil

from sim.cost.arrays.passes import (
    WORD,
    Layer,
    Mapping,
    best,
    cycles,
    input_words,
    most_channels,
    most_filters,
    sets_of,
    strips,
    window,
)
from sim.machine.arrays import RowStationary

WIDEST = 112
"""Columns of wider maps go in equal parts."""
UNIT = 16
"""Filters whose sums stay are as many times that, or a power of two below."""


@lru_cache(maxsize=1 << 12)
def sparing(array: RowStationary, layer: Layer) -> Mapping:
    """The mapping of a layer; the fastest one if the banks hold no other."""
    groups = sorted(_kept(array, layer))
    found: list[Mapping] = []
    least = None
    for words, m, one in groups:
        if least is not None and words > least:
            break
        fitting = list(_turns(array, layer, m, one))
        if fitting:
            least, found = words, [*found, *fitting]
    if found:
        return min(found, key=lambda one: (cycles(strips(layer, one)), one))
    return best(array, array.map_banks * array.bank_bytes, layer)[0].mapping


def _kept(array: RowStationary, layer: Layer) -> Iterator[tuple[int, int, Mapping]]:
    """Words of DRAM, filters whose sums stay, and images, rows and columns of a mapping that fits in full."""
    rows, taps = window(array, layer)
    enough = _enough(array, layer, rows)
    for e in (e for e in _strips(array, layer, rows) if _active(array, layer, rows, e) >= enough):
        f = ceil(layer.width / ceil(layer.width / WIDEST))
        for n in _parts(layer.images, 4):
            one = Mapping(n, e, f, 1, 1, 1, 1, 1, rows, taps)
            for m in _filters(layer.filters):
                if _fits(array, layer, m, one):
                    yield _words(layer, m, one), m, one


def _turns(array: RowStationary, layer: Layer, m: int, kept: Mapping) -> Iterator[Mapping]:
    """Mappings with as many elements at work as there must be, by what filters and channels they take."""
    rows, e, taps = kept.rows, kept.e, kept.taps
    sets = sets_of(array, rows, e)
    enough = _enough(array, layer, rows)
    for q in range(1, min(layer.channels, most_channels(array, taps)) + 1):
        for p in _powers(min(m, most_filters(array, q, taps))):
            for t in _counts(min(sets, ceil(m / p))):
                if m < layer.filters and m % (p * t):
                    continue
                for r in _counts(min(sets // t, ceil(layer.channels / q))):
                    g = min(sets // (t * r), layer.groups)
                    one = kept._replace(p=p, q=q, r=r, t=t, g=g)
                    if rows * e * r * t * g >= enough and _fits(array, layer, m, one):
                        yield one


def _fits(array: RowStationary, layer: Layer, m: int, one: Mapping) -> bool:
    """Whether the banks hold sums and inputs."""
    sums = WORD * one.g * one.n * m * one.e * one.f
    inputs = WORD * (one.n + 1) * input_words(layer, one)
    return ceil(sums / array.bank_bytes) + ceil(inputs / array.bank_bytes) <= array.map_banks


def _words(layer: Layer, m: int, one: Mapping) -> int:
    """Words that DRAM gives and takes, for each group."""
    whole, rest = divmod(layer.height, one.e)
    columns, images = ceil(layer.width / one.f), ceil(layer.images / one.n)
    read = whole * input_words(layer, one)
    if rest:
        read += input_words(layer, one._replace(e=rest))
    inputs = layer.channels * columns * layer.images * read * ceil(layer.filters / m)
    again = (whole + bool(rest)) * columns * images
    return inputs + layer.filters * layer.channels * layer.kernel[0] * layer.kernel[1] * again


def _strips(array: RowStationary, layer: Layer, rows: int) -> range:
    """Rows of the result that a set may have."""
    return range(1, min(layer.height, array.columns * (array.rows // rows)) + 1)


def _enough(array: RowStationary, layer: Layer, rows: int) -> int:
    """Elements that must be at work: those of the mapping that has most, without a column."""
    most = max(_active(array, layer, rows, e) for e in _strips(array, layer, rows))
    return most - rows * (array.rows // rows)


def _active(array: RowStationary, layer: Layer, rows: int, e: int) -> int:
    """Elements at work if all sets have work for which there is any."""
    return rows * e * _most_sets(array, layer, rows, e)


def _most_sets(array: RowStationary, layer: Layer, rows: int, e: int) -> int:
    """Sets that have work."""
    return min(sets_of(array, rows, e), layer.groups * layer.filters * layer.channels)


def _filters(filters: int) -> list[int]:
    """How many may have their sums in the buffer: all, or equal parts."""
    units = ceil(filters / UNIT)
    equal = {UNIT * m for m in range(1, units) if units % m == 0}
    return sorted({filters, *equal, *_powers(min(filters, UNIT))})


def _parts(whole: int, most: int) -> list[int]:
    """The whole, or halves, thirds and so on, rounded up."""
    return sorted({ceil(whole / parts) for parts in range(1, most + 1)})


def _powers(most: int) -> list[int]:
    """Powers of two: the bus carries four words, of as many filters."""
    return [1 << bit for bit in range(most.bit_length())]


def _counts(most: int) -> list[int]:
    """Of sets."""
    return sorted({most, *_powers(most), 3} - ({3} if most < 3 else set()))
