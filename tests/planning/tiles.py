"""The tiles of a section, walked in Python: boxes of points, of operands, and what each point touches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from tiling.nest import Access, Affine
from tiling.program import Section

Box = tuple[tuple[int, int], ...]
"""The first index and the end, along each axis or dimension."""


def tiles(section: Section) -> Iterator[tuple[tuple[int, ...], Box]]:
    """Where each loop stands, and the points of the tile."""
    extents = section.nest.extents
    for counts in product(*(range(loop.count) for loop in section.loops)):
        box = [(0, extent) for extent in extents]
        for loop, count in zip(section.loops, counts, strict=True):
            first = count * loop.step
            box[loop.axis] = first, min(first + loop.step, extents[loop.axis])
        yield counts, tuple(box)


def points(box: Box) -> Iterator[tuple[int, ...]]:
    """Every point of a box."""
    return product(*(range(first, end) for first, end in box))


def operand_box(access: Access, box: Box) -> Box:
    """What a tile may touch of an operand, by interval arithmetic; all of a dimension that data index."""
    low, high = [first for first, _ in box], [end for _, end in box]
    spans = []
    for index, extent in zip(access.index, access.shape, strict=True):
        first, last = index.span(low, high) if isinstance(index, Affine) else (0, extent - 1)
        spans.append((max(first, 0), min(last, extent - 1) + 1))
    return tuple(spans)


def touched(access: Access, box: Box) -> set[tuple[int, ...]]:
    """The elements that the points of a tile do touch, those inside the bounds; for affine accesses."""
    found = set()
    for point in points(box):
        element = tuple(at(index, point) for index in access.index)
        if all(0 <= i < extent for i, extent in zip(element, access.shape, strict=True)):
            found.add(element)
    return found


def at(index: object, point: Sequence[int]) -> int:
    """An affine index at a point."""
    assert isinstance(index, Affine)
    return index.offset + sum(c * p for c, p in zip(index.coefficients, point, strict=True))
