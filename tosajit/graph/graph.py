"""Graphs: named tensors, the operators that use them, basic blocks, regions of control flow; and in print."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from typing import TYPE_CHECKING

import numpy as np

from tiling.records import dataclass
from tiling.words import isolated, plain
from tosajit.arrays import Array
from tosajit.dtypes import DType

if TYPE_CHECKING:
    from tosajit.graph.operator import Operator


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
        """Type and shape as text, such as `INT8[1, 8]`."""
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
        """The name of the node in messages: its first output."""
        return self.outputs[0] if self.outputs else self.operator.opcode

    @property
    def runs(self) -> tuple[str, ...]:
        """The names of the regions that it runs."""
        return tuple(getattr(self.operator, attribute) for attribute in self.operator.regions)


@dataclass(frozen=True, slots=True)
class Block:
    """A basic block: nodes in any topological order over values of its own."""

    name: str
    nodes: tuple[Node, ...]
    values: Mapping[str, Value] = field(hash=False)
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    def __str__(self) -> str:
        return block_text(self)


@dataclass(frozen=True, slots=True)
class Region:
    """A named sub-graph."""

    name: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Graph:
    """A TOSA graph; `print` lists it. One that was read before is read again when somebody looks at it."""

    regions: tuple[Region, ...]
    version: tuple[int, int, int, bool] = (1, 0, 1, False)
    """Major, minor, patch, draft."""
    outside: Mapping[str, str] = field(default_factory=dict, compare=False)
    """The NumPy types of inputs and outputs in the model that the graph was made from, where TOSA lacks them:
    uint8, kept in the bits of INT8, and int64 and uint32, kept in INT32. A .tosa file does not keep them."""
    scales: Mapping[str, tuple[float, int]] = field(default_factory=dict, compare=False)
    """The scales and zero points of inputs and outputs that are integers in place of real numbers, which are
    `(integer - zero_point) * scale`, as far as the model says them. A .tosa file does not keep them."""
    notes: tuple[str, ...] = field(default=(), compare=False)
    """What whoever made the graph has to say of it, as which operators of a quantised model stayed real."""
    digest: str = field(default="", init=False, compare=False)
    """What says all that it consists of, if `read_from` or `read_later` did; graphs made of it have none."""
    _read: Callable[[], tuple[Region, ...]] | None = field(default=None, init=False, compare=False)
    """What gives the regions as long as nobody has looked at them."""

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            """What is not there yet: the regions."""
            read = object.__getattribute__(self, "_read")
            if name == "regions" and read is not None:
                object.__setattr__(self, name, read())
                object.__setattr__(self, "_read", None)
            return object.__getattribute__(self, name)

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return Graph, (self.regions, self.version, self.outside, self.scales, self.notes)

    @property
    def main(self) -> Block:
        """The block that a run starts with."""
        for region in self.regions:
            if region.name == "main" and region.blocks:
                return region.blocks[0]
        return self.regions[0].blocks[0]

    @property
    def inputs(self) -> tuple[Value, ...]:
        """The inputs of a run."""
        return tuple(self.main.values[name] for name in self.main.inputs)

    @property
    def outputs(self) -> tuple[Value, ...]:
        """The outputs of a run."""
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
        return graph_text(self)

    def _repr_html_(self) -> str:
        return graph_html(self)


def read_from(graph: Graph, digest: str) -> Graph:
    """The graph, of which a digest of all that it was read from is told: nobody can change its constants."""
    for region in graph.regions:
        for value in (value for block in region.blocks for value in block.values.values()):
            if value.data is not None:
                value.data.flags.writeable = False
    object.__setattr__(graph, "digest", digest)
    return graph


def read_later(graph: Graph, digest: str, read: Callable[[], tuple[Region, ...]]) -> Graph:
    """A new graph with the digest, whose regions are read when somebody looks at them."""
    for name, value in (("digest", digest), ("_read", read)):
        object.__setattr__(graph, name, value)
    object.__delattr__(graph, "regions")
    return graph


# In print: one line a node, with types, shapes and attributes.

SPECIFICATION = "https://www.mlplatform.org/tosa/tosa_spec.html"
"""Where the sections of the specification are."""

_SHORT = 4
_LONG = 120


def graph_text(graph: Graph) -> str:
    """All regions of a graph."""
    return "\n\n".join(block_text(block, region.name) for region in graph.regions for block in region.blocks)


def block_text(block: Block, region: str = "") -> str:
    """A block: its signature, and a line for each node."""
    takes = ", ".join(_declared(block, name) for name in block.inputs)
    gives = ", ".join(_type(block, name) for name in block.outputs)
    lines = [f"{plain(region or block.name)}({takes}) -> ({gives}) {{"]
    lines += [f"  {line}" for line in _lines(block)]
    lines += [f"  return {', '.join(map(_named, block.outputs))}", "}"]
    return "\n".join(lines)


def _lines(block: Block) -> Iterator[str]:
    for node in block.nodes:
        results = ", ".join(map(_named, node.outputs))
        types = ", ".join(_type(block, name) for name in node.outputs)
        left = f"{results} = " if results else ""
        right = f" : {types}" if types else ""
        yield f"{left}{node.operator.opcode}({_arguments(block, node)}){right}"


def _arguments(block: Block, node: Node) -> str:
    from tosajit.graph.operator import shown  # which executables in files do without

    parts = [_named(name) for name in node.inputs]
    constant = block.values.get(node.outputs[0]) if node.outputs else None
    if constant is not None and constant.data is not None and not node.inputs:
        parts.append(constant_text(constant))
    parts += [f"{name}={shown(value)}" for name, value in node.operator]
    return ", ".join(parts)


def constant_text(value: Value) -> str:
    """The elements of a small constant; how many there are of a large one, and their range."""
    data = value.data
    if data is None:
        return ""
    if data.size <= _SHORT or value.dtype.kind == "shape":
        text = ", ".join(str(element) for element in data.ravel().tolist())
        return text if data.ndim == 0 else f"[{text}]"
    numbers = data.astype(np.float64) if value.dtype.is_float else data
    return f"{data.size} × {numbers.min()}…{numbers.max()}"


def _named(name: str) -> str:
    return f"%{plain(name)}"


def _declared(block: Block, name: str) -> str:
    return f"{_named(name)}: {_type(block, name)}"


def _type(block: Block, name: str) -> str:
    value = block.values.get(name)
    return "?" if value is None else value.type


def graph_html(graph: Graph) -> str:
    """A table for notebooks, with links to the specification."""
    parts = []
    for region in graph.regions:
        for block in region.blocks:
            rows = "".join(_row(block, node) for node in block.nodes)
            head = "<tr><th>result</th><th>operator</th><th>arguments</th><th>type</th></tr>"
            takes = ", ".join(isolated(_declared(block, name)) for name in block.inputs)
            parts.append(f"<b>{isolated(region.name)}</b>({takes})<table>{head}{rows}</table>")
    return "".join(parts)


def _row(block: Block, node: Node) -> str:
    from html import escape

    operator = node.operator
    link = f'<a href="{SPECIFICATION}#_{operator.opcode.lower()}" title="section {operator.section}">'
    cells = [
        ", ".join(map(isolated, node.outputs)),
        f"{link}{operator.opcode}</a>",
        escape(_cut(_arguments(block, node))),
        escape(", ".join(_type(block, name) for name in node.outputs)),
    ]
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def _cut(text: str) -> str:
    return text if len(text) <= _LONG else f"{text[: _LONG - 1]}…"
