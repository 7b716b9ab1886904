"""From the formulas of an operation to assignments: what is known is computed, packs are taken apart.

Loops are unrolled where something is picked by their index that no kernel can pick: a tensor of a pack, the
extent of another loop.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from tosajit.errors import ScriptError
from tosajit.frontends.nnef.model import Operation
from tosajit.frontends.nnef.nests import terms
from tosajit.frontends.nnef.nests.assignment import Assignment
from tosajit.frontends.nnef.nests.indexing import Unrolling
from tosajit.frontends.nnef.nests.resolving import Resolver
from tosajit.frontends.nnef.nests.terms import Checked, Element, Loop, Packed, Term, kind
from tosajit.frontends.nnef.syntax import tree
from tosajit.frontends.nnef.syntax.source import Span
from tosajit.frontends.nnef.values.value import ValueFault

MOST_ASSIGNMENTS = 4096
"""Of an operator, unrolled ones counted each."""
MOST_TERMS = 1000
"""Of an assignment."""
LONGEST_LOOP = (1 << 31) - 1
MOST_POINTS = 1 << 40
"""Of an assignment."""


def assignments(operation: Operation) -> list[Assignment]:
    """What the formulas of an operation assign, in order; `ScriptError` for what makes no sense."""
    reader = Reader(operation)
    found: list[Assignment] = []
    for lowering in operation.definition.operator.lowerings or ():
        try:
            found += reader.read(lowering)
        except ValueFault as fault:
            source = operation.definition.source
            raise ScriptError(
                [source.fault(fault.span, fault.message, fault.section, fault.remedy)]
            ) from None
    return [*found, *reader.of.counts()]


@dataclass
class Reader:
    """What resolves formulas of an operation."""

    operation: Operation
    _loops: dict[tuple[Span, str, int, Term], Loop] = field(default_factory=dict)

    _count: int = 0

    def __post_init__(self) -> None:
        self.of = Resolver(self.operation)

    def read(self, lowering: tree.Lowering) -> Iterator[Assignment]:
        """What a formula assigns: once, or for each step of a loop that is unrolled."""
        count = lowering.unrolled
        steps = 1 if count is None or count.limit is None else self.of.known(count.limit)
        index = count.index if count else None
        for step in range(steps):
            yield from self._unrolled(lowering, {} if index is None else {index: step}, {})

    def _unrolled(
        self, lowering: tree.Lowering, symbols: Mapping[str, Packed], fixed: Mapping[Loop, int]
    ) -> Iterator[Assignment]:
        self._count += 1
        if self._count > MOST_ASSIGNMENTS:
            raise ValueFault(lowering.span, f"more than {MOST_ASSIGNMENTS} loops come of this", "2.12")
        self.of.symbols = dict(symbols)
        try:
            found = self._assignment(lowering, fixed)
        except Unrolling as unrolling:
            loop = unrolling.loop
            if not isinstance(loop.extent, int):
                raise ValueFault(lowering.span, f"`{loop.name}` picks what has to be known", "2.12") from None
            for step in range(loop.extent):
                yield from self._unrolled(lowering, symbols, {**fixed, loop: step})
            return
        if found is not None:
            yield found

    def _assignment(self, lowering: tree.Lowering, fixed: Mapping[Loop, int]) -> Assignment | None:
        loops = [loop for bound in lowering.bounds for loop in self._bound(bound, fixed)]
        for local in lowering.locals:
            self.of.symbols[local.name] = self.of.value(local.value)
        left = self.of.value(lowering.left)
        if left is None:
            return None
        targets = left if isinstance(left, tuple) else (left,)
        if not all(isinstance(target, Element) for target in targets):
            raise ValueFault(lowering.left.span, "only elements of tensors can be assigned", "2.12")
        elements = tuple(target for target in targets if isinstance(target, Element))
        values = self._values(lowering.right, elements, isinstance(left, tuple))
        condition: Term = True if lowering.condition is None else self.of.term(lowering.condition)
        if kind(condition) != "bool":
            raise ValueFault(lowering.span, f"the condition is a bool, not {kind(condition)}", "2.12")
        steps = prod(loop.extent for loop in loops if isinstance(loop.extent, int))
        if steps > MOST_POINTS:
            raise ValueFault(
                lowering.span, f"the loops have {steps} points, but may have {MOST_POINTS}", "2.12"
            )
        if condition is False or any(loop.extent == 0 for loop in loops):
            return None
        places = [index for element in elements for index in element.indices]
        count = sum(1 for _ in terms.walk(*values, condition, *places))
        if count > MOST_TERMS:
            text = f"the formula computes {count} values at a point, but may compute {MOST_TERMS}"
            raise ValueFault(lowering.span, text, "2.12", "write an intermediate result to a tensor")
        return Assignment(lowering.span, tuple(loops), elements, lowering.operator, values, condition)

    def _bound(self, bound: tree.Bound, fixed: Mapping[Loop, int]) -> Iterator[Loop]:
        """The loops of `i < n`; several, if the limit is a pack."""
        limit = self.of.value(bound.limit)
        made: list[Term] = []
        for number, extent in enumerate(limit if isinstance(limit, tuple) else (limit,)):
            if extent is None or isinstance(extent, Checked) or kind(extent) != "int":
                raise ValueFault(bound.span, f"the limit of `{bound.name}` is not an int", "2.12")
            if isinstance(extent, int) and extent > LONGEST_LOOP:
                text = f"`{bound.name}` has {extent} steps, but may have {LONGEST_LOOP}"
                raise ValueFault(bound.span, text, "2.12")
            if inside := terms.loops_of(extent):
                raise Unrolling(min(inside, key=lambda loop: loop.name))
            name = f"{bound.name}{number}" if isinstance(limit, tuple) else bound.name
            key = (bound.span, name, number, extent)
            loop = self._loops.setdefault(
                key, Loop(name, max(extent, 0) if isinstance(extent, int) else extent)
            )
            made.append(fixed.get(loop, loop))
        self.of.symbols[bound.name] = tuple(made) if isinstance(limit, tuple) else made[0]
        return (one for one in made if isinstance(one, Loop))

    def _values(self, right: tree.Expression, targets: Sequence[Element], packed: bool) -> tuple[Term, ...]:
        value = self.of.value(right)
        if value is None:
            remedy = "say what stands for it: `… ?? 0.0`"
            raise ValueFault(right.span, "the value is null", "2.12", remedy)
        if isinstance(value, tuple) and (not packed or len(value) != len(targets)):
            text = f"a pack of {len(value)} items goes to {len(targets)} elements"
            raise ValueFault(right.span, text, "2.12")
        found = value if isinstance(value, tuple) else (value,) * len(targets)
        checked: list[Term] = []
        for target, one in zip(targets, found, strict=True):
            if isinstance(one, Checked) or kind(one) != target.type:
                what = "a checked index" if isinstance(one, Checked) else kind(one)
                text = f"the value is {what}, but `{target.tensor.name}` is {target.type}"
                raise ValueFault(right.span, text, "2.12", f"cast it: `{target.type}(…)`")
            checked.append(one)
        return tuple(checked)
