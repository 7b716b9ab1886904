"""The values of attributes: given, by default, deferred, uniform (NNEF 2.0 sections 2.5 and 2.6.2)."""

from __future__ import annotations

from collections.abc import Mapping

from tosajit.frontends.nnef.compose.binding import Binder
from tosajit.frontends.nnef.compose.forms import CallFault, fault
from tosajit.frontends.nnef.compose.mentions import known
from tosajit.frontends.nnef.compose.opened import openness
from tosajit.frontends.nnef.compose.plan import Declared, Plan
from tosajit.frontends.nnef.compose.suggest import suggestion
from tosajit.frontends.nnef.compose.types import Types
from tosajit.frontends.nnef.syntax import tree
from tosajit.frontends.nnef.values.evaluate import Scope, evaluate
from tosajit.frontends.nnef.values.value import LONGEST_PACK, Value, described, text_of


def check_names(operator: tree.Operator, given: Mapping[str, Value]) -> None:
    """All attributes that are given must be declared."""
    names = [one.name for one in operator.attributes]
    for name in given:
        if name not in names:
            message = f"`{operator.name}` has no attribute `{name}`"
            raise fault(operator.span, message, "2.10", suggestion(name, names, "it has"))


def constant_values(plan: Plan, types: Types, given: Mapping[str, Value]) -> dict[str, Value]:
    """Values that are there before inputs are bound: those given, null, and constant defaults."""
    found: dict[str, Value] = {}
    for one in plan.attributes:
        parameter, name = one.parameter, one.name
        value = given.get(name)
        if value is not None:
            if isinstance(value, tuple) and not one.packed:
                message = f"`{name}` is no pack, but is given {described(value)}"
                raise fault(parameter.span, message, "2.5")
            found[name] = value
        elif parameter.type.optional:
            found[name] = None
        elif parameter.value is None:
            raise fault(parameter.span, f"`{name}` is not given, and has no default value", "2.5")
        elif not plan.defaults[name]:
            found[name] = evaluate(parameter.value, Scope(types=types.found))
            types.default(parameter, found[name])
    return found


def settle(plan: Plan, types: Types, binder: Binder) -> None:
    """Deferred values, and the lengths of packs: what depends on others behind them, null at the end."""
    waiting = sorted(plan.attributes, key=lambda one: binder.symbols.get(one.name, 0) is None)
    while waiting:
        one = next((one for one in waiting if _ready(one, plan, binder)), None)
        if one is None:
            raise _stuck(waiting[0], plan, binder)
        if one.name not in binder.symbols:
            _deferred(one, types, binder)
        if one.packed:
            _length(one, binder)
        waiting.remove(one)


def _ready(one: Declared, plan: Plan, binder: Binder) -> bool:
    """Whether an attribute has a value, and a length if it needs one."""
    value = binder.symbols.get(one.name)
    if one.name not in binder.symbols:
        return known(plan.defaults[one.name], binder.symbols, {**binder.shapes, **binder.sizes})
    if not one.packed or value is None or isinstance(value, tuple):
        return True
    return one.length is not None and binder.knows(one.length)


def _stuck(one: Declared, plan: Plan, binder: Binder) -> CallFault:
    """Why an attribute gets no value."""
    if one.name in binder.symbols:
        return _unknown_length(one)
    names = sorted(name for name in plan.defaults[one.name] if name not in binder.symbols)
    message = f"the default value of `{one.name}` needs {', '.join(names)}, which has no value"
    return fault(one.parameter.span, message, "2.6.2")


def _unknown_length(one: Declared) -> CallFault:
    message = f"`{one.name}` is one value for a pack whose length nothing tells"
    return fault(one.parameter.span, message, "2.6.2", "give a pack")


def _deferred(one: Declared, types: Types, binder: Binder) -> None:
    """A default value that depends on other parameters."""
    parameter = one.parameter
    assert parameter.value is not None
    value = evaluate(parameter.value, binder.scope)
    if value is None:
        message = f"`{one.name}` must be given, because its default value is null here"
        raise fault(parameter.span, message, "2.5")
    if isinstance(value, tuple) and not one.packed:
        raise fault(parameter.span, f"`{one.name}` is no pack, but its default value is", "2.5")
    types.default(parameter, value)
    binder.symbols[one.name] = value
    flags = openness(parameter.value, binder.opened)
    if flags is not False:
        binder.opened[one.name] = flags


def _length(one: Declared, binder: Binder) -> None:
    """Bind or check the length of a pack; a single value is repeated."""
    value = binder.symbols[one.name]
    if value is None:
        if one.length is not None and one.length.affine is not None:
            binder.symbols.setdefault(one.length.affine.name, None)
    elif isinstance(value, tuple):
        binder.length(one, len(value))
    else:
        if one.length is None or not binder.knows(one.length):
            raise _unknown_length(one)
        count = evaluate(one.length.expression, binder.scope)
        if not isinstance(count, int) or not 0 <= count <= LONGEST_PACK:
            message = (
                f"the length of `{one.name}` must be a number up to {LONGEST_PACK}, not {text_of(count)}"
            )
            raise fault(one.parameter.span, message, "2.6.2")
        binder.symbols[one.name] = (value,) * int(count)
