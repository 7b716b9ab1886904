"""Expressions that give tensors: what invocations take and assignments pass on (NNEF 2.0 section 2.10)."""

from __future__ import annotations

from tosajit.frontends.nnef.compose.forms import Operand, Single, kind_of
from tosajit.frontends.nnef.compose.frame import Frame
from tosajit.frontends.nnef.model import Tensor
from tosajit.frontends.nnef.syntax import tree
from tosajit.frontends.nnef.values.arithmetic import NoValue
from tosajit.frontends.nnef.values.evaluate import branch, evaluate
from tosajit.frontends.nnef.values.packs import part, places, put, whole_number
from tosajit.frontends.nnef.values.value import LONGEST_PACK, ValueFault


def operand(expression: tree.Expression, frame: Frame) -> Operand:
    """What an expression stands for in a body."""
    match expression:
        case tree.Name(name=name) if name in frame.tensors:
            return frame.tensors[name]
        case tree.Parenthesised(expression=inner):
            return operand(inner, frame)
    if not frame.mentions_tensors(expression):
        return evaluate(expression, frame.scope)
    try:
        return _of_tensors(expression, frame)
    except NoValue as fault:
        raise ValueFault(expression.span, str(fault)) from None


def _of_tensors(expression: tree.Expression, frame: Frame) -> Operand:
    match expression:
        case tree.List(items=items):
            return _list(items, frame)
        case tree.Subscript(base=base, index=index):
            return _subscript(_pack(base, frame), index, frame)
        case tree.Substitute():
            return _substitute(expression, frame)
        case tree.Select():
            return _select(expression, frame)
        case tree.Coalesce(value=value, otherwise=otherwise):
            found = operand(value, frame)
            return operand(otherwise, frame) if found is None else found
        case tree.Binary() | tree.Unary():
            return _condition(expression, frame)
    raise _computed(expression)


def _computed(expression: tree.Expression) -> ValueFault:
    remedy = "call an operator, such as math.add"
    message = "tensors are computed by operators, not by expressions"
    return ValueFault(expression.span, message, "2.10", remedy)


def _condition(expression: tree.Binary | tree.Unary, frame: Frame) -> Operand:
    """What can be said of tensors before they are there, and what follows from it."""
    match expression:
        case tree.Binary(operator="is", left=left, right=right):
            return _identical(operand(left, frame), operand(right, frame))
        case tree.Binary(operator="&&" | "||" as operator, left=left, right=right):
            return _decided(operator, left, right, frame)
        case tree.Unary(operator="?", operand=inner):
            return operand(inner, frame) is not None
        case tree.Unary(operator="!", operand=inner):
            found = operand(inner, frame)
            if isinstance(found, bool):
                return not found
    raise _computed(expression)


def _decided(operator: str, left: tree.Expression, right: tree.Expression, frame: Frame) -> Operand:
    """A condition of which one part is known."""
    found = operand(left, frame)
    if not isinstance(found, bool):
        raise ValueFault(left.span, f"`{operator}` takes a truth that is known here", "2.10.1")
    return operand(right, frame) if found == (operator == "&&") else found


def _identical(left: Operand, right: Operand) -> Operand:
    """Whether two expressions are the same tensors."""
    if isinstance(left, tuple) and isinstance(right, tuple):
        if len(left) != len(right):
            raise NoValue(f"packs of {len(left)} and {len(right)} items do not go together")
        return tuple(one is other for one, other in zip(left, right, strict=True))
    return None if left is None or right is None else left is right


def _pack(expression: tree.Expression, frame: Frame) -> tuple[Single, ...] | None:
    found = operand(expression, frame)
    if found is None or isinstance(found, tuple):
        return found
    remedy = "tensors are indexed in @lower only" if isinstance(found, Tensor) else ""
    raise ValueFault(expression.span, f"this takes a pack, not {kind_of(found)}", "2.4", remedy)


def _list(items: tuple[tree.Expression, ...], frame: Frame) -> Operand:
    """A list of tensors; null where one of them is."""
    found: list[Single] = []
    for item in items:
        taken = _items(item, frame)
        if taken is None:
            return None
        found += taken
        if len(found) > LONGEST_PACK:
            raise NoValue(f"a pack has at most {LONGEST_PACK} items")
    return tuple(found)


def _items(item: tree.Expression, frame: Frame) -> tuple[Single, ...] | None:
    """What an item of a list stands for."""
    match item:
        case tree.Expand(item=tree.Zip(items=zipped)):
            packs = [_pack(one, frame) for one in zipped]
            columns = [pack for pack in packs if pack is not None]
            if len(columns) != len(packs):
                return None
            if len({len(column) for column in columns}) > 1:
                raise NoValue("a zip expression takes packs of one length")
            return tuple(one for row in zip(*columns, strict=True) for one in row)
        case tree.Expand(item=inner, count=count):
            return _expanded(inner, count, frame)
        case tree.Range():
            found: Operand = evaluate(tree.List(item.span, (item,)), frame.scope)
            return found if isinstance(found, tuple) else None
    found = operand(item, frame)
    if isinstance(found, tuple):
        raise ValueFault(item.span, "packs cannot be nested", "2.4", "expand it with `..`")
    return None if found is None else (found,)


def _expanded(
    inner: tree.Expression, count: tree.Expression | None, frame: Frame
) -> tuple[Single, ...] | None:
    if count is None:
        if isinstance(inner, tree.Range):
            return _items(inner, frame)
        return _pack(inner, frame)
    found, times = operand(inner, frame), evaluate(count, frame.scope)
    if found is None or times is None:
        return None
    if not isinstance(times, int) or not 0 <= times <= LONGEST_PACK:
        raise ValueFault(count.span, f"a pack has from 0 to {LONGEST_PACK} items", "2.4")
    if isinstance(found, tuple):
        if len(found) != times:
            raise NoValue(f"a pack of {len(found)} items is said to have {int(times)}")
        return found
    return (found,) * int(times)


def _subscript(pack: tuple[Single, ...] | None, index: tree.Expression, frame: Frame) -> Operand:
    """Items of a pack of tensors."""
    if pack is None:
        return None
    numbers = tuple(range(len(pack)))
    if isinstance(index, tree.Range):
        ends = (index.first, index.last, index.stride)
        values = [None if one is None else evaluate(one, frame.scope) for one in ends]
        if any(one is not None and value is None for one, value in zip(ends, values, strict=True)):
            return None
        chosen = part(numbers, *values)
    else:
        chosen = evaluate(index, frame.scope)
    if isinstance(chosen, tuple):
        return tuple(pack[place] for place in places(len(pack), chosen))
    if chosen is None:
        return None
    (place,) = places(len(pack), (whole_number(chosen, "a subscript"),))
    return pack[place]


def _substitute(expression: tree.Substitute, frame: Frame) -> Operand:
    """A pack with other tensors in some places."""
    pack = _pack(expression.pack, frame)
    index = evaluate(expression.index, frame.scope)
    value = operand(expression.value, frame)
    if pack is None or index is None or value is None:
        return None
    where = list(
        places(len(pack), index if isinstance(index, tuple) else (whole_number(index, "a subscript"),))
    )
    return tuple(put(pack, where, value))


def _select(expression: tree.Select, frame: Frame) -> Operand:
    """One of two tensors, or of the items of two packs; the condition is known."""
    condition = operand(expression.condition, frame)
    if condition is None or isinstance(condition, bool):
        taken = branch(expression, condition)
        return None if taken is None else operand(taken, frame)
    if isinstance(condition, tuple) and expression.otherwise is not None:
        return _mixed(condition, operand(expression.then, frame), operand(expression.otherwise, frame))
    remedy = "branch with `if`, or call math.select"
    raise ValueFault(expression.condition.span, "`?:` takes a truth that is known", "2.10.1", remedy)


def _mixed(condition: tuple[Single, ...], then: Operand, otherwise: Operand) -> Operand:
    if then is None or otherwise is None:
        return None
    columns = [one if isinstance(one, tuple) else (one,) * len(condition) for one in (then, otherwise)]
    if {len(column) for column in columns} != {len(condition)}:
        raise NoValue("the packs of `?:` have different lengths")
    if not all(isinstance(one, bool) for one in condition):
        raise NoValue("the condition of `?` is a bool")
    rows = zip(condition, *columns, strict=True)
    return tuple(one if truth else other for truth, one, other in rows)
