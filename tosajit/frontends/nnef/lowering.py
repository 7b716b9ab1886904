"""From a composed model to a graph: each operation by its declaration, else by its body."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

import numpy as np

from tiling.records import replace
from tosajit import ops
from tosajit.errors import TosaError
from tosajit.frontends.common.borders import enlarged
from tosajit.frontends.common.custom import cut
from tosajit.frontends.common.layout import constant_of
from tosajit.frontends.common.state import State, state
from tosajit.frontends.frame import Refusals, Refused
from tosajit.frontends.frame.declaration import UNWRITTEN, Declaration
from tosajit.frontends.frame.ends import Ends, Inside
from tosajit.frontends.frame.proportion import Proportion
from tosajit.frontends.frame.tidy import tidied
from tosajit.frontends.nnef.casts import uncast
from tosajit.frontends.nnef.control import branched, repeated
from tosajit.frontends.nnef.integers.form import form_of
from tosajit.frontends.nnef.model import (
    Argument,
    Body,
    Branches,
    Model,
    Operation,
    Quantized,
    Repeat,
    Step,
    Tensor,
    operations,
    tensors_of,
    tensors_told,
)
from tosajit.frontends.nnef.nests.assignment import largest_shape
from tosajit.frontends.nnef.nests.text import custom_of
from tosajit.frontends.nnef.node import Given, Node, constant, dtype_of, elements_of, shape_of
from tosajit.frontends.nnef.operators import DECLARATIONS
from tosajit.graph import Graph
from tosajit.tracing import tensor as tracing
from tosajit.tracing.recorder import Trace, current_trace, recording


def graph_of(model: Model, walking: type[Walk] | None = None) -> Graph:
    """The graph of a composed model, as one kind of walk writes it."""
    root, trace = model.root, Trace()
    every = [root, *operations(root.body)]
    size = len(root.definition.source.text) + sum(map(_bytes, every))
    lowering = Lowering(model, Proportion(trace, len(every), size))
    walk, ends = (walking or Walk)(lowering, trace), Ends(trace)
    with recording(trace):
        for one in _all(root.inputs):
            with walk.collecting(one, "input"):
                walk.take(one, ends)
        for one in dict.fromkeys(one for operation in every for one in operation.updated):
            walk.hold(one)
        with suppress(Unlowered):
            walk.enter(root)
        for operation in every:
            walk.update(operation)
        walk.lowering.refusals.settle()
        for one in _all(root.outputs):
            with walk.collecting(one, "output"):
                walk.give(one, ends)
        walk.lowering.refusals.settle()
    return replace(uncast(tidied(ends.graph())), notes=tuple(lowering.notes.values()))


def _all(arguments: Mapping[str, Argument]) -> Iterator[Tensor]:
    for argument in arguments.values():
        yield from tensors_of(argument)


def _bytes(operation: Operation) -> int:
    held = [*_all(operation.constants), *_all(operation.variables)]
    return sum(one.value.nbytes for one in held if one.value is not None)


class Lowering:
    """What all bodies of a model share on their way into a graph."""

    def __init__(self, model: Model, proportion: Proportion) -> None:
        self.proportion = proportion
        self.quantized = {one.tensor: one for one in model.quantized}
        self.refusals = Refusals()
        self.states: dict[Tensor, State] = {}
        self.notes: dict[Operation | Tensor, str] = {}
        """What users should know of the graph: one note for each that it is about."""


class Unlowered(Exception):
    """Raised where a body has operations that are refused: these are noted already."""


class Walk:
    """The bodies of one region on their way into its trace."""

    def __init__(self, lowering: Lowering, trace: Trace, outer: Walk | None = None) -> None:
        self.lowering, self.trace = lowering, trace
        self.values: dict[Tensor, tracing.Tensor] = {} if outer is None else dict(outer.values)
        self.names: dict[Tensor, str] = {} if outer is None else dict(outer.names)
        """What results inside of an operation are called: as those of the operation."""
        self.lost: set[Tensor] = set() if outer is None else set(outer.lost)
        """What has been refused, or follows from such."""
        self.rounded: set[Tensor] = set() if outer is None else set(outer.rounded)
        """What has been quantised, of what is to be."""

    @contextmanager
    def collecting(self, tensor: Tensor, what: str) -> Iterator[None]:
        """Note what is refused about a tensor inside of `with`, and go on behind it."""
        done = False
        with suppress(Unlowered), self.lowering.refusals.collecting(tensor.name, what):
            yield
            done = True
        if not done:
            self.lost.add(tensor)

    def take(self, tensor: Tensor, ends: Ends) -> None:
        """Make a tensor an input of the graph."""
        self.values[tensor] = ends.take(tensor.name, dtype_of(tensor.type), shape_of(tensor), tensor.type)

    def give(self, tensor: Tensor, ends: Ends) -> None:
        """Make a tensor an output of the graph."""
        ends.give(self.operand(tensor), tensor.name, tensor.type, self.cut(tensor))

    def hold(self, tensor: Tensor) -> None:
        """Make a variable that is updated one of the graph; others are constants."""
        with self.collecting(tensor, "variable"):
            first = np.array(elements_of(self.real(tensor)), order="C")
            held = state(tensor.name, dtype_of(tensor.type), shape_of(tensor), first)
            self.lowering.states[tensor] = held
            self.values[tensor] = held.read()

    def update(self, operation: Operation) -> None:
        """Write what an operation gives its variables, once all results are there."""
        if operation.update is None:
            return
        self.run(operation.update)
        results = [one for argument in operation.update.results for one in tensors_of(argument)]
        for variable, result in zip(operation.updated, results, strict=True):
            if variable in self.lowering.states and result not in self.lost:
                with self.collecting(variable, "update"):
                    self.lowering.states[variable].write(self.operand(result))

    def run(self, body: Body) -> None:
        """Write steps; what uses the results of a refused one is looked at as well, so that all is found."""
        for step in body.steps:
            self.lowering.proportion.spend()
            results = list(_results(step))
            self.lost.update(results)
            name, operator = _called(step)
            with suppress(Unlowered), self.lowering.refusals.collecting(name, operator):
                self.step(step)
                self.lost.difference_update(results)

    def step(self, step: Step) -> None:
        """Write an operation, branches or a loop."""
        match step:
            case Operation():
                self.operation(step)
            case Branches():
                self.keep(step.outputs, branched(self, step))
            case Repeat():
                self.keep(step.outputs, repeated(self, step))

    def operation(self, operation: Operation) -> None:
        """Write an operation: as TOSA has it, else by its body."""
        declared = DECLARATIONS.get(operation.name) if operation.definition.standard else None
        reason: Refused | TosaError = Refused(UNWRITTEN)
        if declared is not None and not _fits(declared, operation):
            reason = Refused("data decide a shape of it, and TOSA's are known before a run")
        elif declared is not None:
            try:
                declared.check(1, None)
                self.require(operation)
                return self.write(operation)
            except (Refused, TosaError) as error:
                reason = error
        if operation.body is not None:
            return self.enter(operation)
        if operation.definition.operator.lowerings is None:
            raise reason
        self.require(operation)
        self.custom(operation)

    def require(self, operation: Operation) -> None:
        """Give up where an operand has been refused."""
        if any(one in self.lost for one in _all(operation.inputs)):
            raise Unlowered

    def write(self, operation: Operation) -> None:
        """Write an operation that TOSA has."""
        declared = DECLARATIONS[operation.name]
        given: dict[str, Given] = {name: self.given(one) for name, one in operation.inputs.items()}
        first = next(iter(_all(operation.inputs)), None)
        declared.check(1, None if first is None else first.type)
        self.name(
            operation, lambda: declared.results(Node(operation, given), all(map(_is_known, given.values())))
        )

    def custom(self, operation: Operation) -> None:
        """Write an operation that its own text defines: as a CUSTOM operator, which keeps the text."""
        operands = [self.operand(one) for one in tensors_told(operation.inputs.values())]
        results = [
            (dtype_of(one.type), largest_shape(one)) for one in tensors_told(operation.outputs.values())
        ]
        name, domain, attributes = custom_of(operation)

        def write() -> tuple[tracing.Tensor, ...]:
            found = ops.custom(
                *operands, operator_name=name, domain_name=domain, outputs=results,
                implementation_attrs=attributes,
            )  # fmt: skip
            return found if isinstance(found, tuple) else (found,)

        self.name(operation, write)

    def name(self, operation: Operation, write: Callable[[], tuple[tracing.Tensor, ...]]) -> None:
        """Write an operation under the name that the model has for it."""
        trace, results = current_trace(), tensors_told(operation.outputs.values())
        assert trace is not None
        name = self.names.get(results[0], results[0].name)
        with trace.builder.at(name, _location(operation)) as rename, np.errstate(all="ignore"):
            for tensor, value in zip(results, write(), strict=True):
                if value.shape != largest_shape(tensor) or value.dtype is not dtype_of(tensor.type):
                    raise Refused(f"{tensor.name} is {list(tensor.shape)}, but TOSA's is {value.value.type}")
                called = rename(value.name, self.names.get(tensor, tensor.name))
                self.values[tensor] = tracing.Tensor(trace, trace.builder.value(called))

    def enter(self, operation: Operation) -> None:
        """Write the body of an operation, whose results are its own."""
        body = operation.body
        if body is None:
            raise Refused("it has no body")
        for output, result in _pairs(operation.outputs.values(), body.results):
            self.names[result] = self.names.get(output, output.name)
        self.run(body)
        for output, result in _pairs(operation.outputs.values(), body.results):
            if result in self.lost:
                raise Unlowered
            self.hand_on(result, output)

    def hand_on(self, result: Tensor, output: Tensor) -> None:
        """Let an output be what the body of an operation gives."""
        self.values[output] = self.operand(result)
        if output.extents is not None:
            self.values[output.extents] = self.extents(result)

    def keep(self, outputs: Iterable[Argument], values: Iterable[tracing.Tensor]) -> None:
        """Note what came out of a step."""
        self.values.update(zip(tensors_told(outputs), values, strict=True))

    def given(self, argument: Argument) -> Given:
        """What an operand stands for, in the trace that is being recorded."""
        match argument:
            case None:
                return None
            case tuple():
                return tuple(map(self.operand, argument))
        return self.operand(argument)

    def operand(self, tensor: Tensor) -> tracing.Tensor:
        """A tensor in the trace that is being recorded."""
        trace = current_trace()
        assert trace is not None
        if tensor in self.lost:
            raise Unlowered
        found = self.values.get(tensor)
        if found is None:
            if tensor.value is None and tensor.kind != "variable":
                raise Refused(f"{tensor.name} is nothing that has been computed before")
            with recording(self.trace):
                found = self.values[tensor] = constant(self.trace, self.real(tensor))
        said = self.lowering.quantized.get(tensor)
        if said is not None and tensor not in self.rounded:
            self.rounded.add(tensor)
            with recording(self.trace):
                found = self.values[tensor] = self.quantized(said, found)
        return trace.own(found)

    def extents(self, tensor: Tensor) -> tracing.Tensor:
        """The extents of a tensor, when they are known."""
        if tensor.extents is not None:
            return self.operand(tensor.extents)
        found: tracing.Tensor = ops.const(np.array(shape_of(tensor), np.int32))
        return found

    def cut(self, tensor: Tensor) -> Inside | None:
        """How a tensor is cut to its size where it leaves the graph, if data decide that."""
        if tensor.extents is None:
            return None
        extents = self.operand(tensor.extents)
        return Inside("whole", lambda whole: whole, lambda whole: cut(whole, extents))

    def real(self, tensor: Tensor) -> Tensor:
        """A constant with the numbers that it stands for: those of a file may be quantised already."""
        if tensor.type != "real" or tensor.value is None or tensor.value.dtype.kind not in "iu":
            return tensor
        said = self.lowering.quantized.get(tensor)
        if said is None:
            raise Refused(
                f"the numbers of {tensor.name} are quantised, and nothing says how",
                "say it in @quantize, or write the numbers that they stand for",
            )
        return replace(tensor, value=form_of(said.operation).reals(tensor.value))

    def quantized(self, said: Quantized, value: tracing.Tensor) -> tracing.Tensor:
        """What quantisation leaves of a tensor: the operation that is said of it, done on it."""
        self.values[said.before] = value
        self.operation(said.operation)
        return self.values[said.after]

    def region(
        self, body: Body, given: Mapping[Tensor, tracing.Tensor], outputs: Sequence[Tensor] = ()
    ) -> tuple[tracing.Tensor, ...]:
        """The results of a body that may run often or never, in the trace that is being recorded.

        Where outputs are given, results are as large as these, with extents behind them.
        """
        trace = current_trace()
        assert trace is not None
        walk = type(self)(self.lowering, trace, self)
        walk.values.update(given)
        walk.run(body)
        results = [one for argument in body.results for one in tensors_of(argument)]
        if any(one in walk.lost for one in results):
            raise Unlowered
        for operation in operations(body):
            if operation.update is not None:
                raise Refused(f"{operation.label} updates a variable inside of a branch or a loop")
        if not outputs:
            for one in results:
                shape_of(one)  # loops carry no extents
            return tuple(map(walk.operand, results))
        pairs = list(zip(results, outputs, strict=False))
        told = [walk.extents(result) for result, output in pairs if output.extents is not None]
        return *(enlarged(walk.operand(result), largest_shape(output)) for result, output in pairs), *told


def _fits(declared: Declaration, operation: Operation) -> bool:
    """Whether what is declared takes and gives such shapes: only CUSTOM operators tell extents."""
    results = {} if declared.kind == "custom" else operation.outputs
    return all(one.extents is None for one in (*_all(operation.inputs), *_all(results)))


def _is_known(given: Given) -> bool:
    return isinstance(given, tracing.Tensor) and constant_of(given) is not None


def _pairs(first: Iterable[Argument], second: Iterable[Argument]) -> list[tuple[Tensor, Tensor]]:
    """The tensors of arguments with those of others."""
    left, right = ([one for argument in part for one in tensors_of(argument)] for part in (first, second))
    return list(zip(left, right, strict=True))


def _results(step: Step) -> Iterator[Tensor]:
    outputs = step.outputs.values() if isinstance(step, Operation) else step.outputs
    for argument in outputs:
        yield from tensors_of(argument)


def _called(step: Step) -> tuple[str, str]:
    """What messages call a step, and its operator."""
    match step:
        case Operation():
            first = next(_results(step), None)
            return step.label or (first.name if first else step.name), step.name
        case Branches():
            return step.label, "if"
    return step.label, "for"


def _location(operation: Operation) -> str:
    """Where an operation comes from, as files keep it."""
    return f"{operation.name} {operation.label}".rstrip()
