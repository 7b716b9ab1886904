"""A segment: nests without control flow, planned, linked, and run on arrays."""

from __future__ import annotations

import ctypes
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from tiling.fuse import fuse
from tiling.nest import Nest
from tiling.plan import Infeasible, fits, plan
from tiling.program import Operand, Program
from tiling.target import Target
from tosajit import kernels
from tosajit.dtypes import DTYPES, DType
from tosajit.errors import PlanError, RequireError
from tosajit.host.library import array_library
from tosajit.host.lookup import LIBRARY
from tosajit.host.simplify import simplify
from tosajit.host.unit import Prepared, prepare, supports
from tosajit.kernels import threads
from tosajit.kernels.layout import COUNTERS
from tosajit.kernels.objects import compile_kernel
from tosajit.kernels.scalars import requirement_text
from tosajit.link import Image64, link

Array = np.ndarray[Any, Any]
Progress = Callable[[int, int], None]
ALIGNMENT = 64


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
        self.results = [tensors[name] for name in outputs]
        folded, rest = (
            _fold(nests, tensors, constants, outputs) if fold and not checked else ({}, list(nests))
        )
        self.constants = {
            name: np.ascontiguousarray(array) for name, array in {**constants, **folded}.items()
        }
        prepared = self._prepared(rest, target, checked)
        self.constants |= prepared.constants
        tensors = {**tensors, **_own_tensors(prepared)}
        self.program = _planned(prepared.groups, self._operands(tensors), target)
        self.threads = target.cores if any(section.shared for section in self.program.sections) else 1
        self._slots = {name: number for number, name in enumerate(self.program.operands)}
        self._image = link(self.program, self._slots, prepared.units, checked, progress)
        self._free: list[_Workspace] = []
        self._entry = [(i, self._slots[name]) for i, name in enumerate(self.inputs) if name in self._slots]
        written = {write.access.operand for nest in rest for write in nest.writes}
        self._exit = [(i, self._slots[name]) for i, name in enumerate(self.outputs) if name in written]
        self._passed = [(i, name) for i, name in enumerate(self.outputs) if name not in written]

    def _prepared(self, nests: Sequence[Nest], target: Target, checked: bool) -> Prepared:
        """Fused groups; on the host, those that the array kernels do prepared for them."""
        if checked:
            return Prepared(list(nests))
        if target.scratch_bytes is not None:
            return Prepared(list(fuse(nests, set(self.outputs), lambda group: fits(group, target))))
        kept, library = set(self.outputs), array_library()
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
        results = [tensor.empty() for tensor in self.results]
        try:
            workspace = self._free.pop()
        except IndexError:
            workspace = _Workspace(self)
        table = workspace.table
        for number, slot in self._entry:
            table[slot] = arrays[number].__array_interface__["data"][0]
        for number, slot in self._exit:
            table[slot] = results[number].__array_interface__["data"][0]
        workspace.run()
        if workspace.report[0]:
            raise self._broken(workspace)
        self._free.append(workspace)
        for number, name in self._passed:
            source = self.constants[name] if name in self.constants else arrays[self.inputs.index(name)]
            results[number][...] = source.reshape(results[number].shape)
        return results

    def profile(self, arrays: Sequence[Array]) -> tuple[list[Array], list[tuple[str, float]]]:
        """Run group by group on one thread: the results, and the seconds that each group took."""
        results = [tensor.empty() for tensor in self.results]
        workspace = _Workspace(self)
        for places, given in ((self._entry, arrays), (self._exit, results)):
            for number, slot in places:
                workspace.table[slot] = _address(given[number])
        call, seconds = workspace.calls[0], []
        call[2] = 0
        for number in range(self._image.sections):
            call[5:7] = number, number + 1
            start = perf_counter()
            driver()(workspace.addresses[0])
            seconds.append(perf_counter() - start)
        names = [", ".join(section.nest.members) for section in self.program.sections]
        return results, list(zip(names, seconds, strict=True))

    def _broken(self, workspace: _Workspace) -> RequireError:
        """What a checked kernel has reported, as an error."""
        section, check, *point = map(int, workspace.report[1:])
        nest = self.program.sections[section].nest
        name = self._image.checks[section][check]
        index = ", ".join(f"{a.name}={p}" for a, p in zip(nest.axes, point, strict=False) if p >= 0)
        rule = "an index is outside of its operand" if name == "index" else requirement_text(name)
        return RequireError(f"{', '.join(nest.members)}: {rule}, at {index or 'its only point'}")


class _Workspace:
    """Memory of one run at a time: arena, table of addresses, and each thread's own memory."""

    def __init__(self, segment: Segment) -> None:
        program, image = segment.program, segment._image
        self.arena = _aligned(program.arena_bytes)
        self.table = np.zeros(max(len(program.operands), 1), np.int64)
        base = _address(self.arena)
        for name, operand in program.operands.items():
            slot = segment._slots[name]
            if operand.kind == "temporary":
                self.table[slot] = base + operand.offset
            elif operand.kind == "constant":
                self.table[slot] = _address(segment.constants[name])
        self.counters = np.zeros((image.sections + 1, COUNTERS // 8), np.int64)
        self.report = np.zeros(64, np.int64)
        self.memory = [_aligned(image.thread_bytes) for _ in range(segment.threads)]
        first = int(segment.threads > 1)
        self.calls = [self._arguments(image, m, n) for n, m in enumerate(self.memory, first)]
        self.addresses = [_address(call) for call in self.calls]

    def _arguments(self, image: Image64, memory: Array, thread: int) -> Array:
        """The arguments of the driver on one thread."""
        words = [_address(image.numbers), _address(self.table), thread, _address(self.counters) + COUNTERS]
        words += [_address(memory), 0, image.sections, _address(self.report)]
        return np.array(words, np.int64)

    def run(self) -> None:
        """Run the whole program, on all its threads."""
        if len(self.addresses) == 1:
            driver()(self.addresses[0])
            return
        self.counters[:] = 0
        threads.run(driver_address(), self.addresses)


@cache
def driver() -> Callable[[int], None]:
    """The compiled driver."""
    return ctypes.CFUNCTYPE(None, ctypes.c_int64)(driver_address())


@cache
def driver_address() -> int:
    """Where the compiled driver is."""
    return compile_kernel(driver_text()).address


@cache
def driver_text() -> str:
    """The source of the driver."""
    return Path(kernels.__file__).with_name("driver.py").read_text(encoding="utf-8")


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
    before = Segment(early, tensors, (), needed, constants, Target("host", alignment=ALIGNMENT), fold=False)
    return dict(zip(needed, before.run(()), strict=True)), rest


def _foldable(nests: Sequence[Nest], constants: set[str], outputs: set[str]) -> set[str]:
    """Constants, and values all of whose writers read nothing else."""
    writers = Counter(write.access.operand for nest in nests for write in nest.writes)
    known = set(constants)
    for nest in nests:
        name = nest.writes[0].access.operand
        if name not in outputs and all(access.operand in known for access in nest.reads):
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


def _aligned(size: int) -> Array:
    raw = np.empty(size + ALIGNMENT, np.uint8)
    shift = -_address(raw) % ALIGNMENT
    return raw[shift : shift + size]


def _address(array: Array) -> int:
    return int(array.__array_interface__["data"][0])
