"""From definitions to operations: what is called, with its body (NNEF 2.0 chapter 3)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from tosajit.errors import Fault, ScriptError
from tosajit.frontends.nnef.compose import bodies
from tosajit.frontends.nnef.compose.call import Call, called
from tosajit.frontends.nnef.compose.forms import fault, forms_of
from tosajit.frontends.nnef.compose.frame import Frame, Outputs
from tosajit.frontends.nnef.compose.modules import Library
from tosajit.frontends.nnef.compose.outputs import outputs_of
from tosajit.frontends.nnef.compose.quantization import quantized
from tosajit.frontends.nnef.compose.tensors import Tensors, Weights
from tosajit.frontends.nnef.model import Argument, Definition, Operation, Quantized, Tensor
from tosajit.frontends.nnef.syntax import tree
from tosajit.frontends.nnef.values.evaluate import Work
from tosajit.frontends.nnef.values.value import Value

MOST_OPERATIONS = 50_000
"""Operations of a model: a few lines of text could ask for any number of them."""

DEEPEST = 32
"""How deep operators may call each other, with the blocks in them."""


class Composer(Tensors):
    """Composes operations, and remembers what all of them share."""

    def __init__(self, library: Library, weights: Weights) -> None:
        super().__init__(weights)
        self.library = library
        self._calls: dict[object, Call] = {}
        self._stack: list[Definition] = []
        self.quantized: list[Quantized] = []
        self.faults: list[Fault] = []
        """Those of `@quantize`, which keep nothing else from being composed."""
        self._count = 0
        self._depth = 0
        self.work = Work()

    def call(
        self, definition: Definition, types: Sequence[str], given: Mapping[str, Value],
        inputs: Mapping[str, Argument],
    ) -> Call:  # fmt: skip
        """Bind an operator; equal calls are bound once."""
        forms = {name: forms_of(argument) for name, argument in inputs.items()}
        key = definition, tuple(types), repr(sorted(given.items())), tuple(forms.items())
        if key not in self._calls:
            self._calls[key] = called(
                definition, self.library.plan(definition), types, given, forms, self.work
            )
        return self._calls[key]

    def settle(self) -> None:
        """Raise what `@quantize` blocks have wrong, each fault once."""
        if self.faults:
            raise ScriptError(dict.fromkeys(self.faults))

    def operation(
        self, call: Call, scope: str, inputs: Mapping[str, Argument], outputs: Outputs | None
    ) -> Operation:
        """An operation with its body; `outputs` makes the tensors that it gives, or they are its results."""
        definition, operator = call.definition, call.definition.operator
        if definition in self._stack:
            raise fault(operator.span, f"`{definition.name}` calls itself", "2.10")
        self._count += 1
        if self._count > MOST_OPERATIONS:
            raise fault(operator.span, f"the model has more than {MOST_OPERATIONS} operations", "2.10")
        self._stack.append(definition)
        try:
            with self.deeper(operator):
                return self._operation(call, scope, inputs, outputs)
        finally:
            self._stack.pop()

    @contextmanager
    def deeper(self, where: tree.Tree) -> Iterator[None]:
        """Something within something: calls and blocks are nested only so deep."""
        self._depth += 1
        try:
            if self._depth > DEEPEST:
                raise fault(where.span, f"calls and blocks are nested more than {DEEPEST} deep", "2.10")
            yield
        finally:
            self._depth -= 1

    def _operation(
        self, call: Call, scope: str, inputs: Mapping[str, Argument], outputs: Outputs | None
    ) -> Operation:
        operator = call.definition.operator
        constants = {one.name: self.constants(call, one, scope) for one in operator.constants}
        variables = {one.name: self.variables(call, one, scope) for one in operator.variables}
        parameters = {**inputs, **constants, **variables}
        if operator.graph or operator.public:
            for name, argument in inputs.items():
                self.show(scope + name, argument)
        body = update = None
        updated: tuple[Tensor, ...] = ()
        results: Mapping[str, Argument] = {}
        if operator.components is not None:
            frame = Frame(self, call, scope, parameters, root=outputs is None)
            body = bodies.composed(frame)
            results = dict(zip([one.name for one in operator.outputs], body.results, strict=True))
            if operator.updates:
                update, updated = bodies.updates(frame)
            parameters = frame.tensors
        said, faults = quantized(self, call, scope, parameters, self.named)
        self.quantized += said
        self.faults += faults
        return Operation(
            call.definition, scope.rstrip("."), call.types, call.scope.symbols, inputs,
            outputs_of(call, results, outputs), constants, variables, body, update, updated,
            call.opened(scope),
        )  # fmt: skip
