"""Expressions over the fields of machines: a small language with the syntax of Python, which is never run.

A text is parsed, every node of it must be one of those below, and becomes a node of our own that says what
NumPy does with columns of numbers. Numbers are double precision, so that nothing takes long: 9 ** 9 ** 9 is
too large, which is a reason why a constraint does not hold, as is a division by zero.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import pairwise
from typing import Any, Literal, Never

import numpy as np
from numpy.typing import NDArray

from sim.explore.errors import SpaceError
from sim.machine.errors import Fault, shown

ValueKind = Literal["number", "truth", "text"]
Values = NDArray[Any]
Trouble = NDArray[np.int8]
Column = tuple[Values, Trouble]
"""Values of a name, and where there is none."""

MOST_CHARACTERS = 2000
MOST_DEPTH = 64
NOTHING, DIVISION, UNREAL, HUGE, ABSENT = range(5)
TROUBLES = (
    "",
    "division by zero",
    "not a real number",
    "a number too large",
    "a field that the machine lacks",
)

_WORDS: dict[ValueKind, str] = {"number": "a number", "truth": "true or false", "text": "text"}
_CONSTANTS: dict[str, bool] = {"true": True, "false": False}
_ARITHMETIC: dict[type[ast.operator], tuple[str, Callable[..., Values]]] = {
    ast.Add: ("+", np.add),
    ast.Sub: ("-", np.subtract),
    ast.Mult: ("*", np.multiply),
    ast.Div: ("/", np.true_divide),
    ast.FloorDiv: ("//", np.floor_divide),
    ast.Mod: ("%", np.remainder),
    ast.Pow: ("**", np.float_power),
}
_COMPARISONS: dict[type[ast.cmpop], tuple[str, Callable[..., Values]]] = {
    ast.Lt: ("<", np.less),
    ast.LtE: ("<=", np.less_equal),
    ast.Gt: (">", np.greater),
    ast.GtE: (">=", np.greater_equal),
    ast.Eq: ("==", np.equal),
    ast.NotEq: ("!=", np.not_equal),
}
_FUNCTIONS: dict[str, Callable[..., Values]] = {
    "min": np.minimum,
    "max": np.maximum,
    "abs": np.abs,
    "sqrt": np.sqrt,
    "log2": np.log2,
    "ceil": np.ceil,
    "floor": np.floor,
}
_SEVERAL = ("min", "max")
_NUMPY = {name: function for name, function in (*_ARITHMETIC.values(), *_COMPARISONS.values())} | _FUNCTIONS
_SHOWN = (
    "there are numbers, names, strings in quotes, + - * / // % **, comparisons, and, or, not, "
    + ", ".join(_FUNCTIONS)
)


@dataclass(frozen=True, slots=True)
class Symbol:
    """What a name stands for."""

    kind: ValueKind
    path: str = ""
    """Of the field, empty for derived names."""
    choices: tuple[str, ...] = ()
    """The strings that it can be, where that is known."""


@dataclass(frozen=True, slots=True)
class Node:
    """An operation on the values of others."""

    operation: str
    kind: ValueKind
    inputs: tuple[Node, ...] = ()
    value: Any = None
    """A constant, a name, or the operations between the inputs of a comparison."""


@dataclass(frozen=True)
class Expression:
    """A text that was checked, and what it says."""

    text: str
    root: Node

    def evaluate(self, columns: Mapping[str, Column], count: int) -> Column:
        """Values for so many rows, and what is wrong where there is no value."""
        with np.errstate(all="ignore"):
            values, trouble = _evaluated(self.root, columns)
        return np.broadcast_to(values, count), np.broadcast_to(trouble, count)


@dataclass(frozen=True)
class Constraint:
    """An expression that is true or false."""

    expression: Expression

    @property
    def text(self) -> str:
        """As it was given."""
        return self.expression.text

    def violations(self, columns: Mapping[str, Column], count: int) -> list[str]:
        """For each row why it does not hold, empty where it does."""
        values, trouble = self.expression.evaluate(columns, count)
        bad = ~values.astype(bool) | (trouble != NOTHING)
        found = [""] * count
        if not bad.any():
            return found
        sizes = self._left(columns, count)
        for row in np.flatnonzero(bad).tolist():
            why = TROUBLES[trouble[row]] or (f"it is {sizes[row]:g}" if sizes is not None else "")
            found[row] = f"constraint does not hold: {self.text}{f' ({why})' if why else ''}"
        return found

    def _left(self, columns: Mapping[str, Column], count: int) -> Values | None:
        """What a comparison compares, if that is a figure."""
        root = self.expression.root
        if root.operation != "compare" or root.inputs[0].kind != "number" or len(root.inputs) > 2:
            return None
        return Expression("", root.inputs[0]).evaluate(columns, count)[0]


def constraint(text: str, symbols: Mapping[str, Symbol]) -> Constraint:
    """What must hold of a machine."""
    found = expression(text, symbols)
    if found.root.kind != "truth":
        fault = f"{shown(found.text)} is {_WORDS[found.root.kind]}"
        raise SpaceError(f"{fault}; a constraint must be a comparison, such as area <= 5")
    return Constraint(found)


def expression(text: str, symbols: Mapping[str, Symbol]) -> Expression:
    """The expression of a text; raises `SpaceError` with the place of what is wrong."""
    if not isinstance(text, str):
        raise SpaceError(f"{shown(text)} is not the text of an expression, such as 'area <= 5'")
    if len(text) > MOST_CHARACTERS:
        raise SpaceError(f"an expression has {len(text)} characters, but may have at most {MOST_CHARACTERS}")
    text = " ".join(text.split())
    return Expression(text, _Reader(text, symbols).node(_parsed(text), MOST_DEPTH))


def _parsed(text: str) -> ast.expr:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return ast.parse(text, mode="eval").body
    except SyntaxError as error:
        _refuse(text, error.offset - 1 if error.offset else len(text), f"is not an expression: {error.msg}")
    except (ValueError, MemoryError, RecursionError, OverflowError):
        raise SpaceError(f"{shown(text)} is not an expression: it is nested too deeply") from None


def _refuse(text: str, column: int, fault: str) -> Never:
    """Raise an error that points at a column of the text, of which a line is shown."""
    column = min(max(column, 0), len(text))
    first = max(0, column - 60)
    part = "".join(one if one.isprintable() else "?" for one in text[first : first + 100])
    raise SpaceError([Fault("", f"{fault}\n    {part}\n    {' ' * (column - first)}^")]) from None


@dataclass(frozen=True)
class _Reader:
    """From the nodes of Python to those above; everything else is refused."""

    text: str
    symbols: Mapping[str, Symbol]

    def node(self, tree: ast.expr, depth: int) -> Node:
        """What a node says."""
        if not depth:
            self.refuse(tree, f"is nested more than {MOST_DEPTH} deep")
        match tree:
            case ast.Constant():
                return self.constant(tree)
            case ast.Name() | ast.Attribute():
                return self.name(tree)
            case ast.BinOp() if type(tree.op) in _ARITHMETIC:
                word = _ARITHMETIC[type(tree.op)][0]
                inputs = self.inputs([tree.left, tree.right], depth, "number", word)
                return Node(word, "number", inputs)
            case ast.UnaryOp():
                return self.unary(tree, depth)
            case ast.BoolOp():
                word = "and" if isinstance(tree.op, ast.And) else "or"
                return Node(word, "truth", self.inputs(tree.values, depth, "truth", word))
            case ast.Compare():
                return self.comparison(tree, depth)
            case ast.Call():
                return self.call(tree, depth)
        self.refuse(tree, f"{_what(tree)} is not part of expressions; {_SHOWN}")

    def constant(self, tree: ast.Constant) -> Node:
        """A number, a string, True or False."""
        match tree.value:
            case bool() as value:
                return Node("constant", "truth", value=np.array(value))
            case int() | float() as value:
                try:
                    return Node("constant", "number", value=np.array(float(value)))
                except OverflowError:
                    self.refuse(tree, "the number is too large")
            case str() as value:
                return Node("constant", "text", value=value)
        self.refuse(tree, f"{shown(tree.value)} is not part of expressions; {_SHOWN}")

    def name(self, tree: ast.Name | ast.Attribute) -> Node:
        """A field or a derived name."""
        name = _dotted(tree)
        if not name:
            self.refuse(tree, "is not the name of a field, such as scratchpad.bytes")
        if name in _CONSTANTS:
            return Node("constant", "truth", value=np.array(_CONSTANTS[name]))
        if name not in self.symbols:
            found = get_close_matches(name, self.symbols, 9, 0.6)
            near = list({self.symbols[one].path or one: one for one in reversed(found)}.values())[::-1][:3]
            hint = f"did you mean {' or '.join(near)}?" if near else "fields are named like scratchpad.bytes"
            self.refuse(tree, f"{shown(name)} is not a known name; {hint}")
        return Node("name", self.symbols[name].kind, value=name)

    def unary(self, tree: ast.UnaryOp, depth: int) -> Node:
        """A sign or `not`."""
        match tree.op:
            case ast.Not():
                return Node("not", "truth", self.inputs([tree.operand], depth, "truth", "not"))
            case ast.USub():
                return Node("negative", "number", self.inputs([tree.operand], depth, "number", "-"))
            case ast.UAdd():
                return self.inputs([tree.operand], depth, "number", "+")[0]
        self.refuse(tree, f"~ is not part of expressions; {_SHOWN}")

    def comparison(self, tree: ast.Compare, depth: int) -> Node:
        """Two or more values with a comparison between neighbours."""
        parts = [tree.left, *tree.comparators]
        inputs = tuple(self.node(one, depth - 1) for one in parts)
        words = []
        for operation, (left, right), place in zip(tree.ops, pairwise(inputs), tree.comparators, strict=True):
            if type(operation) not in _COMPARISONS:
                self.refuse(place, f"{type(operation).__name__.lower()} is not part of expressions; {_SHOWN}")
            word = _COMPARISONS[type(operation)][0]
            self.fits(place, word, left, right)
            words.append(word)
        return Node("compare", "truth", inputs, tuple(words))

    def fits(self, tree: ast.expr, word: str, left: Node, right: Node) -> None:
        """Whether two values can be compared."""
        if left.kind != right.kind:
            self.refuse(tree, f"{_WORDS[left.kind]} and {_WORDS[right.kind]} are not compared")
        if left.kind != "number" and word not in ("==", "!="):
            self.refuse(tree, f"{_WORDS[left.kind]} is compared by == and !=, not by {word}")
        for name, value in ((left, right), (right, left)):
            if name.operation == "name" and value.operation == "constant" and value.kind == "text":
                choices = self.symbols[name.value].choices
                if choices and value.value not in choices:
                    self.refuse(tree, f"{name.value} is never {shown(value.value)}, but {', '.join(choices)}")

    def call(self, tree: ast.Call, depth: int) -> Node:
        """One of the few functions."""
        name = tree.func.id if isinstance(tree.func, ast.Name) else ""
        if name not in _FUNCTIONS:
            near = get_close_matches(name, _FUNCTIONS, 1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(_FUNCTIONS)}"
            self.refuse(tree, f"{shown(name or 'this')} is not a function of expressions; {hint}")
        least, most = (2, 64) if name in _SEVERAL else (1, 1)
        if tree.keywords or not least <= len(tree.args) <= most:
            wanted = "two values or more" if name in _SEVERAL else "one value"
            self.refuse(tree, f"{name} takes {wanted}")
        return Node(name, "number", self.inputs(tree.args, depth, "number", name))

    def inputs(self, trees: Sequence[ast.expr], depth: int, kind: ValueKind, word: str) -> tuple[Node, ...]:
        """The inputs of an operation, all of a kind."""
        found = []
        for tree in trees:
            node = self.node(tree, depth - 1)
            if node.kind != kind:
                self.refuse(tree, f"{word} takes {_WORDS[kind]}, and this is {_WORDS[node.kind]}")
            found.append(node)
        return tuple(found)

    def refuse(self, tree: ast.expr, fault: str) -> Never:
        """Point at what is wrong."""
        column = len(self.text.encode()[: tree.col_offset].decode(errors="ignore"))
        _refuse(self.text, column, fault)


def _dotted(tree: ast.expr) -> str:
    steps: list[str] = []
    while isinstance(tree, ast.Attribute):
        steps.append(tree.attr)
        tree = tree.value
    return ".".join([tree.id, *reversed(steps)]) if isinstance(tree, ast.Name) else ""


def _what(tree: ast.expr) -> str:
    known = {ast.IfExp: "if … else", ast.Lambda: "lambda", ast.Subscript: "[…]", ast.BinOp: "this operation"}
    return known.get(type(tree), f"this ({type(tree).__name__})")


_FINE = np.zeros((), np.int8)


def _evaluated(node: Node, columns: Mapping[str, Column]) -> Column:
    """The values of a node, each with its trouble."""
    if node.operation == "constant":
        return np.asarray(node.value), _FINE
    if node.operation == "name":
        return columns[node.value]
    inputs = [_evaluated(one, columns) for one in node.inputs]
    match node.operation:
        case "and" | "or":
            return _joined(inputs, stop=node.operation == "or")
        case "not":
            return ~inputs[0][0], inputs[0][1]
        case "negative":
            return -inputs[0][0], inputs[0][1]
        case "compare":
            pairs = zip(node.value, pairwise(inputs), strict=True)
            return _joined([_applied(word, [left, right]) for word, (left, right) in pairs], stop=False)
        case word:
            found = inputs[0] if word in _SEVERAL else _applied(word, inputs)
            for one in inputs[1:] if word in _SEVERAL else ():
                found = _applied(word, [found, one])
            return found


def _joined(inputs: Sequence[Column], stop: bool) -> Column:
    """`and` (which stops at false) or `or` (at true): what follows there does not matter, nor its trouble."""
    values, trouble = inputs[0]
    for value, worse in inputs[1:]:
        over = (values == stop) | (trouble != NOTHING)
        trouble = np.where(over, trouble, worse)
        values = np.where(over, values, value)
    return values, trouble


def _applied(word: str, inputs: Sequence[Column]) -> Column:
    """An operation on columns; where an input has a trouble, the result has it."""
    values = [one for one, _ in inputs]
    found = _NUMPY[word](*values)
    trouble = inputs[0][1]
    for _, worse in inputs[1:]:
        trouble = np.where(trouble != NOTHING, trouble, worse)
    if found.dtype == bool:
        return found, trouble
    own = np.where(np.isnan(found), UNREAL, NOTHING)
    if word in ("/", "//", "%"):
        own = np.where(values[1] == 0, DIVISION, own)
    elif word == "**":
        finite = np.isfinite(values[0]) & np.isfinite(values[1])
        own = np.where(finite & np.isinf(found), HUGE, own)
        own = np.where((values[0] == 0) & (values[1] < 0), DIVISION, own)
    elif word == "log2":
        own = np.where(values[0] <= 0, UNREAL, own)
    return found, np.where(trouble != NOTHING, trouble, own).astype(np.int8)
