"""From a graph to a model: its inputs are made from what is said of their shapes (NNEF 2.0 chapter 3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tosajit.arrays import Array
from tosajit.errors import ScriptError
from tosajit.frontends.nnef.compose import attributes as declared_attributes
from tosajit.frontends.nnef.compose.binding import Binder
from tosajit.frontends.nnef.compose.checker import check
from tosajit.frontends.nnef.compose.composer import Composer
from tosajit.frontends.nnef.compose.defaults import defaults
from tosajit.frontends.nnef.compose.forms import Form, Forms, fault
from tosajit.frontends.nnef.compose.modules import Library
from tosajit.frontends.nnef.compose.plan import Component, Declared, Plan
from tosajit.frontends.nnef.compose.shapes import pack_length
from tosajit.frontends.nnef.compose.suggest import suggestion
from tosajit.frontends.nnef.compose.tensors import MOST_TENSORS, Weights
from tosajit.frontends.nnef.compose.types import CONCRETE, Types
from tosajit.frontends.nnef.model import Argument, Definition, Model, Operation
from tosajit.frontends.nnef.syntax import tree
from tosajit.frontends.nnef.values.evaluate import evaluate
from tosajit.frontends.nnef.values.value import Value, ValueFault

Shape = tuple[int, ...]


def no_weights(name: str, shape: Shape, type: str) -> Array | None:
    """No variable has a value."""
    return None


def compose(
    library: Library,
    graph: str | None = None,
    *,
    attributes: Mapping[str, Value] | None = None,
    types: Mapping[str, str] | None = None,
    shapes: Mapping[str, Shape | Sequence[Shape]] | None = None,
    weights: Weights = no_weights,
) -> Model:
    """The model of a graph; the first one of the main module, if none is named.

    `attributes` and `types` take the place of the graph's own, `shapes` says what inputs leave open (where
    nothing is said, they are as large as their bounds). `weights` gives variables their values.
    """
    definition = None
    try:
        check(library)
        definition = library.graph(graph)
        return _composed(library, definition, attributes or {}, types or {}, shapes or {}, weights)
    except ValueFault as found:
        source = definition.source if definition else library.main.source
        raise ScriptError([source.fault(found.span, found.message, found.section, found.remedy)]) from None


def _composed(
    library: Library, definition: Definition, attributes: Mapping[str, Value], types: Mapping[str, str],
    shapes: Mapping[str, Shape | Sequence[Shape]], weights: Weights,
) -> Model:  # fmt: skip
    operator = definition.operator
    composer = Composer(library, weights)
    plan = library.plan(definition)
    given = {name: _suited(operator, name, value) for name, value in attributes.items()}
    explicit = _explicit(operator, types)
    forms = _Inputs(definition, plan, explicit, given, shapes).forms()
    inputs = {name: _made(composer, name, form) for name, form in forms.items()}
    call = composer.call(definition, explicit, given, inputs)
    root = composer.operation(call, "", inputs, None)
    composer.settle()
    return Model(operator.name, root, tuple(composer.quantized))


def _made(composer: Composer, name: str, forms: Forms) -> Argument:
    if isinstance(forms, tuple):
        return tuple(composer.tensor(f"{name}.{i}", form, "input") for i, form in enumerate(forms))
    return None if forms is None else composer.tensor(name, forms, "input")


def _suited(operator: tree.Operator, name: str, value: Value) -> Value:
    """A value from outside: whole numbers may stand for real ones."""
    types = {one.name: one.type.name for one in operator.attributes}
    if types.get(name) != "real":
        return value
    if isinstance(value, tuple):
        return tuple(float(one) if type(one) is int else one for one in value)
    return float(value) if type(value) is int else value


def _explicit(operator: tree.Operator, types: Mapping[str, str]) -> list[str]:
    """Types from outside, in the order of their declaration; defaults between them."""
    names = [one.name for one in operator.dtypes]
    for name, type in types.items():
        if name not in names:
            message = f"`{operator.name}` has no generic type `{name}`"
            raise fault(operator.span, message, "2.13", suggestion(name, names, "it has"))
        if type not in CONCRETE:
            raise fault(operator.span, f"`{name}` is one of {', '.join(CONCRETE)}, not {type}", "2.13")
    found: list[str] = []
    for one in operator.dtypes:
        chosen = types.get(one.name) or one.default
        if chosen is None:
            message = f"nothing tells the type `{one.name}` of `{operator.name}`"
            raise fault(one.span, message, "2.13", f'give it: types={{"{one.name}": "real"}}')
        found.append(chosen)
    return found


class _Inputs:
    """Finds the shapes of the inputs of a graph."""

    def __init__(
        self, definition: Definition, plan: Plan, types: Sequence[str], given: Mapping[str, Value],
        shapes: Mapping[str, Shape | Sequence[Shape]],
    ) -> None:  # fmt: skip
        operator = definition.operator
        self._operator, self._shapes = operator, shapes
        self._plan = plan
        names = [one.name for one in operator.inputs]
        for name in shapes:
            if name not in names:
                message = f"`{operator.name}` has no input `{name}`"
                raise fault(operator.span, message, "2.6.1", suggestion(name, names, "it has"))
        declared_attributes.check_names(operator, given)
        self._types = Types(operator, types)
        self._types.deduce(given, {})
        self._binder = Binder(
            declared_attributes.constant_values(plan, self._types, given), self._types.found
        )

    def forms(self) -> dict[str, Forms]:
        """The form of each input; those whose shapes are given tell the names in others."""
        found: dict[str, Forms] = {}
        order = sorted(self._plan.inputs + self._plan.unbound, key=lambda one: one.name not in self._shapes)
        for one in order:
            found[one.name] = self._form(one)
            self._binder.bind(one, found[one.name])
        return {one.name: found[one.name] for one in self._operator.inputs}

    def _form(self, one: Declared) -> Forms:
        type = self._types.concrete(one.parameter.type.name)
        given = self._shapes.get(one.name)
        if given is None:
            if one.parameter.type.optional:
                return None
            length = pack_length(one, self._binder) if one.packed else None
            if length is not None and length > MOST_TENSORS:
                message = f"the input `{one.name}` has {length} tensors, but a model at most {MOST_TENSORS}"
                raise fault(one.parameter.span, message, "2.10")
            shape = self._declared(one)
            return Form(type, shape) if length is None else (Form(type, shape),) * length
        shapes = [one for one in given if not isinstance(one, int)]
        if one.packed:
            return tuple(Form(type, self._within(one, tuple(shape))) for shape in shapes)
        return Form(type, self._within(one, tuple(extent for extent in given if isinstance(extent, int))))

    def _within(self, one: Declared, shape: Shape) -> Shape:
        """A shape that is given, which must be no larger than its bounds."""
        for component, extent in zip(self._single(one), shape, strict=False):
            if component.bound is not None:
                bound = evaluate(component.bound.expression, self._binder.scope)
                if isinstance(bound, int) and extent > bound:
                    message = f"the input `{one.name}` has an extent of {extent}, but at most {bound}"
                    raise fault(component.extent.span, message, "2.6.1")
        return shape

    def _single(self, one: Declared) -> list[Component]:
        """Components up to the first that has an unknown number of dimensions."""
        found = []
        for component in one.components or ():
            if component.packed:
                break
            found.append(component)
        return found

    def _declared(self, one: Declared) -> Shape:
        """The shape that the text gives an input: what it leaves open is as large as its bound."""
        shape: list[int] = []
        for component in self._checked(one):
            value = self._value(one, component)
            count: Value = 1
            if component.length is not None:
                count = evaluate(component.length.expression, self._binder.scope)
            if isinstance(value, tuple):
                shape += [extent for extent in value if isinstance(extent, int)]
            elif isinstance(value, int) and isinstance(count, int):
                shape += [value] * min(int(count), 64)
        return tuple(shape)

    def _checked(self, one: Declared) -> tuple[Component, ...]:
        if one.components is None:
            raise fault(
                one.parameter.span, f"the shape of the input `{one.name}` is open", "2.6.1", _give(one)
            )
        return one.components

    def _value(self, one: Declared, component: Component) -> Value:
        term = component.term
        if term is not None and self._binder.knows(term):
            return evaluate(term.expression, self._binder.scope)
        if component.bound is None:
            message = f"an extent of the input `{one.name}` is open, and has no bound"
            raise fault(component.extent.span, message, "2.6.1", _give(one))
        return evaluate(component.bound.expression, self._binder.scope)


def _give(one: Declared) -> str:
    return f'give its shape: shapes={{"{one.name}": (…)}}'


def invoke(
    definition: Definition,
    library: Library,
    *,
    types: Sequence[str] = (),
    attributes: Mapping[str, Value] | None = None,
    inputs: Mapping[str, Argument],
    weights: Weights = no_weights,
) -> Operation:
    """One operator on tensors that are given."""
    composer = Composer(library, weights)
    source = definition.source
    try:
        given = _complete(definition, inputs)
        given |= defaults(composer, definition, types, attributes or {}, given, definition.operator)
        call = composer.call(definition, types, attributes or {}, given)
        made = composer.operation(call, "", given, lambda name, forms: _output(composer, name, forms))
        composer.settle()
        return made
    except ValueFault as found:
        raise ScriptError([source.fault(found.span, found.message, found.section, found.remedy)]) from None


def _complete(definition: Definition, inputs: Mapping[str, Argument]) -> dict[str, Argument]:
    """What is given, with null for what is not."""
    operator = definition.operator
    names = [one.name for one in operator.inputs]
    for name in inputs:
        if name not in names:
            message = f"`{operator.name}` has no input `{name}`"
            raise fault(operator.span, message, "2.10", suggestion(name, names, "it has"))
    return {name: inputs.get(name) for name in names}


def _output(composer: Composer, name: str, forms: Forms) -> Argument:
    if isinstance(forms, tuple):
        return tuple(composer.tensor(f"{name}.{i}", form, "output") for i, form in enumerate(forms))
    return None if forms is None else composer.tensor(name, forms, "output")
