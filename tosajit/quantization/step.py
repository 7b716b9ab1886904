"""One node on its way to integers: what its operands are known by, and the grid of its result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from tosajit.arrays import Array
from tosajit.dtypes import INT8, INT16, DType
from tosajit.frontends.scaled import Affine, Held, Scaled, Sum
from tosajit.graph import Node
from tosajit.graph.binding import Use
from tosajit.quantization.grids import Range
from tosajit.quantization.uses import Uses
from tosajit.tracing.recorder import Trace
from tosajit.tracing.tensor import Tensor

Rule = Callable[["Step"], "Scaled | None"]
"""What becomes of a node whose result is real; None where it stays as it is."""


class Target(Protocol):
    """The graph that is being written, and what values of the float graph are in it."""

    trace: Trace
    uses: Uses
    is_wide: bool
    """Whether activations have 16 bits."""
    by_channel: bool

    def range(self, name: str) -> Range:
        """The range of a value on the samples."""

    def grid(self, name: str) -> Affine:
        """The grid that a value is put on."""

    def giving(self, name: str, affine: Affine) -> Target:
        """The same, with another grid for a value."""

    def elements(self, name: str) -> Array | None:
        """The elements of a real constant."""

    def sum(self, name: str) -> Sum | None:
        """Sums that are not written yet, and that nobody else needs."""

    def known(self, name: str) -> Scaled:
        """What a real value is known by."""

    def settled(self, name: str) -> Scaled:
        """The same, once sums are written."""

    def held(self, name: str, dtype: DType | None = None) -> Held:
        """The integers of a real value, which are written when they are first asked for."""

    def real(self, name: str) -> Tensor:
        """A value as a tensor: real numbers, or what TOSA has for it."""

    def plainly(self, step: Step) -> Callable[[], Tensor]:
        """What writes a node with real numbers."""

    def again(self, step: Step, operands: Mapping[str, Tensor]) -> Tensor:
        """A node's operator on other operands."""


@dataclass(frozen=True, slots=True)
class Step:
    """A node of the float graph."""

    node: Node
    use: Use
    to: Target

    @property
    def name(self) -> str:
        """The name of its result."""
        return self.node.outputs[0]

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents of its result."""
        return self.use.outputs[0].shape or ()

    @property
    def attributes(self) -> Mapping[str, Any]:
        """What its operator says."""
        return dict(self.node.operator)

    @property
    def affine(self) -> Affine:
        """The grid of its result."""
        return self.to.grid(self.name)

    def constant(self, operand: str) -> Array | None:
        """The elements of an operand that is known."""
        return self.use.value(operand).data

    def held(self, operand: str, dtype: DType | None = None) -> Held:
        """The integers of an operand, of a type if one is given."""
        return self.to.held(self.use.value(operand).name, dtype)

    def narrow(self, operand: str) -> Held:
        """The integers of an operand as contractions take them."""
        return self.held(operand, INT16 if self.to.is_wide else INT8)
