"""Modules, what they import and define, and who calls whom (NNEF 2.0 section 2.15)."""

from __future__ import annotations

from collections.abc import Iterator

from tosajit.errors import Fault, ScriptError
from tosajit.frontends.nnef.compose.checker.bodies import Bodies
from tosajit.frontends.nnef.compose.checker.declarations import Declarations
from tosajit.frontends.nnef.compose.checker.lowerings import check_lowerings
from tosajit.frontends.nnef.compose.mentions import parts
from tosajit.frontends.nnef.compose.modules import MAIN, Library, OwnModule
from tosajit.frontends.nnef.compose.suggest import suggestion
from tosajit.frontends.nnef.library import MODULES
from tosajit.frontends.nnef.model import Definition
from tosajit.frontends.nnef.syntax import tree
from tosajit.frontends.nnef.syntax.source import MOST_FAULTS, Faults
from tosajit.frontends.nnef.values.value import ValueFault

_MOST_MODULES = 1000
"""Modules of a model: each may import others."""


def check(library: Library, *, graph: bool = True) -> None:
    """Check the main module, which must define a `graph`, and those that it imports.

    Raises `ScriptError` with all that is wrong.
    """
    found: list[Fault] = []
    for module in _reached(library, found):
        faults = Faults(module.source)
        try:
            if graph and module.name == MAIN and not any(one.graph for one in module.tree.operators):
                faults.add(module.tree.span, "the main module defines no graph", "2.15")
            _check_module(module, library, faults)
        except ScriptError:
            pass
        found += faults.found
        if len(found) >= MOST_FAULTS:
            break
    if found:
        raise ScriptError(found)


def _reached(library: Library, found: list[Fault]) -> Iterator[OwnModule]:
    """The modules of the model, each once; texts that cannot be parsed are told of."""
    waiting = [MAIN]
    seen = {MAIN}
    while waiting and len(seen) < _MOST_MODULES:
        module = library.module(waiting.pop(0))
        if not isinstance(module, OwnModule):
            continue
        try:
            imports = module.tree.imports
        except ScriptError as error:
            found += error.faults
            continue
        yield module
        for one in imports:
            if one.module not in seen:
                seen.add(one.module)
                waiting.append(one.module)


def _check_module(module: OwnModule, library: Library, faults: Faults) -> None:
    parsed = module.tree
    names: set[str] = set()
    for one in parsed.imports:
        _check_import(module, one, library, faults)
    for operator in parsed.operators:
        if operator.name in names:
            faults.add(operator.span, f"`{operator.name}` is defined twice", "2.15", "take another name")
        names.add(operator.name)
        if operator.graph and module.name != MAIN:
            message = f"`{operator.name}` is a graph, which only the main module may define"
            faults.add(operator.span, message, "2.15", "write `public operator`")
        check_definition(Definition(module.name, operator, module.source), library, faults)
    for definition in module.definitions.values():
        _check_recursion(definition, library, faults)


def _check_import(module: OwnModule, one: tree.Import, library: Library, faults: Faults) -> None:
    """A module that is imported exists, and does not import this one."""
    try:
        other = library.module(one.module)
        if other is None:
            remedy = suggestion(one.module, MODULES, "standard modules are")
            faults.add(one.span, f"there is no module `{one.module}`", "2.15", remedy)
        elif isinstance(other, OwnModule) and _imports(other, module.name, library):
            faults.add(one.span, f"`{one.module}` imports `{module.name}` in turn", "2.15")
    except ScriptError:
        return  # what is wrong there is told of when that module is reached


def _imports(module: OwnModule, name: str, library: Library) -> bool:
    """Whether a module imports another, itself or through others."""
    waiting, seen = [module], {module.name}
    while waiting:
        one = waiting.pop()
        for imported in one.imports:
            other = library.module(imported)
            if imported == name:
                return True
            if isinstance(other, OwnModule) and imported not in seen:
                seen.add(imported)
                waiting.append(other)
    return False


def check_definition(definition: Definition, library: Library, faults: Faults) -> None:
    """Check an operator or a graph."""
    operator = definition.operator
    declarations = Declarations(operator, library.plan(definition), faults)
    declarations.check()
    if operator.graph and operator.components is None:
        faults.add(operator.span, f"the graph `{operator.name}` has no @compose", "2.10")
    if operator.lowerings is not None:
        if operator.graph:
            faults.add(operator.span, "a graph is composed of operators, and has no @lower", "2.6.1")
        check_lowerings(operator, declarations.expressions)
    if operator.components is not None or operator.updates:
        Bodies(definition, library, declarations.expressions).check()


def _check_recursion(definition: Definition, library: Library, faults: Faults) -> None:
    """An operator does not call itself, nor what calls it."""
    for invocation in _invocations(definition.operator):
        if _calls(_called(definition, invocation, library), definition, library):
            message = f"`{definition.operator.name}` calls itself"
            faults.add(
                invocation.span, message, "2.10", "operators are made of others that are defined already"
            )


def _calls(first: Definition | None, target: Definition, library: Library) -> bool:
    waiting = [first] if first else []
    seen = set(waiting)
    while waiting:
        one = waiting.pop()
        if one is target:
            return True
        for invocation in _invocations(one.operator):
            other = _called(one, invocation, library)
            if other is not None and other not in seen and not other.standard:
                seen.add(other)
                waiting.append(other)
    return False


def _called(definition: Definition, one: tree.Invocation, library: Library) -> Definition | None:
    try:
        return library.operator(definition, one.operator, one)
    except (ValueFault, ScriptError):
        return None


def _invocations(operator: tree.Operator) -> Iterator[tree.Invocation]:
    for component in (*(operator.components or ()), *operator.updates):
        yield from (one for one in parts(component) if isinstance(one, tree.Invocation))
