"""Constant tensors: uniform, listed, or an element at a time (NNEF 2.0 section 2.7)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod
from typing import Any

import numpy as np

from tosajit.arrays import Array
from tosajit.frontends.nnef.compose.binding import Binder
from tosajit.frontends.nnef.compose.forms import Form
from tosajit.frontends.nnef.compose.plan import Declared
from tosajit.frontends.nnef.compose.shapes import forms_declared
from tosajit.frontends.nnef.compose.types import Types
from tosajit.frontends.nnef.model import Open
from tosajit.frontends.nnef.syntax import tree
from tosajit.frontends.nnef.values.arithmetic import NoValue
from tosajit.frontends.nnef.values.evaluate import Scope, evaluate
from tosajit.frontends.nnef.values.value import LONGEST_PACK, Item, Value, ValueFault, text_of, type_of

DTYPES: dict[str, Any] = {"real": np.float64, "int": np.int64, "bool": np.bool_, "str": object}
"""Numbers of a text are as exact as it writes them."""


def constant_arrays(one: Declared, types: Types, binder: Binder) -> tuple[Array, ...]:
    """The tensors of a constant, which is one or a pack."""
    parameter = one.parameter
    if parameter.value is None:
        raise ValueFault(parameter.span, f"the constant `{one.name}` has no value", "2.7")
    forms = forms_declared(one, types, binder)
    if forms is None:
        raise ValueFault(parameter.span, f"the shape of the constant `{one.name}` is not said", "2.7")
    if isinstance(forms, Form):
        return (_array(parameter, forms, binder),)
    values = evaluate(parameter.value, binder.scope)
    if not isinstance(values, tuple) or len(values) != len(forms):
        message = f"`{one.name}` is a pack of {len(forms)} constants, so its value is a list of as many"
        raise ValueFault(parameter.value.span, message, "2.7")
    return tuple(uniform(item, form, parameter.value) for item, form in zip(values, forms, strict=True))


def uniform(value: Value, form: Form, where: tree.Tree) -> Array:
    """A tensor of one value."""
    if value is None or isinstance(value, tuple):
        raise ValueFault(where.span, f"the value of a tensor is not {text_of(value)}", "2.7")
    item = np.array(_typed(value, form, where), dtype=DTYPES[form.type])
    return np.broadcast_to(item, _static(form, where))


def _typed(value: Item, form: Form, where: tree.Tree) -> Item:
    """An item of the type of a tensor; an integer may be a real number, as in `i == j ? 1 : 0`."""
    kind = type_of(value)
    if (kind, form.type) == ("int", "real"):
        return float(value)
    if kind != form.type:
        raise ValueFault(where.span, f"a tensor of {form.type} has no value of {kind}", "2.7")
    return value


def _static(form: Form, where: tree.Tree) -> tuple[int, ...]:
    if any(isinstance(extent, Open) for extent in form.shape):
        raise ValueFault(where.span, "the shape of a constant cannot depend on data", "2.7")
    return tuple(extent for extent in form.shape if isinstance(extent, int))


def _array(parameter: tree.Parameter, form: Form, binder: Binder) -> Array:
    assert parameter.value is not None
    if parameter.bounds:
        return _elements(parameter, form, binder)
    value = evaluate(parameter.value, binder.scope)
    if not isinstance(value, tuple):
        return uniform(value, form, parameter.value)
    shape = _static(form, parameter.value)
    if len(value) != prod(shape):
        message = f"`{parameter.name}` has {prod(shape)} elements, but {len(value)} values"
        raise ValueFault(parameter.value.span, message, "2.7")
    return _filled([_typed(item, form, parameter.value) for item in value], form.type, shape)


def _filled(items: list[Item], type: str, shape: tuple[int, ...]) -> Array:
    array = np.empty(len(items), dtype=DTYPES[type])
    array[:] = items
    return array.reshape(shape)


def _elements(parameter: tree.Parameter, form: Form, binder: Binder) -> Array:
    """A constant whose elements depend on their indices."""
    assert parameter.value is not None
    shape = _static(form, parameter.value)
    limits = [_limit(bound, binder) for bound in parameter.bounds]
    looped = tuple(size for limit in limits for size in (limit if isinstance(limit, tuple) else (limit,)))
    if looped != shape:
        message = f"the indices of `{parameter.name}` walk {list(looped)}, but its shape is {list(shape)}"
        raise ValueFault(parameter.span, message, "2.7")
    if prod(shape) > LONGEST_PACK:
        message = f"`{parameter.name}` has {prod(shape)} elements, each computed; the limit is {LONGEST_PACK}"
        raise ValueFault(parameter.span, message, "2.7")
    names = [bound.name for bound in parameter.bounds]
    items = []
    symbols = dict(binder.symbols)
    scope = Scope(symbols, binder.scope.types, binder.shapes, binder.sizes, binder.scope.work)
    _spend(parameter, _COST * prod(shape), scope)
    for indices in product(*map(range, shape)):
        symbols.update(zip(names, _grouped(indices, limits), strict=True))
        value = evaluate(parameter.value, scope)
        if value is None or isinstance(value, tuple):
            raise ValueFault(parameter.value.span, f"an element is not {text_of(value)}", "2.7")
        items.append(_typed(value, form, parameter.value))
    return _filled(items, form.type, shape)


_COST = 10
"""What an element costs that is computed for itself, compared with an item of a pack."""


def _spend(parameter: tree.Parameter, items: int, scope: Scope) -> None:
    try:
        scope.work.spend(items)
    except NoValue as fault:
        raise ValueFault(parameter.span, str(fault), "2.7") from None


def _grouped(indices: tuple[int, ...], limits: list[int | tuple[int, ...]]) -> Iterator[Value]:
    """Indices as those names have them whose limits are packs."""
    start = 0
    for limit in limits:
        if isinstance(limit, tuple):
            yield indices[start : start + len(limit)]
            start += len(limit)
        else:
            yield indices[start]
            start += 1


def _limit(bound: tree.Bound, binder: Binder) -> int | tuple[int, ...]:
    value = evaluate(bound.limit, binder.scope)
    items = value if isinstance(value, tuple) else (value,)
    sizes = tuple(
        item for item in items if isinstance(item, int) and not isinstance(item, bool) and item >= 0
    )
    if len(sizes) != len(items):
        raise ValueFault(bound.limit.span, f"an index cannot be less than {text_of(value)}", "2.7")
    return sizes if isinstance(value, tuple) else sizes[0]
