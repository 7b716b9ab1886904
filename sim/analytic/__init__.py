"""Time in closed form: of a planned program, and of a workload on many machines at once.

`estimate.py` is the first: the models of `events`, summed rather than followed. For the second begin with
`search.py`; `workload.py` is the nests as arrays, `fleet.py` the machines, `units.py` what units take,
`traffic.py` and `stripes.py` what moves and in how many parts, `steps.py` how it overlaps, `reasons.py` why a
machine cannot. All of `sim` but `explore` may be imported.
"""

from sim.analytic.estimate import estimate
from sim.analytic.search import Estimates, evaluate
from sim.analytic.workload import Workload

__all__ = ["Estimates", "Workload", "estimate", "evaluate"]
