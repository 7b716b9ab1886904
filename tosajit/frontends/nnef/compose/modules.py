"""Modules and the operators in them, by name (NNEF 2.0 section 2.15)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from typing import Protocol, TypeAlias

from tosajit.frontends.nnef.compose.mentions import mentioned
from tosajit.frontends.nnef.compose.plan import Plan, planned
from tosajit.frontends.nnef.compose.suggest import suggestion
from tosajit.frontends.nnef.library import EXTENSIONS, Standard, text_of
from tosajit.frontends.nnef.model import Definition
from tosajit.frontends.nnef.syntax import tree
from tosajit.frontends.nnef.syntax.depth import check_depth
from tosajit.frontends.nnef.syntax.parser import parse
from tosajit.frontends.nnef.syntax.source import Faults, Source
from tosajit.frontends.nnef.values.value import ValueFault

Loader: TypeAlias = Callable[[str], Source | None]
"""Gives the text of a module of the model, or None where there is none of that name."""

MAIN = "main"


class Library:
    """The modules of a model, and the standard ones that they import."""

    def __init__(self, own: Mapping[str, Source | str] | Loader, standard: Standard | None = None) -> None:
        self._load = own if callable(own) else _texts(own)
        self._standard = standard
        self._modules: dict[str, Module | None] = {}
        self._mentioned: dict[int, tuple[tree.Expression, frozenset[str]]] = {}
        """By identity; the expressions are kept so that no other takes their place."""
        self._plans: dict[Definition, Plan] = {}

    @property
    def main(self) -> OwnModule:
        """The module from which a model begins."""
        found = self.module(MAIN)
        assert isinstance(found, OwnModule), "a model has a main module"
        return found

    def module(self, name: str) -> Module | None:
        """A module, read when it is first asked for; those of the model come before standard ones."""
        if name not in self._modules:
            self._modules[name] = self._found(name)
        return self._modules[name]

    def _found(self, name: str) -> Module | None:
        source = self._load(name)
        standard = self._standard is not None and self._standard.has(name)
        if source is not None and not (standard and name in EXTENSIONS and source.text == text_of(name)):
            return OwnModule(name, source)
        return StandardModule(name, self._standard) if self._standard is not None and standard else None

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
        home = self.module(definition.module)
        assert home is not None
        module: Module | None = home
        if path:
            if path not in home.imports:
                known = self.module(path) is not None
                remedy = f"add `import {path};`" if known else suggestion(path, home.imports, "imported are")
                raise ValueFault(where.span, f"no module `{path}` is imported", "2.15", remedy)
            module = self.module(path)
        if module is None:
            raise ValueFault(where.span, f"there is no module `{path}`", "2.15")
        found = module.find(last)
        if found is None:
            what = f"module `{module.name}` has no operator `{last}`"
            raise ValueFault(where.span, what, "2.10", self._remedy(last, module, home))
        return found

    def _remedy(self, name: str, module: Module, home: Module) -> str:
        """What may have been meant by an operator that is not there."""
        if module is home:
            for one in home.imports:
                other = self.module(one)
                if other is not None and name in other.names:
                    return f"write `{one}.{name}`"
        return suggestion(name, module.names, "it has")

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


def _texts(own: Mapping[str, Source | str]) -> Loader:
    """What gives texts that are there already."""

    def load(name: str) -> Source | None:
        text = own.get(name)
        return Source(name, text) if isinstance(text, str) else text

    return load


class Module(Protocol):
    """Operators under a name."""

    @property
    def name(self) -> str:
        """How imports call it."""

    @property
    def imports(self) -> Sequence[str]:
        """The modules whose operators it may call."""

    @property
    def names(self) -> Collection[str]:
        """Its operators and graphs."""

    def find(self, name: str) -> Definition | None:
        """An operator or a graph."""


class OwnModule:
    """A module of the model, parsed when it is asked for something."""

    def __init__(self, name: str, source: Source) -> None:
        self.name, self.source = name, source

    @cached_property
    def tree(self) -> tree.Module:
        """What the module says."""
        module, faults = parse(self.source), Faults(self.source)
        check_depth(module, faults)
        faults.settle()
        return module

    @cached_property
    def definitions(self) -> Mapping[str, Definition]:
        """The operators and graphs, by name."""
        return {one.name: Definition(self.name, one, self.source) for one in self.tree.operators}

    @cached_property
    def imports(self) -> tuple[str, ...]:
        """The modules whose operators it may call."""
        return tuple(one.module for one in self.tree.imports)

    @property
    def names(self) -> Collection[str]:
        """Its operators and graphs."""
        return self.definitions

    def find(self, name: str) -> Definition | None:
        """An operator or a graph."""
        return self.definitions.get(name)


class StandardModule:
    """A module of a standard library, whose operators are read one by one."""

    def __init__(self, name: str, standard: Standard) -> None:
        self.name, self._standard = name, standard

    @property
    def imports(self) -> tuple[str, ...]:
        """The modules whose operators it may call."""
        return self._standard.imports(self.name)

    @property
    def names(self) -> Collection[str]:
        """Its operators."""
        return self._standard.names(self.name)

    def find(self, name: str) -> Definition | None:
        """An operator."""
        return self._standard.find(self.name, name)
