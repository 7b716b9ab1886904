"""Tensors of a model: each has a name of its own, after the labels around it (NNEF 2.0 section 2.10)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from tosajit.arrays import Array
from tosajit.frontends.nnef.compose.call import Call
from tosajit.frontends.nnef.compose.constants import uniform
from tosajit.frontends.nnef.compose.forms import Form
from tosajit.frontends.nnef.model import Argument, Kind, Open, Tensor, tensors_of
from tosajit.frontends.nnef.syntax import tree
from tosajit.frontends.nnef.syntax.source import Span
from tosajit.frontends.nnef.values.value import Value, ValueFault, type_of

Weights: TypeAlias = Callable[[str, tuple[int, ...], str], Array | None]
"""Gives the value of a variable, by its name, shape and type; None where there is none."""


MOST_TENSORS = 100_000
"""Tensors of a model: a few lines of text could ask for packs of any length."""


class Tensors:
    """Makes the tensors of a model, and knows their names."""

    def __init__(self, weights: Weights) -> None:
        self.weights = weights
        self.named: dict[str, tuple[Tensor, ...]] = {}
        """Variables, constants, and what graphs and public operators show."""
        self._variables: dict[str, Tensor] = {}
        self._names: dict[str, int] = {}
        """Names that are taken, and how often they were asked for."""
        self._labels: set[str] = set()

    def unique(self, name: str) -> str:
        """A name that no other tensor has."""
        count = self._names.get(name, 0)
        self._names[name] = count + 1
        return name if count == 0 else self.unique(f"{name}.{count}")

    def tensor(self, name: str, form: Form, kind: Kind = "local", value: Array | None = None) -> Tensor:
        """A new tensor."""
        if len(self._names) > MOST_TENSORS:
            nowhere = Span(0, 0)
            raise ValueFault(nowhere, f"the model has more than {MOST_TENSORS} tensors", "2.10")
        own, extents = self.unique(name), None
        if any(isinstance(extent, Open) for extent in form.shape):
            extents = Tensor(f"{own}.extents", "int", (len(form.shape),))
        return Tensor(own, form.type, form.shape, kind, value, extents)

    def scalar(self, value: Value, name: str, where: tree.Tree) -> Tensor:
        """A number as a constant of rank 0."""
        if value is None or isinstance(value, tuple):
            raise ValueFault(where.span, "this is no single value", "2.10")
        form = Form(type_of(value), ())
        return self.tensor(name, form, "constant", uniform(value, form, where))

    def labelled(self, prefix: str, label: str, where: tree.Tree, *, explicit: bool) -> str:
        """The scope of a label, which is taken once."""
        scope = f"{prefix}{label}"
        if explicit and scope in self._labels:
            raise ValueFault(where.span, f"the label `{scope}` is taken", "2.10", "take another one")
        count = 1
        while scope in self._labels:
            count += 1
            scope = f"{prefix}{label}.{count}"
        self._labels.add(scope)
        return f"{scope}."

    def labels(self) -> frozenset[str]:
        """The labels that are taken."""
        return frozenset(self._labels)

    def forget_labels(self, others: frozenset[str]) -> None:
        """Take back all labels but some that were taken before."""
        self._labels = set(others)

    def show(self, name: str, argument: Argument) -> None:
        """Note a tensor that `@quantize` may name: those of graphs, and of operators that are public."""
        self.named.setdefault(name, tensors_of(argument))

    def constants(self, call: Call, one: tree.Parameter, scope: str) -> Argument:
        """The tensors of a constant."""
        type = call.types.get(one.type.name, one.type.name)
        name = scope + one.name
        packed = one.type.pack is not None
        made = tuple(
            self.tensor(f"{name}.{i}" if packed else name, Form(type, array.shape), "constant", array)
            for i, array in enumerate(call.constants[one.name])
        )
        self.show(name, made)
        return made if packed else made[0]

    def variables(self, call: Call, one: tree.Parameter, scope: str) -> Argument:
        """The tensors of a variable, which two calls of a graph share."""
        forms, name = call.variables[one.name], scope + one.name
        made: Argument
        if forms is None:
            raise ValueFault(one.span, f"the shape of the variable `{one.name}` is not said", "2.7")
        if isinstance(forms, Form):
            made = self._variable(one, name, forms)
        else:
            made = tuple(self._variable(one, f"{name}.{i}", form) for i, form in enumerate(forms))
        self.show(name, made)
        return made

    def _variable(self, parameter: tree.Parameter, name: str, form: Form) -> Tensor:
        known = self._variables.get(name)
        if known is not None and (known.type, known.shape) == (form.type, form.shape):
            return known
        shape = tuple(extent for extent in form.shape if isinstance(extent, int))
        if len(shape) != len(form.shape):
            message = f"the shape of the variable `{name}` cannot depend on data"
            raise ValueFault(parameter.span, message, "2.7")
        value = self.weights(name, shape, form.type)
        if value is not None and value.shape != shape:
            message = f"the variable `{name}` has shape {list(shape)}, but its data {list(value.shape)}"
            raise ValueFault(parameter.span, message, "2.7")
        made = self._variables[name] = Tensor(self.unique(name), form.type, form.shape, "variable", value)
        return made
