"""What is known of a definition before it is called: the order in which inputs are bound (section 2.6.2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from tosajit.frontends.nnef.compose.mentions import Affine, affine, mentioned, substituted
from tosajit.frontends.nnef.syntax import tree


@dataclass(frozen=True, slots=True)
class Term:
    """An expression that is bound or checked."""

    expression: tree.Expression
    names: frozenset[str]
    affine: Affine | None

    @staticmethod
    def of(expression: tree.Expression | None) -> Term | None:
        """What is known of an expression."""
        if expression is None:
            return None
        return Term(expression, mentioned(expression), affine(expression))


@dataclass(frozen=True, slots=True)
class Component:
    """A component of a shape."""

    extent: tree.Extent
    term: Term | None
    """None for `~`."""
    packed: bool
    length: Term | None
    bound: Term | None


@dataclass(frozen=True, slots=True)
class Declared:
    """An input, output, constant or variable, or a packed attribute."""

    parameter: tree.Parameter
    components: tuple[Component, ...] | None
    """None where no shape is given."""
    length: Term | None
    """Of a pack."""

    @property
    def name(self) -> str:
        """The name of the parameter."""
        return self.parameter.name

    @property
    def packed(self) -> bool:
        """Whether it is a pack."""
        return self.parameter.type.pack is not None


@dataclass(frozen=True, slots=True)
class Plan:
    """How an operator is called."""

    attributes: tuple[Declared, ...]
    defaults: dict[str, frozenset[str]]
    """The names in the default values of attributes; none in those that are constant."""
    inputs: tuple[Declared, ...]
    """In the order in which they are bound."""
    unbound: tuple[Declared, ...]
    """Inputs that cannot be bound: such a definition is invalid."""
    outputs: tuple[Declared, ...]
    constants: tuple[Declared, ...]
    variables: tuple[Declared, ...]
    using: tuple[frozenset[str], ...]
    assertions: tuple[frozenset[str], ...]


Helpers: TypeAlias = Mapping[str, tree.Expression]
"""Helper symbols that attributes alone decide, each with its expression."""


def declared(parameter: tree.Parameter, helpers: Helpers | None = None) -> Declared:
    """What is known of a parameter, in whose shape some helper symbols may stand for their expressions."""

    def term(expression: tree.Expression | None) -> Term | None:
        return Term.of(substituted(expression, helpers) if expression and helpers else expression)

    def component(extent: tree.Extent) -> Component:
        length = extent.pack.length if extent.pack else None
        packed = extent.pack is not None
        return Component(extent, term(extent.expression), packed, term(length), term(extent.bound))

    shape, pack = parameter.type.shape, parameter.type.pack
    components = None if shape is None else tuple(map(component, shape.extents))
    return Declared(parameter, components, term(pack.length) if pack else None)


def _helpers(operator: tree.Operator) -> dict[str, tree.Expression]:
    """Helper symbols that are known before inputs are bound.

    Section 2.9 does not let the shapes of inputs see them, but section 4.1.5 has operators where these do.
    """
    known = {one.name for one in operator.attributes if one.value is None or not mentioned(one.value)}
    found: dict[str, tree.Expression] = {}
    for one in operator.using:
        names = mentioned(one.value)
        if isinstance(one.left, tree.Target) and one.left.name and names and names <= known | set(found):
            found[one.left.name] = substituted(one.value, found)
    return found


def planned(operator: tree.Operator) -> Plan:
    """The plan of an operator."""
    inputs, unbound = binding_order(operator)
    return Plan(
        attributes=tuple(map(declared, operator.attributes)),
        defaults={one.name: mentioned(one.value) for one in operator.attributes if one.value is not None},
        inputs=inputs,
        unbound=unbound,
        outputs=tuple(map(declared, operator.outputs)),
        constants=tuple(map(declared, operator.constants)),
        variables=tuple(map(declared, operator.variables)),
        using=tuple(mentioned(one.value) for one in operator.using),
        assertions=tuple(mentioned(one.condition) for one in operator.assertions),
    )


def binding_order(operator: tree.Operator) -> tuple[tuple[Declared, ...], tuple[Declared, ...]]:
    """The inputs in the order in which their shapes are bound, and those that no order can bind."""
    names = _Names(operator)
    helpers = _helpers(operator)
    left = [declared(one, helpers) for one in operator.inputs]
    order: list[Declared] = []
    for optional in (False, True):
        found = True
        while found:
            found = False
            for one in [one for one in left if one.parameter.type.optional == optional]:
                if names.bind(one):
                    order.append(one)
                    left.remove(one)
                    found = True
    return tuple(order), tuple(left)


class _Names:
    """The names that have values once some inputs are bound."""

    def __init__(self, operator: tree.Operator) -> None:
        attributes = operator.attributes
        self._deferred = {one.name for one in attributes if one.value is not None and mentioned(one.value)}
        self._loose = {one.name for one in attributes if one.type.pack is not None or one.type.optional}
        """Attributes that have values, but may be null or have no length."""
        self._loose -= self._deferred
        self._known = {one.name for one in attributes} - self._deferred - self._loose
        self._packs: set[str] = set()

    def bind(self, one: Declared) -> bool:
        """Whether the shape of an input can be bound; if so, its names are known."""
        before, packs = set(self._known), set(self._packs)
        self._known |= {f"{one.name}.{member}" for member in ("shape", "rank", "size")}
        if one.parameter.type.rank is not None:
            self._known.add(one.parameter.type.rank.name)
        if self._bound(one):
            return True
        self._known, self._packs = before, packs
        return False

    def _bound(self, one: Declared) -> bool:
        if one.length is not None and not self._taken(one.length):
            return False
        components = one.components or ()
        flexible = [self._flexible(component) for component in components]
        if None in flexible or sum(map(bool, flexible)) > 1:
            return False
        return all(self._component(component) for component in components)

    def _component(self, component: Component) -> bool:
        if component.length is not None and not self._taken(component.length):
            return False
        return component.term is None or self._taken(
            component.term, packed=component.packed or component.extent.distinct
        )

    def _flexible(self, component: Component) -> bool | None:
        """Whether a component has the length that its input leaves to it; None where it cannot be known."""
        if not component.packed:
            return False
        if component.length is None:
            term = component.term
            return term is None or not (term.names <= self._known and term.names & self._packs)
        if component.length.names <= self._known:
            return False
        return True if component.length.affine else None

    def _taken(self, term: Term, *, packed: bool = False) -> bool:
        """Whether a term can be checked, or gives a value to a name."""
        if term.names & self._deferred:
            return False
        if term.names <= self._known | self._loose:
            return True
        if term.affine is None:
            return False
        self._known.add(term.affine.name)
        if packed:
            self._packs.add(term.affine.name)
        return True
