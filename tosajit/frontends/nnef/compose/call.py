"""A call of an operator: from what it is given to all its symbols and the shapes of its outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tosajit.arrays import Array
from tosajit.frontends.nnef.compose import attributes, helpers
from tosajit.frontends.nnef.compose.binding import Binder
from tosajit.frontends.nnef.compose.constants import constant_arrays
from tosajit.frontends.nnef.compose.forms import Form, Forms, fault
from tosajit.frontends.nnef.compose.plan import Declared, Plan
from tosajit.frontends.nnef.compose.shapes import forms_declared
from tosajit.frontends.nnef.compose.types import Types
from tosajit.frontends.nnef.model import Definition, Opened, Tensor
from tosajit.frontends.nnef.values.evaluate import Scope, Work
from tosajit.frontends.nnef.values.value import Value, type_of


@dataclass(frozen=True, slots=True)
class Call:
    """An operator with its attributes and the forms of its inputs."""

    definition: Definition
    types: Mapping[str, str]
    binder: Binder
    outputs: Mapping[str, Forms | Form]
    """None where the text leaves the shape of an output to its body."""
    constants: Mapping[str, tuple[Array, ...]]
    variables: Mapping[str, Forms]

    @property
    def scope(self) -> Scope:
        """What names of the operator stand for."""
        return self.binder.scope

    def opened(self, prefix: str) -> dict[str, Opened]:
        """The symbols that data decide, each with a tensor of its value."""
        found: dict[str, Opened] = {}
        for name, flags in self.binder.opened.items():
            value = self.binder.symbols.get(name)
            if value is None or value == () or not flags:
                continue
            packed = value if isinstance(value, tuple) else (value,)
            items = flags if isinstance(flags, tuple) and len(flags) == len(packed) else (True,) * len(packed)
            shape = (len(packed),) if isinstance(value, tuple) else ()
            found[name] = Opened(Tensor(prefix + name, type_of(packed[0]), shape), items)
        return found


def called(
    definition: Definition,
    plan: Plan,
    types: Sequence[str],
    given: Mapping[str, Value],
    inputs: Mapping[str, Forms],
    work: Work,
) -> Call:
    """Bind an operator in the sequence of section 2.6.2, then evaluate what follows from it."""
    operator = definition.operator
    attributes.check_names(operator, given)
    generic = Types(operator, types)
    generic.deduce(given, inputs)
    generic.settle()
    symbols = attributes.constant_values(plan, generic, given)
    binder = Binder(symbols, generic.found, work)
    for one in plan.inputs:
        _bind(one, inputs.get(one.name), binder)
    for one in plan.unbound:
        message = f"no order of inputs binds the shape of `{one.name}`"
        raise fault(one.parameter.span, message, "2.6.2", "give lengths that attributes decide")
    attributes.settle(plan, generic, binder)
    generic.complete()
    helpers.settle(definition, plan, binder)
    return Call(
        definition,
        generic.found,
        binder,
        {one.name: forms_declared(one, generic, binder) for one in plan.outputs},
        {one.name: constant_arrays(one, generic, binder) for one in plan.constants},
        {one.name: forms_declared(one, generic, binder) for one in plan.variables},
    )


def _bind(one: Declared, forms: Forms, binder: Binder) -> None:
    """Bind an input, which is of the kind that its declaration says."""
    name, parameter = one.name, one.parameter
    if forms is None and not parameter.type.optional:
        raise fault(parameter.span, f"the input `{name}` is not given", "2.10")
    if forms is not None and isinstance(forms, tuple) != one.packed:
        kinds = ("a pack of tensors", "one tensor")
        takes, gets = kinds if one.packed else kinds[::-1]
        remedy = "write it in brackets: [x]" if one.packed else "give one of its items"
        raise fault(parameter.span, f"the input `{name}` is {takes}, not {gets}", "2.10", remedy)
    binder.bind(one, forms)
