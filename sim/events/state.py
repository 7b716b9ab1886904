"""Where the numbers of a simulation are.

All of it is one list of integers, mostly times in ticks: when units and channels become free, how far the
work of a memory reaches, and for each buffer when it was filled and last used. Lists can be compared, shifted
in time and multiplied, and that is how repetitions are folded.
"""

from __future__ import annotations

ARRAY, VECTOR, REDUCTION, LOAD, STORE = range(5)
"""When each unit and each DMA channel has done all that was given to it; STORE only with two channels."""
OFFCHIP, LEVEL2, PAD = 5, 6, 7
"""By when the off-chip memory, level 2 and the scratchpad could have moved all bytes that were asked for."""
FRONT = 8
"""Up to where every cycle belongs to an operator and a cause."""
DEPEND, SINCE = 9, 10
"""When the first tile may start, as far as other sections say, and until when its loads waited for these."""
COMPUTE, FILL, INPUT, WEIGHTS, OUTPUT, DEPENDENCY = range(11, 17)
"""Ticks of the section by cause."""
LOCAL = 17
"""From here on, a section's buffers: of each copy of a load when it was filled, and then when it was last
used; of each copy of a store when it was emptied."""

UNITS = {"array": ARRAY, "vector": VECTOR, "reduction": REDUCTION, "dma": LOAD}
CAUSES = {
    "compute": COMPUTE,
    "fill": FILL,
    "input": INPUT,
    "weights": WEIGHTS,
    "output": OUTPUT,
    "dependency": DEPENDENCY,
}
EVENTS = ("compute", "load", "store")
"""Kinds of events, by number."""
REPEAT, LATER = -1, -2
"""Marks in lists of events: a list that happens several times, and a list that happens later than it says."""
