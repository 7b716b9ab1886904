"""Generic types, from what an operator is called with (NNEF 2.0 section 2.13)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tosajit.frontends.nnef.compose.forms import Forms, fault
from tosajit.frontends.nnef.syntax import tree
from tosajit.frontends.nnef.values.value import Value, type_of

CONCRETE = ("int", "real", "bool", "str")
BASES = {"type": CONCRETE, "arith": ("int", "real", "bool"), "num": ("int", "real")}


class Types:
    """The generic types of a call, as far as they are known."""

    def __init__(self, operator: tree.Operator, explicit: Sequence[str]) -> None:
        self.operator = operator
        self.found: dict[str, str] = {}
        self._defined = {one.name: one for one in operator.dtypes}
        if len(explicit) > len(operator.dtypes):
            message = f"`{operator.name}` has {len(operator.dtypes)} generic types, not {len(explicit)}"
            raise fault(operator.span, message, "2.13")
        for one, type in zip(operator.dtypes, explicit, strict=False):
            self._set(one.name, type, one)

    def deduce(self, attributes: Mapping[str, Value], inputs: Mapping[str, Forms]) -> None:
        """Bind what inputs and attributes tell, and check their types."""
        for parameter in self.operator.inputs:
            self._check(parameter, _types_of_forms(inputs.get(parameter.name)))
        for parameter in self.operator.attributes:
            self._check(parameter, types_of(attributes.get(parameter.name)))

    def settle(self) -> None:
        """Defaults for the types that are not known yet."""
        for one in self.operator.dtypes:
            if one.name not in self.found and one.default is not None:
                self._set(one.name, one.default, one)

    def complete(self) -> None:
        """Every type must be known."""
        for one in self.operator.dtypes:
            if one.name not in self.found:
                message = f"nothing tells the type `{one.name}` of `{self.operator.name}`"
                raise fault(one.span, message, "2.13", f"give it, as in `{self.operator.name}<real>(…)`")

    def default(self, parameter: tree.Parameter, value: Value) -> None:
        """The value of an attribute that a call leaves out."""
        self._check(parameter, types_of(value))

    def concrete(self, name: str) -> str:
        """A type that may be generic, as a concrete one."""
        return self.found.get(name, name)

    def _check(self, parameter: tree.Parameter, types: Iterator[str]) -> None:
        name = parameter.type.name
        for type in types:
            if name in self._defined and name not in self.found:
                self._set(name, type, parameter)
            elif type != self.concrete(name):
                concrete = self.concrete(name)
                generic = f", which `{name}` stands for" if name in self._defined else ""
                remedy = "write it with a point, as 1.0" if (concrete, type) == ("real", "int") else ""
                message = f"`{parameter.name}` is {concrete}{generic}, not {type}"
                raise fault(parameter.span, message, "2.13" if generic else "2.3", remedy)

    def _set(self, name: str, type: str, where: tree.Tree) -> None:
        base = self._defined[name].base
        if type not in BASES[base]:
            message = f"`{name}` of `{self.operator.name}` may be {' or '.join(BASES[base])}, not {type}"
            raise fault(where.span, message, "2.13")
        self.found[name] = type


def types_of(value: Value) -> Iterator[str]:
    """The types of a value and of its items."""
    if isinstance(value, tuple):
        if value:
            yield type_of(value[0])
    elif value is not None:
        yield type_of(value)


def _types_of_forms(forms: Forms) -> Iterator[str]:
    if isinstance(forms, tuple):
        yield from dict.fromkeys(form.type for form in forms)
    elif forms is not None:
        yield forms.type
