"""What `@compose` and `@update` may say, whatever is composed (NNEF 2.0 sections 2.10 and 2.11)."""

from __future__ import annotations

from collections.abc import Sequence

from tiling.records import replace
from tosajit.frontends.nnef.compose.checker.expressions import Expressions
from tosajit.frontends.nnef.compose.checker.invocations import Invocations
from tosajit.frontends.nnef.compose.checker.kinds import BOOL, INT, UNKNOWN, Kind, same
from tosajit.frontends.nnef.compose.helpers import names_of
from tosajit.frontends.nnef.compose.modules import Library
from tosajit.frontends.nnef.model import Definition
from tosajit.frontends.nnef.syntax import tree


class Bodies:
    """Checks the components of an operator."""

    def __init__(self, definition: Definition, library: Library, expressions: Expressions) -> None:
        self.operator = definition.operator
        self.expressions = expressions
        self.tell = expressions.tell
        self.invocations = Invocations(definition, library, expressions)
        self.outputs = {one.name: one for one in self.operator.outputs}
        self.fixed = {
            one.name: kind
            for kind, parameters in (
                ("an input", self.operator.inputs), ("a constant", self.operator.constants),
                ("an attribute", self.operator.attributes),
            )
            for one in parameters
        }  # fmt: skip
        self.variables = {one.name for one in self.operator.variables}

    def check(self) -> None:
        """Check `@compose`, then `@update`, which knows its names."""
        known = dict(self.expressions.names)
        for name in self.outputs:
            known.pop(name, None)
        self.expressions.names = known
        assigned: set[str] = set()
        if self.operator.components is not None:
            self._components(self.operator.components, assigned, updating=False)
            for name, output in self.outputs.items():
                if name not in assigned:
                    message = f"the output `{name}` is not assigned"
                    self.tell(output, message, "2.10", "assign it in @compose")
        self._components(self.operator.updates, set(), updating=True)

    def _components(
        self, components: Sequence[tree.Component], assigned: set[str], *, updating: bool, inner: bool = False
    ) -> None:
        for component in components:
            results = self._part(component.right, len(component.left))
            if results is not None and len(results) != len(component.left):
                message = f"{len(results)} results go to {len(component.left)} names"
                remedy = "write `~` for a result that is not needed"
                self.tell(component, message, "2.10", remedy)
                results = None
            for place, left in enumerate(component.left):
                for name in names_of(left):
                    self._name(name, left, assigned, updating=updating, inner=inner)
                self._assign(left, Kind(UNKNOWN, tensor=True) if results is None else results[place])

    def _name(self, name: str, where: tree.Tree, assigned: set[str], *, updating: bool, inner: bool) -> None:
        """A name that is given a tensor: it has none yet in this block."""
        if name in assigned:
            self.tell(where, f"`{name}` has a tensor already", "2.10", "take another name")
        elif inner:
            pass
        elif name in self.fixed:
            self.tell(where, f"`{name}` is {self.fixed[name]}, which is not assigned", "2.10")
        elif updating and name in self.outputs:
            self.tell(where, f"the output `{name}` is assigned in @update", "2.11", "assign it in @compose")
        elif not updating and name in self.variables:
            self.tell(where, f"the variable `{name}` is assigned in @compose", "2.11", "assign it in @update")
        assigned.add(name)

    def _assign(self, left: tree.Left, kind: Kind) -> None:
        """The names of a left-hand side, and what they stand for."""
        if isinstance(left, tree.Target):
            self._target(left, kind)
            return
        if kind.type and not kind.packed:
            self.tell(left, f"a list takes a pack, not {kind}", "2.10")
        items = left.targets if isinstance(left, tree.Unzip) else left.items
        for item in items:
            whole = isinstance(left, tree.Unzip) or item.pack is not None
            self._assign(item, replace(kind, packed=whole))

    def _target(self, left: tree.Target, kind: Kind) -> None:
        if left.pack is not None and left.pack.length is not None:
            self.expressions.value(left.pack.length, "int", section="2.10")
        if left.name is None:
            return
        output = self.outputs.get(left.name)
        if output is not None and kind.type:
            expected = output.type.name
            if not same(kind.type, expected) and not self._generic(kind.type, expected):
                message = f"the output `{left.name}` is {expected}, but {kind} is assigned"
                self.tell(left, message, "2.10")
            elif kind.packed != (output.type.pack is not None):
                what = "a pack" if kind.packed else "one tensor"
                self.tell(left, f"the output `{left.name}` is not {what}", "2.10")
        self.expressions.names[left.name] = replace(kind, tensor=True)

    def _generic(self, *types: str) -> bool:
        return any(type in self.expressions.generics.bases for type in types)

    def _part(self, part: tree.Part, expected: int) -> list[Kind] | None:
        """The types of what a part gives; None where that is not known."""
        match part:
            case tree.Given(value=value):
                return [self.expressions.kind(value)]
            case tree.Invocation():
                return self.invocations.results(part)
            case tree.ComposeBlock():
                return self._block(part)
            case tree.Branch():
                return self._branch(part, expected)
            case tree.Loop():
                return self._loop(part)

    def _block(self, block: tree.ComposeBlock) -> list[Kind]:
        names = self.expressions.names
        self.expressions.names = dict(names)
        self._components(block.components, set(), updating=False, inner=True)
        results = [self.expressions.kind(one) for one in block.results]
        for one, kind in zip(block.results, results, strict=True):
            if kind.optional:
                self.tell(one, "what a block gives may be null", "2.10.1", "say what stands for it: `… ?? y`")
        self.expressions.names = names
        return results

    def _branch(self, branch: tree.Branch, expected: int) -> list[Kind] | None:
        """All branches give as many results."""
        results: list[list[Kind] | None] = []
        names = self.expressions.names
        for condition, then in branch.cases:
            self._condition(condition)
            expression = condition.value if isinstance(condition, tree.Given) else None
            if expression is None:
                results.append(self._part(then, expected))
                continue
            with self.expressions.promoted(expression):
                results.append(self._part(then, expected))
            with self.expressions.promoted(expression, holds=False):
                kept = self.expressions.names
            self.expressions.names = kept
        results.append(self._part(branch.otherwise, expected))
        self.expressions.names = names
        counts = sorted({len(one) for one in results if one is not None})
        if len(counts) > 1:
            message = f"the branches give {' and '.join(map(str, counts))} results"
            self.tell(branch, message, "2.10.1")
            return None
        known = [one for one in results if one is not None]
        return _joined(known) if len(known) == len(results) else None

    def _condition(self, part: tree.Part) -> None:
        results = self._part(part, 1)
        if results is None:
            return
        if len(results) != 1 or not same(results[0].type, BOOL.type) or results[0].packed:
            given = ", ".join(map(str, results))
            self.tell(part, f"a condition is one bool, not {given}", "2.10.1")

    def _loop(self, loop: tree.Loop) -> list[Kind] | None:
        initial = [self._carried(one) for one in loop.carried]
        items = [self._scan(one) for one in loop.scans]
        if loop.count is not None and loop.count.limit is not None:
            self.expressions.typed(loop.count.limit, "int", section="2.10.1")
        names = self.expressions.names
        self.expressions.names = dict(names)
        local = [one.name for one in loop.carried] + [one.name for one in loop.scans]
        for name, kind in zip(local, [*initial, *items], strict=True):
            self.expressions.names[name] = kind
        if loop.count is not None and loop.count.index is not None:
            self.expressions.names[loop.count.index] = INT if loop.unrolled else replace(INT, tensor=True)
        if loop.condition is not None:
            self._condition(loop.condition)
        results = self._part(loop.body, 0)
        self.expressions.names = names
        if results is None:
            return None
        if len(results) < len(loop.carried):
            message = f"the loop carries {len(loop.carried)} tensors, but its body gives {len(results)}"
            self.tell(loop, message, "2.10.1")
            return None
        return [
            replace(kind, packed=place >= len(loop.carried), tensor=True)
            for place, kind in enumerate(results)
        ]

    def _carried(self, one: tree.Carried) -> Kind:
        kind = self.expressions.kind(one.initial)
        if one.type is not None and not same(kind.type, one.type.name):
            message = f"`{one.name}` is {one.type.name}, but begins as {kind}"
            self.tell(one.initial, message, "2.10.1")
        if kind.optional:
            self.tell(one.initial, "a loop carries tensors, not null", "2.10.1", "write `x ?? y`")
        return replace(kind, tensor=True, optional=False)

    def _scan(self, one: tree.Scan) -> Kind:
        kind = self.expressions.kind(one.pack)
        if kind.type and not kind.packed:
            message = f"a loop walks a pack, not {kind}"
            return self.tell(one.pack, message, "2.10.1", "write it in brackets: [x]")
        return kind.item


def _joined(results: Sequence[Sequence[Kind]]) -> list[Kind]:
    """What is known of results that come from any of some branches."""
    found = []
    for kinds in zip(*results, strict=True):
        first = next((kind for kind in kinds if kind.type), kinds[0])
        alike = all(same(kind.type, first.type) and kind.packed == first.packed for kind in kinds)
        optional = any(kind.optional for kind in kinds)
        found.append(replace(first, type=first.type if alike else UNKNOWN, optional=optional))
    return found
