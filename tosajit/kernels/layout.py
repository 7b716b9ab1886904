"""Where numbers are: in the argument array of every kernel, and in the image that the driver walks."""

from __future__ import annotations

from tiling.records import dataclass

FLAGS, ACCUMULATOR, SCRATCH, REPORT, BOX = range(5)
"""The argument array: flags (bit 0: first tile of a reduction, bit 1: last), address of the accumulators
of the tile or of one row of it, address of memory of the thread's own, address for a report of a broken
requirement; from BOX on: first point of the tile along each axis, the end along each axis, a base
address per access, and then what the kernel's own text asks for."""

KERNEL, AXES, KEPT_LOOPS, REDUCED_LOOPS, KEPT_TILES, REDUCED_TILES, ACCESSES = range(7)
ARGUMENTS, TEMPLATE, ACCUMULATORS, TRANSFERS, LOOPS, PLACES, IMAGES, WORDS, WORD_COUNT, JOB = range(7, 17)
SHARED, LASTING, PASSED, SECTION = range(17, 21)
"""The record of a section: address of its kernel, counts; size and place of the template of its argument
array, accumulators in the scratchpad, number of transfers; places in the image of the tables of loops,
of operands, of transfers, of words to derive, the number of these, and the slot that the kernel takes
for its first; whether threads share the tiles; where in the memory for them its arguments are once they
are known, in bytes, or -1 if they change from tile to tile; whether arrays of a call are among its operands;
its size."""
COUNTERS, DONE = 128, 64
"""Bytes of a section's counters: tiles begun, and from DONE on tiles done."""

LOOP_AXIS, LOOP_EXTENT, LOOP_STEP, LOOP_COUNT, LOOP = range(5)
"""A loop over tiles."""

ACCESS, STORE, ADDRESS, SIZE, RANK, PERIOD, OPERAND, COPIES, PITCH, TRANSFER = range(10)
"""A transfer: which access, whether it is written, address in the scratchpad, bytes of an element,
dimensions that follow, tiles between loads, table entry, places that boxes take turns in, and bytes
between these."""

EXTENT, FAR, NEAR, OFFSET, REACH, STEP, COEFFICIENTS = range(7)
"""A dimension of a transfer: extent, bytes in memory from one index to the next and in the scratchpad from
one of the box to the next, the index at the origin, how much further the box reaches on its own, how far
apart the indices of the box are; and a coefficient for each axis."""

WORD_SLOT, CONSTANT, FIRST, FIRST_FACTOR, SECOND, SECOND_FACTOR, WORD = range(7)
"""A word to derive: `args[slot] = constant + args[first] * factor + args[second] * factor`."""

ARGUMENT_BYTES, ODOMETER, OWN_BYTES = 24576, 24576, 28672
"""A thread's own memory: argument array, counters of copies, and then its scratchpad."""


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
