"""From the records of an ONNX model to a graph: each node that the results need, by its declaration."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from tiling.records import dataclass, replace
from tosajit.dtypes import INT8
from tosajit.errors import FileError, InputError
from tosajit.files.cursor import Bytes
from tosajit.frontends.common.bounded import Bounded
from tosajit.frontends.common.bytes import UNSIGNED, WIDE
from tosajit.frontends.frame import Declaration, Refused
from tosajit.frontends.frame.ends import Ends, leaving
from tosajit.frontends.frame.proportion import Proportion, below
from tosajit.frontends.frame.tidy import tidied
from tosajit.frontends.frame.walk import Lowering, Unlowered
from tosajit.frontends.onnx import records
from tosajit.frontends.onnx.integers import on_integers
from tosajit.frontends.onnx.narrowing import narrow_operand, narrow_record, narrow_type
from tosajit.frontends.onnx.node import Node, Operand, dtype_of, kind_of
from tosajit.frontends.onnx.older import FIRST_NEW, renewed
from tosajit.frontends.onnx.operators import DECLARATIONS
from tosajit.frontends.onnx.order import needed, used
from tosajit.frontends.onnx.reader import read_model
from tosajit.frontends.onnx.records import Attribute, Graph, Model, Parameter
from tosajit.frontends.onnx.schema import NEWEST, OLDEST, STORAGE, Type
from tosajit.frontends.scaled import Held, Scaled, Unsigned
from tosajit.frontends.scaled.operand import Value
from tosajit.graph import Graph as Lowered
from tosajit.graph.extents import Shapes, check_names, closed
from tosajit.log import LOG
from tosajit.profiles import LEVELS
from tosajit.tracing.recorder import Trace, current_trace, recording
from tosajit.tracing.tensor import Tensor

_HIGHEST_RANK = LEVELS["8K"].MAX_RANK


T = TypeVar("T")
Constants: TypeAlias = Mapping[str, ArrayLike]
"""The elements of inputs that are known when a model is read, by their names."""


def graph_of(
    data: Bytes,
    shapes: Shapes | None = None,
    folder: Path | None = None,
    constants: Constants | None = None,
    narrow: bool = False,
) -> Lowered:
    """The graph of a model; `folder` is where the files are that it names.

    `narrow` has what is float64 computed in float32.
    """
    return lowered(read_model(data, folder), shapes or {}, constants or {}, narrow)


def lowered(model: Model, shapes: Shapes, constants: Constants, narrow: bool = False) -> Lowered:
    """The graph of a model that has been read."""
    version = model.opsets.get("", NEWEST)
    if not OLDEST <= version <= NEWEST:
        raise FileError(
            f"its operators are of set {version}, but those of {OLDEST} to {NEWEST} are known: "
            "convert it with onnx.version_converter"
        )
    if not model.graph.outputs:
        raise FileError("the model has no output")
    trace = Trace()
    lowering = ModelLowering(model, Proportion(trace, model.operators, model.size), narrow)
    walk, ends = Walk(lowering, trace, model.opsets), Ends(trace)
    inputs = [one for one in model.graph.inputs if one.name not in model.graph.constants]
    check_names(shapes, [one.name for one in inputs])
    check_names(constants, [one.name for one in inputs], "constants")
    with recording(trace):
        walk.begin(model.graph)
        known = _sizes(inputs, shapes)
        for one in inputs:
            if one.name in constants:
                walk.fix(one, constants[one.name])
                continue
            walk.take(one, _named(one, known), shapes.get(one.name), ends)
        walk.run(model.graph.nodes, [one.name for one in model.graph.outputs])
        lowering.refusals.settle()
        for one in model.graph.outputs:
            walk.write(one.name)
        for one in model.graph.outputs:
            walk.give(one.name, ends)
    lowering.refusals.settle()
    return tidied(ends.graph())


def _sizes(inputs: Iterable[records.Value], shapes: Shapes) -> dict[str, int]:
    """The extents that have names, as far as given shapes say them."""
    known: dict[str, int] = {}
    for one in inputs:
        for extent, given in zip(one.shape or (), shapes.get(one.name, ()), strict=False):
            if isinstance(extent, str) and extent:
                known[extent] = given
    return known


def _named(value: records.Value, known: Mapping[str, int]) -> tuple[int, ...] | None:
    """The shape of an input; -1 for extents that are left open."""
    if value.shape is None:
        return None
    return tuple(known.get(one, -1) if isinstance(one, str) else one for one in value.shape)


class ModelLowering(Lowering[Model]):
    """What the graphs of a model share, and whether float64 is computed in float32."""

    def __init__(self, model: Model, proportion: Proportion, narrow: bool) -> None:
        super().__init__(model, proportion)
        self.narrow = narrow


class Walk:
    """One graph or function on its way into a trace."""

    def __init__(
        self,
        lowering: ModelLowering,
        trace: Trace,
        opsets: Mapping[str, int],
        prefix: str = "",
        around: Walk | None = None,
        parameters: Mapping[str, Attribute] | None = None,
        depth: int = 0,
    ) -> None:
        self.lowering, self.trace, self.opsets = lowering, trace, opsets
        self.prefix, self.around, self.parameters, self.depth = prefix, around, parameters or {}, depth
        self.values: dict[str, Operand] = {}
        self.refused: set[str] = set()
        self.uses: Counter[str] = Counter()
        self.takers: defaultdict[str, set[str]] = defaultdict(set)

    def begin(self, graph: Graph) -> None:
        """Take the constants of a graph."""
        for name, elements in graph.constants.items():
            if isinstance(elements, Type):
                self.lowering.refusals.add(
                    name, "initializer", Refused(f"TOSA has no type for {elements.label}")
                )
                self.refused.add(name)
            else:
                self.values[name] = Operand(self.trace, elements, kind_of(elements, ()), name)

    def take(
        self, given: records.Value, extents: Sequence[int] | None, shape: Sequence[int] | None, ends: Ends
    ) -> None:
        """Make an input of the graph."""
        self.refused.add(given.name)
        with self.lowering.refusals.collecting(given.name, "input"):
            if given.type is None:
                raise Refused("it is no tensor, but a sequence, a map or an optional value")
            found = closed(given.name, extents, shape)
            if len(found) > _HIGHEST_RANK:
                raise Refused(f"it has {len(found)} dimensions, but TOSA allows {_HIGHEST_RANK}")
            if 0 in found:
                self._leave_out(given, found)
                return
            kind = narrow_type(given.type) if self.lowering.narrow else given.type
            is_byte = kind is Type.UINT8
            dtype = INT8 if is_byte else dtype_of(kind)
            tensor = ends.take(given.name, dtype, found, kind.label, UNSIGNED if is_byte else None)
            value = Unsigned.of(tensor) if is_byte else tensor
            self.values[given.name] = Operand(self.trace, value, kind, given.name)
            self.refused.discard(given.name)

    def fix(self, given: records.Value, elements: ArrayLike) -> None:
        """Make an input a constant."""
        if given.type not in STORAGE:
            raise InputError(f"constants: {given.name} has no type that NumPy has")
        array = np.asarray(elements)
        kept = array.astype(STORAGE[given.type])
        if not np.array_equal(kept, array):
            raise InputError(f"constants: {given.name} is {given.type.label}, which does not hold {array}")
        self.values[given.name] = Operand(self.trace, kept, given.type, given.name)

    def _leave_out(self, given: records.Value, shape: tuple[int, ...]) -> None:
        """Make an input that has no elements a constant: only its type and shape are of use."""
        assert given.type is not None
        if given.type not in STORAGE:
            raise Refused(f"TOSA has no type for {given.type.label}")
        LOG.warning("%s: the input has no elements, and is left out", given.name)
        empty = np.empty(shape, STORAGE[given.type])
        self.values[given.name] = Operand(self.trace, empty, given.type, given.name)
        self.refused.discard(given.name)

    def write(self, name: str) -> None:
        """Write a result that has been put off: tensors are called otherwise when they become outputs."""
        with self.lowering.refusals.collecting(name, "output"):
            found = self.operand(name)
            if found.scaled is not None and not found.is_constant:
                self.values[name] = replace(found, value=found.tensor)

    def give(self, name: str, ends: Ends) -> None:
        """Make a result an output of the graph."""
        with self.lowering.refusals.collecting(name, "output"):
            operand = self.operand(name)
            found = leaving(narrow_operand(operand) if self.lowering.narrow else operand, name)
            if isinstance(found.value, Bounded):
                ends.give(found.value.whole, name, found.type.label, found.value.inside)
                return
            if 0 in found.shape:
                raise Refused(f"its shape {list(found.shape)} has no elements, and TOSA's tensors have some")
            if isinstance(found.value, Unsigned) and found.type is Type.UINT8:
                ends.give(found.value.tensor, name, found.type.label, UNSIGNED)
            else:
                inside = WIDE if found.type is Type.UINT8 else None
                ends.give(found.tensor, name, found.type.label, inside)

    def run(self, nodes: Sequence[records.Node], wanted: Iterable[str]) -> None:
        """Lower the nodes that results need; what uses a refused one is looked at as well."""
        wanted = list(wanted)
        inside = needed(nodes, wanted)
        self.uses.update(name for node in inside for name in node.inputs)
        self.uses.update(wanted)
        for node in inside:
            for name in used(node):
                self.takers[name].add(_operator(node))
        for name in wanted:
            self.takers[name].add("")
        for node in inside:
            self.lowering.proportion.spend()
            name, done = f"{self.prefix}{node.name}", False
            with suppress(Unlowered), self.lowering.refusals.collecting(name, _operator(node)):
                done = self.lower(node, name)
            if not done:
                self.refused.update(node.outputs)

    def lower(self, record: records.Node, name: str) -> bool:
        """Write one node; whether its operands were there."""
        record = self._completed(record)
        function = self.lowering.model.functions.get((record.domain, record.op))
        if function is None and record.domain and _operator(record) not in DECLARATIONS:
            raise Refused(f"its domain {record.domain} is not known")
        declared = None if function is not None else DECLARATIONS.find(_operator(record))
        version = self.opsets.get(record.domain, NEWEST)
        if any(map(self._is_refused, record.inputs)):
            if declared is not None:
                declared.check(version, None)
            return False
        operands = tuple(self.operand(one) if one else None for one in record.inputs)
        with self.trace.builder.at(name, f"{_operator(record)} {name} (node {record.place})") as rename:
            if declared is None:
                found: Sequence[Value | Operand] = self._call(record, operands, name)
            else:
                found = self._computed(declared, record, operands, version, name)
            likely = [one.type for one in operands if one is not None]
            for place, (output, value) in enumerate(zip(record.outputs, found, strict=False)):
                if output:
                    label = f"{name}:{place}" if place else name
                    self.values[output] = self._kept(label, value, likely, rename)
        return True

    def _completed(self, record: records.Node) -> records.Node:
        """A node of a function with what the attributes of its caller say."""
        if not any(isinstance(one, Parameter) for one in record.attributes.values()):
            return record
        given = {
            name: self.parameters.get(value.name) if isinstance(value, Parameter) else value
            for name, value in record.attributes.items()
        }
        return replace(record, attributes=given)

    def _computed(
        self,
        declared: Declaration,
        record: records.Node,
        operands: tuple[Operand | None, ...],
        version: int,
        name: str,
    ) -> tuple[Value | Operand, ...]:
        """The results of a node: folded where they follow from constants, else written as TOSA."""
        foldable = all(one is None or one.is_foldable for one in operands)
        by_numpy = foldable and declared.fold is not None
        if self.lowering.narrow and not by_numpy:
            operands = tuple(None if one is None else narrow_operand(one) for one in operands)
            record = narrow_record(record)
        typed = operands[declared.typed] if len(operands) > declared.typed else None
        is_wide = typed is not None and typed.type is Type.FLOAT64
        declared.check(version, None if typed is None or (is_wide and by_numpy) else typed.type.label)
        takers = frozenset(taker for output in record.outputs for taker in self.takers[output])
        node = Node(record, operands, self.trace, version, Inside(self, name), takers)
        if version < FIRST_NEW and not record.domain:
            node = renewed(node)
        with np.errstate(all="ignore"):
            found = on_integers(node, declared) if not record.domain else None
            if found is None:
                found = declared.results(node, foldable)
        raw = (one.value if isinstance(one, Operand) else one for one in found)
        self.lowering.proportion.fold([one for one in raw if isinstance(one, np.ndarray)])
        return found

    def _kept(self, label: str, value: Value | Operand, likely: Sequence[Type], rename: Any) -> Operand:
        """A result under the name of its node."""
        if isinstance(value, Operand) and value.name:
            return value
        found, kind = (value.value, value.type) if isinstance(value, Operand) else (value, None)
        if isinstance(found, Tensor):
            found = _renamed(found, label, rename)
        elif isinstance(found, Unsigned):
            found = Unsigned.of(_renamed(found.held, label, rename))
        elif isinstance(found, Bounded):
            found = replace(found, whole=_renamed(found.whole, label, rename))
        elif isinstance(found, Held):
            found = found.moved(_renamed(found.held, label, rename))
        elif not isinstance(found, Scaled):
            found = np.asarray(found)
        return Operand(self.trace, found, kind or kind_of(found, likely), label)

    def _is_refused(self, name: str) -> bool:
        if name in self.values or self.around is None:
            return name in self.refused
        return name in self.refused or self.around._is_refused(name)

    def operand(self, name: str) -> Operand:
        """A value of the graph, or of one around it."""
        found = self.values.get(name)
        if found is None:
            if self.around is None:
                raise Refused(f"{name} has no form in TOSA: no node computes it, or only from itself")
            found = replace(self.around.operand(name), uses=2)
        else:
            found = replace(found, uses=self.uses[name])
        return replace(found, trace=self.trace)

    def inside(self, caller: str, graph: Graph, operands: Sequence[Operand]) -> tuple[Operand, ...]:
        """Lower a graph of a node on operands, into the trace that is being recorded."""
        self.lowering.proportion.spend()
        trace = current_trace()
        assert trace is not None
        walk = Walk(self.lowering, trace, self.opsets, f"{caller}/", self, self.parameters, below(self.depth))
        names = [one.name for one in graph.inputs if one.name not in graph.constants]
        if len(names) != len(operands):
            raise Refused(f"its graph takes {len(names)} tensors, not {len(operands)}")
        walk.begin(graph)
        walk.values.update(zip(names, operands, strict=True))
        return walk._results(graph.nodes, [one.name for one in graph.outputs])

    def _call(
        self, record: records.Node, operands: Sequence[Operand | None], name: str
    ) -> tuple[Operand, ...]:
        """What a function of the model gives."""
        function = self.lowering.model.functions[record.domain, record.op]
        parameters = {**function.attributes, **record.attributes}
        walk = Walk(
            self.lowering, self.trace, function.opsets, f"{name}/",
            parameters=parameters, depth=below(self.depth),
        )  # fmt: skip
        for argument, operand in zip(function.inputs, operands, strict=False):
            if operand is not None:
                walk.values[argument] = operand
        return walk._results(function.nodes, function.outputs)

    def _results(self, nodes: Sequence[records.Node], names: Sequence[str]) -> tuple[Operand, ...]:
        self.run(nodes, names)
        if any(map(self._is_refused, names)):
            raise Unlowered
        return tuple(map(self.operand, names))


def _renamed(tensor: Tensor, label: str, rename: Any) -> Tensor:
    if tensor.ndim > _HIGHEST_RANK:
        raise Refused(f"{label} has {tensor.ndim} dimensions, but TOSA allows {_HIGHEST_RANK}")
    return Tensor(tensor.trace, tensor.trace.builder.value(rename(tensor.name, label)))


@dataclass(frozen=True, slots=True)
class Inside:
    """The graphs of a node, as its lowering sees them."""

    walk: Walk
    caller: str

    def inside(self, graph: Graph, operands: Sequence[Operand], /) -> tuple[Operand, ...]:
        """Lower a graph on operands, into the trace that is being recorded."""
        return self.walk.inside(self.caller, graph, operands)

    def tried(self, lower: Callable[[], T], /) -> T | None:
        """What a lowering gives, or nothing if it is refused, which nobody is told then."""
        return self.walk.lowering.tried(lower)


def _operator(record: records.Node) -> str:
    return f"{record.domain}.{record.op}" if record.domain else record.op
