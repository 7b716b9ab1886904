"""Loops over packs, by count and by condition (NNEF 2.0 section 2.10.1).

Where the text is silent: a loop that is unrolled has one scope for all of its steps, as one that is not, so
they share variables. What is packed by a loop whose steps data decide has as many items as there can be
steps; those beyond the last step are zeros.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from tosajit.frontends.nnef.compose.forms import Form, Operand, Single, bound_of, forms_of
from tosajit.frontends.nnef.compose.frame import Frame
from tosajit.frontends.nnef.compose.operands import operand
from tosajit.frontends.nnef.model import Argument, Body, Carried, Extent, Open, Repeat, Scanned, Tensor
from tosajit.frontends.nnef.syntax import tree
from tosajit.frontends.nnef.values.arithmetic import NoValue
from tosajit.frontends.nnef.values.value import LONGEST_PACK, ValueFault

MOST_STEPS = 10_000
"""Steps of a loop that is unrolled."""

Composes: TypeAlias = Callable[[Frame, tree.Part, str | None], Sequence[Operand]]
"""What makes steps of a part in a frame, and gives its results."""


def looped(
    frame: Frame, loop: tree.Loop, left: Sequence[tree.Left], label: str | None, composes: Composes
) -> Sequence[Operand]:
    """The results of a loop: what it carries, then packs of what its steps give."""
    count = _count(frame, loop.count)
    packs = [_pack(frame, one) for one in loop.scans]
    lengths = {len(pack) for pack in packs if pack is not None}
    if len(lengths) > 1:
        message = f"the packs of a loop have {' and '.join(map(str, sorted(lengths)))} items"
        raise ValueFault(loop.span, message, "2.10.1", "all must have one length")
    length = next(iter(lengths), None)
    most = length if isinstance(count, Tensor) or count is None else count
    if most is not None and length is not None and most > length:
        raise ValueFault(loop.span, f"{most} steps, but packs of {length} items", "2.10.1")
    if most is None and loop.condition is None and count is None:
        raise ValueFault(loop.span, "nothing ends this loop", "2.10.1", "say a count that is not null")
    carried = [_initial(frame, one) for one in loop.carried]
    if most == 0:
        return [*carried, *((),) * (len(left) - len(carried))]
    if loop.unrolled:
        if isinstance(count, Tensor) or most is None:
            raise ValueFault(loop.span, "the steps of an unrolled loop must be known", "2.10.1", "write `do`")
        return _unrolled(frame, loop, most, packs, carried, label, composes)
    return _repeated(frame, loop, left, count, most, packs, carried, label, composes)


def _count(frame: Frame, count: tree.Count | None) -> int | Tensor | None:
    """How often a loop runs, where that is said."""
    if count is None or count.limit is None:
        return None
    found = operand(count.limit, frame)
    match found:
        case None:
            return None
        case int() if 0 <= found <= LONGEST_PACK:
            return int(found)
        case Tensor() if found.type == "int" and all(bound_of(extent) == 1 for extent in found.shape):
            return found
    message = f"a count is a number up to {LONGEST_PACK}, or a tensor of one int"
    raise ValueFault(count.limit.span, message, "2.10.1")


def _pack(frame: Frame, scan: tree.Scan) -> tuple[Single, ...] | None:
    """What a loop walks: tensors or values; null stands for null in each step."""
    found = operand(scan.pack, frame)
    if found is None or isinstance(found, tuple):
        return found
    raise ValueFault(scan.pack.span, "a loop walks a pack", "2.10.1", "write it in brackets: [x]")


def _initial(frame: Frame, carried: tree.Carried) -> Tensor:
    """The first value of a variable of a loop."""
    found = operand(carried.initial, frame)
    if found is None or isinstance(found, tuple):
        kind = "null" if found is None else "a pack"
        raise ValueFault(carried.initial.span, f"a loop carries tensors, not {kind}", "2.10.1")
    name = frame.prefix + carried.name
    if carried.type is None:
        made = frame.argument(found, carried.name, carried)
        assert isinstance(made, Tensor)
        return made
    if not isinstance(found, Tensor):
        return frame.filled(found, carried.type, carried.initial, name)
    expected = frame.form(carried.type)
    if expected is not None and forms_of(found) != expected:
        message = f"`{carried.name}` is said to be {expected}, but begins as {forms_of(found)}"
        raise ValueFault(carried.initial.span, message, "2.10.1")
    return found


def _unrolled(
    frame: Frame, loop: tree.Loop, steps: int, packs: Sequence[tuple[Single, ...] | None],
    carried: Sequence[Tensor], label: str | None, composes: Composes,
) -> Sequence[Operand]:  # fmt: skip
    """The steps of a loop, one behind another."""
    if steps > MOST_STEPS:
        message = f"the loop has {steps} steps, but at most {MOST_STEPS} are unrolled"
        raise ValueFault(loop.span, message, "2.10.1", "write `do`")
    state = list(carried)
    packed: list[list[Tensor]] = []
    labels = frame.composer.labels()
    for step in range(steps):
        frame.composer.forget_labels(labels)
        _spend(frame, loop)
        inner = frame.inner(frame.prefix, frame.steps)
        for one, value in zip(loop.carried, state, strict=True):
            inner.bind(one.name, value)
        for scan, pack in zip(loop.scans, packs, strict=True):
            inner.bind(scan.name, None if pack is None else pack[step])
        if loop.count is not None and loop.count.index is not None:
            inner.bind(loop.count.index, step)
        results = composes(inner, loop.body, label)
        _enough(loop, len(results))
        state = [_tensor(frame, one, loop) for one in results[: len(state)]]
        packed = packed or [[] for _ in results[len(state) :]]
        for column, result in zip(packed, results[len(state) :], strict=True):
            column.append(_tensor(frame, result, loop))
    return [*state, *map(tuple, packed)]


_COST = 200
"""What a step costs that is unrolled, compared with an item of a pack."""


def _spend(frame: Frame, loop: tree.Loop) -> None:
    try:
        frame.scope.work.spend(_COST)
    except NoValue as fault:
        raise ValueFault(loop.span, str(fault), "2.10.1") from None


def _enough(loop: tree.Loop, results: int) -> None:
    if results < len(loop.carried):
        message = f"the loop carries {len(loop.carried)} tensors, but its body gives {results}"
        raise ValueFault(loop.span, message, "2.10.1")


def _tensor(frame: Frame, found: Operand, where: tree.Tree) -> Tensor:
    """A result of a step."""
    made = frame.argument(found, "item", where)
    if not isinstance(made, Tensor):
        kind = "null" if made is None else "a pack"
        raise ValueFault(where.span, f"a step of a loop gives tensors, not {kind}", "2.10.1")
    return made


def _repeated(
    frame: Frame, loop: tree.Loop, left: Sequence[tree.Left], count: int | Tensor | None, most: int | None,
    packs: Sequence[tuple[Single, ...] | None], carried: Sequence[Tensor], label: str | None,
    composes: Composes,
) -> Sequence[Operand]:  # fmt: skip
    """A loop that is kept as it is: its body is composed once."""
    scope = frame.prefix + (label or "loop")
    inner = frame.inner(frame.prefix, [])
    states = [
        Carried(frame.composer.tensor(f"{scope}.{one.name}", Form(first.type, first.shape)), first)
        for one, first in zip(loop.carried, carried, strict=True)
    ]
    for one, state in zip(loop.carried, states, strict=True):
        inner.bind(one.name, state.tensor)
    scanned = []
    for scan, pack in zip(loop.scans, packs, strict=True):
        item = _item(frame, scan, pack, f"{scope}.{scan.name}")
        inner.bind(scan.name, None if item is None else item.tensor)
        if item is not None:
            scanned.append(item)
    index = None
    if loop.count is not None and loop.count.index is not None:
        index = frame.composer.tensor(f"{scope}.{loop.count.index}", Form("int", ()))
        inner.bind(loop.count.index, index)
    condition = None
    if loop.condition is not None:
        condition = body_of(inner, loop.condition, None, composes)
        check_condition(condition, loop.condition)
    body = body_of(inner, loop.body, label, composes)
    _enough(loop, len(body.results))
    for one, state, result in zip(loop.carried, states, body.results, strict=False):
        _check_carried(one, state.tensor, result)
    outputs = _outputs(frame, loop, left, states, body, most, scope)
    steps = count if count is not None else most
    frame.steps.append(
        Repeat(
            scope, tuple(states), tuple(scanned), condition, loop.tested_first, steps, most, index, body,
            tuple(outputs),
        )
    )  # fmt: skip
    return outputs


def body_of(frame: Frame, part: tree.Part, label: str | None, composes: Composes) -> Body:
    """A part as a body of its own."""
    inner = frame.inner(frame.prefix, [])
    results = composes(inner, part, label)
    arguments = [inner.argument(one, "value", part) for one in results]
    if any(one is None for one in arguments):
        raise ValueFault(part.span, "what is done by data cannot give null", "2.10.1")
    return Body(tuple(inner.steps), tuple(arguments))


def check_condition(body: Body, where: tree.Tree) -> None:
    """A condition gives one truth."""
    if len(body.results) == 1 and isinstance(body.results[0], Tensor):
        (found,) = body.results
        assert isinstance(found, Tensor)
        if found.type == "bool" and all(bound_of(extent) == 1 for extent in found.shape):
            return
    given = ", ".join(str(forms_of(one)) for one in body.results)
    raise ValueFault(where.span, f"a condition is one bool, not {given}", "2.10.1")


def _item(frame: Frame, scan: tree.Scan, pack: tuple[Single, ...] | None, name: str) -> Scanned | None:
    """An item of a pack; extents that differ among them are as large as the largest."""
    if pack is None:
        return None
    items = tuple(_tensor(frame, one, scan) for one in pack)
    form = joined([Form(one.type, one.shape) for one in items], scan)
    return Scanned(frame.composer.tensor(name, form), items)


def joined(forms: Sequence[Form], where: tree.Tree) -> Form:
    """What is said of a tensor that may be any of several."""
    if len({(form.type, len(form.shape)) for form in forms}) > 1:
        texts = " and ".join(dict.fromkeys(map(str, forms)))
        raise ValueFault(where.span, f"the same tensor would be {texts}", "2.10.1")
    shape = tuple(_widest(extents) for extents in zip(*(form.shape for form in forms), strict=True))
    return Form(forms[0].type, shape)


def _widest(extents: tuple[Extent, ...]) -> Extent:
    return extents[0] if len(set(extents)) == 1 else Open(max(map(bound_of, extents)))


def _check_carried(one: tree.Carried, tensor: Tensor, result: Argument) -> None:
    """A step must give what the next one takes."""
    if forms_of(result) != forms_of(tensor):
        message = f"`{one.name}` is {forms_of(tensor)}, but a step gives {forms_of(result)}"
        raise ValueFault(one.span, message, "2.10.1", f"say its shape: `{one.name}: real[…] = …`")


def _outputs(
    frame: Frame, loop: tree.Loop, left: Sequence[tree.Left], states: Sequence[Carried], body: Body,
    most: int | None, scope: str,
) -> list[Argument]:  # fmt: skip
    """The tensors that a loop gives."""
    found: list[Argument] = []
    for place, result in enumerate(body.results):
        target = left[place] if place < len(left) else None
        if not isinstance(result, Tensor):
            raise ValueFault(loop.span, "a step of a loop gives tensors, not packs", "2.10.1")
        form = Form(result.type, result.shape)
        default = f"{scope}.{place}"
        if place < len(states):
            found.append(frame.made(target, form, default))
        elif most is not None:
            found.append(frame.made(target, (form,) * most, default))
        elif isinstance(target, tree.Target) and target.name is None:
            found.append(None)
        else:
            message = "nothing says how many items the loop packs"
            raise ValueFault(loop.span, message, "2.10.1", "say a count: `do..(n)`")
    return found
