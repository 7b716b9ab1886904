"""Groups: nests without control flow, fused for a target, with all that they read and write."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tiling.fuse import fuse
from tiling.nest import Nest
from tiling.plan import fits
from tiling.program import Operand
from tiling.target import Target
from tosajit.dtypes import DTYPES, DType
from tosajit.host.library import array_library
from tosajit.host.lookup import LIBRARY
from tosajit.host.prepare import prepare, supports
from tosajit.host.simplify import simplify
from tosajit.host.unit import Prepared
from tosajit.kernels.link import Unit
from tosajit.runtime.moving import moved
from tosajit.runtime.options import Options

Array = np.ndarray[Any, Any]
RANKS = ("contract", "reduce", "map", "move")
FOLDED_BYTES = 1 << 26
"""The largest value that is computed once and kept, where it depends on constants alone."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """What a segment knows of a value."""

    name: str
    dtype: DType
    shape: tuple[int, ...]

    @property
    def elements(self) -> int:
        """Number of elements."""
        return int(np.prod(self.shape, dtype=object))

    def operand(self, kind: str) -> Operand:
        """The same as an operand of a program."""
        return Operand(self.name, self.dtype.compute, self.elements, kind)  # type: ignore[arg-type]

    def empty(self) -> Array:
        """A new array for it."""
        return np.empty(self.shape, self.dtype.storage)


@dataclass(frozen=True)
class Groups:
    """Fused nests, the operands they work on, and what is known of these."""

    nests: tuple[Nest, ...]
    operands: Mapping[str, Operand]
    constants: Mapping[str, Array]
    units: Mapping[Nest, Unit]
    """The array kernels of the host that do groups."""


class Stretch:
    """Nests without control flow, what they take and give, and their groups for each target asked for.

    What depends on constants alone is computed at once, unless all is run `once`.
    """

    def __init__(
        self,
        nests: Sequence[Nest],
        tensors: Mapping[str, Tensor],
        inputs: Sequence[str],
        outputs: Sequence[str],
        constants: Mapping[str, Array],
        checked: bool = False,
        once: bool = False,
    ) -> None:
        self.inputs, self.outputs = tuple(inputs), tuple(outputs)
        self.results = tuple(tensors[name] for name in outputs)
        self._tensors, self._checked, self._once = tensors, checked, once
        folded: Mapping[str, Array] = {}
        self._nests = list(nests)
        if not once and not checked:
            folded, self._nests = _fold(nests, tensors, constants, outputs)
        self._constants = {n: np.ascontiguousarray(a) for n, a in {**constants, **folded}.items()}
        self._made: dict[Target, Groups] = {}

    def groups(self, target: Target) -> Groups:
        """The nests, fused for a target."""
        if target not in self._made:
            self._made[target] = self._grouped(self._prepared(target))
        return self._made[target]

    def _grouped(self, prepared: Prepared) -> Groups:
        constants = {**self._constants, **prepared.constants}
        tensors = {**self._tensors, **_own_tensors(prepared)}
        kinds = dict.fromkeys(self.outputs, "output") | dict.fromkeys(constants, "constant")
        kinds |= dict.fromkeys(self.inputs, "input")
        operands = {name: tensor.operand(kinds.get(name, "temporary")) for name, tensor in tensors.items()}
        used = {*self.outputs, *(name for nest in prepared.groups for name in nest.operands)}
        needed = {name: array for name, array in constants.items() if name in used}
        return Groups(tuple(prepared.groups), operands, needed, prepared.units)

    def _prepared(self, target: Target) -> Prepared:
        """Fused groups; on the host, prepared for the array kernels, and simplified unless they run once."""
        if self._checked:
            return Prepared(list(self._nests))
        nests, kept, constants = self._nests, set(self.outputs), self._constants
        if target.scratch_bytes is not None:
            return Prepared(_named(nests, fuse(nests, kept, lambda group: fits(group, target), frugal=True)))
        library = array_library()
        if self._once:
            return prepare(fuse(nests, kept, supports), constants, library)
        simple = simplify(fuse(nests, kept, supports), constants, kept, library == LIBRARY)
        prepared = prepare(simple.groups, {**constants, **simple.constants}, library)
        prepared.constants |= simple.constants
        prepared.temporaries |= {n.access.operand: n.access for n in simple.narrow.values()}
        return prepared


def _named(nests: Sequence[Nest], groups: Sequence[Nest]) -> list[Nest]:
    """The groups with their members in the order of what they do, so that the first one says it best."""
    rank = {name: RANKS.index(nest.verb) for nest in reversed(nests) for name in nest.members}
    return [replace(g, members=tuple(sorted(g.members, key=lambda name: rank.get(name, 0)))) for g in groups]


def _fold(
    nests: Sequence[Nest],
    tensors: Mapping[str, Tensor],
    constants: Mapping[str, Array],
    outputs: Sequence[str],
) -> tuple[dict[str, Array], list[Nest]]:
    """Run at once what depends on constants alone; what is left reads the results."""
    known = _foldable(nests, set(constants), set(outputs))
    early = [nest for nest in nests if nest.writes[0].access.operand in known]
    rest = [nest for nest in nests if nest.writes[0].access.operand not in known]
    wanted = {access.operand for nest in rest for access in nest.reads}
    needed = [name for name in known if name in wanted and name not in constants]
    if not needed:
        return {}, rest
    made, early = moved(early, constants)
    shaped = {n: a.view(tensors[n].dtype.storage).reshape(tensors[n].shape) for n, a in made.items()}
    later = [name for name in needed if name not in made]
    if later:
        shaped |= _run(early, tensors, later, {**constants, **shaped})
    return {name: shaped[name] for name in needed}, rest


def _run(
    nests: Sequence[Nest],
    tensors: Mapping[str, Tensor],
    wanted: Sequence[str],
    constants: Mapping[str, Array],
) -> dict[str, Array]:
    """The wanted values, computed on the host."""
    from tosajit.runtime.segment import Segment

    stretch = Stretch(nests, tensors, (), wanted, constants, once=True)
    return dict(zip(wanted, Segment(stretch, Options(Target("host", alignment=64))).run(()), strict=True))


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


def _own_tensors(prepared: Prepared) -> dict[str, Tensor]:
    """The tensors that only the array kernels know."""
    found = {n: tensor_of(n, f"i{8 * a.itemsize}", a.shape) for n, a in prepared.constants.items()}
    for nest in prepared.units:
        writes = [write.access for write in nest.writes if nest.verb == "move"]
        found |= {access.operand: tensor_of(access.operand, access.type, access.shape) for access in writes}
    return found | {n: tensor_of(n, a.type, a.shape) for n, a in prepared.temporaries.items()}


def tensor_of(name: str, type: str, shape: tuple[int, ...]) -> Tensor:
    """A tensor whose elements kernels see as `type`."""
    return Tensor(name, next(d for d in DTYPES.values() if d.compute == type), shape)
