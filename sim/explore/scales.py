"""Where values stand on an axis of a picture, and which of them are written beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, log2
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sim.explore.sensitivity import level_of, numbers_of
from sim.explore.wording import tight, unit_of, value_text, with_unit

LEVELS = 8
"""Different values that stand at even distances; more stand by their size."""
WIDE = 5.0
"""From this ratio of largest to smallest on, an axis is logarithmic."""
TICKS = 5


@dataclass(frozen=True, slots=True)
class Scale:
    """Values of points as heights from 0 to 1."""

    places: NDArray[np.float64]
    ticks: tuple[tuple[float, str], ...]
    """Heights with a text."""


def scale_of(name: str, values: Sequence[Any], unit: str | None = None) -> Scale:
    """Few different values at even distances, many by their size, those that are no numbers by their name."""
    unit = unit_of(name) if unit is None else unit
    numbers = numbers_of(values)
    if numbers is None:
        return _even(name, values, [level_of(value) for value in values])
    different = np.unique(numbers)
    if len(different) <= LEVELS:
        return _even(name, values, numbers.tolist(), unit)
    wide = is_wide(numbers)
    low, high = different[0], different[-1]
    marks = [one for one in nice(low, high, unit, wide) if low <= one <= high]
    every = np.log(np.r_[numbers, marks]) if wide else np.r_[numbers, marks]
    first, last = every[: len(numbers)].min(), every[: len(numbers)].max()
    places = (every - first) / (last - first)
    texts = [tight(with_unit(one, unit)) for one in marks]
    return Scale(places[: len(numbers)], tuple(zip(places[len(numbers) :].tolist(), texts, strict=True)))


def is_wide(values: NDArray[np.float64]) -> bool:
    """Whether values differ so much that a logarithmic axis shows them better."""
    return bool(len(values) and values.min() > 0 and values.max() > WIDE * values.min())


def axis_ticks(axis: Any, values: NDArray[np.float64], unit: str) -> None:
    """Round values with units on an axis; it becomes logarithmic, if the values differ much."""
    from matplotlib.ticker import FixedLocator, NullLocator

    low, high = float(values.min()), float(values.max())
    wide = is_wide(values)
    name = axis.axis_name
    if wide:
        getattr(axis.axes, f"set_{name}scale")("log")
    marks = nice(low, high, unit, wide)
    if marks:
        axis.set_major_locator(FixedLocator(marks))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(lambda value, _: tight(with_unit(value, unit)))


def nice(low: float, high: float, unit: str, wide: bool) -> list[float]:
    """About five round values from low to high: powers of two for bytes, else 1, 2 or 5 times one of ten."""
    if not high > low:
        return [low]
    if unit == "bytes" and low > 0:
        return _bytes(low, high, wide)
    if not wide:
        return _even_steps(low, high)
    decades = range(floor(np.log10(low)), ceil(np.log10(high)) + 1)
    for subs in ((1,), (1, 3), (1, 2, 5), (1, 1.5, 2, 3, 5, 7)):
        marks = [sub * 10.0**decade for decade in decades for sub in subs]
        marks = [mark for mark in marks if low <= mark <= high]
        if len(marks) >= 3:
            return marks[:: ceil(len(marks) / 8)]
    return _even_steps(low, high)


def _bytes(low: float, high: float, wide: bool) -> list[float]:
    """Powers of two, or multiples of one."""
    if wide:
        powers = range(ceil(log2(low)), floor(log2(high)) + 1)
        return [2.0**power for power in powers[:: ceil(len(powers) / 8)]]
    step = 2.0 ** ceil(log2((high - low) / TICKS))
    return [step * number for number in range(ceil(low / step), floor(high / step) + 1)]


def _even_steps(low: float, high: float) -> list[float]:
    rough = (high - low) / TICKS
    power = 10.0 ** floor(np.log10(rough))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= rough * 0.999)
    return [step * number for number in range(ceil(low / step - 1e-9), floor(high / step + 1e-9) + 1)]


def _even(name: str, values: Sequence[Any], keys: Sequence[Any], unit: str = "") -> Scale:
    """Each different value at its own height."""
    known = dict(zip(keys, values, strict=True))
    order = sorted(known)
    height = {key: (place + 0.5) / len(order) for place, key in enumerate(order)}
    texts = [tight(with_unit(known[key], unit)) if unit else value_text(name, known[key]) for key in order]
    ticks = tuple((height[key], text) for key, text in zip(order, texts, strict=True))
    return Scale(np.array([height[key] for key in keys]), ticks)
