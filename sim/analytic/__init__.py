"""Time in closed form: of a planned program, and of a workload on many machines at once."""

from sim.analytic.estimate import estimate

__all__ = ["estimate"]
