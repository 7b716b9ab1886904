"""The simulator that follows every command of a program.

Units and DMA channels work beside each other, each on its commands in order. A command starts as soon as
its unit is free, what it reads is there, and the addresses that it fills are no longer in use:

* A tile's loads are issued before the tile in front of it computes, its stores behind the next tile's loads.
  Loads go to the first DMA channel, stores to the last.
* Tiles start in the order of the program, also on different units. A tile waits for its loads, for the
  stores that empty the buffer of its results and, if it is the first of its section, for everything that
  earlier sections write where this one reads it, and for earlier contents of the addresses that it writes.
* A section's first loads are issued before the last tile of the section in front, if they neither read what
  that writes nor fill addresses that it uses: so weights come early.
* A tile takes its unit's cycles, or as long as the memories need for its bytes: the longest stream at the
  rate of one stream, all of them at the rate of the memory, and the latency once.
* The off-chip memory and the scratchpad serve transfers and units in the order in which commands are issued,
  without pauses as long as there is something to do. A scratchpad's ports and banks say how fast it is: a
  port without a bank of its own has nothing to do, and streams beyond the ports share them.

Begin with `simulate.py`. `model.py` is a section and what its commands take, `body.py` the loop over them,
`sections.py` what passes between sections, `memory.py` who waits for a memory, `stalls.py` who is to blame;
`reporting.py` makes the report. Of `sim` only `machine`, `cost` and `report` are imported.
"""

from sim.events.simulate import Simulator, seconds_of, simulate, simulate_all

__all__ = ["Simulator", "seconds_of", "simulate", "simulate_all"]
