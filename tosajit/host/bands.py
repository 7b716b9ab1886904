"""Chains of groups in bands of rows: what passes between them then stays in the second-level cache.

The cache is a scratchpad to the search for chains (`tiling/cascade.py`). Members are maps, and contractions
with small weights, of float32.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tiling.cascade import choose
from tiling.nest import Access, Nest, along
from tiling.program import Operand
from tiling.target import Target
from tosajit.arrays import Array
from tosajit.host.match import match
from tosajit.kernels.sets.description import InstructionSet

SECTION_BYTES = 64 * 1024
"""A group more, where threads may wait for each other, takes as long as so many bytes from afar."""
WEIGHTS = 16
"""Weights of a member are at most so small a part of the cache: each band needs all of them."""
TAPS = 3
"""Of windows that transforms take: these begin at other rows in a band, and round otherwise."""


def bands(
    nests: Sequence[Nest],
    operands: Mapping[str, Operand],
    constants: Mapping[str, Array],
    isa: InstructionSet,
) -> tuple[tuple[Nest, ...], dict[str, Access]]:
    """The same nests, with chains in bands where these pay, and the buffers that they then have."""
    cache = Target("cache", isa.near_bytes, weights="scratchpad", constants="scratchpad")
    few = isa.near_bytes // WEIGHTS
    whole = {number for number, nest in enumerate(nests) if not _in_bands(nest, constants, few)}
    found, known = choose(nests, operands, cache, whole, SECTION_BYTES)
    new = (operand for name, operand in known.items() if name not in operands)
    return found, {one.name: Access(one.name, one.type, (one.elements,), (along(0, 1),)) for one in new}


def _in_bands(nest: Nest, constants: Mapping[str, Array], few: int) -> bool:
    """Whether a group can be a member of a chain."""
    if any(write.access.type != "f32" for write in nest.writes):
        return False
    if nest.verb == "map":
        return nest.reduction is None
    found = match(nest)
    if found is None or found.batch:
        return False
    weights, shape = constants.get(nest.reads[found.right.read].operand), found.geometry
    near = weights is not None and weights.nbytes <= few
    transformed = shape.kernel[1:] == (TAPS, TAPS) and shape.stride == (1, 1, 1) and not found.depthwise
    return near and not transformed
