"""What can be wrong with an exploration.

```
ValueError
├── MachineError
│   └── SpaceError      a space, a constraint or a strategy cannot be; `.faults` has all that is wrong
└── ExplorationError    a result has no such point or objective, or cannot be drawn or written
    ├── StoreError      a store is damaged, or of another exploration
    └── WorkerError     workers cannot be started, or cannot be told what to do
```
"""

from __future__ import annotations

from sim.machine.errors import MachineError
from tiling.words import TextError


class SpaceError(MachineError):
    """A space, a constraint or a strategy is invalid: the message lists every fault with a remedy."""


class ExplorationError(TextError, ValueError):
    """An exploration lacks what was requested, or cannot be plotted or written."""


class StoreError(ExplorationError):
    """A store cannot be read or written, or is not of this exploration."""


class WorkerError(ExplorationError):
    """Workers cannot be started, or cannot be told what to do."""
