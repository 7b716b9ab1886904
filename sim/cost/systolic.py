"""Systolic arrays: what a matrix product takes on R rows × C columns, in closed form.

M positions, a window of K products and N columns (filters) are cut into folds that fill the array; each
fold streams the third extent through it and fills and drains the array. Operands stay where the dataflow
says:

| dataflow | rows hold | columns hold | streamed | a fold |
|---|---|---|---|---|
| output | positions | filters | window | K + R + C − 2 |
| weight | window | filters | positions | M + 2R + C − 2 (R to load the weights) |
| input | window | positions | filters | N + 2R + C − 2 (R to load the inputs) |

These are the cycles that SCALE-Sim 3.0.0 reports, which counts from zero and so has one less for a layer.
The repetitions of a batched product, and the channels of a depthwise one (each with a single filter, so
that one column is in use), follow one another. Extents may be integers or arrays of integers.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np

Dataflow = Literal["output", "weight", "input"]
Count = Any
"""An integer, or an array of them."""


class Product(NamedTuple):
    """A matrix product that is repeated with other operands."""

    groups: Count
    rows: Count
    window: Count
    columns: Count


class Folds(NamedTuple):
    """How an array folds a product: how often, how long each fold streams, and fills and drains."""

    count: Count
    stream: Count
    fill: Count

    @property
    def cycles(self) -> Count:
        """All cycles at the full rate."""
        return self.count * (self.stream + self.fill)


class Words(NamedTuple):
    """Elements between array and scratchpad: each fold reads its operands anew."""

    inputs: Count
    weights: Count
    outputs: Count
    sums: Count
    """Partial sums written and read again between folds, in the accumulators."""


def folds(dataflow: Dataflow, rows: Count, columns: Count, product: Product) -> Folds:
    """How an array of rows × columns folds a product."""
    groups, m, k, n = product
    match dataflow:
        case "output":
            return Folds(groups * ceil_div(m, rows) * ceil_div(n, columns), k, rows + columns - 2)
        case "weight":
            return Folds(groups * ceil_div(k, rows) * ceil_div(n, columns), m, 2 * rows + columns - 2)
        case "input":
            return Folds(groups * ceil_div(k, rows) * ceil_div(m, columns), n, 2 * rows + columns - 2)


def words(dataflow: Dataflow, rows: Count, columns: Count, product: Product) -> Words:
    """Elements of each operand that cross the border of the array, as often as they do."""
    groups, m, k, n = product
    inputs, weights, outputs = groups * m * k, groups * k * n, groups * m * n
    match dataflow:
        case "output":
            return Words(inputs * ceil_div(n, columns), weights * ceil_div(m, rows), outputs, 0 * outputs)
        case "weight":
            sums = 2 * outputs * (ceil_div(k, rows) - 1)
            return Words(inputs * ceil_div(n, columns), weights, outputs, sums)
        case "input":
            sums = 2 * outputs * (ceil_div(k, rows) - 1)
            return Words(inputs, weights * ceil_div(m, columns), outputs, sums)


def ceil_div(value: Count, parts: Count) -> Count:
    """The quotient, rounded up."""
    if isinstance(value, int) and isinstance(parts, int):
        return -(-value // parts)
    return np.ceil(value / parts)  # many times as fast as rounding a quotient of arrays down
