"""A segment: nests without control flow, planned, linked, and run on arrays."""

from __future__ import annotations

import ctypes
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from tiling.fuse import fuse
from tiling.nest import Nest
from tiling.plan import Infeasible, fits, plan
from tiling.program import Operand, Program
from tiling.target import Target
from tosajit.dtypes import DTYPES, DType
from tosajit.errors import PlanError, RequireError
from tosajit.host.library import array_library
from tosajit.host.lookup import LIBRARY
from tosajit.host.prepare import prepare, supports
from tosajit.host.simplify import simplify
from tosajit.host.unit import Prepared
from tosajit.kernels.scalars import requirement_text
from tosajit.link import link
from tosajit.runtime.memory import check_memory, too_large
from tosajit.runtime.moving import moved
from tosajit.runtime.workspace import ALIGNMENT, Workspace, address_of, driver

Array = np.ndarray[Any, Any]
Progress = Callable[[int, int], None]
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


class Segment:
    """Compiled nests: `run` takes arrays for the inputs and gives arrays for the outputs."""

    def __init__(
        self,
        nests: Sequence[Nest],
        tensors: Mapping[str, Tensor],
        inputs: Sequence[str],
        outputs: Sequence[str],
        constants: Mapping[str, Array],
        target: Target,
        checked: bool = False,
        progress: Progress | None = None,
        fold: bool = True,
    ) -> None:
        self.inputs, self.outputs = tuple(inputs), tuple(outputs)
        self._checked = checked
        self.results = [tensors[name] for name in outputs]
        folded, rest = (
            _fold(nests, tensors, constants, outputs) if fold and not checked else ({}, list(nests))
        )
        self.constants = {
            name: np.ascontiguousarray(array) for name, array in {**constants, **folded}.items()
        }
        prepared = self._prepared(rest, target, checked, once=not fold)
        self.constants |= prepared.constants
        tensors = {**tensors, **_own_tensors(prepared)}
        self.program = _planned(prepared.groups, self._operands(tensors), target)
        check_memory(self.program)
        self.threads = target.cores if any(section.shared for section in self.program.sections) else 1
        needed = {*self.program.operands, *self.outputs}
        self.constants = {name: array for name, array in self.constants.items() if name in needed}
        slots = {name: number for number, name in enumerate(self.program.operands)}
        self._image = link(self.program, slots, prepared.units, checked, progress)
        self._free: list[Workspace] = []
        self._new = [(tensor.shape, tensor.dtype.storage) for tensor in self.results]
        written = {write.access.operand for nest in rest for write in nest.writes}
        entry = [slots.get(name, len(slots)) for name in self.inputs]
        self._made = {name: i for i, name in reversed([*enumerate(self.outputs)]) if name in written}
        self._passed = [(i, name) for i, name in enumerate(self.outputs) if self._made.get(name) != i]
        passed = {i for i, _ in self._passed}
        leave = (len(slots) if i in passed else slots[name] for i, name in enumerate(self.outputs))
        self._places = [*entry, *leave]

    def _prepared(self, nests: Sequence[Nest], target: Target, checked: bool, once: bool) -> Prepared:
        """Fused groups; on the host, prepared for the array kernels, and simplified unless they run once."""
        if checked:
            return Prepared(list(nests))
        if target.scratch_bytes is not None:
            return Prepared(list(fuse(nests, set(self.outputs), lambda group: fits(group, target))))
        kept, library = set(self.outputs), array_library()
        if once:
            return prepare(fuse(nests, kept, supports), self.constants, library)
        simple = simplify(fuse(nests, kept, supports), self.constants, kept, library == LIBRARY)
        prepared = prepare(simple.groups, {**self.constants, **simple.constants}, library)
        prepared.constants |= simple.constants
        prepared.temporaries |= {n.access.operand: n.access for n in simple.narrow.values()}
        return prepared

    def _operands(self, tensors: Mapping[str, Tensor]) -> dict[str, Operand]:
        kinds = dict.fromkeys(self.constants, "constant")
        kinds = dict.fromkeys(self.outputs, "output") | kinds | dict.fromkeys(self.inputs, "input")
        return {name: tensor.operand(kinds.get(name, "temporary")) for name, tensor in tensors.items()}

    def run(self, arrays: Sequence[Array]) -> list[Array]:
        """Run on dense arrays of the right types and shapes."""
        try:
            results = [np.empty(shape, storage) for shape, storage in self._new]
            workspace = self._free.pop() if self._free else self._workspace()
        except IndexError:  # another thread has taken it
            workspace = self._workspace()
        except MemoryError:
            raise too_large(self.program) from None
        workspace.place((*arrays, *results))
        workspace.step()
        if self._checked and workspace.report[0]:
            raise self._broken(workspace)
        self._free.append(workspace)
        for number, name in self._passed:
            source = self._source(name, arrays, results)
            results[number][...] = source.reshape(results[number].shape)
        return results

    def _source(self, name: str, arrays: Sequence[Array], results: Sequence[Array]) -> Array:
        """Where an output that no nest writes is: another output, a constant or an input."""
        if name in self._made:
            return results[self._made[name]]
        return self.constants[name] if name in self.constants else arrays[self.inputs.index(name)]

    def _workspace(self) -> Workspace:
        return Workspace(self.program, self._image, self.constants, self._places, self.threads)

    def profile(self, arrays: Sequence[Array]) -> tuple[list[Array], list[tuple[str, float]]]:
        """Run group by group on one thread: the results, and the seconds that each group took."""
        results = [tensor.empty() for tensor in self.results]
        workspace = self._workspace()
        workspace.place((*arrays, *results))
        call, seconds = workspace.calls[0], []
        call[2] = 0
        address = ctypes.c_int64(address_of(call))
        for number in range(self._image.sections):
            call[5:7] = number, number + 1
            start = perf_counter()
            driver()(address)
            seconds.append(perf_counter() - start)
        names = [", ".join(section.nest.members) for section in self.program.sections]
        return results, list(zip(names, seconds, strict=True))

    def _broken(self, workspace: Workspace) -> RequireError:
        """What a checked kernel has reported, as an error."""
        section, check, *point = map(int, workspace.report[1:])
        nest = self.program.sections[section].nest
        name = self._image.checks[section][check]
        index = ", ".join(f"{a.name}={p}" for a, p in zip(nest.axes, point, strict=False) if p >= 0)
        rule = "an index is outside of its operand" if name == "index" else requirement_text(name)
        return RequireError(f"{', '.join(nest.members)}: {rule}, at {index or 'its only point'}")


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
        host = Target("host", alignment=ALIGNMENT)
        before = Segment(early, tensors, (), later, {**constants, **shaped}, host, fold=False)
        shaped |= zip(later, before.run(()), strict=True)
    return {name: shaped[name] for name in needed}, rest


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


def _planned(groups: Sequence[Nest], operands: Mapping[str, Operand], target: Target) -> Program:
    program = plan(groups, operands, target)
    if isinstance(program, Infeasible):
        raise PlanError(str(program))
    return program
