"""What can be wrong with an exploration.

```
MachineError
└── SpaceError      a space, a constraint or a strategy cannot be; `.faults` has all that is wrong
```
"""

from __future__ import annotations

from sim.machine.errors import MachineError


class SpaceError(MachineError):
    """A space, a constraint or a strategy cannot be: the message has every fault with a remedy."""
