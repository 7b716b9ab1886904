"""The names that a body knows: tensors, symbols, what has been assigned so far (NNEF 2.0 section 2.10)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from copy import copy
from typing import Protocol

from tosajit.arrays import Array
from tosajit.errors import ScriptError
from tosajit.frontends.nnef.compose import targets
from tosajit.frontends.nnef.compose.call import Call
from tosajit.frontends.nnef.compose.constants import uniform
from tosajit.frontends.nnef.compose.forms import Form, Forms, Operand, Single, bound_of, forms_of
from tosajit.frontends.nnef.compose.modules import Library
from tosajit.frontends.nnef.compose.plan import declared
from tosajit.frontends.nnef.compose.shapes import shape_of
from tosajit.frontends.nnef.model import Argument, Definition, Kind, Operation, Step, Tensor
from tosajit.frontends.nnef.syntax import tree
from tosajit.frontends.nnef.values.evaluate import Scope, evaluate
from tosajit.frontends.nnef.values.value import Value, ValueFault

Outputs = Callable[[str, Forms], Argument]
"""Makes the tensors of an output."""


class Maker(Protocol):
    """What a body asks of the whole model."""

    @property
    def library(self) -> Library:
        """The modules."""

    def tensor(self, name: str, form: Form, kind: Kind = "local", value: Array | None = None) -> Tensor:
        """A new tensor."""

    def scalar(self, value: Value, name: str, where: tree.Tree) -> Tensor:
        """A number as a constant of rank 0."""

    def call(
        self, definition: Definition, types: Sequence[str], given: Mapping[str, Value],
        inputs: Mapping[str, Argument],
    ) -> Call:  # fmt: skip
        """Bind an operator."""

    def operation(
        self, call: Call, scope: str, inputs: Mapping[str, Argument], outputs: Outputs | None
    ) -> Operation:
        """An operation with its body."""

    def labelled(self, prefix: str, label: str, where: tree.Tree, *, explicit: bool) -> str:
        """The scope of a label."""

    def labels(self) -> frozenset[str]:
        """The labels that are taken."""

    def forget_labels(self, others: frozenset[str]) -> None:
        """Take back all labels but some that were taken before."""

    def deeper(self, where: tree.Tree) -> AbstractContextManager[None]:
        """Something within something: calls and blocks are nested only so deep."""

    def show(self, name: str, argument: Argument) -> None:
        """Note a tensor that `@quantize` may name."""


class Frame:
    """The names that a body knows, and its steps so far."""

    def __init__(
        self, composer: Maker, call: Call, prefix: str, tensors: Mapping[str, Argument], *, root: bool
    ) -> None:
        self.composer, self.call, self.prefix, self.root = composer, call, prefix, root
        self.operator, self.source = call.definition.operator, call.definition.source
        self.binder = call.binder.copied()
        self.tensors: dict[str, Argument] = {}
        self.steps: list[Step] = []
        self.assigned: set[str] = set()
        """Names that components of this block have given tensors."""
        self.outputs = {one.name: one for one in self.operator.outputs}
        for name, argument in tensors.items():
            self.know(name, argument)

    def inner(self, prefix: str, steps: list[Step]) -> Frame:
        """A block within this one, which may give names another meaning."""
        other = copy(self)
        other.prefix, other.steps, other.root = prefix, steps, False
        other.binder, other.tensors, other.assigned = self.binder.copied(), dict(self.tensors), set()
        return other

    @property
    def scope(self) -> Scope:
        """The symbols of the operator, and the shapes of tensors."""
        return self.binder.scope

    def know(self, name: str, argument: Argument) -> None:
        """A name stands for a tensor from here on."""
        self.tensors[name] = argument
        self.binder.symbols.pop(name, None)
        self.binder.shapes.pop(name, None)
        self.binder.sizes.pop(name, None)
        if isinstance(argument, tuple):
            self.binder.sizes[name] = len(argument)
        else:
            shape = None if argument is None else tuple(map(bound_of, argument.shape))
            self.binder.shapes[name] = shape

    def bind(self, name: str, found: Single | None) -> None:
        """A name that belongs to a loop: a tensor, or a value."""
        if found is None or isinstance(found, Tensor):
            self.know(name, found)
            return
        self.tensors.pop(name, None)
        self.binder.symbols[name] = found

    def made(self, left: tree.Left | None, forms: Forms, default: str) -> Argument:
        """New tensors for one left-hand side, with its names; `default` is for those that have none."""
        if forms is None:
            return None
        length = len(forms) if isinstance(forms, tuple) else None
        left = left or tree.Target(self.operator.span, None)
        names = targets.names(left, length, self.prefix, default, self.binder)
        all_forms = forms if isinstance(forms, tuple) else (forms,)
        kind: Kind = "local"
        if self.root and isinstance(left, tree.Target) and left.name in self.outputs:
            kind = "output"
        made = tuple(
            self.composer.tensor(name, form, kind) for name, form in zip(names, all_forms, strict=True)
        )
        return made[0] if length is None else made

    def mentions_tensors(self, expression: tree.Expression) -> bool:
        """Whether an expression is about tensors, not only about their shapes."""
        return any(name in self.tensors for name in self.composer.library.names(expression))

    def filled(self, value: Value, type: tree.Type, where: tree.Tree, name: str) -> Tensor:
        """A constant of a type that is said."""
        form = self.form(type)
        if form is None:
            assert value is not None
            assert not isinstance(value, tuple)
            form = Form(self.call.types.get(type.name, type.name), ())
        return self.composer.tensor(name, form, "constant", uniform(value, form, where))

    def form(self, type: tree.Type) -> Form | None:
        """The type and shape that a text gives a tensor."""
        components = declared(tree.Parameter(type.span, "", type, None, ())).components
        if components is None or any(one.term is None for one in components):
            return None
        return Form(self.call.types.get(type.name, type.name), shape_of(components, self.binder, None))

    def argument(self, found: Operand, name: str, where: tree.Tree) -> Argument:
        """An operand as tensors: values become constants."""
        if found is None or isinstance(found, Tensor):
            return found
        if isinstance(found, tuple):
            return tuple(self._single(one, f"{name}.{place}", where) for place, one in enumerate(found))
        return self._single(found, name, where)

    def _single(self, found: Single, name: str, where: tree.Tree) -> Tensor:
        if isinstance(found, Tensor):
            return found
        return self.composer.scalar(found, self.prefix + name, where)

    def assign(self, left: tree.Left, result: Operand) -> None:
        """Give names their tensors."""
        match left:
            case tree.Target(name=None):
                return
            case tree.Target():
                self._target(left, result)
            case _:
                for target, one in targets.flattened(left, result, self.binder):
                    self.assign(target, one)

    def _target(self, left: tree.Target, result: Operand) -> None:
        name = left.name or ""
        if name in self.assigned:
            raise ValueFault(left.span, f"`{name}` has a tensor already", "2.10", "take another name")
        if left.pack is not None and result is not None and not isinstance(result, tuple):
            raise ValueFault(left.span, f"`{name}` is said to be a pack, but is one tensor", "2.10")
        if left.pack is not None and left.pack.length is not None and isinstance(result, tuple):
            length = evaluate(left.pack.length, self.scope)
            if length != len(result):
                message = f"`{name}` has {len(result)} tensors, but its length is said to be {length}"
                raise ValueFault(left.span, message, "2.10")
        argument = self.argument(result, name, left)
        if left.type is not None:
            self._fitting(left, argument)
        self.assigned.add(name)
        self.know(name, argument)
        if result is not None and not isinstance(result, Tensor | tuple):
            self.binder.symbols[name] = result
        if self.operator.graph or self.operator.public:
            self.composer.show(self.prefix + name, argument)

    def _fitting(self, left: tree.Target, argument: Argument) -> None:
        """A tensor is of the type that its left-hand side says."""
        assert left.type is not None
        expected = self.form(left.type)
        forms = forms_of(argument)
        for one in forms if isinstance(forms, tuple) else (forms,):
            if expected is not None and one is not None and one != expected:
                raise ValueFault(left.span, f"`{left.name}` is {one}, but is said to be {expected}", "2.10")


def placed(frame: Frame, fault: ValueFault) -> ScriptError:
    """A fault at its place in the text of a frame."""
    return ScriptError([frame.source.fault(fault.span, fault.message, fault.section, fault.remedy)])
