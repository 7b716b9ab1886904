"""Drawing graphs of floating-point and mixed operators, with inputs and what fp64 arithmetic gives."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests import floating_oracle as oracle
from tosajit import accuracy
from tosajit.dtypes import DTYPES, SHAPE
from tosajit.graph import Block, Graph, Node, Region, Value
from tosajit.operators import OPERATORS

FLOATS = ("FP32", "FP16", "BF16")
STYLES = ("normal", "normal", "integers", "integers", "large", "special")
EXTENTS = (1, 1, 2, 3, 4, 5, 7, 8, 16, 17, 33)
CASTS = {
    "FP32": ("FP16", "BF16", "INT8", "INT16", "INT32", "FP8E4M3", "FP8E5M2"),
    "FP16": ("FP32", "INT8", "INT16", "INT32", "FP8E4M3", "FP8E5M2"),
    "BF16": ("FP32", "INT8", "INT16", "INT32", "FP8E4M3", "FP8E5M2"),
    **{name: FLOATS for name in ("INT8", "INT16", "INT32", "FP8E4M3", "FP8E5M2")},
}
MOVING = ("TRANSPOSE", "REVERSE", "CONCAT", "RESHAPE", "TILE", "PAD", "SLICE")
WHOLE = (
    *("ABS", "NEGATE", "CEIL", "FLOOR", "IDENTITY", "ADD", "SUB", "MUL", "MAXIMUM", "MINIMUM", "CLAMP"),
    *("SELECT", "CAST", "EQUAL", "GREATER", "GREATER_EQUAL", "ARGMAX", *MOVING, *oracle.ORDERED),
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


@dataclass
class FloatingGraph:
    """Nodes over values, and which of them depend on the order in which they are calculated."""

    seed: int
    entries: dict[str, Entry] = field(default_factory=dict)
    nodes: list[Node] = field(default_factory=list)
    cuts: list[str] = field(default_factory=list)

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
        return self._graph(self.nodes, results, {name: f"given_{name}" for name in results})

    def _graph(self, nodes: list[Node], outputs: tuple[str, ...], given: Mapping[str, str]) -> Graph:
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
        made += [Node(n.operator, tuple(given.get(i, i) for i in n.inputs), n.outputs) for n in nodes]
        inputs = (*self.inputs, *(other for other in given.values() if other in used))
        return Graph((Region("main", (Block("main", tuple(made), values, inputs, outputs),)),))

    def __repr__(self) -> str:
        lines = [f"floating-point graph of seed {self.seed}"]
        for entry in self.entries.values():
            if entry.kind != "result":
                text = np.array2string(entry.array.reshape(-1), threshold=8, edgeitems=3)
                lines.append(f"{entry.name}: {entry.dtype}{list(entry.array.shape)} {text}")
        for node in self.nodes:
            result = self.entries[node.outputs[0]]
            lines.append(
                f"{result.name}: {result.dtype}{list(result.array.shape)} = "
                f"{node.operator.opcode}({', '.join(node.inputs)}) {dict(node.operator)}"
            )
        return "\n".join([*lines, f"return {', '.join(self.outputs)}"])


class Drawer:
    """Draws one graph from a seed; with fewer operators it is the beginning of the same graph."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.made = FloatingGraph(seed)
        self.style = self.pick(STYLES)

    def pick(self, options: Any) -> Any:
        """Choose one of some options."""
        return options[int(self.random.integers(len(options)))]

    def draw(self, operators: int) -> FloatingGraph:
        """Add so many operators."""
        while len(self.made.nodes) < operators:
            STEPS[int(self.random.integers(len(STEPS)))](self)
        return self.made

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
        arrays = [entry.array for entry in inputs]
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
        result_shape = array.reshape(wide.shape)
        names = [entry.name for entry in inputs]
        for place in range(zeros):
            kind = "INT8" if operator == "MUL" else [*(e.dtype for e in inputs[:2]), dtype][place % 3]
            names.append(self.constant(kind, [0]).name)
        result = self.add("result", dtype, result_shape, whole)
        self.made.nodes.append(Node(made, tuple(names), (result.name,)))
        if operator in oracle.ORDERED and not whole:
            self.made.cuts.append(result.name)


def accuracy_types() -> tuple[str, ...]:
    """The names of the floating-point types."""
    return tuple(kind.name for kind in accuracy.FORMATS)


def sizes(
    operator: str, attributes: Mapping[str, Any], arrays: list[np.ndarray], wide: np.ndarray, dtype: str
) -> np.ndarray:
    """What an operator may have to hold on its way, in whatever order it calculates."""
    if operator in oracle.SUMS:
        return oracle.evaluate(operator, attributes, [np.abs(a.astype(np.float64)) for a in arrays], dtype)
    if operator == "REDUCE_PRODUCT":
        steps = [np.maximum(np.abs(arrays[0].astype(np.float64)), 1)]
        return oracle.evaluate(operator, attributes, steps, dtype)
    return np.abs(wide)


def unary(drawer: Drawer) -> None:
    """A function of one operand."""
    operator, x = drawer.pick(tuple(oracle.UNARY)), drawer.operand()
    # In sums of integers the sign of zero is free.
    if operator in ("RECIPROCAL", "RSQRT") and drawer.style == "integers" and not x.array.all():
        return
    drawer.apply(operator, (x,), x.dtype, zeros=2 if operator == "NEGATE" else 0)


def clamp(drawer: Drawer) -> None:
    """CLAMP to a range that holds zero, or not."""
    x = drawer.operand()
    low, high = sorted(float(v) for v in drawer.random.integers(-3, 7, 2))
    nan_mode = drawer.pick(("PROPAGATE", "IGNORE"))
    drawer.apply("CLAMP", (x,), x.dtype, {"min_val": low, "max_val": high, "nan_mode": nan_mode})


def binary(drawer: Drawer) -> None:
    """A function of two operands."""
    operator, x = drawer.pick((*oracle.BINARY, "ADD", "MUL", "SUB", "MAXIMUM", "MINIMUM")), drawer.operand()
    y = drawer.partner(x)
    if drawer.random.random() < 0.5:
        x, y = y, x
    if operator == "POW" and not (x.array.astype(np.float64) > 0).all():
        return
    dtype = "BOOL" if operator in ("EQUAL", "GREATER", "GREATER_EQUAL") else x.dtype
    about = {"nan_mode": drawer.pick(("PROPAGATE", "IGNORE"))} if operator in oracle.NAN_MODES else {}
    drawer.apply(operator, (x, y), dtype, about, zeros=operator == "MUL")


def select(drawer: Drawer) -> None:
    """SELECT between two operands."""
    x = drawer.operand()
    y = drawer.partner(x)
    shape = np.broadcast_shapes(x.array.shape, y.array.shape)
    conditions = [e for e in drawer.made.entries.values() if e.dtype == "BOOL" and e.array.shape == shape]
    drawer.apply("SELECT", (conditions[-1] if conditions else drawer.fresh("BOOL", shape), x, y), x.dtype)


def cast(drawer: Drawer) -> None:
    """CAST to or from a floating-point type; integers have no NaN."""
    x = drawer.operand(tuple(CASTS))
    dtype = drawer.pick(CASTS[x.dtype])
    if dtype in oracle.INTEGERS and x.dtype in FLOATS and drawer.style != "integers":
        x = drawer.fresh(x.dtype, drawer.shape())
        if not np.isfinite(x.array.astype(np.float64)).all():
            return
    drawer.apply("CAST", (x,), dtype)


def reduction(drawer: Drawer) -> None:
    """Reduce along an axis."""
    x = drawer.operand()
    if not x.array.ndim:
        return
    operator = drawer.pick(("REDUCE_SUM", "REDUCE_PRODUCT", "REDUCE_MAX", "REDUCE_MIN", "ARGMAX"))
    about = {"axis": int(drawer.random.integers(x.array.ndim))}
    if operator in oracle.NAN_MODES:
        about["nan_mode"] = drawer.pick(("PROPAGATE", "IGNORE"))
    drawer.apply(operator, (x,), "INT32" if operator == "ARGMAX" else x.dtype, about)


def matmul(drawer: Drawer) -> None:
    """MATMUL."""
    x = drawer.operand((*FLOATS, "FP8E4M3", "FP8E5M2"), 3)
    n, _, c = x.array.shape
    y = drawer.fresh(x.dtype, (n, c, drawer.pick((1, 3, 8, 16, 19))))
    options = {"FP32": ("FP32",), "FP16": ("FP16", "FP32"), "BF16": ("FP32",)}
    drawer.apply("MATMUL", (x, y), drawer.pick(options.get(x.dtype, ("FP16",))), zeros=2)


def window(drawer: Drawer) -> None:
    """CONV2D or pooling."""
    x = drawer.operand(FLOATS, 4)
    operator, (_, height, width, channels) = (
        drawer.pick(("CONV2D", "AVG_POOL2D", "MAX_POOL2D")),
        x.array.shape,
    )
    kernel = tuple(int(drawer.random.integers(1, min(3, extent) + 1)) for extent in (height, width))
    acc = drawer.pick(("FP16", "FP32")) if x.dtype == "FP16" else "FP32"
    about: dict[str, Any] = {"stride": (1, 1), "pad": (0, 0, 0, 0)}
    if operator == "CONV2D":
        about |= {"pad": tuple(int(p) for p in drawer.random.integers(0, 2, 4))}
        about |= {"dilation": (1, 1), "acc_type": acc, "local_bound": True}
        outputs = drawer.pick((1, 4, 9))
        weight = drawer.fresh(x.dtype, (outputs, *kernel, channels))
        bias = drawer.fresh(x.dtype, (drawer.pick((1, outputs)),))
        drawer.apply(operator, (x, weight, bias), x.dtype, about, zeros=2, acc=acc)
    elif operator == "AVG_POOL2D":
        drawer.apply(operator, (x,), x.dtype, about | {"kernel": kernel, "acc_type": acc}, zeros=2, acc=acc)
    else:
        nan_mode = drawer.pick(("PROPAGATE", "IGNORE"))
        drawer.apply(operator, (x,), x.dtype, about | {"kernel": kernel, "nan_mode": nan_mode})


def moved(drawer: Drawer) -> None:
    """Move data."""
    x, operator = drawer.operand((*FLOATS, "FP8E4M3", "FP8E5M2")), drawer.pick(MOVING)
    rank, shape = x.array.ndim, x.array.shape
    if not rank or (operator in ("TILE", "PAD", "CONCAT") and x.array.size > 800):
        return
    axis, inputs, about = int(drawer.random.integers(rank)), (x,), {}
    match operator:
        case "TRANSPOSE":
            about = {"perms": tuple(int(p) for p in drawer.random.permutation(rank))}
        case "REVERSE":
            about = {"axis": axis}
        case "CONCAT":
            inputs, about = (x, drawer.fresh(x.dtype, shape), x), {"axis": axis}
        case "RESHAPE":
            inputs = (x, drawer.constant("SHAPE", [math.prod(shape[:axis]), math.prod(shape[axis:])]))
        case "TILE":
            inputs = (x, drawer.constant("SHAPE", drawer.random.integers(1, 3, rank)))
        case "PAD":
            filling = drawer.constant(x.dtype, drawer.values(x.dtype, (1,)))
            filling.whole = drawer.style == "integers"
            inputs = (x, drawer.constant("SHAPE", drawer.random.integers(0, 3, 2 * rank)), filling)
        case "SLICE":
            start = [int(drawer.random.integers(extent)) for extent in shape]
            size = [int(drawer.random.integers(1, e - s + 1)) for e, s in zip(shape, start, strict=True)]
            inputs = (x, drawer.constant("SHAPE", start), drawer.constant("SHAPE", size))
    drawer.apply(operator, inputs, x.dtype, about)


STEPS: tuple[Callable[[Drawer], None], ...] = (
    *(unary, unary, unary, binary, binary, binary, clamp, select, cast, cast),
    *(reduction, reduction, matmul, matmul, window, window, moved, moved, moved),
)


def draw(seed: int, maximum: int = 8) -> FloatingGraph:
    """Draw a graph of one operator or some."""
    drawer = Drawer(seed)
    return drawer.draw(min(maximum, int(drawer.random.integers(1, 9))))
