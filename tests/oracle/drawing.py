"""Drawing valid uses of operators, alone or in graphs, with concrete values that keep every REQUIRE."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol, TypeVar

import numpy as np

from .numbers import STORAGE, Illegal, Unpredictable, maximum, minimum
from .operators import run

T = TypeVar("T")
Shape = tuple[int, ...]
EXTENTS = (1, 2, 3, 1, 4, 5, 7, 8, 9, 11, 13, 16, 17, 31, 32, 33, 64, 65)
STYLES = ("small", "uniform", "extreme", "constant")


class Chooser(Protocol):
    """Where the draws come from: a random generator, or hypothesis."""

    def integer(self, low: int, high: int) -> int:
        """Choose an integer from a closed range."""
        ...

    def pick(self, options: Sequence[T]) -> T:
        """Choose one of some options; the first is the simplest."""
        ...


@dataclass
class RandomChooser:
    """Draws from a NumPy generator."""

    rng: np.random.Generator

    def integer(self, low: int, high: int) -> int:
        """Choose an integer from a closed range."""
        return int(self.rng.integers(low, high, endpoint=True))

    def pick(self, options: Sequence[T]) -> T:
        """Choose one of some options."""
        return options[int(self.rng.integers(len(options)))]


@dataclass(frozen=True)
class Entry:
    """A value of the graph being drawn, with what it holds when the graph runs on the drawn inputs."""

    name: str
    type_name: str
    array: np.ndarray
    kind: str
    """"input", "constant", "shape" or "result"."""

    @property
    def shape(self) -> Shape:
        """Extents of the value."""
        return tuple(self.array.shape)


@dataclass(frozen=True)
class Use:
    """One drawn use of an operator."""

    operator: str
    attributes: Mapping[str, Any]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


class Rejected(Exception):
    """The drawn use is not valid, or its values violate a REQUIRE."""


@dataclass
class Bench:
    """A graph under construction: every value is computed by the oracle as soon as it is drawn."""

    choose: Chooser
    maximum_elements: int = 400
    maximum_rank: int = 6
    sizes_of_axes: Sequence[int] = EXTENTS
    reuse: bool = False
    """Whether operands may be values that exist already."""
    constants_only: frozenset[str] = frozenset()
    """Types that must not be inputs of the graph."""
    entries: dict[str, Entry] = field(default_factory=dict)
    uses: list[Use] = field(default_factory=list)
    focus: Entry | None = None
    """The value that the next use should start from."""

    def boolean(self) -> bool:
        """Choose false or true."""
        return self.choose.pick((False, True))

    def shape(self, minimum_rank: int = 0, maximum_rank: int | None = None) -> Shape:
        """Choose a shape that is not too large."""
        top = self.maximum_rank if maximum_rank is None else min(maximum_rank, self.maximum_rank)
        rank = self.choose.integer(minimum_rank, max(top, minimum_rank))
        return self.extents(rank)

    def extents(self, rank: int, limit: int | None = None) -> Shape:
        """Choose that many extents whose product is not too large."""
        left, result = limit or self.maximum_elements, []
        for _ in range(rank):
            extent = self.choose.pick([e for e in self.sizes_of_axes if e <= left])
            left //= extent
            result.append(extent)
        return tuple(result)

    def values(
        self, type_name: str, shape: Shape, low: int | None = None, high: int | None = None
    ) -> np.ndarray:
        """Choose the elements of an array."""
        low = minimum(type_name) if low is None else low
        high = maximum(type_name) if high is None else high
        style, seed = self.choose.pick(STYLES), self.choose.integer(0, 65535)
        rng = np.random.default_rng(seed)
        if type_name == "BOOL":
            return rng.integers(0, 2, shape).astype(np.bool_)
        if style == "small":
            array = rng.integers(max(low, min(-4, high)), min(high, max(4, low)), shape, endpoint=True)
        elif style == "constant":
            array = np.full(shape, rng.choice([low, high, min(max(0, low), high)]))
        else:
            array = rng.integers(low, high, shape, endpoint=True)
        if style == "extreme":
            ends = [e for e in (low, low + 1, high - 1, high, -1, 0, 1) if low <= e <= high]
            array = np.where(rng.random(shape) < 0.6, rng.choice(ends, shape), array)
        return np.asarray(array).astype(STORAGE[type_name])

    def tensor(
        self,
        type_name: str,
        make_shape: Callable[[], Shape],
        fits: Callable[[Shape], bool] | None = None,
        low: int | None = None,
        high: int | None = None,
    ) -> Entry:
        """Choose an existing value that fits, or make a new input or constant."""
        found = self._existing(type_name, fits, low, high) if self.reuse and fits else []
        if self.focus is not None and self.focus in found:
            chosen, self.focus = self.focus, None
            return chosen
        if found and self.choose.integer(0, 3):
            return self.choose.pick(found)
        return self.fresh(type_name, self.values(type_name, make_shape(), low, high))

    def _existing(
        self, type_name: str, fits: Callable[[Shape], bool] | None, low: int | None, high: int | None
    ) -> list[Entry]:
        def matches(entry: Entry) -> bool:
            if (
                entry.type_name != type_name
                or entry.kind == "shape"
                or not (fits is None or fits(entry.shape))
            ):
                return False
            return (low is None or entry.array.min() >= low) and (high is None or entry.array.max() <= high)

        return [entry for entry in reversed(self.entries.values()) if matches(entry)]

    def fresh(self, type_name: str, array: np.ndarray, kind: str | None = None) -> Entry:
        """Add a new input or constant that holds an array."""
        if kind is None:
            kind = (
                "constant"
                if type_name in self.constants_only
                else self.choose.pick(("input", "constant", "input"))
            )
        return self._add(kind, type_name, np.asarray(array).astype(STORAGE[type_name]))

    def constant(self, type_name: str, values: Any) -> Entry:
        """Add a constant."""
        return self._add("constant", type_name, np.asarray(values).astype(STORAGE[type_name]))

    def sizes(self, values: Sequence[int]) -> Entry:
        """Add a constant shape."""
        return self._add("shape", "SHAPE", np.array(values, np.int64).reshape(-1))

    def _add(self, kind: str, type_name: str, array: np.ndarray) -> Entry:
        entry = Entry(f"{kind}_{len(self.entries)}", type_name, array, kind)
        self.entries[entry.name] = entry
        return entry

    def apply(
        self,
        operator: str,
        inputs: Sequence[Entry],
        output_type: str,
        attributes: Mapping[str, Any] | None = None,
    ) -> Entry:
        """Use an operator on values and compute its result, or raise Rejected."""
        attributes = dict(attributes or {})
        try:
            (array,) = run(
                operator, [e.array for e in inputs], attributes, [e.type_name for e in inputs], [output_type]
            )
        except (Illegal, Unpredictable) as fault:
            raise Rejected(f"{operator}: {fault}") from fault
        if array.size > 8 * self.maximum_elements or array.ndim > self.maximum_rank:
            raise Rejected(f"{operator}: the result has shape {array.shape}")
        result = self._add("result", output_type, array)
        self.uses.append(Use(operator, attributes, tuple(e.name for e in inputs), (result.name,)))
        return result

    def broadcast_operands(
        self, types: Sequence[str], **limits: tuple[int | None, int | None]
    ) -> list[Entry]:
        """Choose operands whose axes are equal or of size one; `limits` is by position, as `_1`."""
        operands: list[Entry] = []
        for position, type_name in enumerate(types):
            low, high = limits.get(f"_{position}", (None, None))
            known = [entry.shape for entry in operands]
            shape = partial(self._stretchable, known) if known else self.shape
            operands.append(self.tensor(type_name, shape, partial(_fits, known), low, high))
        return operands

    def _stretchable(self, known: Sequence[Shape]) -> Shape:
        """Choose a shape that broadcasts with known ones: same axes, ones, or larger where all have ones."""
        kind = self.choose.pick(("same", "ones", "mixed"))
        shape: list[int] = []
        for sizes in zip(*known, strict=True):
            size = max(sizes)
            if kind == "ones" or (kind == "mixed" and self.boolean()):
                size = 1
            elif size == 1 and kind == "mixed" and math.prod(shape) < self.maximum_elements // 16:
                size = self.choose.pick((1, 2, 5))
            shape.append(size)
        return tuple(shape)


def _fits(known: Sequence[Shape], shape: Shape) -> bool:
    return _compatible([*known, shape])


def _compatible(shapes: Sequence[Shape]) -> bool:
    if len({len(shape) for shape in shapes}) != 1:
        return False
    return all(len({size for size in sizes if size != 1}) <= 1 for sizes in zip(*shapes, strict=True))
