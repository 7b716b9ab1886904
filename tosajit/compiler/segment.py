"""What passes from stage to stage: a segment of a graph as nests, as groups, as a program, as kernels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from functools import cached_property
from math import prod

from tiling.nest import Access, Nest
from tiling.program import Operand, Program
from tiling.records import dataclass
from tiling.words import plain
from tosajit.arrays import Array
from tosajit.dtypes import DTYPES, DType
from tosajit.host.reasons import Reason
from tosajit.kernels.link import Code, Unit
from tosajit.kernels.runnable import Runnable


@dataclass(frozen=True, slots=True)
class Tensor:
    """What a segment knows of a value."""

    name: str
    dtype: DType
    shape: tuple[int, ...]

    def __str__(self) -> str:
        return f"{plain(self.name)}: {self.dtype}{list(self.shape)}"

    @property
    def elements(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    def operand(self, kind: str) -> Operand:
        """The same as an operand of a program."""
        return Operand(self.name, self.dtype.compute, self.elements, kind)  # type: ignore[arg-type]


def tensor_of(name: str, type: str, shape: tuple[int, ...]) -> Tensor:
    """A tensor whose elements kernels see as `type`."""
    return Tensor(name, next(d for d in DTYPES.values() if d.compute == type), shape)


@dataclass(frozen=True, eq=False)
class Segment:
    """Nests without control flow, and what they take and give (`lower`, `precompute`)."""

    name: str
    nests: tuple[Nest, ...]
    tensors: Mapping[str, Tensor]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    constants: Mapping[str, Array]

    @property
    def results(self) -> tuple[Tensor, ...]:
        """The tensors of the outputs."""
        return tuple(self.tensors[name] for name in self.outputs)


@dataclass(frozen=True, eq=False)
class Groups:
    """Fused nests, and what stages have added to the segment (`fuse`, `simplify`, `prepare`)."""

    segment: Segment
    nests: tuple[Nest, ...]
    added: Mapping[str, Array] = field(default_factory=dict)
    """Constants that only these groups read, such as packed weights."""
    temporaries: Mapping[str, Access] = field(default_factory=dict)
    """Results that only these groups know."""
    buffers: frozenset[str] = frozenset()
    """Those of them that hold a part of a tensor after another."""
    units: Mapping[Nest, Unit] = field(default_factory=dict)
    """The array kernels of the host that do groups."""
    library: str = ""
    """The instruction set whose kernels these are."""
    refused: Mapping[Nest, Reason] = field(default_factory=dict)
    """Why no array kernel does the others."""
    own: Groups | None = None
    """The same with kernels of their own for groups that are done otherwise until these are compiled."""

    @property
    def name(self) -> str:
        """The part of the graph."""
        return self.segment.name

    @cached_property
    def operands(self) -> dict[str, Operand]:
        """The operands of the program to be."""
        segment = self.segment
        kinds = dict.fromkeys(segment.outputs, "output")
        kinds |= dict.fromkeys((*segment.constants, *self.added), "constant")
        kinds |= dict.fromkeys(segment.inputs, "input")
        tensors = {**segment.tensors, **self._own_tensors()}
        return {name: tensor.operand(kinds.get(name, "temporary")) for name, tensor in tensors.items()}

    @cached_property
    def constants(self) -> dict[str, Array]:
        """The constants that the groups or the caller read."""
        used = {*self.segment.outputs, *(name for nest in self.nests for name in nest.operands)}
        every = {**self.segment.constants, **self.added}
        return {name: array for name, array in every.items() if name in used}

    def _own_tensors(self) -> dict[str, Tensor]:
        kinds = {n: "f" if a.dtype.kind == "f" else "i" for n, a in self.added.items()}
        found = {n: tensor_of(n, f"{kinds[n]}{8 * a.itemsize}", a.shape) for n, a in self.added.items()}
        for nest in self.units:
            writes = [write.access for write in nest.writes if nest.verb == "move"]
            found |= {a.operand: tensor_of(a.operand, a.type, a.shape) for a in writes}
        return found | {n: tensor_of(n, a.type, a.shape) for n, a in self.temporaries.items()}


@dataclass(frozen=True, eq=False)
class Planned:
    """Groups and the program that runs them (`plan`)."""

    groups: Groups
    program: Program

    @property
    def name(self) -> str:
        """The part of the graph."""
        return self.groups.name


@dataclass(frozen=True, eq=False)
class Written:
    """A program, and for each of its sections the text of a kernel or an array kernel (`emit`)."""

    planned: Planned
    codes: tuple[Code, ...]

    @property
    def name(self) -> str:
        """The part of the graph."""
        return self.planned.name


@dataclass(frozen=True, eq=False, kw_only=True)
class Linked(Runnable):
    """A program whose kernels are compiled, with what it was made of (`link`)."""

    program: Program
    own: Callable[[], Written] | None = None
    """Gives what is linked in its place once kernels are compiled, if there is such."""


def slots_of(program: Program) -> dict[str, int]:
    """Each operand's entry in the table of addresses."""
    return {name: number for number, name in enumerate(program.operands)}
