"""The inputs and outputs of a graph, under the names and in the types that the source has for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias, TypeVar

from tiling.records import dataclass, replace
from tosajit import ops
from tosajit.dtypes import DType
from tosajit.frontends.frame.prune import pruned
from tosajit.graph import Graph
from tosajit.tracing.recorder import Trace
from tosajit.tracing.tensor import Tensor

_LACKING = {
    "uint8": "uint8", "uint16": "uint16", "uint32": "uint32", "uint64": "uint64", "int64": "int64",
    "int4": "int4", "uint4": "uint4", "int2": "int2", "uint2": "uint2",
    "float8e4m3fnuz": "float8_e4m3fnuz", "float8e5m2fnuz": "float8_e5m2fnuz", "float4e2m1": "float4_e2m1fn",
}  # fmt: skip
"""The types that TOSA lacks, and that callers may use all the same, by NumPy's names."""


Scale: TypeAlias = tuple[float, int]
"""The scale and the zero point of integers, in the type that callers use."""


@dataclass(frozen=True, slots=True)
class Inside:
    """How a type that TOSA lacks is another one inside of a graph."""

    form: str
    """What is added to the names of tensors that have the other type."""
    enter: Callable[[Tensor], Tensor]
    leave: Callable[[Tensor], Tensor]


class Found(Protocol):
    """What a front end has found for a name."""

    @property
    def name(self) -> str:
        """What it is called in the graph."""

    @property
    def is_constant(self) -> bool:
        """Whether its elements are known."""


F = TypeVar("F", bound=Found)


def leaving(found: F, name: str) -> F:
    """What an output is made of; a constant makes way for an output that is called as it is."""
    if not found.is_constant or found.name != name:
        return found
    return replace(found, name=f"{name}/known")  # type: ignore[type-var]


class Ends:
    """What a graph takes and gives, while it is written."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self._types: dict[str, str] = {}
        self._scales: dict[str, Scale] = {}
        self._given: set[str] = set()
        self._now: dict[str, str] = {}
        """What tensors are called since they are outputs, by their names before."""

    def take(
        self,
        name: str,
        dtype: DType,
        shape: Sequence[int],
        type: str,
        inside: Inside | None = None,
        scale: Scale | None = None,
    ) -> Tensor:
        """A new input; `type` is what the source calls its type, `scale` what integers stand for."""
        given = self.trace.input(name, dtype, tuple(shape))
        self._note(given.name, type, scale)
        if inside is None:
            return given
        with self.trace.builder.at(f"{name}/{inside.form}", f"input {name}"):
            return inside.enter(given)

    def give(
        self, tensor: Tensor, name: str, type: str, inside: Inside | None = None, scale: Scale | None = None
    ) -> None:
        """Make a tensor of the graph an output, once all nodes are there."""
        builder, held = self.trace.builder, tensor.name
        found = self._tensor(self._now.get(held, held))
        with builder.at(name, f"output {name}"):
            if inside is not None:
                inner = self._called(found, f"{name}/{inside.form}")
                self._now[held] = inner.name
                found = self._called(inside.leave(inner), name)
            elif self._is_bound(found):
                found = self._called(ops.identity(found), name)
            else:
                found = self._called(found, name)
                self._now[held] = found.name
        self._given.add(found.name)
        builder.output(found.name)
        self._note(found.name, type, scale)

    def graph(self) -> Graph:
        """The graph that has been written, without what nobody needs."""
        built = pruned(self.trace.builder.build())
        return replace(built, outside=self._types, scales=self._scales)

    def _is_bound(self, tensor: Tensor) -> bool:
        """Whether the name of a tensor has to stay: it is a constant, an input or an output already."""
        is_constant = tensor.value.data is not None
        return is_constant or tensor.name in self._given or self.trace.builder.is_input(tensor.name)

    def _called(self, tensor: Tensor, name: str) -> Tensor:
        """A tensor that is computed under another name, unless it is an output."""
        if tensor.name in self._given:
            return tensor
        with self.trace.builder.at("", "", 0) as rename:
            if tensor.name != name and name in self.trace.builder and not self._is_bound(self._tensor(name)):
                self._now[name] = rename(name, f"{name}/before")
            return self._tensor(rename(tensor.name, name))

    def _tensor(self, name: str) -> Tensor:
        return Tensor(self.trace, self.trace.builder.value(name))

    def _note(self, name: str, type: str, scale: Scale | None) -> None:
        """Keep the type of an input or output, if TOSA lacks it, and what its integers stand for."""
        if type in _LACKING:
            self._types[name] = _LACKING[type]
        if scale is not None:
            self._scales[name] = scale
