"""Helper symbols and assertions, in turns (NNEF 2.0 sections 2.8 and 2.9)."""

from __future__ import annotations

from tosajit.frontends.nnef.compose.binding import Binder
from tosajit.frontends.nnef.compose.forms import fault
from tosajit.frontends.nnef.compose.mentions import known
from tosajit.frontends.nnef.compose.opened import openness
from tosajit.frontends.nnef.compose.plan import Plan
from tosajit.frontends.nnef.model import Definition
from tosajit.frontends.nnef.syntax import tree
from tosajit.frontends.nnef.values.evaluate import Scope, evaluate
from tosajit.frontends.nnef.values.value import Value, ValueFault, text_of


def settle(definition: Definition, plan: Plan, binder: Binder) -> None:
    """All helper symbols; before each, every assertion that can be checked by then."""
    operator = definition.operator
    left = list(zip(operator.assertions, plan.assertions, strict=True))
    for using in operator.using:
        left = _checked(definition, left, binder)
        assign(using.left, evaluate(using.value, binder.scope), binder)
        flags = openness(using.value, binder.opened)
        if flags is not False:
            binder.opened.update(dict.fromkeys(names_of(using.left), flags))
    for assertion, names in left:
        _check(definition, assertion, names, binder)


_Waiting = list[tuple[tree.Assertion, frozenset[str]]]


def _checked(definition: Definition, left: _Waiting, binder: Binder) -> _Waiting:
    """Check what can be checked; what is left waits for other symbols."""
    tensors = {**binder.shapes, **binder.sizes}
    waiting = []
    for assertion, names in left:
        if known(names, binder.symbols, tensors):
            _check(definition, assertion, names, binder)
        else:
            waiting.append((assertion, names))
    return waiting


def _check(definition: Definition, assertion: tree.Assertion, names: frozenset[str], binder: Binder) -> None:
    """One assertion; one that is null is skipped, as is one on what data decide."""
    if any(name in binder.opened for name in names):
        return
    value = evaluate(assertion.condition, binder.scope)
    if value is None or (value if isinstance(value, bool) else isinstance(value, tuple) and all(value)):
        return
    raise fault(assertion.span, _told(definition, assertion, binder.scope), "2.8")


def _told(definition: Definition, assertion: tree.Assertion, scope: Scope) -> str:
    """What a failed assertion says."""
    text = definition.source.text
    condition = " ".join(text[assertion.condition.span.start : assertion.condition.span.stop].split())
    message = f"`{condition}` does not hold"
    if assertion.message is not None:
        message = str(_shown(assertion.message, scope))
    details = [
        f"{one.label or text[one.expression.span.start : one.expression.span.stop]} = "
        f"{_shown(one.expression, scope)}"
        for one in assertion.details
    ]
    return (
        "; ".join([" ".join(message.split()), ", ".join(details)]) if details else " ".join(message.split())
    )


def _shown(expression: tree.Expression, scope: Scope) -> str:
    """A value in a message: an expression there may have none, but the message must come."""
    try:
        found = text_of(evaluate(expression, scope))
    except ValueFault:
        return "?"
    return found if len(found) <= _WIDEST else f"{found[:_WIDEST]}…"


_WIDEST = 400
"""Characters of a value in a message."""


def names_of(left: tree.Left) -> list[str]:
    """The names that a left-hand side gives values."""
    match left:
        case tree.Target(name=name):
            return [name] if name else []
        case tree.Unzip(targets=targets):
            return [target.name for target in targets if target.name]
        case tree.TargetList(items=items):
            return [name for item in items for name in names_of(item)]


def assign(left: tree.Left, value: Value, binder: Binder) -> None:
    """Give the names of a left-hand side their values."""
    match left:
        case tree.Target():
            _hinted(left, value, binder)
            if left.name:
                binder.symbols[left.name] = value
        case tree.Unzip():
            _unzip(left, value, binder)
        case tree.TargetList(items=items):
            _split(left, items, value, binder)


def _hinted(left: tree.Target, value: Value, binder: Binder) -> None:
    """The length of a pack, where the text says it."""
    if left.pack is None or value is None:
        return
    if not isinstance(value, tuple):
        raise ValueFault(left.span, f"`{left.name}` is said to be a pack, but is {text_of(value)}", "2.9")
    if left.pack.length is not None:
        count = _count(left.pack, binder)
        if count != len(value):
            raise ValueFault(left.span, f"`{left.name}` has {len(value)} items, not {count}", "2.9")


def _count(pack: tree.Pack, binder: Binder) -> int | None:
    """The length that is written behind `..`."""
    if pack.length is None:
        return None
    count = evaluate(pack.length, binder.scope)
    if not isinstance(count, int) or count < 0:
        raise ValueFault(pack.length.span, f"{text_of(count)} is no length of a pack", "2.9")
    return int(count)


def _unzip(left: tree.Unzip, value: Value, binder: Binder) -> None:
    names, width = left.targets, len(left.targets)
    if value is None:
        for target in names:
            assign(target, None, binder)
        return
    if not isinstance(value, tuple) or len(value) % width:
        raise ValueFault(left.span, f"{text_of(value)} does not unzip to {width} packs", "2.9")
    count = _count(left.pack, binder) if left.pack else None
    if count is not None and count * width != len(value):
        raise ValueFault(left.span, f"{len(value) // width} items go to packs of {count}", "2.9")
    for place, target in enumerate(names):
        assign(target, value[place::width], binder)


def _split(
    left: tree.TargetList, items: tuple[tree.Target | tree.Unzip, ...], value: Value, binder: Binder
) -> None:
    """Parts of a list; one of them may take what is left."""
    if value is None:
        for item in items:
            assign(item, None, binder)
        return
    if not isinstance(value, tuple):
        raise ValueFault(left.span, f"{text_of(value)} is no list", "2.9")
    widths = widths_of(left, [width_of(item, binder) for item in items], len(value))
    start = 0
    for item, width in zip(items, widths, strict=True):
        whole = item.pack is not None
        assign(item, value[start : start + width] if whole else value[start], binder)
        start += width


def width_of(item: tree.Target | tree.Unzip, binder: Binder) -> int | None:
    """How many items a part of a list takes; None for what is left."""
    if item.pack is None:
        return 1
    count = _count(item.pack, binder)
    if count is None or isinstance(item, tree.Target):
        return count
    return count * len(item.targets)


def widths_of(left: tree.Tree, widths: list[int | None], length: int) -> list[int]:
    """The widths of parts of a list; one that is not known takes what is left."""
    fixed = sum(width for width in widths if width is not None)
    if widths.count(None) > 1:
        raise ValueFault(left.span, "more than one part of the list has no length", "2.9", "write `..(n)`")
    if fixed > length or (None not in widths and fixed != length):
        raise ValueFault(left.span, f"a list of {length} items goes to {fixed} places", "2.9")
    return [length - fixed if width is None else width for width in widths]
