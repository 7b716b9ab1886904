"""Invocations: their arguments, their labels, and the tensors that they give (NNEF 2.0 section 2.10)."""

from __future__ import annotations

from collections.abc import Sequence

from tosajit.errors import Fault, ScriptError
from tosajit.frontends.nnef.compose.defaults import defaults
from tosajit.frontends.nnef.compose.forms import CallFault, Operand
from tosajit.frontends.nnef.compose.frame import Frame
from tosajit.frontends.nnef.compose.operands import operand
from tosajit.frontends.nnef.model import Argument, Definition
from tosajit.frontends.nnef.syntax import tree
from tosajit.frontends.nnef.values.evaluate import evaluate
from tosajit.frontends.nnef.values.value import ValueFault


def invoked(
    frame: Frame, one: tree.Invocation, left: Sequence[tree.Left], label: str | None, *, alone: bool
) -> Sequence[Operand]:
    """Compose what is invoked; its outputs."""
    definition = frame.composer.library.operator(frame.call.definition, one.operator, one)
    types = [frame.call.types.get(type, type) for type in one.types]
    attributes = {given.name: evaluate(given.value, frame.scope) for given in one.attributes}
    if len(attributes) < len(one.attributes):
        raise ValueFault(one.span, "an attribute is given twice", "2.10")
    inputs = _arguments(frame, definition, one, label)
    inputs |= defaults(frame.composer, definition, types, attributes, inputs, one)
    if left and len(definition.operator.outputs) != len(left):
        message = f"`{one.operator}` has {len(definition.operator.outputs)} outputs, not {len(left)}"
        raise ValueFault(one.span, message, "2.10", "write `~` for one that is not needed")
    try:
        call = frame.composer.call(definition, types, attributes, inputs)
        scope = _scope(frame, definition, one, label, alone=alone)
        lefts = dict(zip([out.name for out in definition.operator.outputs], left, strict=False))
        step = frame.composer.operation(
            call, scope, inputs, lambda name, forms: frame.made(lefts.get(name), forms, scope + name)
        )
    except CallFault as fault:
        message = f"{definition.name}: {fault.message}"
        raise ValueFault(one.span, message, fault.section, fault.remedy) from None
    except ValueFault as fault:
        within = definition.source.fault(fault.span, fault.message, fault.section, fault.remedy)
        raise ScriptError([within, _called(frame, one, definition)]) from None
    except ScriptError as error:
        raise ScriptError([*error.faults, _called(frame, one, definition)]) from None
    frame.steps.append(step)
    return list(step.outputs.values())


def _called(frame: Frame, one: tree.Invocation, definition: Definition) -> Fault:
    return frame.source.fault(one.span, f"`{definition.name}` is called from here", "2.10")


def _arguments(
    frame: Frame, definition: Definition, one: tree.Invocation, label: str | None
) -> dict[str, Argument]:
    """What each input is given; those left out are null."""
    parameters = definition.operator.inputs
    if len(one.arguments) > len(parameters):
        message = f"`{one.operator}` takes {len(parameters)} inputs, not {len(one.arguments)}"
        raise ValueFault(one.span, message, "2.10")
    found: dict[str, Argument] = {}
    for place, parameter in enumerate(parameters):
        expression = one.arguments[place] if place < len(one.arguments) else None
        given: Operand = None if expression is None else operand(expression, frame)
        where: tree.Tree = one if expression is None else expression
        name = f"{one.label or label or definition.operator.name}.{parameter.name}"
        found[parameter.name] = frame.argument(given, name, where)
    return found


def _scope(
    frame: Frame, definition: Definition, one: tree.Invocation, label: str | None, *, alone: bool
) -> str:
    """The scope of what is invoked: an explicit label, or one that is made."""
    if one.label is not None:
        return frame.composer.labelled(frame.prefix, one.label, one, explicit=True)
    if definition.operator.graph:
        return f"{definition.operator.name}."
    if alone:
        return frame.prefix
    return frame.composer.labelled(frame.prefix, label or definition.operator.name, one, explicit=False)
