"""Modules and the operators in them, by name (NNEF 2.0 section 2.15)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from tosajit.frontends.nnef.compose.mentions import mentioned
from tosajit.frontends.nnef.compose.plan import Plan, planned
from tosajit.frontends.nnef.compose.suggest import suggestion
from tosajit.frontends.nnef.model import Definition
from tosajit.frontends.nnef.syntax import tree
from tosajit.frontends.nnef.syntax.parser import parse
from tosajit.frontends.nnef.syntax.source import Source
from tosajit.frontends.nnef.values.value import ValueFault

Loader: TypeAlias = Callable[[str], Source | None]
"""Gives the text of a standard module, or None where there is none of that name."""

MAIN = "main"


class Library:
    """The modules of a model, and those of the standard library that they import."""

    def __init__(self, modules: Mapping[str, Source | str], standard: Loader | None = None) -> None:
        self._standard = standard
        self._modules = {
            name: Module(name, text if isinstance(text, Source) else Source(name, text))
            for name, text in modules.items()
        }
        self._mentioned: dict[int, tuple[tree.Expression, frozenset[str]]] = {}
        """By identity; the expressions are kept so that no other takes their place."""
        self._plans: dict[Definition, Plan] = {}

    @property
    def own(self) -> tuple[Module, ...]:
        """The modules of the model itself."""
        return tuple(one for one in self._modules.values() if not one.standard)

    @property
    def main(self) -> Module:
        """The module from which a model begins."""
        return self._modules[MAIN]

    def module(self, name: str) -> Module | None:
        """A module; one of the standard library is read when it is first asked for."""
        if name not in self._modules and self._standard is not None:
            source = self._standard(name)
            if source is not None:
                self._modules[name] = Module(name, source, standard=True)
        return self._modules.get(name)

    def plan(self, definition: Definition) -> Plan:
        """How an operator is called."""
        if definition not in self._plans:
            self._plans[definition] = planned(definition.operator)
        return self._plans[definition]

    def names(self, expression: tree.Expression) -> frozenset[str]:
        """The names that an expression mentions."""
        found = self._mentioned.get(id(expression))
        if found is None:
            found = self._mentioned[id(expression)] = expression, mentioned(expression)
        return found[1]

    def operator(self, definition: Definition, name: str, where: tree.Tree) -> Definition:
        """What a name means in the module of a definition."""
        path, _, last = name.rpartition(".")
        home = self._modules[definition.module]
        module: Module | None = home
        if path:
            imports = [one.module for one in home.tree.imports]
            if path not in imports:
                known = self.module(path) is not None
                remedy = f"add `import {path};`" if known else suggestion(path, imports, "imported are")
                raise ValueFault(where.span, f"no module `{path}` is imported", "2.15", remedy)
            module = self.module(path)
        if module is None:
            raise ValueFault(where.span, f"there is no module `{path}`", "2.15")
        found = module.definitions.get(last)
        if found is None:
            what = f"module `{module.name}` has no operator `{last}`"
            raise ValueFault(where.span, what, "2.10", self._remedy(last, module, home))
        return found

    def _remedy(self, name: str, module: Module, home: Module) -> str:
        """What may have been meant by an operator that is not there."""
        if module is home:
            for one in home.tree.imports:
                other = self.module(one.module)
                if other is not None and name in other.definitions:
                    return f"write `{one.module}.{name}`"
        return suggestion(name, module.definitions, "it has")

    def graph(self, name: str | None) -> Definition:
        """A graph of the main module; the first one, if no name is given."""
        main = self.main
        graphs = {key: one for key, one in main.definitions.items() if one.operator.graph}
        if not graphs:
            raise ValueFault(main.tree.span, "the main module defines no graph", "2.15")
        if name is None:
            return next(iter(graphs.values()))
        if name not in graphs:
            remedy = suggestion(name, graphs, "graphs are")
            raise ValueFault(main.tree.span, f"there is no graph `{name}`", "2.15", remedy)
        return graphs[name]


class Module:
    """A module, parsed when its operators are asked for."""

    def __init__(self, name: str, source: Source, *, standard: bool = False) -> None:
        self.name, self.source, self.standard = name, source, standard
        self._tree: tree.Module | None = None
        self._definitions: dict[str, Definition] | None = None

    @property
    def tree(self) -> tree.Module:
        """What the module says."""
        if self._tree is None:
            self._tree = parse(self.source)
        return self._tree

    @property
    def definitions(self) -> Mapping[str, Definition]:
        """The operators and graphs, by name."""
        if self._definitions is None:
            self._definitions = {one.operator.name: one for one in self._defined()}
        return self._definitions

    def _defined(self) -> Iterator[Definition]:
        for one in self.tree.operators:
            yield Definition(self.name, one, self.source, self.standard)
