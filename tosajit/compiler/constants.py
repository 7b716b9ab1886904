"""Precomputing: what depends on constants alone becomes a constant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from tiling.nest import Nest
from tiling.records import replace
from tosajit.arrays import Array
from tosajit.compiler.moving import moved
from tosajit.compiler.segment import Segment

FOLDED_BYTES = 1 << 26
"""The largest value that is computed once and kept, where it depends on constants alone."""

Evaluate = Callable[[Segment], Mapping[str, Array]]
"""What computes the outputs of a segment that has no inputs."""


def precomputed(segment: Segment, evaluate: Evaluate) -> Segment:
    """The segment without what depends on constants alone; the rest reads the results as constants."""
    nests, constants = segment.nests, segment.constants
    known = _foldable(nests, set(constants), set(segment.outputs))
    early = [nest for nest in nests if nest.writes[0].access.operand in known]
    rest = tuple(nest for nest in nests if nest.writes[0].access.operand not in known)
    wanted = {access.operand for nest in rest for access in nest.reads}
    computed = dict.fromkeys(nest.writes[0].access.operand for nest in early)
    needed = [name for name in computed if name in wanted and name not in constants]
    if not needed:
        return replace(segment, nests=rest)
    made, early = moved(early, constants)
    tensors = segment.tensors
    shaped = {n: a.view(tensors[n].dtype.storage).reshape(tensors[n].shape) for n, a in made.items()}
    later = tuple(name for name in needed if name not in made)
    if later:
        name = f"{segment.name}.constants"
        shaped |= evaluate(Segment(name, tuple(early), tensors, (), later, {**constants, **shaped}))
    folded = {name: shaped[name] for name in needed}
    return replace(segment, nests=rest, constants={**constants, **folded})


def _foldable(nests: Sequence[Nest], constants: set[str], outputs: set[str]) -> set[str]:
    """Constants, and values all of whose writers read nothing else."""
    writers = Counter(write.access.operand for nest in nests for write in nest.writes)
    known = set(constants)
    for nest in nests:
        name = nest.writes[0].access.operand
        reads_constants = all(access.operand in known for access in nest.reads)
        if name not in outputs and reads_constants and nest.writes[0].access.bytes <= FOLDED_BYTES:
            writers[name] -= 1
            if writers[name] == 0:
                known.add(name)
    return known
