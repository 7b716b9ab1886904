"""Tensors of a model: each has a name of its own, after the labels around it (NNEF 2.0 section 2.10)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from tosajit.arrays import Array
from tosajit.frontends.nnef.compose.call import Call
from tosajit.frontends.nnef.compose.constants import uniform
from tosajit.frontends.nnef.compose.forms import Form
from tosajit.frontends.nnef.model import Argument, Kind, Tensor, tensors_of
from tosajit.frontends.nnef.syntax import tree
from tosajit.frontends.nnef.values.value import Value, ValueFault, type_of

Weights: TypeAlias = Callable[[str, tuple[int, ...], str], Array | None]
"""Gives the value of a variable, by its name, shape and type; None where there is none."""


class Tensors:
    """Makes the tensors of a model, and knows their names."""

    def __init__(self, weights: Weights) -> None:
        self.weights = weights
        self.named: dict[str, Tensor] = {}
        """Variables, constants, and what graphs and public operators show."""
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
        return Tensor(self.unique(name), form.type, form.shape, kind, value)

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

    def show(self, name: str, argument: Argument) -> None:
        """Note a tensor that `@quantize` may name: those of graphs, and of operators that are public."""
        for one in tensors_of(argument):
            self.named.setdefault(name, one)

    def constants(self, call: Call, name: str, scope: str) -> Argument:
        """The tensors of a constant."""
        parameter = next(one for one in call.definition.operator.constants if one.name == name)
        type = call.types.get(parameter.type.name, parameter.type.name)
        made = tuple(
            self.tensor(scope + name, Form(type, array.shape), "constant", array)
            for array in call.constants[name]
        )
        self.show(scope + name, made)
        return made if parameter.type.pack is not None else made[0]

    def variables(self, call: Call, name: str, scope: str) -> Argument:
        """The tensors of a variable, which two calls of a graph share."""
        form = call.variables[name]
        parameter = next(one for one in call.definition.operator.variables if one.name == name)
        if form is None:
            raise ValueFault(parameter.span, f"the shape of the variable `{name}` is not said", "2.7")
        if isinstance(form, Form):
            made = self._variable(parameter, scope + name, form)
            self.show(scope + name, made)
            return made
        pack = tuple(self._variable(parameter, f"{scope}{name}.{i}", one) for i, one in enumerate(form))
        return pack

    def _variable(self, parameter: tree.Parameter, name: str, form: Form) -> Tensor:
        known = self.named.get(name)
        if known is not None and (known.type, known.shape) == (form.type, form.shape):
            return known
        shape = tuple(extent for extent in form.shape if isinstance(extent, int))
        if len(shape) != len(form.shape):
            message = f"the shape of the variable `{name}` cannot depend on data"
            raise ValueFault(parameter.span, message, "2.7")
        unique = self.unique(name)
        value = self.weights(unique, shape, form.type)
        if value is not None and value.shape != shape:
            message = f"the variable `{name}` has shape {list(shape)}, but its data {list(value.shape)}"
            raise ValueFault(parameter.span, message, "2.7")
        return Tensor(unique, form.type, form.shape, "variable", value)
