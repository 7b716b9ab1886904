"""Attributes, shapes, constants, helper symbols, assertions (NNEF 2.0 sections 2.5 to 2.9 and 2.13)."""

from __future__ import annotations

from tosajit.frontends.nnef.compose.checker.expressions import Expressions
from tosajit.frontends.nnef.compose.checker.kinds import INT, Generics, Kind, same
from tosajit.frontends.nnef.compose.plan import Component, Declared, Plan, Term
from tosajit.frontends.nnef.compose.suggest import suggestion
from tosajit.frontends.nnef.compose.types import BASES
from tosajit.frontends.nnef.syntax import tree
from tosajit.frontends.nnef.syntax.source import Faults


class Declarations:
    """Checks what stands around a body, and knows the names after it."""

    def __init__(self, operator: tree.Operator, plan: Plan, faults: Faults) -> None:
        self.operator, self.plan = operator, plan
        self.generics = Generics({one.name: one.base for one in operator.dtypes})
        self.expressions = Expressions(faults, self.generics, {})
        self.tell = self.expressions.tell

    def check(self) -> None:
        """Check all blocks but those that compute."""
        self._dtypes()
        for attribute in self.operator.attributes:
            self._attribute(attribute)
        for tensor in self.operator.inputs:
            self._tensor(tensor)
        self._bound()
        for attribute in self.operator.attributes:
            self._default(attribute)
        self._using()
        self._assertions()
        for declared in (*self.plan.outputs, *self.plan.constants, *self.plan.variables):
            self._tensor(declared.parameter)
            self._declared(declared)
        self._values()

    def _bound(self) -> None:
        """The names that shapes and lengths declare, in the order in which they are bound."""
        for one in (*self.plan.inputs, *self.plan.unbound):
            self._input(one)
        for one in self.plan.attributes:
            if one.length is not None:
                self._term(one.length, Kind("int", False, one.parameter.type.optional))
        for one in self.plan.unbound:
            message = f"no order of inputs binds the shape of `{one.name}`"
            remedy = "let attributes say the lengths of all its packs but one"
            self.tell(one.parameter, message, "2.6.2", remedy)

    def _assertions(self) -> None:
        for one in self.operator.assertions:
            self.expressions.value(one.condition, "bool", section="2.8")
            self.expressions.kind(one.message)
            for detail in one.details:
                self.expressions.kind(detail.expression)

    def declare(self, name: str, kind: Kind, where: tree.Tree) -> None:
        """A name is known from here on."""
        if name in self.expressions.names:
            self.tell(where, f"`{name}` is declared twice", "2.5", "take another name")
            return
        self.expressions.names[name] = kind

    def _dtypes(self) -> None:
        names = [one.name for one in self.operator.dtypes]
        for place, one in enumerate(self.operator.dtypes):
            if one.name in names[:place]:
                self.tell(one, f"the type `{one.name}` is declared twice", "2.13")
            if one.default is not None and one.default not in BASES[one.base]:
                message = f"`{one.name}` may be {' or '.join(BASES[one.base])}, not {one.default}"
                self.tell(one, message, "2.13")

    def _type(self, type: tree.Type) -> None:
        if not self.generics.known(type.name):
            names = ["int", "real", "bool", "str", *self.generics.bases]
            self.tell(type, f"there is no type `{type.name}`", "2.3", suggestion(type.name, names))

    def _attribute(self, one: tree.Parameter) -> None:
        type = one.type
        self._type(type)
        if type.shape is not None:
            self.tell(one, f"the attribute `{one.name}` is a tensor", "2.5", "make it an input")
        if type.optional and one.value is not None:
            remedy = "it is null where it is left out"
            self.tell(one, f"the optional attribute `{one.name}` has a default value", "2.5", remedy)
        self.declare(one.name, Kind(type.name, type.pack is not None, type.optional), one)

    def _default(self, one: tree.Parameter) -> None:
        """A default value is of the type of its attribute."""
        if one.value is None or one.type.optional:
            return
        kind, type = self.expressions.value(one.value), one.type.name
        generic = type in self.generics.bases
        if one.name in self.plan.defaults[one.name]:
            self.tell(one.value, f"the default value of `{one.name}` depends on itself", "2.5")
        elif not same(kind.type, type) and not (generic and self._free(one)):
            remedy = f"write {type}({_text(one.value)})" if generic else ""
            self.tell(one.value, f"`{one.name}` is {type}, but its default value {kind}", "2.5", remedy)
        elif kind.packed and one.type.pack is None:
            self.tell(one.value, f"`{one.name}` is no pack, but its default value is", "2.5")

    def _free(self, one: tree.Parameter) -> bool:
        """Whether the default value of an attribute may decide its generic type."""
        others = (*self.operator.inputs, *(each for each in self.operator.attributes if each is not one))
        return all(each.type.name != one.type.name for each in others)

    def _tensor(self, one: tree.Parameter) -> None:
        self._type(one.type)
        self.declare(one.name, Kind(one.type.name, one.type.pack is not None, one.type.optional, True), one)

    def _input(self, one: Declared) -> None:
        """The names that the shape of an input declares."""
        optional = one.parameter.type.optional
        if one.parameter.type.rank is not None:
            rank = one.parameter.type.rank
            if rank.name not in self.expressions.names:
                self.declare(rank.name, Kind("int", False, optional), rank)
        if one.length is not None:
            self._term(one.length, Kind("int", False, optional))
        if one.components is None and not self.operator.graph:
            self.tell(one.parameter, f"the shape of the input `{one.name}` is not said", "2.6", "write `[…]`")
        for component in one.components or ():
            self._component(one, component, optional)
        if one.parameter.value is not None:
            kind = self.expressions.value(one.parameter.value)
            type = one.parameter.type.name
            if not same(kind.type, type) and type not in self.generics.bases:
                message = f"`{one.name}` is {type}, but its default value {kind}"
                self.tell(one.parameter.value, message, "2.6")

    def _component(self, one: Declared, component: Component, optional: bool) -> None:
        extent = component.extent
        if extent.distinct and not one.packed:
            message = f"`{one.name}` is no pack, so no extents of it are distinct"
            self.tell(extent, message, "2.6", "leave `..` out")
        there = component.length is not None and self._conditional(component.length)
        if component.length is not None:
            self._term(component.length, Kind("int", False, optional), "bool")
        if component.bound is not None:
            self.expressions.value(component.bound.expression, "int", section="2.6.1")
        if component.term is not None:
            packed = (component.packed and not there) or extent.distinct
            self._term(component.term, Kind("int", packed, optional or there))
        elif not self.operator.graph:
            self.tell(extent, "an extent of an operator's input has a name", "2.6", "only graphs take `~`")

    def _conditional(self, length: Term) -> bool:
        """Whether a truth says if a component is there."""
        names = self.expressions.names
        if not length.names <= set(names):
            return False
        before, self.expressions.faults = self.expressions.faults, Faults(self.expressions.faults.source)
        kind = self.expressions.kind(length.expression)
        self.expressions.faults = before
        return kind.type == "bool"

    def _term(self, term: Term, kind: Kind, *also: str) -> None:
        """An expression of known names, or one that declares its only name."""
        if term.affine is not None and term.affine.name not in self.expressions.names:
            self.expressions.names[term.affine.name] = kind
            return
        self.expressions.value(term.expression, "int", *also, section="2.6")

    def _declared(self, one: Declared) -> None:
        """A shape whose names must be known; what data decide may have a name of its own."""
        if one.length is not None:
            self.expressions.value(one.length.expression, "int", "bool", section="2.6")
        elif one.packed and not self.operator.graph:
            self.tell(
                one.parameter, f"the length of the pack `{one.name}` is not said", "2.6", "write `..(n)`"
            )
        for component in one.components or ():
            if component.length is not None:
                self.expressions.value(component.length.expression, "int", "bool", section="2.6")
            if component.bound is not None:
                self.expressions.value(component.bound.expression, "int", section="2.6.1")
            term = component.term
            if term is None:
                if component.bound is None and not self.operator.graph:
                    message = f"an extent of `{one.name}` has no bound"
                    self.tell(component.extent, message, "2.6.1", "write `~|n`")
            elif component.bound is not None and isinstance(term.expression, tree.Name):
                self.expressions.names.setdefault(term.expression.name, INT)
            else:
                self.expressions.value(term.expression, "int", section="2.6")

    def _using(self) -> None:
        for one in self.operator.using:
            kind = self.expressions.value(one.value)
            if kind.type and not kind.packed and isinstance(one.left, tree.TargetList | tree.Unzip):
                self.tell(one.value, f"a list takes a pack, not {kind}", "2.9")
            self._left(one.left, kind)

    def _left(self, left: tree.Left, kind: Kind) -> None:
        match left:
            case tree.Target(name=None):
                return
            case tree.Target(name=str() as name):
                if left.pack is not None:
                    if kind.type and not kind.packed:
                        self.tell(left, f"`{name}` is said to be a pack, but is {kind}", "2.9")
                    self._hint(left.pack)
                self.declare(name, kind, left)
            case tree.Unzip(targets=targets, pack=pack):
                self._hint(pack)
                for target in targets:
                    self._left(target, kind)
            case tree.TargetList(items=items):
                for item in items:
                    whole = item.pack is not None
                    self._left(item, Kind(kind.type, whole, kind.optional))

    def _hint(self, pack: tree.Pack | None) -> None:
        if pack is not None and pack.length is not None:
            self.expressions.value(pack.length, "int", section="2.9")

    def _values(self) -> None:
        """Constants have values, variables have none."""
        for one in self.operator.constants:
            if one.value is None:
                self.tell(one, f"the constant `{one.name}` has no value", "2.7")
                continue
            names = dict(self.expressions.names)
            for bound in one.bounds:
                limit = self.expressions.value(bound.limit, "int", section="2.7")
                self.expressions.names[bound.name] = Kind("int", limit.packed)
            kind = self.expressions.value(one.value)
            self.expressions.names = names
            if not same(kind.type, one.type.name) and (kind.type, one.type.name) != ("int", "real"):
                self.tell(one.value, f"`{one.name}` is {one.type.name}, but its value {kind}", "2.7")
        for one in self.operator.variables:
            if one.value is not None:
                remedy = "its values stand beside the text; or make it a @constant"
                self.tell(one, f"the variable `{one.name}` has a value", "2.7", remedy)


def _text(expression: tree.Expression) -> str:
    return str(expression.value) if isinstance(expression, tree.Literal) else "…"
