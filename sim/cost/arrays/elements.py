"""What goes on inside a row-stationary array: words of the memories in its elements, and words on their way.

Counted as in Chen, Emer, Sze, ISCA 2016, section VI: each product reads an input and a filter from the
element's memories, and reads and writes a sum, but for the first of those that add up in the element; each
input and filter that comes to an element, and each sum that goes from one to the next, crosses the array
once. Where an input is zero the element neither reads the filter nor multiplies nor adds (JSSC 2017, section
V-C).
"""

from __future__ import annotations

from math import ceil

from sim.cost.arrays.passes import Layer, Passes


def element_words(part: Passes, zeros: float) -> int:
    """Words that elements read and write in their memories in a pass, if so much of the inputs is zero."""
    one = part.mapping
    added = one.taps * one.q
    products = part.active * one.n * one.f * one.p * added
    sums = 2 * (products - products // added)
    return ceil(products + (1 - zeros) * (products + sums))


def array_words(layer: Layer, part: Passes) -> int:
    """Words that come to elements in a pass, or go from one to the next."""
    one = part.mapping
    wide = layer.input_width if one.f == layer.width else (one.f - 1) * layer.stride + one.taps
    come = part.active * one.q * (one.p * one.taps + one.n * wide)
    return come + part.sum_words * (one.rows * one.r - 1)
