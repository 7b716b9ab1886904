"""From the shapes of arguments to the values of extents, ranks and pack lengths (NNEF 2.0 section 2.6.2)."""

from __future__ import annotations

from collections.abc import Mapping

from tosajit.frontends.nnef.compose.forms import Form, Forms, bound_of, fault
from tosajit.frontends.nnef.compose.mentions import known
from tosajit.frontends.nnef.compose.opened import Openness
from tosajit.frontends.nnef.compose.plan import Component, Declared, Term
from tosajit.frontends.nnef.model import Extent, Open
from tosajit.frontends.nnef.syntax import tree
from tosajit.frontends.nnef.values.evaluate import Scope, Work, evaluate
from tosajit.frontends.nnef.values.value import Value, text_of

_SECTION = "2.6.2"


class Binder:
    """Gives names their values, one input after another."""

    def __init__(self, symbols: dict[str, Value], types: Mapping[str, str], work: Work | None = None) -> None:
        self.symbols = symbols
        self.shapes: dict[str, tuple[int, ...] | None] = {}
        self.sizes: dict[str, int | None] = {}
        self.opened: dict[str, Openness] = {}
        self._growing: dict[str, list[int]] = {}
        """Extents that differ among the tensors of a pack, as far as these were bound."""
        self.scope = Scope(symbols, types, self.shapes, self.sizes, work or Work())

    def copied(self) -> Binder:
        """Another one that knows the same."""
        other = Binder(dict(self.symbols), self.scope.types, self.scope.work)
        other.shapes.update(self.shapes)
        other.sizes.update(self.sizes)
        other.opened.update(self.opened)
        return other

    def knows(self, term: Term) -> bool:
        """Whether a term has a value already."""
        return known(term.names, self.symbols, self.shapes) or known(term.names, self.symbols, self.sizes)

    def bind(self, one: Declared, forms: Forms) -> None:
        """Bind an input."""
        if forms is None:
            self._null(one)
        elif isinstance(forms, tuple):
            self._pack(one, forms)
        else:
            self.shapes[one.name] = tuple(map(bound_of, forms.shape))
            self._shape(one, forms, None)

    def _null(self, one: Declared) -> None:
        """An optional input that is left out: names that have no value yet are null."""
        (self.sizes if one.packed else self.shapes)[one.name] = None
        terms = [one.length]
        for component in one.components or ():
            terms += [component.term, component.length]
        names = [term.affine.name for term in terms if term is not None and term.affine is not None]
        if one.parameter.type.rank is not None:
            names.append(one.parameter.type.rank.name)
        for name in names:
            self.symbols.setdefault(name, None)

    def _pack(self, one: Declared, forms: tuple[Form, ...]) -> None:
        self.sizes[one.name] = len(forms)
        self.length(one, len(forms))
        ranks = sorted({len(form.shape) for form in forms})
        if len(ranks) > 1:
            message = f"the tensors of `{one.name}` have ranks {' and '.join(map(str, ranks))}"
            raise fault(one.parameter.span, message, "2.3", "all tensors of a pack have one rank")
        terms = [part.term for part in one.components or () if part.extent.distinct and part.term is not None]
        self._growing = {term.affine.name: [] for term in terms if term.affine and not self.knows(term)}
        self.symbols.update(dict.fromkeys(self._growing, ()))
        for place, form in enumerate(forms):
            self._shape(one, form, place)

    def length(self, one: Declared, length: int) -> None:
        """Bind or check the length of a pack."""
        if one.length is not None:
            self._whole(one, one.length, length, f"`{one.name}` has {length} items", "2.6")

    def _whole(self, one: Declared, term: Term, value: int, what: str, section: str = _SECTION) -> None:
        """Bind or check a length."""
        if self.knows(term):
            expected = evaluate(term.expression, self.scope)
            if expected is not None and int(expected if isinstance(expected, int) else -1) != value:
                raise fault(one.parameter.span, f"{what}, not {text_of(expected)}", section)
            return
        if term.affine is None:
            raise fault(one.parameter.span, f"{what}, which gives no value to a name", section)
        found = term.affine.solved(value)
        if found is None or found < 0:
            message = f"{what}, which no `{term.affine.name}` gives"
            raise fault(one.parameter.span, message, section)
        self.symbols[term.affine.name] = found

    def _shape(self, one: Declared, form: Form, place: int | None) -> None:
        """Bind the shape of a tensor, or of one in a pack."""
        rank = len(form.shape)
        if one.parameter.type.rank is not None:
            self._rank(one, one.parameter.type.rank.name, rank)
        if one.components is None:
            return
        start = 0
        for component, width in zip(one.components, self._widths(one, rank), strict=True):
            extents = form.shape[start : start + width]
            start += width
            if component.length is not None and not self.knows(component.length):
                self._whole(one, component.length, width, f"{width} dimensions of `{one.name}` are left")
            if component.term is not None:
                self._component(one, component, component.term, extents, start - width, place)

    def _rank(self, one: Declared, name: str, rank: int) -> None:
        expected = self.symbols.setdefault(name, rank)
        if expected != rank:
            message = f"`{one.name}` has rank {rank}, but `{name}` is {text_of(expected)}"
            raise fault(one.parameter.span, message, "2.6")

    def _widths(self, one: Declared, rank: int) -> list[int]:
        """How many dimensions belong to each component."""
        widths = [self._width(component) for component in one.components or ()]
        fixed = sum(width for width in widths if width is not None)
        if widths.count(None) > 1:
            message = f"the shape of `{one.name}` has more than one part of unknown length"
            raise fault(one.parameter.span, message, _SECTION)
        if None not in widths and fixed != rank:
            raise fault(one.parameter.span, f"`{one.name}` has rank {rank}, not {fixed}", "2.6")
        if fixed > rank:
            raise fault(one.parameter.span, f"`{one.name}` has rank {rank}, but takes {fixed} or more", "2.6")
        return [rank - fixed if width is None else width for width in widths]

    def _width(self, component: Component) -> int | None:
        """The dimensions of a component; None where it takes what is left."""
        if component.length is not None:
            if not self.knows(component.length):
                return None
            count = evaluate(component.length.expression, self.scope)
            if count is not None and (not isinstance(count, int) or count < 0):
                message = f"{text_of(count)} is no number of dimensions"
                raise fault(component.length.expression.span, message, _SECTION)
            return int(count or 0)
        term = component.term
        if term is None or not self.knows(term):
            return None if component.packed else 1
        value = evaluate(term.expression, self.scope)
        if value is None:
            return 0
        if component.packed:
            return len(value) if isinstance(value, tuple) else None
        return 1

    def _component(
        self, one: Declared, component: Component, term: Term, extents: tuple[Extent, ...],
        start: int, place: int | None,
    ) -> None:  # fmt: skip
        """Bind or check the extents of a component."""
        if component.extent.distinct:
            self._distinct(one, term, extents[0], start, place or 0)
        elif self.knows(term) and not (extents and self._absent(term)):
            self._check(one, term, extents, start)
        else:
            actual = tuple(self._solved(one, term, extent, start + i) for i, extent in enumerate(extents))
            opened = tuple(isinstance(extent, Open) for extent in extents)
            single = not component.packed or self._conditional(component)
            name = self._named(term)
            self.symbols[name] = (actual[0] if actual else None) if single else actual
            if any(opened):
                self.opened[name] = True if single else opened

    def _absent(self, term: Term) -> bool:
        """Whether a name is null so far, for the component that had it before is not there."""
        return term.affine is not None and self.symbols.get(term.affine.name, 0) is None

    def _conditional(self, component: Component) -> bool:
        """Whether a truth decides if a component is there."""
        length = component.length
        return length is not None and isinstance(evaluate(length.expression, self.scope), bool)

    def _distinct(self, one: Declared, term: Term, extent: Extent, start: int, place: int) -> None:
        """An extent that each tensor of a pack has for itself."""
        name = term.affine.name if term.affine else ""
        if name not in self._growing:
            expected = evaluate(term.expression, self.scope)
            if isinstance(expected, tuple):
                expected = expected[place] if place < len(expected) else None
            self._same(one, term, expected, extent, start)
            return
        self._growing[name].append(self._solved(one, term, extent, start))
        self.symbols[name] = tuple(self._growing[name])
        if isinstance(extent, Open):
            self.opened[name] = True

    def _named(self, term: Term) -> str:
        assert term.affine is not None
        return term.affine.name

    def _solved(self, one: Declared, term: Term, extent: Extent, dimension: int) -> int:
        if term.affine is None:
            message = f"extent {dimension} of `{one.name}` is an expression of names without values"
            raise fault(one.parameter.span, message, _SECTION)
        found = term.affine.solved(bound_of(extent))
        if found is None:
            message = f"extent {dimension} of `{one.name}` is {bound_of(extent)}"
            raise fault(one.parameter.span, f"{message}, which no `{term.affine.name}` gives", _SECTION)
        return found

    def _check(self, one: Declared, term: Term, extents: tuple[Extent, ...], start: int) -> None:
        expected = evaluate(term.expression, self.scope)
        if isinstance(expected, tuple) and len(expected) != len(extents):
            message = f"`{one.name}` has {len(extents)} dimensions where {len(expected)} are declared"
            raise fault(one.parameter.span, message, "2.6")
        for place, extent in enumerate(extents):
            item = expected[place] if isinstance(expected, tuple) else expected
            self._same(one, term, item, extent, start + place)

    def _same(self, one: Declared, term: Term, expected: Value, extent: Extent, dimension: int) -> None:
        """An extent is what it must be, if that can be said before data are there."""
        if isinstance(extent, Open) or any(name in self.opened for name in term.names):
            return
        if expected != extent:
            name = term.expression.name if isinstance(term.expression, tree.Name) else None
            rule = f"but `{name}` is {text_of(expected)}" if name else f"not {text_of(expected)}"
            raise fault(one.parameter.span, f"extent {dimension} of `{one.name}` is {extent}, {rule}", "2.6")
