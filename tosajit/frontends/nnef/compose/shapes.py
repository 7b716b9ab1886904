"""The shapes of outputs, variables and constants, which only mention names that are known (section 2.6)."""

from __future__ import annotations

from tosajit.frontends.nnef.compose.binding import Binder
from tosajit.frontends.nnef.compose.forms import Form, Forms
from tosajit.frontends.nnef.compose.opened import openness
from tosajit.frontends.nnef.compose.plan import Component, Declared
from tosajit.frontends.nnef.compose.types import Types
from tosajit.frontends.nnef.model import Extent, Open
from tosajit.frontends.nnef.syntax import tree
from tosajit.frontends.nnef.values.evaluate import evaluate
from tosajit.frontends.nnef.values.value import LONGEST_PACK, Value, ValueFault, text_of

HIGHEST_RANK = 64
"""Dimensions of a tensor."""


def forms_declared(one: Declared, types: Types, binder: Binder) -> Forms:
    """The forms of what is declared; None where it is left to what computes it, or where there is none."""
    if one.components is None or any(_omitted(component) for component in one.components):
        return None
    type = types.concrete(one.parameter.type.name)
    if not one.packed:
        shape = shape_of(one.components, binder, None)
        return None if shape is None else Form(type, shape)
    length = pack_length(one, binder)
    if length is None:
        return None
    shapes = [shape_of(one.components, binder, place) for place in range(length)]
    return tuple(Form(type, shape) for shape in shapes if shape is not None)


def _omitted(component: Component) -> bool:
    return component.term is None and component.bound is None


def pack_length(one: Declared, binder: Binder) -> int | None:
    """How many tensors a pack has, which must be said."""
    if one.length is None:
        message = f"the length of the pack `{one.name}` is not said"
        raise ValueFault(one.parameter.span, message, "2.6", "write `..(n)`")
    length = evaluate(one.length.expression, binder.scope)
    if length is None:
        return None
    if not isinstance(length, int) or not 0 <= length <= LONGEST_PACK:
        raise ValueFault(one.length.expression.span, f"{text_of(length)} is no length of a pack", "2.6")
    return int(length)


def shape_of(components: tuple[Component, ...], binder: Binder, place: int | None) -> tuple[Extent, ...]:
    """A shape; components that are null are left out."""
    shape: list[Extent] = []
    for component in components:
        shape += _extents(component, binder, place)
        if len(shape) > HIGHEST_RANK:
            message = f"a tensor has at most {HIGHEST_RANK} dimensions"
            raise ValueFault(component.extent.span, message, "2.6")
    return tuple(shape)


def _extents(component: Component, binder: Binder, place: int | None) -> list[Extent]:
    """The extents that a component stands for."""
    term = component.term
    if component.bound is not None and (term is None or not binder.knows(term)):
        return [Open(one) for one in _values(component, component.bound.expression, binder)]
    assert term is not None
    expression = term.expression
    if component.extent.distinct:
        value = evaluate(expression, binder.scope)
        if isinstance(value, tuple) and place is not None and place < len(value):
            value = value[place]
        whole = [_extent(value, expression)] if value is not None else []
        flags = openness(expression, binder.opened)
    else:
        whole = _values(component, expression, binder)
        flags = openness(expression, binder.opened)
    if flags is False:
        return list(whole)
    items = flags if isinstance(flags, tuple) and len(flags) == len(whole) else (True,) * len(whole)
    return [Open(one) if flag else one for one, flag in zip(whole, items, strict=True)]


def _values(component: Component, expression: tree.Expression, binder: Binder) -> list[int]:
    """The values of a component, as often as its length says."""
    value = evaluate(expression, binder.scope)
    if value is None:
        return []
    items = list(value) if isinstance(value, tuple) else [value]
    if isinstance(value, tuple) and not component.packed:
        raise ValueFault(expression.span, "an extent is no pack", "2.6", "expand it with `..`")
    if component.length is not None:
        count = evaluate(component.length.expression, binder.scope)
        if count is None:
            return []
        if not isinstance(count, int) or not 0 <= count <= HIGHEST_RANK:
            message = f"{text_of(count)} is no number of dimensions"
            raise ValueFault(component.length.expression.span, message, "2.6")
        if not isinstance(value, tuple):
            items = [value] * int(count)
        elif len(value) != count:
            message = f"{len(value)} extents are said to be {int(count)}"
            raise ValueFault(component.length.expression.span, message, "2.6")
    elif component.packed and not isinstance(value, tuple):
        raise ValueFault(
            expression.span, "the length of these dimensions is not said", "2.6", "write `..(n)`"
        )
    return [_extent(item, expression) for item in items]


def _extent(value: Value, expression: tree.Expression) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueFault(expression.span, f"{text_of(value)} is no extent", "2.6")
    return value
