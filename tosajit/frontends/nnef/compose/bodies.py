"""What `@compose` and `@update` say: components in their order (NNEF 2.0 sections 2.10 and 2.11).

Where the text is silent: components of `@update` are done in their order, so a variable has its new value
in those behind the one that assigns it. An invocation that has neither a label nor one result is called after
its operator, with a number where that is taken.
"""

from __future__ import annotations

from collections.abc import Sequence

from tosajit.frontends.nnef.compose import loops
from tosajit.frontends.nnef.compose.forms import Form, Operand
from tosajit.frontends.nnef.compose.frame import Frame, placed
from tosajit.frontends.nnef.compose.invocations import invoked
from tosajit.frontends.nnef.compose.operands import operand
from tosajit.frontends.nnef.model import Argument, Body, Branches, Tensor, tensors_of
from tosajit.frontends.nnef.syntax import tree
from tosajit.frontends.nnef.values.value import ValueFault


def composed(frame: Frame) -> Body:
    """What `@compose` says."""
    operator = frame.operator
    many = len(operator.components or ()) != 1
    components(frame, operator.components or (), alone=not (many or operator.variables or operator.constants))
    results = []
    for one in operator.outputs:
        if one.name not in frame.assigned:
            message = f"the output `{one.name}` is not assigned"
            raise ValueFault(one.span, message, "2.10", "assign it in @compose")
        results.append(frame.tensors[one.name])
    return Body(tuple(frame.steps), tuple(results))


def updates(frame: Frame) -> tuple[Body, tuple[Tensor, ...]]:
    """What `@update` says behind the body, and the variables that it gives new values."""
    variables = {one.name: frame.tensors[one.name] for one in frame.operator.variables}
    frame.steps = []
    before, frame.assigned = frame.assigned, set(frame.assigned)
    components(frame, frame.operator.updates, alone=False)
    updated: list[Tensor] = []
    results: list[Argument] = []
    for name, old in variables.items():
        if name in frame.assigned - before:
            updated += tensors_of(old)
            results += tensors_of(frame.tensors[name])
    return Body(tuple(frame.steps), tuple(results)), tuple(updated)


def components(frame: Frame, all_of_them: Sequence[tree.Component], *, alone: bool) -> None:
    """Do components in their order."""
    for one in all_of_them:
        try:
            _component(frame, one, alone=alone)
        except ValueFault as fault:
            raise placed(frame, fault) from None


def _component(frame: Frame, component: tree.Component, *, alone: bool) -> None:
    left = component.left
    label = left[0].name if len(left) == 1 and isinstance(left[0], tree.Target) else None
    results = part(frame, component.right, left, label, alone=alone)
    if len(results) != len(left):
        message = f"{len(results)} results go to {len(left)} names"
        raise ValueFault(component.span, message, "2.10", "write `~` for a result that is not needed")
    for one, result in zip(left, results, strict=True):
        frame.assign(one, result)


def part(
    frame: Frame, part: tree.Part, left: Sequence[tree.Left], label: str | None, *, alone: bool
) -> Sequence[Operand]:
    """The tensors that a right-hand side gives."""
    match part:
        case tree.Given(value=value):
            return [_given(frame, value, left)]
        case tree.Invocation():
            return invoked(frame, part, left, label, alone=alone)
        case tree.Branch():
            return _branched(frame, part, left, label, alone=alone)
        case tree.ComposeBlock():
            return _block(frame, part, label)
        case tree.Loop():
            return loops.looped(frame, part, left, label, _steps)


def _steps(frame: Frame, one: tree.Part, label: str | None) -> Sequence[Operand]:
    """What a part gives within a branch or a loop."""
    return part(frame, one, (), label, alone=False)


def _block(frame: Frame, block: tree.ComposeBlock, label: str | None) -> Sequence[Operand]:
    """The results of a block, whose names are its own."""
    prefix = frame.prefix
    if block.label or label:
        named = block.label or label or ""
        prefix = frame.composer.labelled(prefix, named, block, explicit=block.label is not None)
    inner = frame.inner(prefix, frame.steps)
    with frame.composer.deeper(block):
        components(inner, block.components, alone=False)
    results = [operand(one, inner) for one in block.results]
    if None in results:
        raise ValueFault(block.results[results.index(None)].span, "a block cannot give null", "2.10.1")
    return results


def _given(frame: Frame, value: tree.Expression, left: Sequence[tree.Left]) -> Operand:
    """A tensor or a value; where a type is said for it, a value fills that shape."""
    found = operand(value, frame)
    if len(left) == 1 and isinstance(left[0], tree.Target) and left[0].type is not None:
        if found is not None and not isinstance(found, Tensor | tuple):
            return frame.filled(found, left[0].type, value, frame.prefix + (left[0].name or "value"))
    return found


def _branched(
    frame: Frame, branch: tree.Branch, left: Sequence[tree.Left], label: str | None, *, alone: bool
) -> Sequence[Operand]:
    """A branch; conditions that are known choose here, others when the model runs."""
    cases: list[tuple[Body, Body]] = []
    otherwise = branch.otherwise
    for condition, then in branch.cases:
        truth = operand(condition.value, frame) if isinstance(condition, tree.Given) else frame
        if truth is None:
            raise ValueFault(condition.span, "the condition is null", "2.10.1", "ask for it: `?x && …`")
        if truth is True:
            otherwise = then
            break
        if truth is not False:
            tested = loops.body_of(frame, condition, None, _steps)
            loops.check_condition(tested, condition)
            cases.append((tested, loops.body_of(frame, then, None, _steps)))
    if not cases:
        return part(frame, otherwise, left, label, alone=alone)
    last = loops.body_of(frame, otherwise, None, _steps)
    scope = frame.prefix + (label or "if")
    outputs = _joined(frame, branch, left, [body for _, body in cases] + [last], scope)
    frame.steps.append(Branches(scope, tuple(cases), last, tuple(outputs)))
    return outputs


def _joined(
    frame: Frame, branch: tree.Branch, left: Sequence[tree.Left], bodies: Sequence[Body], scope: str
) -> list[Argument]:
    """The tensors that a branch gives, whichever of its bodies is done."""
    if len({len(body.results) for body in bodies}) > 1:
        counts = " and ".join(str(len(body.results)) for body in bodies)
        raise ValueFault(branch.span, f"the branches give {counts} results", "2.10.1")
    found: list[Argument] = []
    for place, results in enumerate(zip(*(body.results for body in bodies), strict=True)):
        lengths = {len(one) if isinstance(one, tuple) else None for one in results}
        if len(lengths) > 1:
            raise ValueFault(branch.span, "the branches give packs of different lengths", "2.10.1")
        rows = [[Form(one.type, one.shape) for one in tensors_of(result)] for result in results]
        forms = tuple(loops.joined(column, branch) for column in zip(*rows, strict=True))
        target = left[place] if place < len(left) else None
        found.append(frame.made(target, forms if lengths != {None} else forms[0], f"{scope}.{place}"))
    return found
