"""Tiles of a section by classes: those of one class have equal extents and move equal boxes.

Tiles differ where a loop is cut at its end, and where a box is clipped at the border of its operand. Along
each loop that is so at few positions; between them lies a long run of equal ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import prod
from weakref import WeakValueDictionary

import numpy as np

from tiling.nest import Access, Affine, Nest
from tiling.program import Image, Loop, Section

Range = tuple[int, int]
"""First point and end along an axis."""
Dimension = tuple[Affine, int, int]
"""Of a box: its index, the extent of the operand, and the step."""


@dataclass(frozen=True, slots=True)
class Walk:
    """A loop over tiles: one range for each class, and the classes in order as runs (class, how many)."""

    axis: int
    ranges: tuple[Range, ...]
    runs: tuple[tuple[int, int], ...]

    def counts(self) -> list[int]:
        """How many steps each class has."""
        total = [0] * len(self.ranges)
        for number, count in self.runs:
            total[number] += count
        return total


class Tiles:
    """The classes of a section's tiles; a class of tiles is one class for each loop."""

    def __init__(self, section: Section) -> None:
        self.section = section
        nest = section.nest
        self.full: tuple[Range, ...] = tuple((0, axis.extent) for axis in nest.axes)
        self.images = [
            (access, image)
            for access, image in zip(nest.accesses, section.images, strict=True)
            if image is not None
        ]
        self.walks = tuple(self._walk(depth) for depth in range(len(section.loops)))
        self.first = tuple(walk.runs[0][0] for walk in self.walks)

    @staticmethod
    def of(section: Section) -> Tiles:
        """Those of a section, which machines share that have it."""
        found = _known.get(id(section))
        if found is None:
            found = _known[id(section)] = Tiles(section)
        return found

    def extents(self, classes: Sequence[int]) -> tuple[int, ...]:
        """Points of a tile along each axis."""
        return tuple(end - begin for begin, end in self.ranges(classes))

    def ranges(self, classes: Sequence[int]) -> list[Range]:
        """First points and ends; along loops for which no class is given, those of the whole axis."""
        ranges = list(self.full)
        for walk, number in zip(self.walks, classes, strict=False):
            ranges[walk.axis] = walk.ranges[number]
        return ranges

    def boxes(self, access: Access, image: Image) -> Boxes:
        """The boxes of an access, clipped to the operand."""
        return Boxes(self, access, image)

    def combinations(self, depth: int) -> Iterator[tuple[tuple[int, ...], int]]:
        """Classes of the outer `depth` loops, with how many tiles there are of each."""
        counts = [walk.counts() for walk in self.walks[:depth]]
        for classes in product(*(range(len(one)) for one in counts)):
            yield classes, prod(one[number] for one, number in zip(counts, classes, strict=True))

    def _walk(self, depth: int) -> Walk:
        loop = self.section.loops[depth]
        extent, count = self.section.nest.axes[loop.axis].extent, loop.count
        alone, joined = self._moved(depth)

        def ranges(step: int) -> list[tuple[int, int]]:
            span = (step * loop.step, min((step + 1) * loop.step, extent))
            return [*self.full[: loop.axis], span, *self.full[loop.axis + 1 :]]

        def key(step: int) -> tuple[int, ...]:
            there = ranges(step)
            low, high = there[loop.axis]
            lengths = [_clipped(index, size, every, there) for index, size, every in alone]
            return (high - low, step if _leaves(joined, there) else -1, *lengths)

        def clipped(step: int) -> bool:
            return _leaves([*alone, *joined], ranges(step))

        low, high = 0, count - 2
        while low < high and clipped(low):
            low += 1
        while high > low and clipped(high):
            high -= 1
        steps = [(key(step), step, 1) for step in range(low)]
        if low <= high:
            steps.append((key(low), low, high - low + 1))
        steps += [(key(step), step, 1) for step in range(max(high + 1, low), count)]
        return _classes(loop.axis, loop.step, extent, steps)

    def _moved(self, depth: int) -> tuple[list[Dimension], list[Dimension]]:
        """Dimensions of boxes that a loop moves alone, and those that it moves with others.

        Where one of the latter may be clipped, what is left of it depends on where the others are.
        """
        loops, alone, joined = self.section.loops, list[Dimension](), list[Dimension]()
        axis = loops[depth].axis
        for access, image in self.images:
            for index, extent, every in zip(access.index, access.shape, _steps(access, image), strict=True):
                if depth >= image.level or not isinstance(index, Affine) or not index.coefficients[axis]:
                    continue
                moving = sum(1 for loop in loops[: image.level] if index.coefficients[loop.axis])
                (alone if moving == 1 else joined).append((index, extent, every))
        return alone, joined


_known: WeakValueDictionary[int, Tiles] = WeakValueDictionary()
"""By the identity of their section, which they keep."""


class Boxes:
    """The boxes of an access by classes of tiles; along each dimension, an extent is worked out once."""

    def __init__(self, tiles: Tiles, access: Access, image: Image) -> None:
        self.tiles = tiles
        axes = [loop.axis for loop in tiles.section.loops[: image.level]]
        self.dimensions: list[tuple[Affine | None, int, int, list[int]]] = []
        """Index, extent and step of each, and which loops move it."""
        for index, extent, step in zip(access.index, access.shape, _steps(access, image), strict=True):
            affine = index if isinstance(index, Affine) else None
            moving = [depth for depth, axis in enumerate(axes) if affine and affine.coefficients[axis]]
            self.dimensions.append((affine, extent, step, moving))
        self.known: dict[tuple[int, ...], int] = {}

    def box(self, classes: Sequence[int]) -> tuple[int, ...]:
        """Extents of a tile's box; `classes` are those of the loops that move it."""
        return tuple([self.size(number, classes) for number in range(len(self.dimensions))])

    def size(self, number: int, classes: Sequence[int]) -> int:
        """Its extent along a dimension."""
        index, extent, step, moving = self.dimensions[number]
        if index is None:
            return extent
        key = number, *[classes[depth] for depth in moving]
        found = self.known.get(key)
        if found is None:
            found = self.known[key] = _clipped(index, extent, step, self.tiles.ranges(classes))
        return found

    def fixed(self, classes: Sequence[int]) -> tuple[int | tuple[int, ...], ...]:
        """What the outermost loops say of its extents: these, or classes where others have a say, too."""
        found = list[int | tuple[int, ...]]()
        for number, (_, _, _, moving) in enumerate(self.dimensions):
            outer = tuple([classes[depth] for depth in moving if depth < len(classes)])
            if outer:
                found.append(self.size(number, classes) if len(outer) == len(moving) else outer)
        return tuple(found)


def rows_and_run(access: Access, image: Image, box: Sequence[int]) -> tuple[int, int]:
    """How many contiguous runs of how many elements a box is in the memory."""
    run, position, steps = 1, len(box), _steps(access, image)
    while position and steps[position - 1] == 1:
        position -= 1
        run *= box[position]
        if box[position] != access.shape[position]:
            break
    return prod(box[:position]), run


def span_of(access: Access, image: Image, box: Sequence[int]) -> int:
    """How many elements there are from the first to the last of a box in the memory."""
    rows = zip(box, access.strides, _steps(access, image), strict=True)
    return 1 + sum((extent - 1) * stride * step for extent, stride, step in rows)


def box_at_end(
    nest: Nest, access: Access, image: Image, loops: Sequence[Loop], last: bool
) -> tuple[int, ...]:
    """Extents of the box of the first tile of these loops, or of the last one."""
    ranges = [(0, extent) for extent in nest.extents]
    for loop in loops:
        begin = loop.step * (loop.count - 1) if last else 0
        ranges[loop.axis] = begin, min(begin + loop.step, nest.axes[loop.axis].extent)
    rows = zip(access.index, access.shape, _steps(access, image), strict=True)
    return tuple(
        [_clipped(one, end, step, ranges) if isinstance(one, Affine) else end for one, end, step in rows]
    )


def part_of_boxes(nest: Nest, access: Access, image: Image, loops: Sequence[Loop]) -> float:
    """What part of full boxes tiles move that count as far as they are full: less where boxes are clipped."""
    found, extents = 1.0, nest.extents
    for index, extent, size, step in zip(
        access.index, access.shape, image.shape, _steps(access, image), strict=True
    ):
        if isinstance(index, Affine):
            moving = tuple([loop for loop in loops if index.coefficients[loop.axis]])
            if moving:
                found *= _part(index, extent, size, step, extents, moving)
    return found


@lru_cache(maxsize=1 << 14)
def _part(
    index: Affine, extent: int, size: int, step: int, extents: tuple[int, ...], moving: tuple[Loop, ...]
) -> float:
    """The same along one dimension, where a full box has a size."""
    low, high = _ends(index, [(0, end) for end in extents])
    if low >= 0 and high < extent and not any(extents[loop.axis] % loop.step for loop in moving):
        return 1.0
    axes = [loop.axis for loop in moving]
    lows, highs = map(np.array, _ends(index, [(0, 1 if n in axes else end) for n, end in enumerate(extents)]))
    tiles = float(size)
    for loop in moving:
        begins = np.arange(0, extents[loop.axis], loop.step)
        ends = np.minimum(begins + loop.step, extents[loop.axis]) - 1
        first, last = np.sort(index.coefficients[loop.axis] * np.array([begins, ends]), 0)
        lows, highs = np.add.outer(lows, first), np.add.outer(highs, last)
        tiles *= extents[loop.axis] / loop.step
    lows = np.where(lows < 0, lows + (step - 1 - lows) // step * step, lows)
    lengths = np.maximum((np.minimum(highs, extent - 1) - lows + step) // step, 0)
    return min(float(lengths.sum()) / tiles, 1.0)


def _steps(access: Access, image: Image) -> tuple[int, ...]:
    return image.steps or (1,) * len(access.shape)


def _classes(axis: int, size: int, extent: int, steps: Sequence[tuple[tuple[int, ...], int, int]]) -> Walk:
    """Numbers for different keys, a range for each, and equal neighbours as one run."""
    numbers: dict[tuple[int, ...], int] = {}
    ranges: list[Range] = []
    runs: list[tuple[int, int]] = []
    for key, step, count in steps:
        if key not in numbers:
            numbers[key] = len(ranges)
            ranges.append((step * size, min((step + 1) * size, extent)))
        number = numbers[key]
        if runs and runs[-1][0] == number:
            runs[-1] = (number, runs[-1][1] + count)
        else:
            runs.append((number, count))
    return Walk(axis, tuple(ranges), tuple(runs))


def _ends(index: Affine, ranges: Sequence[Range]) -> Range:
    low = high = index.offset
    for c, (begin, end) in zip(index.coefficients, ranges, strict=True):
        if c > 0:
            low, high = low + c * begin, high + c * (end - 1)
        elif c < 0:
            low, high = low + c * (end - 1), high + c * begin
    return low, high


def _leaves(dimensions: Sequence[Dimension], ranges: Sequence[Range]) -> bool:
    """Whether boxes of these ranges are clipped in one of the dimensions."""
    ends = [(_ends(index, ranges), size) for index, size, _ in dimensions]
    return any(low < 0 or high >= size for (low, high), size in ends)


def _clipped(index: Affine, extent: int, step: int, ranges: Sequence[Range]) -> int:
    low, high = _ends(index, ranges)
    if low < 0:
        low += (step - 1 - low) // step * step
    return max(0, (min(high, extent - 1) - low + step) // step)
