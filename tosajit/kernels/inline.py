"""Inlining in the text of a kernel, before it is translated: a function would be translated for itself.

A function of a module is inlined if it is plain: undecorated, assignments to names and one final return.
Its arguments are evaluated once, before the statement that calls it, so it must be a pure function of numbers
(scalars are). A call in the condition of a `while` cannot be moved, nor one whose arguments load memory out
of a conditional expression: both are errors.
"""

import ast
from collections.abc import Iterator, Mapping
from itertools import count

from tosajit.kernels.syntax import copied

SIGNED = ("int8", "int16", "int32", "int64")
INTEGER_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.LShift, ast.RShift, ast.BitAnd, ast.BitOr, ast.BitXor)
ARITHMETIC = frozenset(("abs", "bool", "float", "int", "max", "min", "round"))


def inline_calls(module: ast.Module, root: str = "kernel") -> ast.Module:
    """Return the module with each call of a plain function replaced by its body; those functions are gone."""
    plain = {node.name: node for node in module.body if isinstance(node, ast.FunctionDef) and _is_plain(node)}
    plain.pop(root, None)
    body: list[ast.stmt] = []
    for node in module.body:
        if isinstance(node, ast.FunctionDef):
            if node.name in plain:
                continue
            node = copied(node)
            node.body = _Inliner(plain, count(1)).block(node.body)
        body.append(node)
    inlined = ast.Module(body, [])
    _CastDropper().visit(inlined)
    return ast.fix_missing_locations(inlined)


def _is_plain(function: ast.FunctionDef) -> bool:
    arguments = function.args
    if (
        function.decorator_list
        or arguments.vararg
        or arguments.kwarg
        or arguments.kwonlyargs
        or arguments.defaults
    ):
        return False
    *steps, last = _without_docstring(function.body)
    return isinstance(last, ast.Return) and last.value is not None and all(map(_is_assignment, steps))


def _is_assignment(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name)


def _without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    first = body[0]
    is_text = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and len(body) > 1
    return body[1:] if is_text else body


class _Inliner(ast.NodeTransformer):
    """Rewrites statements; `before` collects what has to run ahead of the current one."""

    def __init__(self, plain: Mapping[str, ast.FunctionDef], numbers: Iterator[int]) -> None:
        self.plain, self.numbers = plain, numbers
        self.before: list[ast.stmt] = []

    def block(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        result: list[ast.stmt] = []
        for statement in statements:
            outer, self.before = self.before, []
            changed = self.visit(statement)
            result += [*self.before, changed]
            self.before = outer
        return result

    def visit_For(self, node: ast.For) -> ast.AST:
        node.iter = self.visit(node.iter)
        return self._bodies(node)

    def visit_If(self, node: ast.If) -> ast.AST:
        node.test = self.visit(node.test)
        return self._bodies(node)

    def visit_While(self, node: ast.While) -> ast.AST:
        for call in ast.walk(node.test):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in self.plain:
                raise ValueError(
                    f"line {node.lineno}: {call.func.id} cannot be called in the condition of a while"
                )
        return self._bodies(node)

    def _bodies(self, node: ast.For | ast.If | ast.While) -> ast.AST:
        node.body, node.orelse = self.block(node.body), self.block(node.orelse)
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        node.test = self.visit(node.test)
        node.body, node.orelse = self._conditional(node.body), self._conditional(node.orelse)
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        node.values = [self.visit(node.values[0]), *map(self._conditional, node.values[1:])]
        return node

    def _conditional(self, node: ast.expr) -> ast.expr:
        """Visit what is not always evaluated: only arithmetic may move ahead of it, never a load."""
        already = len(self.before)
        node = self.visit(node)
        for call in (n for s in self.before[already:] for n in ast.walk(s) if isinstance(n, ast.Call)):
            if isinstance(call.func, ast.Name) and call.func.id not in ARITHMETIC:
                raise ValueError(
                    f"line {call.lineno}: {call.func.id} is conditional here; use an if statement"
                )
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.func, ast.Name) or node.func.id not in self.plain:
            return node
        function = self.plain[node.func.id]
        parameters = [parameter.arg for parameter in function.args.args]
        if node.keywords or len(node.args) != len(parameters):
            raise ValueError(
                f"line {node.lineno}: {function.name} takes the arguments {', '.join(parameters)}"
            )
        return self._body(function, dict(zip(parameters, node.args, strict=True)), node)

    def _body(self, function: ast.FunctionDef, arguments: Mapping[str, ast.expr], call: ast.Call) -> ast.AST:
        steps = copied(_without_docstring(function.body))
        named = (n for step in steps for n in ast.walk(step) if isinstance(n, ast.Name))
        stored = {name.id for name in named if isinstance(name.ctx, ast.Store)}
        number = next(self.numbers)
        names: dict[str, ast.expr] = {}
        for name in (*arguments, *sorted(stored - set(arguments))):
            value = arguments.get(name)
            if isinstance(value, ast.Name | ast.Constant) and name not in stored:
                names[name] = value
                continue
            names[name] = ast.Name(f"{name}__{number}", ast.Load())
            if value is not None:
                target = ast.Name(f"{name}__{number}", ast.Store())
                self.before.append(ast.copy_location(ast.Assign([target], value), call))
        for step in steps:
            _Renamer(names, call).visit(step)
        *assignments, last = steps
        self.before += [step for assignment in assignments for step in self.block([assignment])]
        assert isinstance(last, ast.Return)
        assert last.value is not None
        return self.visit(last.value)  # type: ignore[no-any-return]


class _Renamer(ast.NodeTransformer):
    """Puts arguments for parameters and fresh names for locals, at the place of the call."""

    def __init__(self, names: Mapping[str, ast.expr], call: ast.Call) -> None:
        self.names, self.call = names, call

    def visit(self, node: ast.AST) -> ast.AST:
        ast.copy_location(node, self.call)
        return super().visit(node)  # type: ignore[no-any-return]

    def visit_Name(self, node: ast.Name) -> ast.AST:
        value = self.names.get(node.id)
        if value is None:
            return node
        if isinstance(value, ast.Name):
            return ast.copy_location(ast.Name(value.id, node.ctx), self.call)
        return copied(value)


class _CastDropper(ast.NodeTransformer):
    """Drops the casts to int64 of what Numba computes in int64 anyway."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        return node.args[0] if _cast(node) == "int64" and _is_int64(node.args[0]) else node


def _cast(node: ast.expr) -> str:
    """Return the type that `np.<type>(x)` casts to."""
    if not isinstance(node, ast.Call) or len(node.args) != 1 or not isinstance(node.func, ast.Attribute):
        return ""
    return node.func.attr if isinstance(node.func.value, ast.Name) and node.func.value.id == "np" else ""


def _is_int64(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return type(node.value) is int
    if isinstance(node, ast.BinOp) and isinstance(node.op, INTEGER_OPERATORS):
        return _is_signed(node.left) and _is_signed(node.right)
    return _cast(node) == "int64"


def _is_signed(node: ast.expr) -> bool:
    return _cast(node) in SIGNED or _is_int64(node)
