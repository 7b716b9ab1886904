"""Drawing graphs of floating-point and mixed operators, with inputs and what fp64 arithmetic gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from tests import floating_oracle as oracle
from tests.floating_sums import SUMS, TRANSFORMS
from tosajit import accuracy
from tosajit.dtypes import DTYPES, SHAPE
from tosajit.graph import Block, Graph, Node, Region, Value
from tosajit.graph.operator import Operator
from tosajit.operators import OPERATORS, VARIABLE, VARIABLE_READ, VARIABLE_WRITE

T = TypeVar("T")

FLOATS = ("FP32", "FP16", "BF16")
EIGHT_BITS = ("FP8E4M3", "FP8E5M2")
STYLES = ("normal", "normal", "integers", "integers", "large", "special")
EXTENTS = (1, 1, 2, 3, 4, 5, 7, 8, 16, 17, 33)
MOVING = ("TRANSPOSE", "REVERSE", "CONCAT", "RESHAPE", "TILE", "PAD", "SLICE", "GATHER", "SCATTER")
WHOLE = (
    *("ABS", "NEGATE", "CEIL", "FLOOR", "IDENTITY", "ADD", "SUB", "MUL", "MAXIMUM", "MINIMUM", "CLAMP"),
    *("SELECT", "CAST", "EQUAL", "GREATER", "GREATER_EQUAL", "ARGMAX", *MOVING),
    *(name for name in oracle.ORDERED if name not in TRANSFORMS),
)
"""Operators that give integers, and calculate them without rounding as long as these are small."""


@dataclass
class Entry:
    """A value; `whole` says that it holds small integers, however it was computed."""

    name: str
    dtype: str
    array: np.ndarray
    whole: bool
    kind: str = "result"


@dataclass(frozen=True)
class Meaning:
    """What a node does that is more than an operator: regions of one operator, or a variable."""

    kind: str
    """`if`, `while` or `variable`."""
    operators: tuple[Operator, ...] = ()
    regions: tuple[Region, ...] = ()


@dataclass
class FloatingGraph:
    """Nodes over values, and which of them depend on the order in which they are calculated."""

    seed: int
    entries: dict[str, Entry] = field(default_factory=dict)
    nodes: list[Node] = field(default_factory=list)
    cuts: list[str] = field(default_factory=list)
    meanings: dict[str, Meaning] = field(default_factory=dict)
    """By the first result of a node."""

    @property
    def operators(self) -> list[tuple[str, str]]:
        """Every operator with the types of its first operand and result."""
        found = []
        for node in self.nodes:
            name, meaning = node.outputs[0], self.meanings.get(node.outputs[0])
            types = [self.entries[value].dtype for value in (*node.inputs[:1], name)]
            inner = [made.opcode for made in meaning.operators] if meaning else []
            names = [node.operator.opcode, *inner]
            if meaning and meaning.kind == "variable":
                names = ["VARIABLE", "VARIABLE_WRITE", "VARIABLE_READ"]
            found += [(used, "-to-".join(types).lower()) for used in names]
        return found

    @property
    def inputs(self) -> dict[str, np.ndarray]:
        """The arrays to run the graph with."""
        return {entry.name: entry.array for entry in self.entries.values() if entry.kind == "input"}

    @property
    def outputs(self) -> tuple[str, ...]:
        """What nothing reads, and what has to be known to follow the others."""
        read = {name for node in self.nodes for name in node.inputs}
        results = [name for name, entry in self.entries.items() if entry.kind == "result"]
        return tuple(name for name in results if name not in read or name in self.cuts)

    def graph(self) -> Graph:
        """The graph as it is meant."""
        return self._graph(self.nodes, self.outputs, {})

    def exposed(self) -> Graph:
        """The graph with all values as outputs, and what depends on the order as inputs too."""
        given = {name: f"given_{name}" for name in self.cuts}
        results = tuple(name for node in self.nodes for name in node.outputs)
        return self._graph(self.nodes, results, given)

    def apart(self) -> Graph:
        """All nodes side by side, each of which reads inputs of its own."""
        results = tuple(name for node in self.nodes for name in node.outputs)
        return self._graph(self.nodes, results, {name: f"given_{name}" for name in results}, variables=False)

    def _graph(
        self, nodes: list[Node], outputs: tuple[str, ...], given: Mapping[str, str], variables: bool = True
    ) -> Graph:
        """Build a graph; without `variables`, which the reference model lacks, their nodes are IDENTITY."""
        values, made = {}, []
        for name, entry in self.entries.items():
            constant = entry.kind in ("constant", "shape")
            values[name] = Value(
                name, DTYPES[entry.dtype], entry.array.shape, entry.array if constant else None
            )
            if constant:
                made.append(
                    Node(OPERATORS["CONST_SHAPE" if entry.kind == "shape" else "CONST"](), (), (name,))
                )
        used = {given[name] for node in nodes for name in node.inputs if name in given}
        for name, other in given.items():
            if other in used:
                values[other] = Value(other, values[name].dtype, values[name].shape, None)
        for node in nodes:
            read = Node(node.operator, tuple(given.get(i, i) for i in node.inputs), node.outputs)
            held = variables and self.meanings.get(node.outputs[0], Meaning("")).kind == "variable"
            made += self._variable(read, values) if held else [read]
        inputs = (*self.inputs, *(other for other in given.values() if other in used))
        regions = [region for meaning in self.meanings.values() for region in meaning.regions]
        return Graph((Region("main", (Block("main", tuple(made), values, inputs, outputs),)), *regions))

    def _variable(self, node: Node, values: dict[str, Value]) -> list[Node]:
        """Write an operand to a variable, and read it back."""
        name, like = f"variable_{node.outputs[0]}", values[node.outputs[0]]
        values[name] = Value(name, like.dtype, like.shape, None, name)
        return [
            Node(VARIABLE(name=name), (), (name,)),
            Node(VARIABLE_WRITE(name=name), node.inputs, ()),
            Node(VARIABLE_READ(name=name), (), node.outputs),
        ]

    def __repr__(self) -> str:
        lines = [f"floating-point graph of seed {self.seed}"]
        for entry in self.entries.values():
            if entry.kind != "result":
                text = np.array2string(entry.array.reshape(-1), threshold=8, edgeitems=3)
                lines.append(f"{entry.name}: {entry.dtype}{list(entry.array.shape)} {text}")
        for node in self.nodes:
            result = self.entries[node.outputs[0]]
            meaning = self.meanings.get(result.name, Meaning(""))
            inner = [meaning.kind, *map(repr, meaning.operators)] if meaning.kind else ""
            lines.append(
                f"{', '.join(node.outputs)}: {result.dtype}{list(result.array.shape)} = "
                f"{node.operator.opcode}({', '.join(node.inputs)}) {dict(node.operator)} {inner}".rstrip()
            )
        return "\n".join([*lines, f"return {', '.join(self.outputs)}"])


class Drawer:
    """Draws one graph from a seed; with fewer operators it is the beginning of the same graph."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.made = FloatingGraph(seed)
        self.style = self.pick(STYLES)

    def pick(self, options: Sequence[T]) -> T:
        """Choose one of some options."""
        return options[int(self.random.integers(len(options)))]

    def add(self, kind: str, dtype: str, array: np.ndarray, whole: bool = True) -> Entry:
        """Add a value."""
        entry = Entry(f"{kind}_{len(self.made.entries)}", dtype, array, whole, kind)
        self.made.entries[entry.name] = entry
        return entry

    def shape(self, rank: int | None = None, most: int = 600) -> tuple[int, ...]:
        """Choose a shape."""
        extents = []
        for _ in range(int(self.random.integers(0, 5)) if rank is None else rank):
            extents.append(self.pick([e for e in EXTENTS if e <= most]))
            most //= extents[-1]
        return tuple(extents)

    def values(self, dtype: str, shape: tuple[int, ...]) -> np.ndarray:
        """Choose numbers of the graph's style."""
        storage = DTYPES[dtype].storage
        if dtype == "BOOL":
            return self.random.integers(0, 2, shape).astype(np.bool_)
        if dtype in oracle.INTEGERS:
            low, high = (-4, 5) if self.style == "integers" else oracle.INTEGERS[dtype]
            return self.random.integers(low, high, shape).astype(storage)
        normal = np.asarray(self.random.standard_normal(shape))
        if self.style == "integers":
            normal = np.clip(np.rint(2 * normal), -4, 4)
        elif self.style == "large":
            normal = normal * np.exp2(self.random.uniform(-12, 7, shape))
        form = accuracy.format_of(dtype)
        if self.style == "special":
            ends = [0.0, -0.0, np.inf, -np.inf, np.nan, form.normal_max, form.normal_min, form.normal_min / 2]
            normal = np.where(self.random.random(shape) < 0.3, self.random.choice(ends, shape), normal)
        with np.errstate(all="ignore"):
            return np.asarray(form.rounded(normal)).astype(storage)

    def fresh(self, dtype: str, shape: tuple[int, ...]) -> Entry:
        """Add an input or a constant."""
        kind = self.pick(("input", "input", "constant"))
        return self.add(kind, dtype, self.values(dtype, shape), self.style == "integers")

    def constant(self, dtype: str, values: Any) -> Entry:
        """Add a constant that the operator asks for."""
        array = np.asarray(values, np.int64 if dtype == "SHAPE" else None)
        kind = "shape" if dtype == "SHAPE" else "constant"
        return self.add(
            kind, dtype, array.astype(SHAPE.storage if kind == "shape" else DTYPES[dtype].storage)
        )

    def indices(self, values: np.ndarray) -> Entry:
        """Add rows to take or to replace."""
        return self.add(self.pick(("input", "constant")), "INT32", values.astype(np.int32))

    def operand(self, dtypes: tuple[str, ...] = FLOATS, rank: int | None = None) -> Entry:
        """Choose a value, mostly a recent result."""
        fits = [
            entry
            for entry in self.made.entries.values()
            if entry.kind in ("input", "result") and entry.dtype in dtypes
            if rank is None or entry.array.ndim == rank
        ]
        if fits and self.random.random() < 0.8:
            return fits[-1] if self.random.random() < 0.6 else self.pick(fits)
        return self.fresh(self.pick(dtypes), self.shape(rank))

    def partner(self, entry: Entry) -> Entry:
        """Choose a value that an operator takes together with another."""
        same = [e for e in self.made.entries.values() if e.dtype == entry.dtype and e.kind != "shape"]
        same = [e for e in same if e.array.shape == entry.array.shape]
        if self.random.random() < 0.5:
            return self.pick(same)
        shape = tuple(1 if self.random.random() < 0.3 else extent for extent in entry.array.shape)
        return self.fresh(entry.dtype, shape)

    def apply(
        self,
        operator: str,
        inputs: tuple[Entry, ...],
        dtype: str,
        attributes: Mapping[str, Any] | None = None,
        zeros: int = 0,
        acc: str = "",
    ) -> None:
        """Add a node; `zeros` operands are zero points, which the oracle does not see."""
        made = OPERATORS[operator](**(attributes or {}))
        results, whole = self.results(made, inputs, dtype, acc)
        names = [entry.name for entry in inputs]
        for place in range(zeros):
            kind = "INT8" if operator == "MUL" else [*(e.dtype for e in inputs[:2]), dtype][place % 3]
            names.append(self.constant(kind, [0]).name)
        self.record(Node(made, tuple(names), ()), [(dtype, array) for array in results], whole)
        if operator in oracle.ORDERED and not whole:
            self.made.cuts += self.made.nodes[-1].outputs

    def record(
        self,
        node: Node,
        results: list[tuple[str, np.ndarray]],
        whole: bool,
        meaning: Meaning | None = None,
    ) -> None:
        """Add a node whose results are of these types and values."""
        names = tuple(self.add("result", dtype, array, whole).name for dtype, array in results)
        self.made.nodes.append(Node(node.operator, node.inputs, names))
        if meaning is not None:
            self.made.meanings[names[0]] = meaning

    def results(
        self, made: Operator, inputs: tuple[Entry, ...], dtype: str, acc: str = ""
    ) -> tuple[list[np.ndarray], bool]:
        """What an operator gives, and whether these are small integers in whatever order it calculates."""
        operator, arrays = made.opcode, [entry.array for entry in inputs]
        wide = oracle.evaluate(operator, dict(made), arrays, dtype)
        whole = all(entry.whole for entry in inputs) and operator in WHOLE
        if dtype in accuracy_types():
            form = accuracy.format_of(dtype)
            bits = min(accuracy.format_of(kind).fraction for kind in (dtype, acc or dtype))
            with np.errstate(all="ignore"):
                array = np.asarray(form.rounded(wide)).astype(form.dtype.storage)
                most = float(np.max(sizes(operator, dict(made), arrays, wide, dtype), initial=0))
                whole = whole and bool((wide == np.rint(wide)).all()) and most < 2**bits
        else:
            array = wide.astype(DTYPES[dtype].storage)
        array = array.reshape(wide.shape)
        return list(array) if operator in TRANSFORMS else [array], whole


def accuracy_types() -> tuple[str, ...]:
    """The names of the floating-point types."""
    return tuple(kind.name for kind in accuracy.FORMATS)


def sizes(
    operator: str, attributes: Mapping[str, Any], arrays: list[np.ndarray], wide: np.ndarray, dtype: str
) -> np.ndarray:
    """What an operator may have to hold on its way, in whatever order it calculates."""
    if operator in SUMS:
        return oracle.evaluate(operator, attributes, [np.abs(a.astype(np.float64)) for a in arrays], dtype)
    if operator == "REDUCE_PRODUCT":
        steps = [np.maximum(np.abs(arrays[0].astype(np.float64)), 1)]
        return oracle.evaluate(operator, attributes, steps, dtype)
    return np.asarray(np.abs(wide))
