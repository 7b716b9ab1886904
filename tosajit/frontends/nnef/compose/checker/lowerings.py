"""Rules of `@lower` (NNEF 2.0 section 2.12)."""

from __future__ import annotations

from collections.abc import Sequence

from tosajit.frontends.nnef.compose.checker.expressions import Expressions
from tosajit.frontends.nnef.compose.checker.kinds import INT, Kind, same
from tosajit.frontends.nnef.syntax import tree

_SECTION = "2.12"


def check_lowerings(operator: tree.Operator, expressions: Expressions) -> None:
    """Check the formulas of an operator."""
    expressions.elements = True
    found: dict[str, list[tree.Lowering]] = {one.name: [] for one in operator.outputs}
    for lowering in operator.lowerings or ():
        name = _output(lowering, expressions, found)
        if name is not None:
            found[name].append(lowering)
        _check(lowering, expressions)
    expressions.elements = False
    for one in operator.outputs:
        _check_assignments(one, found[one.name], expressions)


def _output(
    lowering: tree.Lowering, expressions: Expressions, outputs: dict[str, list[tree.Lowering]]
) -> str | None:
    """The output that a formula assigns."""
    base: tree.Expression = lowering.left
    while isinstance(base, tree.Subscript | tree.Access):
        base = base.base
    if isinstance(base, tree.Name) and base.name in outputs:
        return base.name
    remedy = f"outputs are {', '.join(outputs)}" if outputs else ""
    expressions.tell(lowering.left, "a formula assigns elements of an output", _SECTION, remedy)
    return None


def _check_assignments(
    output: tree.Parameter, lowerings: Sequence[tree.Lowering], expressions: Expressions
) -> None:
    """An output is initialised, updated, or both, in this order."""
    name = output.name
    if not lowerings:
        expressions.tell(output, f"no formula assigns the output `{name}`", _SECTION)
        return
    if len(lowerings) > 2:
        message = f"`{name}` is assigned by {len(lowerings)} formulas, but by two at most"
        expressions.tell(lowerings[2].left, message, _SECTION)
    first, *rest = lowerings
    if first.operator == ":=":
        remedy = f"initialise it with `{name}[…] = …`"
        expressions.tell(first.left, f"`:=` updates `{name}`, which has no first value", _SECTION, remedy)
    if rest and first.operator != "=":
        message = f"the first of two formulas initialises `{name}` with `=`, not `{first.operator}`"
        expressions.tell(first.left, message, _SECTION)
    if rest and rest[0].operator == "=":
        message = f"`{name}` is initialised twice"
        expressions.tell(rest[0].left, message, _SECTION, "update it: `+=`, `:=`, …")


def _check(lowering: tree.Lowering, expressions: Expressions) -> None:
    """One formula, with the names of its loop."""
    names = expressions.names
    expressions.names = dict(names)
    if lowering.unrolled is not None:
        expressions.value(lowering.unrolled.limit, "int", section=_SECTION)
        if lowering.unrolled.index is not None:
            expressions.names[lowering.unrolled.index] = INT
    indices = set()
    for bound in lowering.bounds:
        limit = expressions.typed(bound.limit, "int", section=_SECTION)
        if bound.name in indices:
            expressions.tell(bound, f"`{bound.name}` has two bounds", _SECTION)
        indices.add(bound.name)
        expressions.names[bound.name] = Kind("int", limit.packed, limit.optional)
    for local in lowering.locals:
        expressions.names[local.name] = expressions.kind(local.value)
    left = expressions.kind(lowering.left)
    right = expressions.kind(lowering.right)
    _check_types(lowering, left, right, expressions)
    if lowering.condition is not None:
        expressions.typed(lowering.condition, "bool", section=_SECTION)
    expressions.names = names


def _check_types(lowering: tree.Lowering, left: Kind, right: Kind, expressions: Expressions) -> None:
    if left.type and right.type and not same(left.type, right.type):
        mixed = {left.type, right.type} == {"int", "real"}
        remedy = f"cast it: {left.type}(…)" if mixed or left.type in expressions.generics.bases else ""
        message = f"elements of {left.type} are assigned {right}"
        expressions.tell(lowering.right, message, _SECTION, remedy)
    elif right.optional:
        message = "what is assigned may be null"
        expressions.tell(lowering.right, message, _SECTION, "say what stands for it: `… ?? 0.0`")
    if lowering.operator in ("&=", "|=") and left.type not in ("bool", ""):
        expressions.tell(lowering.left, f"`{lowering.operator}` takes bool, not {left.type}", _SECTION)
