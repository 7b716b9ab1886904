"""Graphs: named tensors, the operators that use them, basic blocks, and the regions of control flow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from tiling.words import plain
from tosajit.dtypes import DType

if TYPE_CHECKING:
    from tosajit.graph.operator import Operator

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """A tensor or a shape of a block; a shape of n components has `dtype` SHAPE and `shape` (n,)."""

    name: str
    dtype: DType
    shape: tuple[int, ...] | None
    data: Array | None = None
    """The constant of a CONST or CONST_SHAPE, the initial value of a variable."""
    variable_name: str = ""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Value) and self._signature == other._signature and self._same_data(other)

    def __hash__(self) -> int:
        return hash(self._signature)

    def __repr__(self) -> str:
        return f"Value({self})"

    def __str__(self) -> str:
        return f"%{plain(self.name)}: {self.type}"

    @property
    def type(self) -> str:
        """Type and shape in print, such as `INT8[1, 8]`."""
        extents = "*" if self.shape is None else ", ".join(map(str, self.shape))
        return f"{self.dtype.name}[{extents}]"

    @property
    def _signature(self) -> tuple[str, DType, tuple[int, ...] | None, str]:
        return self.name, self.dtype, self.shape, self.variable_name

    def _same_data(self, other: Value) -> bool:
        if self.data is None or other.data is None:
            return self.data is other.data
        return self.data is other.data or (
            self.data.dtype == other.data.dtype and self.data.tobytes() == other.data.tobytes()
        )


@dataclass(frozen=True, slots=True)
class Node:
    """One use of an operator; inputs and outputs are names of the block's values."""

    operator: Operator
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    location: str = ""

    @property
    def name(self) -> str:
        """What messages call this node: its first output."""
        return self.outputs[0] if self.outputs else self.operator.opcode


@dataclass(frozen=True, slots=True)
class Block:
    """A basic block: nodes in any topological order over values of its own."""

    name: str
    nodes: tuple[Node, ...]
    values: Mapping[str, Value] = field(hash=False)
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    def __str__(self) -> str:
        from tosajit.graph.listing import block_text

        return block_text(self)


@dataclass(frozen=True, slots=True)
class Region:
    """A named sub-graph."""

    name: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Graph:
    """A TOSA graph; `print` lists it."""

    regions: tuple[Region, ...]
    version: tuple[int, int, int, bool] = (1, 0, 1, False)
    """Major, minor, patch, draft."""

    @property
    def main(self) -> Block:
        """The block that a run starts with."""
        for region in self.regions:
            if region.name == "main" and region.blocks:
                return region.blocks[0]
        return self.regions[0].blocks[0]

    @property
    def inputs(self) -> tuple[Value, ...]:
        """What a run takes."""
        return tuple(self.main.values[name] for name in self.main.inputs)

    @property
    def outputs(self) -> tuple[Value, ...]:
        """What a run gives."""
        return tuple(self.main.values[name] for name in self.main.outputs)

    @property
    def nodes(self) -> Iterator[Node]:
        """Every node of every block."""
        return (node for region in self.regions for block in region.blocks for node in block.nodes)

    def region(self, name: str) -> Region | None:
        """The region that control flow calls `name`."""
        return next((region for region in self.regions if region.name == name), None)

    def __repr__(self) -> str:
        counts = f"{sum(1 for _ in self.nodes)} nodes in {len(self.regions)} regions"
        return f"<Graph of TOSA {'.'.join(map(str, self.version[:3]))}: {counts}>"

    def __str__(self) -> str:
        from tosajit.graph.listing import graph_text

        return graph_text(self)

    def _repr_html_(self) -> str:
        from tosajit.graph.listing import graph_html

        return graph_html(self)
