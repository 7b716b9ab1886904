"""Inputs that are left out and have a default value (NNEF 2.0 section 2.5).

Where the text says a shape, every element has the value; the shape is that of the other inputs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tosajit.frontends.nnef.compose.attributes import constant_values
from tosajit.frontends.nnef.compose.binding import Binder
from tosajit.frontends.nnef.compose.constants import uniform
from tosajit.frontends.nnef.compose.forms import Form, forms_of
from tosajit.frontends.nnef.compose.frame import Maker
from tosajit.frontends.nnef.compose.shapes import forms_declared
from tosajit.frontends.nnef.compose.types import Types
from tosajit.frontends.nnef.model import Argument, Definition
from tosajit.frontends.nnef.syntax import tree
from tosajit.frontends.nnef.values.evaluate import evaluate
from tosajit.frontends.nnef.values.value import Value


def defaults(
    maker: Maker, definition: Definition, types: Sequence[str], attributes: Mapping[str, Value],
    inputs: Mapping[str, Argument], where: tree.Tree,
) -> dict[str, Argument]:  # fmt: skip
    """What inputs that are null have instead."""
    values = {one.name: one.value for one in definition.operator.inputs if one.value is not None}
    left = {name: value for name, value in values.items() if inputs.get(name) is None}
    if not left:
        return {}
    plan = maker.library.plan(definition)
    forms = {name: forms_of(argument) for name, argument in inputs.items() if name not in left}
    generic = Types(definition.operator, types)
    generic.deduce(attributes, forms)
    binder = Binder(constant_values(plan, generic, attributes), generic.found)
    for declared in plan.inputs:
        if declared.name in forms:
            binder.bind(declared, forms[declared.name])
    found: dict[str, Argument] = {}
    for declared in plan.inputs:
        if declared.name not in left:
            continue
        value, name = (
            evaluate(left[declared.name], binder.scope),
            f"{definition.operator.name}.{declared.name}",
        )
        form = forms_declared(declared, generic, binder) if declared.components else None
        if isinstance(form, Form):
            found[declared.name] = maker.tensor(name, form, "constant", uniform(value, form, where))
        else:
            found[declared.name] = maker.scalar(value, name, where)
    return found
