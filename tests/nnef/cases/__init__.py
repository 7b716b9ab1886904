"""Calls of every standard operator that has a formula, with what NumPy says that they give.

    from tests.nnef.cases import CASES, EVERY, Case

`CASES["nn.conv"]` are those of an operator. Each has `inputs` in the order of their declaration (an array,
a list for a pack, None for what is left out), `attributes`, explicit generic `types`, and `expected`: all
outputs in the order of their declaration. Real numbers are exact in float32, integers fit int32.

Whoever runs standard operators in another way runs these: TOSA's operators, nests, the general kernel.
"""

from __future__ import annotations

from tests.nnef.cases import elementwise, images, layouts, networks, reducing
from tests.nnef.cases.case import Case

_FAMILIES = (
    layouts.generators, layouts.views, layouts.joins, layouts.extents, layouts.orders, layouts.indexing,
    elementwise.unary, elementwise.binary, elementwise.several, elementwise.many, reducing.reductions,
    reducing.places, reducing.cumulative, networks.algebra, networks.convolutions, networks.deconvolutions,
    networks.pools, networks.activations, networks.norms, networks.recurrent, images.samplings,
    images.resizings, images.grids, images.quantisations, images.algorithms,
)  # fmt: skip

EVERY: tuple[Case, ...] = tuple(case for family in _FAMILIES for case in family())

CASES: dict[str, list[Case]] = {}
for _case in EVERY:
    CASES.setdefault(_case.operator, []).append(_case)

NO_FORMULA = frozenset({
    "image.max_roi_pool", "image.avg_roi_pool", "algo.nonmax_suppress",
})  # fmt: skip
"""Operators of which the specification says no more than their inputs and outputs."""

__all__ = ["CASES", "EVERY", "NO_FORMULA", "Case"]
