"""Invocations, against the declarations of what they call (NNEF 2.0 section 2.10)."""

from __future__ import annotations

from tosajit.frontends.nnef.compose.checker.expressions import Expressions
from tosajit.frontends.nnef.compose.checker.kinds import UNKNOWN, Kind, same
from tosajit.frontends.nnef.compose.modules import Library
from tosajit.frontends.nnef.compose.suggest import suggestion
from tosajit.frontends.nnef.compose.types import BASES
from tosajit.frontends.nnef.model import Definition
from tosajit.frontends.nnef.syntax import tree
from tosajit.frontends.nnef.values.value import ValueFault

_REMEDY = "write 1.0, or cast it: real(x)"


class Invocations:
    """Checks what an operator calls."""

    def __init__(self, definition: Definition, library: Library, expressions: Expressions) -> None:
        self.definition, self.library, self.expressions = definition, library, expressions
        self.tell = expressions.tell

    def results(self, one: tree.Invocation) -> list[Kind] | None:
        """The types of the outputs; None where it is not known what is called."""
        attributes = [(given, self.expressions.value(given.value)) for given in one.attributes]
        arguments = [None if given is None else self.expressions.kind(given) for given in one.arguments]
        try:
            called = self.library.operator(self.definition, one.operator, one).operator
        except ValueFault as fault:
            self.tell(one, fault.message, fault.section, fault.remedy)
            return None
        types = self._types(one, called)
        self._attributes(one, called, attributes, types)
        self._arguments(one, called, arguments, types)
        return [
            Kind(types.get(output.type.name, self._concrete(output.type.name)), output.type.pack is not None,
                 output.type.optional, True)
            for output in called.outputs
        ]  # fmt: skip

    def _concrete(self, type: str) -> str:
        return type if type in BASES["type"] else UNKNOWN

    def _types(self, one: tree.Invocation, called: tree.Operator) -> dict[str, str]:
        """Generic types that are given in `<>`."""
        if len(one.types) > len(called.dtypes):
            message = f"`{one.operator}` has {len(called.dtypes)} generic types, not {len(one.types)}"
            self.tell(one, message, "2.13")
        for type in one.types:
            if not self.expressions.generics.known(type):
                self.tell(one, f"there is no type `{type}`", "2.13")
        return dict(zip([dtype.name for dtype in called.dtypes], one.types, strict=False))

    def _attributes(
        self, one: tree.Invocation, called: tree.Operator,
        given: list[tuple[tree.Attribute, Kind]], types: dict[str, str],
    ) -> None:  # fmt: skip
        declared = {each.name: each for each in called.attributes}
        seen: set[str] = set()
        for attribute, kind in given:
            name = attribute.name
            parameter = declared.get(name)
            if parameter is None:
                message = f"`{one.operator}` has no attribute `{name}`"
                self.tell(attribute, message, "2.10", suggestion(name, declared, "it has"))
                continue
            if name in seen:
                self.tell(attribute, f"the attribute `{name}` is given twice", "2.10")
            seen.add(name)
            if kind.packed and parameter.type.pack is None:
                self.tell(attribute, f"`{name}` is no pack, but is given one", "2.5")
            self._agree(attribute, parameter, kind, types, called)
        for name, parameter in declared.items():
            if name not in seen and parameter.value is None and not parameter.type.optional:
                message = f"the attribute `{name}` of `{one.operator}` is not given"
                self.tell(one, message, "2.5", f"write {{{name}=…}}")

    def _arguments(
        self, one: tree.Invocation, called: tree.Operator, given: list[Kind | None], types: dict[str, str]
    ) -> None:
        if len(given) > len(called.inputs):
            message = f"`{one.operator}` takes {len(called.inputs)} inputs, not {len(given)}"
            self.tell(one, message, "2.10")
        for place, parameter in enumerate(called.inputs):
            kind = given[place] if place < len(given) else None
            where = (one.arguments[place] if place < len(one.arguments) else None) or one
            if kind is None:
                if not parameter.type.optional and parameter.value is None:
                    message = f"the input `{parameter.name}` of `{one.operator}` is not given"
                    self.tell(where, message, "2.10")
                continue
            packed = parameter.type.pack is not None
            if kind.type and kind.packed != packed:
                takes = "a pack" if packed else "one tensor"
                self.tell(
                    where, f"the input `{parameter.name}` of `{one.operator}` is {takes}, not {kind}", "2.10"
                )
            elif kind.optional and not parameter.type.optional and parameter.value is None:
                message = f"the input `{parameter.name}` of `{one.operator}` may be null here"
                self.tell(where, message, "2.10", "ask for it: `if ?x then …`, or `x ?? y`")
            self._agree(where, parameter, kind, types, called)

    def _agree(
        self, where: tree.Tree, parameter: tree.Parameter, kind: Kind, types: dict[str, str],
        called: tree.Operator,
    ) -> None:  # fmt: skip
        """A type is what is declared; a generic one is bound by the first that is given."""
        name = parameter.type.name
        bases = {dtype.name: dtype.base for dtype in called.dtypes}
        generic = kind.type in self.expressions.generics.bases
        if not kind.type:
            return
        if name in bases and name not in types:
            types[name] = kind.type
            if not generic and kind.type not in BASES[bases[name]]:
                message = (
                    f"`{name}` of `{called.name}` may be {' or '.join(BASES[bases[name]])}, not {kind.type}"
                )
                self.tell(where, message, "2.13")
            return
        expected = types.get(name, name)
        if not same(expected, kind.type) and not (generic and expected in self.expressions.generics.bases):
            mixed = {expected, kind.type} == {"int", "real"}
            message = f"`{parameter.name}` of `{called.name}` is {expected}, not {kind.type}"
            self.tell(where, message, "2.13" if name in bases else "2.3", _REMEDY if mixed else "")
