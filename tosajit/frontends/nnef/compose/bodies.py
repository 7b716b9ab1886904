"""What `@compose` and `@update` say: components in their order (NNEF 2.0 sections 2.10 and 2.11).

Where the text is silent: components of `@update` are done in their order, so a variable has its new value
in those behind the one that assigns it. An invocation that has neither a label nor one result is called after
its operator, with a number where that is taken.
"""

from __future__ import annotations

from collections.abc import Sequence

from tosajit.frontends.nnef.compose.forms import Operand
from tosajit.frontends.nnef.compose.frame import Frame, placed
from tosajit.frontends.nnef.compose.invocations import invoked
from tosajit.frontends.nnef.compose.operands import operand
from tosajit.frontends.nnef.model import Argument, Body, Tensor, tensors_of
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
        case tree.ComposeBlock() | tree.Loop():
            raise ValueFault(part.span, "blocks and loops are not composed yet", "2.10.1")


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
    """A branch whose conditions are known is the part that they choose."""
    for condition, then in branch.cases:
        truth = operand(condition.value, frame) if isinstance(condition, tree.Given) else None
        if not isinstance(truth, bool):
            raise ValueFault(branch.span, "branches by data are not composed yet", "2.10.1")
        if truth:
            return part(frame, then, left, label, alone=alone)
    return part(frame, branch.otherwise, left, label, alone=alone)
