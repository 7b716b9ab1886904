"""From the syntax of a kernel to an LLVM module.

A kernel consists of scalars, their operators, branches, loops and calls, so a name simply stands for a value
of LLVM's. Where control flow meets, values that differ become one of a type that they all fit into, as Numba
does it. `operations.py` has the types of operators and writes their instructions.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from llvmlite import ir
from numba.core import types

from tosajit.kernels.loops import LOOPS, NO_HINTS, few, hints_of, overlapping, overlaps
from tosajit.kernels.operations import CONTEXT, Typed, apply, cast, literal, plain, truth, unified

Names = dict[str, Typed]

BINARY: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
}
UNARY: Mapping[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.Invert: operator.invert,
    ast.Not: operator.not_,
}
COMPARE: Mapping[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
ONE = ir.Constant(ir.IntType(64), 1)


class UntranslatableError(ValueError):
    """A kernel has something that kernels cannot have."""

    def __init__(self, node: ast.AST, why: str) -> None:
        super().__init__(f"line {getattr(node, 'lineno', 0)}: a kernel has scalars alone: {why}")


def translated(text: ast.Module, known: Mapping[str, Any], symbol: str) -> ir.Module:
    """Return an LLVM module that defines the function `kernel` of a text as `void symbol(int64)`.

    `known` is what other names in the text stand for.
    """
    module = _Module(text, known)
    module.function("kernel", (types.int64,), symbol)
    return module.made


@dataclass(frozen=True, slots=True)
class _Callee:
    """A function with the types of its arguments, and the type of its result."""

    made: ir.Function
    result: types.Type


class _Module:
    """The functions of a text, each translated when it is first called with arguments of such types."""

    def __init__(self, text: ast.Module, known: Mapping[str, Any]) -> None:
        self.definitions = {node.name: node for node in text.body if isinstance(node, ast.FunctionDef)}
        self.known, self.made = known, ir.Module()
        self.callees: dict[tuple[str, tuple[types.Type, ...]], _Callee] = {}

    def function(self, name: str, arguments: tuple[types.Type, ...], symbol: str = "") -> _Callee:
        """Return a function of the text for arguments of these types."""
        if (name, arguments) not in self.callees:
            definition = self.definitions[name]
            returns = any(isinstance(node, ast.Return) and node.value for node in ast.walk(definition))
            result: types.Type = types.int64 if returns else types.none
            while (made := self._translated(definition, arguments, result, symbol)).result != result:
                result = made.result
            self.callees[name, arguments] = made
        return self.callees[name, arguments]

    def _translated(
        self, node: ast.FunctionDef, arguments: tuple[types.Type, ...], result: types.Type, symbol: str
    ) -> _Callee:
        """Translate a function that should have a result of some type; say which one it has."""
        given = ir.VoidType() if result is types.none else CONTEXT.get_value_type(result)
        parameters = [CONTEXT.get_value_type(argument) for argument in arguments]
        name = symbol or self.made.get_unique_name(node.name)
        made = ir.Function(self.made, ir.FunctionType(given, parameters), name)
        made.linkage = "" if symbol else "internal"
        function = _Function(self, made, result)
        function.run(node, arguments)
        if function.result != result:
            del self.made.globals[name]
        return _Callee(made, function.result)


class _Function:
    """A function while it is written."""

    def __init__(self, module: _Module, made: ir.Function, result: types.Type) -> None:
        self.module, self.made, self.result = module, made, result
        self.b = ir.IRBuilder(made.append_basic_block("entry"))
        self.names: Names = {}

    def run(self, node: ast.FunctionDef, arguments: Sequence[types.Type]) -> None:
        """Write the whole function; local memory is in its first block."""
        values = zip(node.args.args, arguments, self.made.args, strict=True)
        self.names = {name.arg: Typed(type, value) for name, type, value in values}
        entry, body = self.b.block, self.b.append_basic_block()
        self.b.position_at_end(body)
        self.statements(node.body)
        if self.reachable:
            if self.result is not types.none:
                raise UntranslatableError(node, f"{node.name} does not always return a value")
            self.b.ret_void()
        self.b.position_at_end(entry)
        self.b.branch(body)

    @property
    def reachable(self) -> bool:
        """Whether what is written next can be reached."""
        return not self.b.block.is_terminated

    def statements(self, nodes: Sequence[ast.stmt]) -> None:
        """Write statements, up to one that leaves the function."""
        for node in nodes:
            if self.reachable:
                self.statement(node)

    def statement(self, node: ast.stmt) -> None:
        """Write a statement."""
        match node:
            case ast.Assign([ast.Name(name)], value):
                self.names[name] = self.value(value)
            case ast.Assign([ast.Tuple(targets)], ast.Tuple(values)) if len(targets) == len(values):
                found = [self.value(value) for value in values]
                self.names.update(zip(map(self._target, targets), found, strict=True))
            case ast.AugAssign(ast.Name(name), operation, value):
                operands = self.value(ast.copy_location(ast.Name(name, ast.Load()), node)), self.value(value)
                self.names[name] = apply(self.b, BINARY[type(operation)], operands)
            case ast.Expr(ast.Call() as call):
                self.call(call)
            case ast.Expr(ast.Constant()) | ast.Pass():
                pass
            case ast.For() | ast.While() | ast.If() | ast.Return():
                getattr(self, f"_{type(node).__name__.lower()}")(node)
            case _:
                raise UntranslatableError(node, f"not {ast.unparse(node)}")

    def _target(self, node: ast.expr) -> str:
        if not isinstance(node, ast.Name):
            raise UntranslatableError(node, f"nothing can be assigned to {ast.unparse(node)}")
        return node.id

    def _return(self, node: ast.Return) -> None:
        if node.value is None:
            self.b.ret_void()
            return
        value = plain(self.value(node.value))
        if self.result != value.type:
            self.result = value.type  # and everything is written once more
            self.b.unreachable()
            return
        self.b.ret(value.raw)

    # Where ways part and meet.

    def _if(self, node: ast.If) -> None:
        test, before = truth(self.b, self.value(node.test)), self.names
        ways = [self.b.append_basic_block() for _ in range(2)]
        self.b.cbranch(test, *ways)
        ends = []
        for way, body in zip(ways, (node.body, node.orelse), strict=True):
            self.b.position_at_end(way)
            self.names = dict(before)
            self.statements(body)
            ends.append((self.b.block, self.names))
        self._meet([end for end in ends if not end[0].is_terminated])

    def _meet(self, ends: Sequence[tuple[ir.Block, Names]]) -> None:
        """Go on where these ways end, with the names that all of them have."""
        if not ends:
            return
        names = [name for name in ends[0][1] if all(name in known for _, known in ends)]
        differing = [name for name in names if any(known[name] != ends[0][1][name] for _, known in ends)]
        chosen = {name: unified([known[name] for _, known in ends]) for name in differing}
        self.names = {name: ends[0][1][name] for name in names if chosen.get(name, True)}
        met = self.b.append_basic_block()
        values: dict[str, list[tuple[ir.Value, ir.Block]]] = {n: [] for n, type in chosen.items() if type}
        for block, known in ends:
            self.b.position_at_end(block)
            for name, found in values.items():
                found.append((cast(self.b, known[name], chosen[name]), block))
            self.b.branch(met)
        self.b.position_at_end(met)
        for name, found in values.items():
            self.names[name] = self._phi(chosen[name], found)

    def _phi(self, type: types.Type, ways: Sequence[tuple[ir.Value, ir.Block]]) -> Typed:
        phi = self.b.phi(CONTEXT.get_value_type(type))
        for value, block in ways:
            phi.add_incoming(value, block)
        return Typed(type, phi)

    # Loops.

    def _for(self, node: ast.For) -> None:
        match node:
            case ast.For(
                ast.Name(name),
                ast.Call(ast.Name(kind), bounds),
                body,
                [],
            ) if kind in LOOPS:
                if kind == "exactly":
                    return self.statements([few(name, bounds, body)])
                if overlaps(kind) and not _stored(body) & self.names.keys():
                    return self.statements([overlapping(name, bounds, body)])
                given = [cast(self.b, self.value(bound), types.int64) for bound in bounds]
            case _:
                raise UntranslatableError(node, f"not {ast.unparse(node.iter)} to loop over")
        start, stop, step = _bounds(given)
        counter = f"for {id(node)}"
        self.names[counter] = Typed(types.int64, start)

        def test() -> ir.Value:
            here = self.names[counter].raw
            ahead = self.b.icmp_signed("<", here, stop)
            if step is ONE:
                return ahead
            up = self.b.icmp_signed(">", step, ir.Constant(step.type, 0))
            return self.b.select(up, ahead, self.b.icmp_signed(">", here, stop))

        def run() -> None:
            here = self.names[name] = self.names[counter]
            self.statements(body)
            if self.reachable:
                flags = ("nsw",) if step is ONE else ()
                self.names[counter] = Typed(types.int64, self.b.add(here.raw, step, flags=flags))

        self._loop({counter} | _stored(body), test, run, hints_of(kind))
        del self.names[counter]

    def _while(self, node: ast.While) -> None:
        if node.orelse:
            raise UntranslatableError(node, "no else of a loop")
        self._loop(
            _stored(node.body),
            lambda: truth(self.b, self.value(node.test)),
            lambda: self.statements(node.body),
        )

    def _loop(
        self,
        stored: set[str],
        test: Callable[[], ir.Value],
        run: Callable[[], None],
        hints: Mapping[str, int | bool] = NO_HINTS,
    ) -> None:
        """Write a loop; until the types of what it carries from turn to turn are known, again."""
        carried = {name: plain(self.names[name]).type for name in sorted(stored & self.names.keys())}
        before, undo = self.names, self._undo()
        while (wider := self._turns(dict(before), carried, test, run, hints)) != carried:
            undo()
            carried = wider

    def _turns(
        self,
        names: Names,
        carried: dict[str, types.Type],
        test: Callable[[], ir.Value],
        run: Callable[[], None],
        hints: Mapping[str, int | bool],
    ) -> dict[str, types.Type]:
        """Write a loop that carries values of these types; return the types that they have in the end."""
        given = {name: cast(self.b, names[name], type) for name, type in carried.items()}
        before, (head, body, behind) = self.b.block, [self.b.append_basic_block() for _ in range(3)]
        self.b.branch(head)
        self.b.position_at_end(head)
        phis = {name: self._phi(type, [(given[name], before)]) for name, type in carried.items()}
        self.names = names | phis
        self.b.cbranch(test(), body, behind)
        self.b.position_at_end(body)
        after = dict(self.names)
        run()
        wider = dict(carried)
        if self.reachable:
            for name, phi in phis.items():
                wider[name] = unified([phi, self.names[name]]) or phi.type
                if wider[name] == phi.type:
                    phi.raw.add_incoming(cast(self.b, self.names[name], phi.type), self.b.block)
            back = self.b.branch(head)
            if hints:
                back.set_metadata("llvm.loop", self._told(hints))
        self.names = after
        self.b.position_at_end(behind)
        return wider

    def _told(self, hints: Mapping[str, int | bool]) -> ir.MDValue:
        """Return what tells LLVM how to make vectors of the turns of a loop; it refers to itself."""
        module = self.b.module
        known = module.add_metadata([ir.MetaDataString(module, f"loop {len(module.metadata)}")])
        parts = [known]
        for name, value in hints.items():
            number = ir.Constant(ir.IntType(1 if isinstance(value, bool) else 32), int(value))
            parts.append(module.add_metadata([ir.MetaDataString(module, f"llvm.loop.{name}"), number]))
        known.operands = tuple(parts)
        return known

    def _undo(self) -> Callable[[], None]:
        """Return what takes back all that is written from here on."""
        block, instructions, blocks = self.b.block, len(self.b.block.instructions), len(self.made.blocks)

        def undo() -> None:
            del self.made.blocks[blocks:]
            del block.instructions[instructions:]
            block.terminator = None
            self.b.position_at_end(block)

        return undo

    # Expressions.

    def value(self, node: ast.expr) -> Typed:
        """Write an expression; return its value."""
        number = _number(node)
        return self._written(node) if number is None else literal(number)

    def _written(self, node: ast.expr) -> Typed:
        match node:
            case ast.Name(name):
                return self._named(node, name)
            case ast.Attribute(ast.Name("np"), ("inf" | "nan") as name):
                return literal(float(name))
            case ast.BinOp(left, operation, right):
                return apply(self.b, BINARY[type(operation)], (self.value(left), self.value(right)))
            case ast.UnaryOp(ast.Not(), operand):
                return Typed(types.boolean, self.b.not_(truth(self.b, self.value(operand))))
            case ast.UnaryOp(operation, operand):
                return apply(self.b, UNARY[type(operation)], (self.value(operand),))
            case ast.Compare(left, operations, others):
                return self._compared(self.value(left), list(zip(operations, others, strict=True)))
            case ast.BoolOp(operation, [first, *others]):
                return self._either(isinstance(operation, ast.And), self.value(first), others)
            case ast.IfExp(test, body, orelse):
                condition = truth(self.b, self.value(test))
                return self._chosen(condition, lambda: self.value(body), lambda: self.value(orelse))
            case ast.Call():
                return self.call(node)
        raise UntranslatableError(node, f"not {ast.unparse(node)}")

    def _named(self, node: ast.expr, name: str) -> Typed:
        if name in self.names:
            return self.names[name]
        constant = self.module.known.get(name)
        if not isinstance(constant, bool | int | float):
            raise UntranslatableError(node, f"{name} has no value here")
        return literal(constant)

    def _compared(self, first: Typed, rest: Sequence[tuple[ast.cmpop, ast.expr]]) -> Typed:
        (operation, node), *others = rest
        second = self.value(node)
        found = apply(self.b, COMPARE[type(operation)], (first, second))
        if not others:
            return found
        no = Typed(types.boolean, ir.Constant(ir.IntType(1), 0))
        return self._chosen(truth(self.b, found), lambda: self._compared(second, others), lambda: no)

    def _either(self, both: bool, first: Typed, others: Sequence[ast.expr]) -> Typed:
        """Write `and` (of both) or `or`."""
        if not others:
            return first

        def more() -> Typed:
            return self._either(both, self.value(others[0]), others[1:])

        def done() -> Typed:
            return first

        return self._chosen(truth(self.b, first), *((more, done) if both else (done, more)))

    def _chosen(self, test: ir.Value, yes: Callable[[], Typed], no: Callable[[], Typed]) -> Typed:
        """Write an expression of which one of two ways is taken."""
        ways, ends = [self.b.append_basic_block() for _ in range(2)], []
        self.b.cbranch(test, *ways)
        for way, write in zip(ways, (yes, no), strict=True):
            self.b.position_at_end(way)
            ends.append((write(), self.b.block))
        type = unified([value for value, _ in ends])
        if type is None:
            raise ValueError(f"a kernel cannot choose between {ends[0][0].type} and {ends[1][0].type}")
        values, met = [], self.b.append_basic_block()
        for value, block in ends:
            self.b.position_at_end(block)
            values.append((cast(self.b, value, type), block))
            self.b.branch(met)
        self.b.position_at_end(met)
        return self._phi(type, values)

    def call(self, node: ast.Call) -> Typed:
        """Write a call; what has no result has None."""
        if node.keywords:
            raise UntranslatableError(node, "no arguments by keyword")
        match node.func:
            case ast.Name(name) if name in self.module.definitions:
                return self._own(name, [plain(self.value(argument)) for argument in node.args])
            case ast.Name(name) if name in self.module.known:
                function = self.module.known[name]
            case ast.Attribute(ast.Name(name), attribute) if name in self.module.known:
                function = getattr(self.module.known[name], attribute)
            case _:
                raise UntranslatableError(node, f"not {ast.unparse(node.func)}")
        return apply(self.b, function, [self.value(argument) for argument in node.args])

    def _own(self, name: str, arguments: Sequence[Typed]) -> Typed:
        callee = self.module.function(name, tuple(argument.type for argument in arguments))
        return Typed(callee.result, self.b.call(callee.made, [argument.raw for argument in arguments]))


def _bounds(given: Sequence[ir.Value]) -> tuple[ir.Value, ir.Value, ir.Value]:
    """Return start, stop and step of a range."""
    match given:
        case [stop]:
            return ir.Constant(ir.IntType(64), 0), stop, ONE
        case [start, stop]:
            return start, stop, ONE
        case [start, stop, step]:
            return start, stop, step
    raise ValueError(f"a kernel's range has {len(given)} arguments")


def _stored(body: Sequence[ast.stmt]) -> set[str]:
    """Return the names that statements assign to."""
    nodes = (node for statement in body for node in ast.walk(statement) if isinstance(node, ast.Name))
    return {node.id for node in nodes if isinstance(node.ctx, ast.Store)}


def _number(node: ast.expr) -> Any:
    """Return the value of what consists of numbers alone, as Python's compiler does; else None."""
    match node:
        case ast.Constant(bool() | int() | float() as value):
            return value
        case ast.UnaryOp(ast.USub() | ast.Invert() as operation, operand):
            value = _number(operand)
            return None if value is None else UNARY[type(operation)](value)
        case ast.BinOp(left, operation, right):
            first = _number(left)
            second = None if first is None else _number(right)
            return None if second is None else BINARY[type(operation)](first, second)
    return None
