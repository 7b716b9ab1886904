"""From the records of a GraphDef to a graph: each node that the results need, by its declaration."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import numpy as np

from tiling.records import replace
from tosajit import ops
from tosajit.arrays import Array
from tosajit.dtypes import FP32, INT8
from tosajit.dtypes import dtype_of as tosa_type
from tosajit.errors import FileError
from tosajit.files.cursor import Bytes
from tosajit.frontends.common.bytes import WIDE
from tosajit.frontends.common.complex import halves, pairs
from tosajit.frontends.common.layout import part, reshaped
from tosajit.frontends.common.state import state
from tosajit.frontends.frame import Declaration, Refused
from tosajit.frontends.frame.ends import Ends, Inside
from tosajit.frontends.frame.proportion import Proportion, below
from tosajit.frontends.frame.walk import Lowering, Unlowered
from tosajit.frontends.tensorflow import records
from tosajit.frontends.tensorflow.node import (
    DTYPES,
    Complex,
    Node,
    Operand,
    Value,
    Variable,
    dtype_of,
    kind_of,
)
from tosajit.frontends.tensorflow.operators import DECLARATIONS
from tosajit.frontends.tensorflow.order import last, ordered
from tosajit.frontends.tensorflow.reader import read_model
from tosajit.frontends.tensorflow.records import Model, Reference
from tosajit.frontends.tensorflow.schema import Type
from tosajit.graph import Graph
from tosajit.graph.extents import Shapes, check_names, closed
from tosajit.tracing.recorder import Trace, current_trace, recording
from tosajit.tracing.tensor import Tensor

_SILENT = frozenset(("NoOp", "Assert", "Const", "Placeholder", "PlaceholderV2", "SaveV2", "RestoreV2"))
"""Operators that nobody means as results."""
_INPUTS = ("Placeholder", "PlaceholderV2")
_TYPES = ("Tout", "DstT", "output_type", "out_type", "dtype", "output_dtype", "Tparams", "T")
"""The attributes that say what type results have, first one first."""


_INSIDE = {Type.UINT8: WIDE, Type.COMPLEX64: Inside("halves", halves, pairs)}
_OUTSIDE = {Type.UINT8: INT8, Type.COMPLEX64: FP32}


@dataclass(frozen=True, slots=True)
class Captured:
    """What a function has from outside: the elements of a tensor, or of a variable, which it may write."""

    name: str
    elements: Array | None
    is_written: bool


@dataclass(frozen=True, slots=True)
class Interface:
    """What a graph takes and gives: for each name in it, what that is in the file."""

    inputs: Mapping[str, str] | None = None
    """Placeholders; None means those that results depend on, and those that no node uses."""
    outputs: Mapping[str, Reference] | None = None
    """None means what no node uses."""
    captured: Mapping[str, Captured] = field(default_factory=dict)
    """By placeholders."""
    after: tuple[str, ...] = ()
    """What is done beside giving results."""


def graph_of(data: Bytes, shapes: Shapes | None = None, outputs: Sequence[str] | None = None) -> Graph:
    """The graph of a frozen GraphDef."""
    model = read_model(data)
    chosen = None if outputs is None else {name: reference_of(name) for name in outputs}
    return lowered(model, shapes or {}, Interface(outputs=chosen))


def reference_of(name: str) -> Reference:
    """A result by its name, such as `node` or `node:1`."""
    node, _, place = name.partition(":")
    return Reference(node, int(place) if place.isascii() and place.isdigit() else 0)


def lowered(model: Model, shapes: Shapes, interface: Interface) -> Graph:
    """The graph of a model that has been read."""
    outputs = interface.outputs
    if outputs is None:
        outputs = {name: Reference(name) for name in last(model.nodes, _SILENT)}
    if not outputs:
        raise FileError("no node gives a result that no other node uses; say outputs=[…]")
    trace = Trace()
    count = len(model.nodes) + sum(len(one.nodes) for one in model.functions.values())
    lowering = Lowering(model, Proportion(trace, count, model.size))
    nodes = ordered(model.nodes, [*interface.after, *(one.node for one in outputs.values())])
    walk, ends = Walk(lowering, trace), Ends(trace)
    _check(shapes, model, interface)
    with recording(trace):
        walk.count(nodes, outputs.values())
        for name, held in interface.captured.items():
            walk.hold(name, held)
        for name, node in _placeholders(model, nodes, interface):
            walk.take(node, name, _given(shapes, node.name, name), ends)
        walk.run(nodes)
        lowering.refusals.settle()
        for name, reference in outputs.items():
            walk.give(reference, name, ends)
    lowering.refusals.settle()
    return ends.graph()


def _placeholders(
    model: Model, nodes: Sequence[records.Node], interface: Interface
) -> Iterable[tuple[str, records.Node]]:
    """The inputs with their names, in the order of the file unless one is given."""
    if interface.inputs is None:
        needed = {node.name for node in nodes}
        if interface.outputs is None:
            needed |= _idle(model)
        return [(node.name, node) for node in model.nodes if node.op in _INPUTS and node.name in needed]
    named = {node.name: node for node in model.nodes}
    return [(name, named[node]) for name, node in interface.inputs.items()]


def _idle(model: Model) -> set[str]:
    """Placeholders that no node uses, but which are inputs of the model, as far as TOSA can have them."""
    used = {one.node for node in model.nodes for one in node.inputs}

    def can_be(node: records.Node) -> bool:
        shape: Any = node.attributes.get("shape")
        known = isinstance(shape, tuple) and all(one >= 0 for one in shape)
        return known and node.attributes.get("dtype") in DTYPES

    return {
        node.name for node in model.nodes if node.op in _INPUTS and node.name not in used and can_be(node)
    }


def _check(shapes: Shapes, model: Model, interface: Interface) -> None:
    """Refuse shapes of what is no placeholder."""
    names = [*(interface.inputs or ()), *(node.name for node in model.nodes if node.op in _INPUTS)]
    check_names({name.removesuffix(":0"): shape for name, shape in shapes.items()}, dict.fromkeys(names))


def _given(shapes: Shapes, *names: str) -> Sequence[int] | None:
    for name in names:
        for spelling in (name, f"{name}:0"):
            if spelling in shapes:
                return shapes[spelling]
    return None


class Walk:
    """One graph or function on its way into a trace."""

    def __init__(
        self,
        lowering: Lowering[Model],
        trace: Trace,
        function: records.Function | None = None,
        prefix: str = "",
        depth: int = 0,
    ) -> None:
        self.lowering, self.trace = lowering, trace
        self.function, self.prefix, self.depth = function, prefix, depth
        self.values: dict[Reference, Operand] = {}
        self.refused: set[str] = set()
        self.held: set[str] = set()
        self.uses: Counter[Reference] = Counter()

    def count(self, nodes: Sequence[records.Node], results: Iterable[Reference]) -> None:
        """Note how often each result is used."""
        self.uses.update(one for node in nodes for one in node.inputs)
        self.uses.update(results)

    def take(self, node: records.Node, name: str, shape: Sequence[int] | None, ends: Ends) -> None:
        """Make a placeholder an input of the graph."""
        with self.lowering.refusals.collecting(node.name, node.op):
            kind = node.attributes.get("dtype")
            if not isinstance(kind, Type):
                raise Refused("its attribute dtype is missing")
            extents = closed(name, _shape(node), shape)
            dtype = _OUTSIDE.get(kind) or dtype_of(kind)
            extents = (*extents, 2) if kind is Type.COMPLEX64 else extents
            value: Value = ends.take(name, dtype, extents, kind.label, _INSIDE.get(kind))
            if kind is Type.COMPLEX64 and isinstance(value, Tensor):
                ends_of = (reshaped(part(value, 0, place, 1), extents[:-1]) for place in (0, 1))
                value = Complex(*ends_of)
            self.values[Reference(node.name)] = Operand(self.trace, value, kind, name)

    def hold(self, node: str, held: Captured) -> None:
        """Make a placeholder a constant, or a variable."""
        if held.elements is None:
            return
        if not held.is_written:
            kind = kind_of(held.elements, None)
            self.values[Reference(node)] = Operand(self.trace, held.elements, kind, held.name)
            return
        with self.lowering.refusals.collecting(held.name, "VarHandleOp"):
            raw = held.elements.astype(np.int32) if held.elements.dtype == np.int64 else held.elements
            name = next(one for one in _spelled(held.name) if one not in self.held)
            self.held.add(name)
            kept = state(name, tosa_type(raw.dtype), raw.shape, raw)
            variable = Variable(kept, kind_of(held.elements, None))
            self.values[Reference(node)] = Operand(self.trace, variable, Type.RESOURCE, held.name)

    def give(self, reference: Reference, name: str, ends: Ends) -> None:
        """Make a result an output of the graph."""
        found = self.operand(reference)
        with self.lowering.refusals.collecting(str(reference), "output"):
            ends.give(self.given(found, name), name, found.type.label, _INSIDE.get(found.type))

    def given(self, found: Operand, name: str) -> Tensor:
        """A result as one tensor; complex numbers are halves."""
        if not found.is_complex:
            return found.tensor
        with self.trace.builder.at(f"{name}/halves", f"output {name}"):
            return ops.concat([reshaped(one, (1, *one.shape)) for one in found.halves], axis=0)

    def run(self, nodes: Sequence[records.Node]) -> None:
        """Lower nodes; what uses the results of a refused one is looked at as well, so that all is found."""
        for node in nodes:
            if Reference(node.name) in self.values:
                continue
            self.lowering.proportion.spend()
            name, done = f"{self.prefix}{node.name}", False
            with suppress(Unlowered), self.lowering.refusals.collecting(name, node.op):
                done = self.lower(node, name)
            if not done:
                self.refused.add(node.name)

    def lower(self, record: records.Node, name: str) -> bool:
        """Write one node; whether its operands were there."""
        if record.op in _INPUTS:
            if record.attributes.get("dtype") is Type.RESOURCE:
                raise Refused("it is a resource that holds no tensor, such as a table")
            return False  # its input has been refused
        declared = DECLARATIONS.find(record.op)
        if any(one.node in self.refused for one in record.inputs):
            declared.check(1, None)
            return False
        operands = tuple(self.operand(one) for one in record.inputs)
        declared.check(1, operands[declared.typed].type.label if len(operands) > declared.typed else None)
        node = Node(record, operands, self.trace, Called(self, name))
        with self.trace.builder.at(name, self.location(record)) as rename, np.errstate(all="ignore"):
            for place, value in enumerate(self.computed(declared, node)):
                self.values[Reference(record.name, place)] = self.named(record, name, place, value, rename)
        return True

    def computed(self, declared: Declaration, node: Node) -> tuple[Value | Operand, ...]:
        """The results of a node: folded where they follow from constants, else written as TOSA."""
        found = declared.results(node, all(one.is_foldable for one in node.operands))
        self.lowering.proportion.fold([one for one in found if isinstance(one, np.ndarray)])
        return found

    def named(
        self, record: records.Node, name: str, place: int, value: Value | Operand, rename: Any
    ) -> Operand:
        """A result under the name that the file has for it."""
        label = f"{name}:{place}" if place else name
        if isinstance(value, Operand):
            return value
        if isinstance(value, Tensor):
            value = Tensor(value.trace, value.trace.builder.value(rename(value.name, label)))
        elif isinstance(value, np.generic):
            value = np.asarray(value)
        return Operand(self.trace, value, kind_of(value, _declared_type(record)), label)

    def operand(self, reference: Reference) -> Operand:
        """A result of a node that has been lowered."""
        found = self.values.get(reference)
        if found is None:
            raise Refused(f"result {reference.place} of {reference.node} has no form in TOSA")
        return replace(found, trace=self.trace, uses=self.uses[reference])

    def call(self, caller: str, name: str, operands: Sequence[Operand]) -> tuple[Operand, ...]:
        """Lower a function of the model on operands, into the trace that is being recorded."""
        function, trace = self.lowering.model.functions.get(name), current_trace()
        if function is None:
            raise Refused(f"it calls {name}, which is not in the file")
        depth = below(self.depth)
        if len(operands) != len(function.arguments):
            raise Refused(f"{name} takes {len(function.arguments)} tensors, not {len(operands)}")
        assert trace is not None
        walk = Walk(self.lowering, trace, function, f"{caller}/", depth)
        for argument, operand in zip(function.arguments, operands, strict=True):
            walk.values[Reference(argument)] = operand
        wanted = [*function.after, *(one.node for one in function.results)]
        nodes = ordered(function.nodes, wanted, function.arguments)
        walk.count(nodes, function.results)
        walk.run(nodes)
        if any(one.node in walk.refused for one in function.results):
            raise Unlowered
        return tuple(walk.operand(one) for one in function.results)

    def location(self, node: records.Node) -> str:
        """Where a node comes from, as files keep it."""
        place = "graph" if self.function is None else self.function.name
        return f"{node.op} {node.name} ({place}, node {node.place})"


@dataclass(frozen=True, slots=True)
class Called:
    """The functions of a model, as one of its nodes sees them."""

    walk: Walk
    caller: str

    def call(self, name: str, operands: Sequence[Operand], /) -> tuple[Operand, ...]:
        """Lower a function on operands, into the trace that is being recorded."""
        return self.walk.call(self.caller, name, operands)

    def kept(self, name: str, /) -> tuple[bool, ...]:
        """Which of its arguments a function gives back, each as the result of its place."""
        function = self.walk.lowering.model.functions.get(name)
        if function is None:
            raise Refused(f"it calls {name}, which is not in the file")
        passing = {one.name: one.inputs[0] for one in function.nodes if one.op == "Identity" and one.inputs}
        kept = []
        for argument, result in zip(function.arguments, function.results, strict=False):
            for _ in function.nodes:
                result = passing.get(result.node, result)
            kept.append(result == Reference(argument))
        return tuple(kept)


def _shape(node: records.Node) -> tuple[int, ...] | None:
    """The shape of a placeholder, as far as it is known."""
    found = node.attributes.get("shape")
    return found if isinstance(found, tuple) else None  # type: ignore[return-value]


def _spelled(name: str) -> Iterator[str]:
    """A name, and others that are like it."""
    yield name
    yield from (f"{name}_{number}" for number in count(1))


def _declared_type(node: records.Node) -> Type | None:
    for name in _TYPES:
        found = node.attributes.get(name)
        if isinstance(found, Type):
            return found
    return None
