"""From the records of a TFLite file to a graph: each operator in order, by its declaration."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from tiling.records import replace
from tosajit import ops
from tosajit.arrays import Array
from tosajit.errors import FileError, Refusal
from tosajit.files.cursor import Bytes
from tosajit.frontends.common.state import State
from tosajit.frontends.frame import Declaration, Refusals, Refused
from tosajit.frontends.frame.ends import Ends, leaving
from tosajit.frontends.frame.proportion import Proportion, below
from tosajit.frontends.tflite import records
from tosajit.frontends.tflite.inside import INSIDE
from tosajit.frontends.tflite.labels import labels
from tosajit.frontends.tflite.lists import with_updates
from tosajit.frontends.tflite.node import Node
from tosajit.frontends.tflite.operand import Described, Operand
from tosajit.frontends.tflite.operators import DECLARATIONS
from tosajit.frontends.tflite.reader import read_model
from tosajit.frontends.tflite.schema import OPERATORS, Type
from tosajit.frontends.tflite.variables import Variables
from tosajit.graph import Graph
from tosajit.graph.extents import Shapes, check_names, closed, remedy, written
from tosajit.tracing.recorder import Trace, current_trace, recording
from tosajit.tracing.tensor import Tensor

Named = Sequence[tuple[str, int]]


def graph_of(data: Bytes, signature: str | None = None, shapes: Shapes | None = None) -> Graph:
    """The graph of a file, or of one of its signatures."""
    model = read_model(data)
    subgraph, inputs, outputs = _entry(model, signature)
    trace = Trace()
    count = sum(len(one.operators) for one in model.subgraphs)
    lowering = Lowering(model, Variables(trace), Proportion(trace, count, len(data)))
    walk, ends = Walk(lowering, subgraph, trace), Ends(trace)
    check_names(shapes, (name for name, _ in inputs))
    with recording(trace):
        for name, place in inputs:
            walk.take(place, name, ends, (shapes or {}).get(name))
        walk.run()
        taken = [one for name, place in inputs if (one := _taken(name, subgraph.tensors[place], shapes))]
        lowering.refusals.settle(*taken)
        for name, place in outputs:
            walk.give(place, name, ends)
        lowering.refusals.settle(*taken)
    return ends.graph()


def _taken(name: str, record: records.Tensor, shapes: Shapes | None) -> Refusal | None:
    """What to say of an input with open extents, if something is refused that may follow from them."""
    if name in (shapes or {}) or min(record.signature, default=0) >= 0:
        return None
    reason = f"its shape is {written(record.signature)}, and taken as {list(record.shape)}"
    return Refusal(name, "input", reason, remedy(name))


def _entry(model: records.Model, signature: str | None) -> tuple[records.Subgraph, Named, Named]:
    """The subgraph that a run starts with, its inputs and its outputs by name."""
    if signature is None:
        first = model.subgraphs[0]
        names = labels(first)
        inputs, outputs = ([(names[one], one) for one in ones] for ones in (first.inputs, first.outputs))
        return first, inputs, outputs
    for found in model.signatures:
        if found.key == signature:
            return model.subgraphs[found.subgraph], found.inputs, found.outputs
    there = ", ".join(repr(one.key) for one in model.signatures) or "none"
    raise FileError(f"there is no signature {signature!r}; the file has {there}")


class Lowering:
    """What the subgraphs of a model share on their way into a graph."""

    def __init__(self, model: records.Model, variables: Variables, proportion: Proportion) -> None:
        self.model, self.variables, self.proportion = model, variables, proportion
        self.refusals = Refusals()


class Walk:
    """One subgraph on its way into a trace."""

    def __init__(self, lowering: Lowering, subgraph: records.Subgraph, trace: Trace, depth: int = 0) -> None:
        self.lowering, self.subgraph, self.trace, self.depth = lowering, subgraph, trace, depth
        self.values: dict[int, Tensor | Array] = {
            one.place: one.data for one in subgraph.tensors if one.data is not None
        }
        self.labels = labels(subgraph)
        self.refused: set[int] = set()

    def take(self, place: int, name: str, ends: Ends, shape: Sequence[int] | None = None) -> None:
        """Make a tensor an input of the graph; extents are those of the file unless they are given."""
        record = self.subgraph.tensors[place]
        described = Described(record)
        self.refused.add(place)  # until it is there: what computes with it is looked at all the same
        with self.lowering.refusals.collecting(name, "input"):
            if shape is not None:
                described = Described(
                    replace(record, shape=closed(name, record.signature or record.shape, shape))
                )
            kind = described.type
            self.values[place] = ends.take(
                name, described.dtype, described.outside, kind.label, INSIDE.get(kind), described.stands_for
            )
            self.refused.discard(place)

    def give(self, place: int, name: str, ends: Ends) -> None:
        """Make a tensor an output of the graph."""
        found = leaving(self.operand(place, "outputs"), name)
        with self.lowering.refusals.collecting(name, "output"):
            ends.give(found.tensor, name, found.type.label, INSIDE.get(found.type), found.stands_for)

    def run(self) -> None:
        """Lower every operator; results of what is refused are stood in for, so that all is found."""
        refusals = self.lowering.refusals
        for operator in with_updates(self.subgraph):
            self.lowering.proportion.spend()
            name = self.labels[operator.outputs[0]] if operator.outputs else operator.name
            done = False
            with refusals.collecting(name, operator.name):
                done = self.lower(operator, name)
            if not done:
                self.stand_in(operator)

    def lower(self, operator: records.Operator, name: str) -> bool:
        """Write one operator; whether its operands were there."""
        declared = _declared(operator)
        if self.refused.intersection(operator.inputs):
            declared.check(operator.version, None)
            return False
        with self.trace.builder.at(name, self.location(operator)) as rename, np.errstate(all="ignore"):
            node = self.node(operator)
            typed = node.optional(declared.typed)
            declared.check(operator.version, None if typed is None else typed.type.label)
            constant = all(one is None or one.is_constant for one in node.operands)
            values = declared.results(node, constant)
            if len(values) != len(operator.outputs):
                raise Refused(f"it has {len(operator.outputs)} results, but must have {len(values)}")
            for place, value in zip(operator.outputs, values, strict=True):
                self.values[place] = self.named(place, value, rename)
        return True

    def named(self, place: int, value: Tensor | Array, rename: Any) -> Tensor | Array:
        """A result under the name that the file has for it."""
        if not isinstance(value, Tensor):
            return value
        expected = Described(self.subgraph.tensors[place]).dtype
        if value.dtype is not expected:
            raise Refused(f"its result is {value.dtype}, but the file says {expected}")
        called = rename(value.name, self.labels[place])
        return Tensor(value.trace, value.trace.builder.value(called))

    def node(self, operator: records.Operator) -> Node:
        """An operator with its operands."""
        operands = tuple(None if place < 0 else self.operand(place, "inputs") for place in operator.inputs)
        results, intermediates = (
            tuple(Described(self.subgraph.tensors[place]) for place in places if place >= 0)
            for places in (operator.outputs, operator.intermediates)
        )
        return Node(operator, operands, results, intermediates, self.trace, self)

    def uses(self, place: int) -> bool:
        """Whether operators, or what runs the subgraph, compute with a tensor."""
        return self.depth > 0 or place in self._used

    @cached_property
    def _used(self) -> frozenset[int]:
        return frozenset(place for one in self.subgraph.operators for place in one.inputs)

    def operand(self, place: int, field: str) -> Operand:
        """A tensor that has been computed, or is a constant."""
        record = self.subgraph.tensors[place]
        value = self.values.get(place)
        if value is None and record.is_variable:
            value = self.state(place).read()
        if value is None and prod(record.shape) == 0:
            value = np.zeros(record.shape, np.int64 if record.type is Type.INT64 else np.int32)
        if value is None:
            raise FileError(
                f"subgraph {self.subgraph.place}: tensor {place} ({record.name!r}) is used in {field} before "
                "it is computed"
            )
        return Operand(record, self.trace, value, self.labels[place])

    def call(self, number: int, operands: Sequence[Operand]) -> tuple[Operand, ...]:
        """Lower another subgraph of the model on operands, into the trace that is being recorded."""
        subgraph, trace = self.called_subgraph(number), current_trace()
        depth = below(self.depth)
        if len(operands) != len(subgraph.inputs):
            raise Refused(f"subgraph {number} takes {len(subgraph.inputs)} tensors, not {len(operands)}")
        assert trace is not None
        walk = Walk(self.lowering, subgraph, trace, depth)
        walk.values |= {place: one.value for place, one in zip(subgraph.inputs, operands, strict=True)}
        walk.run()
        for place in walk.refused.intersection(subgraph.outputs):
            walk.values[place] = _stand_in(Described(subgraph.tensors[place]))
        return tuple(walk.operand(place, "outputs") for place in subgraph.outputs)

    def kept(self, number: int) -> tuple[bool, ...]:
        """Which of its operands a subgraph gives back, each in its own place."""
        subgraph = self.called_subgraph(number)
        written = {place for one in subgraph.operators for place in one.outputs}
        inputs = dict(enumerate(subgraph.inputs))
        return tuple(
            inputs.get(number) == place and place not in written
            for number, place in enumerate(subgraph.outputs)
        )

    @property
    def variables(self) -> Variables:
        """What persists from run to run."""
        return self.lowering.variables

    def state(self, place: int) -> State:
        """A tensor of the subgraph that persists."""
        tensor = self.subgraph.tensors[place]
        if not tensor.is_variable:
            raise Refused(f"{tensor.name} is changed, but is not said to be a variable")
        return self.variables.tensor((self.subgraph.place, place), self.labels[place], Described(tensor))

    def called_subgraph(self, number: int) -> records.Subgraph:
        """A subgraph that an operator names."""
        subgraphs = self.lowering.model.subgraphs
        if not 0 <= number < len(subgraphs):
            raise Refused(f"it runs subgraph {number}, but there are {len(subgraphs)}")
        return subgraphs[number]

    def stand_in(self, operator: records.Operator) -> None:
        """Let what uses the results of a refused operator be looked at as well."""
        self.refused.update(operator.outputs)

    def location(self, operator: records.Operator) -> str:
        """Where a node comes from, as files keep it."""
        names = " ".join(self.subgraph.tensors[place].name for place in operator.outputs)
        place = self.subgraph.name or f"subgraph {self.subgraph.place}"
        return f"{operator.name} {names} ({place}, operator {operator.place})"


def _declared(operator: records.Operator) -> Declaration:
    if operator.custom and (operator.name in OPERATORS or operator.name not in DECLARATIONS):
        return DECLARATIONS["CUSTOM"]
    return DECLARATIONS.find(operator.name)


def _stand_in(described: Described) -> Tensor:
    """A tensor in place of what is refused: the graph will not be built."""
    outputs = [(described.dtype, described.record.shape)]
    made: Tensor = ops.custom(operator_name="refused", domain_name="tosajit", outputs=outputs)
    return made
