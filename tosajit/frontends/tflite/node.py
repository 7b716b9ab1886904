"""What the lowering of a TFLite operator sees: its operands, results and attributes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeVar

from tiling.records import dataclass
from tosajit.frontends.common.state import State
from tosajit.frontends.frame import Refused
from tosajit.frontends.tflite import records
from tosajit.frontends.tflite.fields import Options
from tosajit.frontends.tflite.operand import Described, Operand
from tosajit.frontends.tflite.variables import Variables
from tosajit.tracing.recorder import Trace
from tosajit.tracing.tensor import Tensor

T = TypeVar("T", bound=Options)


class Subgraphs(Protocol):
    """The subgraphs of a model, as an operator sees them that runs some."""

    def call(self, number: int, operands: Sequence[Operand]) -> tuple[Operand, ...]:
        """Lower a subgraph on operands, into the trace that is being recorded."""

    def kept(self, number: int) -> tuple[bool, ...]:
        """Which of its operands a subgraph gives back, each in its own place."""

    def called_subgraph(self, number: int) -> records.Subgraph:
        """A subgraph that an operator names."""

    @property
    def variables(self) -> Variables:
        """What persists from run to run."""

    def state(self, place: int) -> State:
        """A tensor of the subgraph that persists."""

    def uses(self, place: int) -> bool:
        """Whether operators, or what runs the subgraph, compute with a tensor."""


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A use of an operator, as its lowering sees it."""

    record: records.Operator
    operands: tuple[Operand | None, ...]
    results: tuple[Described, ...]
    intermediates: tuple[Described, ...]
    """Tensors that only say scales of what the operator has inside."""
    trace: Trace
    subgraphs: Subgraphs

    @property
    def options(self) -> Any:
        """Its attributes."""
        return self.record.options

    def __getitem__(self, number: int) -> Operand:
        """An operand that must be there."""
        found = self.optional(number)
        if found is None:
            raise Refused(f"operand {number} is missing")
        return found

    def optional(self, number: int) -> Operand | None:
        """An operand, or None if it is left out."""
        return self.operands[number] if number < len(self.operands) else None

    def keep(self, number: int, value: Tensor) -> None:
        """Let an operand that persists hold a tensor."""
        self.subgraphs.state(self.record.inputs[number]).write(value)

    @property
    def inputs(self) -> tuple[Operand, ...]:
        """All operands, none of which is left out."""
        return tuple(self[number] for number in range(len(self.operands)))

    @property
    def result(self) -> Described:
        """The only result."""
        if len(self.results) != 1:
            raise Refused(f"it has {len(self.results)} results, but must have one")
        return self.results[0]

    def attributes(self, kind: type[T]) -> T:
        """The attributes of a class; defaults where the file has none."""
        found = self.record.options
        return found if isinstance(found, kind) else kind()
