"""The argument array of every kernel: one header for all, then what the kernel's own text asks for."""

from __future__ import annotations

from dataclasses import dataclass

FLAGS = 0
"""Bit 0: first tile of a reduction (start from the initial value); bit 1: last tile (write the results)."""
ACCUMULATOR = 1
"""Address of the accumulators of the tile, or of one row of them."""
SCRATCH = 2
"""Address of memory that belongs to the calling thread."""
REPORT = 3
"""Address of the record of violated requirements (checked execution)."""
BOX = 4
"""From here: first point of the tile along each axis, then the end along each axis, then a base per access."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the parts of an argument array are, for a kernel over `axes` axes with `accesses` operands."""

    axes: int
    accesses: int

    @property
    def first(self) -> int:
        """Slot of the first point along axis 0."""
        return BOX

    @property
    def end(self) -> int:
        """Slot of the end along axis 0."""
        return BOX + self.axes

    @property
    def base(self) -> int:
        """Slot of the address of access 0 at the origin of the axes."""
        return BOX + 2 * self.axes

    @property
    def payload(self) -> int:
        """Slot of the first number of the kernel's own."""
        return self.base + self.accesses
