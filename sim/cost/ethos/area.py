"""Blocks for work that reads each channel once: as much of the result as the U85 holds, in its aspect."""

from __future__ import annotations

from functools import lru_cache
from math import inf, sqrt

from sim.cost.ethos.parts import Layer, Part85, Shape, up

GRANULE = 16
"""Channels that sums are stored in."""
LARGEST = Shape(128, 128, 1024)
ROUNDS = 25
"""Attempts without progress, after which the area shrinks by a tenth."""


class Area:
    """One search: the layer, its limits, and what the buffers hold."""

    def __init__(self, part: Part85, layer: Layer, micro: Shape, deep: int) -> None:
        self.part, self.layer, self.micro, self.deep = part, layer, micro, deep
        self.granule = Shape(micro.height, micro.width, GRANULE)
        self.whole = layer.output.rounded(self.granule)
        self.limit = self.whole.within(LARGEST)
        self.sums = part.sum_bytes * 8 // (64 if layer.wide else 32)
        self.maps = part.input_bytes * 8 // layer.bits
        self.column = micro.area * GRANULE

    def unit(self, depth: int) -> Shape:
        """The unit in which the map of a block is stored."""
        return self.part.unit(self.deep or depth, self.layer.bits, self.micro)

    def source(self, block: Shape) -> Shape:
        """The block of the map that a block of the result needs."""
        unit = self.unit(block.depth)
        high, wide = self.layer.needed(block)
        return Shape(high, wide, self.deep or block.depth).rounded(unit)

    def fitting(self, depth: int) -> Shape | None:
        """The largest block of a depth that the buffers hold."""
        room, before, left = self.sums, -1, ROUNDS
        whole = self.layer.input.rounded(self.unit(depth)).elements
        while True:
            block = self._rectangle(room // depth, depth)
            by_sums = self.sums / block.elements
            by_maps = self.maps / min(self.source(block).elements, whole)
            if by_sums >= 1 and by_maps >= 1:
                return block
            if block.elements == before:
                left -= 1
                by_maps = 0.9 if left <= 0 else by_maps
            before = block.elements
            if by_maps < 1 < by_sums:
                room = min(room, block.elements)
            smaller = int(room // self.column * min(by_maps, by_sums)) * self.column
            room = room - self.column if smaller == room else smaller
            if room < self.column:
                return None

    def _rectangle(self, area: int, depth: int) -> Shape:
        """Rows and columns of about this area, in the result's aspect."""
        aspect = self.whole.height / self.whole.width
        wide = sqrt(area / aspect)
        high = wide * aspect
        if high < 1:
            wide, high = wide * high, 1.0
        elif wide < 1:
            wide, high = 1.0, high * wide
        across, down = self.granule.width, self.granule.height
        width = min(max(int(wide), across) // across * across, self.limit.width)
        height = min(max(int(high), down) // down * down, self.limit.height)
        size = width * height
        if width < self.whole.width:
            width = even(self.whole.width, across, width)
        return Shape(max(size // width // down * down, down), width, depth)

    def largest(self) -> Shape:
        """The block that covers most, over all depths."""
        flat = self.layer.spread == (1, 1)
        goal = self.whole.width * (self.whole.depth if flat else self.whole.height)
        found, least = None, inf
        deepest = min(max(self.part.macs, self.sums // self.column), self.limit.depth)
        for depth in range(GRANULE, deepest + 1, GRANULE):
            block = self.fitting(depth)
            if block is None:
                break
            step = self.unit(depth).depth
            waste = 1 + (step - (depth % step or step)) / step / 10
            fit = 1 + abs(1 - self.limit.depth / depth) / 10
            cover = 1 + abs(1 - goal / (block.width * (depth if flat else block.height)))
            if cover * fit * waste < least:
                found, least = block, cover * fit * waste
                if all(have >= want for have, want in zip(block, self.whole, strict=True)):
                    return self.whole
        return self.granule if found is None else found


def area_block(part: Part85, layer: Layer, micro: Shape, deep: int) -> tuple[Shape, Shape]:
    """The blocks of the result and of the map; with more than one, another row of the map has to fit."""
    area = Area(part, layer, micro, deep)
    high, wide, depth = area.largest()
    down, across, _ = area.granule
    force = 0
    while True:
        block = Shape(high, wide, depth)
        source = area.source(block)
        row = area.source(Shape(down, wide, depth))
        alone = all(have >= want for have, want in zip(block, area.whole, strict=True))
        if alone or area.maps - source.elements >= row.elements:
            return block, source
        if (high != area.whole.height or force & 2) and high > down:
            high -= down
        elif (depth > wide or force & 1) and depth > GRANULE:
            depth -= GRANULE
        elif (wide != area.whole.width or force & 4) and wide > across:
            wide -= across
        elif force != 7:
            force = force << 1 | 1
        elif depth > GRANULE:
            depth = max(depth // 2, GRANULE)
        else:
            return block, source


@lru_cache(maxsize=1 << 12)
def even(whole: int, granule: int, tile: int) -> int:
    """A tile of at most this size whose last one is as large as can be."""
    if whole % tile == 0:
        return tile
    other = max(up(whole // (whole // tile + 1), granule), granule)
    least = max(other - 2 * granule, granule)
    found, rest = tile, whole % tile
    for size in range(tile, least - 1, -granule):
        last = whole % size or size
        if last > rest:
            found, rest = size, last
    return found
