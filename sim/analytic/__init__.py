"""Time in closed form: of a planned program, and of a workload on many machines at once."""

from sim.analytic.estimate import estimate
from sim.analytic.search import Estimates, evaluate
from sim.analytic.workload import Workload

__all__ = ["Estimates", "Workload", "estimate", "evaluate"]
