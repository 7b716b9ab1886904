"""Kinds of MAC array: one module for each, which says what tiles take on it.

`kind` has the interface (`ArrayCosts`, `ClosedForm`) and the registry; all else that depends on the kind of
an array asks there, or the array's own part (`sim.machine.arrays`). Begin with `systolic`. A kind may import
what `sim.cost` has for all units, never another kind. To add one, see docs/how-to/array.md.
"""

from sim.cost.arrays import block, dot_product, row_stationary, systolic
from sim.cost.arrays.kind import (
    ArrayCosts,
    ClosedForm,
    Layers,
    Product,
    Task,
    Words,
    costs_for,
    costs_of,
    hardware_of,
)

__all__ = [
    "ArrayCosts", "ClosedForm", "Layers", "Product", "Task", "Words",
    "costs_for", "costs_of", "hardware_of",
    "block", "dot_product", "row_stationary", "systolic",
]  # fmt: skip
