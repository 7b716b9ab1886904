"""Writing out texts that ask for a kernel of this package: `kernel = instance(convolution.kernel, LANES=16)`.

The kernel is a function of a module, read and checked as Python. It is copied with values in place of names,
with numbers in place of the members of enumerations, without what can then not be reached, and with the
bodies of other functions, of its module or imported there, in place of their calls where these are
statements. A function of the text with the name of a function that the module imports, such as `epilogue`,
replaces the statements that call it, or stands for it. What is loaded from records of arguments is loaded
once. So one function is left.
"""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import sys
from collections.abc import Iterator, Mapping
from enum import IntEnum
from itertools import count
from types import FunctionType, ModuleType

from tosajit.kernels.contract.numbered import Numbered
from tosajit.kernels.syntax import copied


def written_out(text: ast.Module) -> ast.Module:
    """Return a module with the kernel that it asks for, or as it is if it has its own."""
    for place, node in enumerate(text.body):
        match node:
            case ast.Assign(
                [ast.Name(name)], ast.Call(ast.Name("instance"), [ast.Attribute() as function], k)
            ):
                made = _Instance.of(text, function, k)
                others = [
                    n for n in text.body if not (isinstance(n, ast.FunctionDef) and n.name in made.ends)
                ]
                place = others.index(node)
                body = [*others[:place], *made.functions(function.attr, name), *others[place + 1 :]]
                return ast.fix_missing_locations(ast.Module(body, []))
    return text


@functools.cache
def called_names(module: ModuleType, name: str) -> frozenset[str]:
    """Return the names that a function of a module uses, itself or through others of the module."""
    names = vars(module)[name].__code__.co_names
    inner = [vars(module)[n] for n in names if n != name and inspect.isfunction(vars(module).get(n))]
    return frozenset(names).union(*(called_names(_home(callee), callee.__name__) for callee in inner))


def _home(function: FunctionType) -> ModuleType:
    """The module that defines a function."""
    return sys.modules[function.__module__]


@functools.cache
def _functions(module: ModuleType) -> Mapping[str, ast.FunctionDef]:
    """The functions that a module defines or imports, by their names."""
    body = ast.parse(inspect.getsource(module)).body
    own = {node.name: node for node in body if isinstance(node, ast.FunctionDef)}
    others = {
        name: item for name, item in vars(module).items() if inspect.isfunction(item) and name not in own
    }
    return {**own, **{name: _functions(_home(item))[name] for name, item in others.items()}}


def _statements(function: ast.FunctionDef) -> list[ast.stmt]:
    """The body without its docstring."""
    first = function.body[0]
    told = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    return function.body[int(told) :]


def _bare(function: ast.FunctionDef, name: str, body: list[ast.stmt]) -> ast.FunctionDef:
    """A function without annotations, with another body."""
    made = copied(function)
    made.name, made.returns, made.body = name, None, body
    for argument in made.args.args:
        argument.annotation = None
    return made


class _Instance(ast.NodeTransformer):
    """Puts values, numbers and bodies in their places."""

    def __init__(
        self, module: ModuleType, values: Mapping[str, ast.expr], given: Mapping[str, ast.FunctionDef]
    ) -> None:
        self.module, self.values = module, values
        self.ends = {name: function for name, function in given.items() if _is_end(function)}
        self.own = {name: found for name, found in _functions(module).items() if name not in given}
        self.numbers = count(1)

    @classmethod
    def of(cls, text: ast.Module, function: ast.Attribute, values: list[ast.keyword]) -> _Instance:
        """What a text asks for."""
        imports = [node for node in text.body if isinstance(node, ast.ImportFrom)]
        modules = {alias.name: f"{node.module}.{alias.name}" for node in imports for alias in node.names}
        assert isinstance(function.value, ast.Name)
        module = importlib.import_module(modules[function.value.id])
        functions = [node for node in text.body if isinstance(node, ast.FunctionDef)]
        given = {node.name: node for node in functions if inspect.isfunction(vars(module).get(node.name))}
        return cls(module, {value.arg: value.value for value in values if value.arg}, given)

    def functions(self, name: str, new_name: str) -> Iterator[ast.stmt]:
        """The kernel under a new name, and before it the functions that it still calls."""
        kernel = self.own[name]
        body = self.block(copied(_statements(kernel)))
        wanted = _called(ast.Module(body, []), self.own)
        for function in (self.own[called] for called in self.own if called in wanted):
            yield _bare(function, function.name, self.block(copied(_statements(function))))
        parameters = [argument.arg for argument in kernel.args.args]
        yield _bare(kernel, new_name, _loaded_once(body, parameters))

    def block(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        result: list[ast.stmt] = []
        for statement in statements:
            changed = self.visit(statement)
            result += changed if isinstance(changed, list) else [changed]
        return result

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return copied(self.values.get(node.id, node))

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        kind = vars(self.module).get(node.value.id) if isinstance(node.value, ast.Name) else None
        if isinstance(kind, type) and issubclass(kind, (IntEnum, Numbered)):
            return ast.Constant(int(kind[node.attr]))
        return self.generic_visit(node)

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        node.test = self.visit(node.test)
        known = _known(node.test)
        if known is not None:
            return self.block(node.body if known else node.orelse)
        node.body, node.orelse = self.block(node.body), self.block(node.orelse)
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        test = self.visit(node.test)
        known = _known(test)
        if known is None:
            return ast.IfExp(test, self.visit(node.body), self.visit(node.orelse))
        return self.visit(node.body if known else node.orelse)  # type: ignore[no-any-return]

    def visit_For(self, node: ast.For) -> ast.AST:
        node.iter, node.body = self.visit(node.iter), self.block(node.body)
        return node

    def visit_While(self, node: ast.While) -> ast.AST:
        node.test, node.body = self.visit(node.test), self.block(node.body)
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.AST | list[ast.stmt]:
        call = node.value
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            return node
        if call.func.id in self.ends:
            end = self.ends[call.func.id]
            pairs = zip(end.args.args, map(self.visit, call.args), strict=True)
            assigned = [_assigned(p.arg, value) for p, value in pairs if not _is_name(value, p.arg)]
            return [*assigned, *copied(end.body)]
        if call.func.id in self.own:
            return self._body(self.own[call.func.id], [self.visit(argument) for argument in call.args])
        return self.generic_visit(node)

    def _body(self, function: ast.FunctionDef, arguments: list[ast.expr]) -> list[ast.stmt]:
        """A function's body with fresh names for its own variables."""
        body = copied(_statements(function))
        number = next(self.numbers)
        nodes = [node for statement in body for node in ast.walk(statement)]
        stored = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        names: dict[str, ast.expr] = {name: ast.Name(f"{name}_{number}", ast.Load()) for name in stored}
        before: list[ast.stmt] = []
        for parameter, value in zip(function.args.args, arguments, strict=True):
            if isinstance(value, ast.Name | ast.Constant) and parameter.arg not in stored:
                names[parameter.arg] = value
            else:
                names[parameter.arg] = ast.Name(f"{parameter.arg}_{number}", ast.Load())
                before.append(_assigned(f"{parameter.arg}_{number}", value))
        return [*before, *self.block([_Renamer(names).visit(statement) for statement in body])]


class _Renamer(ast.NodeTransformer):
    """Puts arguments and fresh names in the places of a function's own."""

    def __init__(self, names: Mapping[str, ast.expr]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.AST:
        value = self.names.get(node.id)
        if isinstance(value, ast.Name):
            return ast.Name(value.id, node.ctx)
        return copied(value) if value is not None else node


def _loaded_once(body: list[ast.stmt], parameters: list[str]) -> list[ast.stmt]:
    """Load what a kernel takes from its records before all else, each once: nobody writes them meanwhile.

    Records are the parameters, and what the first statements load from these.
    """
    result: list[ast.stmt] = []
    for record in parameters:
        loads = _Loads(record)
        body = [loads.visit(statement) for statement in body]
        result += [_assigned(name, call) for name, call in loads.found.items()]
    first = body[0] if body else None
    if (
        isinstance(first, ast.Assign)
        and isinstance(first.targets[0], ast.Name)
        and isinstance(first.value, ast.Name)
    ):
        return [*result, first, *_loaded_once(body[1:], [first.targets[0].id])]
    return [*result, *body]


class _Loads(ast.NodeTransformer):
    """Names what is loaded from a record."""

    def __init__(self, record: str) -> None:
        self.record = record
        self.found: dict[str, ast.expr] = {}

    def visit_Call(self, node: ast.Call) -> ast.AST:
        match node:
            case ast.Call(ast.Name("load_i64"), [ast.Name(self.record), ast.Constant(int(slot))]):
                name = f"{self.record}_{slot}"
                self.found[name] = node
                return ast.Name(name, ast.Load())
        return self.generic_visit(node)


def _is_end(function: ast.FunctionDef) -> bool:
    """Tell whether a function stands for statements: it returns nothing."""
    return not any(isinstance(node, ast.Return) for node in ast.walk(function))


def _called(node: ast.AST, functions: Mapping[str, ast.FunctionDef]) -> set[str]:
    """The functions that are called by name, and what these call."""
    names = {name.id for name in ast.walk(node) if isinstance(name, ast.Name)} & set(functions)
    return names.union(*(_called(ast.Module(functions[name].body, []), functions) for name in names))


def _assigned(name: str, value: ast.expr) -> ast.stmt:
    return ast.Assign([ast.Name(name, ast.Store())], value)


def _is_name(value: ast.expr, name: str) -> bool:
    return isinstance(value, ast.Name) and value.id == name


def _known(test: ast.expr) -> bool | None:
    """What a test comes to, if that is known."""
    match test:
        case ast.Constant(value):
            return bool(value)
        case ast.UnaryOp(ast.Not(), operand):
            inner = _known(operand)
            return None if inner is None else not inner
        case ast.BoolOp(op, values):
            parts = [_known(value) for value in values]
            decisive = isinstance(op, ast.Or)
            if decisive in parts:
                return decisive
            return None if None in parts else not decisive
    return None
